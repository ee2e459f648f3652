"""Objects of their own in many threads, tasks and forks, and one ring for all: each does as it does alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import anyio.to_thread
import pytest

from agui_reasoning import Conversation, Emitter, Run, restore
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import FinishDelta, OpaqueDelta, ReasoningDelta, TextDelta, ToolCallDelta
from agui_reasoning.parts import Opaque, ReasoningPart
from agui_reasoning.wire import frames_of

WORKERS = 8
TIMES = 40
KEYS = KeyRing({"k1": b"k" * 32})

DELTAS = [
    ReasoningDelta("Clouds over ", key="0"),
    ReasoningDelta("Bergen \U0001f326, so ", key="0"),
    OpaqueDelta(Opaque("anthropic.signature", "U0lHTkVE"), key="0"),
    TextDelta("Take ", key="1"),
    TextDelta("one.", key="1"),
    ToolCallDelta("c1", "get_forecast", "{}"),
    FinishDelta("tool_use"),
]


def emitted() -> bytes:
    ids = iter(range(1000))
    emitter = Emitter(new_id=lambda: f"id-{next(ids)}")
    events = [event for delta in DELTAS for event in emitter.receive(delta)]
    return frames_of([*events, *emitter.close()])


def conversed() -> str:
    """A run of three turns, from events to messages and back."""
    ids = iter(range(1000))
    conversation = Conversation("thread", new_id=lambda: f"id-{next(ids)}")
    for at in range(3):
        run = Run(
            conversation.run_input("Umbrella?", run_id=f"run-{at}"),
            new_id=lambda: f"id-{next(ids)}",
            api="anthropic-messages",
            provider="anthropic",
        )
        events = run.start()
        for delta in [*DELTAS[:5], DELTAS[6]]:
            events += run.receive(delta)
        for event in [*events, *run.finish()]:
            conversation.receive(event)
    return conversation.to_json()


def restored() -> str:
    """A thought that is encrypted by one ring, for a thread of its own, and read by it."""
    thread = f"thread-{os.urandom(8).hex()}"
    conversation = Conversation(thread)
    run = Run(conversation.run_input("Umbrella?"), keys=KEYS, tenant="acme", visibility="hidden")
    for event in [*run.start(), *run.receive(DELTAS[0]), *run.receive(DELTAS[3]), *run.finish()]:
        conversation.receive(event)
    history = restore(conversation.messages, keys=KEYS, thread_id=thread, tenant="acme")
    (thought,) = [part for turn in history.turns for part in turn.parts if isinstance(part, ReasoningPart)]
    return thought.text


WORK: dict[str, Callable[[], Any]] = {"emitters": emitted, "conversations": conversed, "a ring": restored}
works = pytest.mark.parametrize("work", WORK.values(), ids=WORK)
Record = Callable[[str, object], None]


@works
def test_threads_do_what_one_does_alone(work: Callable[[], Any], record_property: Record) -> None:
    alone = work()
    switches = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(WORKERS) as pool:
            found = list(pool.map(lambda _: work(), range(WORKERS * TIMES)))
    finally:
        sys.setswitchinterval(switches)
    assert found == [alone] * len(found)
    record_property("times", len(found))


@pytest.mark.anyio
@works
async def test_tasks_do_what_one_does_alone(work: Callable[[], Any], record_property: Record) -> None:
    alone, found = work(), list[Any]()

    async def one() -> None:
        await anyio.lowlevel.checkpoint()
        found.append(await anyio.to_thread.run_sync(work))
        found.append(work())

    async with anyio.create_task_group() as group:
        for _ in range(TIMES):
            group.start_soon(one)
    assert found == [alone] * (2 * TIMES)
    record_property("times", len(found))


@pytest.mark.anyio
async def test_deltas_of_many_runs_in_turn_are_those_of_each(record_property: Record) -> None:
    """Tasks that yield between all deltas: nothing of one emitter is in another."""

    async def one() -> bytes:
        ids = iter(range(1000))
        emitter = Emitter(new_id=lambda: f"id-{next(ids)}")
        events = []
        for delta in DELTAS:
            events += emitter.receive(delta)
            await anyio.lowlevel.checkpoint()
        return frames_of([*events, *emitter.close()])

    found: list[bytes] = []

    async def kept() -> None:
        found.append(await one())

    async with anyio.create_task_group() as group:
        for _ in range(TIMES):
            group.start_soon(kept)
    assert found == [emitted()] * TIMES
    record_property("times", TIMES)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@works
def test_forks_of_a_busy_process_do_it_too(work: Callable[[], Any], record_property: Record) -> None:
    """Children of a process whose threads do the same meanwhile; one that waits for a lock would not end."""
    alone, forks = work(), 10
    with ThreadPoolExecutor(2) as pool:
        busy = [pool.submit(work) for _ in range(2 * TIMES)]
        children = [forked(work, alone) for _ in range(forks)]
        statuses = [os.waitpid(child, 0)[1] for child in children]
        assert [one.result() for one in busy] == [alone] * len(busy)
    assert statuses == [0] * forks
    record_property("times", forks)


def forked(work: Callable[[], Any], expected: Any) -> int:
    import signal

    child = os.fork()
    if child:
        return child
    try:
        signal.alarm(60)
        os._exit(0 if work() == expected else 1)
    finally:
        os._exit(2)
