"""Document 004: which provider gets reasoning back, in which field, with which flags, and how it is shown."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from agui_reasoning import Conversation, Run
from agui_reasoning.parts import Part, TextPart, ToolCallPart, ToolResultPart
from agui_reasoning.policy import EchoRule
from agui_reasoning.providers import decode_response
from tests.differential.node import find_node
from tests.seeds import CALL, INPUT, answered, asked, each, numbers, row, said, thought, told

JSON = dict[str, Any]

KIMI = {"provider": "moonshot", "model": "kimi-k2.6"}
DEEPSEEK = {"provider": "deepseek", "model": "deepseek-v4-pro"}
ZEN = {"provider": "opencode-zen", "model": "deepseek-v4-pro"}
GROQ = {"provider": "groq", "model": "llama-3.3-70b"}
CALLED = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"at":"a"}'}}
CONTENT = {"reasoning_content": "Hm."}
REASONING = {"reasoning": "Hm."}


def target(provider: str, model: str) -> JSON:
    return {"api": "openai-chat", "provider": provider, "model": model}


def completion(**message: Any) -> JSON:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
    return {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice]}


def unheard(sentence: str) -> None:
    """Ignore the warning that nothing is known of a provider."""


def assistant(body: JSON) -> JSON:
    """The assistant's message of a request, without what every one has."""
    (message,) = [message for message in body["messages"] if message["role"] == "assistant"]
    return {name: member for name, member in message.items() if name not in ("role", "content", "tool_calls")}


def in_loop(provider: str, model: str) -> JSON:
    """What a message with calls carries in a tool loop."""
    return assistant(asked([thought(), CALL], on_warning=unheard, **target(provider, model)).body)


def after_answer(provider: str, model: str, **request: Any) -> JSON:
    """What an answer without calls carries in the next turn."""
    parts = [thought(), TextPart("A")]
    given = {"follows": "And now?", "request": request, "on_warning": unheard}
    return assistant(asked(parts, **given, **target(provider, model)).body)


def flags(provider: str, model: str, *parts: Part) -> JSON:
    """The fields that a request should have."""
    said_before = parts or [TextPart("A")]
    request = asked(said_before, follows="And now?", on_warning=unheard, **target(provider, model))
    return {flag.name: flag.value for flag in request.flags}


# -- the matrix: what goes back inside a tool loop, and with an answer


@each(
    "provider, model, loop, answer",
    {
        "004-01": ("groq", "llama-3.3-70b", {}, {}),
        "004-01b qwen": ("groq", "qwen/qwen3-32b", REASONING, {}),
        "004-01b gpt-oss": ("groq", "openai/gpt-oss-120b", REASONING, {}),
        "004-02": ("deepseek", "deepseek-r1", {}, {}),
        "004-02b": ("deepseek", "deepseek-v4-pro", CONTENT, CONTENT),
        "004-02c": ("deepseek", "deepseek-reasoner", CONTENT, CONTENT),
        "004-03": ("cerebras", "zai-glm-4.7", REASONING, {}),
        "004-03b": ("cerebras", "llama3.1-8b", {}, {}),
        "004-04": ("zai-coding-plan", "glm-5", CONTENT, CONTENT),
        "004-05": ("opencode-zen", "deepseek-v4-pro", CONTENT, CONTENT),
        "004-06": ("moonshot", "kimi-k2.6", CONTENT, {}),
        "004-06c": ("moonshot", "kimi-k2-thinking", CONTENT, CONTENT),
        "004-07": ("fireworks", "accounts/fireworks/models/glm-4p7", CONTENT, {}),
        "004-08": ("zai", "glm-5", CONTENT, {}),
        "004-10": ("longcat", "LongCat-Flash-Thinking", CONTENT, {}),
        "004-11": ("venice", "qwen3-235b", CONTENT, {}),
        "004-13a": ("xai", "grok-4", {}, {}),
        "004-13b": ("nvidia", "meta/llama-3", CONTENT, {}),
        "004-13c": ("mistral", "magistral-medium", {}, {}),
        "004-13d": ("ollama-cloud", "gpt-oss:120b", REASONING, {}),
        "004-13e": ("together", "deepseek-ai/DeepSeek-R1", {}, {}),
        "004-13f": ("huggingface", "x/y", {}, {}),
        "004-13g": ("deepinfra", "x/y", CONTENT, {}),
        "004-13h": ("aihubmix", "x", {}, {}),
        "004-13i": ("publicai", "x", {}, {}),
        "004-13j": ("openai", "gpt-5", {}, {}),
        "004-13k": ("free", "x", {}, {}),
        "004-13l": ("openai-compatible", "x", {}, {}),
        "004-15": ("nobody", "m", {}, {}),
        "004-16": ("groq", "openai/gpt-oss-20b", REASONING, {}),
        "004-18 moonshot": ("moonshot", "moonshot-v1-8k", {}, {}),
        "004-18 cerebras": ("cerebras", "gpt-oss-120b", REASONING, {}),
    },
)
def test_a_provider_gets_what_its_row_says(provider: str, model: str, loop: JSON, answer: JSON) -> None:
    assert (in_loop(provider, model), after_answer(provider, model)) == (loop, answer)


