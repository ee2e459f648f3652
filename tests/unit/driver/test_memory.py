"""Drop runs and conversations: no cycle keeps their reasoning or signatures until a garbage collection."""

from __future__ import annotations

import gc
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from graphlib import TopologicalSorter
from typing import Any, TypeAlias

import pytest
from msgspec import Struct

import agui_reasoning
from agui_reasoning import Conversation, Emitter, Run
from agui_reasoning.aio import ModelStream, run_agent, stream_run
from agui_reasoning.asgi import AGUIResponse
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import OpaqueDelta, ReasoningDelta
from agui_reasoning.parts import Opaque
from agui_reasoning.providers import decoder
from agui_reasoning.replay import load_script, script_names
from tests.internals.asgi.test_ready import Prompt
from tests.unit.driver.test_aio import API, INPUT, PAYLOADS, UNREACHABLE
from tests.unit.driver.test_asgi import Connection

pytestmark = pytest.mark.anyio

KEYS = KeyRing.generate()
CUT = PAYLOADS[:8]
"""A stream that breaks off inside the reasoning."""

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "keys": {"keys": KEYS},
    "summary": {"keys": KEYS, "visibility": "summary"},
    "hidden": {"keys": KEYS, "visibility": "hidden"},
}
options = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
Made: TypeAlias = list[Any]


@contextmanager
def leaving_nothing() -> Iterator[None]:
    """Check that everything of this package that the block drops is freed without the collector."""
    gc.disable()
    gc.freeze()  # what other tests left does not count, nor take time
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield
        gc.collect()
        kept = {type(found).__qualname__ for found in gc.garbage if _is_ours(found)}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.unfreeze()
        gc.enable()
    if kept:  # an assertion would show only some of them
        raise AssertionError(f"not freed: {', '.join(sorted(kept))}")


def _is_ours(found: Any) -> bool:
    """Return whether an object is an instance or a frame of this package, or of the test's source."""
    code = (
        getattr(found, "f_code", None) or getattr(found, "ag_code", None) or getattr(found, "gi_code", None)
    )
    return type(found).__module__.startswith("agui_reasoning") or (
        code is not None and ("agui_reasoning" in code.co_filename or code.co_filename == __file__)
    )


def test_the_check_finds_a_cycle() -> None:
    def kept() -> None:
        run = Run(INPUT, api=API)
        run.__dict__["itself"] = run

    with pytest.raises(AssertionError, match="Run"), leaving_nothing():
        kept()


def _structs(kind: type[Struct] = Struct) -> Iterator[type[Struct]]:
    """Yield the Structs of a run that the collector does not know. Those of payloads are made from JSON."""
    for one in kind.__subclasses__():
        if re.match(r"agui_reasoning\.(deltas|emitter)\b", one.__module__) and not one.__struct_config__.gc:
            yield one
        yield from _structs(one)


def test_what_the_collector_does_not_know_refers_to_no_circle() -> None:
    untracked = set(_structs())
    named = {one.__name__: [kind for kind in untracked if issubclass(kind, one)] for one in untracked}
    refers = {
        one: {
            kind
            for annotation in one.__annotations__.values()
            for name in re.findall(r"\w+", str(annotation))
            for kind in named.get(name, ())
        }
        for one in untracked
    }
    assert {"ResponseState", "Stretch", "ReasoningUnit"} <= named.keys()
    TopologicalSorter(refers).prepare()  # raises CycleError


# -- machines


def played(run: Run, payloads: list[Any], provider: str | None = None) -> Made:
    reader = decoder(run.api or "", provider=provider)
    deltas = [delta for payload in payloads for delta in reader.receive(payload)]
    if payloads is not CUT:
        deltas += reader.close()
    return [event for delta in deltas for event in run.receive(delta)]


ENDS: dict[str, Callable[[Run], Any]] = {
    "finished": Run.finish,
    "failed": lambda run: run.fail("The model failed."),
    "cancelled": Run.cancel,
    "dropped": lambda run: None,
}


@options
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_run_leaves_nothing(end: Callable[[Run], Any], options: dict[str, Any]) -> None:
    def work() -> None:
        run = Run(INPUT, api=API, **options)
        run.start()
        played(run, PAYLOADS if end is Run.finish else CUT)
        end(run)

    work()
    with leaving_nothing():
        work()


@pytest.mark.parametrize("name", script_names())
def test_a_run_of_each_api_leaves_nothing(name: str) -> None:
    script = load_script(name)
    origin = {"api": script["api"], "provider": script["provider"]}

    def work() -> None:
        run = Run(INPUT, **origin, keys=KEYS)
        run.start()
        played(run, [event["data"] for event in script["events"]], script["provider"])
        run.finish()

    work()
    with leaving_nothing():
        work()


