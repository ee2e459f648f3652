"""Tells whether instructions and tools are those after which a model's signed blocks were made."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final

from msgspec.json import encode

from agui_reasoning.parts import Origin, Prefix, Turn
from agui_reasoning.policy import EchoRule
from agui_reasoning.providers.encoding import EchoReport

__all__ = ["note_other_prefix", "prefix_of"]

_INSTRUCTIONS: Final = frozenset({"system", "developer"})
_DIGITS: Final = 32


def prefix_of(
    body: Mapping[str, Any], rule: EchoRule, turns: Sequence[Turn], previous_response_id: str | None
) -> Prefix | None:
    """Return the digests of a body whose instructions and tools signed blocks are bound to; else ``None``.

    A request that continues a stored conversation has those of the response that it continues from.
    """
    if not rule.prefix_bound:
        return None
    if previous_response_id is not None:
        return next((turn.prefix for turn in turns if turn.id == previous_response_id), None)
    messages = body.get("messages") or ()
    first = list(takewhile(lambda message: message.get("role") in _INSTRUCTIONS, messages))
    return Prefix(_digest(body.get("system"), first), _digest(body.get("tools"), body.get("toolConfig")))


def _digest(*values: Any) -> str:
    """Return a digest of JSON. Marks for caching do not count, as they do not for Anthropic."""
    text = encode([_without_marks(value) for value in values], order="sorted")
    return hashlib.sha256(text).hexdigest()[:_DIGITS]


def _without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_marks(inner) for name, inner in value.items() if name != "cache_control"}
    return [_without_marks(inner) for inner in value] if isinstance(value, list) else value


def note_other_prefix(turns: Sequence[Turn], prefix: Prefix, target: Origin, report: EchoReport) -> None:
    """Warn about reasoning in a request that was made after other instructions or tools."""
    sent = [turns[turn] for (turn, _), (_, verdict) in report.verdicts.items() if verdict.outcome == "echoed"]
    made = [turn.prefix for turn in sent if turn.prefix and turn.origin and turn.origin.api == target.api]
    # That instructions were moved is said already.
    system = 0 if report.moved else _changed((one.system for one in made), prefix.system)
    tools = _changed((one.tools for one in made), prefix.tools)
    for what, count, remedy in (
        (
            "system text",
            system,
            "Put new instructions into a message of the role `system`, after the others.",
        ),
        ("tools", tools, "Keep the tools of a thread the same."),
    ):
        if count:
            report.note(
                f"{count} reasoning unit(s) are no longer valid, because the {what} changed since "
                f"they were made: the model refuses them or does without. {remedy}"
            )


def _changed(before: Iterable[str], now: str) -> int:
    """Return how many digests differ. Some are shortened."""
    return sum(not now.startswith(digest) for digest in before)
