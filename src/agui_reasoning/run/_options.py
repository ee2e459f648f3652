"""The options of a run: their types, defaults and checks, and what its front end may choose.

`agui_reasoning.Run` documents them. Functions that pass them on accept them as
``**options: Unpack[RunOptions]`` (PEP 692), and name them with `shows_options`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypedDict, get_args

from ag_ui.core import Tool
from msgspec.structs import replace

from agui_reasoning._envelope import EnvelopeWriter, OnUndecryptable, check_on_undecryptable
from agui_reasoning._limits import DEFAULT_LIMITS, Limits
from agui_reasoning.emitter import (
    EmissionOptions,
    EmitterOptions,
    EmitterSettings,
    Visibility,
    check_visibility,
    settings_of,
)
from agui_reasoning.errors import ConfigurationError, RemoteProtocolError
from agui_reasoning.parts import EFFORTS, Effort, Origin, given_origin

if TYPE_CHECKING:  # imported with the first key ring, policy, API or request
    from agui_reasoning.policy import EchoRule
    from agui_reasoning.providers.api import ProviderAPI
    from agui_reasoning.providers.own_rules import OwnRules
    from agui_reasoning.request import ForeignReasoning, History, RefusedTurns

ClientInstructions: TypeAlias = Literal["keep", "drop"]
"""What happens to the messages of the roles ``system`` and ``developer`` in the client's input."""

Display: TypeAlias = Literal["full", "summary", "none"]
"""How much of the reasoning the front end wants to show, from most to least."""

AllowReasoningRequest: TypeAlias = bool | tuple[Effort, Effort] | None
"""Whether the front end may choose: ``True``, or the lowest and the highest effort that it can have."""

_CLIENT_INSTRUCTIONS: Final[tuple[ClientInstructions, ...]] = get_args(ClientInstructions)
_DISPLAYS: Final[tuple[Display, ...]] = get_args(Display)
_VISIBILITIES: Final[dict[Display, Visibility]] = {"full": "full", "summary": "summary", "none": "hidden"}
_WIDEST: Final[dict[Visibility, Display]] = {seen: shown for shown, seen in _VISIBILITIES.items()}


class ApplicationOptions(EmissionOptions, total=False):
    """Options that an application sets once for all its runs; see `agui_reasoning.Run`."""

    policy: OwnRules
    accept_plain: bool | None
    on_undecryptable: OnUndecryptable
    limits: Limits
    client_instructions: ClientInstructions
    allow_reasoning_request: AllowReasoningRequest
    tags: Mapping[str, str] | None
    starts_in_reasoning: bool


class RunOptions(ApplicationOptions, EmitterOptions, total=False):
    """The keyword arguments of `Run`, for functions that accept them as ``**options: Unpack[RunOptions]``.

    Also those of `run_agent` and `stream_run`, except ``on_error`` and ``stream_id``.
    """

    allow_file_ids: bool | None


class RunSettings(EmitterSettings, frozen=True, kw_only=True):
    """`RunOptions`, with their defaults."""

    accept_plain: bool | None = None
    on_undecryptable: OnUndecryptable = "drop"
    limits: Limits = DEFAULT_LIMITS
    client_instructions: ClientInstructions = "keep"
    allow_reasoning_request: AllowReasoningRequest = None
    allow_file_ids: bool | None = None
    policy: OwnRules = ()
    tags: Mapping[str, str] | None = None
    starts_in_reasoning: bool = False


class RequestOptions(TypedDict, total=False):
    """The keyword arguments of `Run.request`, for functions that pass them on."""

    api: str | ProviderAPI | None
    provider: str | None
    model: str | None
    origin: Origin | None
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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class RequestFields:
    """`RequestOptions` that do not name the receiver, with their defaults."""

    system: str | None = None
    tools: Sequence[Tool | Mapping[str, Any]] | None = None
    store: bool | None = None
    previous_response_id: str | None = None
    conversation: str | None = None
    apply_flags: bool = False
    history: History | None = None
    keep_turns: int | None = None
    foreign_reasoning: ForeignReasoning = "drop"
    refused_turns: RefusedTurns = "drop"
    policy: Sequence[EchoRule] = ()

    def options(self) -> dict[str, Any]:
        """Return the options that make these settings."""
        return {one.name: getattr(self, one.name) for one in fields(RequestFields)}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class RequestSettings(RequestFields):
    """`RequestOptions`, with their defaults."""

    api: str | ProviderAPI | None = None
    provider: str | None = None
    model: str | None = None
    origin: Origin | None = None


def run_settings(options: Mapping[str, Any]) -> RunSettings:
    """Return the settings that the options of a run make: with one origin, and the rows of the policy.

    Called by `agui_reasoning.Run`, and by applications that create runs later, so that they fail at creation
    instead of in every run.

    Raises:
        ConfigurationError: The API is unknown (``unknown_api``), the visibility is unknown
            (``unknown_visibility``), a row of the policy is invalid (``bad_policy``), the keys or their
            options are invalid (``bad_keys``, ``bad_ttl``, ``bad_padding``), or another option is invalid
            (``wrong_option``).
        TypeError: An option is unknown.
    """
    settings = settings_of(RunSettings, options)
    named = target_named(settings)
    if named.api is not None:
        from agui_reasoning.providers import provider_api

        provider_api(named.api)
    if settings.tags is not None or settings.starts_in_reasoning:
        from agui_reasoning.providers import decoder

        api = named.api or "openai-chat"
        decoder(api, tags=settings.tags, starts_in_reasoning=settings.starts_in_reasoning)
    check_visibility(settings.visibility)
    check_on_undecryptable(settings.on_undecryptable)
    if settings.keys is not None:
        from agui_reasoning.crypto import Binding

        EnvelopeWriter(settings.keys, Binding(""), settings.ttl_s, settings.pad_to)
    _check_allowed(settings.allow_reasoning_request)
    if settings.client_instructions not in _CLIENT_INSTRUCTIONS:
        problem = f"Unknown `client_instructions`: {settings.client_instructions!r}."
        raise _wrong(problem, 'Pass "keep" or "drop".')
    if not isinstance(settings.limits, Limits):
        given = type(settings.limits).__name__
        raise _wrong(f"limits is {given}, not Limits.", "Pass agui_reasoning.Limits(…).")
    rows = policy_rows(settings.policy)
    return replace(settings, api=None, provider=None, model=None, origin=named, policy=rows)


