"""Fail in the shells while reasoning is hidden: every run ends, and no log quotes it."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import pytest

import agui_reasoning
from agui_reasoning import ProviderError, Run
from agui_reasoning.aio import run_agent, stream_run
from agui_reasoning.audit import AuditRecord
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import OpaqueDelta, ReasoningDelta, ResponseStart, TextDelta
from agui_reasoning.parts import Opaque, Origin, ReasoningPart
from tests.support.expected import FAILED
from tests.support.verifier import plain, types

KEYS = KeyRing({"k": bytes(32)})
INPUT = {"threadId": "t", "runId": "r", "messages": []}
SECRET = "The user will never hear of this."
ACME = Origin("acme", "openai-chat", "model")
LESS = pytest.mark.parametrize("visibility", ["summary", "hidden"])


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG)
    return caplog


async def collected(events: Any) -> list[dict[str, Any]]:
    return plain([event async for event in events])


def auditor_is_down(record: AuditRecord) -> None:
    raise ConnectionError("no auditor")


async def thinks_and_fails(run: Run) -> AsyncIterator[Any]:
    yield ReasoningDelta(SECRET)
    raise ValueError(SECRET)


# -- one failure after the other


@LESS
@pytest.mark.anyio
async def test_a_callback_that_fails_while_a_failure_is_told_lets_the_run_end(
    visibility: Any, log: pytest.LogCaptureFixture
) -> None:
    options = {"visibility": visibility, "keys": KEYS, "on_audit": auditor_is_down}
    events = await collected(run_agent(INPUT, thinks_and_fails, **options))
    assert (events[-1]["type"], events[-1]["message"]) == ("RUN_ERROR", FAILED)
    assert "ValueError" in log.text
    assert "ConnectionError" in log.text
    assert SECRET not in log.text


@pytest.mark.anyio
async def test_a_callback_that_fails_at_the_very_end_of_a_run_ends_it_in_an_error() -> None:
    async def agent(run: Run) -> AsyncIterator[Any]:
        yield ReasoningDelta(SECRET)

    events = await collected(run_agent(INPUT, agent, keys=KEYS, on_audit=auditor_is_down))
    assert types(events)[-1] == "RUN_ERROR"
    assert types(events).count("RUN_ERROR") == 1


def test_synchronous_runs_end_too(log: pytest.LogCaptureFixture) -> None:
    def agent(run: Run) -> Iterator[Any]:
        yield ReasoningDelta(SECRET)
        raise ValueError(SECRET)

    options: dict[str, Any] = {"visibility": "hidden", "keys": KEYS, "on_audit": auditor_is_down}
    events = plain(agui_reasoning.run_agent(INPUT, agent, **options))
    assert types(events)[-1] == "RUN_ERROR"
    assert SECRET not in log.text


def test_a_run_that_cannot_be_closed_can_still_be_failed() -> None:
    run = Run(INPUT, visibility="hidden", keys=KEYS, on_audit=auditor_is_down)
    run.start()
    run.receive(ReasoningDelta(SECRET))
    with pytest.raises(ConnectionError):
        run.finish()
    assert types(plain(run.fail("No."))) == ["RUN_ERROR"]
    assert run.fail("Again.") == []


@pytest.mark.anyio
async def test_a_clock_that_breaks_does_not_carry_the_words_of_the_failure_along() -> None:
    """What is raised in the end reaches the server's log, with whatever it was raised in the middle of."""
    ticks = iter([1, 2, 3])

    def clock() -> int:
        return next(ticks)

    stream = run_agent(INPUT, thinks_and_fails, visibility="hidden", keys=KEYS, now_ms=clock)
    with pytest.raises(RuntimeError) as caught:  # a StopIteration, as a generator tells it
        await collected(stream)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.anyio
async def test_what_an_error_still_gives_is_summarized_like_the_rest() -> None:
    async def summarize(part: ReasoningPart) -> str:
        await anyio.lowlevel.checkpoint()
        return f"{len(part.text)} characters."

    async def refused(run: Run) -> AsyncIterator[Any]:
        yield ReasoningDelta(SECRET)
        raise ProviderError(provider_type="overloaded_error", deltas=[TextDelta("Yes.")])

    events = await collected(run_agent(INPUT, refused, visibility="summary", keys=KEYS, summarize=summarize))
    deltas = [event["delta"] for event in events if "delta" in event]
    assert deltas == ["33 characters.", "Yes."]
    assert types(events)[-1] == "RUN_ERROR"


