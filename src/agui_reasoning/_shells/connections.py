"""Why a connection failed, from the errors behind that of an HTTP library."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from socket import gaierror
from typing import Final, Literal

from agui_reasoning.errors import TransportError

__all__ = ["unreachable"]


@dataclass(frozen=True, slots=True)
class _Why:
    reason: Literal["dns", "tls", "refused"]
    what: str
    hint: str


_MOST: Final = 32
"""The maximum number of errors that are looked at; chains can be circular."""

_WHYS: Final[tuple[tuple[type[BaseException], _Why], ...]] = (
    (gaierror, _Why("dns", "the host name could not be resolved", "Check the host in the URL, and DNS.")),
    (
        ssl.SSLError,
        _Why(
            "tls",
            "the TLS handshake failed",
            "Check whether the URL wants https, the certificate, and a proxy between.",
        ),
    ),
    (
        ConnectionRefusedError,
        _Why("refused", "the connection was refused", "Check the port, and that the server is running."),
    ),
)


def unreachable(what: str, error: BaseException, hint: str) -> TransportError:
    """Return the error for a connection that failed.

    It neither quotes nor references the other error, which contains the request, and thus the history.

    Args:
        what: What happened, as the start of a sentence.
        error: The error of the HTTP library.
        hint: What to do if the reason is unknown.
    """
    behind = list(_behind(error))
    for kind, why in _WHYS:
        if any(isinstance(one, kind) for one in behind):
            return TransportError(
                f"{what}: {why.what}.", code="unreachable", hint=why.hint, reason=why.reason
            )
    return TransportError(f"{what} ({type(error).__name__}).", code="unreachable", hint=hint)


def _behind(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and those behind it, also where the library that raised it suppressed them."""
    waiting = [error]
    for _ in range(_MOST):
        if not waiting:
            return
        found = waiting.pop()
        yield found
        linked = found.__cause__ or found.__context__
        waiting += [*([linked] if linked else ()), *getattr(found, "exceptions", ())]
