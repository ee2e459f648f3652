"""The next request of a long thread."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from ag_ui.core import RunAgentInput

from agui_reasoning import Emitter, Run, build_request, reduce_events, restore
from agui_reasoning.crypto import KeyRing
from agui_reasoning.parts import Opaque, Origin, Part, ReasoningPart, Segment, TextPart, ToolCallPart
from benchmarks.harness import Effort, Figure, Path, at_most, fresh, ratios
from benchmarks.produce import run_input
from benchmarks.texts import ASCII

__all__ = ["PATH", "next_request", "thread"]

_API: Final = "anthropic-messages"
_PROVIDER: Final = "anthropic"
_MODEL: Final = "claude-sonnet-4-6"
_ORIGIN: Final = Origin(_PROVIDER, _API, _MODEL)
_THREAD: Final = "thread-1"
_TURNS: Final = 150
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


def thread(turns: int, keys: KeyRing | None, thread_id: str = _THREAD) -> str:
    """Return the messages of a thread as a client stores them: JSON."""
    messages: list[dict[str, Any]] = []
    for number in range(turns):
        messages.append({"id": f"u{number}", "role": "user", "content": f"Question {number}: {ASCII[:80]}"})
        messages += _produced(number, keys, thread_id)
        if number % 2:
            result = {"role": "tool", "toolCallId": f"toolu_{number}", "content": '{"rain_mm": 4.2}'}
            messages.append({"id": f"t{number}", **result})
    return json.dumps(messages)


def _produced(number: int, keys: KeyRing | None, thread_id: str) -> list[dict[str, Any]]:
    emitter = Emitter(keys=keys, thread_id=thread_id)
    events: list[Any] = [{"type": "RUN_STARTED", "threadId": thread_id, "runId": f"r{number}"}]
    for part in _turn(number):
        events += emitter.receive(part)
    events += emitter.close()
    events.append({"type": "RUN_FINISHED", "threadId": thread_id, "runId": f"r{number}"})
    return [message.model_dump(by_alias=True, exclude_none=True) for message in reduce_events(events)]


def next_request(messages: list[Any], keys: KeyRing | None) -> dict[str, Any]:
    """Restore a thread, and build the provider's next request."""
    history = restore(messages, keys=keys, thread_id=_THREAD)
    return build_request(_API, history, provider=_PROVIDER, model=_MODEL).body


def _work(text: str, keys: KeyRing | None) -> Callable[[], object]:
    messages = json.loads(text)
    return lambda: next_request(messages, keys)


_READ_INPUT: Final[dict[str, Callable[[str], Any]]] = {
    "dict": json.loads,
    "RunAgentInput": RunAgentInput.model_validate_json,
}
"""How servers get the input of a run."""


def _request(texts: Sequence[str], read: Callable[[str], Any]) -> None:
    """Make the first request of runs whose inputs have just been read."""
    for given in fresh(texts, read, batch=1):
        Run(given, api=_API, model=_MODEL).request()


def _parse(texts: Sequence[str]) -> None:
    for text in texts:
        json.loads(text)


def _first_requests(effort: Effort) -> Iterator[Figure]:
    text = json.dumps({**run_input(), "messages": json.loads(thread(_TURNS, None))})
    texts = [text] * effort.size(20, least=1)
    for name, read in _READ_INPUT.items():
        samples = ratios(partial(_request, texts, read), partial(_parse, texts), effort)
        yield Figure(f"{_TURNS} turns, `Run({name}).request()`", "×", samples, at_most(8))


def _measure(effort: Effort) -> Iterator[Figure]:
    yield from _first_requests(effort)
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


PATH = Path(
    "The next request of a thread, by `restore` + `build_request` unless a row says otherwise: "
    "in the time of `json.loads` of what the client sends",
    _measure,
)
