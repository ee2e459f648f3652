"""The front end chooses effort and display, within what the server allows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agui_reasoning import ConfigurationError, ReasoningRequest, RemoteProtocolError, Run
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import FinishDelta, ResponseStart
from agui_reasoning.emitter import Visibility
from agui_reasoning.parts import EFFORTS, EffortChange, Opaque, Origin, ReasoningPart, Segment, TextPart, Turn

Json = dict[str, Any]

KEYS = KeyRing({"k1": bytes(32)}, primary="k1")
GPT = Origin("openai", "openai-responses", "gpt-5.6")
SHOWS: dict[str, set[str]] = {"full": {"RAW THOUGHT", "SUMMARY"}, "summary": {"SUMMARY"}, "hidden": set()}
VISIBILITY_OF = {"full": "full", "summary": "summary", "none": "hidden"}


def run_input(reasoning: Any = None, **more: Any) -> Json:
    props = {} if reasoning is None else {"reasoning": reasoning}
    empty: Json = {"state": {}, "tools": [], "context": [], "forwardedProps": props}
    messages = [{"id": "u1", "role": "user", "content": "Weather in Oslo?"}]
    return {"threadId": "t", "runId": "r", "messages": messages, **empty, **more}


def asking(reasoning: Any, **options: Any) -> Run:
    named = {"api": GPT.api, "provider": GPT.provider, "model": GPT.model}
    return Run(run_input(reasoning), **(named | {"keys": KEYS, "allow_reasoning_request": True} | options))


def events_of(run: Run) -> list[Any]:
    """Answer with a raw chain of thought, a summary of it and a signed value."""
    value = Opaque("openai.encrypted_content", "SIGNED")
    thought = (Segment("raw", 0, "RAW THOUGHT"), Segment("summary", 0, "SUMMARY"))
    events = run.start() + run.receive(ResponseStart(origin=GPT, id="resp_1"))
    for item in (ReasoningPart(thought, (value,), "rs_1"), TextPart("4 degrees."), FinishDelta("stop")):
        events += run.receive(item)
    return events + run.finish()


# -- display


@pytest.mark.parametrize("display", [*VISIBILITY_OF, None])
@pytest.mark.parametrize("visibility", SHOWS)
def test_the_display_narrows_the_visibility_and_never_widens_it(
    visibility: Visibility, display: str | None
) -> None:
    run = asking({"display": display}, visibility=visibility)
    wire = "".join(event.model_dump_json(by_alias=True) for event in events_of(run))
    wanted = SHOWS[visibility] & SHOWS[VISIBILITY_OF[display] if display else visibility]
    assert {word for word in ("RAW THOUGHT", "SUMMARY") if word in wire} == wanted
    assert "SIGNED" not in wire
    assert SHOWS[run.visibility] == wanted
    assert run.reasoning_request is not None
    seen = run.reasoning_request.display
    assert seen is None if display is None else SHOWS[VISIBILITY_OF[seen or ""]] == wanted


def test_a_subagent_shows_no_more_than_its_run() -> None:
    run = asking({"display": "none"})
    assert run.subagent("weather").visibility == "hidden"


def test_what_is_not_displayed_comes_back_encrypted() -> None:
    from agui_reasoning import reduce_events

    run = asking({"display": "none"})
    messages = reduce_events(events_of(run))
    again = Run(run_input() | {"messages": messages}, api=GPT.api, keys=KEYS)
    (turn,) = (item for item in again.history.items if isinstance(item, Turn))
    assert [segment.text for segment in turn.parts[0].segments] == ["RAW THOUGHT", "SUMMARY"]  # type: ignore[union-attr]


def test_a_display_without_keys_is_refused_where_reasoning_must_come_back() -> None:
    run = Run(
        run_input({"display": "none"}),
        api="openai-chat",
        provider="deepseek",
        model="deepseek-v4",
        allow_reasoning_request=True,
    )
    run.start()
    with pytest.raises(ConfigurationError) as caught:
        run.receive(ResponseStart(origin=Origin("deepseek", "openai-chat", "deepseek-v4")))
    assert caught.value.code == "visibility_without_keys"


# -- effort


def test_the_effort_becomes_a_change_of_the_conversation_that_requests_send() -> None:
    run = asking({"effort": "high"})
    assert run.history.items[-1] == EffortChange("high")
    assert run.request().body["reasoning"] == {"effort": "high"}
    events_of(run)
    assert run.request().body["reasoning"] == {"effort": "high"}
    assert sum(isinstance(item, EffortChange) for item in run.history.items) == 1


def test_the_effort_of_a_thread_is_not_changed_to_what_it_is() -> None:
    from agui_reasoning import reduce_events

    first = asking({"effort": "high"})
    first.request()
    messages = reduce_events(events_of(first))
    named: Json = {"api": GPT.api, "provider": GPT.provider, "model": GPT.model, "keys": KEYS}
    given = run_input({"effort": "high"}) | {"messages": messages}
    second = Run(given, **named, allow_reasoning_request=True)
    assert [item for item in second.history.items if isinstance(item, EffortChange)] == [EffortChange("high")]


def test_the_agent_has_the_last_word() -> None:
    run = asking({"effort": "high"})
    run.change_effort("low")
    assert run.request().body["reasoning"] == {"effort": "low"}


@pytest.mark.parametrize("wanted", EFFORTS)
def test_an_effort_beyond_the_bounds_becomes_the_nearest(wanted: str) -> None:
    run = asking({"effort": wanted}, allow_reasoning_request=("low", "high"))
    expected = {"none": "low", "minimal": "low", "xhigh": "high", "max": "high"}.get(wanted, wanted)
    assert run.reasoning_request == ReasoningRequest(expected)  # type: ignore[arg-type]


# -- who may ask, and how


@pytest.mark.parametrize("allow", [None, False])
@pytest.mark.parametrize("reasoning", [{"effort": "max", "display": "none"}, {"effort": "huge"}, "high"])
def test_a_request_is_ignored_unless_it_is_allowed(allow: bool | None, reasoning: Any) -> None:
    run = asking(reasoning, allow_reasoning_request=allow)
    assert (run.reasoning_request, run.visibility, run.history.effort) == (None, "full", None)


@pytest.mark.parametrize("props", [None, {}, [], "high", {"reasoning": None}, {"other": {"effort": "max"}}])
def test_an_input_without_a_request_asks_for_nothing(props: Any) -> None:
    run = Run(run_input() | {"forwardedProps": props}, allow_reasoning_request=True)
    assert run.reasoning_request is None


def test_an_empty_request_leaves_both_to_the_server() -> None:
    assert asking({}).reasoning_request == ReasoningRequest(None, None)


@pytest.mark.parametrize(
    ("reasoning", "said"),
    [
        ({"effort": "huge"}, "`forwardedProps.reasoning` has the unknown effort 'huge'. Send one of: none,"),
        ({"effort": 3}, "has the unknown effort 3."),
        ({"effort": ["high"]}, "has the unknown effort list."),
        ({"display": "hidden"}, "has the unknown display 'hidden'. Send one of: full, summary, none."),
        ({"efort": "high"}, "has the unknown member 'efort'. Its members are effort and display."),
        ("high", "is str, not an object. Send effort and display in it."),
        ({"effort": "x" * 9999}, f"has the unknown effort '{'x' * 40}'."),
    ],
)
def test_what_is_unknown_is_an_error_of_the_input(reasoning: Any, said: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        asking(reasoning)
    assert caught.value.code == "bad_input"
    assert said in str(caught.value)


@pytest.mark.parametrize("allow", ["high", ("high", "low"), ("low",), ("low", "huge"), ["low", "high"], 1])
def test_bounds_that_are_none_are_refused(allow: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Run(run_input(), allow_reasoning_request=allow)
    assert caught.value.code == "wrong_option"


def test_the_request_is_plain_json() -> None:
    run = asking(json.loads('{"effort": "medium", "display": "summary"}'))
    assert run.reasoning_request == ReasoningRequest(effort="medium", display="summary")
