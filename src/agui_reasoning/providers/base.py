"""The base class of decoders, which turn the payloads of a wire format into deltas."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from agui_reasoning.deltas import CloseDelta, Delta
from agui_reasoning.errors import DecodeError, ProviderError
from agui_reasoning.parts import Origin
from agui_reasoning.providers._signs import SIGNS, bears_sign, is_error, looks_like
from agui_reasoning.providers.payload import JSONObject, plain, reject, string
from agui_reasoning.providers.vendors import vendor_traits

__all__ = ["Decoder"]


class Decoder(ABC):
    """Turns the payloads of one provider stream into deltas.

    Decoders have no clock, no IDs of their own, and no input or output. A payload that cannot be read does
    not change their state.

    Attributes:
        api: The ID of the API.
        vendor: The provider of a single-vendor API; ``None`` if several vendors use the format.
    """

    api: ClassVar[str]
    vendor: ClassVar[str | None] = None

    def __init__(self, *, provider: str | None = None, model: str | None = None) -> None:
        """Create a decoder for one stream.

        Args:
            provider: The provider; default is the vendor of a single-vendor API.
            model: The model name, if the payloads do not contain it.
        """
        self.provider = provider or self.vendor
        self.model = model
        self._traits = vendor_traits(Origin(self.provider, self.api, model))
        self.warnings: list[str] = []
        """Warnings about omitted data, each once; the shells pass them to ``on_warning``."""
        # Without known signs of the API, all payloads are accepted.
        self._recognized = self.api not in SIGNS
        self._strange = False

    def receive(self, payload: Any) -> list[Delta]:
        """Decode one payload of the stream.

        Args:
            payload: The API's JSON as a dict, ``"[DONE]"``, or the SDK's object, which gives the same deltas
                as its wire JSON. Unknown events and the helper events of SDKs give none.

        Returns:
            The deltas in order.

        Raises:
            DecodeError: The payload does not have the API's format (``bad_payload``), or has that of another
                API (``wrong_api``).
            ProviderError: The payload is an error of the provider.
        """
        if isinstance(payload, str) and payload == "[DONE]":
            return self._done()
        return self._read(payload, self._decode)

    def close(self) -> list[Delta]:
        """End the stream.

        Raises:
            DecodeError: The stream ended inside a response (``truncated_stream``); the ``deltas`` of the
                error mark open units as incomplete, and further calls return nothing. Or no payload was one
                of the API's (``wrong_api``).
        """
        if self._strange and not self._recognized:
            self._strange = False
            raise self._wrong_api(None)
        return self._end()

    @abstractmethod
    def _decode(self, data: JSONObject) -> list[Delta]:
        """Decode one payload that is an object."""

    @abstractmethod
    def _end(self) -> list[Delta]:
        """Close the stream."""

    def whole(self, response: Any) -> list[Delta]:
        """Decode a whole response, as if it had been streamed.

        Raises:
            DecodeError: The response does not have the API's format (``bad_payload``), or has that of another
                API (``wrong_api``).
            ProviderError: The response is an error of the provider.
        """
        return self._read(response, self._whole, alone=True)

    @abstractmethod
    def _whole(self, data: JSONObject) -> list[Delta]:
        """Decode a whole response that is an object."""

    def _read(
        self, payload: Any, decode: Callable[[JSONObject], list[Delta]], *, alone: bool = False
    ) -> list[Delta]:
        data = self._plain(payload)
        try:
            if not isinstance(data, dict):
                raise reject("an object", data, "")
            if not self._recognized:
                self._recognize(data, alone)
            return decode(data)
        except DecodeError as error:
            error.provider = self.provider
            raise

    def _plain(self, payload: Any) -> Any:
        """Return the wire JSON of an SDK object; return other values unchanged."""
        return plain(payload)

    def _warn(self, sentence: str) -> None:
        """Add a warning, once."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    def _recognize(self, data: JSONObject, alone: bool) -> None:
        """Reject payloads of other APIs, which would have no meaning here, until one of this API arrives.

        Payloads of no known API are skipped in streams: SDKs and gateways add events of their own.
        """
        if bears_sign(self.api, data):
            self._recognized = True
        elif data and not is_error(data):
            likely = looks_like(data)
            if likely or alone:
                raise self._wrong_api(next(iter(likely), None))
            self._strange = True

    def _wrong_api(self, likely: str | None) -> DecodeError:
        what = f"looks like {likely}" if likely else "matches no known API"
        return DecodeError(
            f"The payload is not {self.api}: it {what}.",
            code="wrong_api",
            hint=f"Decode it with the API ID {likely!r}." if likely else "Check the API ID and the endpoint.",
            provider=self.provider,
        )

    def _done(self) -> list[Delta]:
        return []

    def _origin(self, source: JSONObject) -> Origin:
        """Return the origin of a response whose payload names its model."""
        return Origin(self.provider, self.api, string(source, "model") or self.model)

    def _refusal(self, data: JSONObject) -> ProviderError:
        """Build the error for a payload with an error in a common format."""
        error = data.get("error")
        fields = error if isinstance(error, dict) else data
        words = error if isinstance(error, str) else fields.get("message")
        code, kind = fields.get("code"), fields.get("type")
        return ProviderError(
            provider_code=None if code is None else str(code),
            provider_type=kind if isinstance(kind, str) else None,
            provider_message=str(words or ""),
            deltas=(CloseDelta(status="incomplete"),),
        )

    def _truncated(self, deltas: Sequence[Delta] = (CloseDelta(status="incomplete"),)) -> DecodeError:
        return DecodeError(
            f"The {self.api} stream ended inside a response.",
            code="truncated_stream",
            hint="The connection was cut: pass on the error's `.deltas`, then end the run as failed.",
            provider=self.provider,
            deltas=deltas,
        )
