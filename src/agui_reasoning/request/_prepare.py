"""Prepares a history for an encoder: results next to their calls, and a verdict on every unit.

Resolves everything that all providers reject: incomplete calls are left out with their results, unanswered
calls get a result that says so, and results without a call are left out. If a request would then end with the
model's turn, which Anthropic and Mistral reject, a user message is added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar, Final, TypeAlias, cast

from ag_ui.core import Interrupt, ResumeEntry, ToolMessage, UserMessage
from msgspec import Struct, field, structs

from agui_reasoning._strict_json import has_lone_surrogate
from agui_reasoning._wire_events import is_expired, told
from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.parts import (
    CUT_CALL_RESULT,
    NativePart,
    Origin,
    Part,
    ReasoningPart,
    RedactedRepr,
    ToolCallPart,
    ToolResultPart,
    Turn,
)
from agui_reasoning.policy import EchoRule, Kinship, Scope
from agui_reasoning.providers.api import CallIds
from agui_reasoning.providers.echo import kinship, reads
from agui_reasoning.providers.encoding import (
    GO_ON,
    HOME,
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
from agui_reasoning.request._history import (
    OTHER_ACCOUNT,
    History,
    HistoryItem,
    Withheld,
    is_of_other_account,
    role_of,
)

_WITH_BLOCKS: Final = frozenset({NativePart, ToolResultPart})
_PLAIN: Final = frozenset({"user", "system", "developer"})
_INCOMPLETE: Final = attrgetter("incomplete")

UNANSWERED = "No result: the call was not answered."
"""The result of an unanswered call; the next message may explain why there is no other."""


class _Names(Struct):
    """Assigns unique call IDs in one request; ``numbers`` has the last one that was appended to an ID."""

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
            number = self.numbers[spelled] = self.numbers.get(spelled, 1) + 1
            free = self.ids.numbered(spelled, number)
        self.taken.add(free)
        return free


class _TurnDraft(Struct, gc=False):
    """A turn under preparation.

    Attributes:
        calls: Its calls, except those that the provider answers itself.
        open: The numbers of the calls without a result, by call ID, the last one first.
        results: What the model is told, and whether the tool failed, by the number of the call.
        misses_result: Whether a result after it was left out because it has no call.
    """

    turn: Turn
    number: int
    calls: list[ToolCallPart] = field(default_factory=list)
    open: dict[str, list[int]] = field(default_factory=dict)
    results: dict[int, tuple[MessageContent, bool]] = field(default_factory=dict)
    misses_result: bool = False

    def begin(self, mentioned: set[str]) -> bool:
        """Open the calls, if any, and take the results in the turn; ``mentioned`` receives the calls' IDs."""
        for part in self.turn.parts:
            if type(part) is ToolCallPart:
                mentioned.add(part.id)
                if not part.server:
                    self.calls.append(part)
        if not self.calls:
            return False
        for number in range(len(self.calls) - 1, -1, -1):
            self.open.setdefault(self.calls[number].id, []).append(number)
        for part in self.turn.parts:
            if type(part) is ToolResultPart:
                self.take(part.tool_call_id, part.content, part.error)
        return True

    def take(self, call_id: str, content: MessageContent, error: str | None) -> bool:
        """Answer the first unanswered call with this ID."""
        waiting = self.open.get(call_id)
        if not waiting:
            return False
        self.results[waiting.pop()] = told(content, error), error is not None
        return True

    def cut(self) -> Set[int]:
        """Return the numbers of the incomplete calls, answered or not."""
        return {number for number, call in enumerate(self.calls) if self._is_cut(number, call)}

    def waiting(self) -> list[ToolCallPart]:
        """Return the calls that have no result but could get one."""
        settled = self.cut() | self.results.keys()
        return [call for number, call in enumerate(self.calls) if number not in settled]

    def _is_cut(self, number: int, call: ToolCallPart) -> bool:
        if call.status == "incomplete":
            return True
        if number not in self.results:
            return not is_readable(call)
        return self.results[number][0] == CUT_CALL_RESULT


