"""What the operator of a gateway can see: findings, the request that a history becomes, and lost reasoning.

A request contains decrypted reasoning. The application therefore offers it only for replayed responses, and
only to this machine. Reasoning that did not come back from a client as it was sent is also logged, once per
thread.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from ag_ui.core import Message

from agui_reasoning._driver import AgentItem
from agui_reasoning._strict_json import JSONObject
from agui_reasoning._wire_events import hint_of
from agui_reasoning.consumer import check_events
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.parts import Origin
from agui_reasoning.replay import CALL_ID, TRANSCRIPTS, checked_value, read_request, required_values
from agui_reasoning.request import ProviderRequest, ReportEntry, explain, why
from agui_reasoning.run import Run
from agui_reasoning.wire import read_events

if TYPE_CHECKING:
    from agui_reasoning.gateway._replay import ReplayUpstream

_MAX_FINDINGS: Final = 500
"""The number of findings that a page can show at once."""

_THREADS: Final = 4096
"""The number of threads to remember; the log repeats itself for older ones."""

_MAX_THREADS: Final = 50
"""The number of threads that a page shows."""

_NOT_RETURNED: Final = "not_returned"
_SENTENCES: Final = {
    _NOT_RETURNED: "the front end returned answers and no reasoning; does it filter messages or events?"
}
"""What only the gateway sees: a history without reasoning is a good one."""

_INTENDED: Final = frozenset(
    {"compacted", "declined", "empty", "needs_beta", "on_server", "orphan", "out_of_scope", "policy"}
)
"""Why reasoning is left out although nothing is wrong: the provider does without it."""


def findings_report(body: bytes) -> JSONObject:
    """Check a stream.

    Args:
        body: The events: a JSON array, JSON lines or Server-Sent Events.

    Raises:
        RemoteProtocolError: The body cannot be read (``bad_json``, ``bad_frame`` or ``bad_utf8``).
    """
    events = read_events(body)
    findings = check_events(events)
    counts = Counter(finding.severity for finding in findings)
    return {
        "events": len(events),
        "errors": counts["error"],
        "warnings": counts["warning"],
        "findings": [
            {**asdict(finding), "page": f"reference/findings/{finding.code}"}
            for finding in findings[:_MAX_FINDINGS]
        ],
        "omitted": max(0, len(findings) - _MAX_FINDINGS),
    }


def request_report(run: Run, upstream: ReplayUpstream) -> JSONObject:
    """Build the provider's request for a run, and describe the provider's values in it."""
    built = run.request(apply_flags=True)
    body = json.loads(json.dumps(built.body, default=lambda value: b64encode(value).decode()))
    return {
        "api": upstream.api,
        "provider": upstream.provider,
        "model": upstream.model,
        "body": body,
        "values": list(_values(body, upstream)),
        "outcomes": list(_outcomes(built)),
        "http": _over_http(built, upstream),
        "flags": [flag.model_dump(mode="json") for flag in built.flags],
    }


def _values(body: JSONObject, upstream: ReplayUpstream) -> Iterator[JSONObject]:
    """Describe the provider's values in a request; ``unchanged`` if the upstream sent them in this form.

    Call IDs are compared too, but another one is no fault: each API accepts IDs of its own form only.
    """
    if upstream.api not in TRANSCRIPTS:
        return
    for entry in required_values(read_request(upstream.api, body)):
        unchanged = upstream.has_sent(entry.kind, entry.value)
        described = asdict(checked_value(entry, entry.path, unchanged=unchanged))
        yield described | ({"unchanged": None} if entry.kind == CALL_ID and not unchanged else {})


def _outcomes(built: ProviderRequest) -> Iterator[JSONObject]:
    """Yield the outcomes of reasoning units, those of one answer and reason together."""
    groups: dict[Any, list[ReportEntry]] = {}
    for entry in built.report:
        groups.setdefault((entry.answer, entry.origin, entry.outcome, entry.reason), []).append(entry)
    for entries in groups.values():
        yield {
            "units": [entry.unit for entry in entries],
            "outcome": entries[0].outcome,
            "reason": entries[0].reason,
            "intended": entries[0].reason in _INTENDED and built.policy != "unknown",
            "answer": entries[0].answer,
            "sentence": explain(entries, built.target, built.policy),
        }


def _over_http(built: ProviderRequest, upstream: ReplayUpstream) -> JSONObject | None:
    """Describe the call of the provider; ``None`` if the API has no HTTP form, or no client is installed."""
    from agui_reasoning.gateway._http import described_call

    if upstream.api is None:
        return None
    try:
        return described_call(built, api=upstream.api, provider=upstream.provider, model=upstream.model)
    except ConfigurationError:
        return None


class Losses:
    """Looks at the history of each run, and warns about the first loss of each thread."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._known: dict[tuple[str, str], Counter[str]] = {}
        """What the newest run of a thread lost, by reason; the newest loss is last."""

    def watched(self, agent: Callable[[Run], AsyncIterator[AgentItem]], run: Run) -> AsyncIterator[AgentItem]:
        """Call an agent, after a look at the history, which the driver has restored before."""
        with suppress(Exception):  # raised again when the agent reads the history
            self._look(run)
        return agent(run)

    def report(self, tenant: str) -> JSONObject:
        """Return what the threads of a tenant lost, the newest loss first."""
        known = reversed(list(self._known.items()))  # a copy, because runs go on in another thread
        lost = [(thread, lost) for (owner, thread), lost in known if owner == tenant and lost]
        return {
            "threads": [{"thread": name, "losses": _described(lost)} for name, lost in lost[:_MAX_THREADS]]
        }

    def _look(self, run: Run) -> None:
        lost = Counter(entry.reason for entry in run.history.report if entry.outcome == "dropped")
        if missing := _answers_without_reasoning(run.input.messages):
            lost[_NOT_RETURNED] = missing
        thread = run.tenant, run.input.thread_id
        is_known = self._known.pop(thread, None) is not None
        if not (lost or is_known):
            return
        self._known[thread] = lost
        if not is_known:
            reasons = ", ".join(f"{count} {reason}" for reason, count in lost.items())
            self._warn(
                f"In thread {run.input.thread_id[:80]!r}, reasoning did not come back from the client as it "
                f"was sent ({reasons}). This is said once per thread; the page Troubleshoot explains the "
                "reasons."
            )
        if len(self._known) > _THREADS:
            del self._known[next(iter(self._known))]


def _answers_without_reasoning(messages: Iterable[Message]) -> int:
    """Count the answers of this library whose reasoning is missing, if no reasoning at all came back.

    A client that filters reasoning out returns the rest of an answer. Metadata numbers the messages and calls
    of a response, and reasoning comes first. Clients that change some of it are none of these: they return
    messages of reasoning, or values.
    """
    first: dict[str, float] = {}
    for message in messages:
        if message.role != "assistant":
            if message.role == "reasoning":
                return 0
            continue
        for entity in (message, *(message.tool_calls or ())):
            if entity.encrypted_value is not None:
                return 0
            told = hint_of({"metadata": entity.metadata})
            response, place = told.get("response"), told.get("seq")
            if isinstance(response, str) and isinstance(place, int):
                first[response] = min(place, first.get(response, place))
    return sum(place > 0 for place in first.values())


def _described(lost: Counter[str]) -> list[JSONObject]:
    return [
        {"reason": reason, "count": count, "sentence": _SENTENCES.get(reason) or why(reason, None, Origin())}
        for reason, count in lost.items()
    ]