# -- what is logged


@LESS
@pytest.mark.anyio
async def test_a_group_of_exceptions_is_told_by_places_alone(
    visibility: Any, log: pytest.LogCaptureFixture
) -> None:
    async def boom() -> None:
        raise ValueError(SECRET)

    async def agent(run: Run) -> AsyncIterator[Any]:
        yield ReasoningDelta(SECRET)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(boom)

    events = await collected(run_agent(INPUT, agent, visibility=visibility, keys=KEYS))
    assert types(events)[-1] == "RUN_ERROR"
    assert "in boom" in log.text
    assert "ValueError" in log.text
    assert SECRET not in log.text


@LESS
@pytest.mark.anyio
async def test_notes_and_causes_of_an_exception_are_not_told(
    visibility: Any, log: pytest.LogCaptureFixture
) -> None:
    async def agent(run: Run) -> AsyncIterator[Any]:
        yield ReasoningDelta("Hm.")
        try:
            raise KeyError(SECRET)
        except KeyError as cause:
            error = RuntimeError("outer")
            error.add_note(SECRET)
            raise error from cause

    await collected(run_agent(INPUT, agent, visibility=visibility, keys=KEYS))
    assert "RuntimeError" in log.text
    assert SECRET not in log.text


class Quoting:
    """A stream of an SDK that quotes what it read when it breaks, and again when it is closed."""

    def __init__(self) -> None:
        self.count = 0

    def __aiter__(self) -> Quoting:
        return self

    async def __anext__(self) -> Any:
        self.count += 1
        if self.count > 1:
            raise ValueError(SECRET)
        delta = {"reasoning_content": SECRET}
        return {"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta}]}

    async def aclose(self) -> None:
        raise OSError(SECRET)


@LESS
@pytest.mark.anyio
async def test_a_stream_that_cannot_be_closed_is_not_quoted(
    visibility: Any, log: pytest.LogCaptureFixture
) -> None:
    options = {"api": "openai-chat", "provider": "acme", "visibility": visibility, "keys": KEYS}
    events = await collected(stream_run(INPUT, Quoting(), **options))
    assert types(events)[-1] == "RUN_ERROR"
    assert "could not be closed (OSError)" in log.text
    assert SECRET not in log.text


@LESS
def test_asyncio_in_its_debug_mode_sees_no_payload(visibility: Any, log: pytest.LogCaptureFixture) -> None:
    """It logs what passes between threads when that takes long."""

    def source() -> Iterator[Any]:
        for text in ("secret", "words"):
            yield {"id": text, "model": "m", "choices": [{"index": 0, "delta": {"reasoning_content": text}}]}

    async def main() -> None:
        asyncio.get_running_loop().slow_callback_duration = 0.0
        options = {"api": "openai-chat", "provider": "acme", "visibility": visibility, "keys": KEYS}
        await collected(stream_run(INPUT, source(), **options))

    asyncio.run(main(), debug=True)
    assert "took" in log.text
    assert "'secret'" not in log.text
    assert "reasoning_content" not in log.text


# -- runs that are cut


@LESS
@pytest.mark.parametrize("how", ["cancel", "fail"])
def test_a_thought_that_is_cut_shows_nothing_and_keeps_no_half_value(visibility: Any, how: str) -> None:
    run = Run(INPUT, visibility=visibility, keys=KEYS)
    events = run.start() + run.receive(ResponseStart(ACME)) + run.receive(ReasoningDelta(SECRET))
    events += run.receive(OpaqueDelta(Opaque("acme.value", SECRET), append=True))
    events += run.cancel() if how == "cancel" else run.fail(FAILED)
    assert SECRET not in "".join(event.model_dump_json() for event in events)
    (turn,) = run.history.turns
    assert [part.opaque for part in turn.parts if isinstance(part, ReasoningPart)] == [()]
