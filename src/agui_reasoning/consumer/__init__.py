"""The consumer of AG-UI streams.

`Conversation` runs the stages of the specification in order: compatibility, enforcement, chunk expansion,
verification and reduction. Internally, events are plain JSON. The models of `ag_ui` are only returned, never
used to validate, because they coerce values.
"""

# The stages are `_pipeline`, `_expand`, `_verify` and `_reduce`; a delta that repeats the event before it
# takes a fast path around them, `_fast`.

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ag_ui.core import Event
from pydantic import BaseModel

from agui_reasoning._lazy import lazy_attributes
from agui_reasoning._strict_json import JSONObject
from agui_reasoning._wire_events import event_model
from agui_reasoning.consumer import _faults as faults  # noqa: F401 -- for the other packages
from agui_reasoning.consumer._conversation import Conversation, reduce_events
from agui_reasoning.consumer._expand import Expander as Expander
from agui_reasoning.consumer._fast import Repeats as Repeats
from agui_reasoning.consumer._faults import Notice as Notice
from agui_reasoning.consumer._faults import cut as cut
from agui_reasoning.consumer._faults import notice_sink
from agui_reasoning.consumer._faults import quoted as quoted
from agui_reasoning.consumer._history import HeldMessage as HeldMessage
from agui_reasoning.consumer._history import HeldMessages as HeldMessages
from agui_reasoning.consumer._history import kind_of as kind_of
from agui_reasoning.consumer._models import PendingCall
from agui_reasoning.consumer._models import plain_json as plain_json
from agui_reasoning.consumer._outgoing import UserContent as UserContent
from agui_reasoning.consumer._patch import Document, PatchError
from agui_reasoning.consumer._pipeline import Pipeline as Pipeline
from agui_reasoning.consumer._pipeline import unknown_member as unknown_member
from agui_reasoning.consumer._reduce import Reducer as Reducer
from agui_reasoning.consumer._schema import EVENTS as EVENTS
from agui_reasoning.consumer._schema import MEDIA_KINDS as MEDIA_KINDS
from agui_reasoning.consumer._schema_types import places_of as places_of
from agui_reasoning.consumer._schema_types import without_malformed_options as without_malformed_options
from agui_reasoning.consumer._verify import Phase as Phase

if TYPE_CHECKING:
    from agui_reasoning._lint import Finding, check_events


# Names with an alias are for the other packages of the library, not for its users.
__all__ = ["Conversation", "Finding", "PendingCall", "check_events", "compact", "reduce_events"]

if not TYPE_CHECKING:  # a type checker would accept any attribute
    __getattr__, __dir__ = lazy_attributes(__name__, {"agui_reasoning._lint": "Finding check_events"})


# -- compaction

_ITEM_IDS: Final = {
    "TEXT_MESSAGE_CONTENT": "messageId",
    "REASONING_MESSAGE_CONTENT": "messageId",
    "TOOL_CALL_ARGS": "toolCallId",
}
_STATE: Final = frozenset({"STATE_SNAPSHOT", "STATE_DELTA"})
_BARE_STATE: Final = {"type", "snapshot", "delta", "timestamp"}


def compact(
    events: Iterable[Event | BaseModel | Mapping[str, Any]],
    *,
    on_warning: Callable[[str], None] | None = None,
) -> list[Event]:
    """Merge the deltas of a stored stream.

    Deltas of the same message or call are merged if only other deltas are between them. State deltas directly
    after a state snapshot are applied to it. Other events keep their positions. A replay results in the same
    messages, metadata and state. Chunks are expanded into starts, contents and ends.

    Args:
        events: The stream from its beginning; it may be truncated.
        on_warning: Called with each warning; default is Python's ``warnings``.

    Returns:
        The merged events. Deltas with a ``rawEvent`` are not merged.

    Raises:
        RemoteProtocolError: The stream breaks the protocol.

    Source:
        AG-UI 1.1, C58; reasoning included.
    """
    fast, folding = Repeats(), _Folding()
    pipeline = Pipeline(fast.watched(notice_sink(on_warning)))
    for event in events:
        if fast.grow(event) is not None:
            continue
        fast.close()
        delivered = pipeline.receive(event)
        for one in delivered:
            folding.receive(one)
        fast.open(event, delivered, folding.growth)
    return [event_model(event) for event in folding.close()]


class _Folding:
    """The events so far, and the trailing deltas that later ones are merged into.

    Attributes:
        growth: The deltas that the last event was added to, if any.
    """

    def __init__(self) -> None:
        self.growth: list[str] | None = None
        self._events: list[JSONObject] = []
        self._open: dict[tuple[str, str], tuple[JSONObject, list[str]]] = {}
        self._state: Document | None = None

    def receive(self, event: JSONObject) -> None:
        """Add the next event."""
        self.growth = None
        field = _ITEM_IDS.get(event["type"])
        if field is not None and "rawEvent" not in event:
            self._settle_state()
            self._delta(event, (event["type"], event[field]))
            return
        self._settle_deltas()
        if not (event["type"] in _STATE and self._fold_state(event)):
            self._settle_state()
            self._events.append(event)

    def close(self) -> list[JSONObject]:
        """Return all events."""
        self._settle_deltas()
        self._settle_state()
        return self._events

    def _delta(self, event: JSONObject, item: tuple[str, str]) -> None:
        known = self._open.get(item)
        if known is None:
            known = self._open[item] = (dict(event), [])
            self._events.append(known[0])
        first, deltas = known
        deltas.append(event["delta"])
        self.growth = deltas
        if deltas[1:] and "metadata" in event:
            first.setdefault("metadata", {}).update(event["metadata"])

    def _settle_deltas(self) -> None:
        for event, deltas in self._open.values():
            event["delta"] = "".join(deltas)
        self._open.clear()

    def _settle_state(self) -> None:
        if self._state is not None:
            self._events[-1]["snapshot"] = self._state.value
            self._state = None

    def _fold_state(self, event: JSONObject) -> bool:
        """Apply a state event without other members to a snapshot directly before it."""
        last = self._events[-1] if self._events else {}
        if last.get("type") != "STATE_SNAPSHOT" or not (last.keys() | event.keys()) <= _BARE_STATE:
            return False
        if event["type"] == "STATE_SNAPSHOT":
            self._events[-1], self._state = event, None
            return True
        self._state = Document(last["snapshot"]) if self._state is None else self._state
        try:
            self._state.patch(event["delta"])
        except PatchError:
            return False  # kept, so that a replay gives the same warning
        return True
