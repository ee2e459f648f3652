"""Test the asynchronous driver, which closes everything it opens, on asyncio and trio."""

from __future__ import annotations

import gc
import inspect
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import Any

import anyio
import pytest
from ag_ui.core import CustomEvent, Interrupt
from sniffio import current_async_library

import agui_reasoning
from agui_reasoning import ConfigurationError, Conversation, ProviderError, RemoteProtocolError, Run, aio
from agui_reasoning.aio import ModelStream, run_agent, stream_run
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import ReasoningDelta, TextDelta
from agui_reasoning.gateway import create_app
from agui_reasoning.parts import ToolResultPart
from agui_reasoning.replay import load_script
from tests.support.expected import FAILED
from tests.support.verifier import Client, plain, types

pytestmark = pytest.mark.anyio

INPUT: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": [], "protocolVersion": "1.0"}
API = "anthropic-messages"
UNREACHABLE = "The connection to the model's provider failed. Please try again shortly."
PAYLOADS = [event["data"] for event in load_script("anthropic-weather")["events"]]
ANSWER = [event["data"] for event in load_script("anthropic-weather-2")["events"]]


class Tape:
    """A provider stream that notes what happens to it, in one of the forms SDKs use."""

    def __init__(
        self, payloads: list[Any], *, fail_at: int | None = None, stall_at: int | None = None
    ) -> None:
        self.payloads = payloads
        self.fail_at = fail_at
        self.stall_at = stall_at
        self.on_stall: Callable[[], None] = lambda: None
        self.opened = self.closed = self.read = 0

    def _check(self, number: int) -> None:
        self.read += 1
        if number == self.fail_at:
            raise ConnectionError("secret words of the network")

    # -- asynchronous forms

    async def generator(self) -> AsyncIterator[Any]:
        self.opened += 1
        try:
            for number, payload in enumerate(self.payloads):
                self._check(number)
                if number == self.stall_at:
                    self.on_stall()
                    await anyio.sleep_forever()
                yield payload
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
            self.closed += 1

    async def awaitable(self) -> AsyncIterator[Any]:
        await anyio.lowlevel.checkpoint()
        return self.generator()

    @asynccontextmanager
    async def manager(self) -> AsyncIterator[AsyncIterator[Any]]:
        async with aclosing(self.generator()) as stream:  # type: ignore[type-var]
            yield stream

    def sdk(self) -> _SDKStream:
        return _SDKStream(self)

    async def awaited_sdk(self) -> _SDKStream:
        return _SDKStream(self)

    # -- synchronous forms

    def iterator(self) -> Iterator[Any]:
        self.opened += 1
        try:
            for number, payload in enumerate(self.payloads):
                self._check(number)
                yield payload
        finally:
            self.closed += 1

    @contextmanager
    def sync_manager(self) -> Iterator[Iterator[Any]]:
        stream = self.iterator()
        try:
            yield stream
        finally:
            stream.close()  # type: ignore[attr-defined]

    # -- forms of other kinds

    def botocore(self) -> dict[str, Any]:
        return {"ResponseMetadata": {"HTTPStatusCode": 200}, "stream": EventStream(self)}

    def both(self) -> Both:
        return Both(self)

    def pairs(self) -> Iterator[Any]:
        return ((payload, {"langgraph_node": "model"}) for payload in self.iterator())


class EventStream:
    """Shaped like botocore's: iterated and closed, no context manager."""

    def __init__(self, tape: Tape) -> None:
        self._inner = tape.iterator()

    def __iter__(self) -> Iterator[Any]:
        return self._inner

    def close(self) -> None:
        self._inner.close()  # type: ignore[attr-defined]


