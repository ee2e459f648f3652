"""Cut a provider's answer inside a call, through the gateway: no client is left to run the call."""

from __future__ import annotations

from typing import Any

import pytest

from agui_reasoning.parts import CUT_CALL_RESULT
from agui_reasoning.testing import assert_valid
from tests.unit.gateway.http_client import call
from tests.unit.gateway.provider import APIS, CUT, Reply, frames, gateway
from tests.unit.test_cut_calls import BEGUN, STREAMS, answers, pending


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("ends", "last"), [(True, "RUN_FINISHED"), (False, "RUN_ERROR")], ids=["length limit", "broken off"]
)
def test_the_gateway_answers_a_call_that_was_cut(api: str, ends: bool, last: str) -> None:
    pieces: list[Any] = [*frames(STREAMS[api])] if ends else [*frames(STREAMS[api][: BEGUN.get(api, 1)]), CUT]
    with gateway(api, Reply(pieces)) as (url, _):
        events = call(url).events
    assert_valid(events, lints=False)
    assert answers(events) == [("c1", CUT_CALL_RESULT)]
    assert (events[-1]["type"], pending(events)) == (last, [])
