"""The content of messages and tool results: media, the text that takes their place, errors of tools."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error
from functools import cache
from typing import Any, Final

from ag_ui.core import InputContent, TextPart
from pydantic import TypeAdapter, ValidationError

from agui_reasoning.errors import LocalProtocolError


def content_parts(content: list[Any]) -> list[Any]:
    """Return content parts as models; they can be models or JSON.

    Raises:
        LocalProtocolError: They are not AG-UI content parts (``not_an_item``).
    """
    try:
        return _parts().validate_python(content)
    except ValidationError:
        pass  # its text quotes the content
    raise LocalProtocolError(
        "The content of a tool result is a list, but not of AG-UI content parts.",
        code="not_an_item",
        hint="Pass text, or parts such as ag_ui.core.TextPart and ImagePart.",
    )


@cache
def _parts() -> TypeAdapter[list[Any]]:
    return TypeAdapter(list[InputContent])


def source_of(part: Any) -> tuple[str, str]:
    """Return the kind of a content part's source (``data``, ``url``, ``file``), and its value."""
    return part.source.type, part.source.value


def media_type(part: Any, default: str) -> str:
    """Return the media type of a content part, without parameters."""
    given = (getattr(part.source, "mime_type", None) or default).partition(";")[0].strip().lower()
    return "image/jpeg" if given == "image/jpg" else given


def data_of(part: Any) -> bytes:
    """Return the data of a content part; empty if there is none, or if it is not base64."""
    kind, value = source_of(part)
    return from_base64(value) if kind == "data" else b""


def from_base64(value: str) -> bytes:
    """Return the bytes of base64 text; empty if it is something else."""
    try:
        return b64decode(value, validate=True)
    except (Error, ValueError):
        return b""


def stand_in(part: Any) -> str:
    """Say what is missing in a tool result, which must neither be empty nor seem to have been."""
    size = f", {len(data):,} bytes" if (data := data_of(part)) else ""
    return f"(Not sent in a tool result: {media_type(part, part.type)}{size}.)"


def text_of(content: str | list[Any]) -> str:
    """Return the content of a tool result as text."""
    if isinstance(content, str):
        return content
    return "\n".join(part.text if part.type == "text" else stand_in(part) for part in content)


# -- failed tools: ``error`` is ``None`` unless the tool failed; a blank one says that it failed, but not why


TOOL_FAILED: Final = "The tool failed."
"""The error of a failed tool whose own error is blank."""


def error_sentence(error: str | None) -> str | None:
    """Return the sentence that says why a tool failed, which is never blank; ``None`` if it did not."""
    return TOOL_FAILED if error is not None and not error.strip() else error


def told(content: str | list[Any], error: str | None) -> str | list[Any]:
    """Return the content of a result: what the tool returned, then the error."""
    sentence = error_sentence(error)
    if sentence is None:
        return content
    if isinstance(content, list):
        said = [part.text for part in content if isinstance(part, TextPart)]
        return content if said[-1:] == [sentence] else [*content, TextPart(text=sentence)]
    if content.endswith(sentence):
        return content
    return f"{content}\n\n{sentence}" if content.strip() else sentence