class Both:
    """Shaped like LiteLLM's wrapper: iterated either way."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    def __iter__(self) -> Iterator[Any]:
        return self._tape.iterator()

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._tape.generator()


class AgentRun:
    """Shaped like the run of an agent framework: it goes on until it is cancelled, on the event loop."""

    def __init__(self, tape: Tape) -> None:
        current_async_library()  # raises outside the event loop, as `asyncio.create_task` does
        self._tape = tape
        self.cancelled = 0

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._tape.generator()

    def cancel(self) -> None:
        current_async_library()
        self.cancelled += 1


class _SDKStream:
    """Shaped like the asynchronous streams of the vendor SDKs."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._inner = tape.generator()

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._inner

    async def __aenter__(self) -> _SDKStream:
        return self

    async def __aexit__(self, *why: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._inner.aclose()  # type: ignore[attr-defined]


FORMS: dict[str, Callable[[Tape], Any]] = {
    "async generator": Tape.generator,
    "awaitable": Tape.awaitable,
    "async context manager": Tape.manager,
    "SDK stream": Tape.sdk,
    "awaitable of an SDK stream": Tape.awaited_sdk,
    "callable of a generator": lambda tape: tape.generator,
    "callable of an awaitable": lambda tape: tape.awaitable,
    "callable of a manager": lambda tape: tape.manager,
    "lambda of an awaitable": lambda tape: lambda: tape.awaited_sdk(),
    "generator": Tape.iterator,
    "context manager": Tape.sync_manager,
    "callable of a sync generator": lambda tape: tape.iterator,
    "callable of a sync manager": lambda tape: tape.sync_manager,
    "mapping with a stream": Tape.botocore,
    "callable of a mapping with a stream": lambda tape: tape.botocore,
    "iterable either way": Tape.both,
    "callable of what is iterable either way": lambda tape: tape.both,
}
forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


async def collect(events: AsyncIterator[Any]) -> list[dict[str, Any]]:
    with anyio.fail_after(60):
        return plain([event async for event in events])


def verified(events: list[dict[str, Any]]) -> Client:
    return Client().feed(events).done()


@forms
async def test_every_form_of_source_is_opened_read_and_closed_once(form: Callable[[Tape], Any]) -> None:
    tape = Tape(PAYLOADS)
    client = verified(await collect(stream_run(INPUT, form(tape), api=API)))
    assert (tape.opened, tape.closed, tape.read) == (1, 1, len(PAYLOADS))
    assert client.messages[0]["role"] == "reasoning"


async def test_lists_and_whole_responses_are_sources_too() -> None:
    whole = {
        "id": "msg",
        "model": "m",
        "content": [{"type": "text", "text": "Hi."}],
        "stop_reason": "end_turn",
    }
    for source in (PAYLOADS, tuple(PAYLOADS), whole, lambda: whole):
        events = await collect(stream_run(INPUT, source, api=API))
        assert types(events)[-1] == "RUN_FINISHED"
        verified(events)


async def test_pairs_are_read_as_their_payloads() -> None:
    tape = Tape(PAYLOADS)
    paired = await collect(stream_run(INPUT, tape.pairs(), api=API))
    assert types(paired) == types(await collect(stream_run(INPUT, PAYLOADS, api=API)))
    assert tape.closed == 1


async def test_a_plain_callable_that_needs_the_event_loop_is_told_how_to_be_written(
    caplog: pytest.LogCaptureFixture,
) -> None:
    events = await collect(stream_run(INPUT, lambda: AgentRun(Tape(PAYLOADS)), api=API))
    assert events[-1]["code"] == "needs_event_loop"
    assert "async def source()" in caplog.text


async def test_another_error_of_a_callable_stays_what_it_is() -> None:
    seen: list[type[BaseException]] = []

    def source() -> Any:
        raise RuntimeError("the model is away")

    def on_error(error: BaseException) -> None:
        seen.append(type(error))

    await collect(stream_run(INPUT, source, api=API, on_error=on_error))
    assert seen == [RuntimeError]


@pytest.mark.parametrize("leaves", [False, True])
async def test_a_run_of_a_framework_is_cancelled_when_its_reader_leaves_and_only_then(leaves: bool) -> None:
    tape, made = Tape(PAYLOADS), []

    async def source() -> AgentRun:
        made.append(AgentRun(tape))
        return made[0]

    async with aclosing(stream_run(INPUT, source, api=API)) as events:
        async for event in events:
            if leaves and event.type.value == "REASONING_MESSAGE_CONTENT":
                break
    assert (made[0].cancelled, tape.closed) == (int(leaves), 1)


async def test_a_run_of_a_framework_is_cancelled_with_its_task() -> None:
    tape = Tape(PAYLOADS, stall_at=6)
    run = AgentRun(tape)
    with anyio.CancelScope() as scope:
        tape.on_stall = scope.cancel
        await collect(stream_run(INPUT, run, api=API))
    assert (run.cancelled, tape.closed) == (1, 1)


async def test_what_can_be_closed_is_not_cancelled() -> None:
    class Closable(AgentRun):
        closed = 0

        async def aclose(self) -> None:
            self.closed += 1

    run = Closable(Tape(PAYLOADS, fail_at=5))
    await collect(stream_run(INPUT, run, api=API))
    assert (run.cancelled, run.closed) == (0, 1)


@forms
async def test_an_error_in_the_stream_ends_the_run_and_closes_the_source(
    form: Callable[[Tape], Any], caplog: pytest.LogCaptureFixture
) -> None:
    tape = Tape(PAYLOADS, fail_at=5)
    events = await collect(stream_run(INPUT, form(tape), api=API))
    assert (events[-1]["code"], events[-1]["message"]) == ("unreachable", UNREACHABLE)
    verified(events)
    assert tape.closed == 1
    assert "secret words" not in str(events)
    assert "secret words" in caplog.text


@forms
async def test_a_reader_that_leaves_closes_the_source(form: Callable[[Tape], Any]) -> None:
    for stop in ("RUN_STARTED", "REASONING_MESSAGE_CONTENT", "TOOL_CALL_ARGS"):
        tape = Tape(PAYLOADS)
        async with aclosing(stream_run(INPUT, form(tape), api=API)) as events:
            async for event in events:
                if event.type.value == stop:
                    break
        assert tape.closed == tape.opened


@forms
async def test_cancellation_closes_the_source(form: Callable[[Tape], Any]) -> None:
    tape = Tape(PAYLOADS)
    with anyio.CancelScope() as scope:
        async with aclosing(stream_run(INPUT, form(tape), api=API)) as events:
            async for event in events:
                if event.type.value == "REASONING_MESSAGE_CONTENT":
                    scope.cancel()
                    await anyio.lowlevel.checkpoint()
    assert scope.cancelled_caught
    assert (tape.opened, tape.closed) == (1, 1)


@pytest.mark.parametrize("form", ["async generator", "SDK stream", "async context manager"])
async def test_cancellation_while_the_provider_is_silent_closes_the_source(form: str) -> None:
    tape = Tape(PAYLOADS, stall_at=6)
    with anyio.CancelScope() as scope:
        tape.on_stall = scope.cancel
        await collect(stream_run(INPUT, FORMS[form](tape), api=API))
    assert (tape.opened, tape.closed) == (1, 1)


async def test_an_abort_at_every_payload_leaves_nothing_open() -> None:
    for number in range(len(PAYLOADS)):
        tape = Tape(PAYLOADS, fail_at=number)
        events = await collect(stream_run(INPUT, tape.generator(), api=API))
        verified(events)
        assert tape.closed == 1


async def test_a_refusal_before_the_first_byte_is_an_error_inside_the_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def refused() -> Any:
        raise PermissionError("429 with the prompt in it")

    events = await collect(stream_run(INPUT, refused(), api=API))
    assert types(events) == ["RUN_STARTED", "RUN_ERROR"]
    assert events[-1]["message"] == FAILED
    assert "Traceback" in caplog.text
    assert "429 with the prompt" in caplog.text


async def test_the_words_of_a_provider_are_for_debugging(caplog: pytest.LogCaptureFixture) -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "words of the provider"}}
    with caplog.at_level(logging.DEBUG, "agui_reasoning"):
        events = await collect(stream_run(INPUT, [*PAYLOADS[:5], error], api=API))
    verified(events)
    assert events[-1]["code"] == "overloaded"
    assert "words of the provider" not in str(events)
    quoting = [
        record.levelname for record in caplog.records if "words of the provider" in record.getMessage()
    ]
    assert quoting == ["DEBUG"]


