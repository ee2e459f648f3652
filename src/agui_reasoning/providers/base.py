"""The base class of decoders, which turn the payloads of a wire format into deltas.

Payloads of another API are recognized by signs, so that they are reported instead of skipped.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

from msgspec import Struct, convert
from msgspec.structs import replace

from agui_reasoning._strict_json import Malformed, flaw, load
from agui_reasoning.deltas import CloseDelta, Delta, ReasoningDelta, TextDelta, ToolCallDelta, UsageDelta
from agui_reasoning.errors import DecodeError, ProviderError
from agui_reasoning.parts import Origin
from agui_reasoning.providers.api import Sign
from agui_reasoning.providers.inline import Tagging
from agui_reasoning.providers.payload import (
    UNLIKE,
    Continued,
    Events,
    JSONObject,
    Shape,
    TextOf,
    like,
    plain,
    prose,
    read,
    reject,
    rejected,
)
from agui_reasoning.providers.registry import find_api, provider_apis
from agui_reasoning.providers.vendors import vendor_traits

__all__ = ["Decoder", "OfAgent", "is_error"]


class OfAgent(Struct, frozen=True):
    """A delta of an agent below the root of a response that several agents wrote.

    The items of such agents are also native parts of the response, so that they go back in their places.

    Attributes:
        agent: The name of the agent, a path such as ``/root/researcher``.
        delta: What it says.
    """

    agent: str
    delta: Delta


class Decoder(ABC):
    """Turns the payloads of one provider stream into deltas.

    Decoders have no clock, no IDs of their own, and no input or output. A payload that cannot be read does
    not change their state; one that was never JSON, such as NaN, ends the stream.

    Attributes:
        api: The ID of the API.
        vendor: The provider of a single-vendor API; ``None`` if several vendors use the format.
        payload: What is read of a payload, if all have the same members; see `Members`.
        events: What is read of each type of event, otherwise.
        response: What is read of a whole response.
        multiplexed: Whether one connection may carry several streams, whose events name theirs.
        stream_id: The stream to decode if a connection carries several; events of others are skipped.
        splits_tags: Whether the API's answers may contain reasoning between tags.
        tagging: The tags, for such an API.
        more: How the next payload is read if it only adds text to the same unit.
        splits_agents: Whether agents below the root are apart from the response; runs set it for subagents.
    """

    api: ClassVar[str]
    vendor: ClassVar[str | None] = None
    payload: ClassVar[Any] = Any
    events: ClassVar[Events | None] = None
    response: ClassVar[Any] = Any
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
        self._running = False
        """Whether a response has started and not ended."""
        # Without known signs of the API, all payloads are accepted.
        self._recognized = not _signs_of(self.api)
        self._strange = False
        self._flaw: str | None = None
        self.more: Continued | None = None
        self._misfits = 0
        self._clear()

    def _clear(self) -> None:  # noqa: B027
        """Forget everything of a response; a new decoder begins with it."""

    def use_account(self, account: str | None) -> None:
        """Name the account in the origins of responses; see `Origin`."""
        self._last_origin = replace(self._last_origin, account=account)

    def receive(self, payload: Any) -> list[Delta]:
        """Decode one payload of the stream.

        Args:
            payload: The API's JSON as a dict or as text, ``"[DONE]"``, or the SDK's object, which gives the
                same deltas as its wire JSON. Unknown events and the helper events of SDKs give none.

        Returns:
            The deltas in order.

        Raises:
            DecodeError: The format is not the API's (``bad_payload``), or is that of another (``wrong_api``).
            ProviderError: The payload is an error of the provider.
        """
        kind, more = type(payload), self.more
        if more is not None and (kind is dict or kind is str or kind is bytes):
            shape, text_of, delta = more.shape, more.text_of, more.delta
            try:
                text = text_of(convert(payload, shape.struct) if kind is dict else shape.json(payload))
            except UNLIKE:
                text = ""
            if text:
                return [delta(text)]
            self.more = None
        if kind is str or kind is bytes:
            payload = self._parsed(payload)
        elif kind is not dict:
            payload = self._plain(self._unwrapped(payload))
            if type(payload) is dict:
                return self.receive(payload)
        return self._receive_in_full(payload)

    def close(self) -> list[Delta]:
        """End the stream.

        Raises:
            DecodeError: The stream ended inside a response (``truncated_stream``); the ``deltas`` of the
                error mark open units as incomplete, and further calls return nothing. Or no payload was one
                of the API's (``wrong_api``).
        """
        self.more = None
        if self._strange and not self._recognized:
            self._strange = False
            raise self._wrong_api(None)
        return [] if self._flaw is not None else self._end()

    def _decode(self, payload: Any, raw: JSONObject) -> list[Delta]:
        """Decode one payload: as `payload`, and as it came."""
        raise NotImplementedError

    def _end(self) -> list[Delta]:
        """Close the stream; inside a response, it was cut."""
        if not self._running:
            return []
        held, self._running = self._held_back(), False
        raise self._truncated([*held, CloseDelta(status="incomplete")])

    def _held_back(self) -> list[Delta]:
        """Return what was held back of a response that is cut off."""
        return []

    def whole(self, response: Any) -> list[Delta]:
        """Decode a whole response, as if it had been streamed.

        Raises:
            DecodeError: The format is not the API's (``bad_payload``), or is that of another (``wrong_api``).
            ProviderError: The response is an error of the provider.
        """
        self.more = None
        data = self._plain(response)
        self._require_json(data)
        return self._read(data, lambda found: self._whole(read(found, self.response), found), alone=True)

    @abstractmethod
    def _whole(self, response: Any, raw: JSONObject) -> list[Delta]:
        """Decode a whole response that is an object: as `response`, and as it came."""

    def _receive_in_full(self, data: Any) -> list[Delta]:
        if self._flaw is not None:
            self._require_json(data)
        if isinstance(data, str) and data == _DONE:
            return self._done()
        try:
            deltas = self._read(data, self._of_members)
        except OF_OTHERS:
            self._require_json(data)
            raise
        only: Any = deltas[0] if len(deltas) == 1 else None
        if type(only) not in _TEXTS or only.ext is not None:
            # Text keeps nothing else of its payload; the rest may be sent on.
            self._require_json(data)
        return deltas

    def _of_members(self, data: JSONObject) -> list[Delta]:
        if self.events is None:
            return self._decode(read(data, self.payload), data)
        struct, handler = self.events.of(data)
        return handler(self, read(data, struct), data)

    def _parsed(self, text: str | bytes) -> Any:
        decoded = text if isinstance(text, str) else text.decode(errors="replace")
        if decoded.strip() == _DONE:
            return _DONE
        value = load(decoded)
        if isinstance(value, Malformed):
            error = rejected("JSON", "other text", "")
            error.provider = self.provider
            raise error
        return value

    def _continue(self, shape: Shape, text_of: TextOf, raw: JSONObject, deltas: Sequence[Delta]) -> None:
        """Read the next payloads as `Continued`, if this one has the shape and added only text."""
        only: Any = deltas[0] if len(deltas) == 1 else None
        if self._recognized and type(only) in _TEXTS and only.ext is None and self._misfits < _MOST_MISFITS:
            fits = shape.fits(raw)
            self.more = Continued(shape, text_of, like(only)) if fits else None
            self._misfits = 0 if fits else self._misfits + 1

    def _require_json(self, data: Any) -> None:
        """Raise an error if a payload was never JSON: its parser was not strict, or a program made it.

        The decoder may have kept some of it, and reads no more.
        """
        self._flaw = self._flaw or flaw(data)
        if self._flaw is not None:
            self.more = None
            raise DecodeError(
                f"The payload has {self._flaw}.",
                code="bad_payload",
                hint="Parse the provider's JSON strictly; everything before this payload was delivered.",
                provider=self.provider,
                deltas=(CloseDelta(status="incomplete"),),
            )

    def _read(
        self, data: Any, decode: Callable[[JSONObject], list[Delta]], *, alone: bool = False
    ) -> list[Delta]:
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

    def _prose(self, value: Any, name: str) -> str:
        """Read reasoning of any JSON type; omit what has no text, with a warning."""
        if type(value) is str:
            return value
        text = prose(value)
        if text is None:
            self._warn_unread(name)
        return text or ""

    def _warn_unread(self, name: str) -> None:
        """Warn that a member with reasoning has another JSON type."""
        self._warn(f"Reasoning in {name!r} could not be read; the rest of the response was.")

    def _recognize(self, data: JSONObject, alone: bool) -> None:
        """Reject payloads of other APIs, which would have no meaning here, until one of this API arrives.

        Payloads of no known API are skipped in streams: SDKs and gateways add events of their own.
        """
        if matches_api(self.api, data):
            self._recognized = True
        elif (data or alone) and not is_error(data):
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

    def _origin_of(self, model: str | None) -> Origin:
        """Return the origin of a response of a model; most payloads name the same one."""
        if model != self._last_origin.model:
            self._last_origin = replace(self._last_origin, model=model)
        return self._last_origin

    def _refusal(self, data: JSONObject) -> ProviderError:
        """Build the error for a payload with an error in a common format, which ends the response."""
        held = self._held_back() if self._running else []
        self._running = False
        error = data.get("error")
        fields = error if isinstance(error, dict) else data
        words = error if isinstance(error, str) else fields.get("message")
        return provider_error(fields, str(words or ""), held)

    def _counts_of(
        self,
        asked: int | None,
        written: int | None,
        *,
        model: str | None = None,
        reasoning: int | None = None,
        cached: int | None = None,
    ) -> list[Delta]:
        """Return token counts with their sum, if there are any."""
        if asked is None and written is None and reasoning is None:
            return []
        counts = UsageDelta(
            provider=self.provider,
            model=model or self.model,
            input_tokens=asked,
            output_tokens=written,
            total_tokens=None if asked is None or written is None else asked + written,
            reasoning_tokens=reasoning,
            cached_input_tokens=cached,
        )
        return [counts]

    def _truncated(self, deltas: Sequence[Delta] = (CloseDelta(status="incomplete"),)) -> DecodeError:
        return DecodeError(
            f"The {self.api} stream ended inside a response.",
            code="truncated_stream",
            hint="The connection was cut: pass on the error's `.deltas`, then end the run as failed.",
            provider=self.provider,
            deltas=deltas,
        )


def provider_error(fields: JSONObject, words: str, deltas: Sequence[Delta]) -> ProviderError:
    """Build the error of a provider from its code and type; what is open is incomplete."""
    code, kind = fields.get("code"), fields.get("type")
    return ProviderError(
        provider_code=None if code is None else str(code),
        provider_type=kind if isinstance(kind, str) else None,
        provider_message=words,
        deltas=(*deltas, CloseDelta(status="incomplete")),
    )


_MOST_MISFITS: Final = 16
"""After how many payloads of other forms a decoder stops looking for those that only add text."""

_DONE: Final = "[DONE]"
_TEXTS: Final = frozenset({ReasoningDelta, TextDelta, ToolCallDelta})
"""The deltas that add text to a unit."""

OF_OTHERS: Final = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What code for JSON may raise for other data."""


