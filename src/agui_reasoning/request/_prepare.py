"""Prepares a history for an encoder: results next to their calls, and a verdict on every unit.

Resolves everything that all providers reject: incomplete calls are left out with their results, unanswered
calls get a result that says so, and results without a call are left out. If a request would then end with the
model's turn, a user message is added.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import count

from ag_ui.core import DeveloperMessage, SystemMessage, ToolMessage, UserMessage
from msgspec import Struct, field, structs

from agui_reasoning._failed_tools import told
from agui_reasoning._strict_json import has_half_character
from agui_reasoning.parts import (
    CUT_CALL_RESULT,
    NativePart,
    Opaque,
    Origin,
    Part,
    ReasoningPart,
    ToolCallPart,
    ToolResultPart,
    Turn,
)
from agui_reasoning.policy import EchoRule, Kinship, Scope
from agui_reasoning.providers.api import CallIds
from agui_reasoning.providers.echo import kinship, reads
from agui_reasoning.providers.encoding import (
    GO_ON,
    CallAnswer,
    EchoReport,
    EchoUnit,
    MessageContent,
    PlainMessage,
    ResponseStep,
    in_scope,
    is_readable,
)
from agui_reasoning.providers.registry import group_kinds
from agui_reasoning.request._accounts import OTHER_ACCOUNT, is_of_other_account
from agui_reasoning.request._history import HistoryItem
from agui_reasoning.request._withheld import Withheld, withheld_from

__all__ = ["prepare"]

UNANSWERED = "No result: the call was not answered."
"""The result of an unanswered call; the next message may explain why there is no other."""


class _Names(Struct):
    """Assigns unique call IDs in one request.

    Attributes:
        ids: The call IDs that the API accepts.
        taken: The assigned IDs.
        numbers: The last number that was appended to an ID.
    """

    ids: CallIds
    taken: set[str] = field(default_factory=set)
    numbers: dict[str, int] = field(default_factory=dict)

    def give(self, wanted: Iterable[str]) -> str:
        """Return the first free ID, made legal; if none is free, the last one with a number."""
        spelled = ""
        for name in wanted:
            spelled = self.ids.spell(name)
            if spelled not in self.taken:
                break
        free = spelled
        while free in self.taken:
            free = self._numbered(spelled)
        self.taken.add(free)
        return free

    def _numbered(self, stem: str) -> str:
        number = self.numbers[stem] = self.numbers.get(stem, 1) + 1
        return self.ids.numbered(stem, number)


class _Draft(Struct):
    """A turn under preparation.

    Attributes:
        calls: Its calls, except those that the provider answers itself.
        open: The numbers of the calls without a result, by call ID.
        results: The results, by the number of the call.
        misses_result: Whether a result after it was left out because it has no call.
    """

    turn: Turn
    number: int
    index: int
    calls: list[ToolCallPart]
    open: dict[str, deque[int]] = field(default_factory=dict)
    results: dict[int, tuple[MessageContent, bool]] = field(default_factory=dict)
    misses_result: bool = False

    def __post_init__(self) -> None:
        for number, call in enumerate(self.calls):
            self.open.setdefault(call.id, deque()).append(number)

    def take(self, call_id: str, content: MessageContent, is_error: bool) -> bool:
        """Answer the first unanswered call with this ID."""
        waiting = self.open.get(call_id)
        if not waiting:
            return False
        self.results[waiting.popleft()] = content, is_error
        return True

    def cut(self) -> set[int]:
        """Return the numbers of the incomplete calls, answered or not."""
        return {number for number, call in enumerate(self.calls) if self._is_cut(number, call)}

    def _is_cut(self, number: int, call: ToolCallPart) -> bool:
        if call.status == "incomplete":
            return True
        if number not in self.results:
            return not is_readable(call)
        return self.results[number][0] == CUT_CALL_RESULT


def prepare(
    items: Sequence[HistoryItem],
    *,
    target: Origin,
    rule: EchoRule,
    scope: Scope,
    ids: CallIds,
    previous_response_id: str | None,
    left_out: Set[int],
    report: EchoReport,
    efforts: Mapping[int, str],
) -> list[ResponseStep | PlainMessage]:
    """Prepare a history for an encoder.

    Args:
        items: The turns and messages in order.
        target: The receiver of the request.
        rule: The target's echo rule.
        scope: The responses whose reasoning is sent.
        ids: The call IDs that the API accepts.
        previous_response_id: The server has the turn with this ID, and everything before it.
        left_out: The indexes of items that are not sent, because the provider refused them.
        report: Collects the notes.
        efforts: The effort that changes with a response, by the index of its turn.
    """
    drafts = _drafts(items)
    placed: dict[int, _Draft] = {draft.index: draft for draft in drafts}
    loop = max((n for n, item in enumerate(items) if isinstance(item, UserMessage)), default=-1)
    known = max((d.index for d in drafts if d.turn.id == previous_response_id), default=-1)
    known = known if previous_response_id is not None else -1
    _match_results(items, drafts, report)
    names, kinships = _Names(ids), _Kinships(target)
    withheld = withheld_from((draft.turn for draft in drafts), target, rule)
    ready: list[ResponseStep | PlainMessage] = []
    torn: set[int] = set()
    for index, item in enumerate(items):
        draft = placed.get(index)
        if index in left_out and index > known:
            torn.add(len(ready) - 1)
            if draft is not None:
                _leave_out(_step(draft, kinships, rule, scope, names, withheld, current=index > loop), report)
        elif draft is not None:
            step = _step(draft, kinships, rule, scope, names, withheld, current=index > loop)
            step = structs.replace(step, effort=efforts.get(index, ""))
            if index < known:
                step = structs.replace(step, answers=())
            elif draft.misses_result or any(unit.cut for unit in step.units):
                torn.add(len(ready))
            ready.append(step if index > known else structs.replace(step, on_server=True))
        elif isinstance(item, UserMessage | SystemMessage | DeveloperMessage) and index > known:
            ready.append(item)
    if ready and isinstance(ready[-1], ResponseStep):
        _warn_of_waiting(drafts[-1], report)
    ready = list(_prompted(ready, torn))
    if ready and isinstance(ready[-1], ResponseStep):
        ready[-1] = structs.replace(ready[-1], last=not ready[-1].answers)
    return ready


def _leave_out(step: ResponseStep, report: EchoReport) -> None:
    for unit in step.units:
        report.drop(unit, "refused_turn", harmless=True)


def _prompted(
    ready: Sequence[ResponseStep | PlainMessage], torn: set[int]
) -> Iterator[ResponseStep | PlainMessage]:
    """Add a user message after model turns that end the request only because something was left out.

    Args:
        ready: The conversation.
        torn: The indexes of the steps after which a call or a result was left out.
    """
    models = owed = False
    for number, item in enumerate(ready):
        if isinstance(item, ResponseStep):
            if owed:
                yield UserMessage(id="", content=GO_ON)
                models = False
            models = not item.answers and (models or _speaks(item))
            owed = models and number in torn
        elif isinstance(item, UserMessage):
            models = owed = False
        yield item
    if owed:
        yield UserMessage(id="", content=GO_ON)


def _speaks(step: ResponseStep) -> bool:
    """Return whether the request may contain anything of the step; reasoning is never alone."""
    return step.on_server or any(
        not unit.cut and not isinstance(unit.part, ReasoningPart) for unit in step.units
    )


def _drafts(items: Sequence[HistoryItem]) -> list[_Draft]:
    drafts: list[_Draft] = []
    for index, item in enumerate(items):
        if not isinstance(item, Turn):
            continue
        calls = [part for part in item.parts if isinstance(part, ToolCallPart) and not part.server]
        draft = _Draft(item, len(drafts), index, calls)
        for part in item.parts:
            # The turn may contain the result of an agent's tool.
            if isinstance(part, ToolResultPart):
                draft.take(part.tool_call_id, told(part.content, part.error), part.error is not None)
        drafts.append(draft)
    return drafts


def _match_results(items: Sequence[HistoryItem], drafts: list[_Draft], report: EchoReport) -> None:
    """Match each result with the latest unanswered call with its ID."""
    placed = {draft.index: draft for draft in drafts}
    waiting: dict[str, list[_Draft]] = {}
    # A result without an open call is expected if it repeats another one.
    mentioned: set[str] = set()
    last: _Draft | None = None
    for index, item in enumerate(items):
        draft = placed.get(index)
        if draft is not None:
            last = draft
            mentioned |= {part.id for part in draft.turn.parts if isinstance(part, ToolCallPart)}
            for call_id in draft.open:
                waiting.setdefault(call_id, []).append(draft)
        elif isinstance(item, ToolMessage):
            taken = _answer_latest(waiting.get(item.tool_call_id, []), item)
            if not taken and item.tool_call_id not in mentioned:
                report.note("A tool result has no call before it; it was left out.")
                if last is not None:
                    last.misses_result = True


def _answer_latest(drafts: list[_Draft], message: ToolMessage) -> bool:
    """Match a result with the last turn that waits for it, dropping turns that no longer wait."""
    while drafts:
        if drafts[-1].take(message.tool_call_id, *_result(message)):
            return True
        drafts.pop()
    return False


def _result(message: ToolMessage) -> tuple[MessageContent, bool]:
    """Return what the model is told, and whether the tool failed."""
    error = message.error or None
    return told(message.content, error), error is not None


def _warn_of_waiting(draft: _Draft, report: EchoReport) -> None:
    """Warn of unanswered calls at the end of a history; earlier ones were skipped on purpose."""
    waiting = len({*range(len(draft.calls))} - draft.cut() - set(draft.results))
    if waiting:
        report.note(
            f"{waiting} call(s) at the end of the history have no result. "
            "Answer them before the next request: the model will be told that no result was provided."
        )


# -- a turn


def _step(
    draft: _Draft,
    kinships: _Kinships,
    rule: EchoRule,
    scope: Scope,
    names: _Names,
    withheld: Withheld,
    *,
    current: bool,
) -> ResponseStep:
    name = draft.turn.id or f"turn{draft.number}"
    cut = draft.cut()
    calls = len(cut) < len(draft.calls)
    judge = _Judge(
        kinships,
        rule,
        in_scope(scope, calls=calls, current=current),
        in_scope(rule.needed or scope, calls=calls, current=current),
        withheld,
        is_of_other_account(draft.turn, kinships.target),
    )
    units: list[EchoUnit] = []
    answers: list[CallAnswer] = []
    numbers = count()
    for index, part in enumerate(draft.turn.parts):
        if not _belongs(part, draft):
            continue
        number = next(numbers) if isinstance(part, ToolCallPart) and not part.server else -1
        if isinstance(part, ToolCallPart) and number in cut:
            part = replace(part, status="incomplete")
        unit = judge.unit(part, draft.turn.origin, (draft.number, index), _unit_name(part, f"{name}:{index}"))
        if isinstance(part, ToolCallPart) and not unit.cut:
            unit = structs.replace(unit, call_id=names.give(_wanted(unit, part)))
            if not part.server:
                content, is_error = draft.results.get(number, (UNANSWERED, True))
                answers.append(CallAnswer(unit, content, is_error))
        units.append(unit)
    return ResponseStep(draft.turn, tuple(units), tuple(answers), current)


def _belongs(part: Part, draft: _Draft) -> bool:
    return not isinstance(part, ToolResultPart) or part.tool_call_id not in draft.open


def _unit_name(part: Part, place: str) -> str:
    """Return the ID of the message or call under which the client sees a unit, if known; else its place."""
    return part.seen or (part.id if isinstance(part, ToolCallPart) else "") or place


def _wanted(unit: EchoUnit, part: ToolCallPart) -> list[str]:
    """Return possible IDs of a call, starting with its provider's own if the target knows that."""
    native = (part.ext or {}).get("native_id")
    return [native, part.id] if unit.at_home and isinstance(native, str) and native else [part.id]


