"""Test visibility in the shells: awaited summaries, and logs without quotations."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import pytest

import agui_reasoning
from agui_reasoning import ConfigurationError, ProviderError, Run
from agui_reasoning.aio import ModelStream, run_agent, stream_run
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import ReasoningDelta, TextDelta
from agui_reasoning.emitter import PLACEHOLDER
from agui_reasoning.emitter.stages import Chunks
from agui_reasoning.parts import ReasoningPart
from agui_reasoning.replay import load_script, payloads
from tests.support.expected import FAILED

KEYS = KeyRing({"k": bytes(32)})
INPUT = {"threadId": "t", "runId": "r", "messages": []}
SECRET = "The user will never hear of this."

pytestmark = pytest.mark.anyio


async def collected(events: Any) -> list[dict[str, Any]]:
    return [event.model_dump(mode="json", by_alias=True, exclude_none=True) async for event in events]


def shown(events: list[dict[str, Any]]) -> list[str]:
    return [event["delta"] for event in events if event["type"] == "REASONING_MESSAGE_CONTENT"]


async def think(run: Run) -> AsyncIterator[Any]:
    yield ReasoningDelta(SECRET)
    yield TextDelta("Yes.")


async def summarize(part: ReasoningPart) -> str:
    await anyio.lowlevel.checkpoint()
    return f"{len(part.text)} characters of thought."


SUMMARY: dict[str, Any] = {"visibility": "summary", "keys": KEYS, "summarize": summarize}


async def test_an_asynchronous_summary_is_awaited_and_stands_in_its_place() -> None:
    events = await collected(run_agent(INPUT, think, **SUMMARY))
    assert shown(events) == ["33 characters of thought."]
    types = [event["type"] for event in events]
    start = types.index("REASONING_MESSAGE_START")
    assert types[start + 1 : start + 3] == ["REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END"]


async def test_a_model_stream_is_summarized_too() -> None:
    script = load_script("anthropic-weather-2")
    events = await collected(
        stream_run(INPUT, list(payloads(script)), api="anthropic-messages", provider="anthropic", **SUMMARY)
    )
    assert shown(events)
    assert all(text.endswith("characters of thought.") for text in shown(events))


async def test_reasoning_that_the_end_of_the_run_ends_is_summarized() -> None:
    async def agent(run: Run) -> AsyncIterator[Any]:
        yield ReasoningDelta(SECRET)

    assert shown(await collected(run_agent(INPUT, agent, **SUMMARY))) == ["33 characters of thought."]


async def test_a_summary_that_fails_leaves_a_placeholder() -> None:
    async def fail(part: ReasoningPart) -> str:
        raise ValueError(part.text)

    heard: list[str] = []
    events = await collected(
        run_agent(INPUT, think, **(SUMMARY | {"summarize": fail}), on_warning=heard.append)
    )
    assert shown(events) == [PLACEHOLDER]
    assert heard == ["`summarize` raised ValueError; a placeholder is shown."]


async def test_a_run_that_is_cancelled_while_a_summary_is_made_ends_without_it() -> None:
    scope = anyio.CancelScope()

    async def wait(part: ReasoningPart) -> str:
        scope.cancel()
        await anyio.sleep_forever()
        raise AssertionError

    events = run_agent(INPUT, think, **(SUMMARY | {"summarize": wait}))
    seen: list[str] = []
    with scope:
        seen.extend([event.type.value async for event in _noting(events, seen)])
    await events.aclose()
    assert seen == ["RUN_STARTED", "REASONING_START", "REASONING_MESSAGE_START"]


async def _noting(events: Any, seen: list[str]) -> AsyncIterator[Any]:
    async for event in events:
        seen.append(event.type.value)
        yield event


async def test_stages_see_the_summary() -> None:
    events = await collected(run_agent(INPUT, think, stages=[Chunks()], **SUMMARY))
    chunks = [
        event["delta"] for event in events if event["type"] == "REASONING_MESSAGE_CHUNK" and "delta" in event
    ]
    assert "".join(chunks) == "33 characters of thought."


def test_synchronous_code_has_synchronous_summaries(caplog: pytest.LogCaptureFixture) -> None:
    def agent(run: Run) -> Iterator[Any]:
        yield ReasoningDelta(SECRET)
        yield TextDelta("Yes.")

    made = {"visibility": "summary", "keys": KEYS, "summarize": lambda part: "Short."}
    events = [
        e.model_dump(mode="json", by_alias=True) for e in agui_reasoning.run_agent(INPUT, agent, **made)
    ]
    assert shown(events) == ["Short."]
    events = [
        e.model_dump(mode="json", by_alias=True) for e in agui_reasoning.run_agent(INPUT, agent, **SUMMARY)
    ]
    assert events[-1]["code"] == "async_summarize"


async def failing(run: Run) -> AsyncIterator[Any]:
    yield ReasoningDelta(SECRET)
    raise ValueError(SECRET)


@pytest.mark.parametrize("visibility", ["summary", "hidden"])
async def test_where_reasoning_is_not_seen_no_exception_is_quoted_in_the_log(
    visibility: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    events = await collected(run_agent(INPUT, failing, visibility=visibility, keys=KEYS))
    assert events[-1]["message"] == FAILED
    assert "ValueError" in caplog.text
    assert "in failing" in caplog.text
    assert SECRET not in caplog.text
    assert all(record.exc_info is None for record in caplog.records)


async def test_in_full_the_log_has_the_whole_traceback(caplog: pytest.LogCaptureFixture) -> None:
    await collected(run_agent(INPUT, failing))
    assert SECRET in caplog.text


async def test_a_providers_words_are_not_logged_either(caplog: pytest.LogCaptureFixture) -> None:
    async def refused(run: Run) -> AsyncIterator[Any]:
        yield ReasoningDelta("Hm.")
        raise ProviderError(provider_type="overloaded_error", provider_message=SECRET)

    def choose(error: BaseException) -> str:
        raise ValueError(SECRET)

    await collected(run_agent(INPUT, refused, visibility="hidden", keys=KEYS, on_error=choose))
    assert SECRET not in caplog.text
    assert [record.getMessage().partition("\n")[0] for record in caplog.records] == [
        "The run failed: ProviderError (code overloaded, provider type overloaded_error, "
        "thread 't', run 'r').",
        "`on_error` failed; the default sentence is used.",
        "The run failed: ValueError (thread 't', run 'r').",
    ]


async def test_a_run_that_would_lose_what_is_required_ends_before_it_shows_anything() -> None:
    source = ModelStream(list(payloads(load_script("anthropic-weather"))), api="anthropic-messages")

    async def agent(run: Run) -> AsyncIterator[Any]:
        yield source

    events = await collected(run_agent(INPUT, agent, visibility="hidden"))
    assert [event["type"] for event in events] == ["RUN_STARTED", "RUN_ERROR"]
    assert events[-1]["code"] == "visibility_without_keys"


def test_a_visibility_that_does_not_exist_is_told_when_the_run_is_made() -> None:
    with pytest.raises(ConfigurationError):
        run_agent(INPUT, think, visibility="none")  # type: ignore[arg-type]
