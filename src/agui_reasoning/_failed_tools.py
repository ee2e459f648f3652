"""What the model and the client are told of a tool that failed.

``error`` is ``None`` unless the tool failed; a blank one says that it failed, but not why.
"""

from __future__ import annotations

from typing import Any, Final

from ag_ui.core import TextPart

__all__ = ["TOOL_FAILED", "error_sentence", "told"]

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
