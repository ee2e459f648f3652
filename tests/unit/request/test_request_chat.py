"""Build the next chat completions request: one shape, many fields for reasoning."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import DeveloperMessage, Message, SystemMessage, ToolMessage, UserMessage

from agui_reasoning.parts import Opaque, Origin, Part, ReasoningPart, Segment, TextPart, ToolCallPart, Turn
from agui_reasoning.providers import decode_response
from agui_reasoning.request import History, ProviderRequest, build_request
from tests.support.validators import (
    check_chat,
    check_deepseek,
    check_gemini_chat,
    check_kimi,
    check_openrouter,
)


def thinking(text: str = "Need the tool.", field: str = "reasoning_content", **fields: Any) -> ReasoningPart:
    fields.setdefault("ext", {"field": field})
    return ReasoningPart((Segment("text", 0, text),) if text else (), **fields)


def call(name: str = "call_1", **fields: Any) -> ToolCallPart:
    return ToolCallPart(name, "get_weather", '{"city":"Oslo"}', **fields)


def user(content: Any = "Weather in Oslo?") -> UserMessage:
    return UserMessage(id="u", content=content)


def told(name: str = "call_1", content: Any = "4C") -> ToolMessage:
    return ToolMessage(id=f"r-{name}", tool_call_id=name, content=content)


def turn(provider: str, model: str, *parts: Part) -> Turn:
    return Turn(parts, Origin(provider, "openai-chat", model), "c1")


def build(provider: str | None, model: str, *items: Turn | Message, **options: Any) -> ProviderRequest:
    options.setdefault("on_warning", lambda text: None)
    return build_request("openai-chat", History(items), provider=provider, model=model, **options)


def loop(provider: str, model: str, *parts: Part) -> tuple[Turn | Message, ...]:
    """A question, a response with a call, and its result."""
    return user(), turn(provider, model, *(parts or (thinking(),)), call()), told()


def message(made: ProviderRequest, number: int = 1) -> dict[str, Any]:
    found: dict[str, Any] = made.body["messages"][number]
    return found


def reasons(made: ProviderRequest) -> list[tuple[str, str]]:
    return [(entry.outcome, entry.reason) for entry in made.report]


CALLS = [
    {
        "id": "call_1",
        "type": "function",
        "function": {"name": "get_weather", "arguments": '{"city":"Oslo"}'},
    }
]

FIELDS = [
    ("deepseek", "deepseek-v4-pro", {"content": "", "reasoning_content": "Need the tool."}),
    ("moonshot", "kimi-k2.6", {"reasoning_content": "Need the tool."}),
    ("zai", "glm-5.2", {"content": "", "reasoning_content": "Need the tool."}),
    ("groq", "openai/gpt-oss-120b", {"content": "", "reasoning": "Need the tool."}),
    ("cerebras", "zai-glm-4.7", {"content": "", "reasoning": "Need the tool."}),
    ("ollama", "qwen3", {"content": None, "reasoning": "Need the tool."}),
    ("together", "moonshotai/Kimi-K3", {"content": None, "reasoning_content": "Need the tool."}),
    (
        "vllm",
        "any",
        {"content": None, "reasoning": "Need the tool.", "reasoning_content": "Need the tool."},
    ),
    ("openrouter", "z-ai/glm-5", {"content": None, "reasoning": "Need the tool."}),
    ("github-copilot", "claude", {"content": None, "reasoning_text": "Need the tool."}),
]


@pytest.mark.parametrize(("provider", "model", "fields"), FIELDS, ids=lambda value: str(value)[:20])
def test_reasoning_goes_where_its_provider_reads_it(
    provider: str, model: str, fields: dict[str, Any]
) -> None:
    made = build(provider, model, *loop(provider, model))
    assert message(made) == {"role": "assistant", **fields, "tool_calls": CALLS}
    assert reasons(made) == [("echoed", "")]


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("groq", "llama-3.3-70b"),
        ("mistral", "magistral"),
        ("cerebras", "llama3"),
        ("deepseek", "deepseek-r1"),
        ("xai", "grok-4"),
        ("openai", "gpt-5"),
        ("huggingface", "any"),
        ("acme", "any"),
        (None, "any"),
    ],
)
def test_everyone_else_gets_what_openai_documents(provider: str | None, model: str) -> None:
    """Pain 4, and the safe default."""
    made = build(provider, model, *loop(provider or "", model))
    assert check_chat(made.body) == []
    assert reasons(made) == [("dropped", "policy")]
    assert made.lost == ()


def test_who_names_no_provider_is_told() -> None:
    heard: list[str] = []
    build(None, "any", user(), on_warning=heard.append)
    assert heard == ["No provider was given for openai-chat: no reasoning is sent back. Pass provider=."]


@pytest.mark.parametrize(
    ("provider", "model", "placeholder"),
    [
        ("deepseek", "deepseek-v4-pro", ""),
        ("moonshot", "kimi-k2-thinking", ""),
        ("moonshot", "kimi-k2.6", " "),
        ("opencode-zen", "kimi-k3", " "),
    ],
)
def test_calls_of_others_get_a_placeholder(provider: str, model: str, placeholder: str) -> None:
    """Pain 3."""
    made = build(provider, model, *loop("anthropic", "claude"))
    assert message(made)["reasoning_content"] == placeholder
    assert reasons(made) == [("placeholder", "foreign_origin")]
    assert made.lost == ()
    if provider in ("deepseek", "moonshot"):
        check = check_deepseek if provider == "deepseek" else check_kimi
        assert check(made.body) == [] or model == "kimi-k2-thinking"


def test_an_empty_string_counts_as_missing_only_where_it_does() -> None:
    empty = thinking("", ext={"field": "reasoning_content", "explicit_empty": True})
    made = build("moonshot", "kimi-k2.6", *loop("moonshot", "kimi-k2.6", empty))
    assert (message(made)["reasoning_content"], reasons(made)) == (" ", [("placeholder", "empty")])
    made = build("deepseek", "deepseek-v4-pro", *loop("deepseek", "deepseek-v4-pro", empty))
    assert (message(made)["reasoning_content"], reasons(made)) == ("", [("echoed", "")])


def test_deepseek_wants_it_on_every_answer_and_kimi_on_calls() -> None:
    history = (user(), turn("acme", "x", TextPart("4C.")), user())
    assert message(build("deepseek", "deepseek-v4-pro", *history)) == {
        "role": "assistant",
        "content": "4C.",
        "reasoning_content": "",
    }
    assert message(build("moonshot", "kimi-k2.6", *history)) == {"role": "assistant", "content": "4C."}


def test_scope_ends_at_the_users_next_word_unless_flags_widen_it() -> None:
    history = (*loop("zai", "glm-5.2"), turn("zai", "glm-5.2", thinking(), TextPart("4C.")), user("And?"))
    made = build("zai", "glm-5.2", *history)
    assert reasons(made) == [("dropped", "out_of_scope")] * 2
    made = build("zai", "glm-5.2", *history, apply_flags=True)
    assert reasons(made) == [("echoed", "")] * 2
    assert made.body["extra_body"] == {"thinking": {"type": "enabled", "clear_thinking": False}}


def test_a_host_gives_nothing_of_one_vendors_model_to_anothers() -> None:
    made = build("groq", "qwen/qwen3-32b", *loop("groq", "openai/gpt-oss-120b"))
    assert reasons(made) == [("dropped", "foreign_origin")]


def test_tags_go_back_with_the_white_space_they_came_with() -> None:
    content = "<think>\nNeed the tool.\n</think>\n\nLet me check."
    body = {"id": "1", "model": "MiniMax-M2", "choices": [{"message": {"content": content}}]}
    parts = decode_response("openai-chat", body, provider="minimax")
    made = build("minimax", "MiniMax-M2", user(), Turn(tuple(parts)), user())
    assert message(made) == {"role": "assistant", "content": content}
    assert reasons(made) == [("echoed", "")]


def detailed(provider: str, model: str, *details: dict[str, Any], **fields: Any) -> Turn:
    entries = {"reasoning_details": list(details), "tool_calls": CALLS, "content": None, **fields}
    body = {"id": "1", "model": model, "choices": [{"message": entries}]}
    return Turn(tuple(decode_response("openai-chat", body, provider=provider)), None, "g1")


SIGNED = {
    "type": "reasoning.text",
    "text": "Hm.",
    "signature": "EqQB",
    "format": "anthropic-claude-v1",
    "index": 0,
    "id": "rd_1",
}
SUMMARY = {"type": "reasoning.summary", "summary": "Plan.", "format": "openai-responses-v1", "index": 0}
SEALED = {
    "type": "reasoning.encrypted",
    "data": "gAAAA",
    "format": "openai-responses-v1",
    "index": 1,
    "id": "rs_1",
}
GEMINI = {
    "type": "reasoning.encrypted",
    "data": "c2ln",
    "format": "google-gemini-v1",
    "index": 0,
    "id": "call_1",
}


@pytest.mark.parametrize(
    ("model", "details"),
    [
        ("anthropic/claude-sonnet-5", [SIGNED]),
        ("openai/gpt-5.2", [SUMMARY, SEALED]),
        ("google/gemini-3-pro", [GEMINI]),
        ("anthropic/claude-sonnet-5", []),
    ],
)
def test_details_go_back_as_they_came(model: str, details: list[dict[str, Any]]) -> None:
    made = build("openrouter", model, user(), detailed("openrouter", model, *details), told())
    assert message(made)["reasoning_details"] == details
    assert check_openrouter(made.body) == []


def test_unsigned_text_is_dropped_where_the_upstream_signs() -> None:
    unsigned = {name: value for name, value in SIGNED.items() if name != "signature"}
    model = "anthropic/claude-sonnet-5"
    made = build("openrouter", model, user(), detailed("openrouter", model, unsigned), told())
    assert "reasoning_details" not in message(made)
    assert reasons(made) == [("dropped", "missing_signature")]


def test_an_entry_is_in_one_message_only() -> None:
    model = "openai/gpt-5.2"
    history = (user(), detailed("openrouter", model, SEALED), told()) * 2
    made = build("openrouter", model, *history)
    assert check_openrouter(made.body) == []
    assert reasons(made) == [("echoed", ""), ("dropped", "duplicate_id")]


def test_details_of_one_vendor_never_reach_another() -> None:
    odd = detailed("openrouter", "anthropic/claude-sonnet-5", SEALED)
    made = build("openrouter", "anthropic/claude-sonnet-5", user(), odd, told())
    assert reasons(made) == [("dropped", "foreign_origin")]


def test_split_minimax_is_asked_for_details_again() -> None:
    entry = {"type": "reasoning.text", "text": "Hm.", "format": "MiniMax-response-v1", "index": 0}
    made = build("minimax", "MiniMax-M2", user(), detailed("minimax", "MiniMax-M2", entry), told())
    assert message(made)["reasoning_details"] == [entry]
    assert [flag.name for flag in made.flags] == ["reasoning_split"]


@pytest.mark.parametrize(("provider", "namespace"), [("google", "google"), ("google-vertex", "vertex")])
def test_gemini_gets_its_signature_on_the_call_it_signed(provider: str, namespace: str) -> None:
    """Pain 2."""
    signed = {**CALLS[0], "extra_content": {namespace: {"thought_signature": "c2ln"}}}
    second = {**CALLS[0], "id": "call_2"}
    body = {"id": "1", "choices": [{"message": {"content": None, "tool_calls": [signed, second]}}]}
    parts = decode_response("openai-chat", body, provider=provider, model="gemini-3-pro")
    made = build(provider, "gemini-3-pro", user(), Turn(tuple(parts)), told("call_2"), told())
    assert message(made)["tool_calls"] == [signed, second]
    assert [m["tool_call_id"] for m in made.body["messages"][2:]] == ["call_1", "call_2"]
    assert check_gemini_chat(made.body) == []


def test_gemini_gets_its_sentinel_on_calls_of_others() -> None:
    made = build("google", "gemini-3-pro", *loop("openai", "gpt-5"))
    assert check_gemini_chat(made.body) == []
    sentinel = {"google": {"thought_signature": "skip_thought_signature_validator"}}
    assert message(made)["tool_calls"][0]["extra_content"] == sentinel


@pytest.mark.parametrize(
    ("ext", "place"),
    [
        ({"signature_field": "thought_signature"}, {"thought_signature": "c2ln"}),
        (
            {"signature_field": "provider_specific_fields.thought_signature"},
            {"provider_specific_fields": {"thought_signature": "c2ln"}},
        ),
        ({"signature_field": "__class__.x"}, {"extra_content": {"google": {"thought_signature": "c2ln"}}}),
    ],
)
def test_a_gateway_gets_a_signature_where_it_had_it(ext: dict[str, Any], place: dict[str, Any]) -> None:
    value = Opaque("gemini.openai_compat_signature", "c2ln", attach="tool_call:call_1")
    step = turn("portkey", "gemini-3", call(opaque=(value,), ext=ext))
    made = build("portkey", "gemini-3", user(), step, told())
    assert message(made)["tool_calls"] == [{**CALLS[0], **place}]
    assert made.report[0].unit == "call_1"
    # LiteLLM reads one place only.
    step = turn("litellm", "gemini-3", call(opaque=(value,), ext=ext))
    made = build("litellm", "gemini-3", user(), step, told())
    only = {"provider_specific_fields": {"thought_signature": "c2ln"}}
    assert message(made)["tool_calls"] == [{**CALLS[0], **only}]


def test_litellm_gets_the_signature_of_a_text_in_its_list() -> None:
    value = Opaque("gemini.openai_compat_signature", "c2ln", attach="text")
    answer = turn("litellm", "gemini/gemini-3", TextPart("Hi.", (value,)))
    made = build("litellm", "gemini/gemini-3", user(), answer, user("And?"))
    assert message(made) == {
        "role": "assistant",
        "content": "Hi.",
        "provider_specific_fields": {"thought_signatures": ["c2ln"]},
    }
    assert reasons(made) == [("echoed", "")]


CLAUDE_THOUGHT = thinking(opaque=(Opaque("anthropic.signature", "EqQB"),))
REDACTED = ReasoningPart((), (Opaque("anthropic.redacted_thinking", "EmwK"),))
ITEM = ReasoningPart(
    (Segment("text", 0, "Weigh."), Segment("text", 1, "Check.")),
    (Opaque("openai.encrypted_content", "gAAA"),),
    "rs_1",
    ext={"field": "reasoning_content"},
)
BLOCK = {"type": "thinking", "thinking": "Need the tool.", "signature": "EqQB"}
WRITTEN_ITEM = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Weigh."}, {"type": "summary_text", "text": "Check."}],
    "encrypted_content": "gAAA",
}
DETAIL = ReasoningPart(
    (Segment("text", 0, "Need the tool."),),
    (Opaque("openrouter.signature", "EqQB"),),
    ext={"details": [{"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}]},
)
WRITTEN_DETAIL = {
    "type": "reasoning.text",
    "format": "anthropic-claude-v1",
    "index": 0,
    "text": "Need the tool.",
    "signature": "EqQB",
}


@pytest.mark.parametrize(
    ("model", "parts", "fields", "told_of"),
    [
        ("anthropic/claude-opus-5", [CLAUDE_THOUGHT], {"thinking_blocks": [BLOCK]}, ["echoed"]),
        (
            "bedrock/anthropic.claude-x",
            [CLAUDE_THOUGHT, REDACTED],
            {"thinking_blocks": [BLOCK]},
            ["echoed", "dropped"],
        ),
        ("openai/responses/gpt-5", [ITEM], {"reasoning_items": [WRITTEN_ITEM]}, ["echoed"]),
        ("responses/gpt-5", [ITEM], {"reasoning_items": [WRITTEN_ITEM]}, ["echoed"]),
        ("responses/gpt-5", [thinking()], {}, ["dropped"]),
        ("openrouter/anthropic/claude-x", [DETAIL], {"reasoning_details": [WRITTEN_DETAIL]}, ["echoed"]),
        ("openrouter/openai/gpt-5", [DETAIL], {}, ["dropped"]),
        ("deepseek/deepseek-v4", [thinking()], {"reasoning_content": "Need the tool."}, ["echoed"]),
        ("deepseek/deepseek-v4", [TextPart("Hi.")], {"reasoning_content": ""}, []),
        ("moonshot/kimi-k3", [TextPart("Hi.")], {"reasoning_content": " "}, []),
        ("groq/qwen3", [thinking()], {"reasoning": "Need the tool."}, ["echoed"]),
        ("mistral/magistral", [thinking()], {}, ["dropped"]),
        ("openai/gpt-5", [ITEM], {}, ["dropped"]),
        (
            "my-alias",
            [ITEM],
            {"reasoning_items": [WRITTEN_ITEM], "reasoning_content": "Weigh.\n\nCheck."},
            ["echoed"],
        ),
    ],
)
def test_the_prefix_of_the_model_tells_what_litellm_reads(
    model: str, parts: list[Part], fields: dict[str, Any], told_of: list[str]
) -> None:
    made = build("litellm", model, *loop("litellm", model, *parts))
    written = message(made)
    assert {key: written[key] for key in written if key not in ("role", "content", "tool_calls")} == fields
    assert [outcome for outcome, _ in reasons(made)] == told_of


def test_litellm_and_portkey_get_blocks() -> None:
    signed = thinking(opaque=(Opaque("anthropic.signature", "EqQB"),))
    redacted = ReasoningPart((), (Opaque("anthropic.redacted_thinking", "EmwK"),))
    blocks = [
        {"type": "thinking", "thinking": "Need the tool.", "signature": "EqQB"},
        {"type": "redacted_thinking", "data": "EmwK"},
    ]
    made = build("litellm", "claude", *loop("litellm", "claude", signed, redacted))
    assert message(made)["thinking_blocks"] == blocks
    assert "reasoning_content" not in message(made)
    made = build("portkey", "claude", *loop("portkey", "claude", signed, redacted, TextPart("Hi.")))
    assert message(made)["content_blocks"] == [*blocks, {"type": "text", "text": "Hi."}]


def test_copilot_gets_its_opaque_string() -> None:
    part = thinking(opaque=(Opaque("copilot.reasoning_opaque", "xyz"),))
    made = build("github-copilot", "claude", *loop("github-copilot", "claude", part))
    assert message(made)["reasoning_opaque"] == "xyz"


def test_a_response_of_nothing_but_reasoning_is_no_message() -> None:
    made = build("deepseek", "deepseek-v4", user(), turn("deepseek", "deepseek-v4", thinking()), user())
    assert [entry["role"] for entry in made.body["messages"]] == ["user", "user"]
    assert (reasons(made), made.lost) == ([("dropped", "orphan")], ())


def test_free_text_and_old_function_calls_are_calls() -> None:
    parts = (
        ToolCallPart("a", "shell", '{"input":"ls"}', ext={"type": "custom"}),
        ToolCallPart("b", "get", "", ext={"type": "function_call"}),
    )
    made = build("openai", "gpt-5", user(), turn("openai", "gpt-5", *parts), told("a"), told("b"))
    assert message(made)["tool_calls"] == [
        {"id": "a", "type": "custom", "custom": {"name": "shell", "input": "ls"}},
        {"id": "b", "type": "function", "function": {"name": "get", "arguments": "{}"}},
    ]


def test_system_developer_and_images() -> None:
    shown = [
        {"type": "text", "text": "Look."},
        {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}},
        {"type": "audio", "source": {"type": "data", "value": "aGk=", "mimeType": "audio/mpeg"}},
        {"type": "document", "source": {"type": "data", "value": "aGk=", "mimeType": "application/pdf"}},
        {"type": "video", "source": {"type": "url", "value": "https://example.org/a.mp4"}},
    ]
    history = (
        SystemMessage(id="s", content="Be brief."),
        DeveloperMessage(id="d", content="Use metres."),
        UserMessage.model_validate({"id": "u", "content": shown}),
        UserMessage.model_validate({"id": "u", "content": shown[:1]}),
    )
    heard: list[str] = []
    made = build("openai", "gpt-5", *history, system="You are a bot.", on_warning=heard.append)
    roles = [(entry["role"], entry["content"]) for entry in made.body["messages"]]
    assert roles[:3] == [("system", "You are a bot."), ("system", "Be brief."), ("developer", "Use metres.")]
    assert roles[4] == ("user", "Look.")
    assert roles[3][1] == [
        {"type": "text", "text": "Look."},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
        {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}},
        {
            "type": "file",
            "file": {"filename": "document.pdf", "file_data": "data:application/pdf;base64,aGk="},
        },
    ]
    assert len(heard) == 1
    assert [m["role"] for m in build("deepseek", "x", *history).body["messages"]][:2] == ["system"] * 2
