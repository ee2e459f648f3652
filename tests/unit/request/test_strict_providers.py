"""Prove that each strict provider refuses what the real one refuses: a bad body per rule."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from agui_reasoning.parts import Opaque, Origin, ReasoningPart, Segment, Turn
from tests.support.strict_providers import STRICT, Issued
from tests.support.strict_providers.openai_responses import SERVERS

Json = dict[str, Any]
Path = tuple[Any, ...]

ASKED = {"role": "user", "content": "Weather in Oslo?"}
FUNCTION = {"name": "get", "arguments": "{}"}
CALL = {"id": "call_1", "type": "function", "function": FUNCTION}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "4C"}
CALLING: Json = {"role": "assistant", "content": None, "tool_calls": [CALL]}
CHAT: Json = {"messages": [ASKED, CALLING, RESULT]}


def chat(**fields: Any) -> Json:
    """A tool loop of Chat Completions, with these fields of the model's message."""
    return {"messages": [ASKED, {**CALLING, **fields}, RESULT]}


def native(call: Json, result: Json, calling: Json | None = None) -> Json:
    """A tool loop of an API that is much like it."""
    return {"messages": [ASKED, {"role": "assistant", "tool_calls": [call], **(calling or {})}, result]}


THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "SIG"}
CLAUDE: Json = {
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
        {
            "role": "assistant",
            "content": [THINKING, {"type": "tool_use", "id": "toolu_1", "name": "get", "input": {}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "4C"}]},
    ]
}
CONVERSE: Json = {
    "messages": [
        {"role": "user", "content": [{"text": "Weather?"}]},
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "SIG"}}},
                {"toolUse": {"toolUseId": "t1", "name": "get", "input": {}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "t1", "content": [{"text": "4C"}], "status": "success"}}
            ],
        },
    ],
    "toolConfig": {"tools": [{"toolSpec": {"name": "get", "inputSchema": {"json": {}}}}]},
}
RESPONSES: Json = {
    "input": [
        ASKED,
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "SIG"},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "get", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "4C"},
    ]
}
UNTHINKING: Json = {"input": [RESPONSES["input"][0], *RESPONSES["input"][2:]]}
RAW = {"type": "reasoning_text", "text": "Hm."}


def thinking(**fields: Any) -> Json:
    """The same request with another item of reasoning."""
    asked, *rest = UNTHINKING["input"]
    return {"input": [asked, {"type": "reasoning", "summary": [], **fields}, *rest]}


_ASKED, _THOUGHT, _CALLED, _ANSWERED = thinking(content=[RAW])["input"]
BETWEEN: Json = {
    "input": [
        *(_ASKED, _THOUGHT, _CALLED, _THOUGHT, {**_CALLED, "call_id": "call_2"}),
        *(_ANSWERED, {**_ANSWERED, "call_id": "call_2"}),
    ]
}

GEMINI: Json = {
    "contents": [
        {"role": "user", "parts": [{"text": "Weather?"}]},
        {
            "role": "model",
            "parts": [
                {"functionCall": {"id": "f1", "name": "get", "args": {}}, "thoughtSignature": "SIGN"},
                {"functionCall": {"id": "f2", "name": "get", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "f1", "name": "get", "response": {"result": "4C"}}},
                {"functionResponse": {"id": "f2", "name": "get", "response": {"result": "9C"}}},
            ],
        },
    ]
}
INTERACTIONS: Json = {
    "input": [
        {"type": "user_input", "content": [{"type": "text", "text": "Weather?"}]},
        {"type": "thought", "signature": "SIG", "summary": [{"type": "text", "text": "Hm."}]},
        {"type": "function_call", "id": "f1", "name": "get", "arguments": {}},
        {
            "type": "user_input",
            "content": [{"type": "function_result", "call_id": "f1", "name": "get", "result": "4C"}],
        },
    ]
}
NINE = "abcdefgh1"
MISTRAL = native(
    {**CALL, "id": NINE},
    {**RESULT, "tool_call_id": NINE, "name": "get"},
    {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}], "closed": True}]},
)
COHERE = native(CALL, RESULT, {"content": [{"type": "thinking", "thinking": "Hm."}]})
OLLAMA = native(
    {"function": {"name": "get", "arguments": {}}, "id": "call_1"},
    {**RESULT, "tool_name": "get"},
    {"content": "", "thinking": "Hm."},
)
XAI: Json = {
    "messages": [
        {"role": "ROLE_USER", "content": [{"text": "Weather?"}]},
        {
            "role": "ROLE_ASSISTANT",
            "content": [{"text": ""}],
            "reasoning_content": "Hm.",
            "encrypted_content": "SIG",
            "tool_calls": [{**CALL, "type": "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL"}],
        },
        {"role": "ROLE_TOOL", "content": [{"text": "4C"}], "tool_call_id": "call_1"},
    ]
}
SIGNED = {**CALL, "extra_content": {"google": {"thought_signature": "SIG"}}}
ON_VERTEX = {**CALL, "extra_content": {"vertex": {"thought_signature": "SIG"}}}
DETAIL = {
    "type": "reasoning.text",
    "text": "Hm.",
    "signature": "SIG",
    "format": "anthropic-claude-v1",
    "index": 0,
}

