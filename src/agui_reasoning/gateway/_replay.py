"""Replays of scripts and recordings: as an upstream, and as a provider that judges the requests it gets.

A vendor's SDK can call the replayed provider: pass the server's URL to ``anthropic`` as ``base_url``, and the
URL with ``/v1`` to ``openai``. Without the provider's keys, an opaque value counts as genuine if the replay
has sent it before.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

import anyio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agui_reasoning import aio
from agui_reasoning._driver import AgentItem, ModelStream
from agui_reasoning._strict_json import JSONObject, load
from agui_reasoning.deltas import Delta, ReasoningDelta
from agui_reasoning.errors import ConfigurationError, DecodeError, ProviderError
from agui_reasoning.gateway._framing import FRAMINGS, StreamFraming
from agui_reasoning.gateway._upstream import Upstream
from agui_reasoning.providers import decoder, provider_api, provider_apis
from agui_reasoning.providers.api import HTTPEndpoint, ProviderAPI
from agui_reasoning.replay import (
    CALL_ID,
    ENCRYPTED_CONTENT,
    REDACTED,
    RESULT,
    SIGNATURE,
    TRANSCRIPTS,
    Entry,
    Exchange,
    Speaker,
    choose,
    is_whole,
    payloads,
    read_answer,
    read_request,
    required_values,
    sequence,
)
from agui_reasoning.run import Run

_IDS: Final = frozenset({"id", "call_id", "item_id", "toolUseId"})
_SUFFIX: Final = re.compile(r"_[0-9a-f]{8}\Z")
_SPEAKERS: dict[str, Speaker] = {"user": "user", "assistant": "model", "tool": "tool"}


class ReplayUpstream(Upstream):
    """Replays recorded exchanges, without a key or network.

    A script answers a question with reasoning and a tool call, and a tool result with reasoning and text; it
    has exchanges for two questions. Its IDs are new in each run. A recording answers every request in the
    same way.

    Attributes:
        questions: The questions of the conversation that the exchanges belong to.
    """

    def __init__(
        self, exchange: str | Mapping[str, Any] = "anthropic-weather", *, delay_s: float = 0.0
    ) -> None:
        """Create an upstream.

        Args:
            exchange: The name of a script (`agui_reasoning.replay.script_names`), or a recording.
            delay_s: Seconds to wait before each payload.

        Raises:
            ConfigurationError: The script is unknown (``unknown_script``), or the API of the recording cannot
                be decoded (``unknown_api``).
            DecodeError: The recording is malformed (``bad_recording``).
        """
        self.name = f"replay:{exchange}" if isinstance(exchange, str) else "replay"
        self._exchanges = sequence(exchange)
        first = self._exchanges[0]
        self.api, self.provider, self.model = first["api"], first.get("provider"), first.get("model")
        self.reasons = _reasons(first)
        self._delay_s = delay_s
        self._is_script = isinstance(exchange, str)
        self._values: frozenset[tuple[str, str]] | None = None
        questions = (exchange.get("question") for exchange in self._exchanges)
        self.questions = tuple(dict.fromkeys(text for text in questions if isinstance(text, str)))

    async def agent(self, run: Run) -> AsyncIterator[AgentItem]:
        """Replay the exchange that matches the input."""
        roles = (message.role for message in run.input.messages)
        exchange = choose(self._exchanges, [_SPEAKERS[role] for role in roles if role in _SPEAKERS])
        if self._is_script:
            exchange = _with_fresh_ids(exchange, uuid4().hex[:8])
        source = exchange["response"] if is_whole(exchange) else _stream(exchange, self._delay_s)
        yield ModelStream(
            source, api=exchange["api"], provider=exchange.get("provider"), model=exchange.get("model")
        )

    def has_sent(self, kind: str, value: str) -> bool:
        """Return whether a response contains a value of the provider.

        Args:
            kind: Its kind, such as ``"signature"`` or ``"call id"``.
            value: Its value; the ID of a script may have the suffix of a run.
        """
        if self._values is None:
            self._values = frozenset(_values(self._exchanges))
        without_run = _SUFFIX.sub("", value) if self._is_script else value
        return not self._values.isdisjoint({(kind, value), (kind, without_run)})


def _values(exchanges: Iterable[Exchange]) -> Iterator[tuple[str, str]]:
    """Yield kind and text of the values in responses; incomplete recordings have fewer."""
    for exchange in exchanges:
        with suppress(DecodeError, ProviderError):
            yield from ((entry.kind, entry.value) for entry in required_values(read_answer(exchange)))


def _with_fresh_ids(value: Any, run: str, name: str = "") -> Any:
    """Return an exchange with new IDs, because front ends do not answer calls with IDs they have seen."""
    if isinstance(value, str):
        return f"{value}_{run}" if name in _IDS and value else value
    if isinstance(value, list):
        return [_with_fresh_ids(member, run) for member in value]
    if isinstance(value, dict):
        return {key: _with_fresh_ids(member, run, key) for key, member in value.items()}
    return value


def _reasons(exchange: Exchange) -> bool:
    """Return whether an exchange contains reasoning, up to the first error in it."""
    reader = decoder(exchange["api"])
    with suppress(DecodeError, ProviderError):
        if is_whole(exchange):
            return any(map(_is_reasoning, reader.whole(exchange["response"])))
        return any(_is_reasoning(delta) for item in payloads(exchange) for delta in reader.receive(item))
    return False


def _is_reasoning(delta: Delta) -> bool:
    return isinstance(delta, ReasoningDelta) and delta.text != ""


_STORED: Final[tuple[Speaker, ...]] = ("user", "model")
"""The speakers of the conversation that the provider has stored, if a request continues it."""


def provider_app(
    exchange: str | Mapping[str, Any],
    *,
    delay_s: float = 0.0,
    on_request: Callable[[dict[str, Any]], None] | None = None,
) -> Starlette:
    """Create an application that answers like the provider of an exchange.

    A script replays a complete conversation, and the request selects the exchange. Requests that the provider
    would reject get status 400: a result without its call, an opaque value that was changed or invented, or a
    call without its reasoning while the model waits for the result.

    Args:
        exchange: The name of a script (`agui_reasoning.replay.script_names`), or a recording, which answers
            every request. A streamed recording answers requests with ``"stream": true``, a whole response all
            others.
        delay_s: Seconds to wait before each event.
        on_request: Called with each request before the response; ``requests.append`` collects them.

    Raises:
        ConfigurationError: The script is unknown (``unknown_script``), or the API of the recording cannot be
            replayed (``unknown_api``).
        DecodeError: The recording is malformed (``bad_recording``).
    """
    exchanges = sequence(exchange)
    api = exchanges[0]["api"]
    spec = provider_api(api)
    if spec.http is None or api not in TRANSCRIPTS:
        replayed = [known.id for known in provider_apis() if known.http and known.id in TRANSCRIPTS]
        raise ConfigurationError(
            f"The API {api!r} cannot be replayed over HTTP.",
            code="unknown_api",
            hint=f"Use an exchange of one of: {', '.join(replayed)}.",
        )
    provider = _ReplayedProvider(
        spec, exchanges, spec.http, FRAMINGS[spec.http.framing], ProviderRules(exchanges), delay_s, on_request
    )
    return Starlette(routes=[Route(spec.http.base + spec.http.path, provider.answer, methods=["POST"])])


@dataclass(frozen=True, slots=True)
class _ReplayedProvider:
    api: ProviderAPI
    exchanges: Sequence[Exchange]
    http: HTTPEndpoint
    framing: StreamFraming
    rules: ProviderRules
    delay_s: float
    on_request: Callable[[dict[str, Any]], None] | None

    async def answer(self, request: Request) -> Response:
        body = load((await request.body()).decode(errors="replace"))
        if not isinstance(body, dict):
            return _refusal("The body is not a JSON object.")
        if self.on_request is not None:
            self.on_request(body)
        entries = read_request(self.api.id, body)
        stored = self.api.stores and bool(body.get(self.api.previous_id))
        if fault := self.rules.broken_by(entries, stored=stored):
            return _refusal(fault)
        exchange = choose(
            self.exchanges, (*(_STORED if stored else ()), *(entry.speaker for entry in entries))
        )
        whole = is_whole(exchange)
        streams = self.http.model_in_path or bool(body.get("stream"))
        if streams is whole:
            return _refusal(f"Only a {'whole response' if whole else 'stream'} is available.")
        if whole:
            return JSONResponse(exchange["response"])
        return StreamingResponse(self._frames(exchange), media_type=self.framing.media_type)

    async def _frames(self, exchange: Exchange) -> AsyncIterator[bytes]:
        for event in exchange["events"]:
            if self.delay_s:
                await anyio.sleep(self.delay_s)
            yield self.framing.write(self.http, event)


def _refusal(message: str) -> Response:
    """Return an error in a form that the vendors' SDKs can read."""
    error = {"type": "invalid_request_error", "message": f"replay: {message}"}
    return JSONResponse({"type": "error", "error": error}, 400)