@each(
    "provider, model, wanted",
    {
        "004-01b": ("groq", "qwen/qwen3-32b", {"reasoning_format": "parsed"}),
        "004-03": ("cerebras", "zai-glm-4.7", {"clear_thinking": False}),
        "004-06b": ("moonshot", "kimi-k2.6", {"thinking": {"type": "enabled", "keep": "all"}}),
        "004-07b": ("fireworks", "glm-4p7", {"reasoning_history": "preserved"}),
        "004-07c": ("fireworks", "some-new-model", {"reasoning_history": "preserved"}),
        "004-08b": ("zai", "glm-5", {"thinking": {"type": "enabled", "clear_thinking": False}}),
        "004-32": ("zai-coding-plan", "glm-5", {}),
    },
)
def test_a_request_names_the_flags_that_preserve_reasoning(provider: str, model: str, wanted: JSON) -> None:
    assert flags(provider, model) == wanted


@row("004-06b", "004-06d", "004-07b", "004-07c", "004-08b")
@pytest.mark.parametrize(
    ("provider", "model"),
    [("moonshot", "kimi-k2.6"), ("fireworks", "glm-4p7"), ("fireworks", "some-new-model"), ("zai", "glm-5")],
)
def test_answers_carry_reasoning_only_beside_the_flag_that_keeps_it(provider: str, model: str) -> None:
    assert (after_answer(provider, model), after_answer(provider, model, apply_flags=True)) == ({}, CONTENT)


@each(
    "names, row_of",
    {
        "004-31 moonshot": (["moonshotai", "moonshotai-cn", "kimi"], ("moonshot", "kimi-k2.6")),
        "004-31 zai": (["z.ai", "z-ai", "zhipu", "zhipuai"], ("zai", "glm-5")),
        "004-31 zen": (["opencode"], ("opencode-zen", "deepseek-v4-pro")),
        "004-31 fireworks": (["fireworks-ai", "fireworks_ai"], ("fireworks", "glm-4p7")),
    },
)
def test_regional_and_other_names_match_the_row(names: list[str], row_of: tuple[str, str]) -> None:
    provider, model = row_of
    for name in names:
        assert in_loop(name, model) == in_loop(provider, model) == CONTENT
        assert flags(name, model) == flags(provider, model)


@row("004-31")
def test_names_of_providers_that_get_nothing_match_their_rows() -> None:
    for name, provider in (("togetherai", "together"), ("x-ai", "xai"), ("minimaxi", "minimax")):
        own, other = (
            asked([thought(), CALL], on_warning=unheard, **target(one, "m")).policy
            for one in (name, provider)
        )
        assert own == other


# -- threads


@row("004-05b")
def test_every_later_answer_carries_the_field_once_one_did() -> None:
    messages = [
        {"id": "u1", "role": "user", "content": "?"},
        {"id": "r1", "role": "reasoning", "content": "Hm."},
        {"id": "a1", "role": "assistant", "content": "A"},
        {"id": "u2", "role": "user", "content": "?"},
        {"id": "a2", "role": "assistant", "content": "B"},
        {"id": "u3", "role": "user", "content": "?"},
    ]
    run = Run({**INPUT, "messages": messages}, api="openai-chat", **ZEN)
    fields = [
        "reasoning_content" in one for one in run.request().body["messages"] if one["role"] == "assistant"
    ]
    assert fields == [True, True]


@row("004-05c")
def test_a_thread_that_began_with_another_model_goes_on() -> None:
    request = asked([thought(), CALL], to=ZEN, api="openai-chat", provider="openai", model="gpt-5")
    assert assistant(request.body) == {"reasoning_content": ""}
    assert [(entry.outcome, entry.reason) for entry in request.report] == [("placeholder", "foreign_origin")]


@each(
    "provider, model, placeholder",
    {
        "004-27": ("moonshot", "kimi-k2.6", {"reasoning_content": " "}),
        "004-22": ("deepseek", "deepseek-v4-pro", {"reasoning_content": ""}),
        "004-22 nothing required": ("groq", "llama-3.3-70b", {}),
    },
)
def test_a_call_without_reasoning_gets_a_placeholder_where_one_is_required(
    provider: str, model: str, placeholder: JSON
) -> None:
    assert assistant(asked([TextPart("A"), CALL], **target(provider, model)).body) == placeholder