GOOD: dict[str, Json] = {
    **dict.fromkeys(("anthropic", "claude on bedrock", "deepseek as anthropic"), CLAUDE),
    **dict.fromkeys(("openai", "gpt-6", "azure", "codex", "copilot", "xai responses", "meta"), RESPONSES),
    **dict.fromkeys(
        ("openai, no reasoning", "huggingface responses", "open responses", "meta behind zen"), UNTHINKING
    ),
    **dict.fromkeys(("vllm responses", "llama.cpp responses"), thinking(content=[RAW])),
    "ollama responses": thinking(encrypted_content="Hm."),
    "meta behind openrouter": thinking(encrypted_content="SIG"),
    **dict.fromkeys(("deepseek responses", "lmstudio responses"), thinking(content=[RAW])),
    "bedrock-mantle": RESPONSES,
    "perplexity": {"input": [ASKED, {**RESPONSES["input"][2], "id": None}, RESPONSES["input"][3]]},
    "openrouter responses": thinking(id="rs_1", content=[RAW], signature="SIG"),
    **dict.fromkeys(("openai-chat", "deepseek-r1", "groq", "mistral as openai"), CHAT),
    **dict.fromkeys(("litellm to groq", "litellm to openai"), CHAT),
    **dict.fromkeys(("deepseek", "zai", "fireworks", "together"), chat(reasoning_content="Hm.")),
    "kimi": chat(reasoning_content="Hm."),
    **dict.fromkeys(("groq, reasoning", "cerebras", "litellm to gpt-oss"), chat(reasoning="Hm.")),
    "google": chat(tool_calls=[SIGNED]),
    "google on vertex": chat(tool_calls=[ON_VERTEX]),
    "openrouter": chat(reasoning_details=[DETAIL]),
    "litellm": chat(thinking_blocks=[THINKING]),
    "litellm to gemini": chat(
        tool_calls=[{**CALL, "provider_specific_fields": {"thought_signature": "SIG"}}]
    ),
    **dict.fromkeys(("gemini", "gemini 2.5", "gemini on vertex"), GEMINI),
    "interactions": INTERACTIONS,
    "converse": CONVERSE,
    "gpt-oss on bedrock": CONVERSE,
    "mistral": MISTRAL,
    "cohere": COHERE,
    "cohere, no reasoning": native(CALL, RESULT, {"tool_plan": "Hm."}),
    "ollama": OLLAMA,
    "xai": XAI,
}
UNSIGNED = ("messages", 1, "content", 0, "reasoningContent", "reasoningText", "signature")

DROP = object()
CHANGE = {"type": "configuration_update", "reasoning": {"effort": "high"}}


def changed(body: Json, path: Path, value: Any) -> Json:
    """The body with something else, or nothing, at a place."""
    body = copy.deepcopy(body)
    inner: Any = body
    for step in path[:-1]:
        inner = inner[step]
    if value is DROP:
        del inner[path[-1]]
    elif path[-1] == "+":
        inner.append(value)
    else:
        inner[path[-1]] = value
    return body


