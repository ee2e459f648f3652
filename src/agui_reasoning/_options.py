"""The options of a run: their types, and their validation.

`agui_reasoning.Run` documents them with their defaults. Shells accept them as
``**options: Unpack[RunOptions]`` (PEP 692), pass them on, and name them with `shows_options`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, Literal, Required, TypeAlias, TypedDict, TypeVar, get_args

from agui_reasoning._envelope import EnvelopeReader, EnvelopeWriter, OnUndecryptable
from agui_reasoning._limits import Limits
from agui_reasoning.audit import OnAudit
from agui_reasoning.emitter._disclosure import Disclosure, Visibility
from agui_reasoning.emitter._summaries import Summarize
from agui_reasoning.emitter._values import Anchors
from agui_reasoning.emitter.stages import Stage
from agui_reasoning.errors import ConfigurationError

if TYPE_CHECKING:  # imported with the first key ring, policy or API
    from agui_reasoning.crypto import KeyRing
    from agui_reasoning.parts import Origin
    from agui_reasoning.policy import EchoRule
    from agui_reasoning.providers.api import ProviderAPI
    from agui_reasoning.providers.own_rules import OwnRules

__all__ = [
    "ApplicationOptions",
    "ClientInstructions",
    "EmitterOptions",
    "RunOptions",
    "StreamRunOptions",
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


class _Caller(TypedDict, total=False):
    provider: str | None
    model: str | None
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
    tags: Mapping[str, str] | None
    starts_in_reasoning: bool


class _PerRun(ApplicationOptions, _Caller, total=False):
    allow_file_ids: bool | None


class EmitterOptions(_Emission, _Caller, total=False):
    """Options of an emitter without a run; see `agui_reasoning.Run`."""


class RunOptions(_PerRun, total=False):
    """Options of one run; see `agui_reasoning.Run`."""

    api: str | ProviderAPI | None


class StreamRunOptions(_PerRun, total=False):
    """Options of a run of a single model stream, which requires an API."""

    api: Required[str | ProviderAPI]


def check_options(
    *,
    api: str | None = None,
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
    if api is not None:
        from agui_reasoning.providers import provider_api

        provider_api(api)
    if tags is not None or starts_in_reasoning:
        from agui_reasoning.providers import decoder

        decoder(api or "openai-chat", tags=tags, starts_in_reasoning=starts_in_reasoning)
    policy_rows(policy)
    Disclosure(visibility, keys is not None)
    EnvelopeReader(on_undecryptable=on_undecryptable)
    if keys is not None:
        from agui_reasoning.crypto import Binding

        EnvelopeWriter(keys, Binding(""), ttl_s, pad_to)
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
        taken = [one for one in _parameters(options, like) if one.name not in own.parameters]
        setattr(function, "__signature__", own.replace(parameters=[*named, *taken]))  # noqa: B010
        return function

    return decorate


def _parameters(options: type, like: Callable[..., Any]) -> Iterator[Parameter]:
    # As text: the annotations are not evaluated, so TypedDict takes every option for an optional one.
    types = {name: getattr(one, "__forward_arg__", "") for name, one in options.__annotations__.items()}
    for one in signature(like).parameters.values():
        if types.get(one.name, "").startswith("Required["):
            yield one.replace(default=Parameter.empty)
        elif one.name in types:
            yield one


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
