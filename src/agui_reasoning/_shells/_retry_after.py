"""The delay that a provider asks for before the next request."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from agui_reasoning._shells._google_errors import google_details

__all__ = ["retry_after"]


def retry_after(headers: Mapping[str, str], body: Any = None, *, now_s: float | None = None) -> float | None:
    """Return the seconds to wait, by ``Retry-After`` in either form, or by Google's ``RetryInfo``.

    Args:
        headers: The headers of the response, by lower-case name.
        body: The JSON of the response, if any.
        now_s: The Unix time in seconds; default is the clock.
    """
    given = str(headers.get("retry-after") or "").strip()
    seconds = _number(given)
    if seconds is None and given:
        seconds = _until(given, time.time() if now_s is None else now_s)
    return _delay_of_google(body) if seconds is None else seconds


def _number(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _until(date: str, now_s: float) -> float | None:
    try:
        return max(parsedate_to_datetime(date).timestamp() - now_s, 0.0)
    except (TypeError, ValueError, OverflowError):
        return None


def _delay_of_google(body: Any) -> float | None:
    for detail in google_details(body):
        delay = detail.get("retryDelay")
        if isinstance(delay, str) and delay.endswith("s"):
            return _number(delay[:-1])
    return None
