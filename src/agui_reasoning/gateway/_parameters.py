"""The parameters of requests: what users set besides the conversation, and what it says about reasoning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agui_reasoning._strict_json import JSONObject, dump
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.parts import Origin
from agui_reasoning.policy import EchoRule
from agui_reasoning.providers.echo import recommended, rule_for
from agui_reasoning.providers.registry import vendor_of
from agui_reasoning.request._merge import merge

__all__ = ["checked_parameters", "with_reasoning"]


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


def with_reasoning(origin: Origin, parameters: JSONObject, policy: Sequence[EchoRule] = ()) -> bool | None:
    """Return whether responses contain reasoning by parameters and policy; ``None`` if unknown."""
    rule = rule_for(origin, policy)
    settings = merge({}, recommended(origin, rule), parameters)
    if _declined(settings):
        return False
    return True if (_asks(settings) if vendor_of(origin.api) else rule.echoes) else None


_ASKING: Final = (
    ("thinking",),
    ("additionalModelRequestFields", "thinking"),
    ("reasoning", "summary"),
    ("generationConfig", "thinkingConfig", "includeThoughts"),
    ("generation_config", "thinking_summaries"),
)
"""The fields by which the vendors' models are asked to show their thinking."""


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
