"""Adapt messages in histories and tool results to older peers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agui_reasoning._strict_json import JSONObject
from agui_reasoning.compat._peers import Peer
from agui_reasoning.consumer._legacy import MEDIA_KINDS

__all__ = ["Histories"]


class Histories:
    """Adapts histories to one peer.

    Args:
        peer: The peer.
        warn_once: Called with a key and a message for each loss.
    """

    def __init__(self, peer: Peer, warn_once: Callable[[str, str], None]) -> None:
        self._peer = peer
        self._warn_once = warn_once

    def adapt(self, holder: JSONObject) -> JSONObject:
        """Return a copy with adapted ``messages``, or the argument if nothing changes."""
        messages = holder.get("messages")
        if not isinstance(messages, (list, tuple)):
            return holder
        adapt = [self._message(message) for message in messages if self._is_supported(message)]
        same = len(adapt) == len(messages) and all(map(_is, adapt, messages))
        return holder if same else holder | {"messages": adapt}

    def adapt_result(self, holder: Mapping[str, Any]) -> Mapping[str, Any]:
        """Reduce a tool result to text, the only kind older peers support."""
        content = holder.get("content")
        if not isinstance(content, (list, tuple)):
            return holder
        texts = [text for part in content if isinstance(text := _text_of(part), str)]
        if len(texts) < len(content):
            self._warn_once(
                "results",
                "Parts of tool results other than text are dropped: the peer does not support them.",
            )
        return {**holder, "content": "".join(texts)}

    def _is_supported(self, message: Any) -> bool:
        if not self._peer.thinking or not isinstance(message, Mapping) or message.get("role") != "reasoning":
            return True
        self._warn_once(
            "messages", "Reasoning messages in histories are dropped: the peer does not support the role."
        )
        return False

    def _message(self, message: Any) -> Any:
        if not isinstance(message, Mapping):
            return message
        if "toolCallId" in message:
            return self.adapt_result(message)
        content = message.get("content")
        if not isinstance(content, (list, tuple)):
            return message
        parts = [adapt for part in content if (adapt := self._part(part)) is not None]
        same = len(parts) == len(content) and all(map(_is, parts, content))
        return message if same else {**message, "content": parts}

    def _part(self, part: Any) -> Any:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind in ("text", "binary"):
            return part
        if isinstance(kind, str) and kind in MEDIA_KINDS and (binary := _binary(part)) is not None:
            return part if self._peer.media else binary
        self._warn_once("parts", "Parts of messages are dropped: the peer does not support their type.")
        return None


def _binary(part: Mapping[str, Any]) -> JSONObject | None:
    """Convert a media part to the older "binary" kind; ``None`` if its source cannot be represented.

    This is the inverse of the compatibility boundary (AG-UI 1.1, C5).
    """
    source = part.get("source")
    where = source.get("type") if isinstance(source, Mapping) else None
    if not isinstance(source, Mapping) or where not in ("data", "url"):
        return None
    metadata = part.get("metadata")
    name = metadata.get("filename") if isinstance(metadata, Mapping) else None
    named = {"filename": name} if isinstance(name, str) else {}
    mime = source.get("mimeType") or f"{part['type']}/*"
    return {"type": "binary", "mimeType": mime, where: source.get("value"), **named}


def _text_of(part: Any) -> Any:
    return part.get("text") if isinstance(part, Mapping) and part.get("type") == "text" else None


def _is(new: object, old: object) -> bool:
    return new is old
