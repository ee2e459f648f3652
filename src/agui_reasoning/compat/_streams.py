"""Whole streams through a translator: a loop of a few lines, asynchronous or not."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable, Mapping
from typing import Any, Protocol

from pydantic import BaseModel

__all__ = ["Translator", "translate", "translate_async"]


class Translator(Protocol):
    """`ThinkingUpgrader`, `ThinkingDowngrader`, or a machine of your own, fresh for each stream."""

    def receive(self, event: BaseModel | Mapping[str, Any], /) -> list[dict[str, Any]]:
        """Translate one event."""

    def close(self) -> list[dict[str, Any]]:
        """Say that the stream ended."""


def translate(
    events: Iterable[BaseModel | Mapping[str, Any]], translator: Translator
) -> Generator[dict[str, Any], None, None]:
    """Translate a stream.

    The source is closed with the stream, if it can be closed.

    Args:
        events: Models or their JSON.
        translator: Which way; one for each stream.

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
    """Translate an asynchronous stream; the same as `translate` otherwise."""
    try:
        async for event in events:
            for translated in translator.receive(event):
                yield translated
        for translated in translator.close():
            yield translated
    finally:
        if close := getattr(events, "aclose", None):
            await close()
