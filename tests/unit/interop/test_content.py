"""What adapters read and cut in the same way, and what two of them write of a provider's own items."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agui_reasoning.interop._content import responses_in, result_text
from agui_reasoning.interop.langchain._write import message_dicts as for_langchain
from agui_reasoning.interop.pydantic_ai._write import message_dicts as for_pydantic_ai
from agui_reasoning.parts import Origin

TARGET = Origin("openai", "openai-responses", "gpt")
IMAGE = {"type": "image", "url": "https://example.com/a.png"}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}}
COMPACTED = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"}
CUSTOM = {"type": "custom_tool_call", "call_id": "c1", "name": "sh", "input": "ls"}
SAID = {
    "type": "message",
    "role": "assistant",
    "id": "msg_1",
    "content": [{"type": "output_text", "text": "Yes.", "annotations": []}],
}
ASKED = {"role": "user", "content": [{"type": "input_text", "text": "Search."}]}
RESULT = {"type": "custom_tool_call_output", "call_id": "c1", "output": "a.py"}
BODY = {"input": [ASKED, COMPACTED, SEARCH, SAID, CUSTOM, RESULT]}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("Rain.", "Rain."),
        (["Rain", {"type": "text", "text": "."}], "Rain."),
        ([{"type": "input_text", "text": "Rain."}], "Rain."),
        ([], ""),
    ],
)
def test_the_text_of_a_result(content: Any, text: str) -> None:
    assert result_text(content) == text


@pytest.mark.parametrize("content", [[{"type": "text", "text": "A."}, IMAGE], {"rain": 1}])
def test_a_result_that_is_not_only_text_loses_nothing(content: Any) -> None:
    assert json.loads(result_text(content)) == content


def test_whatever_is_not_told_to_the_model_is_the_models() -> None:
    assert list(responses_in(BODY["input"])) == [
        (False, [ASKED]),
        (True, [COMPACTED, SEARCH, SAID, CUSTOM]),
        (False, [RESULT]),
    ]


def test_langchain_gets_the_providers_own_items_as_they_are() -> None:
    _, answer, _ = for_langchain(TARGET, BODY)
    assert answer["content"] == [COMPACTED, SEARCH, {"type": "text", "text": "Yes.", "id": "msg_1"}, CUSTOM]


def test_pydantic_ai_has_no_place_for_them_and_says_so() -> None:
    told: list[str] = []
    _, answer, result = for_pydantic_ai(TARGET, BODY, told.extend)
    assert [part["part_kind"] for part in answer["parts"]] == ["text", "tool-call"]
    assert set(answer) == {"kind", "parts", "provider_name", "model_name"}
    assert result["parts"][0]["content"] == "a.py"
    assert len(told) == 1
    for_pydantic_ai(TARGET, {"input": [ASKED, SAID]}, pytest.fail)
