"""Test what each API gets of a user's images, audio, videos and documents, and what is said of the rest."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import ToolMessage, UserMessage

from agui_reasoning import build_request
from agui_reasoning.parts import Origin, TextPart, ToolCallPart, Turn
from agui_reasoning.providers.encoding import UNREADABLE
from agui_reasoning.request import REQUEST_API_IDS, History, ProviderRequest
from tests.support.sdk_types import check_types
from tests.support.strict_providers import STRICT, StrictProvider

PROVIDERS: dict[str, StrictProvider] = {one.target.api or "": one for one in reversed(STRICT.values())}
"""The first of each API."""

DATA = b64encode(b"attached").decode("ascii")
PLACES = {"data": DATA, "url": "https://example.org/attached", "file": "file-attached"}
TYPES = {
    "image": ["image/png", "image/jpeg", "image/gif", "image/heic", "image/svg+xml"],
    "audio": ["audio/wav", "audio/mpeg", "audio/ogg"],
    "video": ["video/mp4", "video/x-unknown"],
    "document": ["application/pdf", "text/plain", "application/msword", "application/zip"],
}

PICTURES = "image/png image/jpeg image/gif"
OF_GEMINI = {
    "data": "image/png image/jpeg image/heic audio/* video/* application/pdf text/plain",
    "url": "*",
    "file": "*",
}
OF_CHAT = {
    "data": f"{PICTURES} audio/wav audio/mpeg application/pdf",
    "url": "image/*",
    "file": "application/* text/*",
}
TAKEN: dict[str, dict[str, str]] = {
    "anthropic-messages": {
        "data": f"{PICTURES} application/pdf text/plain",
        "url": "image/* application/* text/*",
        "file": "image/* application/* text/*",
    },
    "bedrock-converse": {"data": f"{PICTURES} video/mp4 application/pdf text/plain application/msword"},
    "cohere-chat": {"data": PICTURES, "url": "image/*"},
    "gemini": OF_GEMINI,
    "gemini-interactions": OF_GEMINI,
    "litellm": OF_CHAT,
    "mistral-chat": {"data": f"{PICTURES} audio/*", "url": "image/* audio/* application/* text/*"},
    "ollama": {"data": PICTURES},
    "openai-chat": OF_CHAT,
    "openai-responses": {
        "data": f"{PICTURES} application/* text/*",
        "url": "image/* application/* text/*",
        "file": "image/* application/* text/*",
    },
    "xai-grpc": {
        "data": f"{PICTURES} application/* text/*",
        "url": "image/* application/* text/*",
        "file": "image/* application/* text/*",
    },
}
"""The media types that each API takes, by where they are. All else is left out with a note."""


def is_taken(api: str, place: str, media: str) -> bool:
    names = TAKEN[api].get(place, "").split()
    return bool({media, f"{media.partition('/')[0]}/*", "*"} & set(names))


def part(kind: str, place: str, media: str | None, value: str, **metadata: str) -> dict[str, Any]:
    source = {"type": place, "value": value, **({"mimeType": media} if media else {})}
    return {"type": kind, "source": source, "metadata": metadata}


def sent(api: str, *content: Any) -> tuple[ProviderRequest, list[str]]:
    """The request with these parts in the user's message; its provider and its SDK take it."""
    provider = PROVIDERS[api]
    return sent_to(provider, UserMessage(id="u1", content=list(content)))


def sent_to(provider: StrictProvider, *items: Any) -> tuple[ProviderRequest, list[str]]:
    notes: list[str] = []
    target = provider.target
    made = build_request(
        target.api or "",
        History(items),
        provider=target.provider,
        model=target.model,
        on_warning=notes.append,
    )
    assert provider.refusals(made.body) == []
    assert check_types(target.api or "", made.body) == ""
    return made, notes


def as_text(body: Any) -> str:
    return json.dumps(body, default=lambda blob: b64encode(blob).decode("ascii"))


