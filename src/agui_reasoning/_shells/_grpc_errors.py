"""Reads the errors of gRPC calls: their status, and which HTTP status or broken connection it stands for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

__all__ = ["GRPCFailure", "grpc_failure"]

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