async def test_on_error_chooses_the_sentence() -> None:
    seen: list[BaseException] = []

    def on_error(error: BaseException) -> str | None:
        seen.append(error)
        return "Please wait a minute." if isinstance(error, ProviderError) else None

    error = {"type": "error", "error": {"type": "overloaded_error", "message": ""}}
    events = await collect(stream_run(INPUT, [error], api=API, on_error=on_error))
    assert events[-1]["message"] == "Please wait a minute."
    events = await collect(stream_run(INPUT, PAYLOADS[:3], api=API, on_error=on_error))
    assert (events[-1]["message"], events[-1]["code"]) == (FAILED, "truncated_stream")
    assert len(seen) == 2


async def test_an_agent_loops_over_model_and_tools() -> None:
    tapes = [Tape(PAYLOADS), Tape(ANSWER)]

    async def agent(run: Run) -> AsyncIterator[Any]:
        for tape in tapes:
            yield ModelStream(tape.awaited_sdk(), api=API, provider="anthropic")
            if not run.pending_calls:
                return
            for call in run.pending_calls:
                yield CustomEvent(name="progress", value={"tool": call.name})
                yield ToolResultPart(call.id, f"result of {call.name} {sorted(call.args)}")

    events = await collect(run_agent(INPUT, agent))
    client = verified(events)
    assert [m["role"] for m in client.messages] == [
        "reasoning",
        "assistant",
        "tool",
        "reasoning",
        "assistant",
    ]
    assert types(events).count("CUSTOM") == 1
    assert "outcome" not in events[-1]
    assert [tape.closed for tape in tapes] == [1, 1]


