"""Input of the commands: a file or standard input, and the provider exchange in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from agui_reasoning._scripted._exchange import api_of, payloads
from agui_reasoning.cli._reading import opened, pieces
from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.wire import iter_payloads

__all__ = ["JSON_STRING", "Source", "read_file", "read_source"]

JSON_STRING: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
"""A string in JSON, with its quotes."""

# Members that identify a whole response if it is the only value in a file.
_WHOLE = (("type", "message"), ("object", "response"), ("object", "chat.completion"))


@dataclass(frozen=True, slots=True)
class Source:
    """A provider exchange.

    Attributes:
        payloads: The parsed payloads; iterating may raise.
        whole: Whether each payload is a whole response.
        api: The API ID, if the input names it.
        provider: The provider, if the input names it.
        model: The model, if the input names it.
    """

    payloads: Iterable[Any]
    whole: bool = False
    api: str | None = None
    provider: str | None = None
    model: str | None = None


def read_file(name: str) -> bytes:
    """Read a file, or standard input for ``-``.

    Raises:
        ConfigurationError: The file cannot be read (``unreadable_file``).
    """
    with opened(name) as stream:
        return b"".join(pieces(name, stream))


def read_source(data: bytes) -> Source:
    """Detect the input: payloads of a stream, a whole response, or a recording of either."""
    single = _single_object(data)
    if single is None:
        return Source(iter_payloads(data))
    if "type" not in single and isinstance(single.get("events"), list):
        return _recording(single, payloads(single), whole=False)
    if "type" not in single and "response" in single:
        return _recording(single, [single["response"]], whole=True)
    return Source([single], whole=any(single.get(key) == value for key, value in _WHOLE))


def _recording(exchange: dict[str, Any], payloads: Iterable[Any], *, whole: bool) -> Source:
    provider, model = (_name(exchange.get(key)) for key in ("provider", "model"))
    return Source(payloads, whole, api_of(exchange), provider, model)


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _single_object(data: bytes) -> dict[str, Any] | None:
    """Return the object if the input is a single one; invalid input raises later, when it is read."""
    with suppress(RemoteProtocolError):
        values = list(islice(iter_payloads(data), 2))
        if len(values) == 1 and isinstance(values[0], dict):
            return values[0]
    return None
