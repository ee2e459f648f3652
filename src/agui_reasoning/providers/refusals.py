"""The known errors by which providers refuse reasoning, and what to change in a second request.

The rows are in ``rows/refusals.toml``, with dated evidence. The first row that matches wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from agui_reasoning.parts import Origin
from agui_reasoning.policy import EchoFlag, EchoRule, Field, matches_any
from agui_reasoning.providers.vendors import read_rows, spellings

__all__ = [
    "Refusal",
    "Remedy",
    "ThinkingOff",
    "find_refusal",
    "refusals",
    "thinking_off",
    "thinking_off_rows",
]

Remedy: TypeAlias = Literal[
    "strip_values", "strip_reasoning", "send_reasoning", "thinking_off", "send_all", "send_unstored", "none"
]
"""How the second request differs.

It is without values or reasoning, with all of it, or without thinking. Or it contains the whole conversation
instead of a reference to it, which the provider stores anew or not. Or there is none.
"""

_QUOTES: Final = str.maketrans("", "", "`'\"\\*")
_ERROR_CHARS: Final = 20_000


class _TargetRow(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    api: tuple[str, ...] = ("*",)
    provider: tuple[str, ...] = ("*",)
    model: tuple[str, ...] = ("*",)
    evidence: str
    checked: str

    def concerns(self, target: Origin) -> bool:
        """Return whether the row applies to a target; unknown names match only ``*``."""
        return any(map(self._names, spellings(target)))

    def _names(self, target: Origin) -> bool:
        pairs = ((self.api, target.api), (self.provider, target.provider), (self.model, target.model))
        return all(matches_any(patterns, [(name or "").lower()]) for patterns, name in pairs)


class Refusal(_TargetRow):
    """One known error.

    Attributes:
        id: Its stable name.
        api: The APIs, as shell-style patterns.
        provider: The providers.
        model: The models.
        status: The HTTP statuses; errors inside a stream have none.
        code: An error code or type that suffices.
        message: A regular expression over the words of the error and its codes.
        means: What it means, for users; never the provider's own words.
        remedy: How the second request differs.
        sends: Where the missing reasoning is written, by API; for others, thinking is turned off.
        placeholder: The text to write for reasoning that nobody has; none if it must be signed.
        evidence: Where this is known from.
        checked: When it was last checked, ISO date.
    """

    id: str
    status: tuple[int, ...] = (400,)
    code: str | None = None
    message: str | None = None
    means: str
    remedy: Remedy
    sends: Mapping[str, Field] = {}
    placeholder: str | None = None

    def sending(self, rule: EchoRule, api: str) -> EchoRule | None:
        """Return a rule by which the missing reasoning is sent; ``None`` if the provider would reject it.

        Args:
            rule: The target's rule, which did not send it or not all of it.
            api: The API of the request.
        """
        place = self.sends.get(api)
        if place is None or rule.status in ("rejected", "inert") or place in rule.forbidden:
            return None
        # Signed reasoning may be bound to what was sent before it, so no more is sent than must be.
        signed = self.placeholder is None and not rule.echoes
        scope = "all" if self.placeholder is not None else "tool_loop" if signed else rule.scope
        given = self.placeholder if rule.needs is None and place in (rule.field or (place,)) else None
        return rule.model_copy(
            update={
                "api": api,
                "provider": ("*",),
                "model": ("*",),
                "status": "required",
                "field": rule.field or (place,),
                "scope": scope,
                "needs": "signature" if signed else rule.needs,
                "placeholder": given if rule.placeholder is None else rule.placeholder,
                "placeholder_scope": rule.placeholder_scope or "all",
            }
        )

    def matches(self, status: int | None, names: Iterable[str], words: str) -> bool:
        """Return whether this is the error; ``words`` without quotes, in lower case."""
        if status is not None and status not in self.status:
            return False
        named = self.code is not None and self.code in names
        return named or (self.message is not None and re.search(self.message, words) is not None)


class ThinkingOff(_TargetRow):
    """The request field that turns thinking off, unless the model always thinks.

    Attributes:
        api: The APIs, as shell-style patterns.
        provider: The providers.
        model: The models.
        name: The argument, or with ``extra_body`` the field in the body.
        value: Its value.
        extra_body: Whether the vendor's SDK has no such argument.
        never: Whether the model always thinks, so that no field is sent.
        evidence: Where this is known from.
        checked: When it was last checked, ISO date.
    """

    name: str = ""
    value: Any = None
    extra_body: bool = False
    never: bool = False


@cache
def _tables() -> dict[str, list[dict[str, Any]]]:
    return read_rows("refusals")


@cache
def refusals() -> tuple[Refusal, ...]:
    """Return all known errors, in order of precedence."""
    return tuple(map(Refusal.model_validate, _tables()["refusal"]))


@cache
def thinking_off_rows() -> tuple[ThinkingOff, ...]:
    """Return the fields that turn thinking off, in order of precedence."""
    return tuple(map(ThinkingOff.model_validate, _tables()["thinking_off"]))


def find_refusal(target: Origin, *, status: int | None, names: Iterable[str], message: str) -> Refusal | None:
    """Return the row of an error; ``None`` for an unknown one.

    Args:
        target: The API, provider and model that returned it.
        status: Its HTTP status; ``None`` for an error inside a stream.
        names: Its codes and types.
        message: Its words, or its whole body.

    Examples:
        >>> claude = Origin("anthropic", "anthropic-messages", "claude-sonnet-4-6")
        >>> words = "messages.1.content.0: Invalid `signature` in `thinking` block"
        >>> find_refusal(claude, status=400, names=["invalid_request_error"], message=words).id
        'invalid_signature'
    """
    given = list(names)
    said = " ".join([message[:_ERROR_CHARS], *given])
    words = " ".join(said.translate(_QUOTES).lower().split())
    rows = (row for row in refusals() if row.concerns(target))
    return next((row for row in rows if row.matches(status, given, words)), None)


def thinking_off(target: Origin) -> EchoFlag | None:
    """Return the field that turns thinking off for one request; ``None`` if none is documented."""
    row = next((row for row in thinking_off_rows() if row.concerns(target)), None)
    if row is None or row.never:
        return None
    reason = "the provider refused the request with thinking on"
    return EchoFlag(name=row.name, value=row.value, reason=reason, extra_body=row.extra_body)