CASES = [
    (api, kind, place, media)
    for api in REQUEST_API_IDS
    for kind, types in TYPES.items()
    for place in PLACES
    for media in types
]


def test_the_table_is_of_every_api() -> None:
    assert tuple(TAKEN) == REQUEST_API_IDS


@pytest.mark.parametrize("api", REQUEST_API_IDS)
def test_a_part_is_sent_or_a_note_says_that_it_is_not(api: str) -> None:
    wrong = []
    for _, kind, place, media in (case for case in CASES if case[0] == api):
        made, notes = sent(api, part(kind, place, media, PLACES[place]))
        left_out = f"The {kind} in a user message cannot be sent to this API; it was left out."
        text = as_text(made.body)
        held = PLACES[place] in text or (media == "text/plain" and '"attached"' in text)
        if (held, left_out in notes) != (is_taken(api, place, media), not is_taken(api, place, media)):
            wrong.append((kind, place, media, notes))
    assert wrong == []


@pytest.mark.parametrize("api", REQUEST_API_IDS)
@pytest.mark.parametrize("kind", TYPES)
def test_data_that_is_not_base64_reaches_nobody(api: str, kind: str) -> None:
    made, notes = sent(api, part(kind, "data", TYPES[kind][0], "no base64!"))
    assert "no base64!" not in as_text(made.body)
    assert f"The {kind} in a user message cannot be sent to this API; it was left out." in notes


@pytest.mark.parametrize("api", [a for a in REQUEST_API_IDS if TAKEN[a].get("data") != "*"])
def test_a_message_of_which_nothing_is_left_says_so_or_is_left_out(api: str) -> None:
    made, notes = sent(api, part("image", "data", "image/svg+xml", DATA))
    assert UNREADABLE in as_text(made.body) or "A user message is blank; it was left out." in notes


def test_image_jpg_is_sent_under_its_right_name() -> None:
    for api in REQUEST_API_IDS:
        made, notes = sent(api, part("image", "data", "image/jpg; q=1", DATA))
        assert notes == []
        assert "image/jpg" not in as_text(made.body)


# -- results of tools

STAND_IN = "(Not sent in a tool result: {}, 8 bytes.)"
IN_RESULTS = {
    "anthropic-messages": f"{PICTURES} application/pdf text/plain",
    "bedrock-converse": f"{PICTURES} video/mp4 application/pdf text/plain application/msword",
    "gemini-interactions": "image/png image/jpeg image/heic",
    "litellm": f"{PICTURES} application/pdf",
    "openai-responses": f"{PICTURES} application/* text/*",
}
"""The media types that the results of tools may contain; other APIs take text only."""


@pytest.mark.parametrize("api", REQUEST_API_IDS)
@pytest.mark.parametrize("kind", TYPES)
def test_media_in_a_result_is_sent_or_its_type_and_size_are(api: str, kind: str) -> None:
    for media in TYPES[kind]:
        made, notes = sent_result(api, part(kind, "data", media, DATA))
        text, stand_in = as_text(made.body), STAND_IN.format(media)
        names = {media, f"{media.partition('/')[0]}/*"}
        taken = bool(names & set(IN_RESULTS.get(api, "").split()))
        held = DATA in text or (media == "text/plain" and '"attached"' in text)
        left_out = f"The {kind} in a tool result cannot be sent to this API; it was left out."
        assert (media, held, stand_in in text, left_out in notes) == (media, taken, not taken, not taken)


@pytest.mark.parametrize("api", REQUEST_API_IDS)
def test_text_beside_media_of_a_result_stays(api: str) -> None:
    made, _ = sent_result(api, {"type": "text", "text": "A map."}, part("audio", "data", "audio/ogg", DATA))
    text = as_text(made.body)
    assert text.index("A map.") < text.index(STAND_IN.format("audio/ogg"))


def test_the_url_of_media_is_not_told() -> None:
    made, _ = sent_result("openai-chat", part("image", "url", None, PLACES["url"]))
    assert made.body["messages"][-1]["content"] == STAND_IN.replace(", 8 bytes", "").format("image")


