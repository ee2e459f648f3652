"""What a command reads: a file or standard input, and the provider exchange in it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from agui_reasoning._scripted._exchange import payloads
from agui_reasoning.cli._reading import opened, pieces
from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.wire import iter_payloads

__all__ = ["Source", "read_file", "read_source"]

# How a whole response tells itself from a piece of a stream, where it stands alone in a file.
_WHOLE = (("type", "message"), ("object", "response"), ("object", "chat.completion"))


@dataclass(frozen=True, slots=True)
class Source:
    """A provider exchange.

    Attributes:
        payloads: The parsed payloads; iterating may raise.
        whole: They are whole responses.
        api: The API id, where the input tells it.
        provider: The provider, where the input tells it.
        model: The model, where the input tells it.
    """

    payloads: Iterable[Any]
    whole: bool = False
    api: str | None = None
    provider: str | None = None
    model: str | None = None


def read_file(name: str) -> bytes:
    """Read a file, or standard input for ``-``.

    Raises:
        ConfigurationError: It cannot be read (``unreadable_file``).
    """
    with opened(name) as stream:
        return b"".join(pieces(name, stream))


def read_source(data: bytes) -> Source:
    """Find out what the input is: payloads of a stream, a whole response, or a recording of either."""
    only = _only(data)
    if only is None:
        return Source(iter_payloads(data))
    if "type" not in only and isinstance(only.get("events"), list):
        return _recording(only, payloads(only), whole=False)
    if "type" not in only and "response" in only:
        return _recording(only, [only["response"]], whole=True)
    return Source([only], whole=any(only.get(key) == value for key, value in _WHOLE))


def _recording(exchange: dict[str, Any], payloads: Iterable[Any], *, whole: bool) -> Source:
    api, provider, model = (_name(exchange.get(key)) for key in ("api", "provider", "model"))
    return Source(payloads, whole, api, provider, model)


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _only(data: bytes) -> dict[str, Any] | None:
    """The object that is all there is in the input; what is wrong with it is told when it is read."""
    with suppress(RemoteProtocolError):
        values = list(islice(iter_payloads(data), 2))
        if len(values) == 1 and isinstance(values[0], dict):
            return values[0]
    return None