async def test_an_agent_may_yield_deltas_parts_events_and_interrupts() -> None:
    async def agent(run: Run) -> AsyncIterator[Any]:
        yield ReasoningDelta("Hm.")
        yield {"type": "CUSTOM", "name": "x", "value": None}
        yield TextDelta("Shall I?")
        yield Interrupt(id="i", reason="confirm")

    events = await collect(run_agent(INPUT, agent))
    verified(events)
    assert events[-1]["outcome"]["interrupts"][0]["id"] == "i"


async def test_a_run_that_is_made_already_keeps_its_options() -> None:
    run = Run(INPUT, api=API, new_id=iter(f"id{n}" for n in range(99)).__next__)

    async def agent(run: Run) -> AsyncIterator[Any]:
        yield ModelStream(PAYLOADS)

    events = await collect(run_agent(run, agent))
    assert events[1]["messageId"].startswith("id")
    assert not any("timestamp" in event for event in events)


@pytest.mark.parametrize(
    ("item", "code"),
    [
        (ModelStream(PAYLOADS), "no_api"),
        (ModelStream(PAYLOADS, api="telepathy"), "unknown_api"),
        (ModelStream("text", api=API), "bad_source"),
        (ModelStream(7, api=API), "bad_source"),
        ("text", "not_an_item"),
        ({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}, "frame_event"),
    ],
)
async def test_what_an_agent_cannot_mean_ends_the_run_with_a_code(item: Any, code: str) -> None:
    async def agent(run: Run) -> AsyncIterator[Any]:
        yield TextDelta("before")
        yield item

    events = await collect(run_agent(INPUT, agent))
    verified(events)
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", code)


async def test_an_agent_that_is_no_generator_is_told_so() -> None:
    async def agent(run: Run) -> Any:
        return None

    seen: list[BaseException] = []
    events = await collect(run_agent(INPUT, agent, on_error=seen.append))
    assert events[-1]["code"] == "bad_agent"
    assert str(seen[0]) == (
        "The agent returned an object of the type coroutine. "
        "Write it as an async generator: `async def agent(run): … yield …`."
    )


