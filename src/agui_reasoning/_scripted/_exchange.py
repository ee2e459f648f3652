"""The format of recorded exchanges, shared by scripts and recordings.

An exchange is a JSON object with ``api``, optional ``provider`` and ``model``, and the provider's response:
``events``, a list of ``{"event"?, "data"}``, or ``response``, a whole one. Where ``api`` is ``"other"``,
``api_detail`` names the API.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from agui_reasoning.errors import DecodeError

__all__ = ["Exchange", "api_of", "check_exchange", "is_whole", "payloads"]

Exchange: TypeAlias = Mapping[str, Any]

_OTHER: Final = "other"


def check_exchange(value: Any) -> Exchange:
    """Return the value if it is an exchange that names its API.

    Raises:
        DecodeError: The value is not an exchange (``bad_recording``).
    """
    api = api_of(value) if isinstance(value, Mapping) else None
    if api is None:
        raise _bad_recording('The recording is not an object with "api".', "")
    if isinstance(value.get("events"), list):
        for _ in payloads(value):
            pass
    elif "response" not in value:
        raise _bad_recording('The recording has neither "events" nor "response".', "")
    return {**value, "api": api}


def api_of(exchange: Exchange) -> str | None:
    """Return the API that an exchange names, if it does."""
    api = exchange.get("api_detail") if exchange.get("api") == _OTHER else exchange.get("api")
    return api if isinstance(api, str) else None


def is_whole(exchange: Exchange) -> bool:
    """Return whether the exchange holds a whole response instead of a stream."""
    return not isinstance(exchange.get("events"), list)


def payloads(exchange: Exchange) -> Iterator[Any]:
    """Yield the payloads of a streamed exchange in order.

    Raises:
        DecodeError: An event has no data (``bad_recording``); raised after yielding those before it.
    """
    for number, event in enumerate(exchange["events"]):
        if not isinstance(event, Mapping) or "data" not in event:
            raise _bad_recording(f"Event {number + 1} of the recording has no data.", f"/events/{number}")
        yield event["data"]


def _bad_recording(message: str, path: str) -> DecodeError:
    return DecodeError(
        message,
        code="bad_recording",
        hint='A recording has "api", and "response" or "events": each of these is an object with "data".',
        path=path,
    )
