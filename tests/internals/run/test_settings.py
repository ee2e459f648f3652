"""Options are spelled twice: as typed dicts for callers, and as settings with their defaults."""

from __future__ import annotations

import dataclasses
from inspect import get_annotations
from typing import Any

import pytest
from msgspec import Struct

from agui_reasoning import Emitter, RequestOptions, Run, RunOptions, aio
from agui_reasoning.emitter import EmitterOptions, EmitterSettings
from agui_reasoning.run import RequestSettings, RunSettings

INPUT: dict[str, Any] = {
    "threadId": "t",
    "runId": "r",
    "state": {},
    "tools": [],
    "context": [],
    "forwardedProps": {},
    "messages": [],
}


@pytest.mark.parametrize(
    ("options", "settings"),
    [(EmitterOptions, EmitterSettings), (RunOptions, RunSettings), (RequestOptions, RequestSettings)],
)
def test_settings_are_the_options_with_a_default_each(options: type, settings: type) -> None:
    written = {name: kind for one in settings.__mro__ for name, kind in get_annotations(one).items()}
    assert {name: kind.__forward_arg__ for name, kind in get_annotations(options).items()} == written
    if issubclass(settings, Struct):
        assert len(settings.__struct_defaults__) == len(written)
    else:
        assert not [one.name for one in dataclasses.fields(settings) if one.default is dataclasses.MISSING]


@pytest.mark.parametrize("function", [Run, aio.stream_run])
def test_an_unknown_option_is_named_with_the_nearest(function: Any) -> None:
    with pytest.raises(TypeError, match=r"^Unknown option 'visiblity'. Did you mean 'visibility'\?$"):
        function(INPUT, **({"source": []} if function is aio.stream_run else {}), visiblity="full")


def test_other_functions_name_it_too() -> None:
    with pytest.raises(TypeError, match=r"^Unknown option 'keep_turn'. Did you mean 'keep_turns'\?$"):
        Run(INPUT).request(keep_turn=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^Unknown option 'xyz'.$"):
        Emitter(xyz=1)  # type: ignore[call-arg]
