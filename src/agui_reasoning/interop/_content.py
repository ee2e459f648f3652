"""What the adapters of several frameworks read and cut in the same way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Final

from agui_reasoning.providers.payload import JSONObject, compact_json

__all__ = ["responses_in", "result_text"]

_TEXTS: Final = frozenset({"text", "input_text"})

_TOLD: Final = frozenset({"user", "system", "developer"})
_RESULTS: Final = frozenset({"function_call_output", "custom_tool_call_output"})


def result_text(content: Any) -> str:
    """Return the text of a tool's result; what is not only text becomes JSON, so that nothing is lost."""
    if content is None or isinstance(content, str):
        return content or ""
    texts = [_text(part) for part in content] if isinstance(content, list) else [None]
    return compact_json(content) if None in texts else "".join(text for text in texts if text)


def _text(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping) or part.get("type") not in _TEXTS:
        return None
    text: str = part["text"]
    return text


def responses_in(items: Iterable[JSONObject]) -> Iterator[tuple[bool, list[JSONObject]]]:
    """Group input items of the Responses API: those of a response, and what the model was told between.

    Whatever is not a message to the model or the result of its call is the model's: also the calls of the
    provider's own tools, and compacted conversations.

    Yields:
        Whether the items are a response, and the items.
    """
    for is_response, group in groupby(items, _is_of_the_model):
        yield is_response, list(group)


def _is_of_the_model(item: Mapping[str, Any]) -> bool:
    return item.get("role") not in _TOLD and item.get("type") not in _RESULTS
