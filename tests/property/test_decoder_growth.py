"""Test that text that continues, which is read in a shape, is decoded as if it had been read in full."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agui_reasoning.deltas import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from agui_reasoning.providers import decoder
from agui_reasoning.providers.base import Decoder
from agui_reasoning.replay import load_script, script_names
from tests.laws import law
from tests.recordings.test_recordings import STREAMED
from tests.support.effort import examples
from tests.support.full_reading import reading
from tests.support.recordings import load, payloads
from tests.support.served import as_events, as_frames
from tests.support.vendor_shapes import CHAT, RESPONSES

JSON = dict[str, Any]
Stream = tuple[str, str | None, str | None, list[Any]]
"""An API ID, a provider, a model, and payloads."""


def outcomes(machine: Decoder, stream: Iterable[Any], after: Callable[[Any], None] | None = None) -> Any:
    """What comes of each payload and of the end, the state before the end, and the warnings.

    Args:
        machine: The decoder.
        stream: The payloads.
        after: What the caller does to a payload after it was decoded.
    """
    found = []
    for payload in stream:
        found.append(outcome(lambda payload=payload: machine.receive(payload)))
        if after is not None:
            after(payload)
    left = state(machine)
    return found, left, outcome(machine.close), machine.warnings


def outcome(work: Callable[[], list[Delta]]) -> Any:
    """The deltas, or the error; of a payload that was spoiled while the decoder held it, any error."""
    try:
        return work()
    except Exception as error:
        fields = (getattr(error, name, None) for name in ("path", "provider", "deltas"))
        return type(error), str(error), *fields


GROWING = frozenset({"more", "_misfits", "_steady", "_newest", "_usage", "_length", "_measured"})
"""What depends on how payloads are read that only add text."""


def state(value: Any, above: tuple[Any, ...] = ()) -> Any:
    """Everything that a decoder remembers, except how it reads."""
    if isinstance(value, dict):
        return {str(name): state(inner, above) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [state(inner, above) for inner in value]
    if isinstance(value, Enum) or not type(value).__module__.startswith("agui_reasoning.providers"):
        return value
    if any(value is one for one in above):
        return "above"
    names = [*getattr(value, "__dict__", ()), *getattr(type(value), "__slots__", ())]
    kept = (name for name in names if name not in GROWING and not callable(getattr(value, name)))
    return {name: state(getattr(value, name), (*above, value)) for name in kept}


def fresh(stream: Stream) -> Decoder:
    api, provider, model, _ = stream
    return decoder(api, provider=provider, model=model)


def assert_same(stream: Stream) -> None:
    """Decode a stream with and without shapes; also for a caller who changes or reuses its payloads."""
    for give, after in ((apart, None), (apart, spoil), (in_one_object, None), (in_one_object, spoil)):
        read = outcomes(reading(fresh(stream)), give(stream[3]), after)
        assert outcomes(fresh(stream), give(stream[3]), after) == read


def apart(stream: list[Any]) -> Iterator[Any]:
    """Give every payload as an object of its own."""
    yield from copy.deepcopy(stream)


def spoil(value: Any) -> None:
    """Change everything inside a payload."""
    if isinstance(value, dict):
        for name, inner in value.items():
            spoil(inner)
            value[name] = "spoiled" if isinstance(inner, str) else None
        value["more"] = 1
    elif isinstance(value, list):
        for inner in value:
            spoil(inner)
        value.append("more")


def in_one_object(stream: list[Any]) -> Iterator[Any]:
    """Give the payloads one after the other in the same dict."""
    held: JSON = {}
    for payload in copy.deepcopy(stream):
        if not isinstance(payload, dict):
            yield payload
            continue
        held.clear()
        held.update(payload)
        yield held


# -- recordings, and the streams of vendors


@law("linear")
@pytest.mark.parametrize(("api", "file"), STREAMED)
def test_recordings(api: str, file: Path) -> None:
    recording = load(file)
    assert_same((api, recording["provider"], recording["model"], payloads(recording)))


def _scripts() -> Iterator[Stream]:
    for name in script_names():
        script = load_script(name)
        yield script["api"], script["provider"], script["model"], payloads(script)


STREAMS: list[Stream] = [
    *_scripts(),
    *((shape.api, shape.provider, shape.model, shape.stream) for shape in CHAT + RESPONSES),
]


@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: f"{stream[0]}-{stream[1]}")
def test_streams_of_vendors(stream: Stream) -> None:
    assert_same(stream)


# -- repeats, some of them with something else in another place

PLAIN = ["Hm", " so.", "It rains", " and", "ab", "一", "é"]
ODD = [
    *("", " ", "\n", "a", "one \n", "\u3000", "\u2028", '"', "\\", "{"),
    *("<think>", "<thi", "nk>", "</think>", "</thi", "<", "a<b", "[THINK]", "<thinking>", "</thinking>"),
    *("\ud83d", "\ude00", "half \ud83d", "text", "thinking", "reasoning", "assistant", "null", "stop"),
    *("It rains and it rains again, as it did before, and it will not stop. ", "x" * 40),
]
OTHERS: list[Any] = [None, True, 0, 1, 1.0, 2, "", "1", "text", [], [1], {}, {"a": 1}]


def _responses(kind: str, item: JSON, event: JSON) -> Stream:
    created = {"type": "response.created", "response": {"id": "resp_1", "model": "gpt"}}
    added = {"type": "response.output_item.added", "output_index": 0, "item": item}
    grown = {"type": kind, "item_id": item.get("id", ""), "sequence_number": 3, "obfuscation": "xyz", **event}
    return "openai-responses", None, None, [created, added, grown]


def _chat(provider: str, *deltas: JSON, **more: Any) -> Stream:
    head = {"id": "c1", "created": 1, "model": "m", **more}
    choices = [{"index": 0, "delta": delta, "finish_reason": None, "logprobs": None} for delta in deltas]
    return "openai-chat", provider, None, [{**head, "choices": [choice]} for choice in choices]


def _bedrock(text: str) -> JSON:
    return {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": text}, "p": "abc"}}


MORE: list[Stream] = [
    (
        "ollama",
        None,
        None,
        [{"model": "m", "message": {"thinking": text}, "done": False} for text in ("Hm", "so")],
    ),
    # What changes with each payload: the escapes of free text, the number of a thought, the text so far.
    _responses(
        "response.custom_tool_call_input.delta",
        {"id": "ct_1", "type": "custom_tool_call", "call_id": "c1", "name": "run"},
        {"output_index": 0, "delta": "Hm"},
    ),
    _responses("response.reasoning.started", {}, {"thought": "Hm"}),
    _responses(
        "response.output_text.delta",
        {"id": "m1", "type": "message"},
        {"output_index": 0, "delta": "Hm", "content_index": 1},
    ),
    _chat("deepseek", *[{"reasoning_content": "Hm, this is long enough to be a repetition."}] * 2),
    _chat(
        "openrouter",
        *[{"reasoning": "Hm", "reasoning_details": [{"type": "reasoning.text", "text": "Hm"}]}] * 2,
    ),
    _chat("openrouter", *[{"reasoning_details": [{"type": "reasoning.text", "text": "Hm", "index": 0}]}] * 2),
    _chat(
        "mistral", *[{"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}]}] * 2
    ),
    # Tags.
    _chat("vllm", *[{"content": text} for text in ("<think>", "\nHm", " so")]),
    _chat("minimax", *[{"content": text} for text in ("<think>", "Hm", "</think>", "So", " it is")]),
    _chat("perplexity", *[{"content": text} for text in ("<think>", "Hm", " so")], usage={"total_tokens": 1}),
    ("ollama", None, None, [_ollama := {"model": "m", "message": {"content": "<think>Hm"}, "done": False}]),
    ("ollama", None, None, [{**_ollama, "message": {"content": "Hm", "thinking": ""}}]),
    ("ollama", None, None, [{"model": "m", "response": "Hm", "created_at": "1", "done": False}]),
    ("bedrock-converse", None, None, [{"messageStart": {}}, _bedrock("<thinking>Hm"), _bedrock(" so")]),
    ("mistral-chat", None, None, [{"choices": [{"index": 0, "delta": {"content": "<think>Hm"}}], "p": "ab"}]),
]
BASES = STREAMS + MORE


@st.composite
def repeats(draw: st.DrawFn) -> Stream:
    """A stream in which one payload is repeated with other texts, and with other values now and then."""
    number = draw(st.sampled_from(range(len(BASES))))
    api, provider, model, sent = BASES[number]
    at = draw(st.sampled_from(growing(number)))
    moves = draw(st.lists(st.sampled_from(MOVES), min_size=1, max_size=4))
    made = [move(draw, _spoken(draw, sent[at], PLAIN)) for move in (_same, _same, *moves)]
    more = [_spoken(draw, sent[at], PLAIN) for _ in range(draw(st.integers(0, 2)))]
    return api, provider, model, [*sent[: at + 1], *made, *more, *sent[at + 1 :]]


@cache
def growing(number: int) -> list[int]:
    return growing_of(*BASES[number])


def growing_of(api: str, provider: str | None, model: str | None, sent: list[Any]) -> list[int]:
    """The payloads of a stream that add text."""
    machine = reading(decoder(api, provider=provider, model=model))
    found = [outcome(lambda payload=payload: machine.receive(payload)) for payload in apart(sent)]
    return [n for n, deltas in enumerate(found) if isinstance(deltas, list) and any(map(text_of, deltas))]


def text_of(delta: Delta) -> str:
    if isinstance(delta, ReasoningDelta | TextDelta):
        return delta.text
    return delta.arguments if isinstance(delta, ToolCallDelta) else ""


def _spoken(draw: st.DrawFn, payload: Any, texts: list[str]) -> Any:
    """The payload with another text, now and then in only one of the places that had the same."""
    made = copy.deepcopy(payload)
    spoken_in(made, draw(st.sampled_from(texts)), alone=not draw(st.integers(0, 9)))
    return made


def spoken_in(payload: Any, text: str, *, alone: bool = False) -> None:
    """Put another text in place of the longest one, wherever it is."""
    spoken = [(v, n) for v, n in _places(payload) if n in TEXTS and isinstance(v[n], str)]
    before = max((holder[name] for holder, name in spoken), key=len, default="")
    same = [(holder, name) for holder, name in spoken if holder[name] == before]
    for holder, name in same[:1] if alone else same:
        holder[name] = text


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    names = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for name in names:
        yield value, name
        yield from _places(value[name])


TEXTS = frozenset(
    {
        *("arguments", "content", "delta", "input", "partial_json", "reasoning", "reasoning_content"),
        *("reasoning_text", "response", "summary", "text", "thinking", "tool_plan", "transcript"),
    }
)


# What is done to a payload.


def _same(draw: st.DrawFn, payload: Any) -> Any:
    return payload


def _odd(draw: st.DrawFn, payload: Any) -> Any:
    return _spoken(draw, payload, ODD)


def _retyped(draw: st.DrawFn, payload: Any) -> Any:
    """Give one number another type, or to 0 and 1 the meaning of false and true."""
    return _put(draw, payload, (int, float), lambda number: [float(number), bool(number), str(number)])


def _changed(draw: st.DrawFn, payload: Any) -> Any:
    texts = [value[name] for value, name in _places(payload) if name in TEXTS]
    return _put(draw, payload, object, lambda value: [*OTHERS, *texts, [value]])


def _put(draw: st.DrawFn, payload: Any, kind: Any, others: Callable[[Any], list[Any]]) -> Any:
    places = [(value, name) for value, name in _places(payload) if isinstance(value[name], kind)]
    if places:
        holder, name = draw(st.sampled_from(places))
        holder[name] = copy.deepcopy(draw(st.sampled_from(others(holder[name]))))
    return payload


def _left_out(draw: st.DrawFn, payload: Any) -> Any:
    holder, name = draw(st.sampled_from([place for place in _places(payload) if isinstance(place[0], dict)]))
    del holder[name]
    return payload


def _extended(draw: st.DrawFn, payload: Any) -> Any:
    holders = [payload, *(value[name] for value, name in _places(payload) if isinstance(value[name], dict))]
    draw(st.sampled_from(holders))["more"] = draw(st.sampled_from(["more", 1, None]))
    return payload


MOVES = [_same, _odd, _odd, _retyped, _changed, _changed, _left_out, _extended]


@settings(max_examples=examples(800))
@given(repeats())
def test_repeats(stream: Stream) -> None:
    assert_same(stream)


@settings(max_examples=examples(300))
@given(repeats())
def test_frames_of_repeats(stream: Stream) -> None:
    api, provider, model, sent = stream
    named = {"api": api, "provider": provider, "model": model}
    assert as_frames(sent, **named) == as_events(sent, **named)
