"""What the events of a response leave open if it ends early."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, cast

from ag_ui.core import BaseEvent, Event, RunErrorEvent
from pydantic import TypeAdapter, ValidationError

from agui_reasoning._ids import new_uuid
from agui_reasoning._shells.driver import SHUT_DOWN
from agui_reasoning.emitter._passthrough import Passthrough
from agui_reasoning.wire._encode import frames_of

__all__ = ["OpenEvents"]

_ENDS_RUN: Final = {"RUN_STARTED": False, "RUN_FINISHED": True, "RUN_ERROR": True}
_BOUNDARIES: Final = ("_START", "_END", "_STARTED", "_FINISHED", "_RESULT", "_ERROR")


class OpenEvents:
    """Tracks the events of an application, which no run keeps account of."""

    def __init__(self) -> None:
        self._open = Passthrough(new_uuid)
        self._ended = False

    def note(self, event: BaseEvent | Mapping[str, Any]) -> None:
        """Note what an event opens or closes."""
        kind = str(event["type"] if isinstance(event, Mapping) else event.type.value)
        if not kind.endswith(_BOUNDARIES):
            return
        self._ended = _ENDS_RUN.get(kind, self._ended)
        model = _model(event) if isinstance(event, Mapping) else cast("Event", event)
        if model is not None:
            self._open.note(model)

    def shut_down(self) -> bytes:
        """Return the frames that close what is open and fail the run, unless it has ended."""
        if self._ended:
            return b""
        return frames_of([*self._open.close(), RunErrorEvent(message=SHUT_DOWN, code="shutdown")])


def _model(event: Mapping[str, Any]) -> Event | None:
    """Return the model of an event given as JSON; ``None`` if it is malformed."""
    try:
        return _events().validate_python(event)
    except ValidationError:
        return None


@cache
def _events() -> TypeAdapter[Event]:
    return TypeAdapter(Event)
