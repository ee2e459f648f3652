"""Reads the details of Google's errors, a list next to the message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["google_details", "google_reason"]


def google_details(body: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the details of an error; a streaming endpoint puts the error into an array."""
    body = body[0] if isinstance(body, list) and body else body
    error = body.get("error", body) if isinstance(body, Mapping) else None
    details = error.get("details") if isinstance(error, Mapping) else None
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, Mapping):
            yield detail


def google_reason(body: Any) -> str | None:
    """Return the machine-readable reason of an error, such as ``API_KEY_INVALID``."""
    reasons = (detail.get("reason") for detail in google_details(body))
    return next((reason for reason in reasons if isinstance(reason, str) and reason), None)