def test_an_emitter_leaves_nothing() -> None:
    def work() -> None:
        emitter = Emitter()
        for delta in (
            ReasoningDelta("Hm"),
            OpaqueDelta(Opaque("signature", "c2ln")),
            ReasoningDelta("So", key="2"),
        ):
            emitter.receive(delta)
        emitter.close()

    work()
    with leaving_nothing():
        work()


@options
def test_a_conversation_and_its_next_request_leave_nothing(options: dict[str, Any]) -> None:
    def work() -> None:
        conversation = Conversation("t")
        run = Run(conversation.run_input("Umbrella?"), api=API, **options)
        for event in [*run.start(), *played(run, PAYLOADS), *run.finish()]:
            conversation.receive(event)
        (call,) = conversation.pending_calls
        conversation.add_tool_result(call.id, "Rain")
        assert conversation.messages
        Run(conversation.run_input(), api=API, **options).request()

    work()
    with leaving_nothing():
        work()


def test_a_conversation_of_an_old_producer_leaves_nothing() -> None:
    def work() -> None:
        conversation = Conversation("t", on_warning=lambda message: None)
        for event in (
            {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
            {"type": "THINKING_START"},
            {"type": "THINKING_TEXT_MESSAGE_START"},
            {"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "Hm"},
        ):
            conversation.receive(event)

    work()
    with leaving_nothing():
        work()


# -- shells


async def asynchronous(payloads: list[Any], fails: bool) -> AsyncIterator[Any]:
    for payload in payloads:
        yield payload
    if fails:
        raise ConnectionError


def synchronous(payloads: list[Any], fails: bool) -> Iterator[Any]:
    yield from payloads
    if fails:
        raise ConnectionError


@pytest.mark.parametrize("options", [{}, OPTIONS["hidden"]], ids=["plain", "hidden"])
@pytest.mark.parametrize(("framed", "leave_after"), [(False, None), (True, None), (True, 6)])
@pytest.mark.parametrize("fails", [False, True], ids=["whole", "failing"])
@pytest.mark.parametrize("source", [asynchronous, synchronous])
async def test_a_stream_leaves_nothing(
    source: Any, fails: bool, leave_after: int | None, framed: bool, options: dict[str, Any]
) -> None:
    async def work() -> None:
        payloads = CUT if fails else PAYLOADS
        stream = stream_run(INPUT, source(payloads, fails), api=API, on_error=str, **options)
        number = 0
        async for _ in stream.frames() if framed else stream:
            number += 1
            if number == leave_after:
                break
        await stream.aclose()

    await work()
    with leaving_nothing():
        await work()


async def test_an_agent_that_fails_leaves_nothing() -> None:
    async def agent(run: Run) -> AsyncIterator[Any]:
        yield ModelStream(asynchronous(CUT, False))
        raise KeyError

    async def work() -> None:
        async for _ in run_agent(INPUT, agent, api=API):
            pass

    await work()
    with leaving_nothing():
        await work()


@options
@pytest.mark.parametrize("fails", [False, True], ids=["whole", "failing"])
@pytest.mark.parametrize("leave_after", [None, 6])
def test_a_synchronous_stream_leaves_nothing(
    fails: bool, leave_after: int | None, options: dict[str, Any]
) -> None:
    def work() -> None:
        payloads = CUT if fails else PAYLOADS
        stream = agui_reasoning.stream_run(INPUT, synchronous(payloads, fails), api=API, **options)
        for number, _ in enumerate(stream):
            if number == leave_after:
                break
        stream.close()

    work()
    with leaving_nothing():
        work()


async def test_the_error_of_a_thread_arrives_with_its_traceback() -> None:
    causes: list[BaseException] = []

    def note(error: BaseException) -> None:
        causes.append(error)

    events = [event async for event in stream_run(INPUT, synchronous(CUT, True), api=API, on_error=note)]
    assert events[-1].model_dump()["message"] == UNREACHABLE
    last = causes[0].__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    assert last is not None
    assert last.tb_frame.f_code.co_name == "synchronous"


@pytest.mark.parametrize("joins", [True, False])
@pytest.mark.parametrize("leave_after", [None, 3])
async def test_a_response_leaves_nothing(joins: bool, leave_after: int | None) -> None:
    async def work() -> None:
        connection = (Prompt if joins else Connection)(leave_after=leave_after)
        await connection.get(AGUIResponse(stream_run(INPUT, asynchronous(PAYLOADS, False), api=API)))

    await work()
    with leaving_nothing():
        await work()
