"""Carries the reasoning of other providers and models as plain text of the user."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import Final, Literal, TypeAlias, get_args

from ag_ui.core import TextInputContent, UserMessage

from agui_reasoning.errors import ConfigurationError, did_you_mean
from agui_reasoning.parts import Origin, ReasoningPart, Turn
from agui_reasoning.providers.echo import kinship, reads
from agui_reasoning.request._accounts import is_of_other_account
from agui_reasoning.request._history import HistoryItem

__all__ = ["ForeignReasoning", "as_context", "check_foreign_reasoning"]

ForeignReasoning: TypeAlias = Literal["drop", "context"]
"""What to do with reasoning that the target cannot read."""

_CHOICES: Final = get_args(ForeignReasoning)
_HEAD: Final = "(For context, the reasoning of another model in an earlier answer:)"


def check_foreign_reasoning(chosen: str) -> None:
    """Raise `ConfigurationError` for an unknown choice (``wrong_option``)."""
    if chosen not in _CHOICES:
        raise ConfigurationError(
            f"foreign_reasoning={chosen!r} is unknown.",
            code="wrong_option",
            hint=f"{did_you_mean(str(chosen), _CHOICES)}Use one of: {', '.join(_CHOICES)}.",
        )


def as_context(
    items: Sequence[HistoryItem], target: Origin, left_out: Set[int] = frozenset()
) -> Iterator[HistoryItem]:
    """Put the text of foreign reasoning in front of the next message of the user.

    That of items that are left out stays away, too.

    It is never written as the model's own words, because models imitate what they seem to have said.
    """
    waiting: list[str] = []
    for index, item in enumerate(items):
        if index in left_out:
            pass
        elif isinstance(item, Turn):
            waiting += _foreign_texts(item, target)
        elif isinstance(item, UserMessage) and waiting:
            item, waiting = _with_context(item, "\n\n".join([_HEAD, *waiting])), []
        yield item


def _foreign_texts(turn: Turn, target: Origin) -> Iterator[str]:
    other_account = is_of_other_account(turn, target)
    for part in turn.parts:
        if isinstance(part, ReasoningPart) and part.status == "complete" and part.text.strip():
            kinds = [value.kind for value in part.opaque]
            if other_account or _is_hidden(part.origin or turn.origin, target, kinds):
                yield part.text


def _is_hidden(origin: Origin | None, target: Origin, kinds: Sequence[str]) -> bool:
    """Return whether a model sees nothing of a unit; one that it cannot read is sent, but not shown to it."""
    return kinship(origin, target, kinds) == "foreign" or not reads(origin, target, kinds)


def _with_context(message: UserMessage, context: str) -> UserMessage:
    content = message.content
    if isinstance(content, str):
        return message.model_copy(update={"content": f"{context}\n\n{content}"})
    return message.model_copy(update={"content": [TextInputContent(type="text", text=context), *content]})
