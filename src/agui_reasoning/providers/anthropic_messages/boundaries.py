"""Blocks that draw a line through a conversation: ``compaction`` and ``fallback``.

A compaction stands for everything before it, which is no longer sent; signed ones must come first (anthropic
SDK, ``CompactionBlockMisplacedError``). A fallback stands where a model declined and another one went on.
What only the first could continue is left out before the last such block: its thinking, and calls without a
result (Anthropic, refusals and fallback#continuing-the-conversation).
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import takewhile
from typing import Final

from ag_ui.core import DeveloperMessage, SystemMessage, UserMessage
from msgspec import structs

from agui_reasoning.parts import NativePart, ReasoningPart, ToolCallPart
from agui_reasoning.providers.anthropic_messages.decode import FALLBACK
from agui_reasoning.providers.encoding import (
    EchoReport,
    EchoUnit,
    EncodingOptions,
    PreparedConversation,
    ResponseStep,
    type_of,
)
from agui_reasoning.providers.payload import JSONObject

__all__ = ["COMPACTION", "draw_lines", "is_compaction"]

COMPACTION: Final = "compaction"
CONTINUE: Final = "(The conversation was summarized here. Please continue.)"
"""The user's message after a compaction that ends a history."""

_INSTRUCTIONS: Final = (SystemMessage, DeveloperMessage)
_OF_THE_MODEL: Final = "connector_text"
"""A block that, like thinking, only its model continues."""


def is_compaction(block: JSONObject) -> bool:
    """Return whether a block stands for the conversation before it."""
    return type_of(block) == COMPACTION


def draw_lines(
    conversation: PreparedConversation, options: EncodingOptions, pairs: Set[tuple[int, int]]
) -> tuple[PreparedConversation, EncodingOptions]:
    """Leave out what compactions stand for, and what a model wrote that declined.

    Args:
        conversation: The conversation.
        options: How to write the request.
        pairs: The calls of server tools that have a result, and these results.

    Returns:
        The conversation and the options to write.
    """
    place = _last_compaction(conversation) if options.rule.takes_natives else None
    if place is not None:
        conversation, options = _after_compaction(conversation, place, options)
    written = [
        _after_fallback(item, options.report, pairs) if isinstance(item, ResponseStep) else item
        for item in conversation
    ]
    return written, options


def _after_compaction(
    conversation: PreparedConversation, place: tuple[int, int], options: EncodingOptions
) -> tuple[PreparedConversation, EncodingOptions]:
    number, line = place
    step, before, after = conversation[number], conversation[:number], list(conversation[number + 1 :])
    assert isinstance(step, ResponseStep)
    for item in before:
        if isinstance(item, ResponseStep):
            _drop_compacted(item.units, options.report)
    _drop_compacted(step.units[:line], options.report)
    if not after and line + 1 == len(step.units):
        after.append(UserMessage(id="", content=CONTINUE))
    # What applies to the whole request stays the same; what changed later was summed up, and is given again.
    instructions = [item for item in before if isinstance(item, _INSTRUCTIONS)]
    whole = list(takewhile(lambda item: isinstance(item, _INSTRUCTIONS), before))
    effort = _last_effort([*before, step])
    for at, item in enumerate(after):
        if isinstance(item, ResponseStep):
            after[at] = structs.replace(item, effort=item.effort or effort)
            break
    else:
        options = structs.replace(options, effort=options.effort or effort)
    kept = structs.replace(_without(step, step.units[:line]), effort="")
    return [*whole, kept, *instructions[len(whole) :], *after], options


def _last_effort(items: PreparedConversation) -> str:
    """Return the effort to which the items change, empty if they do not."""
    efforts = (item.effort for item in reversed(items) if isinstance(item, ResponseStep))
    return next(filter(None, efforts), "")


def _last_compaction(conversation: PreparedConversation) -> tuple[int, int] | None:
    """Return the index of the step with the last compaction, and that of the block; ``None`` without one."""
    places = [
        (number, line)
        for number, item in enumerate(conversation)
        if isinstance(item, ResponseStep) and not item.on_server
        for line, unit in enumerate(item.units)
        # A compaction without content has failed, and stands for nothing.
        if (block := _block(unit, COMPACTION)) is not None and block.get("content")
    ]
    return max(places, default=None)


def _after_fallback(step: ResponseStep, report: EchoReport, pairs: Set[tuple[int, int]]) -> ResponseStep:
    lines = [line for line, unit in enumerate(step.units) if _block(unit, FALLBACK) is not None]
    declined = [unit for unit in step.units[: max(lines, default=0)] if _is_unfinished(unit, pairs)]
    for unit in declined:
        report.drop(unit, "declined", harmless=True)
    return _without(step, declined) if declined else step


def _is_unfinished(unit: EchoUnit, pairs: Set[tuple[int, int]]) -> bool:
    part = unit.part
    if isinstance(part, ToolCallPart):
        return not part.server or unit.key not in pairs
    return isinstance(part, ReasoningPart) or _block(unit, _OF_THE_MODEL) is not None


def _without(step: ResponseStep, left_out: Sequence[EchoUnit]) -> ResponseStep:
    """Return a step without some units and the results of their calls."""
    keys = {unit.key for unit in left_out}
    units = tuple(unit for unit in step.units if unit.key not in keys)
    answers = tuple(answer for answer in step.answers if answer.unit.key not in keys)
    return structs.replace(step, units=units, answers=answers)


def _drop_compacted(units: Sequence[EchoUnit], report: EchoReport) -> None:
    for unit in units:
        if unit.key in report.verdicts:
            report.drop(unit, "compacted", harmless=True)


def _block(unit: EchoUnit, kind: str) -> JSONObject | None:
    """Return the block of a unit if it is one of this kind, and the target's own."""
    part = unit.part
    if not isinstance(part, NativePart) or not unit.at_home or part.kind != f"anthropic.{kind}":
        return None
    return part.payload if type_of(part.payload) == kind else None