GOOD["gpt-oss on bedrock"] = changed(CONVERSE, UNSIGNED, DROP)

MODEL: Path = ("messages", 1)
BLOCK: Path = ("messages", 1, "content", 0)
TEXT = {"role": "user", "content": [{"text": "Go on."}]}
EXTRA = "Extra inputs are not permitted"

RULES: list[tuple[str, Path, Any, str]] = [
    # Anthropic
    ("anthropic", ("messages", 1, "content", 1, "extra"), 1, EXTRA),
    ("anthropic", (*BLOCK, "cache_control"), {}, EXTRA),
    ("anthropic", (*BLOCK, "signature"), DROP, "signature: Field required"),
    ("anthropic", (*BLOCK, "signature"), "", "signature: Field required"),
    ("anthropic", ("messages", 0, "content", 0, "text"), " ", "pattern"),
    ("anthropic", ("messages", 1, "content", 1, "input"), "{}", "valid dictionary"),
    ("anthropic", ("messages", 1, "content", 1), DROP, "cannot be `thinking`"),
    ("anthropic", ("messages", 2), DROP, "without `tool_result`"),
    ("anthropic", ("messages", 0), DROP, "first message"),
    ("anthropic", ("messages", "+"), ASKED, "valid list"),
    ("deepseek as anthropic", BLOCK, DROP, "must be passed back"),
    # OpenAI Responses
    ("openai", ("input", 1, "status"), "completed", EXTRA),
    ("openai", ("input", 1, "summary"), DROP, "Field required"),
    ("openai", ("input", 2), DROP, "required following item"),
    ("openai", ("input", "+"), CHANGE, "not supported with this model"),
    ("gpt-6", ("input", "+"), {"type": "configuration_update", "reasoning": {}}, "Field required"),
    ("gpt-6", ("input",), [*RESPONSES["input"], CHANGE, CHANGE], "cannot be adjacent"),
    ("openai", ("input", 2, "id"), DROP, "required following item"),
    ("openai", ("input", 3), DROP, "No tool output"),
    ("openai", ("input", 2, "call_id"), "c" * 65, "at most 64 characters"),
    ("openai", ("input", "+"), RESPONSES["input"][1], "required following item"),
    ("codex", ("input", 1, "encrypted_content"), DROP, "not persisted"),
    ("copilot", ("input", 1, "encrypted_content"), DROP, "not persisted"),
    ("openai, no reasoning", ("input",), RESPONSES["input"], "not supported"),
    *(
        (name, ("input", "+"), {"type": "compaction", "encrypted_content": "X"}, "Cannot determine type")
        for name in SERVERS
    ),
    *((name, ("previous_response_id",), "resp_1", "does not support") for name in SERVERS),
    *((name, ("input", -1), DROP, "No tool output") for name in SERVERS),
    ("vllm responses", ("input", 1, "encrypted_content"), "X", "Encrypted content is not supported."),
    ("vllm responses", ("input", 1, "content", "+"), RAW, "one part"),
    ("llama.cpp responses", ("input", 1, "content"), DROP, "is not an array"),
    ("llama.cpp responses", ("input", 1, "content"), [], "is empty"),
    ("ollama responses", ("input", 1, "encrypted_content"), DROP, "nothing that is read"),
    ("huggingface responses", ("input",), RESPONSES["input"], "Invalid input"),
    ("open responses", ("input",), thinking(content=[RAW])["input"], "should be null"),
    ("meta behind openrouter", ("input", 1, "id"), "rs_1", "not found"),
    ("meta behind openrouter", ("input", 1, "encrypted_content"), DROP, "Missing required"),
    ("meta behind zen", ("input",), RESPONSES["input"], "not issued to this caller"),
    ("meta", ("input", 2), DROP, "required following item"),
    ("openai", ("input", 1, "signature"), "SIG", EXTRA),
    ("deepseek responses", ("input",), BETWEEN["input"], "between parallel calls"),
    ("lmstudio responses", ("input", 1, "content"), DROP, "expected reasoning_text"),
    ("bedrock-mantle", ("input", 2), DROP, "required following item"),
    ("perplexity", ("input",), RESPONSES["input"], "unexpected reasoning"),
    ("perplexity", ("input", 1, "id"), "fc_1", "unexpected function_call fc_1"),
    ("openrouter responses", ("input", "+"), {"type": "item_reference", "id": "rs_1"}, "not stored"),
    ("openrouter responses", ("store",), True, "not stored"),
    # Chat Completions
    ("openai-chat", (*MODEL, "reasoning_content"), "Hm.", EXTRA),
    ("openai-chat", (*MODEL, "tool_calls"), [], "at least 1 item"),
    ("openai-chat", ("messages", 2), DROP, "must be followed by tool messages"),
    ("openai-chat", ("messages", 1), DROP, "must be a response to"),
    ("deepseek-r1", (*MODEL, "reasoning_content"), "Hm.", EXTRA),
    ("deepseek", (*MODEL, "reasoning_content"), DROP, "must be passed back"),
    ("kimi", (*MODEL, "reasoning_content"), "", "reasoning_content is missing"),
    ("kimi", (*MODEL, "content"), "", "text content is empty"),
    ("groq", (*MODEL, "reasoning"), "Hm.", EXTRA),
    ("groq, reasoning", (*MODEL, "reasoning_content"), "Hm.", EXTRA),
    ("cerebras", (*MODEL, "reasoning_content"), "Hm.", EXTRA),
    ("mistral as openai", (*MODEL, "thinking_blocks"), [], EXTRA),
    ("fireworks", (*MODEL, "thinking_blocks"), [], EXTRA),
    ("together", (*MODEL, "thinking_blocks"), [], EXTRA),
    ("google", (*MODEL, "tool_calls", 0, "extra_content"), DROP, "missing a thought_signature"),
    ("google", (*MODEL, "tool_calls", 0), ON_VERTEX, EXTRA),
    ("google on vertex", (*MODEL, "tool_calls", 0), SIGNED, EXTRA),
    ("google on vertex", (*MODEL, "tool_calls", 0, "extra_content"), DROP, "missing a thought_signature"),
    ("openrouter", (*MODEL, "reasoning_details", 0, "signature"), DROP, "Invalid signature"),
    # LiteLLM
    ("litellm", (*MODEL, "thinking_blocks", 0, "signature"), DROP, "Field required"),
    ("litellm", (*MODEL, "reasoning_items"), [], EXTRA),
    ("litellm to gemini", (*MODEL, "tool_calls", 0, "extra_content"), {}, EXTRA),
    ("litellm to groq", (*MODEL, "reasoning"), "Hm.", EXTRA),
    ("litellm to gpt-oss", (*MODEL, "reasoning_content"), "Hm.", EXTRA),
    ("litellm to openai", (*MODEL, "reasoning_content"), "Hm.", EXTRA),
    # Gemini
    ("gemini", ("systemInstruction",), "Be brief.", EXTRA),
    ("gemini", ("contents", 1, "parts", 0, "thoughtSignature"), DROP, "missing a thought_signature"),
    ("gemini", ("contents", 1, "parts", 0, "thoughtSignature"), "no base64!", "pattern"),
    ("gemini", ("contents", 2, "parts", 1), DROP, "do not fit"),
    ("gemini", ("contents", 2, "parts", 0, "functionResponse", "response"), "4C", "valid dictionary"),
    ("gemini", ("contents", 0, "parts", 0, "text"), "", "must not be empty"),
    ("gemini", ("contents", 2, "role"), "tool", "'user' or 'model'"),
    # Gemini Interactions
    ("interactions", ("input", 1, "signature"), DROP, "Field required"),
    ("interactions", ("input", 2, "arguments"), "{}", "valid dictionary"),
    ("interactions", ("input", 3), DROP, "calls without results"),
    ("interactions", ("input", 2), DROP, "a thought leads to nothing"),
    # Bedrock
    ("converse", ("toolConfig",), DROP, "toolConfig field must be defined"),
    ("converse", ("messages", 0, "content", 0, "text"), " ", "pattern"),
    ("converse", ("messages", "+"), TEXT, "roles must alternate"),
    ("converse", UNSIGNED, DROP, "signature"),
    (
        "converse",
        (*BLOCK, "reasoningContent"),
        {"reasoningText": {"text": ""}, "redactedContent": b"x"},
        "is a union",
    ),
    ("converse", (*BLOCK, "reasoningContent"), {"redactedContent": "eA=="}, "valid bytes"),
    ("converse", ("messages", 1, "content", 1, "toolUse", "toolUseId"), "a b", "pattern"),
    ("converse", ("messages", 2), DROP, "Expected toolResult blocks"),
    ("gpt-oss on bedrock", UNSIGNED, "SIG", "or foreign"),
    # Mistral
    ("mistral", (*MODEL, "reasoning_content"), "Hm.", EXTRA),
    ("mistral", (*MODEL, "tool_calls", 0, "id"), "call_1", "pattern"),
    ("mistral", ("messages", "+"), ASKED, "Unexpected role 'user' after role 'tool'"),
    ("mistral", ("messages", 2), DROP, "calls without results"),
    # Cohere
    ("cohere", (*MODEL, "content"), "Let me see.", "not allowed when tool_calls"),
    ("cohere", (*MODEL, "reasoning_content"), "Hm.", EXTRA),
    ("cohere, no reasoning", (*MODEL, "content"), COHERE["messages"][1]["content"], "not supported"),
    # Ollama
    ("ollama", (*MODEL, "tool_calls", 0, "function", "arguments"), "{}", "valid dictionary"),
    ("ollama", (*MODEL, "content"), None, "valid string"),
    ("ollama", ("messages", 2, "tool_name"), "other", "not of the next call"),
    # xAI
    ("xai", ("messages", 0, "content"), [], "at least 1 item"),
    ("xai", (*MODEL, "thinking"), "Hm.", EXTRA),
    ("xai", ("messages", 2), DROP, "calls without a result"),
]