def prepared(
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
    withheld: Withheld,
) -> list[ResponseStep | PlainMessage]:
    """Prepare a history for an encoder.

    The reasoning of the responses in ``scope`` is sent. The server has the turn ``previous_response_id`` and
    everything before it. ``left_out`` has the indexes of items that are not sent, because the provider
    refused them; ``efforts`` has the effort that changes with a response, by the index of its turn.
    """
    drafts = _drafts(items, report)
    loop = next((n for n in range(len(items) - 1, -1, -1) if role_of(items[n]) == "user"), -1)
    stored = () if previous_response_id is None else drafts.items()
    known = max((index for index, draft in stored if draft.turn.id == previous_response_id), default=-1)
    judge = _Judge(target, rule, scope, _Names(ids), withheld)
    ready: list[ResponseStep | PlainMessage] = []
    gaps: set[int] = set()
    for index, item in enumerate(items):
        draft = drafts.get(index)
        if index in left_out and index > known:
            gaps.add(len(ready) - 1)
            if draft is not None:
                _leave_out(judge.step(draft, current=index > loop), report)
        elif draft is not None:
            step = judge.step(draft, current=index > loop, effort=efforts.get(index, ""))
            if index <= known:
                answers = () if index < known else step.answers
                step = structs.replace(step, answers=answers, on_server=True)
            if index >= known and (draft.misses_result or any(map(_INCOMPLETE, step.units))):
                gaps.add(len(ready))
            ready.append(step)
        elif index > known and role_of(item) in _PLAIN:
            ready.append(cast("PlainMessage", item))
    if ready and isinstance(ready[-1], ResponseStep):
        _warn_of_waiting([*drafts.values()][-1], report)
    ready = list(_prompted(ready, gaps)) if gaps else ready
    if ready and isinstance(ready[-1], ResponseStep):
        ready[-1] = structs.replace(ready[-1], last=not ready[-1].answers)
    return ready


def unanswered(items: Sequence[HistoryItem]) -> Iterator[tuple[int, ToolCallPart]]:
    """Yield the calls that have no result but could get one, each with the index of its turn.

    These are calls of the client's and the agent's tools, without those that were cut.
    """
    for index, draft in _drafts(items, EchoReport()).items():
        for call in draft.waiting():
            yield index, call


def _leave_out(step: ResponseStep, report: EchoReport) -> None:
    for unit in step.units:
        report.drop(unit, "refused_turn", harmless=True)


def _prompted(
    ready: Sequence[ResponseStep | PlainMessage], gaps: set[int]
) -> Iterator[ResponseStep | PlainMessage]:
    """Add a user message after model turns that end the request only because something was left out.

    ``gaps`` has the indexes of the steps after which a call or a result was left out.
    """
    ends_with_model = needs_user = False
    for number, item in enumerate(ready):
        if isinstance(item, ResponseStep):
            if needs_user:
                yield UserMessage(id="", content=GO_ON)
                ends_with_model = False
            ends_with_model = not item.answers and (ends_with_model or _speaks(item))
            needs_user = ends_with_model and number in gaps
        elif (ends_with_model or needs_user) and isinstance(item, UserMessage):
            ends_with_model = needs_user = False
        yield item
    if needs_user:
        yield UserMessage(id="", content=GO_ON)


def _speaks(step: ResponseStep) -> bool:
    """Return whether the request may contain anything of the step; reasoning is never alone."""
    return step.on_server or any(
        not unit.incomplete and not isinstance(unit.part, ReasoningPart) for unit in step.units
    )


def _drafts(items: Sequence[HistoryItem], report: EchoReport) -> dict[int, _TurnDraft]:
    """Return the turns by index, each result matched with the latest unanswered call with its ID."""
    drafts: dict[int, _TurnDraft] = {}
    waiting: dict[str, list[_TurnDraft]] = {}
    # A result without an open call is expected if it repeats another one.
    mentioned: set[str] = set()
    draft: _TurnDraft | None = None
    for index, item in enumerate(items):
        if type(item) is Turn:
            draft = drafts[index] = _TurnDraft(item, len(drafts))
            if draft.begin(mentioned):
                for call_id in draft.open:
                    waiting.setdefault(call_id, []).append(draft)
        elif role_of(item) == "tool":
            message = cast("ToolMessage", item)
            taken = _answer_latest(waiting.get(message.tool_call_id, []), message)
            if not taken and message.tool_call_id not in mentioned:
                report.note("A tool result has no call before it; it was left out.")
                if draft is not None:
                    draft.misses_result = True
    return drafts


def _answer_latest(drafts: list[_TurnDraft], message: ToolMessage) -> bool:
    """Match a result with the last turn that waits for it, dropping turns that no longer wait."""
    while drafts:
        if drafts[-1].take(message.tool_call_id, message.content, message.error or None):
            return True
        drafts.pop()
    return False


def _warn_of_waiting(draft: _TurnDraft, report: EchoReport) -> None:
    """Warn of unanswered calls at the end of a history; earlier ones were skipped on purpose."""
    waiting = len(draft.waiting())
    if waiting:
        report.note(
            f"{waiting} call(s) at the end of the history have no result. "
            "Answer those of `Run.pending_calls`, and of earlier runs those of `Run.open_calls`, before the "
            "next request: the model will be told that no result was provided."
        )


# -- a turn


