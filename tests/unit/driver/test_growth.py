"""Test that payloads which become frames at once give the frames that their events would give."""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel
import pytest

from agui_reasoning import ModelStream, Run, aio, run_agent, stream_run
from agui_reasoning.deltas import Delta, TextDelta
from agui_reasoning.providers import API_IDS, provider_api
from agui_reasoning.providers.api import ProviderAPI
from agui_reasoning.replay import CONVERSATIONS, load_script
from agui_reasoning.wire import SSEEncoder
from tests.property.test_decoder_growth import growing_of, spoken_in
from tests.support.recordings import payloads
from tests.support.served import RUN_INPUT, as_events, as_frames, decoded, encoded, options
from tests.unit.providers.test_text_that_continues import COUNTS

API = "openai-chat"


def chunk(text: str, **more: Any) -> dict[str, Any]:
    return {"id": "c1", "choices": [{"index": 0, "delta": {"content": text, **more}}]}


def said(texts: str) -> list[dict[str, Any]]:
    return [chunk(text) for text in texts]


STOP = {"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The payloads that decoders are given; others become frames at once."""
    return decoded(monkeypatch)


@pytest.mark.parametrize("as_text", [False, True], ids=["parsed", "text"])
@pytest.mark.parametrize("api", API_IDS)
def test_payloads_that_continue_a_text_become_frames_at_once(
    api: str, as_text: bool, given: list[Any]
) -> None:
    script = load_script(CONVERSATIONS[api])
    sent = payloads(script)
    joined = 0
    for at in growing_of(api, script["provider"], script["model"], sent):
        more = [{**copy.deepcopy(sent[at]), **COUNTS.get(api, {})} for _ in range(4)]
        for number, payload in enumerate(more):
            spoken_in(payload, f"-{number}")
        stream: list[Any] = [*sent[: at + 1], *more, *sent[at + 1 :]]
        source = [json.dumps(one) if as_text and isinstance(one, dict) else one for one in stream]
        named = {name: script[name] for name in ("api", "provider", "model")}
        events = as_events(source, **named)
        given.clear()
        assert as_frames(source, **named) == events
        joined += len(source) - len(given)
    assert joined > 0


def test_half_a_character_waits_for_the_other_half(given: list[Any]) -> None:
    stream = [*map(chunk, ("a", "b", "c", "\ud83d", "\ude00", "d", "e", "f", "\ud83d", "g")), STOP]
    events = as_events(stream, api=API)
    given.clear()
    assert as_frames(stream, api=API) == events
    assert given == [*said("abc\ud83d\ude00d\ud83dg"), STOP]


def test_text_goes_on_after_something_else_was_said(given: list[Any]) -> None:
    def agent(run: Run) -> Iterator[Any]:
        yield ModelStream(_with_an_aside(run), api=API)
        yield TextDelta("between", key="other")
        yield ModelStream([*said("klmnop"), STOP], api=API)

    events = encoded(run_agent(RUN_INPUT, agent, **options()))
    given.clear()
    assert b"".join(run_agent(RUN_INPUT, agent, **options()).frames()) == events
    assert given == [*said("abcf"), STOP, *said("klm"), STOP]


def _with_an_aside(run: Run) -> Iterator[Any]:
    yield from said("abcde")
    run.receive(TextDelta("aside", key="other"))
    yield from said("fghij")
    yield STOP


def test_a_run_that_ends_in_the_middle_takes_no_more(given: list[Any]) -> None:
    def agent(run: Run) -> Iterator[Any]:
        yield ModelStream(_cancelling(run), api=API)

    frames = b"".join(run_agent(RUN_INPUT, agent, **options()).frames())
    assert given == [*said("abc"), chunk("after")]
    assert b"after" not in frames


def _cancelling(run: Run) -> Iterator[Any]:
    yield from said("abcd")
    run.cancel()
    yield chunk("after")


_Chat: Any = provider_api(API).load_decoder()


class Loud(_Chat):  # type: ignore[misc]
    def receive(self, payload: Any) -> list[Delta]:
        deltas = super().receive(payload)
        return [
            TextDelta(one.text.upper(), key=one.key) if isinstance(one, TextDelta) else one for one in deltas
        ]


def test_a_decoder_of_the_application_has_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agui_reasoning.providers.registry._OWN", {})
    api = ProviderAPI(id="loud", decoder=Loud)
    assert b'"delta":"F"' in as_frames(said("abcdef"), api=api)


class Broken:
    """A stream that is cut, and notes with what it was left."""

    def __init__(self) -> None:
        self.left: list[Any] = []

    def __iter__(self) -> Iterator[Any]:
        yield from said("abcdef")
        raise ConnectionError("The line is dead.")

    async def __aiter__(self) -> AsyncIterator[Any]:
        for payload in self:
            yield payload

    def __enter__(self) -> Broken:
        return self

    def __exit__(self, *why: object) -> None:
        self.left += why[:2]

    async def __aenter__(self) -> Broken:
        return self

    async def __aexit__(self, *why: object) -> None:
        self.left += why[:2]


@pytest.mark.anyio
@pytest.mark.parametrize("shell", ["sync", "async"])
async def test_a_source_that_fails_is_left_with_its_error(shell: str, given: list[Any]) -> None:
    source = Broken()
    if shell == "sync":
        frames = list(stream_run(RUN_INPUT, source, api=API, **options()).frames())
    else:
        frames = [frame async for frame in aio.stream_run(RUN_INPUT, source, api=API, **options()).frames()]
    kind, error = source.left
    assert (kind, str(error)) == (ConnectionError, "The line is dead.")
    assert given == said("abc")
    assert b'"delta":"f"' in b"".join(frames)
    assert b"RUN_ERROR" in frames[-1]
    assert b'"code":"unreachable"' in frames[-1]


class Once:
    """A stream that must not be asked again after its end, as one that reads from a queue."""

    def __init__(self, payloads: list[Any]) -> None:
        self._payloads = iter(payloads)
        self._ended = False

    def __iter__(self) -> Once:
        return self

    def __next__(self) -> Any:
        assert not self._ended
        for payload in self._payloads:
            return payload
        self._ended = True
        raise StopIteration

    def __aiter__(self) -> AsyncIterator[Any]:
        return _OnceAsync(self)


class _OnceAsync:
    def __init__(self, once: Once) -> None:
        self._once = once

    def __aiter__(self) -> _OnceAsync:
        return self

    async def __anext__(self) -> Any:
        for payload in self._once:
            return payload
        raise StopAsyncIteration


@pytest.mark.anyio
@pytest.mark.parametrize("shell", ["sync", "async"])
@pytest.mark.parametrize("texts", ["a", "ab", "abc", "abcdef"])
async def test_a_source_is_not_asked_again_after_its_end(shell: str, texts: str) -> None:
    if shell == "sync":
        frames = list(stream_run(RUN_INPUT, Once(said(texts)), api=API, **options()).frames())
    else:
        stream = aio.stream_run(RUN_INPUT, aiter(Once(said(texts))), api=API, **options())
        frames = [frame async for frame in stream.frames()]
    assert b'"code":"truncated_stream"' in frames[-1]


@pytest.mark.anyio
@pytest.mark.parametrize("texts", ["", "a", "ab", "abc", "abcdef"])
async def test_a_source_that_waits_is_left_if_the_run_is_cancelled(texts: str) -> None:
    left: list[type[BaseException] | None] = []
    waits = anyio.Event()

    class Waiting(Once):
        async def __aenter__(self) -> AsyncIterator[Any]:
            return self._endless()

        async def __aexit__(self, kind: type[BaseException] | None, *why: object) -> None:
            await anyio.lowlevel.checkpoint()  # shielded
            left.append(kind)

        async def _endless(self) -> AsyncIterator[Any]:
            for payload in self:
                yield payload
            waits.set()
            await anyio.sleep_forever()

    frames: list[bytes] = []

    async def read(*, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        async for frame in aio.stream_run(RUN_INPUT, Waiting(said(texts)), api=API, **options()).frames():
            frames.append(frame)  # noqa: PERF401 -- those before the cancellation count

    async with anyio.create_task_group() as tasks:
        await tasks.start(read)
        await waits.wait()
        tasks.cancel_scope.cancel()
    assert len(left) == 1
    assert b"".join(frames).count(b"TEXT_MESSAGE_CONTENT") == len(texts)
    assert b"RUN_ERROR" not in b"".join(frames)


class Either(_OnceAsync):
    """A stream that can be read either way, as LiteLLM's."""

    def __iter__(self) -> Either:
        return self

    def __next__(self) -> Any:
        return next(self._once)


@pytest.mark.anyio
@pytest.mark.parametrize("shell", ["sync", "async"])
async def test_a_source_that_can_be_read_either_way(shell: str, given: list[Any]) -> None:
    sent = [*said("abcdef"), STOP]
    events = as_events(sent, api=API)
    given.clear()
    if shell == "sync":
        frames = list(stream_run(RUN_INPUT, Either(Once(sent)), api=API, **options()).frames())
    else:
        stream = aio.stream_run(RUN_INPUT, Either(Once(sent)), api=API, **options())
        frames = [frame async for frame in stream.frames()]
    assert b"".join(frames) == events
    assert given == [*said("abc"), STOP]


async def _brief(part: Any) -> str:
    return "In short."


@pytest.mark.anyio
@pytest.mark.parametrize("more", [{}, {"visibility": "summary", "summarize": _brief}], ids=["all", "summary"])
async def test_asynchronous_runs_do_the_same(more: dict[str, Any], given: list[Any]) -> None:
    thoughts = [chunk("", reasoning_content=text) for text in "abcdef"]
    sent = [*thoughts, *said("abcdef"), STOP]
    plain = aio.stream_run(RUN_INPUT, sent, api=API, **options(), **more)
    events = encoded([event async for event in plain])
    given.clear()
    framed = aio.stream_run(RUN_INPUT, sent, api=API, **options(), **more)
    assert b"".join([frame async for frame in framed.frames()]) == events
    assert bool(more) is (len(given) == len(sent))  # a summary needs the items


@pytest.mark.parametrize("named", ["100 %b %%", "\ud800"])
def test_ids_of_any_text_are_written_as_in_events(named: str) -> None:
    source = [*said(["One", " two", " three", " 50 %", " \u2028"]), STOP]
    ids = {"new_id": lambda: named}
    made = b"".join(stream_run(RUN_INPUT, copy.deepcopy(source), api=API, **{**options(), **ids}).frames())
    events = stream_run(RUN_INPUT, source, api=API, **{**options(), **ids})
    assert made == b"".join(map(SSEEncoder().encode, events))
