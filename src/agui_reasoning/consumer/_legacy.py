"""The compatibility boundary: what older producers send is put into today's words, before anything judges it.

Each rewriting is one function from event to event, and tells of every occurrence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from agui_reasoning._strict_json import JSONObject
from agui_reasoning._thinking import ThinkingUpgrader
from agui_reasoning.consumer._notices import Notice, NoticeSink

__all__ = ["Boundary", "upgrade_message"]

_MODERN = "Send the form of AG-UI 1.0; the old one is only read for a while."

# Whole fields that used to be null where today they are absent (C4). Nothing else is forgiven.
_NULLS: Final[dict[str, tuple[str, ...]]] = {
    "RUN_FINISHED": ("result", "outcome"),
    "SUBAGENT_FINISHED": ("result",),
    "TOOL_CALL_START": ("parentMessageId",),
    "TOOL_CALL_CHUNK": ("parentMessageId",),
}
_MEDIA: Final = frozenset({"image", "audio", "video", "document"})


class Boundary:
    """Rewrites one stream; it remembers which THINKING_* phase is open.

    Source:
        AG-UI 1.1: C4, C5, V6 to V10.
    """

    def __init__(self, warn: NoticeSink, new_id: Callable[[], str] | None = None) -> None:
        self._warn = warn
        self._thinking = ThinkingUpgrader(self._old, new_id=new_id)

    def receive(self, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """Give the event in today's form: itself, or a changed copy."""
        kind = event.get("type")
        if not isinstance(kind, str):
            return event
        if kind.startswith("THINKING_"):
            (event,) = self._thinking.receive(event)
        event = self._without_nulls(event, kind, ("rawEvent", *_NULLS.get(kind, ())))
        if kind == "MESSAGES_SNAPSHOT":
            return self._each(event, "messages", self._message)
        if kind == "RUN_STARTED" and isinstance(event.get("input"), Mapping):
            return {**event, "input": self._run_input(event["input"])}
        return event

    def close(self) -> None:
        """Forget the phase: the stream ended."""
        self._thinking.close()

    def _run_input(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        value = self._without_nulls(value, "RunAgentInput", ("forwardedProps",))
        value = self._each(value, "tools", self._tool)
        value = self._each(value, "resume", self._resume)
        return self._each(value, "messages", self._message)

    def _tool(self, tool: Any) -> Any:
        return self._without_nulls(tool, "A tool", ("parameters",)) if isinstance(tool, Mapping) else tool

    def _resume(self, entry: Any) -> Any:
        is_entry = isinstance(entry, Mapping)
        return self._without_nulls(entry, "A resume entry", ("payload",)) if is_entry else entry

    def _message(self, message: Any) -> Any:
        if not isinstance(message, Mapping):
            return message
        upgraded, binaries = upgrade_message(self._each(message, "content", self._part))
        if binaries:
            self._old(f"{binaries} binary content part(s) of a message are read as media parts.")
        return upgraded

    def _part(self, part: Any) -> Any:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if isinstance(kind, str) and kind in _MEDIA:
            return self._without_nulls(part, "A media part", ("metadata",))
        return part

    def _without_nulls(
        self, event: Mapping[str, Any], where: str, names: tuple[str, ...]
    ) -> Mapping[str, Any]:
        nulls = [name for name in names if name in event and event[name] is None]
        if not nulls:
            return event
        for name in nulls:
            self._old(f"{where}.{name} is null; read as absent.")
        return {name: value for name, value in event.items() if name not in nulls}

    def _each(self, value: Mapping[str, Any], field: str, change: Callable[[Any], Any]) -> Mapping[str, Any]:
        entries = value.get(field)
        if not isinstance(entries, (list, tuple)):
            return value
        changed = [change(entry) for entry in entries]
        same = all(new is old for new, old in zip(changed, entries, strict=True))
        return value if same else {**value, field: changed}

    def _old(self, message: str) -> None:
        self._warn(Notice("legacy_shape", message, _MODERN))


def upgrade_message(message: Mapping[str, Any]) -> tuple[Mapping[str, Any], int]:
    """Turn the ``binary`` parts of a message into media parts, and count them.

    A part that stands beside its own modern form is dropped: producers sent both for a while. One that has
    neither data nor an address stays as it is, and enforcement removes it.

    Source:
        AG-UI 1.1, C5.
    """
    parts = message.get("content")
    if not isinstance(parts, (list, tuple)):
        return message, 0
    upgraded = [(part, _media_part(part)) for part in parts]
    count = sum(media is not None for _, media in upgraded)
    if not count:
        return message, 0
    kept = [
        part if media is None else media for part, media in upgraded if media is None or media not in parts
    ]
    return {**message, "content": kept}, count


def _media_part(part: Any) -> JSONObject | None:
    if not isinstance(part, Mapping) or part.get("type") != "binary":
        return None
    mime = part.get("mimeType")
    where = next((name for name in ("data", "url") if part.get(name)), None)
    if not isinstance(mime, str) or where is None:
        return None
    family, slash, _ = mime.partition("/")
    media: JSONObject = {
        "type": family if slash and family in _MEDIA else "document",
        "source": {"type": where, "value": part[where], "mimeType": mime},
    }
    if part.get("filename"):
        media["metadata"] = {"filename": part["filename"]}
    return media