def target_named(settings: RunSettings | RequestSettings) -> Origin:
    """Return the origin that settings name with ``origin``, or with ``api``, ``provider`` and ``model``.

    Raises:
        ConfigurationError: There are both, or one is something else (``wrong_option``).
    """
    return given_origin(
        settings.origin, api=api_id(settings.api), provider=settings.provider, model=settings.model
    )


def api_id(api: str | ProviderAPI | None) -> str | None:
    """Return the ID of an API, which may be a format of the application; see `registry.api_id`."""
    if api is None or isinstance(api, str):
        return api
    from agui_reasoning.providers import registry

    return registry.api_id(api)


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


# -- what the front end chooses: ``forwardedProps.reasoning``, within what the server allows


@dataclass(frozen=True, slots=True)
class ReasoningRequest:
    """What the front end chose for a run, within what the server allows.

    Attributes:
        effort: How much the model should think; ``None`` if the front end leaves that to the server.
        display: How much of the reasoning it gets: never more than the server's visibility. ``None`` if the
            front end leaves that to the server.
    """

    effort: Effort | None = None
    display: Display | None = None


def _check_allowed(allow: AllowReasoningRequest) -> None:
    if allow is None or isinstance(allow, bool) or _are_bounds(allow):
        return
    raise _wrong(
        f"allow_reasoning_request is {allow!r}, not a boolean or two levels of effort.",
        f'Pass True, or the lowest and the highest level, as ("low", "high"): {", ".join(EFFORTS)}.',
    )


def _are_bounds(allow: Any) -> bool:
    return (
        isinstance(allow, tuple)
        and len(allow) == 2
        and all(level in EFFORTS for level in allow)
        and EFFORTS.index(allow[0]) <= EFFORTS.index(allow[1])
    )


def read_request(
    forwarded_props: Any, allow: AllowReasoningRequest, visibility: Visibility
) -> ReasoningRequest | None:
    """Return what the front end asks for; ``None`` if it asks for nothing, or may not.

    Args:
        forwarded_props: ``forwardedProps`` of the input.
        allow: What the server allows. An effort beyond its bounds becomes the nearest one.
        visibility: The server's visibility, which bounds the display.

    Raises:
        RemoteProtocolError: The request is not an object, or has an unknown member or value (``bad_input``).

    Examples:
        >>> read_request({"reasoning": {"effort": "max", "display": "full"}}, ("low", "high"), "summary")
        ReasoningRequest(effort='high', display='summary')
    """
    asked = forwarded_props.get("reasoning") if allow and isinstance(forwarded_props, Mapping) else None
    if not allow or asked is None:
        return None
    effort, display = _members(asked)
    if effort is not None and not isinstance(allow, bool):
        lowest, highest = map(EFFORTS.index, allow)
        effort = EFFORTS[min(max(EFFORTS.index(effort), lowest), highest)]
    if display is not None:
        display = max(display, _WIDEST[visibility], key=_DISPLAYS.index)
    return ReasoningRequest(effort, display)


def allowed_values(allow: AllowReasoningRequest, visibility: Visibility) -> dict[str, list[str]] | None:
    """Return the efforts and displays that a front end can choose from; ``None`` if it may not choose.

    Examples:
        >>> allowed_values(("low", "high"), "summary")
        {'effort': ['low', 'medium', 'high'], 'display': ['summary', 'none']}
    """
    if not allow:
        return None
    lowest, highest = (EFFORTS[0], EFFORTS[-1]) if isinstance(allow, bool) else allow
    efforts = EFFORTS[EFFORTS.index(lowest) : EFFORTS.index(highest) + 1]
    return {"effort": list(efforts), "display": list(_DISPLAYS[_DISPLAYS.index(_WIDEST[visibility]) :])}


def shown(visibility: Visibility, request: ReasoningRequest | None) -> Visibility:
    """Return the visibility of a run whose front end made a request."""
    return _VISIBILITIES[request.display] if request and request.display else visibility


def _members(asked: Any) -> tuple[Effort | None, Display | None]:
    """Return the effort and the display of a request."""
    known = [field.name for field in fields(ReasoningRequest)]
    if not isinstance(asked, Mapping):
        raise _bad(f"is {type(asked).__name__}, not an object", f"Send {' and '.join(known)} in it.")
    if unknown := sorted(map(str, set(asked) - set(known))):
        raise _bad(f"has the unknown member {unknown[0][:40]!r}", f"Its members are {' and '.join(known)}.")
    for name, values in (("effort", EFFORTS), ("display", _DISPLAYS)):
        if (value := asked.get(name)) is not None and value not in values:
            said = value[:40] if isinstance(value, str) else value
            what = repr(said) if isinstance(said, str | int | float) else type(said).__name__
            raise _bad(f"has the unknown {name} {what}", f"Send one of: {', '.join(values)}.")
    return asked.get("effort"), asked.get("display")


def _bad(what: str, hint: str) -> RemoteProtocolError:
    return RemoteProtocolError(f"`forwardedProps.reasoning` {what}.", code="bad_input", hint=hint)
