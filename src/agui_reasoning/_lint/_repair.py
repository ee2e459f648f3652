"""Repair after a violation: continues as if the producer had sent what it most likely meant.

Inserted events reach the verifier and the reducer, but are not reported. A violation that follows from a
reported one is not reported either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from agui_reasoning._strict_json import JSONObject
from agui_reasoning.consumer import faults
from agui_reasoning.errors import RemoteProtocolError

_Step: TypeAlias = Callable[[JSONObject], "RemoteProtocolError | None"]
"""Processes an event; returns its violation."""
_Key: TypeAlias = tuple[str, str]

# Per prefix of the event type: the ID field, the suffixes of start and end, and further members of the start.
_FAMILIES: Final[dict[str, tuple[str, str, str, JSONObject]]] = {
    "TEXT_MESSAGE": ("messageId", "START", "END", {}),
    "REASONING_MESSAGE": ("messageId", "START", "END", {"role": "reasoning"}),
    "REASONING": ("messageId", "START", "END", {}),
    "TOOL_CALL": ("toolCallId", "START", "END", {"toolCallName": "unknown"}),
    "STEP": ("stepName", "STARTED", "FINISHED", {}),
    "SUBAGENT": ("subagentRunId", "STARTED", "FINISHED", {"name": "unknown"}),
}
_ENDS: Final = ("END", "FINISHED", "ERROR")
_TERMINAL: Final = ("RUN_FINISHED", "RUN_ERROR")
_SETTLED: Final = ("role", "name", "toolCallName", "parentMessageId")
_RUN: Final = {"threadId": "unknown", "runId": "unknown"}


class Repair:
    """Repairs one stream.

    Attributes:
        implied: Whether the open run was never started: its IDs are invented, and its end may be missing.
    """

    def __init__(self, take: _Step, retry: _Step) -> None:
        """Prepare for one stream; ``retry`` reports the notices of an event, ``take`` reports nothing."""
        self._take = take
        self._retry = retry
        self.implied = False
        self._reported: dict[_Key, set[str]] = {}
        self._opened: dict[_Key, JSONObject] = {}
        self._nameless: dict[str, int] = {}

    def prepare(self, event: Mapping[str, Any]) -> None:
        """Close inserted items that the next event would otherwise be rejected for."""
        kind = event.get("type")
        if kind in _TERMINAL:
            for end in self._opened.values():
                self._take(end)
            self._opened.clear()
        if kind == "RUN_STARTED" and self.implied:
            self._take({"type": "RUN_ERROR", "message": ""})

    def passed(self, event: Mapping[str, Any]) -> None:
        """Record a valid event."""
        kind = faults.type_of(event)
        if kind in ("RUN_STARTED", *_TERMINAL):
            self._forget()
        family, _, verb = kind.rpartition("_")
        key = _key(family, event)
        if key is not None and verb in ("START", "STARTED"):
            self._reported.pop(key, None)
        if key is not None and verb in _ENDS:
            self._opened.pop(key, None)
        if verb == "CHUNK" and key is not None:
            self._of((kind, "")).discard("chunk_without_id")

    def _forget(self) -> None:
        self.implied = False
        self._reported.clear()
        self._opened.clear()
        self._nameless.clear()

    def mend(self, event: JSONObject, error: RemoteProtocolError) -> bool:
        """Repair a violation.

        Returns:
            Whether to report it, because it does not follow from a reported one.
        """
        kind = faults.type_of(event)
        family, _, verb = kind.rpartition("_")
        key = _key(family, event) or (kind, "")
        is_new = self._is_new(error, family, key)
        match error.code:  # others cannot be repaired: their event is dropped
            case "not_open" if verb not in _ENDS and key[0] in _FAMILIES:
                self._open(event, family, key)
                self._take(event)
            case "already_open":
                self._already_open(family, key)
            case "malformed_event":
                self._malformed(event, family, verb, key)
            case "run_order":
                self._run_order(event)
            case "left_open":
                self._end_run()
            case "subagent_order" if verb == "STARTED":
                self._take_without(event, "parentSubagentRunId")
            case "owner_mismatch":
                self._take_without(event, "subagentRunId")
            case "chunk_conflict":
                self._take_without(event, *_SETTLED)
        return is_new

    def _is_new(self, error: RemoteProtocolError, family: str, key: _Key) -> bool:
        kind = "order" if error.code in ("not_open", "already_open", "subagent_order") else error.code
        if kind == "order" and self._nameless.get(family, 0) and kind not in self._of(key):
            self._nameless[family] -= 1
            self._of(key).add(kind)
            return False
        if error.code in ("malformed_event", "left_open"):
            return True
        if error.code == "run_order":
            return not self.implied
        known = kind in self._of(key)
        self._of(key).add(kind)
        return not known

    def _of(self, key: _Key) -> set[str]:
        """Return the kinds of violations reported for an item."""
        return self._reported.setdefault(key, set())

    def _open(self, event: Mapping[str, Any], family: str, key: _Key) -> None:
        field, start, end, needs = _FAMILIES[family]
        owner = {"subagentRunId": tag} if isinstance(tag := event.get("subagentRunId"), str) else {}
        opener = {"type": f"{family}_{start}", field: key[1], **needs, **owner}
        if self._take(opener) is None:
            self._opened[key] = {"type": f"{family}_{end}", field: key[1], **owner}
            self._of(key).add("order")

    def _already_open(self, family: str, key: _Key) -> None:
        if self._opened.pop(key, None) is None and key[0] in _FAMILIES:
            # A repeated start: report neither a missing end nor a second one. Otherwise, the start is late.
            field, _, end, _ = _FAMILIES[family]
            self._opened[key] = {"type": f"{family}_{end}", field: key[1]}

    def _malformed(self, event: JSONObject, family: str, verb: str, key: _Key) -> None:
        if event.get("type") == "RUN_STARTED":
            self._imply_run()
        elif event.get("type") == "RUN_FINISHED":
            self._end_run()
        elif family not in _FAMILIES or verb not in ("START", "STARTED", *_ENDS):
            return
        elif key[0] != family:
            self._nameless[family] = self._nameless.get(family, 0) + (verb not in _ENDS)
        elif verb in _ENDS:
            self._take({"type": event["type"], _FAMILIES[family][0]: key[1]})
        else:
            self._open(event, family, key)
            self._of(key).discard("order")

    def _imply_run(self) -> None:
        started = {"type": "RUN_STARTED", **_RUN, "protocolVersion": "1.0"}
        if self._take(started) is not None:  # RUN_STARTED first closed the item of a chunk outside a run
            self._take(started)
        self._forget()
        self.implied = True

    def _run_order(self, event: JSONObject) -> None:
        if event["type"] == "RUN_STARTED":
            self._end_run()
            self._retry(event)
        elif event["type"] not in _TERMINAL:
            self._imply_run()
            error = self._retry(event)
            if error is not None and error.code != "run_order":
                self.mend(event, error)

    def _end_run(self) -> None:
        self._take({"type": "RUN_ERROR", "message": ""})
        self._forget()

    def _take_without(self, event: JSONObject, *names: str) -> None:
        self._take({name: member for name, member in event.items() if name not in names})


def _key(family: str, event: Mapping[str, Any]) -> _Key | None:
    field = _FAMILIES[family][0] if family in _FAMILIES else ""
    name = event.get(field)
    return (family, name) if isinstance(name, str) else None
