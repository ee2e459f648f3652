"""Compatibility: upgrades the events of older producers before they are validated.

Each upgrade is a function from event to event, and issues a notice for every occurrence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from agui_reasoning._strict_json import JSONObject
from agui_reasoning._thinking import ThinkingUpgrader
from agui_reasoning.consumer._notices import Notice, NoticeSink

__all__ = ["MEDIA_KINDS", "Boundary", "upgrade_message"]

_MODERN = "Send the form of AG-UI 1.0; support for the old one will be removed."

# Fields that older versions set to null instead of omitting them (C4). Other nulls are malformed.
_NULLS: Final[dict[str, tuple[str, ...]]] = {
    "RUN_FINISHED": ("result", "outcome"),
    "SUBAGENT_FINISHED": ("result",),
    "TOOL_CALL_START": ("parentMessageId",),
    "TOOL_CALL_CHUNK": ("parentMessageId",),
}
MEDIA_KINDS: Final = frozenset({"image", "audio", "video", "document"})


class Boundary:
    """Upgrades one stream; keeps track of the open THINKING_* phase.

    Source:
        AG-UI 1.1: C4, C5, V6 to V10.
    """

    def __init__(self, warn: NoticeSink, new_id: Callable[[], str] | None = None) -> None:
        self._warn = warn
        self._thinking = ThinkingUpgrader(partial(_warn_old, warn), new_id=new_id)

    def receive(self, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the event in its current form: unchanged, or a changed copy."""
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
        """Discard the open phase at the end of the stream."""
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
        if isinstance(kind, str) and kind in MEDIA_KINDS:
            return self._without_nulls(part, "A media part", ("metadata",))
        return part

    def _without_nulls(
        self, event: Mapping[str, Any], where: str, names: tuple[str, ...]
    ) -> Mapping[str, Any]:
        nulls = [name for name in names if name in event and event[name] is None]
        if not nulls:
            return event
        for name in nulls:
            self._old(f"{where}.{name} is null and is read as absent.")
        return {name: value for name, value in event.items() if name not in nulls}

    def _each(self, value: Mapping[str, Any], field: str, change: Callable[[Any], Any]) -> Mapping[str, Any]:
        entries = value.get(field)
        if not isinstance(entries, (list, tuple)):
            return value
        changed = [change(entry) for entry in entries]
        same = all(new is old for new, old in zip(changed, entries, strict=True))
        return value if same else {**value, field: changed}

    def _old(self, message: str) -> None:
        _warn_old(self._warn, message)


def _warn_old(warn: NoticeSink, message: str) -> None:
    warn(Notice("legacy_shape", message, _MODERN))


def upgrade_message(message: Mapping[str, Any]) -> tuple[Mapping[str, Any], int]:
    """Replace the ``binary`` parts of a message by media parts, and count them.

    A part is dropped if the message also contains the equivalent media part, because some producers sent
    both. A part without data or a URL is kept, so that enforcement removes it.

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
        "type": family if slash and family in MEDIA_KINDS else "document",
        "source": {"type": where, "value": part[where], "mimeType": mime},
    }
    if part.get("filename"):
        media["metadata"] = {"filename": part["filename"]}
    return media