@pytest.mark.parametrize(
    ("item", "hint"),
    [
        ("text", "For a piece of the answer, use TextDelta(...)."),
        (
            PAYLOADS,
            "For a model's stream, yield ModelStream(...) from an agent; for several items, one at a time.",
        ),
        (
            7,
            "Feed deltas (agui_reasoning.deltas), parts (agui_reasoning.parts) or AG-UI events.",
        ),
    ],
)
async def test_what_was_probably_meant_is_suggested(item: Any, hint: str) -> None:
    async def agent(run: Run) -> AsyncIterator[Any]:
        yield item

    seen: list[Any] = []
    await collect(run_agent(INPUT, agent, on_error=seen.append))
    assert seen[0].hint == hint


async def test_the_agent_is_closed_when_the_reader_leaves() -> None:
    closed: list[str] = []

    async def agent(run: Run) -> AsyncIterator[Any]:
        try:
            yield TextDelta("one")
            yield TextDelta("two")
        finally:
            closed.append("agent")

    async with aclosing(run_agent(INPUT, agent)) as events:
        async for event in events:
            if event.type.value == "TEXT_MESSAGE_CONTENT":
                break
    assert closed == ["agent"]


async def test_a_source_that_cannot_be_closed_does_not_fail_the_run(caplog: pytest.LogCaptureFixture) -> None:
    class Stubborn:
        def __aiter__(self) -> AsyncIterator[Any]:
            return Tape(PAYLOADS).generator()

        async def aclose(self) -> None:
            raise OSError("no")

    events = await collect(stream_run(INPUT, Stubborn(), api=API))
    assert types(events)[-1] == "RUN_FINISHED"
    assert "could not be closed" in caplog.text


async def test_what_cannot_run_is_refused_before_there_is_a_stream() -> None:
    with pytest.raises(RemoteProtocolError, match="malformed"):
        stream_run({"threadId": 1}, Tape(PAYLOADS).awaitable(), api=API)
    with pytest.raises(RemoteProtocolError, match="malformed"):
        run_agent({"threadId": 1}, lambda run: Tape(PAYLOADS).generator())
    with pytest.raises(ConfigurationError, match="telepathy"):
        stream_run(INPUT, Tape(PAYLOADS).awaitable(), api="telepathy")
    gc.collect()


@pytest.mark.parametrize("steps", [0, 1])
async def test_a_stream_that_nobody_reads_leaves_no_coroutine_behind(steps: int) -> None:
    tape = Tape(PAYLOADS)
    events = stream_run(INPUT, tape.awaitable(), api=API)
    for _ in range(steps):
        await anext(events)
    await events.aclose()
    del events
    gc.collect()
    stream_run(INPUT, tape.awaitable(), api=API)
    gc.collect()
    assert tape.opened == 0


@pytest.mark.parametrize("passes_on", [True, False])
async def test_an_agent_may_end_the_run_itself(passes_on: bool) -> None:
    async def agent(run: Run) -> AsyncIterator[Any]:
        yield ReasoningDelta("Hm.")
        events = run.cancel()
        for event in events if passes_on else events[:-1]:
            yield event

    events = await collect(run_agent(INPUT, agent))
    verified(events)
    assert events[-1]["outcome"] == {"type": "cancelled"}


async def test_an_on_error_that_fails_leaves_the_default_sentence(caplog: pytest.LogCaptureFixture) -> None:
    def on_error(error: BaseException) -> str:
        raise KeyError("bug")

    events = await collect(stream_run(INPUT, PAYLOADS[:3], api=API, on_error=on_error))
    assert events[-1]["message"] == FAILED
    assert "on_error" in caplog.text


async def test_events_are_stamped_by_the_clock() -> None:
    events = await collect(stream_run(INPUT, PAYLOADS, api=API))
    assert events[0]["timestamp"] > 1_700_000_000_000


