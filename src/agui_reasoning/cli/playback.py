"""Plays a pair of scripts over HTTP, and compares what the front end holds with what the provider sent.

`play` gives everything that happened; showing it is `screen`'s job.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias

from ag_ui.core import Event, RunFinishedEvent, RunFinishedSuccessOutcome

from agui_reasoning.cli.front_end import FrontEnd
from agui_reasoning.envelope import Envelope, read_envelope
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
    """One conversation in two runs: a question and a tool call, then the call's result and an answer.

    Attributes:
        name: The script.
        api: Its API id.
        provider: Its provider.
        model: Its model.
        question: What the user asks.
        result: What the tool, which runs in the front end, answers.
        runs: The events of each run, as the front end received them.
        messages: What the front end holds in the end, and would send with its next run.
        checks: What the provider sent, looked for in these messages.
    """

    name: str
    api: str
    provider: str
    model: str
    question: str
    result: str
    runs: tuple[tuple[Event, ...], ...]
    messages: tuple[JSONObject, ...]
    checks: tuple[Check, ...]

    @property
    def events(self) -> tuple[Event, ...]:
        """The events of all runs."""
        return tuple(event for run in self.runs for event in run)

    @property
    def ok(self) -> bool:
        """Everything the provider sent arrived unchanged."""
        return all(check.identical for check in self.checks)


def play(name: str) -> Playback:
    """Play a script and the one that follows it, through a gateway of their own on this machine.

    Raises:
        MissingExtraError: The extra ``server`` is not installed.
    """
    exchanges = [load(name), load(f"{name}-2")]
    first = exchanges[0]
    question = _question(first["request"])
    with _gateway(name) as url:
        front_end = FrontEnd(url, thread_id=f"demo-{name}")
        runs = tuple(_converse(front_end, question))
    checks = tuple(compare(list(sent(exchanges)), list(received(front_end.messages))))
    return Playback(
        name=name,
        api=first["api"],
        provider=first["provider"],
        model=first["model"],
        question=question,
        result=TOOL_RESULT,
        runs=runs,
        messages=tuple(front_end.messages),
        checks=checks,
    )


@contextmanager
def _gateway(name: str) -> Iterator[str]:
    from agui_reasoning.gateway import ReplayUpstream, create_app, local_server

    # Short ids that are the same each time, so that people can follow them.
    app = create_app(ReplayUpstream(name), new_id=map("id-{}".format, count(1)).__next__)
    with local_server(app) as url:
        yield f"{url}/agent"


def _question(request: JSONObject) -> str:
    turns: list[JSONObject] = request.get("messages") or request["input"]
    return str(turns[0]["content"])


def _converse(front_end: FrontEnd, question: str) -> Iterator[tuple[Event, ...]]:
    """Ask; answer the calls that are pending; and give the events of each run."""
    front_end.ask(question)
    events = front_end.run()
    yield tuple(events)
    for call_id in _pending(events[-1]):
        front_end.answer(call_id, TOOL_RESULT)
    yield tuple(front_end.run())


def _pending(last: Event) -> list[str]:
    outcome = last.outcome if isinstance(last, RunFinishedEvent) else None
    return list((isinstance(outcome, RunFinishedSuccessOutcome) and outcome.pending_tool_call_ids) or ())


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


# -- what the client holds, read from the messages that it sends with its next run


def received(messages: Iterable[JSONObject]) -> Iterator[tuple[str, str, str]]:
    """Each reasoning text and opaque value the client holds: kind, value and the entity that carries it."""
    for message in messages:
        entity = f"message {message['id']}"
        if message["role"] == "reasoning" and message["content"]:
            yield TEXT, message["content"], entity
        yield from _carried(message, entity)
        for call in message.get("toolCalls", ()):
            yield from _carried(call, f"tool-call {call['id']}")


def _carried(holder: JSONObject, entity: str) -> Iterator[tuple[str, str, str]]:
    envelope = read_envelope(holder.get("encryptedValue", ""))
    yield from ((kind, opaque, entity) for kind, opaque in _opaque(envelope))


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
