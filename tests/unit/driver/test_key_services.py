"""Fetch keys from services that are slow, asynchronous, down or rotate in the middle of a run.

Unless it is asynchronous, the callable does not run in the thread of the event loop. It runs before the
provider is asked: what cannot be encrypted must not be paid for.
"""

from __future__ import annotations

import gc
import inspect
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest

import agui_reasoning
from agui_reasoning import ConfigurationError, ModelStream, Run, TransportError, aio, reduce_events, restore
from agui_reasoning.aio import run_agent, stream_run
from agui_reasoning.crypto import Binding, KeyRing
from agui_reasoning.deltas import FinishDelta, ReasoningDelta, TextDelta
from agui_reasoning.gateway import create_app, local_server
from agui_reasoning.interop import claude_agent
from agui_reasoning.replay import load_script
from agui_reasoning.wire import read_events
from tests.internals.sources import hold_keys
from tests.support.effort import mostly_slow
from tests.unit.crypto.tokens import frames
from tests.unit.driver.test_memory import leaving_nothing
from tests.unit.gateway.http_client import INPUT as ASKED
from tests.unit.gateway.http_client import call
from tests.unit.gateway.provider import Provider, Reply, upstream
from tests.unit.gateway.provider import frames as written

API = "anthropic-messages"
ORIGIN: dict[str, Any] = {"api": API, "provider": "anthropic", "model": "claude-sonnet-4-6"}
PAYLOADS = [event["data"] for event in load_script("anthropic-weather-2")["events"]]
KEYS = {"old": b"o" * 32, "new": b"n" * 32}
Json = dict[str, Any]


@dataclass
class Service:
    """A key management service.

    Attributes:
        keys: What it has.
        steps: What happened, in order: its calls, and the requests to the provider.
        threads: Where it was called.
        turns: What the event loop did while it waited.
        outage: What it raises.
    """

    keys: dict[str, bytes] = field(default_factory=lambda: dict(KEYS))
    steps: list[str] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)
    turns: list[str] = field(default_factory=list)
    outage: Exception | None = None

    def answer(self, kid: str) -> bytes:
        self.steps.append(kid)
        self.threads.append(threading.current_thread())
        if self.outage is not None:
            raise self.outage
        return self.keys[kid]

    def blocking(self, kid: str) -> bytes:
        """Wait until the event loop has done something; in its own thread, that is an error."""
        anyio.from_thread.run_sync(self.turns.append, kid)
        return self.answer(kid)

    async def awaited(self, kid: str) -> bytes:
        """Give the other tasks of the event loop a turn."""
        done = anyio.Event()

        async def other() -> None:
            self.turns.append(kid)
            done.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(other)
            await done.wait()
        return self.answer(kid)

    async def __call__(self, kid: str) -> bytes:
        return await self.awaited(kid)

    def provider(self) -> list[Any]:
        """Answer a request to the model's provider."""
        self.steps.append("asked")
        return PAYLOADS

    @property
    def asked(self) -> int:
        """The number of requests to the model's provider."""
        return self.steps.count("asked")


CALLABLES: dict[str, Callable[[Service], Any]] = {
    "blocking": lambda service: service.blocking,
    "asynchronous": lambda service: service.awaited,
    "object": lambda service: service,
    "partial": lambda service: partial(Service.awaited, service),
    "coroutine": lambda service: lambda kid: service.awaited(kid),
}


def ring(service: Service, how: str = "blocking", primary: str = "new", **options: Any) -> KeyRing:
    return KeyRing(CALLABLES[how](service), primary=primary, **options)


def asking(messages: list[Any] | None = None, **more: Any) -> Json:
    return {"threadId": "t", "runId": "r", "messages": messages or [], "protocolVersion": "1.0", **more}