def sent_result(api: str, *content: Any) -> tuple[ProviderRequest, list[str]]:
    """The request with these parts in the result of a tool."""
    provider = PROVIDERS[api]
    called = Turn((ToolCallPart("c1", "look", "{}"),), provider.target)
    result = ToolMessage(id="t1", tool_call_id="c1", content=list(content))
    return sent_to(provider, UserMessage(id="u1", content="Look."), called, result)


# -- Anthropic


def test_anthropic_gets_text_documents_as_text() -> None:
    made, _ = sent("anthropic-messages", part("document", "data", "text/markdown", DATA, filename="a.md"))
    source = {"type": "text", "media_type": "text/plain", "data": "attached"}
    assert made.body["messages"][0]["content"] == [{"type": "document", "source": source, "title": "a.md"}]


def test_text_that_is_not_utf8_is_left_out_for_anthropic() -> None:
    blob = b64encode(b"\xff\xfe").decode("ascii")
    made, notes = sent("anthropic-messages", part("document", "data", "text/plain", blob))
    assert len(notes) == 2
    assert made.body["messages"] == []


# -- Bedrock


def pdf(name: str | None = None) -> dict[str, Any]:
    return part("document", "data", "application/pdf", DATA, **({"filename": name} if name else {}))


def names(*items: Any) -> list[str]:
    made, _ = sent_to(PROVIDERS["bedrock-converse"], *items)
    blocks = [block for message in made.body["messages"] for block in message["content"]]
    return [block["document"]["name"] for block in blocks if "document" in block]


def test_documents_of_bedrock_have_names_of_their_own_in_the_whole_request() -> None:
    def asked(number: int, *parts: Any) -> UserMessage:
        return UserMessage(id=f"u{number}", content=[*parts, {"type": "text", "text": "Look."}])

    answer = Turn((TextPart("Well."),))
    first = names(asked(1, pdf(), pdf("Plan.pdf")), answer)
    both = names(asked(1, pdf(), pdf("Plan.pdf")), answer, asked(2, pdf("plan.pdf"), pdf()))
    assert both == ["document", "Plan", "plan 2", "document 2"]
    # What was sent is sent again unchanged.
    assert both[:2] == first


def test_documents_of_bedrock_have_names_that_it_takes() -> None:
    found = [
        names(UserMessage(id="u", content=[pdf(name)]))
        for name in ("My  plan_(v2).tar.gz", "…", "a" * 400 + ".pdf", "report")
    ]
    assert found == [["My plan (v2) tar"], ["document"], ["a" * 190], ["document"]]


def test_a_document_of_bedrock_has_a_text_beside_it() -> None:
    made, _ = sent_to(PROVIDERS["bedrock-converse"], UserMessage(id="u", content=[pdf()]))
    assert [sorted(block) for block in made.body["messages"][0]["content"]] == [["document"], ["text"]]


def test_a_document_in_a_result_of_bedrock_needs_no_text() -> None:
    origin = Origin("bedrock", "bedrock-converse", "us.anthropic.claude-sonnet-4-6")
    result = ToolMessage(id="r", tool_call_id="c1", content=[pdf()])  # type: ignore[list-item]
    made, _ = sent_to(
        PROVIDERS["bedrock-converse"],
        UserMessage(id="u", content="Read."),
        Turn((ToolCallPart("c1", "read"),), origin),
        result,
    )
    assert [sorted(block) for block in made.body["messages"][-1]["content"]] == [["toolResult"]]


# -- the page

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "supported-apis.md"


def row(api: str) -> str:
    """The row of an API in the page's table."""

    def cell(place: str) -> str:
        names = TAKEN[api].get(place, "")
        return "everything" if names == "*" else names.replace(" ", ", ") or "nothing"

    return f"| `{api}` | {cell('data')} | {cell('url')} | {cell('file')} |"


def test_the_page_has_the_table() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert [row(api) for api in REQUEST_API_IDS if row(api) not in lines] == []