_SEALED: Final = frozenset({SIGNATURE, REDACTED, ENCRYPTED_CONTENT})
"""The values that only a provider can create. Anthropic's signature covers the thinking next to it."""


class ProviderRules:
    """The rules of the provider of some exchanges."""

    def __init__(self, exchanges: Sequence[Exchange]) -> None:
        self._answers = [read_answer(exchange) for exchange in exchanges]
        transcript = TRANSCRIPTS[exchanges[0]["api"]]
        self._bond, self._bound = transcript.bond, transcript.bound
        self._given = {value for exchange in exchanges for value in _given(exchange)}

    def broken_by(self, entries: Sequence[Entry], *, stored: bool = False) -> str | None:
        """Return the violation in a request, or ``None``.

        ``stored`` says whether the provider has stored the conversation before these entries.
        """
        calls: set[str] = set()
        for entry in entries:
            if entry.kind == RESULT and entry.value not in calls and not stored:
                return f"{entry.path} is a result without a preceding call."
            if entry.kind in _SEALED and entry.value not in self._given:
                return f"{entry.path} was not created here, or was changed."
            calls |= {entry.value} if entry.kind == CALL_ID else set()
        return self._missing_reasoning(entries) if entries and entries[-1].speaker == "tool" else None

    def _missing_reasoning(self, entries: Sequence[Entry]) -> str | None:
        """Return the violation if a call lacks its reasoning while the model waits for a result."""
        returned = {(entry.kind, entry.value) for entry in entries}
        for answer in self._answers:
            if not any(one.kind == self._bond and (one.kind, one.value) in returned for one in answer):
                continue
            for one in answer:
                if one.kind in self._bound and (one.kind, one.value) not in returned:
                    return f"A call came back without its {one.kind}."
        return None