@row("004-17", "004-21")
@pytest.mark.parametrize(("provider", "fields"), [(GROQ, {}), (DEEPSEEK, CONTENT)], ids=["groq", "deepseek"])
def test_reasoning_is_kept_for_people_and_survives_a_restart(provider: JSON, fields: JSON) -> None:
    conversation = Conversation("t")
    asked_input = conversation.run_input("Look.")
    for event in said([thought(), CALL], asked_input, api="openai-chat", **provider):  # type: ignore[arg-type]
        conversation.receive(event)
    conversation = Conversation.from_json(conversation.to_json())
    assert [m.content for m in conversation.messages if m.role == "reasoning"] == ["Hm."]
    conversation.add_tool_result("call_1", "4")
    run = Run(conversation.run_input(), api="openai-chat", **provider)
    assert assistant(run.request().body) == fields


@row("004-22")
def test_an_old_conversation_is_sent_as_it_was() -> None:
    body = asked([TextPart("A")], follows="And now?", **target("groq", "llama-3.3-70b")).body
    assert body["messages"] == [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": "A"},
        {"role": "user", "content": "And now?"},
    ]


@row("004-19")
def test_a_row_of_ones_own_says_field_and_scope() -> None:
    own = EchoRule(
        api="openai-chat",
        provider=("acme",),
        model=("m*",),
        status="accepted",
        field=("reasoning",),
        scope="all",
    )
    acme = target("acme", "m1")
    assert assistant(asked([thought(), CALL], policy=[own], **acme).body) == REASONING
    answer = asked([thought(), TextPart("A")], follows="?", policy=[own], **acme)
    assert assistant(answer.body) == REASONING


@row("004-26")
def test_the_command_lists_the_matrix(cli: Any) -> None:
    result = cli("providers", "groq", "--api", "openai-chat", "--json")
    assert result.status == 0
    rows = {
        model: (one["status"], one["field"]) for one in json.loads(result.stdout) for model in one["model"]
    }
    assert (rows["*gpt-oss*"], rows["*"]) == (("accepted", ["reasoning"]), ("rejected", []))
    everything = json.loads(cli("providers", "--json").stdout)
    assert [one for one in everything if not (one["evidence"] and one["checked"])] == []


# -- what arrives, and goes back as it came


SIGNED = {
    "type": "reasoning.text",
    "text": "R",
    "signature": "EqQB",
    "format": "anthropic-claude-v1",
    "index": 0,
}
SEALED = {
    "type": "reasoning.encrypted",
    "data": "EAA=",
    "id": "call_1",
    "format": "google-gemini-v1",
    "index": 1,
}
PLAIN = {"type": "reasoning.text", "text": "R", "format": "google-gemini-v1", "index": 0}
SPLIT = {
    "type": "reasoning.text",
    "id": "reasoning-text-1",
    "format": "MiniMax-response-v1",
    "index": 0,
    "text": "R",
}
TAGGED = "<think>\nR\n</think>\n\nA"


@each(
    "provider, model, message, sent",
    {
        "004-09": ("openrouter", "deepseek/deepseek-v4", {"reasoning": "R"}, {"reasoning": "R"}),
        "004-09 alias": (
            "openrouter",
            "deepseek/deepseek-v4",
            {"reasoning_content": "R"},
            {"reasoning": "R"},
        ),
        "004-09b": (
            "openrouter",
            "anthropic/claude-sonnet-4.5",
            {"reasoning": "R", "reasoning_details": [SIGNED]},
            {"reasoning_details": [SIGNED]},
        ),
        "004-09c": (
            "openrouter",
            "google/gemini-3-pro-preview",
            {"reasoning": "R", "reasoning_details": [PLAIN, SEALED]},
            {"reasoning_details": [SEALED]},
        ),
        "004-12": ("minimax", "MiniMax-M2", {"content": TAGGED}, {"content": TAGGED}),
        "004-12b": (
            "minimax",
            "MiniMax-M2",
            {"content": "A", "reasoning_details": [SPLIT]},
            {"content": "A", "reasoning_details": [SPLIT]},
        ),
        "004-20": (
            "deepseek",
            "deepseek-v4-pro",
            {"reasoning_content": "R", "reasoning": "R"},
            {"reasoning_content": "R"},
        ),
    },
)
def test_reasoning_goes_back_in_the_form_of_the_provider(
    provider: str, model: str, message: JSON, sent: JSON
) -> None:
    to = target(provider, model)
    response = completion(**{"content": None, **message}, tool_calls=[CALLED])
    assert told(answered(response, **to))[0] == ("reasoning", "R")
    body = asked(decode_response("openai-chat", response, provider=provider, model=model), **to).body
    kept = {name: member for name, member in body["messages"][1].items() if member not in (None, "")}
    assert kept == {"role": "assistant", "tool_calls": [CALLED], **sent}