def stored(kid: str, keys: dict[str, bytes] = KEYS, name: str = "r") -> list[Any]:
    """The messages of a client after a run whose values one key encrypted."""
    numbers = count()
    run = Run(asking(), keys=KeyRing({kid: keys[kid]}), new_id=lambda: f"{name}{next(numbers)}", **ORIGIN)
    events = run.start() + run.receive(ReasoningDelta("A thought.")) + run.receive(TextDelta("Yes."))
    return reduce_events(events + run.receive(FinishDelta("stop")) + run.finish())


# -- every way to run


async def of_agent(service: Service, given: Json, **options: Any) -> list[Any]:
    async def agent(run: Run) -> AsyncIterator[Any]:
        run.request(tools=())  # as the adapters of frameworks do
        yield ModelStream(service.provider)

    return [event async for event in run_agent(given, agent, **ORIGIN, **options)]


async def of_deltas(service: Service, given: Json, **options: Any) -> list[Any]:
    """An agent that asks the provider itself."""

    async def agent(run: Run) -> AsyncIterator[Any]:
        service.provider()
        yield ReasoningDelta("A thought.")

    return [event async for event in run_agent(given, agent, **ORIGIN, **options)]


async def of_frames(service: Service, given: Json, **options: Any) -> list[Any]:
    events = stream_run(given, service.provider, **ORIGIN, **options)
    return [event async for event in Decoded(events.frames())]


async def of_stream(service: Service, given: Json, **options: Any) -> list[Any]:
    async def coroutine() -> list[Any]:
        return service.provider()

    return [event async for event in stream_run(given, coroutine(), **ORIGIN, **options)]


async def of_request(service: Service, given: Json, **options: Any) -> list[Any]:
    return [
        event async for event in stream_run(given, lambda request: service.provider(), **ORIGIN, **options)
    ]


class Decoded:
    """Frames as events."""

    def __init__(self, chunks: Any) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for chunk in self._chunks:
            for event in read_events(chunk):
                yield Named(event)


@dataclass(frozen=True)
class Named:
    """An event of a stream of bytes."""

    event: Json

    @property
    def type(self) -> str:
        return str(self.event["type"])

    @property
    def code(self) -> str | None:
        return self.event.get("code")


WAYS = {way.__name__: way for way in (of_agent, of_deltas, of_frames, of_stream, of_request)}
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
callables = pytest.mark.parametrize("how", mostly_slow(CALLABLES, quick=["blocking", "asynchronous"]))


@pytest.mark.anyio
@callables
@ways
async def test_keys_are_fetched_before_the_provider_is_asked_and_the_loop_goes_on(
    way: Callable[..., Awaitable[list[Any]]], how: str
) -> None:
    service = Service()
    events = await way(service, asking(stored("old")), keys=ring(service, how))
    assert events[-1].type == "RUN_FINISHED"
    assert service.steps == ["new", "old", "asked"]
    assert service.turns == ["new", "old"]
    same_format = [thread is threading.current_thread() for thread in service.threads]
    assert same_format == ([False, False] if how == "blocking" else [True, True])


@pytest.mark.anyio
@callables
@ways
async def test_nothing_is_paid_if_the_key_service_is_down(
    way: Callable[..., Awaitable[list[Any]]], how: str
) -> None:
    service = Service(outage=TimeoutError("no route to the service"))
    keys = ring(service, how)
    events = await way(service, asking(), keys=keys)
    assert [event.type for event in events] == ["RUN_STARTED", "RUN_ERROR"]
    assert (events[-1].code, service.asked) == ("key_unavailable", 0)
    service.outage = None
    assert (await way(service, asking(), keys=keys))[-1].type == "RUN_FINISHED"
    gc.collect()  # a coroutine that was never awaited would warn


@pytest.mark.anyio
@callables
async def test_a_source_that_is_not_asked_is_closed_with_its_run(how: str) -> None:
    service = Service(outage=TimeoutError("no route to the service"))

    async def coroutine() -> list[Any]:
        return service.provider()

    source = coroutine()
    events = stream_run(asking(), source, keys=ring(service, how), **ORIGIN)
    assert [event.type async for event in events] == ["RUN_STARTED", "RUN_ERROR"]
    assert inspect.getcoroutinestate(source) == inspect.CORO_CLOSED


