"""Builds a provider's next request from a history, and reports what happened to the reasoning."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Final

from ag_ui.core import AssistantMessage, Message, RunAgentInput, Tool
from msgspec import to_builtins
from msgspec.json import encode

from agui_reasoning._envelope import OnUndecryptable
from agui_reasoning._escaping import one_line
from agui_reasoning._limits import DEFAULT_LIMITS, Limits
from agui_reasoning._strict_json import well_formed
from agui_reasoning.crypto import KeyRing
from agui_reasoning.errors import (
    AGUIReasoningWarning,
    ConfigurationError,
    ReasoningLostError,
    ReasoningLostWarning,
)
from agui_reasoning.parts import NativePart, Opaque, Origin, Prefix, ReasoningPart, RedactedRepr, Turn
from agui_reasoning.policy import NO_RULE, RECEIVED, EchoFlag, EchoRule, EchoStatus, Kinship
from agui_reasoning.providers import provider_api, provider_apis
from agui_reasoning.providers._betas import betas, betas_of
from agui_reasoning.providers.api import CallIds, ProviderAPI
from agui_reasoning.providers.echo import explain_no_rule, inside, recommended, rule_for
from agui_reasoning.providers.encoding import (
    EchoReport,
    EchoUnit,
    EncodingOptions,
    PlainMessage,
    ResponseStep,
    Verdict,
)
from agui_reasoning.providers.own_rules import OwnRules, own_rules
from agui_reasoning.providers.registry import api_of, named_origin
from agui_reasoning.providers.vendors import vendor_traits
from agui_reasoning.request._accounts import OTHER_ACCOUNT
from agui_reasoning.request._conversations import check_conversation, last_stored
from agui_reasoning.request._efforts import efforts_of
from agui_reasoning.request._explain import explain
from agui_reasoning.request._fallback import plain_turn
from agui_reasoning.request._foreign import ForeignReasoning, as_context, check_foreign_reasoning
from agui_reasoning.request._history import History, HistoryItem, ReportEntry
from agui_reasoning.request._merge import joined_flags, merge, write_flags
from agui_reasoning.request._plain import NEEDS_KEYS, STORED_OBJECT
from agui_reasoning.request._prefix import note_other_prefix, prefix_of
from agui_reasoning.request._prepare import prepare
from agui_reasoning.request._prepared import PreparedConversation, prepared_conversation
from agui_reasoning.request._refused_turns import RefusedTurns, check_refused_turns, left_out
from agui_reasoning.request._restore import restore
from agui_reasoning.request._withheld import reasoning_at

__all__ = ["REQUEST_API_IDS", "ProviderRequest", "build_request"]

_UNREAD: Final = "model_binding"
"""The reason of units that are sent, but that the model cannot read."""

REQUEST_API_IDS: tuple[str, ...] = tuple(sorted(api.id for api in provider_apis() if api.encoder))
"""The ID of every API for which requests can be built."""


@dataclass(frozen=True, slots=True, repr=False)
class ProviderRequest(RedactedRepr):
    """The fields of a request, with a report on the reasoning in the history.

    Attributes:
        body: The conversation and the tools in the API's own format. Pass it to the create call of the
            vendor's SDK as ``**body``; it never contains ``model`` or ``stream``.
        flags: Request fields that the policy recommends, each with its reason. The body contains them only if
            the caller passed ``apply_flags=True``.
        report: One entry per reasoning unit, per call or text with a value, per block that is returned
            verbatim, and per incomplete call: ``echoed``, ``placeholder`` or ``dropped``. Units are
            identified by message or call ID if known, else by ``<turn id>:<index in the turn>``.
        lost: The entries of units that the provider requires but that could not be sent.
        target: The API, provider and model of the request.
        policy: The target's status in the echo policy.
        overrides: Fields of the body that must win over your own: a second request has them after a refusal,
            and one with a changed effort.
        reasoning: The reasoning units in the body, in order.
        prefix: What precedes the conversation, if the model binds signed blocks to it.
    """

    body: dict[str, Any]
    flags: tuple[EchoFlag, ...] = ()
    report: tuple[ReportEntry, ...] = ()
    lost: tuple[ReportEntry, ...] = ()
    target: Origin = field(default_factory=Origin)
    policy: EchoStatus = "unknown"
    overrides: tuple[EchoFlag, ...] = ()
    reasoning: tuple[ReasoningPart, ...] = ()
    prefix: Prefix | None = None
    _prepare: Callable[[], PreparedConversation] | None = field(default=None, compare=False, repr=False)

    _private: ClassVar[frozenset[str]] = frozenset({"body", "reasoning"})

    @property
    def conversation(self) -> PreparedConversation:
        """The conversation of the body as parts, to write other messages from; built when it is read."""
        return PreparedConversation(self.target, ()) if self._prepare is None else self._prepare()

    def override(self, flag: EchoFlag) -> ProviderRequest:
        """Return the request with a field that must win over the caller's own."""
        body = dict(self.body)
        write_flags(body, [flag])
        return replace(self, body=body, overrides=(*self.overrides, flag))

    def merged(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body with recommended fields and your own, as arguments of the SDK's create call.

        Objects are joined member by member, and lists are appended; other values of your own win. An object
        of another ``type`` than the recommended one replaces it. ``None`` removes a field. A recommended
        field is left out where your own fields exclude it, such as thinking beside ``temperature``.

        Args:
            fields: Your own fields, such as ``model`` and ``max_tokens``.

        Examples:
            >>> thinking = EchoFlag(name="thinking", value={"type": "adaptive"}, reason="thinks")
            >>> ProviderRequest({}, (thinking,)).merged({"thinking": {"display": "omitted"}})
            {'thinking': {'type': 'adaptive', 'display': 'omitted'}}
        """
        conversation = provider_api(self.target.api).conversation_fields if self.target.api else ()
        return merge(self.body, self.flags, fields, conversation, self.overrides)

    def raise_for_loss(self) -> None:
        """Raise an error if a unit that the provider requires could not be sent.

        Raises:
            ReasoningLostError: There is such a unit (``reasoning_lost``).
        """
        if self.lost:
            raise ReasoningLostError([(entry.unit, entry.reason) for entry in self.lost])

    def reasoning_at(self, path: str) -> ReasoningPart | None:
        """Return the reasoning unit at a place of the body, as a provider's report names it.

        Args:
            path: For example ``messages.1.content.0``, or the ID of an item. It is a place in the body as it
                is here, without messages that you added.

        Returns:
            The unit; ``None`` if there is none.
        """
        return reasoning_at(self.body, path, self.reasoning)

    def explain(self) -> str:
        """Return the report in sentences: a line for each answer, outcome and reason.

        Examples:
            >>> ProviderRequest({}, report=(ReportEntry("call_1", "dropped", "incomplete"),)).explain()
            'an answer: 1 unit left out: it was cut, or its text was changed in transit.'
        """
        return explain(self.report, self.target, self.policy)


def build_request(
    api: str | ProviderAPI | None,
    history_or_messages: History | RunAgentInput | Mapping[str, Any] | Iterable[Message | Mapping[str, Any]],
    *,
    provider: str | None = None,
    model: str | None = "",
    origin: Origin | None = None,
    system: str | None = None,
    tools: Sequence[Tool | Mapping[str, Any]] = (),
    store: bool | None = None,
    previous_response_id: str | None = None,
    conversation: str | None = None,
    keys: KeyRing | None = None,
    thread_id: str | None = None,
    tenant: str = "",
    policy: OwnRules = (),
    foreign_reasoning: ForeignReasoning = "drop",
    refused_turns: RefusedTurns = "drop",
    accept_plain: bool | None = None,
    on_undecryptable: OnUndecryptable = "drop",
    limits: Limits = DEFAULT_LIMITS,
    allow_file_ids: bool | None = None,
    apply_flags: bool = False,
    on_warning: Callable[[str], None] | None = None,
) -> ProviderRequest:
    """Write a conversation as a provider's next request.

    Values of other producers are never sent, nothing is dropped silently, and the API's rules on the order of
    items hold for every history. Incomplete calls are left out with their results; unanswered calls get a
    result that says so.

    Args:
        api: One of `REQUEST_API_IDS`, or a format of your own; ``None`` beside ``origin``.
        history_or_messages: A `History`, or anything that `restore` accepts.
        provider: The provider that receives the request; default is the vendor of a single-vendor API.
            Without a provider for other APIs, no reasoning is sent, with a warning.
        model: The model that receives the request; it is not added to the body. ``None`` if it is unknown.
        origin: API, provider, model and account, instead of these three arguments.
        system: System instructions that precede the history.
        tools: AG-UI tools are converted, other mappings are sent verbatim and override AG-UI tools of the
            same name.
        store: For APIs that store responses: OpenAI Responses and Gemini Interactions. ``False``: the server
            stores nothing, so OpenAI's items need their encrypted content. ``None``: the server's default,
            which is to store. For Anthropic, ``True`` begins a message thread.
        previous_response_id: For these APIs. The server has the turn with this ID and everything before it,
            so only later items are sent. Take the ID from your own records: see `History.turns`.
        conversation: For OpenAI Responses: the ID of a conversation in which the server stores input and
            output. It has the last turn that was made in it and everything before that, so only later items
            are sent.
        policy: Rows of the echo policy that are tried before those of this package: a list of `EchoRule`, or
            the path of a TOML file. Or ``"received"``: a provider of Chat Completions of which nothing is
            known gets the field that it sent back inside a tool loop.
        foreign_reasoning: With ``"context"``, the text of reasoning that only another provider or model can
            read precedes the next message of the user. Its report entry is still ``dropped``.
        refused_turns: With ``"drop"``, a turn that the provider refused is left out: the user's message and
            what followed it, or only the refused response while the user has not written since. Anthropic
            refuses every request that still contains one. With ``"keep"``, what can be sent of it is sent.
        keys: Decrypts values. This and the next six arguments apply to messages; see `restore`.
        thread_id: The thread of the messages.
        tenant: The tenant that owns the conversation.
        accept_plain: Whether to read plain values despite the keys.
        on_undecryptable: How to treat values that are not authentic.
        limits: The limits on the size of the messages.
        allow_file_ids: Whether values that are not encrypted may name objects stored at the provider.
        apply_flags: Add the recommended request fields to the body, under ``extra_body`` if the vendor's SDK
            has no such argument.
        on_warning: Called with each warning; default is Python's ``warnings``.

    Raises:
        ConfigurationError: The API ID is unknown (``unknown_api``) or missing (``no_api``), there is no model
            (``no_model``), an option belongs to another API, is unknown, or names what ``origin`` names
            (``wrong_option``), a row of the policy is invalid (``bad_policy``), no turn has
            ``previous_response_id`` (``unknown_response``), there are keys but no thread
            (``keys_without_thread``), or encrypted values but no keys (``keys_missing``).
        RemoteProtocolError: The messages are malformed (``bad_input``) or exceed the limits (``too_large``).
        DecryptionError: A value is not authentic, and ``on_undecryptable`` is ``"raise"``.

    Examples:
        >>> messages = [{"id": "1", "role": "user", "content": "Hello."}]
        >>> build_request("anthropic-messages", messages, provider="anthropic", model="claude").body
        {'messages': [{'role': 'user', 'content': [{'type': 'text', 'text': 'Hello.'}]}]}
    """
    named = named_origin(origin, api=api, provider=provider, model=model)
    spec = _spec(named, store, previous_response_id)
    check_conversation(spec, conversation, previous_response_id)
    if named.model == "":
        raise ConfigurationError(
            "No model was named: which reasoning it takes back depends on it.",
            code="no_model",
            hint="Pass model=, or model=None if it is unknown.",
        )
    check_foreign_reasoning(foreign_reasoning)
    check_refused_turns(refused_turns)
    reading = {
        "keys": keys,
        "thread_id": thread_id,
        "tenant": tenant,
        "accept_plain": accept_plain,
        "on_undecryptable": on_undecryptable,
        "limits": limits,
        "allow_file_ids": allow_file_ids,
    }
    history = _history(history_or_messages, reading)
    items = history.items
    if previous_response_id is not None:
        _check_response(items, previous_response_id)
    target = replace(named, provider=named.provider or spec.vendor)
    _check_thread(spec, target, store, previous_response_id)
    unsent = left_out(items, refused_turns)
    if foreign_reasoning == "context":
        items = tuple(as_context(items, target, unsent))
    rule, report = rule_for(target, own_rules(policy)), EchoReport()
    scope = rule.scope_with_flags if apply_flags and rule.scope_with_flags else rule.scope
    accepted = inside(target)
    efforts = efforts_of(items, target, accepted.get("effort"), unsent)
    prepared = prepare(
        items,
        target=target,
        rule=rule,
        scope=scope,
        ids=_call_ids(spec, target),
        previous_response_id=previous_response_id or last_stored(items, conversation),
        left_out=unsent,
        report=report,
        efforts=efforts.before if efforts.inside else {},
    )
    known_betas = betas(target)
    options = EncodingOptions(
        rule,
        target.provider,
        target.model,
        system,
        tools,
        store,
        report,
        [name for name, row in accepted.items() if not row.field],
        efforts.pending if efforts.inside else "",
        known_betas if apply_flags else (),
        previous_response_id or "",
    )
    refusals = {entry.unit: entry.reason for entry in history.report if entry.outcome == "dropped"}
    _settle(prepared, report, refusals)
    body = spec.load_encoder()(prepared, options)
    _note_lost_blocks(prepared, report)
    _note_withheld(history, report)
    efforts.note(target, report)
    _note_moved(rule, report)
    if rule.prefix_bound:
        _note_changed_prefix(history, rule, report, refusals, flagged=apply_flags)
    if spec.stores:
        body |= {} if previous_response_id is None else {spec.previous_id: previous_response_id}
        body |= {} if store is None else {"store": store}
    body |= {} if conversation is None else {"conversation": conversation}
    used = [known_betas[use].flag for use in betas_of(body) if use in known_betas]
    flags = joined_flags([*_flags(target, options, body), *used]) + _pin(rule, prepared)
    if apply_flags:
        write_flags(body, flags)
    if target.provider is None and rule is not RECEIVED:
        report.note(f"{explain_no_rule(target)} Pass provider=.")
    elif _knows_nothing(rule) and any(verdict.reason == "policy" for _, verdict in report.verdicts.values()):
        report.note(explain_no_rule(target, rule))
    entries, lost = _entries(report, history.turns, refusals)
    changed = efforts.field_flags()
    write_flags(body, changed)
    sent = tuple(_echoed(prepared, report))
    body = _own(body)
    prefix = prefix_of(body, rule, history.turns, previous_response_id)
    if prefix is not None:
        note_other_prefix(history.turns, prefix, target, report)
    read = partial(prepared_conversation, prepared, spec.load_encoder(), options, target)
    request = ProviderRequest(
        body, flags, entries, lost, target, rule.status, changed, sent, prefix, _prepare=read
    )
    _warn(request, report, on_warning)
    return request


def _echoed(
    conversation: Iterable[ResponseStep | PlainMessage], report: EchoReport
) -> Iterator[ReasoningPart]:
    """Yield the reasoning units that are in the body, also those that the model cannot read."""
    for step in conversation:
        for unit in step.units if isinstance(step, ResponseStep) else ():
            _, verdict = report.verdicts.get(unit.key, ("", Verdict("dropped")))
            if isinstance(unit.part, ReasoningPart) and (
                verdict.outcome == "echoed" or verdict.reason == _UNREAD
            ):
                yield unit.part


def _knows_nothing(rule: EchoRule) -> bool:
    """Return whether the policy knows nothing about the target; a row of the caller's is a decision."""
    return rule is NO_RULE or (rule.status == "unknown" and rule.checked != "")


def _own(body: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of a body that shares nothing with the history, and that can be sent as JSON."""
    try:
        encode(body)
        copied: dict[str, Any] = to_builtins(body, builtin_types=(bytes,))
    except (TypeError, ValueError, RecursionError):  # a lone surrogate, or an object of the caller's
        return well_formed(body)  # type: ignore[no-any-return]
    return copied


def _spec(named: Origin, store: bool | None, previous_response_id: str | None) -> ProviderAPI:
    spec = api_of(named)
    if spec.encoder is None:
        raise ConfigurationError(
            f"Requests cannot be built for {spec.id}, which can only be decoded.",
            code="unknown_api",
            hint=f"Use one of: {', '.join(REQUEST_API_IDS)}.",
        )
    if not (spec.stores or spec.threads) and not (store is None and previous_response_id is None):
        storing = ", ".join(known.id for known in provider_apis() if known.stores or known.threads)
        raise ConfigurationError(
            f"{spec.id} does not support `store` and `previous_response_id`.",
            code="wrong_option",
            hint=f"Omit them; they belong to {storing}.",
        )
    return spec


def _check_thread(spec: ProviderAPI, target: Origin, store: bool | None, response_id: str | None) -> None:
    """Refuse message threads at providers that are not known to have them."""
    if spec.threads and (store or response_id is not None) and "thread" not in betas(target):
        raise ConfigurationError(
            f"The provider {target.provider!r} is not known to hold conversations for {spec.id}.",
            code="wrong_option",
            hint="Omit `store` and `previous_response_id`: the request then contains the whole conversation.",
        )


def _call_ids(spec: ProviderAPI, target: Origin) -> CallIds:
    """Return the call IDs that the target accepts: gateways pass IDs on to upstreams that are stricter."""
    other = vendor_traits(target).call_ids_of
    return (provider_api(other) if other else spec).call_ids


def _history(given: Any, reading: dict[str, Any]) -> History:
    if isinstance(given, History):
        return replace(given, items=tuple(map(_as_turn, given.items)))
    return restore(given if isinstance(given, RunAgentInput | Mapping) else list(given), **reading)


def _as_turn(item: HistoryItem) -> HistoryItem:
    """Return an assistant message, which applications may put into a history, as the turn that it is."""
    if not isinstance(item, AssistantMessage):
        return item
    return plain_turn(item.model_dump(mode="json", by_alias=True, exclude_none=True))


def _check_response(items: Sequence[HistoryItem], response_id: str) -> None:
    if all(not isinstance(item, Turn) or item.id != response_id for item in items):
        raise ConfigurationError(
            f"No turn of the history has the ID {response_id!r}.",
            code="unknown_response",
            hint="Omit `previous_response_id` to send the whole history, or keep the turn in it.",
        )


def _settle(
    conversation: Iterable[ResponseStep | PlainMessage], report: EchoReport, refusals: Mapping[str, str]
) -> None:
    """Enter what was decided before the encoder runs; the encoder's own verdicts replace ``no_place``.

    ``refusals`` says why values were refused when the history was read, by unit.
    """
    for step in conversation:
        if not isinstance(step, ResponseStep):
            continue
        for unit in step.units:
            opaque: tuple[Opaque, ...] = getattr(unit.part, "opaque", ())
            if unit.apart:
                report.drop(unit, "on_server" if step.on_server else _left_out(unit), harmless=True)
                continue
            if not opaque and not isinstance(unit.part, ReasoningPart):
                if unit.name in refusals and not step.on_server:
                    report.drop(unit, refusals[unit.name], harmless=True)
                continue
            reason = "on_server" if step.on_server else unit.refused or "no_place"
            report.drop(unit, reason, harmless=step.on_server)


_BLOCK_REASONS: Final[dict[Kinship, str]] = {"foreign": "native_foreign", "unknown": "unknown_origin"}
"""Why a block is left out, by the relation of its producer to the target."""


_NOT_MISSED: Final = frozenset({"compacted", "declined", "empty", "needs_beta", "orphan"})
"""Why blocks are left out that the provider does without."""


def _left_out(unit: EchoUnit) -> str:
    """Return why an incomplete call, or a block that only its producer reads, is left out."""
    if unit.cut:
        return "incomplete"
    if unit.refused == OTHER_ACCOUNT:
        return OTHER_ACCOUNT
    return _BLOCK_REASONS.get(unit.kinship, "incomplete" if unit.damaged else "no_place")


def _note_lost_blocks(conversation: Iterable[ResponseStep | PlainMessage], report: EchoReport) -> None:
    """Warn about blocks that should be returned verbatim but are not in the request."""
    lost = [
        unit.part.kind
        for step in conversation
        if isinstance(step, ResponseStep) and not step.on_server
        for unit in step.units
        if isinstance(unit.part, NativePart)
        and (unit.damaged or unit.part.payload is not None)
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


def _flags(target: Origin, options: EncodingOptions, body: Mapping[str, Any]) -> tuple[EchoFlag, ...]:
    """Return the recommended fields that apply to this body, one flag for each."""
    fields = {field for message in body.get("messages", ()) for field in message}
    return joined_flags(
        flag
        for flag in recommended(target, options.rule)
        if (flag.when == "always" or options.stateless) and (flag.beside is None or flag.beside in fields)
    )


def _pin(rule: EchoRule, conversation: Sequence[ResponseStep | PlainMessage]) -> tuple[EchoFlag, ...]:
    """Return the flag that keeps a tool loop with the upstream that began it, if that is known."""
    loop = (step for step in conversation if isinstance(step, ResponseStep) and step.within("tool_loop"))
    origins = (unit.part.origin for step in loop for unit in step.units if unit.kinship == "same")
    upstream = next((origin.upstream for origin in origins if origin and origin.upstream), None)
    if upstream is None or not rule.pins:
        return ()
    value = {"order": [upstream], "allow_fallbacks": False}
    reason = "another upstream cannot read the values of this tool loop"
    return (EchoFlag(name="provider", value=value, reason=reason, extra_body=True),)


def _entries(
    report: EchoReport, turns: Sequence[Turn], refusals: Mapping[str, str]
) -> tuple[tuple[ReportEntry, ...], tuple[ReportEntry, ...]]:
    """Return all entries, and those of lost units."""
    entries: dict[tuple[int, int], ReportEntry] = {}
    for key, (name, verdict) in report.verdicts.items():
        turn = turns[key[0]]
        reason = verdict.reason and refusals.get(name, verdict.reason)
        origin = turn.parts[key[1]].origin or turn.origin
        entries[key] = ReportEntry(name, verdict.outcome, reason, key[0] + 1, origin)
    return tuple(entries.values()), tuple(entry for key, entry in entries.items() if key in report.lost)


def _warn(request: ProviderRequest, report: EchoReport, on_warning: Callable[[str], None] | None) -> None:
    sentences: list[tuple[str, type[Warning]]] = [(note, AGUIReasoningWarning) for note in report.notes]
    unread = sum(entry.reason == _UNREAD for entry in request.lost)
    if unread:
        sentence = (
            f"The model goes on without {unread} reasoning unit(s) of this tool loop: it cannot read those "
            "of the model that began it. Switch models when no call is pending."
        )
        sentences.append((sentence, ReasoningLostWarning))
    if len(request.lost) > unread:
        reasons = sorted({entry.reason for entry in request.lost} - {_UNREAD})
        sentence = (
            f"{len(request.lost) - unread} reasoning unit(s) that the provider requires cannot be sent "
            f"({', '.join(reasons)}). It may refuse the request; see `report`."
        )
        sentences.append((sentence, ReasoningLostWarning))
    for sentence, category in sentences:
        if on_warning is not None:
            on_warning(one_line(sentence))
        else:
            warnings.warn(sentence, category, stacklevel=3)
