"""Test utilities for AG-UI producers: assertions, models of real front ends, and Hypothesis strategies.

The assertions have no dependencies and raise `AssertionError`, so any test runner reports them. Messages
name events, messages and reasons, but never contain text or values. The strategies in
`agui_reasoning.testing.strategies` require Hypothesis (extra ``testing``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ag_ui.core import Event, RunAgentInput
from msgspec.structs import replace
from pydantic import BaseModel

from agui_reasoning._lazy import lazy_attributes
from agui_reasoning.consumer import check_events
from agui_reasoning.crypto import KeyRing
from agui_reasoning.errors import ConfigurationError, did_you_mean
from agui_reasoning.parts import Origin
from agui_reasoning.policy import EchoRule, matches_any
from agui_reasoning.providers.api import ProviderAPI
from agui_reasoning.providers.echo import explain_no_rule, rules
from agui_reasoning.providers.own_rules import OwnRules, own_rules
from agui_reasoning.providers.registry import api_of, named_origin, vendor_of
from agui_reasoning.testing._front_ends import (
    FRONT_ENDS,
    AssistantUI,
    FrontEnd,
    TanStack,
    assistant_ui,
    copilotkit,
    tanstack,
)
from agui_reasoning.testing._round_trip import Client, Lane

__all__ = [
    "FRONT_ENDS",
    "AssistantUI",
    "FrontEnd",
    "TanStack",
    "assert_round_trip",
    "assert_valid",
    "assistant_ui",
    "copilotkit",
    "tanstack",
]


if not TYPE_CHECKING:  # the strategies require Hypothesis
    __getattr__, __dir__ = lazy_attributes(__name__, {}, ["strategies"])


_UNNAMED: Final = ""
"""The default of names that must be given, but may be ``None``."""

Events: TypeAlias = Iterable[Event | BaseModel | Mapping[str, Any]]


_OF_THE_PROVIDER = frozenset({"reasoning_without_text"})
"""Findings about what was asked of the provider, which the stream shows as it is."""


def assert_valid(events: Events, *, lints: bool = True) -> None:
    """Assert that a stream is valid and that real clients lose nothing of it.

    Signed reasoning to which the provider gave no text is valid; `check_events` reports it.

    Args:
        events: The whole stream, in order, as models or JSON.
        lints: Also reject valid constructs that some clients mishandle.

    Raises:
        AssertionError: The stream has findings; the message lists each with event, code and remedy.
        LocalProtocolError: An item is not an event (``not_an_event``).

    Examples:
        >>> run = {"threadId": "t", "runId": "r"}
        >>> assert_valid(
        ...     [{"type": "RUN_STARTED", "protocolVersion": "1.0", **run}, {"type": "RUN_FINISHED", **run}]
        ... )
    """
    __tracebackhide__ = True
    found = [
        finding
        for finding in check_events(events)
        if (lints and finding.code not in _OF_THE_PROVIDER) or finding.severity == "error"
    ]
    _raise(
        "The stream is not valid:",
        [f"event {f.index + 1}: {f.severity} {f.code}: {f.message} {f.remedy}" for f in found],
    )


def assert_round_trip(
    run_input: RunAgentInput | Mapping[str, Any],
    events: Events,
    *,
    api: str | ProviderAPI | None = None,
    provider: str | None = _UNNAMED,
    model: str | None = _UNNAMED,
    origin: Origin | None = None,
    keys: KeyRing | None = None,
    tenant: str = "",
    policy: OwnRules = (),
) -> None:
    """Assert that reasoning comes back from the client and is included in the next request.

    The events are applied to the input's messages. The resulting history is changed the way real front ends
    change it, restored, and turned into the next request. Every reasoning unit of the stream must come back
    complete, in order and byte for byte, and must be in the request if the echo policy requires it. Values on
    calls and on text count too, and subagents are separate conversations.

    Args:
        run_input: The input of the run.
        events: All events of the run, in order, as models or JSON.
        api: The API of the next request: its ID, or a `ProviderAPI` of your own.
        provider: The provider of the next request, or ``None``.
        model: The model of the next request, or ``None``.
        origin: API, provider, model and account, instead of the three arguments before.
        keys: The key ring that the run encrypted with.
        tenant: The tenant that the run encrypted for.
        policy: Rows of the echo policy that are tried before those of this package; see `Run`.

    Raises:
        AssertionError: A message is lost; the error names it, the front end and the reason. Also raised if
            the stream is invalid, truncated or without testable reasoning, and if the provider seems to be
            misspelled.
        RemoteProtocolError: The run input is malformed (``bad_input``).
        LocalProtocolError: An item is not an event (``not_an_event``).
        ConfigurationError: The stream has encrypted values, but no keys are given (``keys_missing``), a row
            of the policy is invalid (``bad_policy``), there is no API (``no_api``), no provider or no model
            (``no_model``), or there is an origin beside them (``wrong_option``).
    """
    __tracebackhide__ = True
    target = _target(origin, api, provider, model)
    own = own_rules(policy)
    _raise("Nothing would be sent back:", _misspelled(target, own))
    client = Client(run_input, events, keys=keys, tenant=tenant)
    target = replace(target, provider=target.provider or vendor_of(target.api))
    lanes = [Lane(client, name, target, own) for name in client.lanes]
    faults = [fault for lane in lanes for fault in lane.faults()]
    _raise("Not everything comes back:", faults)
    if not any(lane.units for lane in lanes):
        cut = [
            f"message {name!r} is incomplete: it is shown, but never sent back" for name in client.thoughts
        ]
        _raise("Nothing was tested:", cut or ["the stream has no reasoning"])


def _target(
    origin: Origin | None, api: str | ProviderAPI | None, provider: str | None, model: str | None
) -> Origin:
    """Return who receives the next request: whether anything must come back depends on all three names."""
    named = named_origin(origin, api=api, provider=provider, model=model)
    api_of(named)
    if _UNNAMED in (named.provider, named.model):
        raise ConfigurationError(
            "No provider or no model was named: what must come back depends on them.",
            code="no_model",
            hint="Pass provider= and model=, which may be None, or origin=Origin(…).",
        )
    return named


def _misspelled(target: Origin, own: Sequence[EchoRule]) -> list[str]:
    """Report a provider that is not in the echo policy and resembles one that is."""
    known = {name for rule in (*own, *rules()) if rule.api == target.api for name in rule.provider}
    if target.provider is None or matches_any(known, [target.provider.lower()]):
        return []
    return [explain_no_rule(target)] if did_you_mean(target.provider, known) else []


def _raise(headline: str, lines: Sequence[str]) -> None:
    __tracebackhide__ = True
    if lines:
        raise AssertionError("\n".join([headline, *(f"- {line}" for line in lines)]))
