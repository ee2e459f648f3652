"""Model streams: what an agent yields to show a model's answer, and what decodes their payloads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from itertools import repeat
from typing import Any, Final, Protocol, TypeAlias

from ag_ui.core import BaseEvent
from msgspec import convert
from pydantic import BaseModel

from agui_reasoning._driver._sources import END, takes_request
from agui_reasoning.deltas import Delta, FinishDelta, NativeDelta, OpaqueDelta, ResponseStart
from agui_reasoning.emitter import BaseEmitter
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.parts import Origin, Part
from agui_reasoning.providers import decoder
from agui_reasoning.providers.api import ProviderAPI
from agui_reasoning.providers.base import Decoder, OfAgent
from agui_reasoning.providers.payload import UNLIKE, Continued
from agui_reasoning.providers.registry import named_origin
from agui_reasoning.run import RequestFields, Run, api_id
from agui_reasoning.wire import write_json

_OF_REQUEST: Final = tuple((one.name, one.default) for one in fields(RequestFields))


@dataclass(frozen=True, slots=True, eq=False)
class ModelStream(RequestFields):
    """A model's answer for a run to open, read and close.

    A source that takes the request is called with a `ProviderRequest`, built from the history of the run. If
    the provider refuses it because of reasoning in it, before the first payload, the source is called once
    more, with a request without what was refused.

    Attributes:
        source: The SDK's stream, an awaitable of it, a context manager that returns it, or a callable that
            returns any of these; also an iterable of payloads, and a whole response. The callable takes no
            argument or the request. One that is not ``async`` is called in a worker thread by asynchronous
            runs.
        api: The API ID, or a `ProviderAPI` of your own; default is the run's.
        provider: The provider; default is the run's.
        model: The model's name; default is the run's.
        reader: A function of the run that creates a payload reader; default is the decoder of the API. The
            modules of `agui_reasoning.interop` set it for the events of agent frameworks.
        system: System instructions of the request. This and the next ten fields are arguments of
            `Run.request`, for sources that take the request.
        tools: The tools of the request; default is the input's.
        store: Whether the provider stores the response, if it can.
        previous_response_id: The turn that the provider has stored, with everything before it. If it no
            longer has it, the source is called once more, with the whole conversation.
        conversation: The ID of the provider's conversation that stores it: see `build_request`.
        apply_flags: Add the fields that the policy recommends.
        history: The conversation to send; default is that of the run.
        keep_turns: Send only the newest part of it.
        foreign_reasoning: Whether reasoning that only another provider or model can read is sent as text.
        refused_turns: Whether turns that the provider refused are left out.
        policy: Rows of the echo policy that are tried before those of the run.
        origin: API, provider and model, instead of ``api``, ``provider`` and ``model``.
        stream_id: The stream to read, if the payloads are those of a WebSocket connection that carries
            several (``openai-responses``); events of others are skipped.
        tags: Opening to closing tags of reasoning inside the answer; default is the run's.
        starts_in_reasoning: Whether the answer starts inside reasoning; default is what the run says.

    Raises:
        ConfigurationError: A field of the request is set, but the source takes no request, there is an
            origin beside ``api``, ``provider`` or ``model``, the reader cannot be called, or there is an
            option of the decoder beside it (``wrong_option``).
    """

    source: Any
    api: str | ProviderAPI | None = None
    provider: str | None = None
    model: str | None = None
    reader: Callable[[Run], PayloadReader] | None = None
    _: KW_ONLY
    origin: Origin | None = None
    stream_id: str | None = None
    tags: Mapping[str, str] | None = None
    starts_in_reasoning: bool | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "api", api_id(self.api))
        self._named()
        self._check_reader()
        given = [name for name, default in _OF_REQUEST if getattr(self, name) != default]
        if given and not takes_request(self.source):
            raise ConfigurationError(
                f"The model stream has {', '.join(given)}, but its source takes no request.",
                code="wrong_option",
                hint="Pass a function of the request, or pass these arguments to `Run.request`.",
            )

    def _check_reader(self) -> None:
        if self.reader is None:
            return
        if not callable(self.reader):
            raise ConfigurationError(
                f"The reader of the model stream is {type(self.reader).__name__}, and cannot be called.",
                code="wrong_option",
                hint="Pass what makes it from the run, such as its class.",
            )
        of_decoder = "stream_id", "tags", "starts_in_reasoning"
        if given := [name for name in of_decoder if getattr(self, name) is not None]:
            raise ConfigurationError(
                f"The model stream has a reader, and also {', '.join(given)}.",
                code="wrong_option",
                hint="Pass them to the decoder that the reader uses.",
            )

    def __repr__(self) -> str:
        return f"ModelStream({type(self.source).__name__}, api={self._named().api!r})"

    def _named(self) -> Origin:
        return named_origin(self.origin, api=self.api, provider=self.provider, model=self.model)


AgentItem: TypeAlias = ModelStream | Delta | Part | BaseModel | Mapping[str, Any]
"""An item that an agent yields. Mappings, and models but ``Interrupt`` and ``UserMessage``, are events."""


class PayloadReader(Protocol):
    """Turns what a source yields into items for the run."""

    def receive(self, payload: Any) -> Sequence[AgentItem]:
        """Read one payload of a stream."""

    def whole(self, response: Any) -> Sequence[AgentItem]:
        """Read a source that is not a stream."""

    def close(self) -> Sequence[AgentItem]:
        """End the stream."""


def reading(run: Run, stream: ModelStream) -> PayloadReader:
    """Choose what reads a model stream.

    Raises:
        ConfigurationError: Neither the stream nor the run names an API (``no_api``), or there is no such API
            (``unknown_api``).
    """
    return Reading(run, stream) if stream.reader is None else stream.reader(run)


def target_of(run: Run, stream: ModelStream) -> Origin:
    """Return the API, provider and model of a stream.

    Raises:
        ConfigurationError: Neither the stream nor the run names an API (``no_api``).
    """
    target = origin_of(run, stream)
    if target.api is None:
        raise ConfigurationError(
            "Neither the model stream nor its run names an API.",
            code="no_api",
            hint='Pass api=, for example ModelStream(source, api="openai-responses").',
        )
    return target


def origin_of(run: Run, stream: ModelStream) -> Origin:
    """Return what is known of the API, provider and model of a stream."""
    named, default = stream._named(), run.origin
    api = named.api or default.api
    return named.completed(default if api == default.api else Origin(api=api))


class Reading:
    """Decodes the payloads of a model stream for a run.

    Attributes:
        of_provider: Whether errors of the stream are those of the provider, not of an agent framework.
    """

    of_provider = True

    def __init__(self, run: Run, stream: ModelStream) -> None:
        """Choose the decoder.

        Raises:
            ConfigurationError: Neither the stream nor the run names an API (``no_api``), there is no such
                API (``unknown_api``), or it does not support an option of the stream (``wrong_option``).
        """
        target = target_of(run, stream)
        same = target.api == run.api
        starts = stream.starts_in_reasoning
        if starts is None:
            starts = same and run.starts_in_reasoning
        self._decoder = decoder(
            origin=target,
            stream_id=stream.stream_id,
            tags=stream.tags or (run.tags if same else None),
            starts_in_reasoning=starts,
        )
        self._decoder.splits_agents = True
        self._agents = ModelAgents(run)
        self._run = run
        self._more: Continued | None = None

    def receive(self, payload: Any) -> Sequence[Delta | BaseEvent]:
        """Decode one payload of the stream."""
        try:
            return self._agents.shown(
                self._decoder.receive(_unwrapped(payload) if isinstance(payload, tuple) else payload)
            )
        finally:
            if self._decoder.warnings:
                self._pass_on_warnings()

    def growth(self, payloads: Any) -> Growth | None:
        """Return the frames of the payloads that follow, if two in a row added text to the same unit."""
        last, self._more = self._more, self._decoder.more
        if last is None or last is not self._more:
            return None
        return growth(self._decoder, self._run._emitter, payloads)

    def whole(self, response: Any) -> Sequence[Delta | BaseEvent]:
        """Decode a whole response."""
        try:
            return self._agents.shown(self._decoder.whole(response))
        finally:
            self._pass_on_warnings()

    def close(self) -> list[Delta]:
        """End the stream.

        Raises:
            DecodeError: The stream ended inside a response (``truncated_stream``).
        """
        try:
            return self._decoder.close()
        finally:
            self._pass_on_warnings()

    def _pass_on_warnings(self) -> None:
        if self._decoder.warnings:
            self._run.warn_once(self._decoder.warnings)


def _unwrapped(payload: Any) -> Any:
    """Take the payload out of a pair: ``(chunk, metadata)`` of LangGraph, ``(response, chunk)`` of xAI."""
    while isinstance(payload, tuple) and len(payload) == 2:
        payload = payload[0] if isinstance(payload[1], Mapping) else payload[1]
    return payload


# -- fast path: a payload that only adds text becomes the frame of that text in one step. Decoder and emitter
# have a fast path each, for what continues a unit. This joins the two as long as neither leaves its own


class Growth:
    """The frames of payloads that only add text, up to one that must be read in full.

    Iterate over `frames` in synchronous code. In asynchronous code, iterate over `payloads` in a ``with``
    block of this, and pass each to `frame`. The block keeps an error for `left`.

    Attributes:
        payloads: The payloads.
        frames: The frames, each made when it is asked for.
    """

    __slots__ = ("_error", "_frames_by_hand", "_given", "_left", "frames", "payloads")

    def __init__(self, more: Continued, emitter: BaseEmitter, payloads: Any) -> None:
        self.payloads = payloads
        self._given: list[Any] = []
        self._left = END
        self._error: Exception | None = None
        self.frames = self._grow(more, emitter, payloads)
        self._frames_by_hand = self._grow(more, emitter, map(list.pop, repeat(self._given)))

    def frame(self, payload: Any) -> bytes:
        """Return the frame of a payload, or end the block if it must be read in full."""
        self._given.append(payload)
        return next(self._frames_by_hand)

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        if isinstance(error, Exception) and not isinstance(error, StopIteration):
            self._error = error
        return isinstance(error, Exception)

    def left(self) -> Any:
        """Return the payload that must be read in full, or `END`; raise the error that came first."""
        if self._error is None:
            return self._left
        error, self._error = self._error, None
        try:
            raise error
        finally:
            del error  # its traceback refers to this frame

    def _grow(self, more: Continued, emitter: BaseEmitter, payloads: Iterator[Any]) -> Iterator[bytes]:
        # A single generator, because each call takes about a tenth of the whole.
        fast: Any = emitter.fast
        struct, json, text_of = more.shape.struct, more.shape.json, more.text_of
        form, write, append = fast.form, fast.frames(), fast.grew.pieces.append
        with self:  # an error is raised by `left`, where the source is open
            for payload in payloads:
                kind = type(payload)
                try:
                    if emitter.fast is not fast:
                        break
                    if kind is dict:
                        text = text_of(convert(payload, struct))
                    elif kind is str or kind is bytes:
                        text = text_of(json(payload))
                    else:
                        break
                except UNLIKE:
                    break
                if not text:
                    break
                if text.isascii():  # most texts; a call less
                    append(text)
                    yield form % write_json(text)
                elif (frame := write(text)) is not None:
                    yield frame
                else:
                    break  # a lone surrogate, which waits for the other one
            else:
                return
            self._left = payload


def growth(decoder: Decoder, emitter: BaseEmitter, payloads: Any) -> Growth | None:
    """Return the frames of the payloads that follow, if the last one added text and nothing else."""
    more = decoder.more
    if more is None or type(decoder).receive is not Decoder.receive:
        return None  # an application may change what was decoded
    delta = more.delta("Hm")
    fast = emitter.fast or emitter._another_path(delta)
    if fast is None or not fast.takes(delta):
        return None
    fast.frames()
    return None if fast.form is None else Growth(more, emitter, payloads)


# -- the agents of a response that several wrote

_BOUNDS: Final = (FinishDelta, ResponseStart)
_CONCERNED: Final = frozenset({OfAgent, NativeDelta, *_BOUNDS})


class ModelAgents:
    """The agents at work in the current response, by name.

    A subagent only shows what its agent says: its items belong to the response, and go back with that.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._at_work: dict[str, Run] = {}
        self._start: ResponseStart | None = None

    def shown(self, deltas: Sequence[Delta]) -> Sequence[Delta | BaseEvent]:
        """Return the deltas of the response, and the events of the subagents in place of theirs."""
        if _CONCERNED.isdisjoint(map(type, deltas)):
            return deltas
        return [item for delta in deltas for item in self._items(delta)]

    def _items(self, delta: Any) -> Iterable[Delta | BaseEvent]:
        if isinstance(delta, OfAgent):
            # Its values are in its native part.
            return [] if isinstance(delta.delta, OpaqueDelta) else self._said(delta.agent, delta.delta)
        if isinstance(delta, _BOUNDS):
            if isinstance(delta, ResponseStart):
                self._start = delta
            return [*self._ended(), delta]
        if isinstance(delta, NativeDelta) and self._must_not_keep(delta):
            return []
        return [delta]

    def _must_not_keep(self, delta: NativeDelta) -> bool:
        """Return whether a block contains reasoning that the client must not see and could read."""
        return delta.kind == "openai.reasoning" and self._run.visibility != "full" and self._run.keys is None

    def _said(self, agent: str, delta: Delta) -> list[BaseEvent]:
        begun = self._begun(agent)
        return [*begun, *self._at_work[agent].receive(delta)]

    def _begun(self, agent: str) -> list[BaseEvent]:
        """Begin the subagent, after those above it."""
        if agent in self._at_work:
            return []
        above, _, name = agent.rpartition("/")
        is_below_another = above.strip("/").count("/") > 0
        events = self._begun(above) if is_below_another else []
        parent = self._at_work[above] if is_below_another else self._run
        run = self._at_work[agent] = parent.subagent(name or agent)
        origin = None if self._start is None else self._start.origin
        return [*events, *run.start(), *run.receive(ResponseStart(origin))]

    def _ended(self) -> list[BaseEvent]:
        """End all subagents, the newest first."""
        runs = list(reversed(self._at_work.values()))
        self._at_work.clear()
        return [event for run in runs for event in run.finish()]