@pytest.mark.anyio
@callables
@pytest.mark.parametrize("outage", [None, TimeoutError()], ids=["up", "down"])
async def test_keys_leave_nothing_behind(how: str, outage: Exception | None) -> None:
    service = Service()
    keys = ring(service, how)
    await of_agent(service, asking(stored("old")), keys=keys)  # imports
    keys.forget()
    service.outage = outage
    with leaving_nothing():
        await of_agent(service, asking(), keys=keys)
        await anyio.to_thread.run_sync(int)  # a thread of anyio keeps its last error until its next call
        if outage is not None:
            outage.__traceback__ = None  # it is the test's


@pytest.mark.anyio
@callables
async def test_an_unknown_or_invalid_primary_key_is_not_an_outage(how: str) -> None:
    service = Service(keys={"new": b"too short"})
    assert (await of_agent(service, asking(), keys=ring(service, how)))[-1].code == "bad_key"
    assert (await of_agent(service, asking(), keys=ring(service, how, "gone")))[-1].code == "unknown_key"
    assert service.asked == 0


# -- what a run holds


@pytest.mark.anyio
@callables
@pytest.mark.parametrize("subagent", [False, True])
async def test_a_run_keeps_its_key_whatever_becomes_of_it(how: str, subagent: bool) -> None:
    service, clock = Service(), [0.0]
    keys = ring(service, how, now=lambda: clock[0])

    async def agent(run: Run) -> AsyncIterator[Any]:
        yield ReasoningDelta("A thought.")
        yield FinishDelta("stop")
        service.keys["new"] = b"x" * 32
        clock[0] += 10_000
        keys.forget()
        service.outage = TimeoutError()
        child = run.subagent("other") if subagent else None
        for event in child.start() if child else ():
            yield event
        for item in (ReasoningDelta("Another one."), FinishDelta("stop")):
            for event in child.receive(item) if child else run.receive(item):
                yield event
        for event in child.finish() if child else ():
            yield event

    events = [event async for event in run_agent(asking(), agent, keys=keys, **ORIGIN)]
    values = [event.encrypted_value for event in events if event.type == "REASONING_ENCRYPTED_VALUE"]
    assert (events[-1].type, len(values), service.steps) == ("RUN_FINISHED", 2, ["new"])
    assert all(KeyRing({"new": KEYS["new"]}).decrypt(value, Binding("t")) for value in values)
    service.outage = None
    later = await of_deltas(service, asking(), keys=keys)
    (value,) = [event.encrypted_value for event in later if event.type == "REASONING_ENCRYPTED_VALUE"]
    assert KeyRing({"new": b"x" * 32}).decrypt(value, Binding("t"))


# -- the keys of the client's history


@pytest.mark.anyio
@callables
async def test_clients_cannot_make_a_run_ask_for_many_keys(how: str) -> None:
    service = Service()
    forged = {f"k{number}": bytes([number]) * 32 for number in range(30)}
    messages = [one for kid in forged for one in stored(kid, forged, kid)]
    events = await of_agent(service, asking(messages), keys=ring(service, how))
    assert events[-1].type == "RUN_FINISHED"
    assert service.steps == ["new", *list(forged)[:8], "asked"]
    service.steps.clear()
    listed = ring(service, how, kids=["new", "old"])
    await of_agent(service, asking([*messages, *stored("old", name="o")]), keys=listed)
    assert service.steps == ["new", "old", "asked"]


