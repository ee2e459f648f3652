"""The report of a request: what happened to each unit, warnings, and sentences for people."""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final

from msgspec.json import encode

from agui_reasoning._escaping import one_line
from agui_reasoning.errors import AGUIReasoningWarning, ReasoningLostWarning
from agui_reasoning.parts import NativePart, Origin, Prefix, ReasoningPart, Turn
from agui_reasoning.policy import NO_RULE, RECEIVED, EchoRule, EchoStatus, Kinship
from agui_reasoning.providers.echo import explain_no_rule
from agui_reasoning.providers.encoding import EchoReport, EchoUnit, PlainMessage, ResponseStep
from agui_reasoning.request._history import OTHER_ACCOUNT, History, ReportEntry
from agui_reasoning.request._plain import NEEDS_KEYS, STORED_OBJECT, without_members

_UNREAD: Final = "model_binding"
"""The reason of units that are sent, but that the model cannot read."""

# -- what happened to each unit


def settle(
    conversation: Iterable[ResponseStep | PlainMessage], report: EchoReport, refusals: Mapping[str, str]
) -> list[EchoUnit]:
    """Enter what was decided before the encoder runs; the encoder's own verdicts replace ``no_place``.

    ``refusals`` says why values were refused when the history was read, by unit.

    Returns:
        The blocks that should be in the body verbatim.
    """
    blocks: list[EchoUnit] = []
    for step in conversation:
        if type(step) is not ResponseStep:
            continue
        for unit in step.units:
            part = unit.part
            kind = type(part)
            if unit.incomplete or unit.altered or kind is NativePart:
                report.drop(unit, "on_server" if step.on_server else _left_out(unit), harmless=True)
                is_block = isinstance(part, NativePart) and (unit.altered or part.payload is not None)
                blocks += [unit] if is_block and not step.on_server else ()
            elif kind is ReasoningPart or getattr(part, "opaque", None):
                reason = "on_server" if step.on_server else unit.refused or "no_place"
                report.drop(unit, reason, harmless=step.on_server)
            elif unit.name in refusals and not step.on_server:
                report.drop(unit, refusals[unit.name], harmless=True)
    return blocks


_BLOCK_REASONS: Final[dict[Kinship, str]] = {"foreign": "native_foreign", "unknown": "unknown_origin"}
"""Why a block is left out, by the relation of its producer to the target."""


_NOT_MISSED: Final = frozenset({"compacted", "declined", "empty", "needs_beta", "orphan"})
"""Why blocks are left out that the provider does without."""


def _left_out(unit: EchoUnit) -> str:
    """Return why an incomplete call, or a block that only its producer reads, is left out."""
    if unit.incomplete:
        return "incomplete"
    if unit.refused == OTHER_ACCOUNT:
        return OTHER_ACCOUNT
    return _BLOCK_REASONS.get(unit.kinship, "incomplete" if unit.altered else "no_place")


def note_losses(
    history: History,
    rule: EchoRule,
    report: EchoReport,
    refusals: Mapping[str, str],
    blocks: Iterable[EchoUnit],
    *,
    flagged: bool,
) -> None:
    """Note what a request leaves out or cannot keep; ``flagged`` if it has the recommended fields."""
    _note_lost_blocks(blocks, report)
    _note_withheld(history, report)
    _note_moved(rule, report)
    if rule.prefix_bound:
        _note_changed_prefix(history, rule, report, refusals, flagged=flagged)


def _note_lost_blocks(blocks: Iterable[EchoUnit], report: EchoReport) -> None:
    """Warn about blocks that should be returned verbatim but are not in the request."""
    lost = [
        unit.part.kind
        for unit in blocks
        if isinstance(unit.part, NativePart)
        and report.verdicts[unit.key][1].outcome == "dropped"
        and report.verdicts[unit.key][1].reason not in _NOT_MISSED
    ]
    if lost:
        summed_up = any("compaction" in kind for kind in lost)
        stands_for = ", and with it the conversation that was compacted" if summed_up else ""
        report.note(
            f"{len(lost)} block(s) cannot be sent to this target ({', '.join(sorted(set(lost))[:5])}); "
            f"their content is left out{stands_for}."
        )


