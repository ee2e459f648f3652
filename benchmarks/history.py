"""The next request of a long thread."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from agui_reasoning import Emitter, build_request, reduce_events, restore
from agui_reasoning.crypto import KeyRing
from agui_reasoning.parts import Opaque, Origin, Part, ReasoningPart, Segment, TextPart, ToolCallPart
from benchmarks.harness import Effort, Figure, Path, at_most, ratios
from benchmarks.texts import ASCII

__all__ = ["PATH", "next_request", "thread"]

_API: Final = "anthropic-messages"
_PROVIDER: Final = "anthropic"
_MODEL: Final = "claude-sonnet-4-6"
_ORIGIN: Final = Origin(_PROVIDER, _API, _MODEL)
_THREAD: Final = "thread-1"
_SIGNATURE: Final = "c2lnbmF0dXJl" * 28


def _turn(number: int) -> list[Part]:
    """Return the parts of a turn: every other one calls a tool."""
    signed = Opaque("anthropic.signature", f"{number:08}{_SIGNATURE}")
    reasoning = ReasoningPart(
        (Segment("text", 0, f"{number}. {ASCII * 2}"),), opaque=(signed,), origin=_ORIGIN
    )
    answer = TextPart(f"{number}. {ASCII}", origin=_ORIGIN)
    call = ToolCallPart(f"toolu_{number}", "look_up", '{"place": "Bergen"}', origin=_ORIGIN)
    return [reasoning, answer, call] if number % 2 else [reasoning, answer]


def thread(turns: int, keys: KeyRing | None) -> str:
    """Return the messages of a thread as a client stores them: JSON."""
    messages: list[dict[str, Any]] = []
    for number in range(turns):
        messages.append({"id": f"u{number}", "role": "user", "content": f"Question {number}: {ASCII[:80]}"})
        messages += _produced(number, keys)
        if number % 2:
            result = {"role": "tool", "toolCallId": f"toolu_{number}", "content": '{"rain_mm": 4.2}'}
            messages.append({"id": f"t{number}", **result})
    return json.dumps(messages)


def _produced(number: int, keys: KeyRing | None) -> list[dict[str, Any]]:
    emitter = Emitter(keys=keys, thread_id=_THREAD)
    events: list[Any] = [{"type": "RUN_STARTED", "threadId": _THREAD, "runId": f"r{number}"}]
    for part in _turn(number):
        events += emitter.receive(part)
    events += emitter.close()
    events.append({"type": "RUN_FINISHED", "threadId": _THREAD, "runId": f"r{number}"})
    return [message.model_dump(by_alias=True, exclude_none=True) for message in reduce_events(events)]


def next_request(messages: list[Any], keys: KeyRing | None) -> dict[str, Any]:
    """Restore a thread, and build the provider's next request."""
    history = restore(messages, keys=keys, thread_id=_THREAD)
    return build_request(_API, history, provider=_PROVIDER, model=_MODEL).body


def _work(text: str, keys: KeyRing | None) -> Callable[[], object]:
    messages = json.loads(text)
    return lambda: next_request(messages, keys)


def _measure(effort: Effort) -> Iterator[Figure]:
    turns = effort.size(1_000)
    for name, keys, most in (("without keys", None, 8.0), ("with keys", KeyRing.generate(), 12.0)):
        text = thread(turns, keys)
        samples = ratios(_work(text, keys), _parsed(text), effort)
        yield Figure(f"{turns:,} turns, {name}", "×", samples, at_most(most))
        longer = thread(4 * turns, keys)
        grown = ratios(_work(longer, keys), _parsed(longer), effort)
        yield Figure(f"{4 * turns:,} turns, {name}", "×", grown, at_most(most))
        growth = tuple(many / few for many, few in zip(grown, samples, strict=True))
        yield Figure(f"{4 * turns:,} turns ÷ {turns:,} turns, {name}", "×", growth, at_most(1.2))


def _parsed(text: str) -> Callable[[], object]:
    return lambda: json.loads(text)


PATH = Path("`restore` + `build_request` of a thread: in the time of `json.loads` of its messages", _measure)
