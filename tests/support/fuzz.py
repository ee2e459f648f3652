"""Mutate inputs by chance: whatever comes in, nothing but the library's own errors comes out.

A case is told by its seed and number alone, so it can be repeated: `run_case` says what escaped from it. Its
input is one of ours or, where they are present, a recorded one, mutated in a few places: the payloads of a
stream, a whole response, the messages of a client, the content of their values, encrypted values, the events
of a run, the events that an agent yields, the bytes of a stream, patches of the state. What is accepted goes
on through the loop: events, messages, the next request.
"""

from __future__ import annotations

import json
import random
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

from agui_reasoning import (
    AGUIReasoningError,
    Conversation,
    DecodeError,
    Emitter,
    ProviderError,
    Run,
    build_request,
    check_events,
    compact,
    erase_reasoning,
    reduce_events,
    restore,
)
from agui_reasoning.compat import ThinkingDowngrader, ThinkingUpgrader
from agui_reasoning.crypto import Binding, KeyRing
from agui_reasoning.deltas import Delta
from agui_reasoning.parts import ToolResultPart
from agui_reasoning.providers import decode_response, decoder
from agui_reasoning.replay import load_script, script_names
from agui_reasoning.wire import SSEDecoder, SSEEncoder, read_events, read_payloads
from tests.support.expected import payloads
from tests.support.wholes import FULL, WHOLES, whole_chat

__all__ = ["OTHERS", "Escape", "run_case"]

Json: TypeAlias = dict[str, Any]
Path_: TypeAlias = tuple[Any, ...]

KEYS = KeyRing({"k": bytes(32)})
REST: Json = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
TARGETS = (
    ("anthropic-messages", "anthropic"),
    ("openai-responses", "openai"),
    ("openai-chat", "openrouter"),
    ("openai-chat", "deepseek"),
    ("openai-chat", "zai"),
    ("openai-chat", "google"),
    ("gemini", "google"),
    ("gemini-interactions", "google"),
    ("bedrock-converse", "bedrock"),
    ("mistral-chat", "mistral"),
    ("cohere-chat", "cohere"),
    ("ollama", "ollama"),
    ("xai-grpc", "xai"),
    ("litellm", "anthropic"),
    ("litellm", "openai"),
)
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
class Escape:
    """An exception that is none of ours.

    Attributes:
        number: The number of the case.
        kind: The kind of its input.
        what: What was mutated.
        error: The type of the exception.
        place: Where it was raised: the innermost line of the package.
        trace: The whole traceback.
    """

    number: int
    kind: str
    what: str
    error: str
    place: str
    trace: str


# -- mutations


def _cyclic_list() -> Any:
    items: list[Any] = ["other"]
    items.append(items)
    return items


def _cyclic_object() -> Any:
    inner: Json = {"type": "text", "text": "Hm."}
    inner["content"] = [inner]
    return inner


def _nested(depth: int, *, objects: bool) -> Any:
    value: Any = "deep"
    for _ in range(depth):
        value = {"content": value} if objects else [value]
    return value


OTHERS: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, -0.0, 2**53, 10**30, -(10**400), 10**5000, 1e308),
    *("", "other", "5", "\ud800", "half an emoji \ud83d", "\udc00\ud800", "\x00\x1b[2J", "long " * 2000),
    *([], ["other"], [None], [[{}]], [1, "two", {"three": 3}]),
    *({}, {"other": {"other": "\udc00"}}, {"type": "other"}, {"type": 5, "text": 5}, {"\ud800": 1}),
)
"""Values of every JSON type."""

WRONG: tuple[Callable[[], Any], ...] = (
    *(partial(deepcopy, value) for value in OTHERS),
    *(partial(float, value) for value in ("nan", "inf", "-inf")),
    *(partial(deepcopy, value) for value in (b"bytes", (1, "two"), frozenset({1}), object)),
    *(lambda: {1: "one"}, lambda: {None: 1, "type": "text"}, lambda: {("a",): 1}),
    *(_cyclic_list, _cyclic_object),
    *(
        partial(_nested, depth, objects=objects)
        for depth in (60, 150, 250, 3000)
        for objects in (True, False)
    ),
)
"""The same, and what only Python has."""

