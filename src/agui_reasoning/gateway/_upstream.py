"""The source of a gateway's answers: its interface, its capabilities, and the parameters of its requests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from ag_ui.core import (
    AgentCapabilities,
    IdentityCapabilities,
    ReasoningCapabilities,
    ToolsCapabilities,
    TransportCapabilities,
)

from agui_reasoning import __version__
from agui_reasoning._strict_json import JSONObject, dump
from agui_reasoning.emitter import Visibility
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.parts import Origin
from agui_reasoning.policy import EchoRule
from agui_reasoning.providers.echo import recommended, rule_for
from agui_reasoning.providers.own_rules import OwnRules, own_rules
from agui_reasoning.providers.registry import vendor_of
from agui_reasoning.request import merge

if TYPE_CHECKING:  # types only
    from agui_reasoning._driver import AgentItem
    from agui_reasoning.run import Run

_ASKING: Final = (
    ("thinking",),
    ("additionalModelRequestFields", "thinking"),
    ("reasoning", "summary"),
    ("generationConfig", "thinkingConfig", "includeThoughts"),
    ("generation_config", "thinking_summaries"),
)
"""The fields by which the vendors' models are asked to show their thinking."""


class Upstream(Protocol):
    """An agent that answers the requests of a gateway, and its properties.

    One upstream answers all requests, several at the same time. Derive your own from this class; only
    ``name`` and ``agent`` are required.

    Attributes:
        name: Its name, for people.
        api: The API ID of its model, required by `Run.request`; ``None`` if each model stream names its API.
        provider: The provider ID.
        model: The model's name.
        account: The account at the provider, as `agui_reasoning.parts.Origin` describes it.
        reasons: Whether responses contain reasoning; ``None`` if unknown.
        live: Whether responses come from a model, which costs money and can call the tools of the front end.
    """

    name: str
    api: str | None = None
    provider: str | None = None
    model: str | None = None
    account: str | None = None
    reasons: bool | None = None
    live: bool = False

    def agent(self, run: Run) -> AsyncIterator[AgentItem]:
        """Answer one run, as `agui_reasoning.aio.run_agent` expects it."""
        ...

    def reasons_by(self, policy: Sequence[EchoRule]) -> bool | None:
        """Return ``reasons`` in an application with these rows of the echo policy in front."""
        return self.reasons

    async def aclose(self) -> None:
        """Release resources; called when the application ends."""
        return


class ModelUpstream(Upstream):
    """An upstream that asks a model, with parameters that the application sets."""

    live = True
    _parameters: JSONObject

    def reasons_by(self, policy: Sequence[EchoRule]) -> bool | None:
        """Return whether responses contain reasoning, by parameters and policy; ``None`` if unknown."""
        return self._reasons(policy) if policy else self.reasons

    def _reasons(self, policy: Sequence[EchoRule]) -> bool | None:
        origin = Origin(self.provider, self.api, self.model)
        rule = rule_for(origin, policy)
        settings = merge({}, recommended(origin, rule), self._parameters)
        if _declined(settings):
            return False
        return True if (_asks(settings) if vendor_of(origin.api) else rule.echoes) else None


def capabilities(
    upstream: Upstream,
    *,
    visibility: Visibility = "full",
    encrypted: bool = False,
    policy: OwnRules = (),
    resumable: bool = False,
) -> AgentCapabilities:
    """Describe what a client can expect of a gateway. Unknown capabilities are omitted.

    Args:
        upstream: The upstream of the gateway.
        visibility: The visibility of reasoning.
        policy: Rows of the echo policy that are tried before those of this package.
        encrypted: Whether the gateway has keys, so that reasoning that is not shown is sent encrypted.
        resumable: Whether clients can join a run again.

    Examples:
        >>> from agui_reasoning.gateway import ReplayUpstream
        >>> capabilities(ReplayUpstream()).reasoning
        ReasoningCapabilities(supported=True, streaming=True, encrypted=False)
    """
    return AgentCapabilities(
        identity=IdentityCapabilities(name=upstream.name, type="agui-reasoning", version=__version__),
        transport=TransportCapabilities(streaming=True, resumable=resumable or None),
        tools=ToolsCapabilities(supported=True, client_provided=True) if upstream.live else None,
        reasoning=_reasoning(upstream.reasons_by(own_rules(policy)), visibility, encrypted),
    )


def _reasoning(reasons: bool | None, visibility: Visibility, encrypted: bool) -> ReasoningCapabilities:
    """Describe whether reasoning is visible, and whether encrypted values are sent *instead of* it."""
    if reasons is False:
        return ReasoningCapabilities(supported=False)
    return ReasoningCapabilities(
        supported=False if visibility == "hidden" else reasons,
        # A summary may be generated when the reasoning is complete.
        streaming=None if visibility == "summary" else visibility == "full",
        encrypted=encrypted and visibility != "full",
    )


def checked_parameters(given: Mapping[str, Any], ours: frozenset[str]) -> JSONObject:
    """Return the parameters as JSON.

    Raises:
        ConfigurationError: One of them belongs to the upstream, or they are not JSON (``bad_parameter``).
    """
    refused = sorted(ours & set(given))
    if refused:
        raise ConfigurationError(
            f"The parameter {refused[0]!r} cannot be set.",
            code="bad_parameter",
            hint="Set model and instructions with their own options; the conversation comes from each run.",
        )
    try:
        dump(given)
        good = isinstance(given.get("tools") or [], list)
    except (TypeError, ValueError):
        good = False
    if not good:
        raise ConfigurationError(
            "The parameters are not JSON, or their tools are not a list.",
            code="bad_parameter",
            hint="Use strings, finite numbers, booleans, None, lists and dicts.",
        )
    return dict(given)


def _asks(settings: Mapping[str, Any]) -> bool:
    """Return whether a request asks for visible thinking, which is off by default."""
    return any(_field(settings, path) not in (None, False, "", "none") for path in _ASKING)


def _field(settings: Any, path: Sequence[str]) -> Any:
    for name in path:
        settings = settings.get(name) if isinstance(settings, Mapping) else None
    return settings


def _declined(settings: Mapping[str, Any]) -> bool:
    """Return whether a request turns off thinking, in any of its forms."""
    thinking, reasoning = settings.get("thinking"), settings.get("reasoning")
    return (
        (isinstance(thinking, Mapping) and thinking.get("type") == "disabled")
        or (isinstance(reasoning, Mapping) and reasoning.get("effort") == "none")
        or settings.get("reasoning_effort") == "none"
    )