def _note_withheld(history: History, report: EchoReport) -> None:
    """Warn about what is left out because anybody could have written it, and say how to send it."""
    reasons = Counter(entry.reason for entry in history.report)
    stored, others = reasons[STORED_OBJECT], reasons[NEEDS_KEYS]
    if stored:
        report.note(
            f"{stored} block(s) or server tool call(s) with their results are left out: they name objects "
            "stored at the provider, and their values are not encrypted. Use keys=, or let every client name "
            "objects with `allow_file_ids=True`; beside keys, `accept_plain=True` reads plain values."
        )
    if others:
        report.note(
            f"{others} block(s) or server tool call(s) with their results are left out: blocks of their kind "
            "are sent only if their values are encrypted. Use keys=."
        )


def _note_changed_prefix(
    history: History, rule: EchoRule, report: EchoReport, refusals: Mapping[str, str], *, flagged: bool
) -> None:
    """Warn about reasoning that is bound to a conversation whose beginning has changed.

    The beginning changes if turns were trimmed, or if a unit that was sent before came back damaged.
    """
    echoed = [key for key, (_, verdict) in report.verdicts.items() if verdict.outcome == "echoed"]
    damaged = [key for key, (name, _) in report.verdicts.items() if name in refusals]
    start = (-1, -1) if history.trimmed else min(damaged, default=None)
    bound = [key for key in echoed if start is not None and key > start]
    if bound and not (flagged and rule.flags):
        remedy = "`apply_flags=True` lets it drop them, `History" if rule.flags else "`History"
        report.note(
            f"The conversation before {len(bound)} reasoning unit(s) has changed, and this model accepts "
            "them only after the same conversation: it may refuse the request. "
            f"{remedy}.strip_opaque` removes them."
        )


def _note_moved(rule: EchoRule, report: EchoReport) -> None:
    """Warn about instructions that were moved out of the conversation, and say what that costs."""
    if not report.moved:
        return
    before = max(report.moved)
    outcomes = ((turn, verdict.outcome) for (turn, _), (_, verdict) in report.verdicts.items())
    bound = (
        sum(turn < before and outcome == "echoed" for turn, outcome in outcomes) if rule.prefix_bound else 0
    )
    invalid = f"{bound} reasoning unit(s) before them are no longer valid, and " if bound else ""
    report.note(
        f"{len(report.moved)} system message(s) inside the conversation were moved to its beginning, because "
        f"they are not known to be accepted there: {invalid}what was cached of the prompt is not used."
    )


def outcomes(
    report: EchoReport, turns: Sequence[Turn], refusals: Mapping[str, str]
) -> tuple[tuple[ReportEntry, ...], tuple[ReportEntry, ...], tuple[ReasoningPart, ...]]:
    """Return all entries, those of lost units, and the reasoning in the body.

    The latter includes units that the model cannot read.
    """
    entries: list[ReportEntry] = []
    lost: list[ReportEntry] = []
    sent: list[ReasoningPart] = []
    for key, (name, verdict) in report.verdicts.items():
        turn = turns[key[0]]
        part = turn.parts[key[1]]
        reason = verdict.reason and refusals.get(name, verdict.reason)
        entry = ReportEntry(name, verdict.outcome, reason, key[0] + 1, part.origin or turn.origin)
        entries.append(entry)
        if key in report.lost:
            lost.append(entry)
        if isinstance(part, ReasoningPart) and (verdict.outcome == "echoed" or verdict.reason == _UNREAD):
            sent.append(part)
    return tuple(entries), tuple(lost), tuple(sent)