STRAY = (
    b"\n",
    b"\r",
    b"\r\n\n",
    b"\xef\xbb\xbf",
    b"\x00",
    b"\xff\xfe",
    b"\xed\xa0\xbd",
    b"data: ",
    b":",
    b"id: 7\n",
    b'"',
    b"\\u",
)
"""Bytes that mean something to a reader of lines, of UTF-8 or of JSON."""

NAMES = (
    "type",
    "id",
    "index",
    "text",
    "content",
    "delta",
    "thinking",
    "reasoning",
    "signature",
    "error",
    "role",
)


@dataclass
class Mutator:
    """Changes documents by chance; the originals stay as they are.

    Attributes:
        chance: The source of chance.
        donors: The documents whose parts may be put into others.
        done: What was changed.
    """

    chance: random.Random
    donors: Sequence[Any]
    done: list[str] = field(default_factory=list)

    def some(self, document: Any) -> Any:
        """Change a document in one to three places."""
        for _ in range(self.chance.choice((1, 1, 1, 2, 3))):
            document = self.once(document)
        return document

    def once(self, document: Any) -> Any:
        """Change one place of a document."""
        path = self._place(document)
        change = self.chance.choice(_CHANGES)
        self.done.append(f"{change.__name__} {'/'.join(str(step)[:40] for step in path)!a}")
        return change(self, document, path)

    def wrong(self) -> Any:
        """Return a value that may be anything."""
        return self.chance.choice(WRONG)()

    def bytes(self, data: bytes) -> bytes:
        """Change a few places of bytes: flipped, inserted, left out, repeated, moved."""
        for _ in range(self.chance.choice((1, 1, 2, 5))):
            at = self.chance.randrange(len(data) + 1)
            end = min(len(data), at + self.chance.choice((0, 1, 1, 3, 40)))
            new = self.chance.choice((b"", *STRAY, data[at:end] * 2, bytes([self.chance.randrange(256)])))
            self.done.append(f"bytes {at}:{end} {new[:20]!r}")
            data = data[:at] + new + data[end:]
        return data

    def _place(self, document: Any) -> Path_:
        path: Path_ = ()
        value = document
        while isinstance(value, dict | list) and value and len(path) < 40:
            if path and self.chance.random() < 0.15:
                break
            step = self.chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
            path, value = (*path, step), value[step]
        return path

    def replace(self, document: Any, path: Path_) -> Any:
        """Put any value there."""
        return _changed(document, path, lambda _: self.wrong())

    def graft(self, document: Any, path: Path_) -> Any:
        """Put a part of another document there."""
        donor = self.chance.choice(self.donors)
        return _changed(document, path, lambda _: _at(donor, self._place(donor)))

    def swap(self, document: Any, path: Path_) -> Any:
        """Exchange two parts."""
        other = self._place(document)
        if path == other[: len(path)] or other == path[: len(other)]:
            return document
        one, two = _at(document, path), _at(document, other)
        return _changed(_changed(document, path, lambda _: two), other, lambda _: one)

    def delete(self, document: Any, path: Path_) -> Any:
        """Remove a member or an item."""

        def without(holder: Any) -> Any:
            if isinstance(holder, dict):
                return {name: value for name, value in holder.items() if name != path[-1]}
            return [*holder[: path[-1]], *holder[path[-1] + 1 :]]

        return _changed(document, path[:-1], without) if path else document

    def rename(self, document: Any, path: Path_) -> Any:
        """Give a member another name, or none that is a string."""
        names = (*NAMES, 5, None, 1.5, True, "\ud800", "", f"{path[-1] if path else ''} ")
        return self._renamed(document, path, self.chance.choice(names), keep=False)

    def duplicate(self, document: Any, path: Path_) -> Any:
        """Repeat an item, or a member under another name."""
        return self._renamed(document, path, self.chance.choice(NAMES), keep=True)

    def _renamed(self, document: Any, path: Path_, name: Any, *, keep: bool) -> Any:
        def renamed(holder: Any) -> Any:
            if isinstance(holder, dict):
                value = holder[path[-1]]
                return {key: inner for key, inner in holder.items() if keep or key != path[-1]} | {
                    name: value
                }
            item = holder[path[-1]]
            return [*holder[: path[-1]], item, *holder[path[-1] :]] if keep else [*holder, {name: item}]

        return _changed(document, path[:-1], renamed) if path else document


