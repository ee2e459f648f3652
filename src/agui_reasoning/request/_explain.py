"""The report of a request, in sentences for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from agui_reasoning.parts import Origin
from agui_reasoning.policy import EchoStatus
from agui_reasoning.request._history import ReportEntry

__all__ = ["explain"]

_OUTCOMES: Final = {
    "echoed": "sent unchanged",
    "placeholder": "replaced by a placeholder",
    "dropped": "left out",
}

_OTHER_KIND: Final = "{target} does not read reasoning of this kind"
_POLICY: Final[dict[EchoStatus, str]] = {
    "required": _OTHER_KIND,
    "recommended": _OTHER_KIND,
    "accepted": _OTHER_KIND,
    "inert": "{target} ignores reasoning that is sent back",
    "rejected": "{target} refuses requests that contain reasoning",
    "unknown": "it is not known what {target} does about reasoning that is sent back",
}

_REASONS: Final = {
    "foreign_origin": "{target} cannot read the values of {source}",
    "other_account": "another account of {target} made it, and this one cannot read its values",
    "native_foreign": "it is a block of {source}, which {target} cannot read",
    "unknown_origin": "its provider is unknown, and {target} may not be able to read its values",
    "incomplete": "it was cut, or its text was changed in transit",
    "refused_turn": "the provider refused this turn, and refuses requests that contain it",
    "withheld": "{target} did not show it to this model when it was sent before",
    "out_of_scope": "{target} reads the reasoning of later turns only",
    "missing_signature": "{target} requires a signature, and it has none",
    "missing_encrypted": "{target} stores nothing and requires encrypted content, and it has none",
    "orphan": "the output that it led to is not in the request",
    "unpaired": "the item that it led to cannot be identified, or another unit of its group is missing",
    "duplicate_id": "a unit with the same id is already in the request",
    "compacted": "{target} has summed it up in a later block",
    "declined": "a model wrote it that declined, and another one went on",
    "needs_beta": "{target} takes it only if the request names a beta feature, and does without it",
    "empty": "it is empty, and {target} ignores empty reasoning",
    "no_place": "the API has no field for it",
    "model_binding": "{target} leaves it out, because this model cannot read it",
    "on_server": "{target} has stored it with the previous response",
    "no_value": "the front end returned it without its value",
    "unknown_value": "its value is not an envelope of this library",
    "application_value": "its value was encrypted by your application, which has to open it itself",
    "too_large": "its value is longer than the limit",
    "text_modified": "its text differs from the text that was sent to the front end",
    "part_missing": "one of its messages is missing from the history",
    "spans_overlap": "it claims text that belongs to another unit",
    "undecryptable": "it was encrypted with other keys, for another thread or tenant, or has expired",
    "key_unavailable": "its key could not be fetched",
    "unauthenticated": "it is not encrypted although keys are in use",
    "misplaced": "it was written for another agent of the run",
    "needs_keys": "it contains a block of a kind that is sent only if its value was encrypted",
    "stored_object": "it names an object stored at {source}, and its value was not encrypted",
    "value_modified": "a value differs from the one that was sent to the front end",
    "native_kind": "it contains a block that must not be sent to this API",
}


def explain(entries: Iterable[ReportEntry], target: Origin, status: EchoStatus) -> str:
    """Return one line for each answer, outcome and reason, in the order of the conversation.

    Args:
        entries: The report.
        target: The producer of the next response.
        status: What the echo policy says about the target.
    """
    counts = Counter((entry.answer, entry.origin, entry.outcome, entry.reason) for entry in entries)
    lines = []
    for (answer, origin, outcome, reason), count in counts.items():
        why = _why(reason, origin, target, status)
        units = "1 unit" if count == 1 else f"{count} units"
        lines.append(f"{_name(answer, origin)}: {units} {_OUTCOMES[outcome]}{why}.")
    return "\n".join(lines)


def _name(answer: int | None, origin: Origin | None) -> str:
    name = "an answer" if answer is None else f"answer {answer}"
    return f"{name} ({origin.model})" if origin and origin.model else name


def _why(reason: str, source: Origin | None, target: Origin, status: EchoStatus) -> str:
    if not reason:
        return ""
    text = _POLICY[status] if reason == "policy" else _REASONS[reason]
    producer = (source and source.provider) or "another provider"
    return ": " + text.format(target=target.provider or "the provider", source=producer)
