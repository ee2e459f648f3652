"""Reads errors of SDKs: which are a provider's, Google's details, gRPC's status, when to ask again.

Agent frameworks wrap what a vendor's SDK raised, and their tools raise errors that have a status too. So only
the errors of SDKs, and the classes by which frameworks report a provider's failure, count as a provider's.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final, Literal, NamedTuple

from agui_reasoning.errors import ProviderError

_SDKS: Final = re.compile(r"(anthropic|cohere|google\.genai|groq|litellm|mistralai|ollama|openai)(\.|$)")
"""The modules of SDKs, all of whose errors concern a model's provider."""

_OF_FRAMEWORKS: Final = frozenset({"ModelAPIError", "ModelHTTPError", "ModelProviderError"})
"""The classes by which Pydantic AI and Agno report a provider's failure."""

_MODEL_OPERATIONS: Final = ("Converse", "InvokeModel")
"""The operations of AWS that ask a model. Tools ask AWS for other things, with the same errors."""

_MOST: Final = 32
"""The maximum number of errors that are looked at; chains can be circular."""


def is_of_provider(error: BaseException) -> bool:
    """Return whether an error is by its class one of a model's provider."""
    operation = getattr(error, "operation_name", None)
    if isinstance(operation, str):
        return operation.startswith(_MODEL_OPERATIONS)
    return isinstance(error, ProviderError) or any(map(_is_of_sdk, type(error).__mro__))


def causes_of(error: BaseException) -> list[BaseException]:
    """Return an error, its ``__cause__``, the cause of that, and so on."""
    found = [error]
    while (cause := found[-1].__cause__) is not None and len(found) < _MOST:
        found.append(cause)
    return found


def others_behind(error: BaseException) -> Iterator[BaseException]:
    """Yield, nearest first, what else led to an error: contexts, members of groups, and their causes."""
    waiting, seen = [error], {id(error)}
    while waiting and len(seen) < _MOST:
        for other in _linked(waiting.pop(0)):
            if id(other) not in seen:
                seen.add(id(other))
                waiting.append(other)
                yield other


def _linked(error: BaseException) -> Iterator[BaseException]:
    if error.__cause__ is not None:
        yield error.__cause__
    elif error.__context__ is not None and not error.__suppress_context__:
        yield error.__context__
    if isinstance(error, BaseExceptionGroup):
        yield from error.exceptions


def _is_of_sdk(kind: type) -> bool:
    return kind.__name__ in _OF_FRAMEWORKS or _SDKS.match(kind.__module__) is not None


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


_HTTP_STATUS: Final[Mapping[str, int]] = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "OUT_OF_RANGE": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "RESOURCE_EXHAUSTED": 429,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
}
"""The HTTP status of each gRPC status, by the table of ``google.rpc.Code``; of any other it is 500."""

# What gRPC itself says if it has found no server.
_NO_SERVER: Final = re.compile(r"failed to connect|DNS resolution failed", re.IGNORECASE)


class GRPCFailure(NamedTuple):
    """The status of a failed call, and what it said about it."""

    status: str
    details: str

    @property
    def http_status(self) -> int:
        """The HTTP status with the same meaning."""
        return _HTTP_STATUS.get(self.status, 500)

    @property
    def link(self) -> Literal["timeout", "unreachable"] | None:
        """How the connection failed, if it did."""
        if self.status == "DEADLINE_EXCEEDED":
            return "timeout"
        no_server = self.status == "UNAVAILABLE" and _NO_SERVER.search(self.details)
        return "unreachable" if no_server else None


def grpc_failure(error: BaseException) -> GRPCFailure | None:
    """Return what the error of a gRPC call says; ``None`` if it is another error.

    The status and details of gRPC's errors are methods.
    """
    if all(kind.__name__ != "RpcError" for kind in type(error).__mro__):
        return None
    code, details = getattr(error, "code", None), getattr(error, "details", None)
    status = getattr(code() if callable(code) else None, "name", None)
    said = details() if callable(details) else None
    return None if status is None else GRPCFailure(status, said if isinstance(said, str) else "")


def retry_after(headers: Mapping[str, str], body: Any = None, *, now_s: float | None = None) -> float | None:
    """Return the seconds to wait, by ``Retry-After`` in either form, or by Google's ``RetryInfo``.

    Headers have lower-case names, ``body`` is JSON, and ``now_s`` is the Unix time, by default the clock's.
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