_CHANGES = (
    *(Mutator.replace,) * 4,
    *(Mutator.graft, Mutator.swap, Mutator.delete, Mutator.rename, Mutator.duplicate),
)


def _at(document: Any, path: Path_) -> Any:
    for step in path:
        document = document[step]
    return document


def _changed(value: Any, path: Path_, change: Callable[[Any], Any]) -> Any:
    if not path:
        return change(value)
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _changed(value[path[0]], path[1:], change)
    return copy


# -- what is mutated


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
def exchanges(recordings: Path | None) -> tuple[Exchange, ...]:
    """The exchanges of our own scripts, and those in a folder of recordings."""
    own = [*(_exchange(load_script(name)) for name in script_names()), *_full()]
    files = sorted(recordings.glob("*/*.json")) if recordings else []
    recorded = (_recorded(file) for file in files)
    return (*own, *(exchange for exchange in recorded if exchange is not None))


def _full() -> Iterator[Exchange]:
    for (api, provider), whole in FULL.items():
        yield Exchange(api, provider, whole["model"], (), whole)


def _exchange(script: Json) -> Exchange:
    join = WHOLES.get(script["api"], whole_chat)
    stream = tuple(event["data"] for event in script["events"])
    whole = join({**script, "stream": True})
    return Exchange(script["api"], script["provider"], script.get("model"), stream, whole)


def _recorded(file: Path) -> Exchange | None:
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
    """The runs of our own scripts, with keys and without."""
    ours = [exchange for exchange in exchanges(None) if exchange.payloads]
    return tuple(_thread(exchange, keys) for exchange in ours for keys in (None, KEYS))


def _thread(exchange: Exchange, keys: KeyRing | None) -> Thread:
    events = emitted(exchange, streamed(exchange, exchange.payloads, stop=True), keys=keys)
    events = [*events[:-1], *OWN[:9], OWN[-1], events[-1]]
    asked = {"id": "u1", "role": "user", "content": [{"type": "text", "text": "Where?"}, PICTURE]}
    held = [
        message.model_dump(mode="json", by_alias=True, exclude_none=True) for message in reduce_events(events)
    ]
    return Thread(tuple(events), (asked, *held, {"id": "u2", "role": "user", "content": "And then?"}))


# -- through the library


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
    return Run(run_input, api=exchange.api, **exchange.sender, on_warning=ignore, **options)


def ignore(_: str) -> None:
    """Ignore a warning."""


def requested(chance: random.Random, messages: Any, **options: Any) -> None:
    """Restore, and build two requests; a body must be JSON in UTF-8."""
    history = restore(messages, **options)
    for api, provider in chance.sample(TARGETS, 2):
        request = build_request(api, history, provider=provider, model="some-model", on_warning=ignore)
        json.dumps(request.body, ensure_ascii=False, allow_nan=False).encode()
    history.trim(keep_turns=1).strip_opaque()


def _payloads(chance: random.Random, mutator: Mutator, recordings: Path | None) -> None:
    streams = [exchange for exchange in exchanges(recordings) if exchange.payloads]
    exchange = chance.choice(streams)
    place = chance.randrange(len(exchange.payloads))
    stream = [*exchange.payloads[: min(place, 40)], *exchange.payloads[place : place + 15]]
    for _ in range(chance.choice((1, 1, 2))):
        number = chance.randrange(min(place, 40), len(stream))
        stream[number] = mutator.some(stream[number])
    deltas = streamed(exchange, stream, stop=chance.random() < 0.3)
    if chance.random() < 0.4:
        _on(chance, exchange, deltas)


def _whole(chance: random.Random, mutator: Mutator, recordings: Path | None) -> None:
    exchange = chance.choice([one for one in exchanges(recordings) if one.whole is not None])
    response = mutator.some(exchange.whole)
    parts = decode_response(exchange.api, response, **exchange.sender)
    if chance.random() < 0.5:
        _on(chance, exchange, parts)


def _on(chance: random.Random, exchange: Exchange, items: Sequence[Any]) -> None:
    """Go on with what was decoded: to the client, and back to the provider."""
    keys = chance.choice((None, KEYS))
    visibility = chance.choice(("full", "full", "summary", "hidden"))
    events = emitted(exchange, items, keys=keys, visibility=visibility)
    check_events(events)
    requested(chance, reduce_events(events), keys=keys, thread_id="t")


