"""The interface of readers that split a stream into payloads, and their common part."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Protocol

from agui_reasoning.errors import RemoteProtocolError

__all__ = ["BufferedReader", "FrameReader"]


class FrameReader(Protocol):
    """Splits a stream into payloads."""

    def feed(self, data: bytes, /) -> list[str]:
        """Take the next bytes and return the payloads they complete."""

    def close(self) -> list[str]:
        """Signal the end of the stream; return the last payload if only its end is missing."""


class BufferedReader(ABC):
    """Base class of readers.

    A bad frame does not lose the payloads before it: `feed` returns them, and the next call raises the error.
    If there are none, `feed` raises the error itself. From then on, every call raises it.
    """

    def __init__(self) -> None:
        self._error: RemoteProtocolError | None = None

    def feed(self, data: bytes) -> list[str]:
        """Take the next bytes and return the payloads they complete.

        Raises:
            RemoteProtocolError: A frame is invalid.
        """
        return self._collected(self._read(data))

    def close(self) -> list[str]:
        """Signal the end of the stream; return the last payload if only its end is missing.

        Raises:
            RemoteProtocolError: As in `feed`.
        """
        return self._collected(self._rest())

    @abstractmethod
    def _read(self, data: bytes) -> Iterator[str]:
        """Yield the payloads that the next bytes complete."""

    @abstractmethod
    def _rest(self) -> Iterator[str]:
        """Yield the last payload if only its end is missing."""

    def _collected(self, payloads: Iterator[str]) -> list[str]:
        found: list[str] = []
        if self._error is None:
            try:
                for payload in payloads:
                    found.append(payload)  # noqa: PERF402 -- keep those before an error
            except RemoteProtocolError as error:
                self._error = error
        if self._error is not None and not found:
            raise self._error.with_traceback(None)
        return found
