"""What adapters read and cut in the same way, and what two of them write of a provider's own items."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest
from ag_ui.core import UserMessage

from agui_reasoning.interop import pydantic_ai
from agui_reasoning.interop._messages import Media, media_of, result_part
from agui_reasoning.interop.langchain._write import message_dicts as for_langchain
from agui_reasoning.interop.pydantic_ai import _message_dicts as for_pydantic_ai
from agui_reasoning.parts import Origin, ToolResultPart, Turn
from agui_reasoning.providers import decode_response
from agui_reasoning.request import (
    History,
    PreparedConversation,
    PreparedResponse,
    ProviderRequest,
    prepare,
)
from tests.unit.interop.reading import shown
from tests.unit.interop.test_pydantic_ai import part

TARGET = Origin("openai", "openai-responses", "gpt")
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
        ([{"type": "resource", "resource": {"uri": "a:b", "text": "Rain."}}], "Rain."),
        ([], ""),
    ],
)
def test_the_text_of_a_result(content: Any, text: str) -> None:
    assert result_part("c", content) == ToolResultPart("c", text)
    assert result_part("c", content, failed=True) == ToolResultPart("c", text, text)


@pytest.mark.parametrize("content", [[{"type": "text", "text": "A."}, {"rain": 1}], {"rain": 1}, [["a"], 1]])
def test_a_result_that_is_neither_text_nor_media_loses_nothing(content: Any) -> None:
    assert json.loads(str(result_part("c", content).content)) == content


PIXEL = b64encode(b"png").decode()
URL = "https://example.org/a"
PNG = Media("image", "data", PIXEL, "image/png")
PDF = Media("document", "data", PIXEL, "application/pdf")
WAV = Media("audio", "data", PIXEL, "audio/wav")
LINK = Media("image", "url", URL, "image/png")
PAPER = Media("document", "url", URL, "application/pdf")
BLOCKS = {
    "anthropic": (
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
        PNG,
    ),
    "anthropic, url": ({"type": "image", "source": {"type": "url", "url": URL}}, LINK),
    "anthropic, document": ({"type": "document", "source": {"type": "url", "url": URL}}, PAPER),
    "anthropic, text": (
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "png"}},
        Media("document", "data", PIXEL, "text/plain"),
    ),
    "anthropic, file": (
        {"type": "document", "source": {"type": "file", "file_id": "f"}},
        Media("document", "file", "f", "application/pdf"),
    ),
    "responses": ({"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"}, PNG),
    "responses, url": ({"type": "input_image", "image_url": URL}, LINK),
    "responses, file": (
        {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PIXEL}"},
        PDF,
    ),
    "responses, file url": ({"type": "input_file", "file_url": URL}, PAPER),
    "chat, not base64": (
        {"type": "image_url", "image_url": {"url": "data:image/svg+xml,%3Csvg/%3E"}},
        Media("image", "data", b64encode(b"<svg/>").decode(), "image/svg+xml"),
    ),
    "chat": ({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}, PNG),
    "chat, audio": ({"type": "input_audio", "input_audio": {"data": PIXEL, "format": "wav"}}, WAV),
    "chat, file": ({"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PIXEL}"}}, PDF),
    "gemini": ({"inlineData": {"mimeType": "image/png", "data": PIXEL}}, PNG),
    "gemini, url": ({"fileData": {"mimeType": "application/pdf", "fileUri": URL}}, PAPER),
    "langchain": ({"type": "image", "base64": PIXEL, "mime_type": "image/png"}, PNG),
    "langchain, v0": (
        {"type": "image", "source_type": "base64", "data": PIXEL, "mime_type": "image/png"},
        PNG,
    ),
    "langchain, url": ({"type": "image", "url": URL}, LINK),
    "langchain, file": ({"type": "file", "base64": PIXEL, "mime_type": "application/pdf"}, PDF),
    "mcp": ({"type": "image", "data": PIXEL, "mimeType": "image/png"}, PNG),
    "mcp, audio": ({"type": "audio", "data": PIXEL, "mimeType": "audio/wav"}, WAV),
    "mcp, resource": (
        {"type": "resource", "resource": {"uri": URL, "mimeType": "application/pdf", "blob": PIXEL}},
        PDF,
    ),
    "pydantic": ({"type": "binary", "data": b"png", "media_type": "image/png"}, PNG),
    "pydantic, url": (
        {"type": "document-url", "url": f"{URL}.pdf"},
        Media("document", "url", f"{URL}.pdf", PDF.media_type),
    ),
}


@pytest.mark.parametrize(("block", "media"), BLOCKS.values(), ids=BLOCKS)
def test_media_of_every_spelling_become_content_parts(block: Any, media: Media) -> None:
    assert media_of(block) == media
    (part,) = result_part("c", [block]).content
    assert part.model_dump(by_alias=True, exclude_none=True) == media.part  # type: ignore[union-attr]
    said, shown = result_part("c", [{"type": "text", "text": "Look."}, block], failed=True).content
    assert (said.text, shown) == ("Look.", part)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "block",
    [
        {"url": URL},
        {"type": "text", "text": "a", "data": PIXEL},
        {"type": "image"},
        {"type": "image", "source": None},
        {"type": "image", "source": {"type": "base64", "data": 1}},
        ["image"],
        "image",
    ],
)
def test_other_blocks_are_no_media(block: Any) -> None:
    assert media_of(block) is None


def test_a_block_of_another_kind_beside_media_becomes_json() -> None:
    _, other = result_part("c", [{"type": "image", "url": URL}, {"rain": 1}]).content
    assert other.text == '{"rain":1}'  # type: ignore[union-attr]


def test_langchain_gets_the_providers_own_items_as_they_are() -> None:
    _, answer, _ = for_langchain(ProviderRequest(BODY, target=TARGET))
    assert answer["content"] == [COMPACTED, SEARCH, {"type": "text", "text": "Yes.", "id": "msg_1"}, CUSTOM]


def prepared(items: list[Any]) -> PreparedConversation:
    """The conversation of a request with a question, the items of a response, and the result of a call."""
    said = [item for item in items[1:] if "output" not in item]
    parts = decode_response("openai-responses", {"output": said, "status": "completed"}, provider="openai")
    results = [ToolResultPart(item["call_id"], item["output"]) for item in items if "output" in item]
    response = PreparedResponse(tuple(parts), tuple(results))
    return PreparedConversation(TARGET, (UserMessage(id="u", content="So?"), response))


def test_pydantic_ai_has_no_place_for_them_and_says_so() -> None:
    told: list[str] = []
    conversation = prepared(BODY["input"])
    _, answer, result = for_pydantic_ai(conversation, told.extend)
    assert [part["part_kind"] for part in answer["parts"]] == ["text", "tool-call"]
    assert set(answer) == {"kind", "parts", "provider_name", "model_name"}
    assert result["parts"][0]["content"] == "a.py"
    assert len(told) == 1
    for_pydantic_ai(prepared([ASKED, SAID]), pytest.fail)


WHOLE: dict[str, list[Any]] = {
    "anthropic-messages": [
        {"type": "thinking", "thinking": "Hm.", "signature": "AA=="},
        {"type": "redacted_thinking", "data": "BB=="},
        {"type": "text", "text": "Yes."},
    ],
    "bedrock-converse": [
        {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "AA=="}}},
        {"reasoningContent": {"redactedContent": b"opaque"}},
        {"text": "Yes."},
    ],
}


PROVIDERS = {"anthropic-messages": "anthropic", "bedrock-converse": "bedrock"}


@pytest.mark.parametrize("api", PROVIDERS)
def test_what_is_written_for_the_framework_is_read_as_it_was(api: str) -> None:
    content, provider = WHOLE[api], PROVIDERS[api]
    message = {"role": "assistant", "content": content}
    whole: dict[str, Any] = {"type": "message", **message}
    if provider == "bedrock":
        whole = {"output": {"message": message}, "stopReason": "end_turn"}
    options = {"api": api, "provider": provider, "model": "claude-opus-5"}
    parts = decode_response(api, whole, provider=provider)
    turn = Turn(tuple(parts), Origin(provider, api, "claude-opus-5"))
    asked = UserMessage(id="u", content="Is it so?")
    conversation = prepare(history_or_messages=History((asked, turn, asked)), **options)
    _, written, _ = for_pydantic_ai(conversation, pytest.fail)
    events: list[Any] = []
    for number, fields in enumerate(written["parts"]):
        members = {name: value for name, value in fields.items() if name != "part_kind"}
        events += part(number, fields["part_kind"], **members)
    assert shown(pydantic_ai.stream, events, **options).answers == [content]
