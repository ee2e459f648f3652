"""What a run adds to its history, as `restore` would read it: turns, tool results, changes of the effort."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ag_ui.core import Message, ToolMessage

from agui_reasoning._hint import hinted_error
from agui_reasoning.deltas._units import CallUnit, ResponseBuffer, UnitBuffer
from agui_reasoning.emitter._disclosure import Disclosure
from agui_reasoning.emitter._entities import ResponseState
from agui_reasoning.parts import Effort, EffortChange, Part, Prefix, ToolCallPart, ToolResultPart, Turn

__all__ = ["Produced"]


class Produced:
    """The history of a run, with the client's IDs of calls.

    Attributes:
        items: The turns, tool results and changes of the effort so far, in order.
        unanswered: The calls without a result, by the client's ID, each with its response.
    """

    def __init__(self) -> None:
        self.items: list[Turn | EffortChange | Message] = []
        self.unanswered: dict[str, tuple[CallUnit, ResponseBuffer]] = {}
        self._client_ids: dict[str, str] = {}
        self._state: ResponseState
        self._before: str | None = None
        self._failed: list[str] = []
        """The calls whose result was an error, since the last response began."""
        self._effort: Effort | None = None
        self._prefix: Prefix | None = None

    # -- before a response

    def note_request(self, prefix: Prefix | None) -> None:
        """Note what preceded the conversation in the request that the next response answers."""
        self._prefix = prefix

    def change_effort(self, effort: Effort) -> None:
        """Note the effort that changes with the next response."""
        self._effort = effort

    # -- responses

    def open_response(
        self, response: ResponseBuffer, response_id: str, disclosure: Disclosure
    ) -> ResponseState:
        """Begin a response, which takes what was noted since the last one."""
        failed, self._failed = tuple(self._failed), []
        self._state = ResponseState(response, response_id, self._before, disclosure, failed)
        self._state.effort, self._effort = self._effort, None
        self._state.prefix, self._prefix = self._prefix, None
        return self._state

    def end_response(self, response: ResponseBuffer) -> None:
        """Add the response."""
        turn = self._turn_of(response)
        if turn is None:
            self._effort = self._effort or self._state.effort  # nobody will hear of this response
        else:
            self.items += [*_changes_of(self._state.effort), turn]
            self._before = self._state.id  # nothing can be found after an empty response

    def coming(self, open_response: ResponseBuffer | None) -> list[Turn | EffortChange]:
        """Return what follows the items: the response that is still open, and the next change."""
        turn = None if open_response is None else self._turn_of(open_response)
        begun = None if open_response is None else self._state.effort
        return [*_changes_of(begun), *([] if turn is None else [turn]), *_changes_of(self._effort)]

    def _turn_of(self, response: ResponseBuffer) -> Turn | None:
        """Return the complete parts of a response as `restore` would."""
        ended = (unit for unit in response.units if not unit.open)
        parts = tuple(self._as_seen(unit, unit.part(response.origin)) for unit in ended)
        if not parts and not response.refused:
            return None
        return Turn(
            parts,
            response.origin,
            response.id,
            refused=response.refused,
            withheld=tuple(response.withheld),
            prefix=self._state.prefix,
            conversation=response.conversation,
        )

    def _as_seen(self, unit: UnitBuffer, part: Part) -> Part:
        part = replace(part, seen=self._state.seen_as(unit))
        if isinstance(part, ToolCallPart):
            call = self._state.calls[unit]  # type: ignore[index]
            if call.id == part.id:
                return part
            return replace(part, id=call.id, ext={**(part.ext or {}), "native_id": part.id})
        if isinstance(part, ToolResultPart):
            return replace(part, tool_call_id=self.client_id(part.tool_call_id))
        return part

    # -- calls

    def note_call(self, call_id: str, unit: CallUnit) -> None:
        """Note a call of the open response, and the ID that the client has for it."""
        self._client_ids[unit.key or ""] = call_id
        self.unanswered[call_id] = unit, self._state.response

    def client_id(self, call_id: str) -> str:
        """Return the client's ID of a call."""
        return self._client_ids.get(call_id, call_id)

    def pending_calls(self) -> list[ToolCallPart]:
        """Return the calls that the client or the agent has to answer, under the client's IDs."""
        return [
            replace(unit.part(response.origin), id=call_id)
            for call_id, (unit, response) in self.unanswered.items()
            if not unit.server and unit.status == "complete"
        ]

    def note_result(
        self, message_id: str, call_id: str, content: Any, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """Keep the result of a client's or the agent's tool, with the metadata of its event."""
        self.unanswered.pop(call_id, None)
        error = hinted_error(metadata)
        if error is not None:
            self._failed.append(call_id)
        self.items.append(
            ToolMessage(
                id=message_id,
                role="tool",
                content=content,
                tool_call_id=call_id,
                error=error,
                metadata=dict(metadata) if metadata else None,
            )
        )


def _changes_of(effort: Effort | None) -> list[EffortChange]:
    return [] if effort is None else [EffortChange(effort)]