@pytest.mark.parametrize("options", [{"visibilty": "full"}, {"keys": None, "key": None}])
def test_a_misspelt_option_is_a_type_error_at_the_call(options: dict[str, Any]) -> None:
    async def agent(run: Run) -> AsyncIterator[Any]:
        yield ModelStream(PAYLOADS)

    for call in (
        lambda: run_agent(INPUT, agent, api="anthropic-messages", **options),
        lambda: stream_run(INPUT, PAYLOADS, api="anthropic-messages", **options),
        lambda: agui_reasoning.run_agent(INPUT, lambda run: iter(()), **options),
        lambda: agui_reasoning.stream_run(INPUT, PAYLOADS, api="anthropic-messages", **options),
        lambda: create_app(**options),
    ):
        with pytest.raises(TypeError, match=next(iter(reversed(options)))):
            call()


def test_options_beside_a_run_that_is_made_already_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="visibility") as caught:
        run_agent(Run(INPUT), lambda run: None, visibility="full")  # type: ignore[arg-type, return-value]
    assert caught.value.code == "wrong_option"


@pytest.fixture(autouse=True)
def _log_level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="agui_reasoning")


async def test_the_agent_loop_sends_back_what_the_model_said() -> None:
    """The agent as the contract prints it: ask, run the tools, ask again with everything kept."""
    streams = [PAYLOADS, ANSWER]
    bodies: list[dict[str, Any]] = []

    async def agent(run: Run) -> AsyncIterator[Any]:
        while True:
            bodies.append(run.request(system="Be brief.").body)
            yield ModelStream(streams[len(bodies) - 1])
            if not run.pending_calls:
                return
            for call in run.pending_calls:
                yield ToolResultPart(call.id, "rain")

    asked = {"id": "u", "role": "user", "content": "Umbrella?"}
    tool = {"name": "get_forecast", "description": "", "parameters": {"type": "object", "properties": {}}}
    run_input = INPUT | {"messages": [asked], "tools": [tool]}
    events = await collect(
        run_agent(run_input, agent, api=API, provider="anthropic", model="claude-sonnet-4-6")
    )
    verified(events)
    first, second = bodies
    assert [message["role"] for message in first["messages"]] == ["user"]
    assert first["tools"][0]["name"] == "get_forecast"
    assert [message["role"] for message in second["messages"]] == ["user", "assistant", "user"]
    blocks = second["messages"][1]["content"]
    assert [block["type"] for block in blocks] == ["thinking", "redacted_thinking", "text", "tool_use"]
    signature = next(
        payload["delta"]["signature"] for payload in PAYLOADS if "signature" in payload.get("delta", {})
    )
    assert blocks[0]["signature"] == signature
    assert second["messages"][2]["content"][0]["type"] == "tool_result"


async def test_a_run_without_an_api_has_no_request_to_build() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Run(INPUT).request()
    assert caught.value.code == "no_api"


