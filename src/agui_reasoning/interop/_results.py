"""Content of tool results and of messages: read from the blocks of frameworks, and from AG-UI's parts."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from mimetypes import guess_type
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from ag_ui.core import InputContent, TextPart

from agui_reasoning._content import content_parts, media_type, source_of
from agui_reasoning._strict_json import well_formed
from agui_reasoning.parts import ToolResultPart
from agui_reasoning.providers.payload import JSONObject, compact_json


@dataclass(frozen=True, slots=True)
class Media:
    """Media in a content block.

    Attributes:
        type: ``image``, ``audio``, ``video`` or ``document``.
        place: ``data`` (base64), ``url`` or ``file`` (an ID at the provider).
        value: The base64 text, the URL or the ID.
        media_type: The media type; guessed if the block does not say.
    """

    type: str
    place: str
    value: str
    media_type: str

    @property
    def part(self) -> JSONObject:
        """As an AG-UI content part."""
        source = {"type": self.place, "value": self.value, "mimeType": self.media_type}
        return {"type": self.type, "source": source}


_TYPES: Final = {
    **dict.fromkeys(("image", "image_url", "input_image", "image-url"), "image"),
    **dict.fromkeys(("audio", "audio_url", "input_audio", "audio-url"), "audio"),
    **dict.fromkeys(("video", "video_url", "video-url"), "video"),
    **dict.fromkeys(
        ("document", "file", "input_file", "resource", "document-url", "binary", "uploaded-file"), "document"
    ),
}
"""The types of blocks that can hold media: of providers, of frameworks and of MCP."""

_TEXTS: Final = frozenset({"text", "input_text", "output_text", "resource"})

_MEDIA_TYPES: Final = {
    "image": "image/png",
    "audio": "audio/wav",
    "video": "video/mp4",
    "document": "application/pdf",
}
"""The media type of each type of content part whose own is unknown."""

_INNER: Final = ("source", "image_url", "input_audio", "file", "resource", "inlineData", "fileData")
"""The members of blocks that hold the source as an object. Gemini's, the last two, have no type beside."""

_PLACES: Final = {
    "data": ("data", "base64", "blob", "file_data"),
    "url": ("url", "image_url", "file_url", "fileUri"),
    "file": ("file_id",),
}
"""The members that hold the value, by its place."""


def media_of(block: Any) -> Media | None:
    """Return the media of a content block; ``None`` if it is something else."""
    if not isinstance(block, Mapping):
        return None
    of_gemini = "inlineData" in block or "fileData" in block
    known = "document" if of_gemini else _TYPES.get(block.get("type", ""))
    if known is None:
        return None
    fields = {**block, **next((block[name] for name in _INNER if isinstance(block.get(name), Mapping)), {})}
    place, value, media_type = _source(fields)
    if not value:
        return None
    general = media_type.partition("/")[0]
    media = general if known == "document" and general in _MEDIA_TYPES else known
    return Media(media, place, value, media_type or guess_type(value)[0] or _MEDIA_TYPES[media])


def _source(fields: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the place, the value (empty if there is none) and the media type (empty if unknown)."""
    found = ((place, fields.get(name)) for place, names in _PLACES.items() for name in names)
    place, value = next(((place, value) for place, value in found if value), ("", ""))
    media_type = _media_type(fields)
    if isinstance(value, bytes):
        return place, b64encode(value).decode("ascii"), media_type
    if not isinstance(value, str):
        return place, "", media_type
    if value.startswith("data:"):
        head, _, data = value.removeprefix("data:").partition(",")
        if not head.endswith(";base64"):
            data = b64encode(unquote_to_bytes(well_formed(data))).decode("ascii")
        return "data", data, head.partition(";")[0]
    if place == "data" and fields.get("type") == "text":  # Anthropic's plain text
        return place, b64encode(well_formed(value).encode()).decode("ascii"), media_type
    return place, value, media_type


def _media_type(fields: Mapping[str, Any]) -> str:
    names = ("media_type", "mime_type", "mimeType")
    given = next((value for name in names if isinstance(value := fields.get(name), str)), "")
    return given or (f"audio/{fields['format']}" if isinstance(fields.get("format"), str) else "")


def result_part(call_id: str, content: Any, *, failed: bool = False) -> ToolResultPart:
    """Return the result of a tool: text, or AG-UI content parts if there is media.

    Blocks that are neither text nor media become JSON, so that nothing is lost.

    Args:
        call_id: The ID of the call.
        content: What the tool returned: text, a list of content blocks, or other JSON.
        failed: Whether its last text says why it failed.
    """
    told = _result(content)
    texts = [told] if isinstance(told, str) else [part.text for part in told if isinstance(part, TextPart)]
    return ToolResultPart(call_id, told, "".join(texts[-1:]) if failed else None)


def _result(content: Any) -> str | list[InputContent]:
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        return compact_json(content)
    texts, media = [_text(block) for block in content], [media_of(block) for block in content]
    if any(media):
        return content_parts([part for part in map(_part, content, media) if part.get("text") != ""])
    return compact_json(content) if None in texts else "".join(filter(None, texts))


def _part(block: Any, media: Media | None) -> JSONObject:
    if media is not None:
        return media.part
    text = _text(block)
    return {"type": "text", "text": compact_json(block) if text is None else text}


def _text(block: Any) -> str | None:
    """Return the text of a block; ``None`` if it is something else."""
    if isinstance(block, str):
        return well_formed(block)  # type: ignore[no-any-return]
    if not isinstance(block, Mapping) or block.get("type") not in _TEXTS:
        return None
    text = block.get("resource", block).get("text")
    return well_formed(text) if isinstance(text, str) else None


def text_or_media(part: Any) -> str | Media:
    """Return the text of an AG-UI content part, or its media."""
    if part.type == "text":
        return str(part.text)
    place, value = source_of(part)
    return Media(part.type, place, value, media_type(part, _MEDIA_TYPES[part.type]))
