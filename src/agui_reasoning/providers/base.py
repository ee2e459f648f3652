"""The base class of decoders, which turn the payloads of a wire format into deltas."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final, TypeVar

from agui_reasoning._strict_json import flaw
from agui_reasoning.deltas import CloseDelta, Delta, UsageDelta
from agui_reasoning.errors import DecodeError, ProviderError
from agui_reasoning.parts import Origin
from agui_reasoning.providers._lane import Lane, Repeatable, Repeats
from agui_reasoning.providers._prose import prose
from agui_reasoning.providers._signs import SIGNS, bears_sign, is_error, looks_like
from agui_reasoning.providers._tagging import Tagging
from agui_reasoning.providers.payload import JSONObject, plain, reject, string
from agui_reasoning.providers.vendors import vendor_traits

__all__ = ["Decoder"]

_Result = TypeVar("_Result")


class Decoder(ABC):
    """Turns the payloads of one provider stream into deltas.

    Decoders have no clock, no IDs of their own, and no input or output. A payload that cannot be read does
    not change their state; one that was never JSON, such as NaN, ends the stream.

    Attributes:
        api: The ID of the API.
        vendor: The provider of a single-vendor API; ``None`` if several vendors use the format.
        repeatable: The members of payloads that may differ in a repeat; ``None`` to read every payload.
        multiplexed: Whether one connection may carry several streams, whose events name theirs.
        stream_id: The stream to decode if a connection carries several; events of others are skipped.
        splits_tags: Whether the API's answers may contain reasoning between tags.
        tagging: The tags, for such an API.
        splits_agents: Whether what agents below the root say is kept apart from the response. Runs set it, to
            show such agents as subagents.
    """

    api: ClassVar[str]
    vendor: ClassVar[str | None] = None
    repeatable: ClassVar[Repeatable | None] = None
    multiplexed: ClassVar[bool] = False
    stream_id: str | None = None
    splits_tags: ClassVar[bool] = False
    tagging: Tagging = Tagging()
    splits_agents: bool = False

    def __init__(self, *, provider: str | None = None, model: str | None = None) -> None:
        """Create a decoder for one stream.

        Args:
            provider: The provider; default is the vendor of a single-vendor API.
            model: The model name, if the payloads do not contain it.
        """
        self.provider = provider or self.vendor
        self.model = model
        self._last_origin = Origin(self.provider, self.api, model)
        self._traits = vendor_traits(self._last_origin)
        self.warnings: list[str] = []
        """Warnings about omitted data, each once; the shells pass them to ``on_warning``."""
        # Without known signs of the API, all payloads are accepted.
        self._recognized = self.api not in SIGNS
        self._strange = False
        self._flaw: str | None = None
        self._repeats = Repeats(self.repeatable)
        self._lane: Lane | None = None

    def use_account(self, account: str | None) -> None:
        """Name the account in the origins of responses; see `Origin`."""
        self._last_origin = replace(self._last_origin, account=account)

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
        data = payload if type(payload) is dict else self._plain(self._unwrapped(payload))
        lane = self._lane
        if lane is not None and (text := lane.text_of(data)):
            usage = self._read(data, self._read_usage) if lane.counts else None
            if lane.passes(text):
                self._repeats.patience = 0
                delta = lane.again(lane.delta, text)
                return [delta, *self._counted(usage)] if lane.counts else [delta]
        return self._read_anew(data)

    def close(self) -> list[Delta]:
        """End the stream.

        Raises:
            DecodeError: The stream ended inside a response (``truncated_stream``); the ``deltas`` of the
                error mark open units as incomplete, and further calls return nothing. Or no payload was one
                of the API's (``wrong_api``).
        """
        self._lane = None
        if self._strange and not self._recognized:
            self._strange = False
            raise self._wrong_api(None)
        return [] if self._flaw is not None else self._end()

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
        self._lane = None
        data = self._plain(response)
        self._require_json(data)
        return self._read(data, self._whole, alone=True)

    @abstractmethod
    def _whole(self, data: JSONObject) -> list[Delta]:
        """Decode a whole response that is an object."""

    def _read_anew(self, data: Any) -> list[Delta]:
        """Decode a payload by reading it; the next one may repeat it."""
        self._lane = None
        if self._flaw is not None:
            self._require_json(data)
        if isinstance(data, str) and data == "[DONE]":
            return self._done()
        try:
            deltas = self._read(data, self._decode)
        except _OF_OTHERS:
            self._require_json(data)
            raise
        self._lane = self._repeats.after(data, deltas, self._reader_of) if self._recognized else None
        if not self._repeats.grew:
            # Text that continues keeps nothing of its payload; the rest may be sent on.
            self._require_json(data)
        return deltas

    def _require_json(self, data: Any) -> None:
        """Raise an error if a payload was never JSON: its parser was not strict, or a program made it.

        The decoder may have kept some of it, and reads no more.
        """
        self._flaw = self._flaw or flaw(data)
        if self._flaw is not None:
            raise DecodeError(
                f"The payload has {self._flaw}.",
                code="bad_payload",
                hint="Parse the provider's JSON strictly; everything before this payload was delivered.",
                provider=self.provider,
                deltas=(CloseDelta(status="incomplete"),),
            )

    def _reader_of(self, delta: Delta) -> Callable[[str], bool]:
        """Return what is asked whether another text than that of the delta passes unchanged.

        Decoders that look at the text itself override it. The empty text never passes.
        """
        return bool

    def _read_usage(self, data: JSONObject) -> UsageDelta | None:
        """Read the token counts of a payload."""
        return None

    def _counted(self, usage: UsageDelta | None) -> list[Delta]:
        """Return the token counts of a payload, or keep them."""
        return [] if usage is None else [usage]

    def _read(self, data: Any, decode: Callable[[JSONObject], _Result], *, alone: bool = False) -> _Result:
        try:
            if not isinstance(data, dict):
                raise reject("an object", data, "")
            if not self._recognized:
                self._recognize(data, alone)
            return decode(data)
        except DecodeError as error:
            error.provider = self.provider
            raise

    def _unwrapped(self, payload: Any) -> Any:
        """Return the payload inside an event of an SDK; return other values unchanged."""
        return payload

    def _plain(self, payload: Any) -> Any:
        """Return the wire JSON of an SDK object; return other values unchanged."""
        return plain(payload)

    def _warn(self, sentence: str) -> None:
        """Add a warning, once."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    def _prose(self, source: JSONObject, key: str) -> str:
        """Read reasoning of any JSON type; omit what has no text, with a warning."""
        text = prose(source.get(key))
        if text is None:
            self._warn_unread(key)
        return text or ""

    def _warn_unread(self, name: str) -> None:
        """Warn that a member with reasoning has another JSON type."""
        self._warn(f"Reasoning in {name!r} could not be read; the rest of the response was.")

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
        return self._origin_of(string(source, "model") or self.model)

    def _origin_of(self, model: str | None) -> Origin:
        """Return the origin of a response of a model; most payloads name the same one."""
        if model != self._last_origin.model:
            self._last_origin = replace(self._last_origin, model=model)
        return self._last_origin

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


_OF_OTHERS: Final = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What code for JSON may raise for other data."""