# -- signs of each API


def matches_api(api: str, data: JSONObject) -> bool:
    """Return whether a payload has a sign of an API.

    Examples:
        >>> matches_api("openai-chat", {"choices": []})
        True
    """
    return any(_fits(sign, data) for sign in _signs_of(api))


def looks_like(data: JSONObject) -> list[str]:
    """Return the APIs that a payload may belong to, starting with the one with the most specific sign.

    Examples:
        >>> looks_like({"candidates": []})
        ['gemini']
    """
    fitting = {api.id: [len(sign) for sign in api.signs if _fits(sign, data)] for api in provider_apis()}
    return sorted(filter(fitting.__getitem__, fitting), key=lambda api: -max(fitting[api]))


def is_error(data: JSONObject) -> bool:
    """Return whether a payload is an error in the format that all APIs use."""
    return bool(data.get("error")) or "error" in (data.get("type"), data.get("object"))


def _signs_of(api: str) -> tuple[Sign, ...]:
    known = find_api(api)
    return () if known is None else known.signs


def _fits(sign: Sign, data: JSONObject) -> bool:
    return all(name in data and _is(data[name], wanted) for name, wanted in sign.items())


def _is(value: Any, wanted: type | re.Pattern[str]) -> bool:
    if isinstance(wanted, re.Pattern):
        return isinstance(value, str) and wanted.fullmatch(value) is not None
    return isinstance(value, wanted)
