"""Writes conversations for APIs in which the user and the model alternate, each with a list of blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from ag_ui.core import TextInputContent, UserMessage

from agui_reasoning.parts import NativePart, Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from agui_reasoning.providers.encoding import (
    GO_ON,
    CallAnswer,
    EchoReport,
    EchoUnit,
    EncodingOptions,
    MessageContent,
    PartSpelling,
    PreparedConversation,
    ResponseStep,
    spelled,
)
from agui_reasoning.providers.payload import JSONObject

__all__ = [
    "INSTRUCTED",
    "OPENING",
    "BlockStyle",
    "Key",
    "PartWriter",
    "Writing",
    "alternate",
    "blocks_of",
    "server_pairs",
    "server_result",
    "written_units",
]

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
        response: Writes the blocks of a response.
        result: Writes the block of a tool result.
        pauses: Returns whether a message of the model that ends with a block goes on after instructions.
        begins: Whether a conversation may begin with the model's message if this is its first block.
        trims_end: Whether text that the model continues must not end in white space.
    """

    model: str
    field: str
    text: Callable[[str], JSONObject]
    parts: PartSpelling
    response: Callable[[Writing], Sequence[JSONObject]]
    result: Callable[[CallAnswer, EchoReport], JSONObject]
    pauses: Callable[[JSONObject], bool] = lambda block: False
    begins: Callable[[JSONObject], bool] = lambda block: False
    trims_end: bool = False

    def text_part(self, part: TextInputContent) -> JSONObject | None:
        """Write a text part, unless it is blank."""
        return self.text(part.text) if part.text.strip() else None


Key: TypeAlias = tuple[int, int]
"""The number of a turn, and of a part in the turn, as in `EchoUnit`."""


class Writing(NamedTuple):
    """What the writer of a part may need to know.

    Attributes:
        step: The response.
        options: How to write the request.
        pairs: The calls of server tools that have a result, and these results.
    """

    step: ResponseStep
    options: EncodingOptions
    pairs: Set[Key] = frozenset()


PartWriter: TypeAlias = Callable[[Any, EchoUnit, Writing], JSONObject | None]
"""Writes a part, which it is given with its unit; returns ``None`` for a part that cannot be sent."""


def written_units(
    writing: Writing, writers: Mapping[type[Part], PartWriter]
) -> list[tuple[EchoUnit, JSONObject]]:
    """Write the parts of a response; incomplete calls and what cannot be sent are left out."""
    written = []
    for unit in writing.step.units:
        if not unit.incomplete:
            block = writers[type(unit.part)](unit.part, unit, writing)
            if block is not None:
                written.append((unit, block))
    return written


def has_parts(conversation: PreparedConversation, kind: type[Part]) -> bool:
    """Return whether a response has a part of a kind."""
    for step in conversation:
        if type(step) is ResponseStep:
            for part in step.turn.parts:
                if type(part) is kind:
                    return True
    return False


def server_pairs(
    conversation: PreparedConversation, answers: Callable[[EchoUnit, EchoUnit], bool]
) -> set[Key]:
    """Return the provider's own calls with a result, possibly in a later response, and these results.

    Args:
        conversation: The conversation.
        answers: Whether a block is the result of a call, given both units: clients may send anything.
    """
    waiting: dict[str, EchoUnit] = {}
    paired: set[Key] = set()
    if not has_parts(conversation, ToolResultPart):
        return paired
    for step in conversation:
        for unit in step.units if type(step) is ResponseStep else ():
            part = unit.part
            if type(part) is ToolCallPart:
                if part.server and unit.same_format and not unit.incomplete:
                    waiting[part.id] = unit
            elif type(part) is ToolResultPart and unit.same_format:
                call = waiting.get(part.tool_call_id)
                if call is not None and answers(call, unit):
                    paired |= {call.key, unit.key}
                    del waiting[part.tool_call_id]
    return paired


def server_result(part: ToolResultPart, unit: EchoUnit, writing: Writing) -> JSONObject | None:
    """Write the result of a tool of the provider's as it came, if its call is sent."""
    return dict(part.native) if unit.key in writing.pairs else None


def part_writers(
    reasoning: PartWriter,
    text: PartWriter,
    call: PartWriter,
    native: PartWriter,
    result: PartWriter = server_result,
) -> Mapping[type[Part], PartWriter]:
    """Return the writers of all types of parts."""
    kinds = (ReasoningPart, TextPart, ToolCallPart, NativePart, ToolResultPart)
    return dict(zip(kinds, (reasoning, text, call, native, result), strict=True))


def alternate(
    conversation: PreparedConversation,
    options: EncodingOptions,
    style: BlockStyle,
    pairs: Set[Key] = frozenset(),
) -> tuple[list[JSONObject], list[str]]:
    """Write a conversation as alternating messages, starting with the user.

    Args:
        conversation: The conversation.
        options: How to write the request.
        style: The spelling of messages.
        pairs: The calls of server tools that have a result, and these results.

    Returns:
        The messages, and the system texts of the whole request.
    """
    written = _Alternation(options, style, [options.system] if options.system else [])
    for item in conversation:
        if isinstance(item, ResponseStep):
            written.effort = ("" if item.on_server else item.effort) or written.effort
            blocks = [] if item.on_server else style.response(Writing(item, options, pairs))
            results = (
                [style.result(answer, options.report) for answer in item.answers] if item.answers else ()
            )
            written.respond(blocks, results)
        elif item.role == "user":
            written.ask(item)
        elif item.content.strip():
            written.instruct(item.content)
    written.effort = options.effort or written.effort
    written.settle()
    messages = written.messages
    first = next((message for message in messages if message["role"] != "system"), None)
    if first and first["role"] == style.model and not style.begins(first[style.field][0]):
        messages.insert(0, {"role": "user", style.field: [style.text(OPENING)]})
    if style.trims_end and messages and messages[-1]["role"] == style.model:
        last = messages[-1][style.field][-1]
        if "text" in last and last.get("type", "text") == "text":
            last["text"] = last["text"].rstrip()
    return messages, written.system


@dataclass(slots=True)
class _Alternation:
    """The messages under construction.

    Attributes:
        system: The system texts of the whole request.
        waiting: System texts that stay inside the conversation, where they follow the next user message.
        effort: An effort that changes with the next response.
        turns: The number of responses so far.
    """

    options: EncodingOptions
    style: BlockStyle
    system: list[str]
    messages: list[JSONObject] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    effort: str = ""
    turns: int = 0

    def respond(self, blocks: Sequence[JSONObject], results: Sequence[JSONObject]) -> None:
        """Add a response and the results of its calls."""
        self.turns += 1
        if blocks:
            self.settle()
        self._extend(self.style.model, blocks)
        if results:
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

    def instruct(self, text: str) -> None:
        """Add instructions, in their place if the model accepts that."""
        if not self.messages or "system" not in self.options.inside:
            self.system.append(text)
            if self.turns:
                self.options.report.moved.append(self.turns)
        else:
            self.waiting.append(text)

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
        messages, name = self.messages, self.style.field
        if messages and messages[-1]["role"] == role:
            messages[-1][name] += blocks
        else:
            messages.append({"role": role, name: [*blocks]})


def blocks_of(
    content: MessageContent, style: BlockStyle, report: EchoReport, where: str = "user message"
) -> list[JSONObject]:
    """Write content as blocks; blank text has none."""
    if isinstance(content, str):
        return [style.text(content)] if content.strip() else []
    return spelled(content, {"text": style.text_part, **style.parts}, report, where)
