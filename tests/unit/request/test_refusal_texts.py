"""Take each error text by which providers end conversations, and show that its history ends none of ours.

``source`` is the row of the facts about providers, or of the catalogue of what breaks for users. The *naive*
request, which converters make of the history, is refused with that text; ours is taken, and the result of the
call is in it. The pains of signatures and items in detail are in ``tests/recordings/test_pains.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from ag_ui.core import ToolMessage, UserMessage

from agui_reasoning import build_request
from agui_reasoning.parts import Opaque, Origin, Part, ReasoningPart, Segment, TextPart, ToolCallPart, Turn
from agui_reasoning.request import History
from tests.support.sdk_types import check_types
from tests.support.strict_providers import STRICT, Issued
from tests.unit.request.test_strict_providers import (
    ASKED,
    BLOCK,
    CHAT,
    COHERE,
    DROP,
    GOOD,
    MODEL,
    RESPONSES,
    UNSIGNED,
    changed,
    chat,
)

Items = list[Any]
Json = dict[str, Any]

CLAUDE = Origin("anthropic", "anthropic-messages", "claude-opus-5")
GPT = Origin("openai", "openai-responses", "gpt-5.6")
DEEPSEEK = Origin("deepseek", "openai-chat", "deepseek-v4-pro")
KINDS = {CLAUDE: "anthropic.signature", GPT: "openai.encrypted_content"}


def thought(origin: Origin) -> Part:
    values = (Opaque(KINDS[origin], "SIG"),) if origin in KINDS else ()
    item = "rs_1" if origin is GPT else None
    ext = None if values else {"field": "reasoning_content"}
    return ReasoningPart((Segment("text", 0, "Hm."),), values, item, origin=origin, ext=ext)


def loop(origin: Origin, *parts: Part, call_id: str = "call_1", after: Items | None = None) -> Items:
    """A question, a response with these parts and a call, and its result."""
    call = ToolCallPart(call_id, "get", "{}", origin=origin)
    return [
        UserMessage(id="u1", content="Weather?"),
        Turn((*parts, call), origin, "resp_1"),
        ToolMessage(id="t1", tool_call_id=call_id, content="4C"),
        *(after or ()),
    ]


MORE = [UserMessage(id="u2", content="And now?")]
BLANK = [Turn((TextPart(" "),)), UserMessage(id="u2", content=" ")]
SAID = TextPart("Let me see.")


@dataclass(frozen=True)
class Refusal:
    """What was refused: where it is written down, by whom, in which words, and after which history."""

    source: str
    name: str
    words: str
    naive: Json
    history: Items


REFUSALS = [
    Refusal(
        "outbound a7",
        "openai, no reasoning",
        "not supported",
        changed(GOOD["openai, no reasoning"], ("input",), RESPONSES["input"]),
        loop(GPT, thought(GPT)),
    ),
    Refusal(
        "outbound a10, a49, b30",
        "mistral",
        "Extra inputs are not permitted",
        changed(GOOD["mistral"], (*MODEL, "reasoning_content"), "Hm."),
        loop(DEEPSEEK, thought(DEEPSEEK)),
    ),
    Refusal(
        "outbound a19",
        "anthropic",
        "cannot be `thinking`",
        changed(GOOD["anthropic"], ("messages", 1, "content", 1), DROP),
        [UserMessage(id="u1", content="Hi."), Turn((SAID, thought(CLAUDE)), CLAUDE), *MORE],
    ),
    Refusal(
        "outbound a21",
        "converse",
        "signature",
        changed(GOOD["converse"], UNSIGNED, DROP),
        loop(DEEPSEEK, thought(DEEPSEEK)),
    ),
    Refusal(
        "outbound a26",
        "gemini",
        "missing a thought_signature",
        changed(GOOD["gemini"], ("contents", 1, "parts", 0, "thoughtSignature"), DROP),
        loop(CLAUDE, thought(CLAUDE)),
    ),
    Refusal(
        "outbound a33",
        "google",
        "missing a thought_signature",
        CHAT,
        loop(GPT, thought(GPT)),
    ),
    Refusal(
        "outbound a35",
        "interactions",
        "Field required",
        changed(GOOD["interactions"], ("input", 1, "signature"), DROP),
        loop(DEEPSEEK, thought(DEEPSEEK)),
    ),
    Refusal("outbound b1", "deepseek", "must be passed back", CHAT, loop(CLAUDE, thought(CLAUDE))),
    Refusal("outbound b2", "deepseek-r1", "Extra inputs", chat(reasoning_content="Hm."), loop(DEEPSEEK)),
    Refusal(
        "outbound b3",
        "deepseek as anthropic",
        "must be passed back",
        changed(GOOD["deepseek as anthropic"], BLOCK, DROP),
        loop(CLAUDE, thought(CLAUDE)),
    ),
    Refusal("outbound b5", "kimi", "reasoning_content is missing", CHAT, loop(GPT, thought(GPT))),
    Refusal(
        "outbound b6",
        "kimi",
        "text content is empty",
        chat(content="", reasoning_content=" "),
        loop(DEEPSEEK, thought(DEEPSEEK)),
    ),
    Refusal("outbound b13", "groq, reasoning", "Extra inputs", chat(reasoning_content="Hm."), loop(DEEPSEEK)),
    Refusal("outbound b15", "cerebras", "Extra inputs", chat(reasoning_content="Hm."), loop(DEEPSEEK)),
    Refusal("outbound b18", "groq", "Extra inputs", chat(reasoning="Hm."), loop(DEEPSEEK, thought(DEEPSEEK))),
    Refusal(
        "outbound b18, behind LiteLLM",
        "litellm to groq",
        "Extra inputs",
        chat(reasoning="Hm."),
        loop(
            Origin("groq", "litellm", "groq/openai/gpt-oss-120b"),
            ReasoningPart(
                (Segment("text", 0, "Hm."),), origin=Origin("groq", "litellm", "groq/openai/gpt-oss-120b")
            ),
        ),
    ),
    Refusal(
        "outbound b21",
        "openrouter",
        "Invalid signature",
        changed(GOOD["openrouter"], (*MODEL, "reasoning_details", 0, "signature"), DROP),
        loop(DEEPSEEK, thought(DEEPSEEK)),
    ),
    Refusal(
        "outbound 2.12, pains M8",
        "mistral",
        "pattern",
        changed(GOOD["mistral"], (*MODEL, "tool_calls", 0, "id"), "call_1"),
        loop(GPT, thought(GPT)),
    ),
    Refusal(
        "outbound 2.12, pains M8",
        "mistral",
        "Unexpected role 'user' after role 'tool'",
        changed(GOOD["mistral"], ("messages", "+"), ASKED),
        loop(GPT, thought(GPT), after=MORE),
    ),
    Refusal(
        "outbound 2.15, pains M8",
        "cohere",
        "not allowed when tool_calls",
        changed(COHERE, (*MODEL, "content"), "Let me see."),
        loop(GPT, SAID),
    ),
    Refusal(
        "outbound 2.15",
        "ollama",
        "valid dictionary",
        changed(GOOD["ollama"], (*MODEL, "tool_calls", 0, "function", "arguments"), "{}"),
        loop(GPT, thought(GPT)),
    ),
    Refusal(
        "outbound 2.4, pains M8",
        "converse",
        "toolConfig field must be defined",
        changed(GOOD["converse"], ("toolConfig",), DROP),
        loop(CLAUDE, thought(CLAUDE)),
    ),
    Refusal(
        "outbound 2.4, pains M8",
        "converse",
        "pattern",
        changed(GOOD["converse"], ("messages", 0, "content", 0, "text"), " "),
        loop(CLAUDE, thought(CLAUDE), after=BLANK),
    ),
    Refusal(
        "outbound 2.18",
        "converse",
        "pattern",
        changed(GOOD["converse"], ("messages", 1, "content", 1, "toolUse", "toolUseId"), "a b"),
        loop(DEEPSEEK, call_id="a b"),
    ),
    Refusal(
        "pains M8",
        "gemini",
        "valid dictionary",
        changed(GOOD["gemini"], ("contents", 2, "parts", 0, "functionResponse", "response"), "4C"),
        loop(CLAUDE),
    ),
]

refusals = pytest.mark.parametrize("refusal", REFUSALS, ids=[f"{r.source}: {r.name}" for r in REFUSALS])


@refusals
def test_the_naive_request_is_refused_with_that_text(refusal: Refusal) -> None:
    found = STRICT[refusal.name].refusals(refusal.naive)
    assert any(refusal.words in text for text in found), found


@refusals
def test_the_history_that_caused_it_makes_a_request_that_is_taken(refusal: Refusal) -> None:
    provider = STRICT[refusal.name]
    target = provider.target
    issued = Issued()
    for item in refusal.history:
        if isinstance(item, Turn):
            issued.add(item)
    body = build_request(
        str(target.api),
        History(tuple(refusal.history)),
        provider=target.provider,
        model=target.model,
        on_warning=lambda text: None,
    ).body
    assert provider.refusals(body, issued) == []
    assert check_types(str(target.api), body) == ""
    assert "4C" in str(body) or not any(isinstance(item, ToolMessage) for item in refusal.history)