def test_every_provider_has_a_request_that_it_takes() -> None:
    assert set(GOOD) == set(STRICT)
    assert {name: STRICT[name].reject(body) for name, body in GOOD.items()} == dict.fromkeys(GOOD)


@pytest.mark.parametrize(
    ("name", "path", "value", "words"),
    RULES,
    ids=[f"{rule[0]}-{number}" for number, rule in enumerate(RULES)],
)
def test_a_provider_refuses(name: str, path: Path, value: Any, words: str) -> None:
    refusals = STRICT[name].refusals(changed(GOOD[name], path, value))
    assert any(words in refusal for refusal in refusals), refusals


# -- values

VALUED = {
    "anthropic": "anthropic.signature",
    "openai": "openai.encrypted_content",
    "converse": "anthropic.signature",
    "interactions": "gemini.interactions_signature",
    "xai": "xai.encrypted_content",
    "google": "gemini.openai_compat_signature",
    "openrouter": "openrouter.signature",
    "litellm": "anthropic.signature",
}


def issued_by(origin: Origin, kind: str, text: str = "Hm.") -> Issued:
    issued = Issued()
    part = ReasoningPart((Segment("text", 0, text),), (Opaque(kind, "SIG"),), origin=origin)
    issued.add(Turn((part,), origin))
    return issued


@pytest.mark.parametrize("name", VALUED)
def test_a_provider_takes_the_values_that_it_issued(name: str) -> None:
    provider = STRICT[name]
    assert provider.reject(GOOD[name], issued_by(provider.target, VALUED[name])) is None


@pytest.mark.parametrize("name", VALUED)
def test_a_provider_refuses_values_of_others(name: str) -> None:
    provider = STRICT[name]
    assert "not issued here" in str(provider.reject(GOOD[name], Issued()))
    other = issued_by(Origin("acme", provider.target.api, provider.target.model), VALUED[name])
    assert "not issued here" in str(provider.reject(GOOD[name], other))


@pytest.mark.parametrize("name", ["anthropic", "converse", "interactions", "xai"])
def test_a_provider_refuses_its_value_beside_another_text(name: str) -> None:
    provider = STRICT[name]
    issued = issued_by(provider.target, VALUED[name], "Something else.")
    assert "cannot be modified" in str(provider.reject(GOOD[name], issued))
