"""What every decoder is: payloads in, deltas out, one per wire format."""

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

    Pure: no clock, no ids of its own, no input or output. A payload that cannot be read leaves it as it was.

    Attributes:
        api: The API id it reads.
        vendor: The provider of a single-vendor API; ``None`` where many speak the shape.
    """

    api: ClassVar[str]
    vendor: ClassVar[str | None] = None

    def __init__(self, *, provider: str | None = None, model: str | None = None) -> None:
        """Start before the first payload.

        Args:
            provider: Who serves the API; default is the vendor of a single-vendor API.
            model: The model's name where the payloads do not tell it.
        """
        self.provider = provider or self.vendor
        self.model = model
        self._traits = vendor_traits(Origin(self.provider, self.api, model))
        self.warnings: list[str] = []
        """Sentences about what the decoder leaves out, each once; the shells hand them to ``on_warning``."""
        # An API without signs takes whatever comes.
        self._recognized = self.api not in SIGNS
        self._strange = False

    def receive(self, payload: Any) -> list[Delta]:
        """Decode one payload of the stream.

        Args:
            payload: A dict in the API's JSON spelling, ``"[DONE]"``, or the SDK's own object, which gives the
                same deltas as its wire JSON. Unknown events and the helper events that SDKs mix in give none.

        Returns:
            What it means, in order.

        Raises:
            DecodeError: The payload does not have the API's shape (``bad_payload``), or has that of another
                (``wrong_api``).
            ProviderError: The payload is the provider's error.
        """
        if isinstance(payload, str) and payload == "[DONE]":
            return self._done()
        return self._read(payload, self._decode)

    def close(self) -> list[Delta]:
        """The stream ended.

        Raises:
            DecodeError: It ended inside a response (``truncated_stream``). ``deltas`` marks what was cut as
                incomplete; a second call gives nothing. Or nothing that came was the API's (``wrong_api``).
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
        """The deltas of a whole response, as if it had been streamed.

        Raises:
            DecodeError: The response does not have the API's shape (``bad_payload``), or has that of another
                (``wrong_api``).
            ProviderError: It is the provider's error.
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
        """Give the wire JSON of an SDK object, and anything else as it is."""
        return plain(payload)

    def _warn(self, sentence: str) -> None:
        """Tell what is left out, once."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    def _recognize(self, data: JSONObject, alone: bool) -> None:
        """Refuse the payloads of other APIs, which would say nothing here, until one of this API came.

        What belongs to none is passed over in a stream: SDKs and gateways put in events of their own.
        """
        if bears_sign(self.api, data):
            self._recognized = True
        elif data and not is_error(data):
            likely = looks_like(data)
            if likely or alone:
                raise self._wrong_api(next(iter(likely), None))
            self._strange = True

    def _wrong_api(self, likely: str | None) -> DecodeError:
        what = f"looks like {likely}" if likely else "fits no API that is known"
        return DecodeError(
            f"What came is not {self.api}: it {what}.",
            code="wrong_api",
            hint=f"Decode it with the API id {likely!r}." if likely else "Check the API id and the endpoint.",
            provider=self.provider,
        )

    def _done(self) -> list[Delta]:
        return []

    def _origin(self, source: JSONObject) -> Origin:
        """The origin of a response whose payload names its model."""
        return Origin(self.provider, self.api, string(source, "model") or self.model)

    def _refusal(self, data: JSONObject) -> ProviderError:
        """The error for a payload that says what is wrong in one of the ways that all servers do."""
        error = data.get("error")
        said = error if isinstance(error, dict) else data
        words = error if isinstance(error, str) else said.get("message")
        code, kind = said.get("code"), said.get("type")
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
            hint="Feed `.deltas`, then end the run as failed; the connection to the provider was cut.",
            provider=self.provider,
            deltas=deltas,
        )