def _wanted(part: ToolCallPart, related: Kinship) -> list[str]:
    """Return possible IDs of a call, starting with its provider's own if the target knows that."""
    native = part.ext.get("native_id") if part.ext and related in HOME else None
    return [native, part.id] if isinstance(native, str) and native else [part.id]


class _Relation(Struct, frozen=True, gc=False):
    """How a producer is related to the target.

    Attributes:
        refused: The reason why nothing of the producer is sent; empty if it is sent.
        unread: Whether the target's model cannot read the values, although its provider can.
    """

    kinship: Kinship
    refused: str
    unread: bool = False


_Producer: TypeAlias = tuple[int, tuple[str, ...], bool, bool]
"""The identity of a producer, as to compare two takes longer, the kinds of the values of a part, and whether
the part is reasoning, and whether another account of the provider made it."""


class _Judge(Struct):
    """Decides which units of a history may be sent; ``known`` has the relation of each producer."""

    target: Origin
    rule: EchoRule
    scope: Scope
    names: _Names
    withheld: Withheld
    known: dict[_Producer, _Relation] = field(default_factory=dict)

    def step(self, draft: _TurnDraft, *, current: bool, effort: str = "") -> ResponseStep:
        """Return a response with a decision about each unit, and the results of its calls."""
        turn = draft.turn
        cut = draft.cut() if draft.calls else ()
        calls = len(cut) < len(draft.calls)
        unsent = "" if in_scope(self.scope, calls=calls, current=current) else "out_of_scope"
        needed = self.rule.needed or self.scope
        required = self.rule.status == "required" and in_scope(needed, calls=calls, current=current)
        elsewhere = self.target.account is not None and is_of_other_account(turn, self.target)
        units: list[EchoUnit] = []
        answers: list[CallAnswer] = []
        number = -1
        part: Any
        for index, part in enumerate(turn.parts):
            kind, is_own = type(part), False
            if kind is ToolCallPart:
                if not part.server:
                    is_own, number = True, number + 1
                    if number in cut and part.status != "incomplete":
                        part = structs.replace(part, status="incomplete")
            elif kind is ToolResultPart and part.tool_call_id in draft.open:
                continue
            unit = self._unit(turn, part, (draft.number, index), unsent, elsewhere, required)
            units.append(unit)
            if is_own and not unit.incomplete:
                content, is_error = draft.results.get(number, (UNANSWERED, True))
                answers.append(CallAnswer(unit, content, is_error))
        return ResponseStep(turn, tuple(units), tuple(answers), current, effort=effort)

    def _unit(
        self, turn: Turn, part: Any, key: tuple[int, int], unsent: str, elsewhere: bool, required: bool
    ) -> EchoUnit:
        """Return a unit with the decision about it.

        ``key`` is the number of the response, and of the part in it. ``unsent`` says why the reasoning of the
        response is not sent; ``elsewhere``, whether another account of the provider made it.
        """
        kind, name, origin = type(part), part.seen, part.origin or turn.origin
        kinds: tuple[str, ...] = ()
        whole, cut, state, call_id = part, False, "", ""
        if kind in _WITH_BLOCKS:
            whole = _without_damage(part)
        else:
            kinds = tuple([value.kind for value in part.opaque]) if part.opaque else ()
            state = "incomplete" if part.status == "incomplete" else ""
        producer = id(origin), kinds, kind is ReasoningPart, elsewhere
        relation = self.known.get(producer)
        if relation is None:
            relation = self.known[producer] = self._related(origin, producer)
        refused = relation.refused or state or unsent
        if kind is ToolCallPart:
            name, cut = name or part.id, state != ""
            call_id = "" if cut else self.names.give(_wanted(part, relation.kinship))
        elif self.withheld.digests and kind is ReasoningPart and not refused:
            refused = "withheld" if self.withheld.hides(part, required=required) else ""
        if not name:
            name = f"{turn.id or f'turn{key[0]}'}:{key[1]}"  # the client does not see it
        unread = relation.unread and not refused
        return EchoUnit(
            whole, key, name, relation.kinship, refused, required, cut, whole is not part, unread, call_id
        )

    def _related(self, origin: Origin | None, producer: _Producer) -> _Relation:
        _, kinds, is_reasoning, elsewhere = producer
        if elsewhere:  # nothing of it is sent
            return _Relation("foreign", OTHER_ACCOUNT if self.rule.echoes else "policy")
        related = kinship(origin, self.target, kinds)
        if related == "foreign" and not is_reasoning:
            # Members of a group spell calls, results and blocks alike, with or without a value.
            related = kinship(origin, self.target, group_kinds())
        refused = f"{related}_origin" if related in ("foreign", "unknown") else ""
        unread = bool(kinds) and not reads(origin, self.target, kinds)
        return _Relation(related, refused if self.rule.echoes else "policy", unread)


