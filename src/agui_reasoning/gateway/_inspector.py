"""What the inspector of the page asks the gateway: findings, and the request that a history becomes.

A request contains decrypted reasoning. The application therefore offers this only for replayed responses, and
only to this machine.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Final

from starlette.requests import Request

from agui_reasoning._scripted._artifacts import artifacts, checked
from agui_reasoning._scripted._transcript import read_request
from agui_reasoning._strict_json import JSONObject
from agui_reasoning.consumer import Finding, check_events
from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.gateway._guard import bare_host, is_loopback, netloc
from agui_reasoning.gateway._replay import ReplayUpstream
from agui_reasoning.providers import provider_api
from agui_reasoning.providers.transcript import CALL_ID
from agui_reasoning.request import ProviderRequest, ReportEntry
from agui_reasoning.request._explain import explain
from agui_reasoning.run import Run
from agui_reasoning.wire import read_events

__all__ = ["findings_report", "is_local", "request_report", "require_local"]

_SHOWN: Final = 500
"""The number of findings that a page can show at once."""

_PAGES: Final = "reference/findings"
_FORWARDED: Final = frozenset(
    {"cf-connecting-ip", "forwarded", "true-client-ip", "via", "x-client-ip", "x-real-ip"}
)
_X_FORWARDED: Final = "x-forwarded-"


def is_local(request: Request) -> bool:
    """Return whether a request was sent to this machine by this machine, and not through a proxy.

    Pages of other origins are not local, also if they may use the gateway: they show only what users may see.
    """
    headers, host = request.headers, request.headers.get("host", "").lower()
    peers = (request.scope.get(name) or ("",) for name in ("client", "server"))
    names = (*(peer[0] for peer in peers), bare_host(host))
    own_page = "origin" not in headers or netloc(headers["origin"].lower()) == host
    forwarded = any(name in _FORWARDED or name.startswith(_X_FORWARDED) for name in headers)
    return own_page and not forwarded and all(map(is_loopback, names))


def require_local(request: Request) -> None:
    """Reject requests from other machines.

    Raises:
        RemoteProtocolError: The request is not local (``not_local``).
    """
    if not is_local(request):
        raise RemoteProtocolError(
            "The inspector answers only this machine.",
            code="not_local",
            hint="Open the page at a loopback address of the gateway, such as http://127.0.0.1.",
        )


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
        "findings": [_finding(finding) for finding in findings[:_SHOWN]],
        "omitted": max(0, len(findings) - _SHOWN),
    }


def request_report(run: Run, upstream: ReplayUpstream) -> JSONObject:
    """Build the provider's request for a run, and describe the provider's artifacts in it.

    Raises:
        ConfigurationError: The request cannot be built.
    """
    built = run.request(apply_flags=True)
    body = json.loads(json.dumps(built.body, default=_base64))
    return {
        "api": upstream.api,
        "provider": upstream.provider,
        "model": upstream.model,
        "body": body,
        "artifacts": list(_artifacts(body, upstream)),
        "outcomes": list(_outcomes(built)),
        "flags": [flag.model_dump(mode="json") for flag in built.flags],
    }


def _finding(finding: Finding) -> JSONObject:
    return {**asdict(finding), "page": f"{_PAGES}/{finding.code}"}


def _artifacts(body: JSONObject, upstream: ReplayUpstream) -> Iterator[JSONObject]:
    """Describe the artifacts in a request; ``unchanged`` if the upstream sent them in this form.

    Call IDs are compared too, but another one is no fault: each API accepts IDs of its own form only.
    """
    if upstream.api is None or provider_api(upstream.api).transcript is None:
        return
    for entry in artifacts(read_request(upstream.api, body)):
        unchanged = upstream.has_sent(entry.kind, entry.value)
        described = asdict(checked(entry, entry.path, unchanged=unchanged))
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
            "answer": entries[0].answer,
            "sentence": explain(entries, built.target, built.policy),
        }


def _base64(value: bytes) -> str:
    return b64encode(value).decode()
