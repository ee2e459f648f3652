"""Assertions that the events of a producer are valid and survive a round trip.

They raise `AssertionError`, so any test runner reports them. Messages name events, messages and reasons, but
never contain text or values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from ag_ui.core import Event, RunAgentInput
from pydantic import BaseModel

from agui_reasoning.consumer import check_events
from agui_reasoning.crypto import KeyRing
from agui_reasoning.errors import did_you_mean
from agui_reasoning.parts import Origin
from agui_reasoning.policy import EchoRule, matches_any
from agui_reasoning.providers.api import ProviderAPI
from agui_reasoning.providers.echo import explain_no_rule, rules
from agui_reasoning.providers.own_rules import OwnRules, own_rules
from agui_reasoning.providers.registry import api_id
from agui_reasoning.testing._held import Client
from agui_reasoning.testing._round_trip import Lane

__all__ = ["assert_round_trip", "assert_valid"]

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
    api: str | ProviderAPI,
    provider: str | None,
    model: str | None,
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
        provider: The provider of the next request.
        model: The model of the next request.
        keys: The key ring that the run encrypted with.
        tenant: The tenant that the run encrypted for.
        policy: Rows of the echo policy that are tried before those of this package; see `Run`.

    Raises:
        AssertionError: A message is lost; the error names it, the front end and the reason. Also raised if
            the stream is invalid, truncated or without testable reasoning, and if the provider seems to be
            misspelled.
        RemoteProtocolError: The run input is malformed (``bad_input``).
        LocalProtocolError: An item is not an event (``not_an_event``).
        ConfigurationError: The stream has encrypted values, but no keys are given (``keys_missing``), or a
            row of the policy is invalid (``bad_policy``).
    """
    __tracebackhide__ = True
    api = api_id(api)
    own = own_rules(policy)
    _raise("Nothing would be sent back:", _misspelled(Origin(provider, api, model), own))
    client = Client(run_input, events, keys=keys, tenant=tenant)
    lanes = [Lane(client, name, api=api, provider=provider, model=model, own=own) for name in client.lanes]
    faults = [fault for lane in lanes for fault in lane.faults()]
    _raise("Not everything comes back:", faults)
    if not any(lane.units for lane in lanes):
        cut = [
            f"message {name!r} is incomplete: it is shown, but never sent back" for name in client.thoughts
        ]
        _raise("Nothing was tested:", cut or ["the stream has no reasoning"])


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
