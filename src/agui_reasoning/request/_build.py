"""Builds a provider's next request from a history, and reports what happened to the reasoning."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import signature
from typing import Any, ClassVar, Final, ParamSpec, TypeVar, cast, get_args

from ag_ui.core import AssistantMessage, Message, RunAgentInput, Tool
from msgspec import structs, to_builtins
from msgspec.json import encode

from agui_reasoning._envelope import OnUndecryptable
from agui_reasoning._limits import DEFAULT_LIMITS, Limits, check_choice
from agui_reasoning._strict_json import well_formed
from agui_reasoning.crypto import KeyRing
from agui_reasoning.errors import ConfigurationError, ReasoningLostError, RemoteProtocolError
from agui_reasoning.parts import Origin, Prefix, ReasoningPart, RedactedRepr, Turn
from agui_reasoning.policy import EchoFlag, EchoRule, EchoStatus
from agui_reasoning.providers import provider_api, provider_apis
from agui_reasoning.providers.api import CallIds, ProviderAPI
from agui_reasoning.providers.echo import betas, betas_of, inside, recommended, rule_for
from agui_reasoning.providers.encoding import EchoReport, EncodingOptions, PlainMessage, ResponseStep
from agui_reasoning.providers.own_rules import OwnRules, own_rules
from agui_reasoning.providers.registry import api_of, named_origin
from agui_reasoning.providers.stored_objects import objects_of, stored_objects
from agui_reasoning.providers.vendors import vendor_traits
from agui_reasoning.request import _report as reports
from agui_reasoning.request._conversation import PreparedConversation, prepared_conversation
from agui_reasoning.request._fallback import plain_turn
from agui_reasoning.request._fields import joined_flags, merge, value_at, write_flags
from agui_reasoning.request._history import (
    ForeignReasoning,
    History,
    HistoryItem,
    RefusedTurns,
    ReportEntry,
    as_context,
    efforts_of,
    left_out,
    withheld_from,
)
from agui_reasoning.request._messages import checked_messages
from agui_reasoning.request._prepare import prepared
from agui_reasoning.request._restore import restore

_CONVERSATION: Final = "conversation"
"""The field that names a conversation of OpenAI's, in which the server stores input and output."""

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

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
    _conversation: Callable[[], PreparedConversation] | None = field(default=None, compare=False, repr=False)

    _private: ClassVar[frozenset[str]] = frozenset({"body", "reasoning"})

    @property
    def conversation(self) -> PreparedConversation:
        """The conversation of the body as parts, to write other messages from; built when it is read."""
        return PreparedConversation(self.target, ()) if self._conversation is None else self._conversation()

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
        found = set(_strings(value_at(self.body, path)))
        for unit in self.reasoning:
            if unit.item_id == path or any(opaque.value in found for opaque in unit.opaque):
                return unit
        return None

    def explain(self) -> str:
        """Return the report in sentences: a line for each answer, outcome and reason.

        Examples:
            >>> ProviderRequest({}, report=(ReportEntry("call_1", "dropped", "incomplete"),)).explain()
            'an answer: 1 unit left out: it was cut, or its text was changed in transit.'
        """
        return reports.explain(self.report, self.target, self.policy)


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
    spec, target = _receiver(named, store, previous_response_id, conversation)
    check_choice("foreign_reasoning", foreign_reasoning, get_args(ForeignReasoning))
    check_choice("refused_turns", refused_turns, get_args(RefusedTurns))
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
    items, turns = history.items, history.turns
    if previous_response_id is not None:
        _check_response(items, previous_response_id)
    unsent = left_out(items, refused_turns)
    if foreign_reasoning == "context":
        items = tuple(as_context(items, target, unsent))
    rule, report = rule_for(target, own_rules(policy)), EchoReport()
    accepted, known_betas = inside(target), betas(target)
    efforts = efforts_of(items, target, accepted.get("effort"), unsent)
    steps = prepared(
        items,
        target=target,
        rule=rule,
        scope=rule.scope_with_flags if apply_flags and rule.scope_with_flags else rule.scope,
        ids=_call_ids(spec, target),
        previous_response_id=previous_response_id or _last_stored(items, conversation),
        left_out=unsent,
        report=report,
        efforts=efforts.before if efforts.inside else {},
        withheld=withheld_from(turns, target, rule),
    )
    options = EncodingOptions(
        *(rule, target.provider, target.model, system, tools, store, report),
        inside=[name for name, row in accepted.items() if not row.field],
        effort=efforts.pending if efforts.inside else "",
        betas=known_betas if apply_flags else (),
        previous_response_id=previous_response_id or "",
    )
    refusals = {entry.unit: entry.reason for entry in history.report if entry.outcome == "dropped"}
    blocks = reports.settle(steps, report, refusals)
    body = _encoded(spec, steps, options) | _stored_fields(spec, store, previous_response_id, conversation)
    uses = betas_of(body) if known_betas and (blocks or "thread" in body) else ()
    used = [known_betas[use].flag for use in uses if use in known_betas]
    flags = joined_flags([*_flags(target, options, body), *used]) + _pin(rule, steps)
    if apply_flags:
        write_flags(body, flags)
    changed = efforts.field_flags()
    write_flags(body, changed)
    body = _own(body)
    prefix = reports.prefix_of(body, rule, turns, previous_response_id)
    reports.note_losses(history, rule, report, refusals, blocks, flagged=apply_flags)
    efforts.note(target, report)
    reports.note_unknown(target, rule, report)
    reports.note_other_prefix(turns, prefix, target, report)
    entries, lost, sent = reports.outcomes(report, turns, refusals)
    reports.warn(report, lost, on_warning)
    conversation_of = partial(prepared_conversation, steps, spec.load_encoder(), options, target)
    return ProviderRequest(
        body, flags, entries, lost, target, rule.status, changed, sent, prefix, _conversation=conversation_of
    )


