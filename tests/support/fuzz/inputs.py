"""What is mutated: the exchanges of our scripts and of recordings, and the runs that clients have of them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from agui_reasoning import DecodeError, ProviderError, Run, reduce_events
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import Delta
from agui_reasoning.parts import ToolResultPart
from agui_reasoning.providers import decoder
from agui_reasoning.replay import load_script, script_names
from agui_reasoning.wire import SSEEncoder, read_events
from tests.support.expected import payloads
from tests.support.fuzz.mutator import Json
from tests.support.recordings import FOLDER
from tests.support.wholes import FULL, WHOLES, whole_chat

KEYS = KeyRing({"k": bytes(32)})
REST: Json = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
OWN: tuple[Json, ...] = (
    {"type": "STATE_SNAPSHOT", "snapshot": {"a": [1]}},
    {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a/0", "value": 3}]},
    {"type": "STATE_DELTA", "delta": [{"op": "move", "from": "/a/0", "path": "/b"}]},
    {"type": "CUSTOM", "name": "mine", "value": 1},
    {"type": "STEP_STARTED", "stepName": "look"},
    {"type": "STEP_FINISHED", "stepName": "look"},
    {"type": "RAW", "event": {"a": 1}, "source": "provider"},
    {"type": "ACTIVITY_SNAPSHOT", "messageId": "m", "activityType": "plan", "content": {"a": 1}},
    {"type": "ACTIVITY_DELTA", "messageId": "m", "activityType": "plan", "patch": []},
    {"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "Hm."},
    {"type": "TEXT_MESSAGE_CHUNK", "messageId": "n", "role": "assistant", "delta": "So."},
    {"type": "TOOL_CALL_RESULT", "messageId": "o", "toolCallId": "call_1", "content": "12"},
    {
        "type": "MESSAGES_SNAPSHOT",
        "messages": [{"id": "u", "role": "user", "content": [{"type": "text", "text": "Hello."}]}],
    },
)
PICTURE: Json = {"type": "image", "source": {"type": "url", "value": "https://example.com/a.png"}}


@dataclass(frozen=True)
class Exchange:
    """What a provider sent.

    Attributes:
        payloads: The payloads of a stream; empty if it answered with a whole response.
        whole: The whole response.
    """

    api: str
    provider: str | None
    model: str | None
    payloads: tuple[Any, ...]
    whole: Any

    @property
    def sender(self) -> Json:
        """Who sent it."""
        return {"provider": self.provider, "model": self.model}


@cache
def exchanges() -> tuple[Exchange, ...]:
    """The exchanges of our own scripts."""
    return (*(_exchange(load_script(name)) for name in script_names()), *_full())


@cache
def recorded(api: str) -> tuple[Exchange, ...]:
    """The recordings of an API, where they are present."""
    return tuple(_recorded(file) for file in sorted((FOLDER / api).glob("*.json")))


def _full() -> Iterator[Exchange]:
    for (api, provider), whole in FULL.items():
        yield Exchange(api, provider, whole["model"], (), whole)


def _exchange(script: Json) -> Exchange:
    join = WHOLES.get(script["api"], whole_chat)
    stream = tuple(event["data"] for event in script["events"])
    whole = join({**script, "stream": True})
    return Exchange(script["api"], script["provider"], script.get("model"), stream, whole)


def _recorded(file: Path) -> Exchange:
    recording = json.loads(file.read_text(encoding="utf-8"))
    sender = file.parent.name, recording.get("provider"), recording.get("model")
    if not recording["stream"]:
        return Exchange(*sender, (), recording["response"])
    return Exchange(*sender, tuple(payloads(recording)), None)


@dataclass(frozen=True)
class Thread:
    """A run as its client has it: the events, and the messages of the next input."""

    events: tuple[Json, ...]
    messages: tuple[Json, ...]

    @property
    def is_plain(self) -> bool:
        """Whether it has a value that is not encrypted."""
        return any(str(message.get("encryptedValue", "")).startswith("{") for message in self.messages)


@cache
def threads() -> tuple[Thread, ...]:
    """The runs of our own scripts, with keys and without: the same in every process."""
    ours = [exchange for exchange in exchanges() if exchange.payloads]
    nonces = count(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "urandom", lambda size: next(nonces).to_bytes(size, "big"))
        return tuple(_thread(exchange, keys) for exchange in ours for keys in (None, KEYS))


def _thread(exchange: Exchange, keys: KeyRing | None) -> Thread:
    events = emitted(exchange, streamed(exchange, exchange.payloads, stop=True), keys=keys)
    events = [*events[:-1], *OWN[:9], OWN[-1], events[-1]]
    asked = {"id": "u1", "role": "user", "content": [{"type": "text", "text": "Where?"}, PICTURE]}
    held = [
        message.model_dump(mode="json", by_alias=True, exclude_none=True) for message in reduce_events(events)
    ]
    return Thread(tuple(events), (asked, *held, {"id": "u2", "role": "user", "content": "And then?"}))


def streamed(exchange: Exchange, stream: Sequence[Any], *, stop: bool) -> list[Delta]:
    """Decode a stream; after an error, stop or go on."""
    reads = decoder(exchange.api, **exchange.sender)
    deltas: list[Delta] = []
    steps = [*(partial(reads.receive, payload) for payload in stream), reads.close]
    for step in steps:
        try:
            deltas += step()
        except (DecodeError, ProviderError) as error:
            deltas += error.deltas
            if stop:
                break
    return deltas


def emitted(exchange: Exchange, items: Sequence[Any], **options: Any) -> list[Json]:
    """Emit items as the events of a run."""
    run = new_run(exchange, **options)
    events = run.start()
    for item in items:
        events += run.receive(item)
    for call in run.pending_calls:
        events += run.receive(ToolResultPart(call.id, "12 degrees"))
    events += run.finish()
    return read_events(b"".join(map(SSEEncoder().encode, events)))


def new_run(exchange: Exchange, messages: Any = (), **options: Any) -> Run:
    """Create a run."""
    run_input = {"threadId": "t", "runId": "r", "messages": list(messages), **REST}
    numbers = count()
    named = {"api": exchange.api, **exchange.sender, "new_id": lambda: f"id{next(numbers)}"}
    return Run(run_input, **named, on_warning=ignore, **options)


def ignore(_: str) -> None:
    """Ignore a warning."""


@cache
def donors() -> tuple[Any, ...]:
    """Documents whose parts are put into others."""
    stream: Iterator[Any] = (payload for exchange in exchanges() for payload in exchange.payloads[::7])
    return (*stream, *(exchange.whole for exchange in exchanges()), *OWN, *threads()[0].messages)