@pytest.mark.parametrize("driver", [run_agent, stream_run])
async def test_an_api_that_does_not_exist_is_told_at_once_with_the_nearest(driver: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        driver(INPUT, [], api="anthropic")
    assert caught.value.code == "unknown_api"
    assert caught.value.hint.startswith("Did you mean 'anthropic-messages'? Use one of: ")


# -- what a client sends does not hold up others


class Threads:
    """A key service that notes the thread it is asked in."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def __call__(self, kid: str) -> bytes:
        self.asked.append(threading.get_ident())
        return bytes(32)


async def encrypted_turn() -> dict[str, Any]:
    """An input whose history is encrypted under the key of `Threads`."""
    conversation = Conversation("t")
    keys = KeyRing({"k": bytes(32)})
    question = conversation.run_input("Umbrella?")
    async for event in stream_run(question, PAYLOADS, api=API, keys=keys):
        conversation.receive(event)
    return conversation.run_input("And now?").model_dump(mode="json", by_alias=True, exclude_none=True)


async def test_a_history_is_restored_in_a_worker_thread_before_the_agent_starts() -> None:
    service = Threads()
    begun: list[int] = []

    async def agent(run: Run) -> AsyncIterator[Any]:
        begun.append(len(service.asked))
        assert [turn.parts[0].opaque for turn in run.history.turns]
        begun.append(len(service.asked))
        yield TextDelta("Yes.")

    events = await collect(
        run_agent(await encrypted_turn(), agent, keys=KeyRing(service, primary="k"), api=API)
    )
    assert events[-1]["type"] == "RUN_FINISHED"
    assert begun[0] == begun[1] > 0
    assert threading.get_ident() not in service.asked[: begun[0]]


async def test_a_history_that_cannot_be_restored_fails_the_agent_that_asks_for_it_and_no_other() -> None:
    given = await encrypted_turn()

    async def asks(run: Run) -> AsyncIterator[Any]:
        yield TextDelta(str(run.history))

    async def does_not(run: Run) -> AsyncIterator[Any]:
        yield TextDelta("Yes.")

    ends = [
        (await collect(run_agent(given, agent, api=API, keys=KeyRing.generate(), on_undecryptable="raise")))[
            -1
        ]
        for agent in (asks, does_not)
    ]
    assert [end.get("code", end["type"]) for end in ends] == ["undecryptable", "RUN_FINISHED"]


async def test_a_request_can_be_built_in_a_worker_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    where: list[int] = []
    build = Run.request

    def noted(self: Run, **options: Any) -> Any:
        where.append(threading.get_ident())
        return build(self, **options)

    monkeypatch.setattr(Run, "request", noted)
    run = Run(INPUT | {"messages": [{"id": "1", "role": "user", "content": "Hi."}]}, api=API)
    built = await aio.request(run, system="Be brief.", tools=[{"name": "t"}], apply_flags=True)
    assert built == build(run, system="Be brief.", tools=[{"name": "t"}], apply_flags=True)
    assert where != [threading.get_ident()]
    assert len(where) == 1


def test_both_ways_to_build_a_request_take_the_same_options() -> None:
    method, function = (inspect.signature(one).parameters for one in (Run.request, aio.request))
    assert list(method.values())[1:] == list(function.values())[1:]


# -- the log


async def fail(
    error: Exception, visibility: Any, caplog: pytest.LogCaptureFixture
) -> list[logging.LogRecord]:
    async def agent(run: Run) -> AsyncIterator[Any]:
        yield TextDelta("Hm")
        raise error

    options = {"api": API, "provider": "anthropic", "visibility": visibility, "keys": KeyRing.generate()}
    with caplog.at_level(logging.DEBUG, "agui_reasoning"):
        await collect(run_agent(INPUT | {"runId": "r\nWARNING: forged"}, agent, **options))
    return [record for record in caplog.records if record.name == "agui_reasoning"]


@pytest.mark.parametrize("visibility", ["full", "hidden"])
async def test_a_failure_of_the_provider_is_one_line_and_the_traceback_is_for_debug(
    visibility: Any, caplog: pytest.LogCaptureFixture
) -> None:
    error = ProviderError(
        provider_code="slow_down",
        provider_type="words that are no name",
        provider_message="words of\nthe provider",
        status_code=429,
    )
    line, *details = await fail(error, visibility, caplog)
    assert (line.levelname, line.exc_info, line.getMessage()) == (
        "ERROR",
        None,
        "The run failed: ProviderError (code rate_limited, provider anthropic, status 429, provider code "
        "slow_down, thread 't', run 'r\\nWARNING: forged').",
    )
    told = [(one.levelname, one.exc_info, *one.getMessage().splitlines()[:2]) for one in details]
    said = "Where the run failed. The provider says: 'words of\\nthe provider'"
    traceback = "  Traceback (most recent call last):"  # indented: providers can have words in it
    assert told == ([] if visibility == "hidden" else [("DEBUG", None, said, traceback)])


@pytest.mark.parametrize("visibility", ["full", "hidden"])
async def test_a_mistake_in_the_agent_is_shown_where_it_is(
    visibility: Any, caplog: pytest.LogCaptureFixture
) -> None:
    (record,) = await fail(KeyError("what was thought"), visibility, caplog)
    told = logging.Formatter().format(record)
    assert record.levelname == "ERROR"
    assert "test_aio.py" in told
    assert "thread 't', run 'r\\nWARNING: forged'" in told
    assert ("what was thought" in told) == (visibility == "full")
