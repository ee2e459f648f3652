"""Conversations that an agent without a framework led, and how requests with or without one compare.

They have what frameworks tend to lose: values on every kind of part, media on both sides, a tool that failed,
arguments whose names a framework may rewrite.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from agui_reasoning import Conversation, Run, run_agent
from agui_reasoning.parts import Opaque, ReasoningPart, Segment, TextPart, ToolCallPart, ToolResultPart
from tests.frameworks.threads import PIXEL, origin_of

__all__ = ["LOOKED", "as_json", "gemini_parts", "looked"]

PICTURE = {
    "type": "image",
    "source": {"type": "data", "value": base64.b64encode(PIXEL).decode(), "mimeType": "image/png"},
}
SIGNED = base64.b64encode(b"signed?>").decode()  # with characters that differ in the alphabet of URLs
BOTH = [("call_1", '{"at_place": "a"}'), ("call_2", '{"at_place": "b"}')]


def _thought(words: str, signature: str) -> ReasoningPart:
    return ReasoningPart((Segment("text", 0, words),), (Opaque("anthropic.signature", signature),))


def _signature(attach: str) -> Opaque:
    return Opaque("gemini.thought_signature", SIGNED, "base64", attach)


LOOKED: dict[str, list[Any]] = {
    "bedrock-weather": [
        _thought("So?", "c2ln"),
        ReasoningPart((), (Opaque("bedrock.redacted_content", SIGNED, "base64"),)),
        TextPart("I look."),
        ToolCallPart("call_1", "look", '{"at_place": "a"}'),
        _thought("Or?", "c2lo"),
        ToolCallPart("call_2", "look", '{"at_place": "b"}'),
    ],
    "gemini-weather": [
        ReasoningPart((Segment("text", 0, "So?"),)),
        TextPart("I look.", (_signature("text"),)),
        ToolCallPart("call_1", "look", '{"at_place": "a"}', opaque=(_signature("tool_call:call_1"),)),
        ToolCallPart("call_2", "look", '{"at_place": "b"}'),
    ],
}
"""What a model says before it looks twice, by script. Frameworks write Gemini's calls after its text."""


def looked(script: str, *, signed: bool = True) -> Run:
    """The next run of a conversation whose second look failed.

    Args:
        script: The script of the provider.
        signed: Whether the calls have their signatures.
    """
    conversation, origin = Conversation("thread-1"), origin_of(script)
    parts = [part for part in LOOKED[script] if signed or not isinstance(part, ToolCallPart)]
    calls = [ToolCallPart(call_id, "look", arguments) for call_id, arguments in BOTH]
    results = [ToolResultPart("call_1", [PICTURE]), ToolResultPart("call_2", "Too dark.", "Too dark.")]  # type: ignore[list-item]
    said = [*parts, *([] if signed else calls), *results, TextPart("It is there.")]
    asked = conversation.run_input([{"type": "text", "text": "Look."}, PICTURE])  # type: ignore[list-item]
    for event in run_agent(asked, lambda _: iter(said), **origin):
        conversation.receive(event)
    return Run(conversation.run_input("And now?"), **origin)


def gemini_parts(contents: list[Any]) -> list[Any]:
    """The parts of a request, without what frameworks write in their own ways: IDs, and around results."""
    from google.genai.types import Content

    parts = [part for one in contents for part in Content.model_validate(one).parts or ()]
    for part in parts:
        if part.function_call:
            part.function_call.id = None
        if part.function_response:
            part.function_response.id = None
            part.function_response.response = {"": [*(part.function_response.response or {}).values()]}
    return parts


def as_json(value: Any) -> Any:
    """A part of a request as boto3 sends it: bytes in base64."""
    return json.loads(json.dumps(value, default=lambda blob: base64.b64encode(blob).decode()))