def _messages(chance: random.Random, mutator: Mutator, _: Path | None) -> None:
    messages: Any = mutator.some(list(chance.choice(threads()).messages))
    if chance.random() < 0.3 and isinstance(messages, list):
        messages = [_reopened(mutator, message) for message in messages]
    _returned(chance, messages)


def _envelopes(chance: random.Random, mutator: Mutator, _: Path | None) -> None:
    messages = list(chance.choice([thread for thread in threads() if thread.is_plain]).messages)
    _returned(chance, [_reopened(mutator, message) for message in messages])


def _returned(chance: random.Random, messages: Any) -> None:
    """Messages come back from a client."""
    exchange = chance.choice(exchanges(None))
    works: tuple[Callable[[], object], ...] = (
        lambda: requested(chance, messages),
        lambda: requested(
            chance, messages, keys=KEYS, thread_id="t", accept_plain=True, assume_provider="openai"
        ),
        lambda: erase_reasoning(messages if isinstance(messages, list) else []),
        lambda: new_run(exchange, messages if isinstance(messages, list) else []).request(),
    )
    chance.choice(works)()


def _reopened(mutator: Mutator, message: Any) -> Any:
    """Mutate the content of a plain value."""
    value = message.get("encryptedValue") if isinstance(message, dict) else None
    if not isinstance(value, str) or not value.startswith("{"):
        return message
    try:
        return {
            **message,
            "encryptedValue": json.dumps(mutator.once(json.loads(value)), separators=(",", ":")),
        }
    except (TypeError, ValueError, RecursionError):
        return message  # no envelope can be that


def _events(chance: random.Random, mutator: Mutator, _: Path | None) -> None:
    events: list[Any] = list(chance.choice(threads()).events)
    for _ in range(chance.choice((1, 1, 2))):
        number = chance.randrange(len(events))
        events[number] = mutator.some(events[number])
    works: tuple[Callable[[], object], ...] = (
        lambda: _consumed(events),
        lambda: check_events(events),
        lambda: compact(events),
        lambda: requested(chance, reduce_events(events)),
        lambda: [ThinkingUpgrader(ignore).receive(event) for event in events],
        lambda: [ThinkingDowngrader(on_warning=ignore).receive(event) for event in events],
    )
    chance.choice(works)()


def _consumed(events: Sequence[Any]) -> None:
    """Receive everything, whatever is refused on the way, and go on with what is held."""
    conversation = Conversation(on_warning=ignore)
    for step in (*(partial(conversation.receive, event) for event in events), conversation.end_of_stream):
        with suppress(AGUIReasoningError):
            step()
    _ = conversation.messages, conversation.state, conversation.pending_calls
    conversation.run_input("Next.").model_dump_json(by_alias=True)


