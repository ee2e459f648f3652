from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from agui_reasoning.compat import ThinkingDowngrader, ThinkingUpgrader, translate, translate_async
from tests.support.play import Json, ev

THINKING = [ev("THINKING_START"), ev("THINKING_END")]
REASONING = [ev("REASONING_START", messageId="s"), ev("REASONING_END", messageId="s")]


def upgrader() -> ThinkingUpgrader:
    return ThinkingUpgrader(lambda warning: None, new_id=lambda: "s")


class Source:
    """A stream that knows whether it was closed."""

    closed = False

    def events(self) -> Iterator[Json]:
        try:
            yield from THINKING
        finally:
            self.closed = True

    async def events_async(self) -> AsyncIterator[Json]:
        try:
            for event in THINKING:
                yield event
        finally:
            self.closed = True


def test_a_stream_is_translated_as_it_is_read() -> None:
    source = Source()
    stream = translate(source.events(), upgrader())
    assert next(stream) == REASONING[0]
    assert not source.closed
    assert list(stream) == REASONING[1:]
    assert source.closed


def test_any_iterable_will_do() -> None:
    assert list(translate(THINKING, upgrader())) == REASONING


def test_a_reader_who_stops_early_closes_the_source() -> None:
    source = Source()
    stream = translate(source.events(), upgrader())
    next(stream)
    stream.close()
    assert source.closed


@pytest.mark.anyio
async def test_an_asynchronous_stream_is_translated_and_closed() -> None:
    source = Source()
    downgrader = ThinkingDowngrader(on_warning=lambda warning: None)
    upgraded = translate_async(source.events_async(), upgrader())
    assert [event async for event in translate_async(upgraded, downgrader)] == THINKING
    assert source.closed


@pytest.mark.anyio
async def test_an_asynchronous_reader_who_stops_early_closes_the_source() -> None:
    source = Source()
    stream = translate_async(source.events_async(), upgrader())
    assert await anext(stream) == REASONING[0]
    await stream.aclose()
    assert source.closed
