"""Test that the malformed places of an event agree with what a consumer rejects."""

from __future__ import annotations

from typing import Any

import pytest

from agui_reasoning.consumer import EVENTS as SCHEMA
from agui_reasoning.consumer import places_of
from tests.internals.schema import DROP, inspect
from tests.support.play import Json

VALUES: list[Any] = [None, 7, 1.5, float("nan"), "x", "2", True, [], [7], [{}], {}, {"type": "x"}, {"a": 1}]


@pytest.mark.parametrize("kind", SCHEMA)
def test_the_places_agree_with_what_a_consumer_rejects_first(kind: str) -> None:
    schema = SCHEMA[kind]
    valid: Json = dict.fromkeys(schema.required, "x") | {"type": kind}
    for name in schema.fields:
        for given_value in VALUES:
            event = {**valid, name: given_value}
            known, removed, fault = inspect(schema, event)
            places = places_of(schema, event)
            if fault is not None:
                assert (fault.path, fault.expected) in places.malformed
            elif known is not DROP:
                assert (places.malformed, places.unknown) == ([], removed)
