"""How Pydantic AI names the values of each API, a row per API, and the media of results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from agui_reasoning.parts import Channel

__all__ = ["REDACTED_ID", "SPELLINGS", "THOUGHT_SIGNATURE", "Spelling", "result_blocks"]

REDACTED_ID: Final = "redacted_thinking"
"""The ID of thinking parts whose signature is redacted data."""

THOUGHT_SIGNATURE: Final = "thought_signature"
"""The provider detail of texts and calls that have a value."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """The meaning of the fields of a thinking part.

    Attributes:
        signature: The kind of its ``signature``; empty if the API has none.
        redacted: The kind of the signature of redacted parts.
        channel: The channel of its text.
        id_is_item: Its ``id`` is the ID of an item; parts with the same ID are segments of one unit.
        id_is_field: Its ``id`` is the name of the field that contained the text.
        thought_signature: The kind of the provider detail `THOUGHT_SIGNATURE`.
    """

    signature: str = ""
    redacted: str = ""
    channel: Channel = "text"
    id_is_item: bool = False
    id_is_field: bool = False
    thought_signature: str = ""


SPELLINGS: Final[Mapping[str, Spelling]] = {
    "anthropic-messages": Spelling("anthropic.signature", "anthropic.redacted_thinking"),
    "openai-responses": Spelling("openai.encrypted_content", channel="summary", id_is_item=True),
    "openai-chat": Spelling(id_is_field=True),
    "gemini": Spelling("gemini.thought_signature", thought_signature="gemini.thought_signature"),
}


def result_blocks(event: Any) -> Any:
    """Return what a tool returned: text, or content blocks if there is media or a prompt follows."""
    part, after = event.part, getattr(event, "content", None) or ()
    if not after and not getattr(part, "files", ()):
        return part.content if isinstance(part.content, str) else part.model_response_str()
    items = part.content_items(mode="str", wrap_if_error=False)
    prompt = [after] if isinstance(after, str) else after
    return [_block(item) for item in (*items, *prompt) if getattr(item, "kind", "") != "cache-point"]


def _block(item: Any) -> Any:
    """Write an item of the content as a block. Its media type is not guessed, which fails for some URLs."""
    if isinstance(item, str):
        return item
    fields = vars(item)
    if "metadata" in fields:  # tagged text
        return item.content
    media_type = fields.get("media_type") or fields.get("_media_type")
    return {**fields, "type": item.kind, "media_type": media_type}