def _given(exchange: Exchange) -> Iterator[str]:
    """Yield all strings of an exchange, including opaque values of earlier responses."""
    request = exchange.get("request")
    earlier = read_request(exchange["api"], request) if isinstance(request, Mapping) else []
    yield from (entry.value for entry in (*earlier, *read_answer(exchange)) if entry.kind in _SEALED)
    yield from _strings(exchange.get("events") or exchange.get("response"))


def _strings(value: Any) -> Iterator[str]:
    """Yield the strings in a JSON value. Streams repeat an item with different values."""
    if isinstance(value, str) and value:  # values are empty at the start of a block
        yield value
    members = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for member in members:
        yield from _strings(member)


class ScriptedProvider(Upstream):
    """Builds the request that an SDK would send, judges it as a replayed provider does, and answers it."""

    live = True

    def __init__(
        self,
        exchanges: Sequence[Exchange],
        *,
        parameters: Mapping[str, Any],
        on_request: Callable[[JSONObject], None],
    ) -> None:
        """Take the exchanges of a script, in conversation order, and more fields of every request.

        ``on_request`` is called with each request before it is answered or refused.
        """
        first = exchanges[0]
        self.api, self.provider, self.model = first["api"], first["provider"], first["model"]
        self.name = f"replay:{first['id']}"
        self._named = first["request"]["model"]  # LiteLLM's name of the model has a prefix
        self._exchanges = exchanges
        self._rules = ProviderRules(exchanges)
        self._parameters = parameters
        self._on_request = on_request

    async def agent(self, run: Run) -> AsyncIterator[AgentItem]:
        """Answer with the exchange that fits the request."""
        request = await aio.request(run, apply_flags=True)
        body = request.merged({"model": self._named, "stream": True, **self._parameters})
        self._on_request(body)
        entries = read_request(str(self.api), body)
        if fault := self._rules.broken_by(entries):
            raise ProviderError(provider_type="invalid_request_error", provider_message=f"replay: {fault}")
        exchange = choose(self._exchanges, (entry.speaker for entry in entries))
        yield ModelStream(_stream(exchange), api=self.api, provider=self.provider, model=self.model)


async def _stream(exchange: Exchange, delay_s: float = 0.0) -> AsyncIterator[Any]:
    for payload in payloads(exchange):
        if delay_s:
            await anyio.sleep(delay_s)
        yield payload
