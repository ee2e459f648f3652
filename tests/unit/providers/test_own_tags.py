"""Test the tags that an application names, and answers that start inside reasoning under any model's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agui_reasoning import ConfigurationError, ModelStream, build_request, run_agent, stream_run
from agui_reasoning.deltas import Delta, ReasoningDelta, fold
from agui_reasoning.parts import ReasoningPart, TextPart, Turn
from agui_reasoning.providers import decoder
from agui_reasoning.request import History
from tests.support.verifier import plain, replay

INPUT = {"threadId": "t", "runId": "r", "messages": []}
PIECES = ["Two and ", "two.\n</thi", "nk>\n\nFo", "ur."]
SPLIT = [("Two and two.",), "Four."]


def chat(text: str, finish: str | None = None, **delta: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"content": text, **delta}, "finish_reason": finish}
    return {"id": "1", "object": "chat.completion.chunk", "model": "prod", "choices": [choice]}


def ollama(text: str, finish: str | None = None) -> dict[str, Any]:
    return {"model": "prod", "message": {"role": "assistant", "content": text}, "done": finish is not None}


PAYLOADS: dict[str, Callable[..., dict[str, Any]]] = {
    "openai-chat": chat,
    "litellm": chat,
    "mistral-chat": chat,
    "ollama": ollama,
}


def stream(api: str, pieces: list[str]) -> list[dict[str, Any]]:
    write = PAYLOADS[api]
    return [*map(write, pieces), write("", "stop")]


def decoded(api: str, pieces: list[str], **options: Any) -> list[Delta]:
    decode = decoder(api, model="prod", **options)
    return [delta for payload in stream(api, pieces) for delta in decode.receive(payload)] + decode.close()


def shown(deltas: list[Delta]) -> list[Any]:
    """The units: reasoning as a tuple, text as text."""
    parts = fold(deltas)
    return [(part.text,) if isinstance(part, ReasoningPart) else part.text for part in parts]  # type: ignore[union-attr]


@pytest.mark.parametrize("api", PAYLOADS)
def test_an_answer_that_starts_in_reasoning_is_split_under_any_name(api: str) -> None:
    deltas = decoded(api, PIECES, starts_in_reasoning=True)
    assert shown(deltas) == SPLIT
    assert shown(decoded(api, ["".join(PIECES)], starts_in_reasoning=True)) == SPLIT
    assert shown(decoded(api, PIECES)) == ["".join(PIECES)]


@pytest.mark.parametrize("api", PAYLOADS)
def test_reasoning_is_not_held_back_until_it_ends(api: str) -> None:
    decode = decoder(api, model="prod", starts_in_reasoning=True)
    assert any(isinstance(delta, ReasoningDelta) for delta in decode.receive(PAYLOADS[api]("Two and")))


@pytest.mark.parametrize("api", PAYLOADS)
def test_an_opening_tag_may_come_all_the_same(api: str) -> None:
    assert shown(decoded(api, ["<think>", *PIECES], starts_in_reasoning=True)) == SPLIT


@pytest.mark.parametrize("api", PAYLOADS)
def test_own_tags_replace_the_usual_ones(api: str) -> None:
    pieces = ["[plan]Two", " and two.[/plan]", "<think>Four."]
    assert shown(decoded(api, pieces, tags={"[plan]": "[/plan]"})) == [("Two and two.",), "<think>Four."]
    started = decoded(api, pieces[1:], tags={"[plan]": "[/plan]"}, starts_in_reasoning=True)
    assert shown(started) == [(" and two.",), "<think>Four."]


def test_reasoning_in_a_field_shows_that_the_server_has_a_parser() -> None:
    decode = decoder("openai-chat", model="prod", starts_in_reasoning=True)
    payloads = [chat("", reasoning_content="Two and two."), chat("Four."), chat("", "stop")]
    assert shown([delta for payload in payloads for delta in decode.receive(payload)]) == SPLIT


def test_tags_within_the_answer_of_some_models_count_if_they_are_among_the_tags() -> None:
    decode = decoder("openai-chat", provider="minimax", model="MiniMax-M2", tags={"[plan]": "[/plan]"})
    deltas = decode.receive({**chat("[plan]a[/plan]b <think>c"), "model": "MiniMax-M2"})
    assert shown(deltas + decode.receive(chat("", "stop"))) == [("a",), "b <think>c"]


@pytest.mark.parametrize("api", ["openai-chat", "mistral-chat"])
def test_what_was_split_goes_back_as_it_came(api: str) -> None:
    provider = "minimax" if api == "openai-chat" else None
    deltas = decoded(api, PIECES, starts_in_reasoning=True, provider=provider)
    (reasoning, text) = parts = fold(deltas)
    assert isinstance(reasoning, ReasoningPart)
    assert isinstance(text, TextPart)
    tag = (reasoning.ext or {})["tag"]
    assert tag["open"] + reasoning.text + tag["close"] + text.text == "".join(PIECES)
    body = build_request(api, History((Turn(tuple(parts)),)), provider=provider, model="prod").body
    if api == "openai-chat":
        assert body["messages"][0]["content"] == "".join(PIECES)


@pytest.mark.parametrize("api", ["anthropic-messages", "openai-responses", "gemini"])
@pytest.mark.parametrize("option", [{"starts_in_reasoning": True}, {"tags": {"<a>": "</a>"}}])
def test_an_api_without_tags_refuses_the_options(api: str, option: Any) -> None:
    for make in (lambda: decoder(api, **option), lambda: stream_run(INPUT, [], api=api, **option)):
        with pytest.raises(ConfigurationError) as caught:
            make()
        assert caught.value.code == "wrong_option"


@pytest.mark.parametrize("tags", [{"": "x"}, "<think>", ("<a>", "</a>"), [("<a>", "</a>")], {1: 2}])
def test_invalid_tags_are_refused_when_the_run_is_made(tags: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        stream_run(INPUT, [], api="openai-chat", tags=tags)
    assert caught.value.code == "bad_tags"


def deltas_of(events: Any) -> list[tuple[str, str]]:
    written = plain(list(events))
    replay(written, framed=True)
    return [(event["type"], event["delta"]) for event in written if "delta" in event]


THOUGHT, SAID = "REASONING_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT"


def test_a_run_and_a_model_stream_take_the_options() -> None:
    whole = stream("openai-chat", ["".join(PIECES)])
    expected = [(THOUGHT, "Two and two."), (SAID, "Four.")]
    named = {"api": "openai-chat", "provider": "vllm", "model": "prod"}
    assert deltas_of(stream_run(INPUT, whole, starts_in_reasoning=True, **named)) == expected  # type: ignore[arg-type]
    assert (
        deltas_of(
            run_agent(INPUT, lambda run: iter([ModelStream(whole)]), starts_in_reasoning=True, **named)  # type: ignore[arg-type]
        )
        == expected
    )
    own = ModelStream(whole, starts_in_reasoning=True)
    assert deltas_of(run_agent(INPUT, lambda run: iter([own]), **named)) == expected  # type: ignore[arg-type]


def test_a_model_stream_decides_for_itself() -> None:
    whole = stream("openai-chat", ["Four."])
    agent = lambda run: iter([ModelStream(whole, starts_in_reasoning=False)])  # noqa: E731
    events = run_agent(INPUT, agent, api="openai-chat", provider="vllm", starts_in_reasoning=True)
    assert deltas_of(events) == [(SAID, "Four.")]


def test_the_options_of_a_run_are_those_of_its_own_api() -> None:
    payload = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Four."}}
    asked = ModelStream([payload], api="anthropic-messages", provider="anthropic")
    agent = lambda run: iter([asked])  # noqa: E731
    events = plain(
        list(run_agent(INPUT, agent, api="openai-chat", provider="vllm", starts_in_reasoning=True))
    )
    assert "wrong_option" not in str(events)