def _with_parameters_of(
    other: Callable[_Parameters, Any],
) -> Callable[[Callable[..., _Result]], Callable[_Parameters, _Result]]:
    """Let type checkers, `help` and `inspect.signature` show the parameters of another function."""

    def decorate(function: Callable[..., _Result]) -> Callable[_Parameters, _Result]:
        result = signature(function).return_annotation
        shown = signature(other).replace(return_annotation=result)
        setattr(function, "__signature__", shown)  # noqa: B010
        return cast("Callable[_Parameters, _Result]", function)

    return decorate


@_with_parameters_of(build_request)
def prepare(*given: Any, **options: Any) -> PreparedConversation:
    """Prepare a conversation for a target, to write it as the messages of an agent framework.

    The arguments, errors and warnings are those of `build_request`: the result has what the body of that
    request contains, in the same order. `ProviderRequest.conversation` is the same for a request that you
    already have.

    Examples:
        >>> messages = [{"id": "1", "role": "user", "content": "Hello."}]
        >>> conversation = prepare("anthropic-messages", messages, provider="anthropic", model="claude")
        >>> [item.content for item in conversation.items]
        ['Hello.']
    """
    return build_request(*given, **options).conversation


def _encoded(
    spec: ProviderAPI, prepared: Sequence[ResponseStep | PlainMessage], options: EncodingOptions
) -> dict[str, Any]:
    body: object = spec.load_encoder()(prepared, options)
    if not isinstance(body, dict):
        raise ConfigurationError(
            f"The encoder of {spec.id!r} returned {type(body).__name__}, not a request.",
            code="bad_api",
            hint="Return a dict with the fields of the request.",
        )
    return body


