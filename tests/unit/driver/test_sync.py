"""Test the synchronous driver: the events of the asynchronous one, and the same cleanup."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import anyio
import pytest

import agui_reasoning
from agui_reasoning import ModelStream, Run, aio, run_agent, stream_run
from agui_reasoning.deltas import Delta, TextDelta
from agui_reasoning.parts import ToolResultPart
from agui_reasoning.providers import Decoder, provider_api
from tests.support.verifier import Client, plain
from tests.unit.driver.test_aio import ANSWER, API, INPUT, PAYLOADS, UNREACHABLE, Tape

FORMS = {
    "generator": Tape.iterator,
    "context manager": Tape.sync_manager,
    "callable": lambda tape: tape.iterator,
    "callable of a manager": lambda tape: tape.sync_manager,
    "mapping with a stream": Tape.botocore,
    "iterable either way": Tape.both,
    "pairs": Tape.pairs,
}
forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def numbered(options: dict[str, Any]) -> dict[str, Any]:
    return {**options, "new_id": iter(f"id{n}" for n in range(999)).__next__, "now_ms": None}


@forms
def test_every_form_gives_the_events_of_the_asynchronous_driver(form: Any) -> None:
    tape = Tape(PAYLOADS)
    ours = plain(stream_run(INPUT, form(tape), **numbered({"api": API})))

    async def theirs() -> list[dict[str, Any]]:
        return plain([e async for e in aio.stream_run(INPUT, PAYLOADS, **numbered({"api": API}))])

    assert ours == anyio.run(theirs)
    assert (tape.opened, tape.closed) == (1, 1)


@forms
def test_an_error_in_the_stream_ends_the_run_and_closes_the_source(form: Any) -> None:
    tape = Tape(PAYLOADS, fail_at=5)
    events = plain(stream_run(INPUT, form(tape), api=API))
    Client().feed(events).done()
    assert (events[-1]["code"], events[-1]["message"]) == ("unreachable", UNREACHABLE)
    assert tape.closed == 1


@pytest.mark.parametrize("cut", [False, True])
def test_a_warning_at_the_end_of_a_stream_is_passed_on(cut: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def end(decoder: Decoder) -> list[Delta]:
        decoder._warn("The end is odd.")
        if cut:
            raise decoder._truncated()
        return []

    monkeypatch.setattr(provider_api(API).load_decoder(), "_end", end)
    warnings: list[str] = []
    events = plain(stream_run(INPUT, PAYLOADS, api=API, on_warning=warnings.append))
    assert warnings == ["The end is odd."]
    assert events[-1]["type"] == ("RUN_ERROR" if cut else "RUN_FINISHED")


@forms
def test_a_reader_that_leaves_closes_the_source_and_the_agent(form: Any) -> None:
    tape = Tape(PAYLOADS)
    closed: list[str] = []

    def agent(run: Run) -> Iterator[Any]:
        try:
            yield ModelStream(form(tape), api=API)
        finally:
            closed.append("agent")

    with closing(run_agent(INPUT, agent)) as events:
        for event in events:
            if event.type.value == "REASONING_MESSAGE_CONTENT":
                break
    assert (tape.closed, closed) == (1, ["agent"])


def test_an_agent_loops_over_model_and_tools() -> None:
    streams = [PAYLOADS, ANSWER]

    def agent(run: Run) -> Iterator[Any]:
        for stream in streams:
            yield ModelStream(stream, api=API)
            for call in run.pending_calls:
                yield ToolResultPart(call.id, "ok")

    client = Client().feed(plain(run_agent(INPUT, agent))).done()
    assert [m["role"] for m in client.messages] == [
        "reasoning",
        "assistant",
        "tool",
        "reasoning",
        "assistant",
    ]


def test_an_asynchronous_source_is_refused_and_leaves_no_coroutine_behind() -> None:
    for source in (Tape(PAYLOADS).awaitable(), Tape(PAYLOADS).awaitable, Tape(PAYLOADS).generator()):
        events = plain(stream_run(INPUT, source, api=API))
        assert events[-1]["code"] == "async_source"


@pytest.mark.parametrize("leaves", [False, True])
def test_a_call_that_goes_on_is_cancelled_when_its_reader_leaves_and_only_then(leaves: bool) -> None:
    class Call:
        """Shaped like a streaming call of gRPC."""

        cancelled = 0

        def __iter__(self) -> Iterator[Any]:
            return iter(PAYLOADS)

        def cancel(self) -> bool:
            self.cancelled += 1
            return True

    call = Call()
    with closing(stream_run(INPUT, call, api=API)) as events:
        for event in events:
            if leaves and event.type.value == "REASONING_MESSAGE_CONTENT":
                break
    assert call.cancelled == int(leaves)


def test_a_whole_response_and_other_items_are_taken() -> None:
    whole = {
        "id": "msg",
        "model": "m",
        "content": [{"type": "text", "text": "Hi."}],
        "stop_reason": "end_turn",
    }

    def agent(run: Run) -> Iterator[Any]:
        yield ModelStream(whole, api=API)
        yield TextDelta(" And more.")

    client = Client().feed(plain(run_agent(INPUT, agent))).done()
    assert [m["content"] for m in client.messages] == ["Hi.", " And more."]


@pytest.mark.parametrize(
    ("agent", "code"), [(lambda run: None, "bad_agent"), (lambda run: iter([7]), "not_an_item")]
)
def test_what_an_agent_cannot_mean_ends_the_run_with_a_code(agent: Any, code: str) -> None:
    assert plain(run_agent(INPUT, agent))[-1]["code"] == code


@pytest.mark.parametrize("name", ["run_agent", "stream_run"])
def test_both_drivers_have_the_same_arguments(name: str) -> None:
    ours, theirs = inspect.signature(getattr(agui_reasoning, name)), inspect.signature(getattr(aio, name))
    assert list(ours.parameters) == list(theirs.parameters)
