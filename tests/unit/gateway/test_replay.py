"""Test the replay upstream: which exchange answers which input."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from agui_reasoning import ConfigurationError, DecodeError, Run
from agui_reasoning.aio import run_agent
from agui_reasoning.gateway import ReplayUpstream
from agui_reasoning.providers import decode_response
from agui_reasoning.replay import CONVERSATIONS, load_script
from tests.support.recordings import load, recordings
from tests.support.verifier import Client, plain
from tests.unit.gateway.http_client import INPUT

pytestmark = pytest.mark.anyio

USER = {"id": "u1", "role": "user", "content": "Umbrella or raincoat?"}
ANSWER = {"id": "a2", "role": "assistant", "content": "Raincoat."}
CALL = {
    "id": "a1",
    "role": "assistant",
    "toolCalls": [{"id": "c1", "type": "function", "function": {"name": "get_forecast", "arguments": "{}"}}],
}
RESULT = {"id": "t1", "role": "tool", "toolCallId": "c1", "content": "Rain"}
WHOLE = {
    "api": "anthropic-messages",
    "response": {
        "id": "msg_1",
        "type": "message",
        "model": "m",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "text", "text": "Yes."},
        ],
        "stop_reason": "end_turn",
    },
}


async def answer(upstream: ReplayUpstream, *messages: Any) -> list[dict[str, Any]]:
    events = [event async for event in run_agent(Run(INPUT | {"messages": list(messages)}), upstream.agent)]
    return Client().feed(plain(events)).done().messages


def said(messages: list[dict[str, Any]]) -> str:
    return "".join(message["content"] for message in messages if message["role"] == "reasoning")


def calls(messages: list[dict[str, Any]]) -> list[str]:
    return [call["id"] for message in messages for call in message.get("toolCalls", ())]


@pytest.mark.parametrize("name", CONVERSATIONS.values())
async def test_the_calls_of_a_script_have_new_ids_in_each_run(name: str) -> None:
    upstream = ReplayUpstream(name)
    (first,), (second,) = calls(await answer(upstream, USER)), calls(await answer(upstream, USER))
    assert first != second


@pytest.mark.parametrize("name", ["anthropic-weather", "openai-weather", "chat-weather"])
async def test_a_script_calls_for_a_question_and_answers_for_a_result(name: str) -> None:
    upstream = ReplayUpstream(name)
    assert len(calls(await answer(upstream, USER))) == 1
    assert len(calls(await answer(upstream))) == 1
    assert calls(await answer(upstream, USER, CALL, RESULT)) == []


@pytest.mark.parametrize("name", ["anthropic-weather", "openai-weather", "chat-weather"])
async def test_a_script_answers_a_question_after_an_answer(name: str) -> None:
    upstream, again = ReplayUpstream(name), {**USER, "id": "u2"}
    answers = [
        await answer(upstream, USER, CALL, RESULT),
        await answer(upstream, USER, CALL, RESULT, ANSWER, again),
        await answer(
            upstream, USER, CALL, RESULT, ANSWER, again, {**ANSWER, "id": "a3"}, {**USER, "id": "u3"}
        ),
    ]
    second, third, fourth = (messages[-1]["content"] for messages in answers)
    assert second != third == fourth
    assert calls(answers[1]) == []


async def test_a_greeting_is_no_answer() -> None:
    assert len(calls(await answer(ReplayUpstream(), ANSWER, USER))) == 1


async def test_what_is_nobodys_turn_does_not_count() -> None:
    thought = {"id": "r1", "role": "reasoning", "content": "Hm."}
    upstream = ReplayUpstream()
    assert calls(await answer(upstream, USER, CALL, RESULT, thought)) == []
    assert len(calls(await answer(upstream, {"id": "s1", "role": "system", "content": "Brief."}, USER))) == 1


async def test_the_default_is_anthropic() -> None:
    upstream = ReplayUpstream()
    assert upstream.name == "replay:anthropic-weather"
    assert said(await answer(upstream, USER)).startswith("Umbrella or raincoat: ")


async def test_a_script_that_nothing_follows_is_the_same_for_every_input() -> None:
    upstream = ReplayUpstream("chat-weather-2")
    assert said(await answer(upstream, USER)) == said(await answer(upstream, USER, CALL, RESULT)) != ""


@pytest.mark.parametrize("recording", [load_script("openai-weather"), WHOLE], ids=["stream", "whole"])
async def test_a_recording_is_the_same_for_every_input(recording: dict[str, Any]) -> None:
    upstream = ReplayUpstream(recording)
    first = await answer(upstream, USER)
    again = await answer(upstream, USER, CALL, RESULT)
    assert said(first) == said(again) != ""
    assert upstream.name == "replay"


async def test_a_delay_is_waited_before_each_payload() -> None:
    started = time.monotonic()
    await answer(ReplayUpstream("chat-weather-2", delay_s=0.01), USER)
    assert time.monotonic() - started >= 0.01 * len(load_script("chat-weather-2")["events"])


def test_an_unknown_script_lists_the_known_ones() -> None:
    with pytest.raises(ConfigurationError) as caught:
        ReplayUpstream("nope")
    assert caught.value.code == "unknown_script"


def test_an_api_that_cannot_be_decoded_fails_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        ReplayUpstream({"api": "nope", "events": []})
    assert caught.value.code == "unknown_api"


@pytest.mark.parametrize(
    ("recording", "path"),
    [
        ([], ""),
        ({"events": []}, ""),
        ({"api": 1, "events": []}, ""),
        ({"api": "openai-chat"}, ""),
        ({"api": "openai-chat", "events": [{"data": {}}, {"event": "x"}]}, "/events/1"),
    ],
)
def test_what_is_no_recording_fails_at_once(recording: Any, path: str) -> None:
    with pytest.raises(DecodeError) as caught:
        ReplayUpstream(recording)
    assert (caught.value.code, caught.value.path) == ("bad_recording", path)


@pytest.mark.parametrize("file", recordings("anthropic-messages")[:40])
async def test_recorded_exchanges_are_played(file: Path) -> None:
    recording = load(file)
    messages = await answer(ReplayUpstream(recording), USER)
    if not recording["stream"]:
        parts = decode_response(recording["api"], recording["response"])
        assert bool(messages) == bool(parts)
