"""Plays a pair of scripts through decoder and run, and compares what came out with what the provider sent.

Pure: `play` gives everything that happened; showing it is `screen`'s job.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias

from ag_ui.core import Event, ReasoningEncryptedValueEvent, ReasoningMessageContentEvent

from agui_reasoning.deltas import ToolResultDelta
from agui_reasoning.envelope import Envelope, read_envelope
from agui_reasoning.providers import decoder
from agui_reasoning.run import Run
from agui_reasoning.scripted import load

__all__ = ["TEXT", "TOOL_RESULT", "Check", "Playback", "compare", "play", "received", "sent"]

TEXT = "thinking text"
"""The kind of what people read; every other kind is that of an opaque value."""

TOOL_RESULT = '{"place": "Bergen", "from": "14:00", "temperature_c": 9, "rain_mm": 4.2, "gusts_ms": 14}'
"""What the tool of the scripts answers."""

JSONObject: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Check:
    """One value of the provider, looked for in what the client holds.

    Attributes:
        kind: `TEXT`, or the kind of the opaque value.
        chars: Its length.
        fingerprint: The first 8 hexadecimal digits of its SHA-256.
        entity: What carries it, such as ``"message id-4"``; ``None`` when nothing does.
        identical: What the client holds equals what the provider sent.
    """

    kind: str
    chars: int
    fingerprint: str
    entity: str | None
    identical: bool


@dataclass(frozen=True, slots=True)
class Playback:
    """One conversation: a question, a tool call, its result, an answer."""

    name: str
    api: str
    provider: str
    model: str
    question: str
    events: tuple[Event, ...]
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Everything the provider sent arrived unchanged."""
        return all(check.identical for check in self.checks)


def play(name: str) -> Playback:
    """Play a script, the tool's result, and the script that follows it, in one run."""
    exchanges = [load(name), load(f"{name}-2")]
    first = exchanges[0]
    question = _question(first["request"])
    events = tuple(_run(exchanges, question))
    checks = compare(list(sent(exchanges)), list(received(events)))
    return Playback(name, first["api"], first["provider"], first["model"], question, events, tuple(checks))


def _question(request: JSONObject) -> str:
    turns: list[JSONObject] = request.get("messages") or request["input"]
    return str(turns[0]["content"])


def _run(exchanges: list[JSONObject], question: str) -> Iterator[Event]:
    run = Run(_run_input(question), new_id=map("id-{}".format, count(1)).__next__)
    yield from run.start()
    for exchange in exchanges:
        for call in run.pending_calls:
            yield from run.receive(ToolResultDelta(call.id, TOOL_RESULT))
        yield from _response(run, exchange)
    yield from run.finish()


def _response(run: Run, exchange: JSONObject) -> Iterator[Event]:
    decode = decoder(exchange["api"], provider=exchange["provider"], model=exchange["model"])
    for event in exchange["events"]:
        for delta in decode.receive(event["data"]):
            yield from run.receive(delta)
    for delta in decode.close():
        yield from run.receive(delta)


def _run_input(question: str) -> JSONObject:
    return {
        "threadId": "demo-thread",
        "runId": "demo-run",
        "messages": [{"id": "question", "role": "user", "content": question}],
        "state": {},
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }


# -- what the provider sent, read from its payloads without the decoder

_Found: TypeAlias = Iterator[tuple[Any, str, str]]


def sent(exchanges: Iterable[JSONObject]) -> Iterator[tuple[str, str]]:
    """Each reasoning text and opaque value the provider sent: kind and value, in order."""
    for exchange in exchanges:
        values: dict[tuple[Any, str], str] = {}
        for event in exchange["events"]:
            for unit, kind, piece in _SENT[exchange["api"]](event["data"]):
                values[unit, kind] = values.get((unit, kind), "") + piece
        yield from ((kind, value) for (_, kind), value in values.items() if value)


def _sent_anthropic(payload: Any) -> _Found:
    unit, delta, block = payload.get("index"), payload.get("delta", {}), payload.get("content_block", {})
    if delta.get("type") == "thinking_delta":
        yield unit, TEXT, delta["thinking"]
    if delta.get("type") == "signature_delta":
        yield unit, "anthropic.signature", delta["signature"]
    if block.get("type") == "redacted_thinking":
        yield unit, "anthropic.redacted_thinking", block["data"]


def _sent_openai(payload: Any) -> _Found:
    """Only an item's final form counts; parts of a summary are shown with a blank line between them."""
    item = payload.get("item", {})
    if payload["type"] == "response.output_item.done" and item["type"] == "reasoning":
        yield item["id"], TEXT, "\n\n".join(part["text"] for part in item["summary"])
        yield item["id"], "openai.encrypted_content", item["encrypted_content"]


def _sent_chat(payload: Any) -> _Found:
    for choice in () if payload == "[DONE]" else payload["choices"]:
        yield None, TEXT, choice["delta"].get("reasoning_content") or ""


_SENT: dict[str, Callable[[Any], _Found]] = {
    "anthropic-messages": _sent_anthropic,
    "openai-responses": _sent_openai,
    "openai-chat": _sent_chat,
}


# -- what the client holds, read from the events


def received(events: Iterable[Event]) -> Iterator[tuple[str, str, str]]:
    """Each reasoning text and opaque value the client holds: kind, value and the entity that carries it."""
    texts: dict[str, str] = {}
    envelopes: dict[str, str] = {}
    for event in events:
        if isinstance(event, ReasoningMessageContentEvent):
            entity = f"message {event.message_id}"
            texts[entity] = texts.get(entity, "") + event.delta
        elif isinstance(event, ReasoningEncryptedValueEvent):
            # A later value of an entity replaces the earlier one, as it does in every client.
            envelopes[f"{event.subtype} {event.entity_id}"] = event.encrypted_value
    yield from ((TEXT, text, entity) for entity, text in texts.items())
    for entity, value in envelopes.items():
        yield from ((kind, opaque, entity) for kind, opaque in _opaque(read_envelope(value)))


def _opaque(envelope: Envelope | None) -> Iterator[tuple[str, str]]:
    if envelope is not None and envelope.unit is not None:
        yield from ((opaque.kind, opaque.value) for opaque in envelope.unit.opaque)


def compare(sent: Iterable[tuple[str, str]], received: Iterable[tuple[str, str, str]]) -> Iterator[Check]:
    """Look for each value that was sent; what nobody sent is a failure too."""
    left = list(received)
    for kind, value in sent:
        found = next((item for item in left if item[:2] == (kind, value)), None)
        if found is not None:
            left.remove(found)
        yield _check(kind, value, found[2] if found else None, identical=found is not None)
    for kind, value, entity in left:
        yield _check(kind, value, entity, identical=False)


def _check(kind: str, value: str, entity: str | None, *, identical: bool) -> Check:
    fingerprint = hashlib.sha256(value.encode()).hexdigest()[:8]
    return Check(kind, len(value), fingerprint, entity, identical)
