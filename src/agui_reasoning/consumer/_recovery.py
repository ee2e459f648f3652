"""How a reader goes on after a violation: as if the producer had done what it most likely meant.

What is put in is for the verifier and the messages; nothing is reported about it. A violation that follows
from one that was told is not told again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from agui_reasoning._strict_json import JSONObject
from agui_reasoning.errors import RemoteProtocolError

__all__ = ["Recovery"]

_Step: TypeAlias = Callable[[JSONObject], "RemoteProtocolError | None"]
_Key: TypeAlias = tuple[str, str]

# By what an event type begins with: the field of the id, and what the opener and the end need besides.
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


class Recovery:
    """Mends one stream.

    Attributes:
        implied: The run that is open was never started: its ids are made up, and its end may be missing.
    """

    def __init__(self, take: _Step, retry: _Step) -> None:
        """Prepare.

        Args:
            take: Takes an event that nothing is reported about, and gives its violation.
            retry: Takes one that is reported about, but for its violation, which it gives.
        """
        self._take = take
        self._retry = retry
        self.implied = False
        self._reported: set[tuple[str, _Key]] = set()
        self._opened: dict[_Key, JSONObject] = {}
        self._nameless: dict[str, int] = {}

    # -- before and after events

    def prepare(self, event: Mapping[str, Any]) -> None:
        """Clear up before an event: what was put in and would be complained about."""
        kind = event.get("type")
        if kind in _TERMINAL:
            for end in self._opened.values():
                self._take(end)
            self._opened.clear()
        if kind == "RUN_STARTED" and self.implied:
            self._take({"type": "RUN_ERROR", "message": ""})

    def passed(self, event: Mapping[str, Any]) -> None:
        """Note an event that broke nothing."""
        kind = str(event.get("type"))
        if kind in ("RUN_STARTED", *_TERMINAL):
            self._forget()
        family, verb = _split(kind)
        key = _key(family, event)
        if key is not None and verb in ("START", "STARTED"):
            self._reported = {entry for entry in self._reported if entry[1] != key}
        if key is not None and verb in _ENDS:
            self._opened.pop(key, None)
        if verb == "CHUNK" and key is not None:
            self._reported.discard(("chunk_without_id", (kind, "")))

    def _forget(self) -> None:
        self.implied = False
        self._reported.clear()
        self._opened.clear()
        self._nameless.clear()

    # -- violations

    def mend(self, event: JSONObject, error: RemoteProtocolError) -> bool:
        """Go on after a violation.

        Returns:
            Whether it is to be told: it does not follow from one that was.
        """
        family, verb = _split(str(event.get("type")))
        key = _key(family, event) or (str(event.get("type")), "")
        is_new = self._is_new(error, family, key)
        _MENDS[error.code](self, event, family, verb, key)
        return is_new

    def _is_new(self, error: RemoteProtocolError, family: str, key: _Key) -> bool:
        kind = "order" if error.code in ("not_open", "already_open", "subagent_order") else error.code
        if kind == "order" and self._nameless.get(family, 0) and (kind, key) not in self._reported:
            self._nameless[family] -= 1
            self._reported.add((kind, key))
            return False
        if error.code in ("malformed_event", "left_open"):
            return True
        if error.code == "run_order":
            return not self.implied
        known = (kind, key) in self._reported
        self._reported.add((kind, key))
        return not known

    def _open(self, event: Mapping[str, Any], family: str, key: _Key) -> None:
        field, start, end, needs = _FAMILIES[family]
        whose = {"subagentRunId": tag} if isinstance(tag := event.get("subagentRunId"), str) else {}
        opener = {"type": f"{family}_{start}", field: key[1], **needs, **whose}
        if self._take(opener) is None:
            self._opened[key] = {"type": f"{family}_{end}", field: key[1], **whose}
            self._reported.add(("order", key))

    def _not_open(self, event: JSONObject, family: str, verb: str, key: _Key) -> None:
        if verb not in _ENDS and key[0] in _FAMILIES:
            self._open(event, family, key)
            self._take(event)

    def _already_open(self, event: JSONObject, family: str, verb: str, key: _Key) -> None:
        if self._opened.pop(key, None) is None and key[0] in _FAMILIES:
            # Whether one end or two will come, or none, none of it is told; else a missed opener came late.
            field, _, end, _ = _FAMILIES[family]
            self._opened[key] = {"type": f"{family}_{end}", field: key[1]}

    def _subagent(self, event: JSONObject, family: str, verb: str, key: _Key) -> None:
        if verb == "STARTED":
            self._take({name: member for name, member in event.items() if name != "parentSubagentRunId"})

    def _malformed(self, event: JSONObject, family: str, verb: str, key: _Key) -> None:
        if event.get("type") == "RUN_STARTED":
            self._imply_run()
        elif event.get("type") == "RUN_FINISHED":
            self._take({"type": "RUN_ERROR", "message": ""})
            self._forget()
        elif family not in _FAMILIES or verb not in ("START", "STARTED", *_ENDS):
            return
        elif key[0] != family:
            self._nameless[family] = self._nameless.get(family, 0) + (verb not in _ENDS)
        elif verb in _ENDS:
            self._take({"type": event["type"], _FAMILIES[family][0]: key[1]})
        else:
            self._open(event, family, key)
            self._reported.discard(("order", key))

    def _imply_run(self) -> None:
        started = {"type": "RUN_STARTED", **_RUN, "protocolVersion": "1.0"}
        if self._take(started) is not None:  # it ended what a chunk outside a run had opened
            self._take(started)
        self._forget()
        self.implied = True

    def _run_order(self, event: JSONObject, family: str, verb: str, key: _Key) -> None:
        if event["type"] == "RUN_STARTED":
            self._take({"type": "RUN_ERROR", "message": ""})
            self._forget()
            self._retry(event)
        elif event["type"] not in _TERMINAL:
            self._imply_run()
            error = self._retry(event)
            if error is not None and error.code != "run_order":
                self.mend(event, error)

    def _left_open(self, event: JSONObject, family: str, verb: str, key: _Key) -> None:
        self._take({"type": "RUN_ERROR", "message": ""})
        self._forget()

    def _owner(self, event: JSONObject, family: str, verb: str, key: _Key) -> None:
        self._take({name: member for name, member in event.items() if name != "subagentRunId"})

    def _chunk_conflict(self, event: JSONObject, family: str, verb: str, key: _Key) -> None:
        self._take({name: member for name, member in event.items() if name not in _SETTLED})

    def _drop(self, event: JSONObject, family: str, verb: str, key: _Key) -> None:
        """Nothing can be made of it."""


_MENDS: Final[dict[str, Callable[[Recovery, JSONObject, str, str, _Key], None]]] = {
    "not_open": Recovery._not_open,
    "already_open": Recovery._already_open,
    "subagent_order": Recovery._subagent,
    "malformed_event": Recovery._malformed,
    "run_order": Recovery._run_order,
    "left_open": Recovery._left_open,
    "owner_mismatch": Recovery._owner,
    "chunk_conflict": Recovery._chunk_conflict,
    "chunk_without_id": Recovery._drop,
    "chunk_ambiguous": Recovery._drop,
}


def _split(kind: str) -> tuple[str, str]:
    family, _, verb = kind.rpartition("_")
    return family, verb


def _key(family: str, event: Mapping[str, Any]) -> _Key | None:
    field = _FAMILIES[family][0] if family in _FAMILIES else ""
    name = event.get(field)
    return (family, name) if isinstance(name, str) else None