@pytest.mark.anyio
@callables
@pytest.mark.parametrize(("on_undecryptable", "end"), [("drop", "RUN_FINISHED"), ("raise", "RUN_ERROR")])
async def test_an_old_key_that_cannot_be_fetched_loses_its_values_or_ends_the_run(
    how: str, on_undecryptable: Any, end: str
) -> None:
    service, reports = Service(), []
    keys = ring(service, how)

    async def agent(run: Run) -> AsyncIterator[Any]:
        reports.extend((entry.outcome, entry.reason) for entry in run.history.report)
        yield ModelStream(service.provider)

    await of_agent(service, asking(), keys=keys)
    service.steps.clear()
    service.outage = TimeoutError()
    options = {"keys": keys, "on_undecryptable": on_undecryptable} | ORIGIN
    events = [event async for event in run_agent(asking(stored("old")), agent, **options)]
    assert events[-1].type == end
    if on_undecryptable == "drop":
        assert (reports, service.steps) == ([("dropped", "key_unavailable")], ["old", "asked"])
    else:
        assert (events[-1].code, service.steps) == ("key_unavailable", ["old"])


@pytest.mark.anyio
@callables
async def test_a_run_by_hand_gets_its_request_off_the_loop(how: str) -> None:
    service = Service()
    run = Run(asking(stored("old")), keys=ring(service, how), **ORIGIN)
    await aio.request(run)
    assert service.turns == ["new", "old"]
    assert [entry.outcome for entry in run.history.report] == ["restored"]
    assert run.start() + run.receive(ReasoningDelta("Hm.")) + run.finish()
    assert service.steps == ["new", "old"]


@pytest.mark.anyio
@callables
async def test_the_key_of_a_remembered_session_is_fetched_too(how: str) -> None:
    service, session = Service(), "0b5e1c1e-9a52-4d0e-8d6b-6f3a3b0f4d11"
    run = Run(asking(), **ORIGIN)
    binding = Binding(run.input.thread_id, tenant=run.tenant, entity_id="claudeAgentSession")
    state = {"claudeAgentSession": KeyRing({"old": KEYS["old"]}).encrypt(session.encode(), binding)}
    found: list[Any] = []

    async def agent(run: Run) -> AsyncIterator[Any]:
        found.append(claude_agent.session_id(run))
        yield TextDelta("Yes.")

    given = asking(state=state)
    assert [event async for event in run_agent(given, agent, keys=ring(service, how), **ORIGIN)]
    assert (found, service.steps, service.turns) == ([session], ["new", "old"], ["new", "old"])


# -- synchronous code


def sync_agent(service: Service) -> Callable[[Run], Iterator[Any]]:
    def agent(run: Run) -> Iterator[Any]:
        yield ModelStream(service.provider)

    return agent


def test_synchronous_runs_fetch_first_too() -> None:
    service = Service()
    keys = KeyRing(service.answer, primary="new")
    events = list(agui_reasoning.run_agent(asking(), sync_agent(service), keys=keys, **ORIGIN))
    assert (events[-1].type.value, service.steps) == ("RUN_FINISHED", ["new", "asked"])
    keys.forget()
    service.outage, service.steps = TimeoutError(), []
    events = list(agui_reasoning.stream_run(asking(), service.provider, keys=keys, **ORIGIN))
    assert (events[-1].code, service.asked) == ("key_unavailable", 0)  # type: ignore[union-attr]


@pytest.mark.parametrize("how", [how for how in CALLABLES if how != "blocking"])
def test_synchronous_code_cannot_use_an_asynchronous_callable(how: str) -> None:
    service = Service()
    keys, token = ring(service, how), KeyRing({"new": KEYS["new"]}).encrypt(b"{}", Binding("t"))
    events = list(agui_reasoning.run_agent(asking(), sync_agent(service), keys=keys, **ORIGIN))
    assert (events[-1].code, service.steps) == ("async_keys", [])  # type: ignore[union-attr]
    for action in (
        lambda: restore(asking(stored("new")), keys=keys),
        lambda: keys.encrypt(b"{}", Binding("t")),
        lambda: keys.decrypt(token, Binding("t")),
        lambda: keys.rekey(token, Binding("t")),
        lambda: keys.content_key("new", "t"),
    ):
        with pytest.raises(ConfigurationError, match=r"agui_reasoning\.aio") as raised:
            action()
        assert raised.value.code == "async_keys"
    gc.collect()


