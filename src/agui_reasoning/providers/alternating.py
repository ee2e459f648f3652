"""Writes conversations for APIs in which the user and the model alternate, each with a list of blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ag_ui.core import TextInputContent, UserMessage

from agui_reasoning.providers.encoding import (
    GO_ON,
    EchoReport,
    EncodingOptions,
    MessageContent,
    PartSpelling,
    PreparedConversation,
    ResponseStep,
    spelled,
)
from agui_reasoning.providers.payload import JSONObject

__all__ = ["OPENING", "BlockStyle", "alternate", "blocks_of"]

OPENING: Final = "(The conversation begins with the assistant.)"
"""The user message that precedes an assistant's greeting, or a history trimmed before a response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockStyle:
    """The spelling of messages.

    Attributes:
        model: The model's role.
        field: The field that holds the blocks of a message.
        text: Writes a text block.
        parts: Spells content parts other than text.
    """

    model: str
    field: str
    text: Callable[[str], JSONObject]
    parts: PartSpelling

    def text_part(self, part: TextInputContent) -> JSONObject | None:
        """Write a text part, unless it is blank."""
        return self.text(part.text) if part.text.strip() else None


def alternate(
    conversation: PreparedConversation,
    options: EncodingOptions,
    style: BlockStyle,
    respond: Callable[[ResponseStep], tuple[Sequence[JSONObject], Sequence[JSONObject]]],
) -> tuple[list[JSONObject], list[str]]:
    """Write a conversation as alternating messages, starting with the user.

    Args:
        conversation: The conversation.
        options: How to write the request.
        style: The spelling of messages.
        respond: Writes the blocks of a response, and those of its tool results.

    Returns:
        The messages, and the system texts.
    """
    system = [options.system] if options.system else []
    messages: list[JSONObject] = []
    for item in conversation:
        if isinstance(item, ResponseStep):
            blocks, results = respond(item)
            _extend(messages, style.model, blocks, style)
            _extend(messages, "user", results, style)
        elif isinstance(item, UserMessage):
            open_end = bool(messages) and messages[-1]["role"] == style.model
            _extend(messages, "user", _user(item, options.report, style, open_end=open_end), style)
        elif item.content.strip():
            system.append(item.content)
    if messages and messages[0]["role"] == style.model:
        messages.insert(0, {"role": "user", style.field: [style.text(OPENING)]})
    return messages, system


def blocks_of(
    content: MessageContent, style: BlockStyle, report: EchoReport, where: str = "user message"
) -> list[JSONObject]:
    """Write content as blocks; blank text has none."""
    if isinstance(content, str):
        return [style.text(content)] if content.strip() else []
    return spelled(content, {"text": style.text_part, **style.parts}, report, where)


def _extend(messages: list[JSONObject], role: str, blocks: Sequence[JSONObject], style: BlockStyle) -> None:
    """Add blocks, merging consecutive messages of one role."""
    if not blocks:
        return
    if messages and messages[-1]["role"] == role:
        messages[-1][style.field] += blocks
    else:
        messages.append({"role": role, style.field: list(blocks)})


def _user(message: UserMessage, report: EchoReport, style: BlockStyle, *, open_end: bool) -> list[JSONObject]:
    """Write a user message.

    A blank one is replaced after the model's message, which the model would otherwise continue.
    """
    blocks = blocks_of(message.content, style, report)
    if blocks:
        return blocks
    report.note("A user message is blank; it was left out.")
    return [style.text(GO_ON)] if open_end else []