class _Kinships(Struct):
    """Knows how the producers of a history are related to the target; few are different."""

    target: Origin
    known: dict[tuple[Origin | None, tuple[str, ...]], Kinship] = field(default_factory=dict)
    readable: dict[tuple[Origin | None, tuple[str, ...]], bool] = field(default_factory=dict)

    def of(self, origin: Origin | None, kinds: tuple[str, ...]) -> Kinship:
        """Return how a producer is related to the target, for values of these kinds."""
        key = origin, kinds
        if key not in self.known:
            self.known[key] = kinship(origin, self.target, kinds)
        return self.known[key]

    def unread(self, part: Part, origin: Origin | None) -> bool:
        """Return whether the target's model cannot read a part, although its provider can."""
        kinds = tuple([value.kind for value in getattr(part, "opaque", ())])
        key = origin, kinds
        if kinds and key not in self.readable:
            self.readable[key] = reads(origin, self.target, kinds)
        return bool(kinds) and not self.readable[key]


class _Judge(Struct, frozen=True):
    """Decides which units of a turn may be sent."""

    kinships: _Kinships
    rule: EchoRule
    in_scope: bool
    needed: bool
    withheld: Withheld
    other_account: bool

    def unit(self, part: Part, turn_origin: Origin | None, key: tuple[int, int], name: str) -> EchoUnit:
        related = self._kinship(part, part.origin or turn_origin)
        required = self.needed and self.rule.status == "required"
        cut = isinstance(part, ToolCallPart) and part.status == "incomplete"
        refused, whole = self._refusal(part, related, required=required), _without_damage(part)
        unread = not refused and self.kinships.unread(part, part.origin or turn_origin)
        return EchoUnit(whole, key, name, related, refused, required, cut, whole is not part, unread)

    def _kinship(self, part: Part, origin: Origin | None) -> Kinship:
        if self.other_account:
            return "foreign"
        opaque: tuple[Opaque, ...] = getattr(part, "opaque", ())
        related = self.kinships.of(origin, tuple([value.kind for value in opaque]))
        if related == "foreign" and not isinstance(part, ReasoningPart):
            # Members of a group spell calls, results and blocks alike, with or without a value.
            return self.kinships.of(origin, tuple(group_kinds()))
        return related

    def _refusal(self, part: Part, related: Kinship, *, required: bool) -> str:
        if not self.rule.echoes:
            return "policy"
        if related in ("foreign", "unknown"):
            return OTHER_ACCOUNT if self.other_account else f"{related}_origin"
        if getattr(part, "status", "complete") == "incomplete":
            return "incomplete"
        if not self.in_scope:
            return "out_of_scope"
        withheld = isinstance(part, ReasoningPart) and self.withheld.hides(part, required=required)
        return "withheld" if withheld else ""


def _without_damage(part: Part) -> Part:
    """Return a part without its native block, if half a character shows that the block was changed."""
    if isinstance(part, NativePart) and has_half_character(part.payload):
        return replace(part, payload=None)
    if isinstance(part, ToolResultPart) and has_half_character(part.native):
        return replace(part, native=None)
    return part
