"""A client that joins a run anywhere holds what a client holds that saw it from the beginning."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_reasoning import Run
from agui_reasoning.consumer import Conversation
from agui_reasoning.crypto import KeyRing
from agui_reasoning.durable._log import Recent, View, _merged, events_in, note_frames
from agui_reasoning.emitter import Opened
from agui_reasoning.errors import TruncatedRunError
from agui_reasoning.providers import decoder
from agui_reasoning.replay import load_script, script_names
from agui_reasoning.wire import SSEEncoder, frames_of
from tests.support.streams import valid_streams

Json = dict[str, Any]
QUESTION = {"id": "u", "role": "user", "content": "Umbrella?"}
HEAD: Json = {"threadId": "t", "runId": "r", "messages": [QUESTION], "state": {"seen": 1}}
MODES: list[Json] = [{}, {"visibility": "hidden", "keys": KeyRing.generate("k1")}]


def frames_of_script(name: str, mode: Json, protocol: str | None = "1.0") -> list[bytes]:
    script = load_script(name)
    origin = {member: script[member] for member in ("api", "provider", "model")}
    run_input = HEAD | {"tools": [], "context": [], "forwardedProps": {}}
    run_input |= {"protocolVersion": protocol} if protocol else {}
    run, reading = Run(run_input, **origin, **mode), decoder(**origin)
    encode = SSEEncoder().encode
    deltas = [delta for event in script["events"] for delta in reading.receive(event["data"])]
    written = [*run.start()]
    for delta in [*deltas, *reading.close()]:
        written += run.receive(delta)
    return [encode(event) for event in [*written, *run.finish()]]


def held(conversation: Conversation) -> tuple[Any, ...]:
    messages = [m.model_dump(mode="json", by_alias=True, exclude_none=True) for m in conversation.messages]
    pending = [call.id for call in conversation.pending_calls]
    return messages, conversation.state, conversation.status, pending


def client(*frames: bytes, messages: Any = (QUESTION,)) -> Conversation:
    conversation = Conversation("t", messages=messages, state=HEAD["state"], on_warning=lambda warning: None)
    feed(conversation, *frames)
    return conversation


def feed(conversation: Conversation, *frames: bytes) -> None:
    for event in events_in(b"".join(frames)):
        conversation.receive(event)


def opened_after(frames: list[bytes]) -> set[str]:
    """Return the types of the start events whose constructs are open."""
    opened = Opened()
    note_frames(opened, b"".join(frames))
    return {start["type"] for start in opened.starts.values()}


def joining(frames: list[bytes], cut: int) -> list[bytes]:
    view = View(HEAD)
    view.receive(b"".join(frames[:cut]))
    return [view.prelude(), *frames[cut:]]


@pytest.mark.parametrize("mode", MODES, ids=["full", "hidden with keys"])
@pytest.mark.parametrize("name", script_names())
def test_joining_after_any_event_gives_what_an_uninterrupted_client_holds(name: str, mode: Json) -> None:
    frames = frames_of_script(name, mode)
    expected = held(client(*frames))
    for cut in range(1, len(frames) + 1):
        stream = joining(frames, cut)
        was_cut = client(*frames[: cut // 2])
        if cut > 1:
            with pytest.raises(TruncatedRunError):
                was_cut.end_of_stream()
        for conversation in (client(messages=()), client(), was_cut):
            feed(conversation, *stream)
            conversation.end_of_stream()
            assert held(conversation) == expected


_FOREIGN = {"parentMessageId", "input"}
"""Members that would name messages which the generator does not keep apart, or the server never sends."""


def _is_written(event: Json) -> bool:
    """Tell whether a run of ours can contain an event: it translates THINKING_* and owns the history."""
    return not event["type"].startswith(("THINKING", "MESSAGES"))


@given(valid_streams(), st.data())
def test_joining_any_valid_run_gives_what_an_uninterrupted_client_holds(
    events: list[Json], data: st.DataObject
) -> None:
    kept = [{k: v for k, v in event.items() if k not in _FOREIGN} for event in events if _is_written(event)]
    second = [at for at, event in enumerate(kept) if event["type"] == "RUN_STARTED"][1:]
    encode = SSEEncoder().encode
    frames = [encode(event) for event in kept[: second[0] if second else None]]
    stream = joining(frames, data.draw(st.integers(1, len(frames)), label="cut"))
    assert held(client(*stream))[:3] == held(client(*frames))[:3]


@pytest.mark.parametrize("name", script_names())
def test_a_lost_worker_leaves_a_stream_that_ends_well_after_any_event(name: str) -> None:
    frames = frames_of_script(name, {})
    for cut in range(1, len(frames)):
        view = View(HEAD)
        view.receive(b"".join(frames[:cut]))
        last = frames_of(view.opened.failure("It stopped.", "worker_lost", lambda: "t-1"))
        for stream in (frames[:cut], joining(frames[:cut], cut)):
            conversation = client(*stream, last)
            conversation.end_of_stream()
            assert conversation.status == "failed"
            assert last.count(b'"RUN_ERROR"') == 1


def test_only_deltas_of_one_type_and_message_become_one() -> None:
    text, thought = "TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT"
    sent = [(text, "m", "a"), (text, "m", "b"), (thought, "m", "c"), (thought, "n", "d"), (thought, "n", "e")]
    merged = _merged({"type": kind, "messageId": name, "delta": delta} for kind, name, delta in sent)
    assert [(one["type"], one["messageId"], one["delta"]) for one in merged] == [
        (text, "m", "ab"),
        (thought, "m", "c"),
        (thought, "n", "de"),
    ]


def test_what_fits_exactly_is_kept_for_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agui_reasoning.durable._log._RECENT", 4)

    async def kept() -> list[list[bytes] | None]:
        recent = Recent()
        for data in (b"ab", b"cd"):
            recent.add(data)
        whole = recent.since(0)
        recent.add(b"e")
        return [whole, recent.since(0), recent.since(1)]

    assert anyio.run(kept) == [[b"ab", b"cd"], None, [b"cd", b"e"]]