@row("004-12b")
def test_the_split_mode_is_asked_for_beside_its_field() -> None:
    response = completion(content="A", reasoning_details=[SPLIT], tool_calls=[CALLED])
    parts = decode_response("openai-chat", response, provider="minimax", model="MiniMax-M2")
    assert flags("minimax", "MiniMax-M2", *parts) == {"reasoning_split": True}


THINKS = [{"type": "thinking", "thinking": [{"type": "text", "text": "R"}]}, {"type": "text", "text": "A"}]
CHANNELS = "<|channel|>analysis<|message|>R<|end|><|start|>assistant<|channel|>final<|message|>A"


@each(
    "api, provider, model, content",
    {
        "004-28": ("mistral-chat", "mistral", "magistral-medium-2506", "<think>\nR\n</think>\nA"),
        "004-29": ("mistral-chat", "mistral", "magistral-medium-2509", THINKS),
        "004-30": ("openai-chat", "vllm", "openai/gpt-oss-20b", CHANNELS),
    },
)
def test_reasoning_in_the_content_is_split_from_the_answer(
    api: str, provider: str, model: str, content: Any
) -> None:
    to = {"api": api, "provider": provider, "model": model}
    shown = [("reasoning", "R"), ("assistant", "A")]
    assert told(answered(completion(content=content), **to)) == shown
    chunk = {"id": "c", "model": "m", "choices": [{"index": 0, "delta": {"content": content}}]}
    done = {"id": "c", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    assert told(answered([chunk, done], **to)) == shown


@row("004-14")
def test_anthropic_and_gemini_have_apis_of_their_own() -> None:
    thinking = {"type": "thinking", "thinking": "R", "signature": "EqQB"}
    use = {"type": "tool_use", "id": "call_1", "name": "look", "input": {"at": "a"}}
    claude = {"type": "message", "role": "assistant", "content": [thinking, use], "stop_reason": "tool_use"}
    to = {"provider": "anthropic", "model": "claude-sonnet-4-5"}
    parts = decode_response("anthropic-messages", claude, **to)
    assert asked(parts, api="anthropic-messages", **to).body["messages"][1]["content"] == [thinking, use]
    called = {"functionCall": {"name": "look", "args": {"at": "a"}}, "thoughtSignature": "EAA="}
    inside = [{"text": "R", "thought": True}, called]
    gemini = {"candidates": [{"content": {"role": "model", "parts": inside}, "finishReason": "STOP"}]}
    to = {"provider": "google", "model": "gemini-3-pro-preview"}
    parts = decode_response("gemini", gemini, **to)
    assert told(said(parts, api="gemini", **to))[0] == ("reasoning", "R")
    sent = asked(parts, api="gemini", **to).body["contents"][1]["parts"]
    assert [part for part in sent if "functionCall" in part] == [called]


# -- what people see


@row("004-23")
def test_thinking_alone_is_shown_while_the_run_goes_on() -> None:
    run, conversation = Run(INPUT, new_id=numbers(), **target("openai-chat", "m")), Conversation("t")
    for event in [*run.start(), *run.receive(thought())]:
        conversation.receive(event)
    assert (conversation.status, [m.role for m in conversation.messages]) == ("running", ["reasoning"])


@row("004-24")
def test_what_belongs_to_one_response_says_so() -> None:
    parts = [thought("a"), CALL, thought("b"), ToolCallPart("call_2", "look"), ToolResultPart("call_1", "4")]
    events = said([*parts, thought("c"), TextPart("A")], api="anthropic-messages", model="claude-sonnet-4-5")
    openers = [event.metadata for event in events if event.type == "REASONING_MESSAGE_START"]  # type: ignore[union-attr]
    a, b, c = ((opener or {})["agui-reasoning"]["response"] for opener in openers)
    assert (a == b, b == c) == (True, False)


@row("004-25")
def test_the_page_previews_the_newest_reasoning_with_its_first_line(tmp_path: Path) -> None:
    node = find_node()
    if node is None:
        pytest.skip("Node 20 or newer is missing; `make test` installs it")
    page = Path(str(files("agui_reasoning._page"))) / "static" / "format.js"
    shutil.copy(page, tmp_path / "format.mjs")
    shown = told(said([thought("First.\nMore."), CALL, thought("Then.\nMore."), TextPart("A")]))
    newest = [told_text for role, *(told_text,) in (one[:2] for one in shown) if role == "reasoning"][-1]
    script = 'import { previewOf } from "./format.mjs"; console.log(previewOf(process.argv[1]));'
    command = [str(node), "--input-type=module", "-e", script, newest]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout == "Then.\n"