def note_unknown(target: Origin, rule: EchoRule, report: EchoReport) -> None:
    """Warn if the policy knows nothing about the target; a row of the caller's is a decision."""
    unknown = rule is NO_RULE or (rule.status == "unknown" and rule.checked != "")
    if target.provider is None and rule is not RECEIVED:
        report.note(f"{explain_no_rule(target)} Pass provider=.")
    elif unknown and any(verdict.reason == "policy" for _, verdict in report.verdicts.values()):
        report.note(explain_no_rule(target, rule))


def warn(report: EchoReport, lost: Sequence[ReportEntry], on_warning: Callable[[str], None] | None) -> None:
    """Warn about notes, and about units that the provider requires but that are not sent."""
    sentences: list[tuple[str, type[Warning]]] = [(note, AGUIReasoningWarning) for note in report.notes]
    unread = sum(entry.reason == _UNREAD for entry in lost)
    if unread:
        sentence = (
            f"The model goes on without {unread} reasoning unit(s) of this tool loop: it cannot read those "
            "of the model that began it. Switch models when no call is pending."
        )
        sentences.append((sentence, ReasoningLostWarning))
    if len(lost) > unread:
        reasons = sorted({entry.reason for entry in lost} - {_UNREAD})
        sentence = (
            f"{len(lost) - unread} reasoning unit(s) that the provider requires cannot be sent "
            f"({', '.join(reasons)}). It may refuse the request; see `report`."
        )
        sentences.append((sentence, ReasoningLostWarning))
    for sentence, category in sentences:
        if on_warning is not None:
            on_warning(one_line(sentence))
        else:
            warnings.warn(sentence, category, stacklevel=3)


# -- what signed blocks are bound to

_INSTRUCTIONS: Final = frozenset({"system", "developer"})
_DIGITS: Final = 32
_MARKS: Final = frozenset({"cache_control"})


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
    text = encode([without_members(value, _MARKS) for value in values], order="sorted")
    return hashlib.sha256(text).hexdigest()[:_DIGITS]


def note_other_prefix(
    turns: Sequence[Turn], prefix: Prefix | None, target: Origin, report: EchoReport
) -> None:
    """Warn about reasoning in a request that was made after other instructions or tools."""
    if prefix is None:
        return
    sent = [turns[turn] for (turn, _), (_, verdict) in report.verdicts.items() if verdict.outcome == "echoed"]
    made = [turn.prefix for turn in sent if turn.prefix and turn.origin and turn.origin.api == target.api]
    # That instructions were moved is said already.
    system = 0 if report.moved else _changed((one.system for one in made), prefix.system)
    tools = _changed((one.tools for one in made), prefix.tools)
    after = "Put new instructions into a message of the role `system`, after the others."
    same = "Keep the tools of a thread the same."
    for what, count, remedy in (("system text", system, after), ("tools", tools, same)):
        if count:
            report.note(
                f"{count} reasoning unit(s) are no longer valid, because the {what} changed since "
                f"they were made: the model refuses them or does without. {remedy}"
            )


def _changed(before: Iterable[str], now: str) -> int:
    """Return how many digests differ. Some are shortened."""
    return sum(not now.startswith(digest) for digest in before)


# -- in sentences

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
    """Return one line for each answer, outcome and reason, in the order of the conversation."""
    counts = Counter((entry.answer, entry.origin, entry.outcome, entry.reason) for entry in entries)
    lines = []
    for (answer, origin, outcome, reason), count in counts.items():
        because = f": {why(reason, origin, target, status)}" if reason else ""
        units = "1 unit" if count == 1 else f"{count} units"
        lines.append(f"{_name(answer, origin)}: {units} {_OUTCOMES[outcome]}{because}.")
    return "\n".join(lines)


def _name(answer: int | None, origin: Origin | None) -> str:
    name = "an answer" if answer is None else f"answer {answer}"
    return f"{name} ({origin.model})" if origin and origin.model else name


def why(reason: str, source: Origin | None, target: Origin, status: EchoStatus = "unknown") -> str:
    """Return a reason of the report as a clause."""
    text = _POLICY[status] if reason == "policy" else _REASONS[reason]
    producer = (source and source.provider) or "another provider"
    return text.format(target=target.provider or "the provider", source=producer)