def _own(body: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of a body that shares nothing with the history, and that can be sent as JSON."""
    try:
        encode(body)
        copied: dict[str, Any] = to_builtins(body, builtin_types=(bytes,))
    except (TypeError, ValueError, RecursionError):  # a lone surrogate, or an object of the caller's
        return well_formed(body)  # type: ignore[no-any-return]
    return copied


def _receiver(
    named: Origin, store: bool | None, previous_response_id: str | None, conversation: str | None
) -> tuple[ProviderAPI, Origin]:
    """Return the API and the target of a request, if it takes what the server is to store or has stored."""
    spec = api_of(named)
    if spec.encoder is None:
        raise ConfigurationError(
            f"Requests cannot be built for {spec.id}, which can only be decoded.",
            code="unknown_api",
            hint=f"Use one of: {', '.join(REQUEST_API_IDS)}.",
        )
    if not (spec.stores or spec.threads) and not (store is None and previous_response_id is None):
        storing = ", ".join(known.id for known in provider_apis() if known.stores or known.threads)
        raise _wrong(
            f"{spec.id} does not support `store` and `previous_response_id`.",
            f"Remove them: only {storing} support them.",
        )
    if conversation is not None and _CONVERSATION not in spec.conversation_fields:
        problem = f"{spec.id} does not support `conversation`."
        raise _wrong(problem, "Omit it; it belongs to openai-responses.")
    if conversation is not None and previous_response_id is not None:
        problem = "The API refuses `conversation` together with `previous_response_id`."
        raise _wrong(problem, "Pass one of them.")
    if named.model == "":
        raise ConfigurationError(
            "No model was named: which reasoning it takes back depends on it.",
            code="no_model",
            hint="Pass model=, or model=None if it is unknown.",
        )
    target = structs.replace(named, provider=named.provider or spec.vendor)
    if spec.threads and (store or previous_response_id is not None) and "thread" not in betas(target):
        raise _wrong(
            f"The provider {target.provider!r} is not known to hold conversations for {spec.id}.",
            "Omit `store` and `previous_response_id`: the request then contains the whole conversation.",
        )
    return spec, target


def _wrong(problem: str, hint: str) -> ConfigurationError:
    return ConfigurationError(problem, code="wrong_option", hint=hint)


def _stored_fields(
    spec: ProviderAPI, store: bool | None, previous_response_id: str | None, conversation: str | None
) -> dict[str, Any]:
    """Return the fields of a body that say what the server stores, and what it has stored."""
    fields: dict[str, Any] = {_CONVERSATION: conversation}
    if spec.stores:
        fields = {spec.previous_id: previous_response_id, "store": store, **fields}
    return {name: value for name, value in fields.items() if value is not None}


def _call_ids(spec: ProviderAPI, target: Origin) -> CallIds:
    """Return the call IDs that the target accepts: gateways pass IDs on to upstreams that are stricter."""
    other = vendor_traits(target).call_ids_of
    return (provider_api(other) if other else spec).call_ids


def _history(given: Any, reading: dict[str, Any]) -> History:
    if isinstance(given, History):
        if not any(issubclass(kind, AssistantMessage) for kind in {*map(type, given.items)}):
            return given
        # Applications may put assistant messages into a history.
        items = (
            plain_turn(checked_messages([item]).read[0]) if isinstance(item, AssistantMessage) else item
            for item in given.items
        )
        return replace(given, items=tuple(items))
    return restore(given if isinstance(given, RunAgentInput | Mapping) else list(given), **reading)


def _check_response(items: Sequence[HistoryItem], response_id: str) -> None:
    if all(not isinstance(item, Turn) or item.id != response_id for item in items):
        raise ConfigurationError(
            f"No turn of the history has the ID {response_id!r}.",
            code="unknown_response",
            hint="Omit `previous_response_id` to send the whole history, or keep the turn in it.",
        )


def _last_stored(items: Iterable[object], conversation: str | None) -> str | None:
    """Return the ID of the last response that was made in a conversation; ``None`` if there is none."""
    if conversation is None:
        return None
    stored = [item.id for item in items if isinstance(item, Turn) and item.conversation == conversation]
    return stored[-1] if stored else None


def _flags(target: Origin, options: EncodingOptions, body: Mapping[str, Any]) -> tuple[EchoFlag, ...]:
    """Return the recommended fields that apply to this body, one flag for each."""
    messages = body.get("messages", ())
    return joined_flags(
        flag
        for flag in recommended(target, options.rule)
        if (flag.when == "always" or options.stateless)
        and (flag.beside is None or any(flag.beside in message for message in messages))
    )


def _pin(rule: EchoRule, conversation: Sequence[ResponseStep | PlainMessage]) -> tuple[EchoFlag, ...]:
    """Return the flag that keeps a tool loop with the upstream that began it, if that is known."""
    if not rule.pins:
        return ()
    loop = (step for step in conversation if isinstance(step, ResponseStep) and step.within("tool_loop"))
    origins = (unit.part.origin for step in loop for unit in step.units if unit.kinship == "same")
    upstream = next((origin.upstream for origin in origins if origin and origin.upstream), None)
    if upstream is None:
        return ()
    value = {"order": [upstream], "allow_fallbacks": False}
    reason = "another upstream cannot read the values of this tool loop"
    return (EchoFlag(name="provider", value=value, reason=reason, extra_body=True),)


# -- what a request names


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield b64encode(value).decode("ascii")
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)


def check_named_objects(request: ProviderRequest, history: History, produced: Iterable[HistoryItem]) -> None:
    """Reject a request that names a stored object, unless an encrypted value or this run named it.

    ``history`` is what it was built from; ``produced`` has the responses of this run.

    Raises:
        RemoteProtocolError: It does (``file_not_allowed``).
    """
    api = provider_api(str(request.target.api))
    sent = {name: request.body[name] for name in api.conversation_fields & request.body.keys()}
    named = set(stored_objects(sent, api.json_fields))
    if named and named - history.vouched - objects_of(item for item in produced if isinstance(item, Turn)):
        raise RemoteProtocolError(
            "The request would name an object stored at the provider, such as a file.",
            code="file_not_allowed",
            hint="Send its data or URL, or allow it with `allow_file_ids=True`.",
        )
