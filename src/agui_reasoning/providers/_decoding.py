"""Decodes streams and whole responses of any wire format, by API ID."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from agui_reasoning._strict_json import Malformed, load
from agui_reasoning.deltas import Delta, FinishDelta, ResponseStart, UsageDelta, fold
from agui_reasoning.errors import AGUIReasoningWarning, ConfigurationError
from agui_reasoning.parts import Origin, Part
from agui_reasoning.providers.api import ProviderAPI
from agui_reasoning.providers.base import Decoder
from agui_reasoning.providers.inline import InlineThought, Tagging
from agui_reasoning.providers.payload import JSONObject
from agui_reasoning.providers.registry import api_of, named_origin
from agui_reasoning.providers.think_tags import DEFAULT_TAGS


def decoder(
    api: str | ProviderAPI | None = None,
    *,
    provider: str | None = None,
    model: str | None = None,
    origin: Origin | None = None,
    stream_id: str | None = None,
    tags: Mapping[str, str] | None = None,
    starts_in_reasoning: bool = False,
) -> Decoder:
    """Create the decoder of a stream.

    Args:
        api: One of `API_IDS`, or a format of your own.
        provider: The provider, such as ``"openrouter"``; default is the vendor of a single-vendor API.
        model: The model name, if the payloads do not contain it.
        origin: API, provider, model and account, instead of the three arguments before.
        stream_id: The stream to decode of a WebSocket connection that carries several
            (``openai-responses``). Use one decoder for each; each skips the events of the others.
        tags: Opening to closing tags of reasoning inside the answer, instead of `think_tags.DEFAULT_TAGS`
            (``openai-chat``, ``litellm``, ``ollama``, ``mistral-chat``).
        starts_in_reasoning: Whether answers start inside reasoning, because the prompt template contains the
            opening tag and the server does not split it off. The same APIs.

    Raises:
        ConfigurationError: The API ID is unknown (``unknown_api``) or missing (``no_api``), the API has no
            such option (``wrong_option``), or the tags are invalid (``bad_tags``).

    Examples:
        >>> decode = decoder("anthropic-messages")
        >>> decode.receive({"type": "ping"})
        []
    """
    named = named_origin(origin, api=api, provider=provider, model=model)
    spec = api_of(named)
    reader = spec.load_decoder()(provider=named.provider, model=named.model)
    if named.account is not None:
        reader.use_account(named.account)
    if stream_id is not None and not reader.multiplexed:
        raise ConfigurationError(
            f"{reader.api} does not support `stream_id`.",
            code="wrong_option",
            hint="Remove it: a connection of this API carries one stream.",
        )
    reader.stream_id = stream_id
    if tags is not None or starts_in_reasoning:
        if not reader.splits_tags:
            raise ConfigurationError(
                f"{reader.api} does not support `tags` and `starts_in_reasoning`.",
                code="wrong_option",
                hint="Remove them: this API has fields for reasoning.",
            )
        reader.tagging = Tagging(DEFAULT_TAGS if tags is None else tags, starts_in_reasoning)
        InlineThought(tags=reader.tagging.tags)  # rejects invalid tags before the first answer
    return reader


def decode_response(
    api: str | ProviderAPI | None,
    response: Any,
    *,
    provider: str | None = None,
    model: str | None = None,
    origin: Origin | None = None,
) -> list[Part]:
    """Decode a whole response.

    Args:
        api: One of `API_IDS`, or a format of your own; ``None`` with ``origin``.
        response: The API's JSON as a dict, or the SDK's object.
        provider: See `decoder`.
        model: See `decoder`.
        origin: API, provider, model and account, instead of ``api``, ``provider`` and ``model``.

    Raises:
        ConfigurationError: The API ID is unknown (``unknown_api``) or missing (``no_api``), or there is an
            origin beside other names (``wrong_option``).
        DecodeError: The response does not have the API's format.
        ProviderError: The response is an error of the provider.

    Warns:
        AGUIReasoningWarning: Something of the response was omitted.
    """
    reader = decoder(api, provider=provider, model=model, origin=origin)
    parts = fold(reader.whole(response))
    for sentence in reader.warnings:
        warnings.warn(sentence, AGUIReasoningWarning, stacklevel=2)
    return parts


# -- wire formats that an application brings


class _Reader(Protocol):
    """What an application's format is decoded by."""

    def receive(self, payload: Any, /) -> Sequence[Delta]: ...
    def whole(self, response: Any, /) -> Sequence[Delta]: ...
    def close(self) -> Sequence[Delta]: ...


def decoder_of(api: str, make: Callable[..., Any]) -> Callable[..., Decoder]:
    """Return what creates the decoder of a stream: the application's, if it is a `Decoder`."""
    is_decoder = isinstance(make, type) and issubclass(make, Decoder)
    return make if is_decoder else partial(_OwnDecoder, api, make)


class _OwnDecoder(Decoder):
    """Passes payloads to the application's object, and says where its responses come from."""

    def __init__(
        self, api: str, make: Callable[..., _Reader], *, provider: str | None = None, model: str | None = None
    ) -> None:
        self.api = api  # type: ignore[misc]
        super().__init__(provider=provider or api, model=model)
        self._reader = make(provider=self.provider, model=model)

    def receive(self, payload: Any) -> list[Delta]:
        value = load(payload) if isinstance(payload, str) else payload
        return self._placed(self._reader.receive(payload if isinstance(value, Malformed) else value))

    def whole(self, response: Any) -> list[Delta]:
        return self._placed(self._reader.whole(response))

    def close(self) -> list[Delta]:
        return self._placed(self._reader.close())

    def _placed(self, deltas: Iterable[Delta]) -> list[Delta]:
        """Put the start of a response before its first delta, unless there is one."""
        self.warnings = list(getattr(self._reader, "warnings", ()))
        placed: list[Delta] = []
        for delta in deltas:
            if not self._running and not isinstance(delta, ResponseStart | UsageDelta):
                placed.append(ResponseStart(self._last_origin))
            if not isinstance(delta, UsageDelta):
                self._running = not isinstance(delta, FinishDelta)
            placed.append(delta)
        return placed

    def _whole(self, data: JSONObject, raw: JSONObject) -> list[Delta]:
        raise NotImplementedError
