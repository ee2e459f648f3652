"""The emitter: deltas and parts in, AG-UI events out."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ag_ui.core import Event

from agui_reasoning.deltas import Delta, ResponseStart, UsageDelta
from agui_reasoning.deltas.assembler import Assembler
from agui_reasoning.deltas.fold import deltas_of
from agui_reasoning.deltas.operations import DELTA_TYPES
from agui_reasoning.emitter.stages import Stage, run_stages
from agui_reasoning.emitter.writer import Anchors, Writer
from agui_reasoning.errors import AGUIReasoningWarning, LocalProtocolError
from agui_reasoning.parts import PART_TYPES, Origin, Part, ToolCallPart, ToolResultPart

__all__ = ["Emitter"]


def new_uuid() -> str:
    """A random id."""
    return str(uuid.uuid4())


class Emitter:
    """Turns what a model produces into correctly paired AG-UI events, without the run frame.

    Whatever comes in, in whatever order, what comes out satisfies the protocol and the official clients.

    Examples:
        >>> from agui_reasoning.deltas import ReasoningDelta, TextDelta
        >>> emitter = Emitter()
        >>> events = emitter.receive(ReasoningDelta("Hm.")) + emitter.receive(TextDelta("Yes."))
        >>> [event.type.value for event in events + emitter.close()]  # doctest: +NORMALIZE_WHITESPACE
        ['REASONING_START', 'REASONING_MESSAGE_START', 'REASONING_MESSAGE_CONTENT',
         'REASONING_MESSAGE_END', 'REASONING_ENCRYPTED_VALUE', 'REASONING_END',
         'TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END']
    """

    def __init__(
        self,
        *,
        api: str | None = None,
        provider: str | None = None,
        model: str | None = None,
        anchors: Anchors = "required",
        stages: Sequence[Stage] = (),
        new_id: Callable[[], str] | None = None,
        now_ms: Callable[[], int] | None = None,
        on_warning: Callable[[str], None] | None = None,
        used_call_ids: Iterable[str] = (),
    ) -> None:
        """Start before the first response.

        Args:
            api: With ``provider`` and ``model`` the origin of a response that no `ResponseStart` announces.
            provider: Provider id.
            model: The model's name.
            anchors: When a response without reasoning gets an empty reasoning message to carry its values:
                where the provider requires them back, ``"always"`` or ``"never"``.
            stages: Event-to-event steps behind the emitter, in order.
            new_id: Makes ids of messages, spans and calls; default is a random UUID.
            now_ms: Unix time in milliseconds; without it no event has a timestamp.
            on_warning: Called with each warning; default is Python's ``warnings``.
            used_call_ids: Tool-call ids the thread holds already; a call that repeats one gets a new id.
        """
        named = any((api, provider, model))
        self._assembler = Assembler(Origin(provider, api, model) if named else None)
        self._writer = Writer(
            new_id=new_id or new_uuid,
            now_ms=now_ms,
            anchors=anchors,
            used_call_ids=used_call_ids,
            warn=on_warning or _warn,
        )
        self._stages = tuple(stages)
        self._parts = 0
        self._closed = False

    @property
    def usage(self) -> tuple[UsageDelta, ...]:
        """The token counts of each response that reported any."""
        return tuple(self._assembler.usages)

    @property
    def pending_calls(self) -> list[ToolCallPart]:
        """The calls that nobody has answered, but for the provider's own, under the ids the client knows."""
        return self._writer.pending_calls()

    def receive(self, item: Delta | Part) -> list[Event]:
        """Take one delta or part; give the events it causes.

        Raises:
            LocalProtocolError: The emitter is closed (``closed``), or the item is neither a delta nor a part
                (``not_an_item``). Nothing has changed.
        """
        if self._closed:
            raise LocalProtocolError(
                f"{type(item).__name__} came after the emitter was closed.",
                code="closed",
                hint="Make a new emitter for each run.",
                state="closed",
            )
        if isinstance(item, DELTA_TYPES):
            return run_stages(self._stages, self._apply(item))
        if isinstance(item, PART_TYPES):
            return run_stages(self._stages, [e for delta in self._deltas(item) for e in self._apply(delta)])
        raise LocalProtocolError(
            f"{type(item).__name__} is neither a delta nor a part.",
            code="not_an_item",
            hint="Feed deltas (agui_reasoning.deltas) or parts (agui_reasoning.parts).",
        )

    def close(self) -> list[Event]:
        """The stream ended: end what is open. A second call gives nothing."""
        return self._end(self._assembler.close)

    def abort(self) -> list[Event]:
        """The stream was cut: end what is open, and mark it incomplete. A second call gives nothing."""
        return self._end(self._assembler.abort)

    def _apply(self, delta: Delta) -> list[Event]:
        return self._writer.write(self._assembler.receive(delta))

    def _deltas(self, part: Part) -> Iterable[Delta]:
        self._parts += 1
        response = self._assembler.response
        foreign = part.origin is not None and (response is None or response.origin != part.origin)
        if foreign and not isinstance(part, ToolResultPart):
            yield ResponseStart(part.origin)
        yield from deltas_of(part, f"emitted part {self._parts}")

    def _end(self, how: Callable[[], Any]) -> list[Event]:
        if self._closed:
            return []
        self._closed = True
        events = self._writer.write(how()) + self._writer.finish()
        return run_stages(self._stages, events, close=True)


def _warn(message: str) -> None:
    warnings.warn(message, AGUIReasoningWarning, stacklevel=2)