def _items(chance: random.Random, mutator: Mutator, _: Path | None) -> None:
    """Yield the events of an agent, some of them mutated, between deltas."""
    exchange = chance.choice([one for one in exchanges(None) if one.payloads])
    deltas = streamed(exchange, exchange.payloads[:30], stop=True)
    own = [mutator.some(event) if chance.random() < 0.5 else event for event in chance.sample(OWN, 4)]
    taken = chance.choice(threads()).events[1:-1]
    own += [mutator.some(event) for event in chance.sample(taken, min(2, len(taken)))]
    items: list[Any] = [*deltas[: len(deltas) // 2], *own, *deltas[len(deltas) // 2 :]]
    emitter = Emitter(thread_id="t", keys=chance.choice((None, KEYS)), on_warning=ignore)
    receive = chance.choice((emitter.receive, emitter.frames))
    for item in items:
        with suppress(AGUIReasoningError):
            receive(item)
    for event in emitter.close():
        SSEEncoder().encode(event)


def _bytes(chance: random.Random, mutator: Mutator, _: Path | None) -> None:
    """Read a stream that was damaged on the way, whole and in pieces: both give the same."""
    events = chance.choice(threads()).events
    encode = chance.choice((SSEEncoder().encode, lambda event: json.dumps(event).encode() + b"\n"))
    data = mutator.bytes(b"".join(encode(event) for event in events[:12]))
    for read in (read_events, read_payloads):
        with suppress(AGUIReasoningError):
            read(data)
    pieces = sorted(chance.sample(range(len(data) + 1), min(6, len(data))))
    parts = [data[at:end] for at, end in zip([0, *pieces], [*pieces, len(data)], strict=True)]
    assert _fed(parts) == _fed([data])


def _fed(parts: Sequence[bytes]) -> tuple[list[Any], str | None]:
    """Return what a decoder gives before it fails, and why it does."""
    reader, events = SSEDecoder(), list[Any]()
    try:
        for part in parts:
            events += reader.feed(part)
        events += reader.close()
    except AGUIReasoningError as error:
        return events, error.code
    return events, None


def _tokens(chance: random.Random, mutator: Mutator, _: Path | None) -> None:
    """Return encrypted values that were changed: none may open."""
    thread = chance.choice([thread for thread in threads() if not thread.is_plain])
    messages = [dict(message) for message in thread.messages]
    held = chance.choice([message for message in messages if "encryptedValue" in message] or [messages[0]])
    token = str(held.get("encryptedValue", "a.b.c.d.e"))
    held["encryptedValue"] = mutator.bytes(token.encode()).decode("utf-8", "surrogateescape")
    if held["encryptedValue"] != token:
        with suppress(AGUIReasoningError):
            KEYS.decrypt(held["encryptedValue"], Binding("t"))
            raise AssertionError("a changed token opens")
    requested(chance, messages, keys=KEYS, thread_id="t")


def _patches(chance: random.Random, mutator: Mutator, _: Path | None) -> None:
    """Patch the state, whatever the operations are; a patch that fails changes nothing."""
    conversation = Conversation(on_warning=ignore)
    started: Json = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
    conversation.receive(started)
    conversation.receive({"type": "STATE_SNAPSHOT", "snapshot": {"a": [1, {"b": "c"}], "": {"~": 0}}})
    for _ in range(8):
        paths = [chance.choice(POINTERS) + chance.choice(POINTERS) for _ in range(2)]
        verb = chance.choice(("add", "remove", "replace", "move", "copy", "test"))
        patch = [{"op": verb, "path": paths[0], "from": paths[1], "value": chance.choice(OTHERS)}]
        before = deepcopy(conversation.state)
        with suppress(AGUIReasoningError):
            conversation.receive({"type": "STATE_DELTA", "delta": mutator.some(patch)})
            before = deepcopy(conversation.state)
        assert conversation.state == before
        if conversation.status == "failed":
            conversation.receive(started)


POINTERS = ("", "", "/a", "/a/0", "/a/1/b", "/a/-", "/", "//~0", "/~2", "/a/01", "/a/99", "/new", "/a/1", "b")


_KINDS: dict[str, tuple[Callable[[random.Random, Mutator, Path | None], None], int]] = {
    "payloads": (_payloads, 35),
    "whole": (_whole, 20),
    "messages": (_messages, 20),
    "envelopes": (_envelopes, 10),
    "events": (_events, 15),
    "items": (_items, 10),
    "bytes": (_bytes, 10),
    "tokens": (_tokens, 5),
    "patches": (_patches, 5),
}


def run_case(number: int, *, seed: int = 0, recordings: Path | None = None) -> Escape | None:
    """Run one case, and return what escaped from it."""
    chance = random.Random(f"{seed}:{number}")
    kind = chance.choices(list(_KINDS), [weight for _, weight in _KINDS.values()])[0]
    mutator = Mutator(chance, donors())
    try:
        with _quiet():
            _KINDS[kind][0](chance, mutator, recordings)
    except AGUIReasoningError:
        pass
    except Exception as error:
        trace = "".join(traceback.format_exception(error, limit=-12))
        return Escape(number, kind, "; ".join(mutator.done), type(error).__name__, _raised(error), trace)
    return None


@contextmanager
def _quiet() -> Iterator[None]:
    """Ignore warnings, and pydantic's failures to name what it refuses."""
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.unraisablehook = hook


@cache
def donors() -> tuple[Any, ...]:
    """Documents whose parts are put into others."""
    stream: Iterator[Any] = (payload for exchange in exchanges(None) for payload in exchange.payloads[::7])
    return (*stream, *(exchange.whole for exchange in exchanges(None)), *OWN, *threads()[0].messages)


def _raised(error: BaseException) -> str:
    """Return the innermost line of the package, or of this module."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "agui_reasoning" in frame.filename] or list(frames)
    return f"{ours[-1].filename.rpartition('src/')[2]}:{ours[-1].lineno}"
