"""Messages in histories and tool results, in the form that an older peer takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from agui_reasoning._strict_json import JSONObject
from agui_reasoning.compat._peers import Peer

__all__ = ["Histories"]

_MEDIA: Final = frozenset({"image", "audio", "video", "document"})


class Histories:
    """What one peer takes of histories.

    Args:
        peer: The peer.
        tell: Told of each kind of loss, with a key.
    """

    def __init__(self, peer: Peer, tell: Callable[[str, str], None]) -> None:
        self._peer = peer
        self._tell = tell

    def known(self, holder: JSONObject) -> JSONObject:
        """A copy of what holds ``messages``, or itself when they may stay."""
        messages = holder.get("messages")
        if not isinstance(messages, (list, tuple)):
            return holder
        known = [self._message(message) for message in messages if self._knows(message)]
        same = len(known) == len(messages) and all(map(_is, known, messages))
        return holder if same else holder | {"messages": known}

    def result(self, holder: Mapping[str, Any]) -> Mapping[str, Any]:
        """A tool's result as text, which is all that it was."""
        content = holder.get("content")
        if not isinstance(content, (list, tuple)):
            return holder
        texts = [text for part in content if isinstance(text := _text_of(part), str)]
        if len(texts) < len(content):
            self._tell("results", "Parts of tool results that are no text are left out: the peer has none.")
        return {**holder, "content": "".join(texts)}

    def _knows(self, message: Any) -> bool:
        if not self._peer.thinking or not isinstance(message, Mapping) or message.get("role") != "reasoning":
            return True
        self._tell("messages", "Reasoning messages in histories are left out: the peer has no such role.")
        return False

    def _message(self, message: Any) -> Any:
        if not isinstance(message, Mapping):
            return message
        if "toolCallId" in message:
            return self.result(message)
        content = message.get("content")
        if not isinstance(content, (list, tuple)):
            return message
        parts = [known for part in content if (known := self._part(part)) is not None]
        same = len(parts) == len(content) and all(map(_is, parts, content))
        return message if same else {**message, "content": parts}

    def _part(self, part: Any) -> Any:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind in ("text", "binary"):
            return part
        if isinstance(kind, str) and kind in _MEDIA and (binary := _binary(part)) is not None:
            return part if self._peer.media else binary
        self._tell("parts", "Parts of messages are left out: the peer has no such kind of content.")
        return None


def _binary(part: Mapping[str, Any]) -> JSONObject | None:
    """A media part as it was before there were kinds of media; ``None`` for a source that is newer still.

    The other way round than at the compatibility boundary (AG-UI 1.1, C5).
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