def test_the_error_of_the_service_is_the_cause_and_is_not_quoted() -> None:
    service = Service(outage=PermissionError("token=SECRET"))
    run = Run(asking(), keys=KeyRing(service.answer, primary="new"), **ORIGIN)
    run.start()
    with pytest.raises(TransportError) as raised:
        run.receive(ReasoningDelta("Hm.")) + run.finish()
    assert isinstance(raised.value.__cause__, PermissionError)
    assert "SECRET" not in str(raised.value) + repr(raised.value)


@callables
def test_no_traceback_shows_a_key_that_cannot_be_used(how: str) -> None:
    service = Service(keys={"new": b"KEYMATERIAL" * 4, "old": b"KEYMATERIAL" * 4})
    run = Run(asking(stored("old", {"old": bytes(32)})), keys=ring(service, how), **ORIGIN)
    assert "KEYMATERIAL" not in frames(lambda: anyio.run(hold_keys, run))
    good = Service(keys={"new": b"KEYMATERIAL_NEW_KEYMATERIAL_NEW!", "old": b"KEYMATERIAL"})
    given = asking(stored("old", {"old": bytes(32)}))
    run = Run(given, keys=ring(good, how), on_undecryptable="raise", **ORIGIN)
    anyio.run(hold_keys, run)
    assert "KEYMATERIAL" not in frames(lambda: run.history)


# -- the gateway


@pytest.mark.parametrize("how", ["blocking", "asynchronous"])
def test_the_gateway_fetches_keys_in_front_of_a_provider(how: str) -> None:
    service = Service()
    provider = Provider(Reply(written(PAYLOADS)))
    with local_server(provider) as url:
        app = create_app(upstream(API, url), keys=ring(service, how), visibility="hidden")
        with local_server(app) as gateway:
            first = call(f"{gateway}/agent").events
            answer = [
                message.model_dump(by_alias=True, exclude_none=True) for message in reduce_events(first)
            ]
            second = call(
                f"{gateway}/agent", ASKED | {"runId": "r2", "messages": [*ASKED["messages"], *answer]}
            )
            assert [events[-1]["type"] for events in (first, second.events)] == ["RUN_FINISHED"] * 2
            assert (len(provider.asked), service.steps, service.turns) == (2, ["new"], ["new"])


@pytest.mark.parametrize("how", ["blocking", "asynchronous"])
def test_the_gateway_asks_no_provider_without_keys(how: str) -> None:
    service = Service(outage=TimeoutError())
    provider = Provider(Reply(written(PAYLOADS)))
    with local_server(provider) as url:
        app = create_app(upstream(API, url), keys=ring(service, how), visibility="hidden")
        with local_server(app) as gateway:
            events = call(f"{gateway}/agent").events
    assert [event["type"] for event in events] == ["RUN_STARTED", "RUN_ERROR"]
    assert (events[-1]["code"], provider.asked) == ("key_unavailable", [])


def test_the_inspector_awaits_keys() -> None:
    service = Service()
    with local_server(create_app(keys=ring(service, "asynchronous"))) as gateway:
        answer = call(f"{gateway}/_page/request", ASKED)
    assert (answer.status, service.steps) == (200, ["new"])


@pytest.mark.anyio
async def test_a_service_that_hangs_ends_the_run_and_the_next_one_works(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agui_reasoning._driver._driver.FETCH_WITHIN_S", 0.05)
    service, hangs = Service(), [True]

    async def fetch(kid: str) -> bytes:
        if hangs:
            await anyio.sleep_forever()
        return service.answer(kid)

    keys = KeyRing(fetch, primary="new")

    async def end() -> Json:
        stream = stream_run(asking(), service.provider, keys=keys, **ORIGIN)
        return [event.model_dump(mode="json") async for event in stream][-1]

    assert (await end())["code"] == "key_unavailable"
    assert service.asked == 0
    hangs.clear()
    assert (await end())["type"] == "RUN_FINISHED"
