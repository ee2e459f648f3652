"""Writes conversations for APIs in which the user and the model alternate, each with a list of blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from ag_ui.core import DeveloperMessage, SystemMessage, TextInputContent, UserMessage

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

__all__ = ["INSTRUCTED", "OPENING", "BlockStyle", "alternate", "blocks_of"]

OPENING: Final = "(The conversation begins with the assistant.)"
"""The user message that precedes an assistant's greeting, or a history trimmed before a response."""

INSTRUCTED: Final = "(New instructions follow.)"
"""The user message before instructions that follow the model's message: they need one before them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockStyle:
    """The spelling of messages.

    Attributes:
        model: The model's role.
        field: The field that holds the blocks of a message.
        text: Writes a text block.
        parts: Spells content parts other than text.
        pauses: Returns whether a message of the model that ends with a block goes on after instructions.
        begins: Whether a conversation may begin with the model's message if this is its first block.
    """

    model: str
    field: str
    text: Callable[[str], JSONObject]
    parts: PartSpelling
    pauses: Callable[[JSONObject], bool] = lambda block: False
    begins: Callable[[JSONObject], bool] = lambda block: False

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
        The messages, and the system texts of the whole request.
    """
    written = _Alternation(options, style)
    for item in conversation:
        if isinstance(item, ResponseStep):
            written.effort = ("" if item.on_server else item.effort) or written.effort
            written.respond(*respond(item))
        elif isinstance(item, UserMessage):
            written.ask(item)
        elif item.content.strip():
            written.instruct(item)
    written.effort = options.effort or written.effort
    written.settle()
    messages = written.messages
    first = next((message for message in messages if message["role"] != "system"), None)
    if first and first["role"] == style.model and not style.begins(first[style.field][0]):
        messages.insert(0, {"role": "user", style.field: [style.text(OPENING)]})
    return messages, written.system


@dataclass(slots=True)
class _Alternation:
    """The messages under construction.

    Attributes:
        messages: The messages.
        system: The system texts of the whole request.
        waiting: System texts that stay inside the conversation, where they follow the next user message.
        effort: An effort that changes with the next response.
        turns: The number of responses so far.
    """

    options: EncodingOptions
    style: BlockStyle
    messages: list[JSONObject] = field(default_factory=list)
    system: list[str] = field(init=False)
    waiting: list[str] = field(default_factory=list)
    effort: str = ""
    turns: int = 0

    def __post_init__(self) -> None:
        self.system = [self.options.system] if self.options.system else []

    def respond(self, blocks: Sequence[JSONObject], results: Sequence[JSONObject]) -> None:
        """Add a response and the results of its calls."""
        self.turns += 1
        if blocks:
            self.settle()
        self._extend(self.style.model, blocks)
        self._extend("user", results)

    def ask(self, message: UserMessage) -> None:
        """Add a user message.

        A blank one is replaced after the model's message, which the model would otherwise continue.
        """
        blocks = blocks_of(message.content, self.style, self.options.report)
        if not blocks:
            self.options.report.note("A user message is blank; it was left out.")
            blocks = [self.style.text(GO_ON)] if self._role() == self.style.model else []
        self._extend("user", blocks)

    def instruct(self, message: SystemMessage | DeveloperMessage) -> None:
        """Add instructions, in their place if the model accepts that."""
        if not self.messages or "system" not in self.options.inside:
            self.system.append(message.content)
            if self.turns:
                self.options.report.moved.append(self.turns)
        else:
            self.waiting.append(message.content)

    def settle(self) -> None:
        """Write what waits as one message: with instructions after the user's, as the API requires."""
        if not (self.waiting or self.effort):
            return
        if self.waiting and self._role() == self.style.model and not self._is_paused():
            self._extend("user", [self.style.text(INSTRUCTED)])
        texts = [self.style.text(text) for text in self.waiting]
        config = {"output_config": {"effort": self.effort}} if self.effort else {}
        self.messages.append({"role": "system", self.style.field: texts, **config})
        self.waiting, self.effort = [], ""

    def _is_paused(self) -> bool:
        return self.style.pauses(self.messages[-1][self.style.field][-1])

    def _role(self) -> str:
        return self.messages[-1]["role"] if self.messages else ""

    def _extend(self, role: str, blocks: Sequence[JSONObject]) -> None:
        """Add blocks, merging consecutive messages of one role."""
        if not blocks:
            return
        if self._role() == role:
            self.messages[-1][self.style.field] += blocks
        else:
            self.messages.append({"role": role, self.style.field: list(blocks)})


def blocks_of(
    content: MessageContent, style: BlockStyle, report: EchoReport, where: str = "user message"
) -> list[JSONObject]:
    """Write content as blocks; blank text has none."""
    if isinstance(content, str):
        return [style.text(content)] if content.strip() else []
    return spelled(content, {"text": style.text_part, **style.parts}, report, where)
