"""What all adapters do alike with the stream of a framework."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from ag_ui.core import StateDeltaEvent, StateSnapshotEvent

from agui_reasoning import Conversation, DecodeError, Run, run_agent
from agui_reasoning.deltas import (
    CloseDelta,
    OpaqueDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
    UsageDelta,
)
from agui_reasoning.interop import agno, claude_agent, langchain, openai_agents, pydantic_ai
from agui_reasoning.parts import Opaque, ToolResultPart
from agui_reasoning.replay import load_script
from tests.support.telemetry import attributes, exporting
from tests.support.verifier import Client, plain

STATE = StateSnapshotEvent(snapshot={"draft": "a"})
CHANGE = StateDeltaEvent(delta=[{"op": "replace", "path": "/draft", "value": "b"}])
ADAPTERS: dict[str, Any] = {
    "agno": agno,
    "claude_agent": claude_agent,
    "langchain": langchain,
    "openai_agents": openai_agents,
    "pydantic_ai": pydantic_ai,
}
UNKNOWN: dict[str, tuple[Any, str]] = {
    "agno": (SimpleNamespace(event="ReasoningStep"), "'ReasoningStep'"),
    "agno, a team": (SimpleNamespace(event="TeamTaskStateUpdated"), "'TaskStateUpdated'"),
    "agno, custom": (SimpleNamespace(event="CustomEvent"), "Custom events"),
    "claude_agent": (SimpleNamespace(), "'SimpleNamespace'"),
    "langchain": (("custom", {"done": 1}), "Custom data"),
    "langchain, all": ({"type": "custom", "ns": (), "data": 1}, "Custom data"),
    "openai_agents": (SimpleNamespace(type="voice"), "'voice'"),
    "pydantic_ai": (SimpleNamespace(event_kind="capability"), "'capability'"),
}

SAID: dict[str, Any] = {
    "agno": SimpleNamespace(
        event="RunContent", content="So.", reasoning_content="", model_provider_data=None
    ),
    "claude_agent": type("AssistantMessage", (SimpleNamespace,), {})(
        message_id="m",
        model="claude-opus-5",
        content=[type("TextBlock", (SimpleNamespace,), {})(text="So.")],
        parent_tool_use_id=None,
        error=None,
    ),
    "langchain": type("AIMessageChunk", (SimpleNamespace,), {})(
        type="AIMessageChunk",
        id="m",
        content="So.",
        additional_kwargs={},
        tool_call_chunks=[],
        usage_metadata=None,
        response_metadata={},
        chunk_position=None,
    ),
    "pydantic_ai": SimpleNamespace(
        event_kind="part_start",
        index=0,
        part=SimpleNamespace(part_kind="text", content="So.", id=None, provider_details=None),
    ),
}
"""An answer of each framework."""

MALFORMED: dict[str, Any] = {
    "agno": SimpleNamespace(event="RunContent", content="secret"),
    "claude_agent": type("AssistantMessage", (SimpleNamespace,), {})(content="secret"),
    "langchain": SimpleNamespace(type="AIMessageChunk", content="secret"),
    "openai_agents": SimpleNamespace(type="raw_response_event", content="secret"),
    "pydantic_ai": SimpleNamespace(event_kind="part_delta", content="secret"),
}
"""An event of each framework that lacks what its class has."""


def told(adapter: Any, payloads: list[Any]) -> tuple[Conversation, list[str]]:
    """What a client holds after a run with these payloads, and the warnings."""
    warnings: list[str] = []
    conversation = Conversation("t")
    run = Run(
        conversation.run_input("Is it so?"),
        api="anthropic-messages",
        provider="anthropic",
        model="claude-opus-5",
        on_warning=warnings.append,
    )
    for event in run_agent(run, lambda _: iter([adapter.stream(payloads)])):
        conversation.receive(event)
    return conversation, warnings


@pytest.mark.parametrize("name", ADAPTERS)
def test_events_of_the_application_pass_between_those_of_the_framework(name: str) -> None:
    conversation, warnings = told(ADAPTERS[name], [STATE, CHANGE])
    assert (conversation.status, conversation.state, warnings) == ("finished", {"draft": "b"}, [])


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_ignored_is_told_once(name: str) -> None:
    payload, what = UNKNOWN[name]
    conversation, (warning,) = told(ADAPTERS[name.partition(",")[0]], [payload, payload])
    assert (conversation.status, what in warning) == ("finished", True)


@pytest.mark.parametrize(
    "payload",
    [
        ("custom", [STATE, CHANGE]),
        (("graph:1",), "custom", STATE),
        {"type": "custom", "ns": (), "data": STATE},
    ],
    ids=["modes", "subgraphs", "v2"],
)
def test_events_in_the_custom_mode_of_a_graph_pass(payload: Any) -> None:
    conversation, warnings = told(langchain, [payload])
    assert (conversation.state["draft"] in ("a", "b"), warnings) == (True, [])


def test_an_interrupt_of_a_graph_interrupts_the_run() -> None:
    asked = [SimpleNamespace(id="i1", value="Sure?"), SimpleNamespace(id="i2", value={"draft": "a"})]
    ours = SimpleNamespace(id="i3", value={"agui_tool_call": {"id": "c", "name": "paint", "args": {}}})
    conversation, _ = told(langchain, [("updates", {"__interrupt__": (*asked, ours)}), ("updates", {"a": 1})])
    found = [(one.id, one.message, one.metadata) for one in conversation.interrupts]
    assert found == [("i1", "Sure?", None), ("i2", None, {"value": {"draft": "a"}})]


def test_the_requests_of_a_framework_belong_to_the_span_of_the_run() -> None:
    with exporting() as exported:
        tracer = exported.tracers.get_tracer("framework")

        def framework() -> Iterator[Any]:
            for script in ("openai-weather", "openai-weather-2"):
                with tracer.start_as_current_span(script):
                    events = [event["data"] for event in load_script(script)["events"]]
                yield from (SimpleNamespace(type="raw_response_event", data=event) for event in events)

        told(openai_agents, framework())
    assert exported.tree() == [("invoke_agent", [("openai-weather", []), ("openai-weather-2", [])])]
    run = attributes(exported.one("invoke_agent"))
    assert run["gen_ai.response.finish_reasons"] == ("completed", "completed")
    assert run["gen_ai.usage.output_tokens"] > 200


# -- events that are malformed


def failed(adapter: Any, payloads: Any) -> tuple[list[Any], Exception]:
    """The events of a run that fails, and its error."""
    errors: list[Any] = []
    run = Run(
        Conversation("t").run_input("Is it so?"),
        api="openai-responses" if adapter is openai_agents else "anthropic-messages",
        provider="openai" if adapter is openai_agents else "anthropic",
        model="m",
    )
    events = list(run_agent(run, lambda _: iter([adapter.stream(payloads)]), on_error=errors.append))
    [error] = errors
    return events, error


def answered(name: str) -> list[Any]:
    """An answer of a framework."""
    if name != "openai_agents":
        return [SAID[name]]
    events = [event["data"] for event in load_script("openai-weather")["events"]]
    return [SimpleNamespace(type="raw_response_event", data=event) for event in events]


@pytest.mark.parametrize("name", ADAPTERS)
def test_a_malformed_event_fails_the_run_with_a_code_and_keeps_what_came(name: str) -> None:
    whole, _ = failed(ADAPTERS[name], raising(answered(name), TimeoutError()))
    events, error = failed(ADAPTERS[name], [*answered(name), MALFORMED[name]])
    assert isinstance(error, DecodeError)
    assert (error.code, error.__suppress_context__, "secret" in str(error)) == ("bad_payload", True, False)
    assert type(MALFORMED[name]).__name__ in str(error)
    assert events[-1].code == "bad_payload"
    assert [event.type for event in events] == [event.type for event in whole]


@pytest.mark.parametrize("name", ADAPTERS)
def test_a_malformed_event_alone_fails_the_run_with_a_code(name: str) -> None:
    events, error = failed(ADAPTERS[name], [MALFORMED[name]])
    assert (events[-1].code, getattr(error, "code", None)) == ("bad_payload",) * 2


@pytest.mark.parametrize("error", [KeyError("k"), TypeError("t"), AttributeError("a")])
@pytest.mark.parametrize("name", ADAPTERS)
def test_an_error_that_the_framework_raises_stays_as_it_is(name: str, error: Exception) -> None:
    events, found = failed(ADAPTERS[name], raising([], error))
    assert found is error
    assert events[-1].code is None


@pytest.mark.parametrize("error", [KeyError("k"), TypeError("t"), TimeoutError()], ids=repr)
@pytest.mark.parametrize("name", ADAPTERS)
def test_a_framework_that_fails_midway_leaves_a_valid_stream(name: str, error: Exception) -> None:
    """Wherever it fails in its answer."""
    whole = answered(name)
    for count in range(len(whole) + 1):
        events, found = failed(ADAPTERS[name], raising(whole[:count], error))
        assert found is error
        Client().feed(plain(events)).done()
        assert [event.type.value for event in events].count("RUN_ERROR") == 1


@pytest.mark.parametrize("error", [KeyError("k"), TypeError("t"), ValueError("v")])
@pytest.mark.parametrize("name", UNKNOWN)
def test_an_error_of_the_applications_callback_stays_as_it_is(name: str, error: Exception) -> None:
    def on_warning(warning: str) -> None:
        raise error

    errors: list[Any] = []
    run = Run(
        Conversation("t").run_input("Is it so?"),
        api="anthropic-messages",
        provider="anthropic",
        model="m",
        on_warning=on_warning,
    )
    stream = ADAPTERS[name.partition(",")[0]].stream([UNKNOWN[name][0]])
    events = list(run_agent(run, lambda _: iter([stream]), on_error=errors.append))
    assert (errors, events[-1].code) == ([error], None)


WRONG: list[Any] = [
    TextDelta(5),  # type: ignore[arg-type]
    TextDelta("So.", key=5),  # type: ignore[arg-type]
    ReasoningDelta("So.", channel="loud"),  # type: ignore[arg-type]
    ReasoningDelta("So.", index=True),
    ReasoningDelta("So.", ext=[]),  # type: ignore[arg-type]
    OpaqueDelta(Opaque("signature", 5)),  # type: ignore[arg-type]
    OpaqueDelta("signature"),  # type: ignore[arg-type]
    ToolCallDelta("c", "paint", {}),  # type: ignore[arg-type]
    ToolResultDelta("c", {}),  # type: ignore[arg-type]
    UsageDelta(input_tokens="5"),  # type: ignore[arg-type]
]
RIGHT: list[Any] = [
    TextDelta("\ud800", key="k", ext={"a": object()}),
    ReasoningDelta("So.", channel="summary", index=1),
    OpaqueDelta(Opaque("signature", "c2ln"), key="k"),
    ToolResultDelta("c", [{"type": "text"}], native={1: object()}),
    UsageDelta(input_tokens=5, apart=True),
    CloseDelta(status="incomplete"),
]


@pytest.mark.parametrize("delta", [*WRONG, *RIGHT], ids=repr)
def test_a_delta_has_the_types_of_its_class_or_the_object_is_malformed(delta: Any) -> None:
    made: Any = agno.stream([]).reader
    own = SimpleNamespace(receive=list, whole=list, close=list)
    read = made.func(lambda run: own, Run(Conversation("t").run_input("Is it so?"))).receive
    if delta in RIGHT:
        assert read((delta,)) == [delta]
    else:
        with pytest.raises(DecodeError, match="A tuple is malformed") as caught:
            read((delta,))
        assert caught.value.code == "bad_payload"


def test_what_is_malformed_at_the_end_of_a_stream_is_an_error_too() -> None:
    made: Any = agno.stream([]).reader
    own = SimpleNamespace(receive=list, whole=list, close=lambda: [ToolResultPart(-0.0, "Wet.")])  # type: ignore[arg-type]
    close = made.func(lambda run: own, Run(Conversation("t").run_input("Is it so?"))).close
    with pytest.raises(DecodeError, match="An object of the stream is malformed") as caught:
        close()
    assert caught.value.code == "bad_payload"


def raising(payloads: list[Any], error: Exception) -> Iterator[Any]:
    """Yield what a framework yields before it fails."""
    yield from payloads
    raise error