def _without_damage(part: Part) -> Part:
    """Return a part without its native block, if a lone surrogate shows that the block was changed."""
    if isinstance(part, NativePart) and has_lone_surrogate(part.payload):
        return structs.replace(part, payload=None)
    if isinstance(part, ToolResultPart) and has_lone_surrogate(part.native):
        return structs.replace(part, native=None)
    return part


# -- calls of earlier runs


@dataclass(frozen=True, slots=True, repr=False)
class OpenCall(RedactedRepr):
    """A tool call of an earlier run that has no result yet.

    Answer it with ``ToolResultPart(call.id, …)``, also if the user refused.

    Attributes:
        id: The ID of the call that the client knows.
        name: The name of the tool.
        arguments: The arguments as JSON text.
        interrupt: What the earlier run asked about the call. Clients return no interrupts, so the value of
            the response keeps it; ``None`` if the front end lost that, or if nothing was asked.
        resume: The user's answer, from ``resume`` of the input: the entry for the interrupt, or one whose
            ``interrupt_id`` is the ID of the call. ``None`` if the user did not answer; then do not run a
            tool that needs an approval.
    """

    id: str
    name: str
    arguments: str = ""
    interrupt: Interrupt | None = None
    resume: ResumeEntry | None = None

    _private: ClassVar[frozenset[str]] = frozenset({"arguments", "interrupt", "resume"})

    @property
    def args(self) -> dict[str, Any]:
        """The parsed arguments; ``""`` and ``null`` are ``{}``."""
        return ToolCallPart(self.id, self.name, self.arguments).args


def open_calls(
    history: History, produced: Iterable[HistoryItem], resume: Mapping[str, ResumeEntry], now_ms: int | None
) -> Iterator[OpenCall]:
    """Yield the calls of earlier runs that wait for their result, in order.

    A call that the user did not answer before the model went on is no longer open, because a late result
    would change what the model has seen; it is, if the user answers it now.

    Args:
        history: The conversation before this run.
        produced: What this run added to it.
        resume: The user's answers, by interrupt ID.
        now_ms: Unix time in milliseconds, to reject answers to expired interrupts.

    Raises:
        RemoteProtocolError: An answer came after its interrupt expired (``expired_interrupt``).
    """
    asked: dict[str | None, list[Interrupt]] = {}
    for one in history.interrupts:
        asked.setdefault(one.tool_call_id, []).append(one)
    start = _start_of_latest(history.items)
    for index, call in unanswered([*history.items, *produced]):
        if index >= len(history.items):
            return
        interrupt, answer = _answered(asked.get(call.id, []), resume)
        answer = answer or resume.get(call.id)
        if index >= start or answer is not None:
            _check_expiry(interrupt, answer, now_ms)
            yield OpenCall(call.id, call.name, call.arguments, interrupt, answer)


def unrecognized(
    calls: Sequence[OpenCall], history: History, resume: Mapping[str, ResumeEntry]
) -> Iterator[str]:
    """Yield a warning for each answer that may have been meant for a call that has none.

    Source:
        AG-UI 1.1, interrupts and resume: a producer proceeds without such an entry, with a warning.
    """
    if all(call.resume for call in calls):
        return
    known = {interrupt.id for interrupt in history.interrupts} | {call.id for call in calls}
    for interrupt_id in resume:
        if interrupt_id not in known:
            yield (
                f"The input answers the interrupt {interrupt_id[:80]!r}, which is not known to belong to an "
                "open call. Give interrupts the ID of their call: some front ends lose what says more."
            )


def _answered(
    interrupts: Sequence[Interrupt], resume: Mapping[str, ResumeEntry]
) -> tuple[Interrupt | None, ResumeEntry | None]:
    """Return the interrupt of a call that the user answered, else the last one."""
    for interrupt in interrupts:
        if interrupt.id in resume:
            return interrupt, resume[interrupt.id]
    return (interrupts[-1] if interrupts else None), None


def _start_of_latest(items: Sequence[HistoryItem]) -> int:
    """Return the index of the last message of the user that the model answered."""
    answered = False
    for index in range(len(items) - 1, -1, -1):
        answered = answered or isinstance(items[index], Turn)
        if answered and isinstance(items[index], UserMessage):
            return index
    return 0


def _check_expiry(interrupt: Interrupt | None, answer: ResumeEntry | None, now_ms: int | None) -> None:
    if interrupt is None or answer is None or answer.status == "cancelled" or now_ms is None:
        return
    if is_expired(interrupt.expires_at, now_ms / 1000):
        raise RemoteProtocolError(
            f"The interrupt {interrupt.id[:80]!r} was answered after it had expired.",
            code="expired_interrupt",
            hint="It can only be cancelled now; ask again with a new interrupt.",
        )
