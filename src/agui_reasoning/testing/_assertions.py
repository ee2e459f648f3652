"""Assertions about the events of any producer: that they are valid, and that nothing in them is lost.

They raise `AssertionError`, so that any test runner reports them; what they say names events, messages and
reasons, never text and never a value.
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
from agui_reasoning.policy import matches_any
from agui_reasoning.providers.echo import rules
from agui_reasoning.testing._held import Client
from agui_reasoning.testing._round_trip import Lane

__all__ = ["assert_round_trip", "assert_valid"]

Events: TypeAlias = Iterable[Event | BaseModel | Mapping[str, Any]]


def assert_valid(events: Events, *, lints: bool = True) -> None:
    """Assert that a stream keeps the protocol, and that real clients lose nothing of it.

    Args:
        events: The whole stream, in order, as models or as their JSON.
        lints: Also refuse what is valid and gets lost in some client; without, only violations count.

    Raises:
        AssertionError: It lists each finding: its event, code, what is wrong and what to do.
        LocalProtocolError: Something in the stream is no event at all (``not_an_event``).

    Examples:
        >>> run = {"threadId": "t", "runId": "r"}
        >>> assert_valid(
        ...     [{"type": "RUN_STARTED", "protocolVersion": "1.0", **run}, {"type": "RUN_FINISHED", **run}]
        ... )
    """
    __tracebackhide__ = True
    found = [finding for finding in check_events(events) if lints or finding.severity == "error"]
    _raise(
        "The stream is not valid:",
        [f"event {f.index + 1}: {f.severity} {f.code}: {f.message} {f.remedy}" for f in found],
    )


def assert_round_trip(
    run_input: RunAgentInput | Mapping[str, Any],
    events: Events,
    *,
    api: str,
    provider: str | None,
    model: str | None,
    keys: KeyRing | None = None,
    tenant: str = "",
) -> None:
    """Assert that everything a model needs back comes back from the client, and goes into the next request.

    The events are reduced on top of the input's messages. What the client holds then goes through what real
    front ends do to a history, is restored, and becomes the next request. Every reasoning unit of the stream
    must come back whole, in order and byte for byte, and must be in the request if the echo policy says so;
    values on calls and on text count too, and subagents are conversations of their own.

    Args:
        run_input: What the run was started with.
        events: What it emitted, from first to last, as models or as their JSON.
        api: The API of the next request.
        provider: Who gets it.
        model: The model that gets it.
        keys: The key ring that the run encrypted with.
        tenant: The tenant that it encrypted for.

    Raises:
        AssertionError: It names each message that is lost, the front end and the reason. Also when the
            stream breaks the protocol, is cut, or holds no reasoning that could be tested, and when no row
            of the echo policy is about the provider and its name is nearly that of another.
        RemoteProtocolError: The run input is malformed (``bad_input``).
        LocalProtocolError: Something in the stream is no event at all (``not_an_event``).
        ConfigurationError: The stream holds encrypted values, and there are no keys (``keys_missing``).
    """
    __tracebackhide__ = True
    _raise("Nothing would be sent back:", _misspelt(Origin(provider, api, model)))
    client = Client(run_input, events, keys=keys, tenant=tenant)
    lanes = [Lane(client, name, api=api, provider=provider, model=model) for name in client.lanes]
    faults = [fault for lane in lanes for fault in lane.faults()]
    _raise("Not everything comes back:", faults)
    if not any(lane.units for lane in lanes):
        cut = [f"message {name!r} was cut: it is shown and never sent back" for name in client.thoughts]
        _raise("Nothing was tested:", cut or ["the stream holds no reasoning"])


def _misspelt(target: Origin) -> list[str]:
    """A provider that no row is about may be one of the user's own, or a slip."""
    known = {name for rule in rules() if rule.api == target.api for name in rule.provider}
    if target.provider is None or matches_any(known, [target.provider.lower()]):
        return []
    meant = did_you_mean(target.provider, sorted(known))
    row = f"The echo policy has no row for the provider {target.provider!r} of {target.api}."
    return [f"{row} {meant.strip()}"] if meant else []


def _raise(headline: str, lines: Sequence[str]) -> None:
    __tracebackhide__ = True
    if lines:
        raise AssertionError("\n".join([headline, *(f"- {line}" for line in lines)]))
