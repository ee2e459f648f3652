"""Translate whole streams, synchronously or asynchronously."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable, Mapping
from typing import Any, Protocol

from pydantic import BaseModel

__all__ = ["Translator", "translate", "translate_async"]


class Translator(Protocol):
    """Interface of `ThinkingUpgrader` and `ThinkingDowngrader`. Create a new instance for each stream."""

    def receive(self, event: BaseModel | Mapping[str, Any], /) -> list[dict[str, Any]]:
        """Translate one event."""

    def close(self) -> list[dict[str, Any]]:
        """Signal the end of the stream."""


def translate(
    events: Iterable[BaseModel | Mapping[str, Any]], translator: Translator
) -> Generator[dict[str, Any], None, None]:
    """Translate a stream.

    The source is closed together with the stream, if it has a ``close`` method.

    Args:
        events: Models or their JSON.
        translator: A new translator.

    Examples:
        >>> from agui_reasoning.compat import ThinkingDowngrader
        >>> downgrader = ThinkingDowngrader(on_warning=lambda warning: None)
        >>> list(translate([{"type": "REASONING_START", "messageId": "s"}], downgrader))
        [{'type': 'THINKING_START'}]
    """
    try:
        for event in events:
            yield from translator.receive(event)
        yield from translator.close()
    finally:
        if close := getattr(events, "close", None):
            close()


async def translate_async(
    events: AsyncIterable[BaseModel | Mapping[str, Any]], translator: Translator
) -> AsyncGenerator[dict[str, Any], None]:
    """Translate an asynchronous stream; otherwise like `translate`."""
    try:
        async for event in events:
            for translated in translator.receive(event):
                yield translated
        for translated in translator.close():
            yield translated
    finally:
        if close := getattr(events, "aclose", None):
            await close()
