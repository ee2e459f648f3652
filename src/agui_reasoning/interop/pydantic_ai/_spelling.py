"""How Pydantic AI names the values of each API: a row per API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agui_reasoning.parts import Channel

__all__ = ["REDACTED_ID", "SPELLINGS", "THOUGHT_SIGNATURE", "Spelling"]

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
