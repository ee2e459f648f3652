"""Test the streams of endpoints that copy Anthropic Messages: what they mean is shown and comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace

from agui_reasoning.deltas import FinishDelta, ReasoningDelta, TextDelta, fold
from agui_reasoning.parts import Opaque, Origin, Part, ReasoningPart, Segment, TextPart, ToolCallPart
from agui_reasoning.providers import decode_response, decoder
from agui_reasoning.request import build_request, restore
from tests.recordings.test_round_trip import history

Json = dict[str, Any]
API = "anthropic-messages"
TEXT, ANSWER = "Rain is likely.", "Take a coat."


def begun(**message: Any) -> Json:
    usual = {"type": "message", "role": "assistant", "content": [], "model": "model-1"}
    return {"type": "message_start", "message": {"id": "msg_1", **(message or usual)}}


def opened(index: int, **content: Any) -> Json:
    return {"type": "content_block_start", "index": index, "content_block": content}


def grown(index: int, kind: str, value: str) -> Json:
    name = {"input_json_delta": "partial_json"}.get(kind, kind.removesuffix("_delta"))
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, name: value}}


def closed(*indexes: int) -> list[Json]:
    return [{"type": "content_block_stop", "index": index} for index in indexes]


def thinks(index: int, text: str = TEXT) -> list[Json]:
    """Deltas in two pieces."""
    return [grown(index, "thinking_delta", text[:5]), grown(index, "thinking_delta", text[5:])]


ENDED: list[Json] = [
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
    {"type": "message_stop"},
]
THINKING: Json = {"type": "thinking", "thinking": ""}
SAID = [opened(1, type="text", text=""), grown(1, "text_delta", ANSWER), *closed(1)]
CALL = {"type": "tool_use", "id": "toolu_1", "name": "forecast"}


def thought(text: str = TEXT, signature: str = "") -> ReasoningPart:
    opaque = (Opaque("anthropic.signature", signature),) if signature else ()
    return ReasoningPart((Segment("text", 0, text),), opaque)


@dataclass(frozen=True)
class Quirk:
    """A stream of an endpoint.

    Attributes:
        provider: One that sends such streams.
        stream: Its payloads.
        parts: What they mean, without origin.
        named: Whether the stream names its model.
    """

    provider: str
    stream: list[Json]
    parts: tuple[Part, ...] = (thought(), TextPart(ANSWER))
    named: bool = True


NUMBER = "0123456789abcdef0123456789abcdef"
QUIRKS = {
    "no field for a signature": Quirk(
        "ollama", [begun(), opened(0, **THINKING), *thinks(0), *closed(0), *SAID, *ENDED]
    ),
    "an empty signature": Quirk(
        "llamacpp",
        [
            begun(),
            opened(0, **THINKING, signature=""),
            *thinks(0),
            grown(0, "signature_delta", ""),
            *closed(0),
            *SAID,
            *ENDED,
        ],
    ),
    "a signature of no meaning": Quirk(
        "vllm",
        [
            begun(),
            opened(0, **THINKING),
            *thinks(0),
            grown(0, "signature_delta", NUMBER),
            *closed(0),
            *SAID,
            *ENDED,
        ],
        (thought(signature=NUMBER), TextPart(ANSWER)),
    ),
    "blocks overlap, and a call has no input": Quirk(
        "llamacpp",
        [
            begun(),
            opened(0, **THINKING),
            *thinks(0),
            opened(1, type="text", text=""),
            grown(1, "text_delta", ANSWER),
            opened(2, **CALL),
            grown(2, "input_json_delta", '{"city":"Oslo"}'),
            *closed(0, 1, 2),
            *ENDED,
        ],
        (thought(), TextPart(ANSWER), ToolCallPart("toolu_1", "forecast", '{"city":"Oslo"}')),
    ),
    "several thinking blocks, and pings": Quirk(
        "vllm",
        [
            begun(),
            {"type": "ping"},
            opened(0, **THINKING),
            *thinks(0),
            *closed(0),
            {"type": "ping"},
            opened(1, **THINKING),
            *thinks(1, "I should check."),
            *closed(1),
            opened(2, type="text", text=ANSWER),
            *closed(2),
            *ENDED,
        ],
        (thought(), thought("I should check."), TextPart(ANSWER)),
    ),
    "an index twice": Quirk(
        "zai",
        [
            begun(),
            opened(0, **THINKING),
            *thinks(0),
            *closed(0),
            opened(0, type="text", text=""),
            grown(0, "text_delta", ANSWER),
            *closed(0),
            *ENDED,
        ],
    ),
    "no end of the message": Quirk(
        "zai", [begun(), opened(0, **THINKING), *thinks(0), *closed(0), *SAID, ENDED[0]]
    ),
    "a message with an ID only": Quirk(
        "zai", [begun(id="msg_1"), opened(0, **THINKING), *thinks(0), *closed(0), *SAID, *ENDED], named=False
    ),
    "no start of the message": Quirk(
        "zai", [opened(0, **THINKING), *thinks(0), *closed(0), *SAID, *ENDED], named=False
    ),
    "no end of a block": Quirk("zai", [begun(), opened(0, **THINKING), *thinks(0), *SAID[:-1], *ENDED]),
    "no start of any block": Quirk(
        "acme",
        [begun(), *thinks(0), *closed(0), grown(1, "text_delta", ANSWER), *closed(1), *ENDED],
    ),
    "neither start nor end of any block": Quirk(
        "acme", [begun(), *thinks(0), grown(1, "text_delta", ANSWER), *ENDED]
    ),
    "no start, and one index for everything": Quirk(
        "acme", [begun(), *thinks(0), grown(0, "text_delta", ANSWER), *ENDED]
    ),
    "no start, and a signature": Quirk(
        "acme",
        [begun(), *thinks(0), grown(0, "signature_delta", NUMBER), *closed(0), *SAID, *ENDED],
        (thought(signature=NUMBER), TextPart(ANSWER)),
    ),
    "thinking as an answer": Quirk(
        "opencode-zen",
        [begun(), opened(0, type="text", text=""), grown(0, "text_delta", TEXT), *closed(0), *SAID, *ENDED],
        (TextPart(TEXT), TextPart(ANSWER)),
    ),
}


def expected(quirk: Quirk) -> list[Part]:
    origin = Origin(quirk.provider, API, "model-1")
    return [replace(part, origin=origin) for part in quirk.parts]


def streamed(quirk: Quirk) -> list[Any]:
    reader = decoder(API, provider=quirk.provider, model=None if quirk.named else "model-1")
    deltas = [delta for payload in quirk.stream for delta in reader.receive(payload)]
    return deltas + reader.close()


@pytest.mark.parametrize("name", QUIRKS)
def test_a_stream_means_its_parts(name: str) -> None:
    assert fold(streamed(QUIRKS[name])) == expected(QUIRKS[name])


@pytest.mark.parametrize("name", QUIRKS)
def test_every_piece_is_shown_when_it_comes(name: str) -> None:
    reader = decoder(API, provider=QUIRKS[name].provider)
    for payload in QUIRKS[name].stream:
        deltas = reader.receive(payload)
        delta = payload.get("delta", {})
        if piece := delta.get("thinking") or delta.get("text"):
            kind = ReasoningDelta if "thinking" in delta else TextDelta
            assert "".join(one.text for one in deltas if isinstance(one, kind)) == piece
    finished = [one for one in deltas + reader.close() if isinstance(one, FinishDelta)]
    assert [one.reason for one in finished] == ["end_turn"]


@pytest.mark.parametrize("name", QUIRKS)
def test_the_parts_come_back_from_the_clients_history(name: str) -> None:
    """Without an envelope, thinking is not known to be the provider's."""
    quirk = QUIRKS[name]
    (turn,) = restore(history(streamed(quirk))).turns
    assert [part for part in turn.parts if isinstance(part, ReasoningPart)] == [
        part for part in expected(quirk) if isinstance(part, ReasoningPart)
    ]


def test_thinking_may_be_in_streams_only() -> None:
    """Some gateways leave it out of whole responses; the answer is unharmed."""
    content = [{"type": "text", "text": ANSWER}]
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "model-1", "content": content}
    found = decode_response(API, {**message, "stop_reason": "end_turn"}, provider="acme")
    assert found == [TextPart(ANSWER, origin=Origin("acme", API, "model-1"))]


def test_a_signature_of_no_meaning_goes_only_to_its_provider() -> None:
    quirk = QUIRKS["a signature of no meaning"]
    messages = [
        {"id": "u1", "role": "user", "content": "Rain?"},
        *history(streamed(quirk)),
        {"id": "u2", "role": "user", "content": "And tomorrow?"},
    ]
    sent = build_request(API, messages, provider="anthropic", model="claude-opus-5").body["messages"][1]
    assert sent["content"] == [{"type": "text", "text": ANSWER}]
