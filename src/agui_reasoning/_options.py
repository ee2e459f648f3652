"""The options of a run: their types, and their validation.

`agui_reasoning.Run` documents them with their defaults. Shells accept them as
``**options: Unpack[RunOptions]`` (PEP 692), pass them on, and name them with `shows_options`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, TypeVar, get_args

from ag_ui.core import Tool

from agui_reasoning._envelope import EnvelopeReader, EnvelopeWriter, OnUndecryptable
from agui_reasoning._limits import Limits
from agui_reasoning._reasoning_request import AllowReasoningRequest, check_allowed
from agui_reasoning.audit import OnAudit
from agui_reasoning.emitter._disclosure import Disclosure, Visibility
from agui_reasoning.emitter._summaries import Summarize
from agui_reasoning.emitter._values import Anchors
from agui_reasoning.emitter.stages import Stage
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.parts import Origin, given_origin

if TYPE_CHECKING:  # imported with the first key ring, policy, API or request
    from agui_reasoning.crypto import KeyRing
    from agui_reasoning.policy import EchoRule
    from agui_reasoning.providers.api import ProviderAPI
    from agui_reasoning.providers.own_rules import OwnRules
    from agui_reasoning.request import History
    from agui_reasoning.request._foreign import ForeignReasoning
    from agui_reasoning.request._refused_turns import RefusedTurns

__all__ = [
    "ApplicationOptions",
    "ClientInstructions",
    "EmitterOptions",
    "RequestOptions",
    "RunOptions",
    "api_id",
    "check_options",
    "echo_rule",
    "policy_rows",
    "shows_options",
]

ClientInstructions: TypeAlias = Literal["keep", "drop"]
"""What happens to the messages of the roles ``system`` and ``developer`` in the client's input."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Emission(TypedDict, total=False):
    visibility: Visibility
    keys: KeyRing | None
    ttl_s: int | None
    pad_to: int
    summarize: Summarize | None
    anchors: Anchors
    stages: Sequence[Stage]
    new_id: Callable[[], str] | None
    on_audit: OnAudit | None


class _Target(TypedDict, total=False):
    provider: str | None
    model: str | None
    origin: Origin | None


class _Caller(_Target, total=False):
    tenant: str
    now_ms: Callable[[], int] | None
    on_warning: Callable[[str], None] | None


class ApplicationOptions(_Emission, total=False):
    """Options that an application sets once for all its runs; see `agui_reasoning.Run`."""

    summarise: Summarize | None
    policy: OwnRules
    accept_plain: bool | None
    on_undecryptable: OnUndecryptable
    limits: Limits
    client_instructions: ClientInstructions
    allow_reasoning_request: AllowReasoningRequest
    tags: Mapping[str, str] | None
    starts_in_reasoning: bool


class EmitterOptions(_Emission, _Caller, total=False):
    """Options of an emitter without a run; see `agui_reasoning.Run`."""


class RunOptions(ApplicationOptions, _Caller, total=False):
    """The keyword arguments of `Run`, for functions that accept them as ``**options: Unpack[RunOptions]``.

    Also those of `run_agent` and `stream_run`, except ``on_error`` and ``stream_id``.
    """

    api: str | ProviderAPI | None
    allow_file_ids: bool | None


class RequestOptions(_Target, total=False):
    """The keyword arguments of `Run.request`, for functions that pass them on."""

    api: str | ProviderAPI | None
    system: str | None
    tools: Sequence[Tool | Mapping[str, Any]] | None
    store: bool | None
    previous_response_id: str | None
    conversation: str | None
    apply_flags: bool
    history: History | None
    keep_turns: int | None
    foreign_reasoning: ForeignReasoning
    refused_turns: RefusedTurns
    policy: Sequence[EchoRule]


