"""Reads the stream of a framework as the items of a run: what the readers of all frameworks share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache, partial
from traceback import walk_tb
from typing import Any, Final, Generic, Protocol, TypeVar, get_args

from ag_ui.core import BaseEvent
from msgspec import Struct, ValidationError, convert, structs, to_builtins

from agui_reasoning._driver import AgentItem, ModelStream, explain
from agui_reasoning.deltas import CloseDelta, Delta, FinishDelta, OpaqueDelta, ResponseStart
from agui_reasoning.errors import DecodeError, ProviderError
from agui_reasoning.parts import Opaque, Origin
from agui_reasoning.providers.base import OF_OTHERS
from agui_reasoning.run import Run


class FrameworkReader(ABC):
    """Reads what a framework yields in one run of an agent."""

    def __init__(self, run: Run) -> None:
        self._run = run

    @classmethod
    def stream(cls, source: Any) -> ModelStream:
        """Return the model stream of what a framework yields.

        An application may put AG-UI events between its events: they pass.
        """
        return ModelStream(source, reader=partial(_WithEvents, cls))

    @abstractmethod
    def receive(self, payload: Any) -> Sequence[AgentItem]:
        """Read an event; those that repeat others give nothing."""

    def whole(self, response: Any) -> Sequence[AgentItem]:
        """Read a source that is not a stream: the result of a run, or one event."""
        return self.receive(response)

    @abstractmethod
    def close(self) -> Sequence[AgentItem]:
        """End what is still open."""

    @staticmethod
    def _events_in(value: Any) -> list[BaseEvent]:
        """Return the AG-UI events that an application gave to a framework: one, or those of a list."""
        given = value if isinstance(value, list | tuple) else [value]
        return [one for one in given if isinstance(one, BaseEvent)]

    def _ignored(self, what: str) -> list[AgentItem]:
        """Warn, once per run, of what the run does not show."""
        self._run.warn_once(
            [f"{what} in the stream of the framework are ignored: AG-UI has no place for them."]
        )
        return []


class _WithEvents:
    """Passes AG-UI events on, and gives the rest to the reader of a framework."""

    of_framework = True

    def __init__(self, reader: Callable[[Run], FrameworkReader], run: Run) -> None:
        reading = reader(run)
        self.receive, self.whole = partial(_read, reading.receive), partial(_read, reading.whole)
        self.close = partial(_read, reading.close)


def _read(read: Callable[..., Sequence[AgentItem]], *payload: Any) -> Sequence[AgentItem]:
    """Read an object of the stream, or the end of the stream."""
    if payload and isinstance(payload[0], BaseEvent):
        return payload
    try:
        return _checked(read(*payload))
    except (*OF_OTHERS, ValidationError) as error:
        frames = [frame for frame, _ in walk_tb(error.__traceback__)]
        if any(frame.f_globals.get("__name__") == Run.__module__ for frame in frames):
            raise  # of a callback of the application: nothing that is malformed comes to a run
        raise DecodeError(
            f"{_named(*payload)} is malformed: {type(error).__name__} in {frames[-1].f_code.co_qualname}.",
            code="bad_payload",
            hint="Check the version of the framework; everything before this object was delivered.",
        ) from None  # its text may quote the object


def _named(payload: Any = None) -> str:
    return "An object of the stream" if payload is None else f"A {type(payload).__name__}"


def _checked(items: Sequence[Any]) -> Sequence[Any]:
    """Raise an error if a member of a delta has another type than its class says."""
    for item in items:
        if isinstance(item, Struct):
            for name, known in _known_of(type(item)):
                value = getattr(item, name)
                if type(value) not in known and not (type(value) is str and value in known):
                    convert(to_builtins(item, enc_hook=id), type(item))
                    break
    return items


@cache
def _known_of(kind: type[Struct]) -> Sequence[tuple[str, frozenset[Any]]]:
    """Return of each member the types and words that need no other check."""
    types = {field.name: get_args(field.type) or [field.type] for field in structs.fields(kind)}
    return [
        (name, frozenset(one for one in known if one in _PLAIN or type(one) is str))
        for name, known in types.items()
    ]


_PLAIN: Final = frozenset({str, int, bool, type(None)})


def gemini_signature(value: str, attach: str) -> Opaque:
    """Return a signature of Gemini, which frameworks keep as base64 beside what it signs.

    It signs ``self``, ``text`` or ``tool_call:<id>``.
    """
    return Opaque("gemini.thought_signature", value, "base64", attach)


# -- responses


class OpenResponse:
    """One response: opens with its first unit, and ends a unit when another begins."""

    def __init__(self, origin: Origin) -> None:
        self.open = False
        self._origin = origin
        self.current: str | None = None  # the key of the open unit
        self._known: set[str] = set()
        self._segments: dict[str, list[Any]] = {}
        self._values: dict[str, Opaque] = {}

    def begin(self) -> list[Delta]:
        """Open the response, unless it is open."""
        if self.open:
            return []
        self.open = True
        return [ResponseStart(self._origin)]

    def unit(self, key: str, text: str = "") -> list[Delta]:
        """Begin or continue a unit. Without text, one that has ended stays so: an ID or a value came late."""
        if key == self.current or (key in self._known and not text):
            return []
        ended = self.end_unit()
        self.current = key
        self._known.add(key)
        return ended

    def has(self, key: str) -> bool:
        return key in self._known

    def end_unit(self) -> list[Delta]:
        """End the open unit, with its value. Calls are no units here, because parallel ones may alternate."""
        key, self.current = self.current, None
        if key is None:
            return []
        value = self._values.pop(key, None)
        return [*([] if value is None else [OpaqueDelta(value, key=key)]), CloseDelta(key=key)]

    def keep(self, key: str, value: Opaque | None) -> None:
        """Keep a value that may still change until its unit ends."""
        if value is not None:
            self._values[key] = value

    def segment(self, key: str, place: Any) -> int:
        """Return the number of a segment in its unit, from what the framework names it by."""
        places = self._segments.setdefault(key, [])
        if place not in places:
            places.append(place)
        return places.index(place)

    def has_segments(self, key: str) -> bool:
        return key in self._segments

    def end(self, reason: str | None = None, details: Mapping[str, Any] | None = None) -> list[Delta]:
        """End the response: before its tools run, or when another one begins.

        Only Claude's stop reason for a refusal has this name.
        """
        if not self.open:
            return []
        ended = self.end_unit()
        self.open = False
        return [*ended, FinishDelta(reason, details=details, refused=reason == "refusal")]


# -- subagents


class _Closable(Protocol):
    def close(self) -> Sequence[AgentItem]:
        """Return the last items."""


KeyT = TypeVar("KeyT", bound=Hashable)
ReaderT = TypeVar("ReaderT", bound=_Closable)


class Subagents(Generic[KeyT, ReaderT]):
    """The subagents at work, by what the framework knows them by, each with a reader of its own."""

    def __init__(self, reader: Callable[[Run], ReaderT]) -> None:
        self._reader = reader
        self._at_work: dict[KeyT, tuple[Run, ReaderT]] = {}

    def run(self, key: KeyT | None) -> Run | None:
        """Return the run of a subagent; ``None`` if there is none."""
        found = None if key is None else self._at_work.get(key)
        return None if found is None else found[0]

    def read(
        self, key: KeyT, parent: Run, name: str, read: Callable[[ReaderT], Sequence[AgentItem]]
    ) -> list[AgentItem]:
        """Return the events of what a subagent says; it begins with the first."""
        begun: list[AgentItem] = []
        if key not in self._at_work:
            run = parent.subagent(name)
            self._at_work[key] = run, self._reader(run)
            begun += run.start()
        run, reader = self._at_work[key]
        return [*begun, *_shown(run, read(reader))]

    def end(self, wanted: Callable[[KeyT], bool] = lambda _: True) -> list[AgentItem]:
        """Return the last events of subagents: of all, or those wanted. The newest ends first."""
        ended: list[AgentItem] = []
        for key in [key for key in reversed(self._at_work) if wanted(key)]:
            run, reader = self._at_work.pop(key)
            ended += [*_shown(run, reader.close()), *run.finish()]
        return ended

    def fail(self, key: KeyT, error: ProviderError) -> list[AgentItem]:
        """Return the last events of a subagent whose provider failed."""
        run, _ = self._at_work.pop(key)
        explanation = explain(error, run.origin)
        assert explanation is not None  # it is the error of a provider
        return [*_shown(run, error.deltas), *run.fail(explanation.sentence, code=explanation.code)]


def _shown(run: Run, items: Sequence[Any]) -> list[AgentItem]:
    return [event for item in _checked(items) for event in run.receive(item)]
