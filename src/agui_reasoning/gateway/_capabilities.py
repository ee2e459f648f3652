"""The capabilities of a gateway, as AG-UI's `AgentCapabilities`."""

from __future__ import annotations

from typing import Final

from ag_ui.core import (
    AgentCapabilities,
    IdentityCapabilities,
    ReasoningCapabilities,
    ToolsCapabilities,
    TransportCapabilities,
)

from agui_reasoning import __version__
from agui_reasoning.emitter._disclosure import Visibility
from agui_reasoning.gateway._upstream import Upstream
from agui_reasoning.providers.own_rules import OwnRules, own_rules

__all__ = ["capabilities"]

_PACKAGE: Final = "agui-reasoning"


def capabilities(
    upstream: Upstream,
    *,
    visibility: Visibility = "full",
    encrypted: bool = False,
    policy: OwnRules = (),
) -> AgentCapabilities:
    """Describe what a client can expect of a gateway. Unknown capabilities are omitted.

    Args:
        upstream: The upstream of the gateway.
        visibility: The visibility of reasoning.
        policy: Rows of the echo policy that are tried before those of this package.
        encrypted: Whether the gateway has keys, so that reasoning that is not shown is sent encrypted.

    Examples:
        >>> from agui_reasoning.gateway import ReplayUpstream
        >>> capabilities(ReplayUpstream()).reasoning
        ReasoningCapabilities(supported=True, streaming=True, encrypted=False)
    """
    return AgentCapabilities(
        identity=IdentityCapabilities(name=upstream.name, type=_PACKAGE, version=__version__),
        transport=TransportCapabilities(streaming=True),
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
