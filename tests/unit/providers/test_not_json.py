"""Payloads that were never JSON: parsers that are not strict give NaN, programs give everything else."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from agui_reasoning import DecodeError, ProviderError
from agui_reasoning.deltas import CloseDelta, NativeDelta
from agui_reasoning.providers import API_IDS, decode_response, decoder


def nested(depth: int) -> Any:
    value: Any = "deep"
    for _ in range(depth):
        value = [value]
    return value


def cyclic() -> Any:
    value: dict[str, Any] = {}
    value["inside"] = [value, value]
    return value


FLAWS: dict[str, Callable[[], Any]] = {
    "NaN": lambda: math.nan,
    "infinity": lambda: math.inf,
    "an integer of 5,000 digits": lambda: 10**5000,
    "a number as a name": lambda: {5: "five"},
    "no name": lambda: {None: "none"},
    "3,000 levels": lambda: nested(3000),
    "itself": cyclic,
    "a class": lambda: object,
}

PAYLOADS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "anthropic-messages": lambda value: {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "novelty", "more": value},
    },
    "openai-responses": lambda value: {
        "type": "response.output_item.done",
        "output_index": 0,
        "item": {"type": "novelty", "id": "n", "more": value},
    },
    "openai-chat": lambda value: {
        "choices": [{"index": 0, "delta": {"content": [{"type": "novelty", "more": value}]}}]
    },
    "gemini": lambda value: {"candidates": [{"content": {"parts": [{"novelty": {"more": value}}]}}]},
    "gemini-interactions": lambda value: {
        "event_type": "step.start",
        "index": 0,
        "step": {"type": "novelty", "more": value},
    },
    "bedrock-converse": lambda value: {
        "contentBlockStart": {"contentBlockIndex": 0, "start": {"novelty": {"more": value}}}
    },
    "mistral-chat": lambda value: {
        "choices": [{"index": 0, "delta": {"content": [{"type": "novelty", "more": value}]}}]
    },
    "cohere-chat": lambda value: {
        "type": "content-start",
        "index": 0,
        "delta": {"message": {"content": {"type": "novelty", "more": value}}},
    },
    "ollama": lambda value: {"message": {"role": "assistant", "content": "", "more": value}, "done": False},
    "xai-grpc": lambda value: {"outputs": [{"index": 0, "delta": {"role": "ROLE_ASSISTANT", "more": value}}]},
}
PAYLOADS["litellm"] = PAYLOADS["openai-chat"]


def test_every_api_is_here() -> None:
    assert set(PAYLOADS) == set(API_IDS)


@pytest.mark.parametrize("flaw", FLAWS)
@pytest.mark.parametrize("api", PAYLOADS)
def test_what_json_cannot_represent_is_refused(api: str, flaw: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decoder(api).receive(PAYLOADS[api](FLAWS[flaw]()))
    assert caught.value.code == "bad_payload"


def test_a_decoder_that_may_have_kept_it_reads_no_more() -> None:
    made = decoder("anthropic-messages")
    for payload in (PAYLOADS["anthropic-messages"](nested(3000)), {"type": "content_block_stop", "index": 0}):
        with pytest.raises(DecodeError, match="more than 201 levels") as caught:
            made.receive(payload)
        assert list(caught.value.deltas) == [CloseDelta(status="incomplete")]
    assert made.close() == []


@pytest.mark.parametrize("flaw", FLAWS)
@pytest.mark.parametrize("api", PAYLOADS)
def test_a_whole_response_that_was_never_json_is_refused(api: str, flaw: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode_response(api, {"choices": [], "output": {}, "content": [], "more": FLAWS[flaw]()})
    assert caught.value.code == "bad_payload"


def test_a_number_that_cannot_be_written_is_refused_in_text_that_continues_too() -> None:
    made = decoder("openai-responses")
    delta = {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "Hm"}
    made.receive({**delta, "summary_index": 0})
    with pytest.raises(DecodeError) as caught:
        made.receive({**delta, "summary_index": 10**5000})
    assert caught.value.path == "/summary_index"


@pytest.mark.parametrize("name", [5, None, ("a", "b")])
def test_a_name_that_is_no_string_is_no_event_of_bedrock(name: Any) -> None:
    with pytest.raises(DecodeError, match="a name that is not a string"):
        decoder("bedrock-converse").receive({name: "x", "role": "assistant"})


@pytest.mark.parametrize("payload", ["slow down", ["slow down"], 5, None, {"message": ["slow down"]}])
def test_an_exception_of_bedrock_may_hold_anything(payload: Any) -> None:
    with pytest.raises(ProviderError) as caught:
        decoder("bedrock-converse").receive({"throttlingException": payload})
    assert caught.value.provider_type == "throttlingException"


class Node(BaseModel):
    """What an SDK might return."""

    candidates: Any = None


@pytest.mark.parametrize("api", PAYLOADS)
def test_an_object_that_contains_itself_is_refused(api: str) -> None:
    node = Node(candidates=[])
    node.candidates.append(node.candidates)
    with pytest.raises(DecodeError) as caught:
        decode_response(api, node)
    assert caught.value.code in ("bad_payload", "wrong_api")


@pytest.mark.parametrize("value", [["x"], 5, True])
@pytest.mark.parametrize("name", ["toolUse", "reasoningContent", "citationsContent", "text"])
def test_a_block_of_bedrock_of_another_type_is_refused(name: str, value: Any) -> None:
    message = {"role": "assistant", "content": [{name: value}]}
    with pytest.raises(DecodeError) as caught:
        decode_response("bedrock-converse", {"output": {"message": message}, "stopReason": "end_turn"})
    assert caught.value.code == "bad_payload"


def test_an_object_with_a_descriptor_is_no_message_of_xai_without_its_sdk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Strange:
        DESCRIPTOR = None

    monkeypatch.setitem(sys.modules, "google.protobuf.json_format", None)
    with pytest.raises(DecodeError) as caught:
        decoder("xai-grpc").receive(Strange())
    assert caught.value.code == "bad_payload"


@pytest.mark.parametrize("start", [5, ["x"], {"x": 1}, None])
def test_a_delta_of_an_unknown_block_of_claude_replaces_what_is_no_string(start: Any) -> None:
    made = decoder("anthropic-messages")
    block = {"type": "novelty", "content": start}
    deltas = made.receive({"type": "content_block_start", "index": 0, "content_block": block})
    for text in ("H", "m."):
        delta = {"type": "novelty_delta", "content": text}
        deltas += made.receive({"type": "content_block_delta", "index": 0, "delta": delta})
    deltas += made.receive({"type": "content_block_stop", "index": 0})
    assert [one.payload["content"] for one in deltas if isinstance(one, NativeDelta)] == ["Hm."]


@pytest.mark.parametrize("start", [5, "x", {"x": 1}, None])
def test_a_delta_of_an_unknown_block_of_bedrock_replaces_what_is_no_list(start: Any) -> None:
    made = decoder("bedrock-converse")
    block = {"contentBlockIndex": 0, "start": {"novelty": {"content": start}}}
    deltas = made.receive({"contentBlockStart": block})
    for number in range(2):
        piece = {"contentBlockIndex": 0, "delta": {"novelty": [{"text": str(number)}]}}
        deltas += made.receive({"contentBlockDelta": piece})
    deltas += made.receive({"contentBlockStop": {"contentBlockIndex": 0}})
    [native] = [one.payload for one in deltas if isinstance(one, NativeDelta)]
    assert native == {"novelty": {"content": [{"text": "0"}, {"text": "1"}]}}


@pytest.mark.parametrize("flaw", FLAWS)
def test_a_dump_of_google_that_was_never_json_is_refused(flaw: str) -> None:
    part = {"function_call": {"name": "look", "args": {"at": FLAWS[flaw]()}}}
    for payload in (
        {"candidates": [{"content": {"parts": [part]}}]},
        {"candidates": [], "usage_metadata": {"more": FLAWS[flaw]()}},
        {"candidates": [{5: "five", "finish_reason": FLAWS[flaw]()}]},
    ):
        with pytest.raises(DecodeError) as caught:
            decoder("gemini").receive(payload)
        assert caught.value.code == "bad_payload"
