"""Decoders of wire formats that an application brings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Protocol

from agui_reasoning.deltas import Delta, FinishDelta, ResponseStart, UsageDelta
from agui_reasoning.providers.base import Decoder
from agui_reasoning.providers.payload import JSONObject

__all__ = ["decoder_of"]


class _Reader(Protocol):
    """What an application's format is decoded by."""

    def receive(self, payload: Any, /) -> Sequence[Delta]: ...
    def whole(self, response: Any, /) -> Sequence[Delta]: ...
    def close(self) -> Sequence[Delta]: ...


def decoder_of(api: str, make: Callable[..., Any]) -> Callable[..., Decoder]:
    """Return what creates the decoder of a stream: the application's, if it is a `Decoder`."""
    kind: Any = make
    if isinstance(kind, type) and issubclass(kind, Decoder):
        return kind
    return partial(_OwnDecoder, api, make)


class _OwnDecoder(Decoder):
    """Passes payloads to the application's object, and says where its responses come from."""

    def __init__(
        self,
        api: str,
        make: Callable[..., _Reader],
        *,
        provider: str | None = None,
        model: str | None = None,
    ) -> None:
        self.api = api  # type: ignore[misc]
        super().__init__(provider=provider or api, model=model)
        self._reader = make(provider=self.provider, model=model)
        self._running = False

    def receive(self, payload: Any) -> list[Delta]:
        """Decode one payload of the stream, as the application does."""
        return self._placed(self._reader.receive(payload))

    def whole(self, response: Any) -> list[Delta]:
        """Decode a whole response, as the application does."""
        return self._placed(self._reader.whole(response))

    def close(self) -> list[Delta]:
        """End the stream."""
        return self._placed(self._reader.close())

    def _placed(self, deltas: Iterable[Delta]) -> list[Delta]:
        """Put the start of a response before its first delta, unless there is one."""
        self.warnings = list(getattr(self._reader, "warnings", ()))
        placed: list[Delta] = []
        for delta in deltas:
            if not self._running and not isinstance(delta, ResponseStart | UsageDelta):
                placed.append(ResponseStart(self._last_origin))
            self._running = not isinstance(delta, FinishDelta) and (
                self._running or not isinstance(delta, UsageDelta)
            )
            placed.append(delta)
        return placed

    def _decode(self, data: JSONObject) -> list[Delta]:
        raise NotImplementedError

    def _whole(self, data: JSONObject) -> list[Delta]:
        raise NotImplementedError

    def _end(self) -> list[Delta]:
        raise NotImplementedError