def check_options(
    *,
    api: str | None = None,
    provider: str | None = None,
    model: str | None = None,
    origin: Origin | None = None,
    visibility: Visibility = "full",
    keys: KeyRing | None = None,
    ttl_s: int | None = None,
    pad_to: int = 0,
    summarize: Summarize | None = None,
    summarise: Summarize | None = None,
    policy: OwnRules = (),
    on_undecryptable: OnUndecryptable = "drop",
    limits: Limits | None = None,
    client_instructions: ClientInstructions = "keep",
    allow_reasoning_request: AllowReasoningRequest = None,
    tags: Mapping[str, str] | None = None,
    starts_in_reasoning: bool = False,
    **others: Any,
) -> None:
    """Raise an error for invalid options.

    Called by `agui_reasoning.Run`, and by applications that create runs later, so that they fail at creation
    instead of in every run.

    Raises:
        ConfigurationError: The API is unknown (``unknown_api``), the visibility is unknown
            (``unknown_visibility``), a row of the policy is invalid (``bad_policy``), the keys or their
            options are invalid (``bad_keys``, ``bad_ttl``, ``bad_padding``), or another option is invalid
            (``wrong_option``).
        TypeError: An option is unknown.
    """
    if unknown := sorted(set(others) - RunOptions.__optional_keys__):
        raise TypeError(f"Unknown option {unknown[0]!r}.")
    named = given_origin(origin, api=api, provider=provider, model=model)
    if named.api is not None:
        from agui_reasoning.providers import provider_api

        provider_api(named.api)
    if tags is not None or starts_in_reasoning:
        from agui_reasoning.providers import decoder

        decoder(named.api or "openai-chat", tags=tags, starts_in_reasoning=starts_in_reasoning)
    policy_rows(policy)
    Disclosure(visibility, keys is not None)
    EnvelopeReader(on_undecryptable=on_undecryptable)
    if keys is not None:
        from agui_reasoning.crypto import Binding

        EnvelopeWriter(keys, Binding(""), ttl_s, pad_to)
    check_allowed(allow_reasoning_request)
    if client_instructions not in get_args(ClientInstructions):
        raise _wrong(f"Unknown `client_instructions`: {client_instructions!r}.", 'Pass "keep" or "drop".')
    if summarize is not None and summarise is not None:
        raise _wrong("Both summarize and summarise were given.", "Pass summarize alone.")
    if limits is not None and not isinstance(limits, Limits):
        raise _wrong(f"limits is {type(limits).__name__}, not Limits.", "Pass agui_reasoning.Limits(…).")


def api_id(api: str | ProviderAPI | None) -> str | None:
    """Return the ID of an API, which may be a format of the application; see `registry.api_id`."""
    if api is None or isinstance(api, str):
        return api
    from agui_reasoning.providers import registry

    return registry.api_id(api)


def shows_options(options: type, like: Callable[..., Any]) -> Callable[[_Function], _Function]:
    """Let `help` and `inspect.signature` name the options that a function accepts as ``**options``.

    Args:
        options: The typed dict of the options.
        like: A function that has each of them as a parameter, with its type and default.
    """

    def decorate(function: _Function) -> _Function:
        own = signature(function)
        named = [one for one in own.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
        names = options.__annotations__.keys() - own.parameters.keys()
        taken = [one for one in signature(like).parameters.values() if one.name in names]
        setattr(function, "__signature__", own.replace(parameters=[*named, *taken]))  # noqa: B010
        return function

    return decorate


def policy_rows(policy: OwnRules) -> tuple[EchoRule, ...]:
    """Return the rows of a caller's policy; see `own_rules`."""
    if policy == ():
        return ()
    from agui_reasoning.providers.own_rules import own_rules

    return own_rules(policy)


def echo_rule(origin: Origin, own: tuple[EchoRule, ...]) -> EchoRule:
    """Return the row for an origin; see `rule_for`."""
    from agui_reasoning.providers.echo import rule_for

    return rule_for(origin, own)


def _wrong(what: str, hint: str) -> ConfigurationError:
    return ConfigurationError(what, code="wrong_option", hint=hint)
