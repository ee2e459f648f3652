"""Test the law *pairing out*: no history leads to a request that breaks a rule of its provider."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from ag_ui.core import Message, SystemMessage, ToolMessage, UserMessage
from hypothesis import given, settings
from hypothesis import strategies as st

from agui_reasoning.parts import (
    CUT_CALL_RESULT,
    NativePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Turn,
)
from agui_reasoning.request import History
from agui_reasoning.request._build import ProviderRequest, build_request
from agui_reasoning.testing.strategies import API_IDS
from agui_reasoning.testing.strategies import turns as any_turns
from tests.support.effort import examples
from tests.support.sdk_types import check_types
from tests.support.strategies import turns
from tests.support.validators import (
    check_anthropic,
    check_chat,
    check_deepseek,
    check_end,
    check_gemini,
    check_gemini_chat,
    check_kimi,
    check_openrouter,
    check_responses,
)
from tests.support.validators_interactions import check_interactions
from tests.support.validators_native import (
    check_bedrock,
    check_bedrock_unsigned,
    check_cohere,
    check_mistral,
    check_ollama,
)
from tests.support.validators_outputs import check_litellm, check_xai

Check = Callable[[dict[str, Any]], list[str]]

RESULTS = st.sampled_from([("found", None), ("", "It failed."), ("half", "Timeout.")])

TARGETS: dict[str, tuple[str, str, str, Check]] = {
    "anthropic": ("anthropic-messages", "anthropic", "claude-opus-5", check_anthropic),
    "bedrock": ("anthropic-messages", "bedrock", "anthropic.claude-opus-5-5", check_anthropic),
    "openai": ("openai-responses", "openai", "gpt-5.6", check_responses),
    "azure": ("openai-responses", "azure", "deployment", check_responses),
    "codex": ("openai-responses", "chatgpt-codex", "gpt-5.3-codex", check_responses),
    "openai-chat": ("openai-chat", "openai", "gpt-5.6", check_chat),
    "deepseek": ("openai-chat", "deepseek", "deepseek-v4-pro", check_deepseek),
    "kimi": ("openai-chat", "moonshot", "kimi-k2.6", check_kimi),
    "google": ("openai-chat", "google", "gemini-3-pro", check_gemini_chat),
    "openrouter": ("openai-chat", "openrouter", "anthropic/claude", check_openrouter),
    "gemini": ("gemini", "google", "gemini-3-pro", check_gemini),
    "interactions": ("gemini-interactions", "google", "gemini-3-pro", check_interactions),
    "gemini on vertex": ("gemini", "google-vertex", "gemini-3-pro", check_gemini),
    "groq": ("openai-chat", "groq", "llama", check_chat),
    "xai": ("xai-grpc", "xai", "grok-4", check_xai),
    "litellm": ("litellm", "anthropic", "anthropic/claude-opus-5", check_litellm),
    "converse": ("bedrock-converse", "bedrock", "us.anthropic.claude-sonnet-4-6", check_bedrock),
    "gpt-oss": ("bedrock-converse", "bedrock", "openai.gpt-oss-120b-1:0", check_bedrock_unsigned),
    "mistral": ("mistral-chat", "mistral", "mistral-small-latest", check_mistral),
    "cohere": ("cohere-chat", "cohere", "command-a-reasoning-08-2025", check_cohere),
    "ollama": ("ollama", "ollama", "qwen3:4b", check_ollama),
}


# The values that are generated for these are not the base64 that the types of their SDKs want.
BINARY = {"bedrock-converse", "gemini"}
decoded = st.one_of([any_turns(api) for api in API_IDS if api not in BINARY]).map(lambda t: list(t.parts))
"""Responses as the decoder of an API gives them."""


@st.composite
def conversations(draw: st.DrawFn) -> list[Turn | Message]:
    """Turns of any origin, cut anywhere, with some calls answered, some late, some twice, some never."""
    items: list[Turn | Message] = []
    late: list[Message] = []
    for number, parts in enumerate(draw(st.lists(turns() | decoded, max_size=4))):
        if draw(st.booleans()):
            items.append(UserMessage(id=f"u{number}", content=draw(st.sampled_from(["Hi.", "", " "]))))
        cut = [_cut(draw, _argued(draw, _typed(part))) for part in parts]
        known = {part.tool_call_id for part in parts if isinstance(part, ToolResultPart)}
        server = [p for p in cut if isinstance(p, ToolCallPart) and p.server and p.id not in known]
        found = [_found(call) for call in server if draw(st.booleans())]
        items.append(Turn((*cut, *found), parts[0].origin if parts else None, f"resp_{number}"))
        items += late
        late = []
        for part in cut:
            if isinstance(part, ToolCallPart) and not part.server:
                content, error = draw(RESULTS)
                result = ToolMessage(id=f"r{number}", tool_call_id=part.id, content=content, error=error)
                where = draw(st.sampled_from(["now", "late", "twice", "never"]))
                items += {"now": [result], "twice": [result, result]}.get(where, [])
                late += [result] if where == "late" else []
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), SystemMessage(id="s", content="Be brief."))
    return [*items, *late]


def _typed(part: Part) -> Part:
    """The strategy's payloads are any JSON; what a client sends must not reach a provider unless it fits."""
    if isinstance(part, NativePart) and part.kind == "openai.compaction":
        return replace(part, payload={"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAA"})
    if isinstance(part, ToolCallPart) and part.server:
        interacts = part.origin is not None and part.origin.api == "gemini-interactions"
        return replace(part, name="web_search", ext={"type": "google_search_call"} if interacts else part.ext)
    return part


def _argued(draw: st.DrawFn, part: Part) -> Part:
    if not isinstance(part, ToolCallPart):
        return part
    return replace(part, arguments=draw(st.sampled_from([part.arguments, '{"city":"Oslo"}', "", "[1]"])))


def _cut(draw: st.DrawFn, part: Part) -> Part:
    whole = draw(st.sampled_from([True, True, True, False]))
    if whole or isinstance(part, ToolResultPart | NativePart):
        return part
    return replace(part, status="incomplete")


def _found(call: ToolCallPart) -> ToolResultPart:
    api = call.origin.api if call.origin else None
    native = {
        "anthropic-messages": {"type": "web_search_tool_result", "tool_use_id": call.id, "content": []},
        "openai-responses": {
            "type": "web_search_call",
            "id": f"ws_{call.id}",
            "status": "completed",
            "action": {"type": "search", "query": "x"},
        },
    }.get(api or "", {"type": "search"})
    if api == "gemini-interactions":
        native = {"type": "google_search_result", "call_id": call.id, "result": []}
    if api == "gemini":
        native = {"codeExecutionResult": {"id": call.id, "output": "found"}}
    return ToolResultPart(call.id, "found", native=native, origin=call.origin)


def build(items: list[Turn | Message], target: str, **options: Any) -> ProviderRequest:
    api, provider, model, _ = TARGETS[target]
    return build_request(
        api, History(tuple(items)), provider=provider, model=model, on_warning=lambda text: None, **options
    )


def refused(target: str, items: list[Turn | Message]) -> list[str]:
    """No history makes a request that the provider refuses."""
    body = build(items, target).body
    types = check_types(TARGETS[target][0], body)
    return [*TARGETS[target][3](body), *([types] if types else [])]


def misreported(target: str, items: list[Turn | Message]) -> list[str]:
    """Every unit that must go back is in the report once, and so is every call that was cut."""
    report = build(items, target).report
    units = [part for item in items if isinstance(item, Turn) for part in item.parts]
    reported = sum(_is_reported(part) for part in units)
    # Whether such a call was cut depends on whether it was answered.
    perhaps = sum(isinstance(part, ToolCallPart) and not _is_reported(part) for part in units)
    unexplained = [entry for entry in report if entry.outcome != "echoed" and not entry.reason]
    return [*map(repr, unexplained), *([] if reported <= len(report) <= reported + perhaps else ["count"])]


def _is_reported(part: Part) -> bool:
    cut = isinstance(part, ToolCallPart) and part.status == "incomplete"
    return cut or isinstance(part, ReasoningPart | NativePart) or bool(getattr(part, "opaque", ()))


def rewritten(target: str, items: list[Turn | Message]) -> list[str]:
    """What is sent of the past does not change when the conversation goes on.

    Prefix caches and prefix-bound signatures depend on it.
    """
    fields = {"openai-responses": "input", "gemini-interactions": "input", "gemini": "contents"}
    field = fields.get(TARGETS[target][0], "messages")
    whole = [item for item in items if not isinstance(item, SystemMessage)]
    ends = [n for n, item in enumerate(whole) if isinstance(item, UserMessage) and item.content == "Hi."]
    pasts = [past for past in (whole[: end + 1] for end in ends) if _settled(past, whole)]
    after = build(whole, target).body[field] if pasts else []
    befores = [build(past, target).body[field] for past in pasts]
    return [repr(before) for before in befores if after[: len(before) - 1] != before[:-1]]


LAWS = (refused, misreported, rewritten)


# One conversation for all targets and laws: drawing it takes about as long as sixty requests.
@settings(max_examples=examples(100))
@given(items=conversations())
def test_a_request_keeps_every_law_whatever_the_history(items: list[Turn | Message]) -> None:
    broken = {(target, law.__name__): law(target, items) for target in TARGETS for law in LAWS}
    assert {where: faults for where, faults in broken.items() if faults} == {}


CUT = ToolCallPart("cut", "get", '{"place": "Ber', status="incomplete")
TORN: dict[str, list[Turn | Message]] = {
    "an envelope says so": [Turn((CUT,))],
    "answered all the same": [Turn((CUT,)), ToolMessage(id="r", tool_call_id="cut", content="found")],
    "stopped": [Turn((TextPart("Hm."), replace(CUT, status="complete")))],
    "answered by its run": [
        Turn((TextPart("Hm."), replace(CUT, arguments="{}", status="complete"))),
        ToolMessage(id="r", tool_call_id="cut", content=CUT_CALL_RESULT),
    ],
    "no call": [Turn((TextPart("Hm."),)), ToolMessage(id="r", tool_call_id="other", content="found")],
    "no words": [Turn((TextPart("Hm."),)), UserMessage(id="u", content=" ")],
}


@pytest.mark.parametrize("tail", TORN.values(), ids=TORN)
@given(items=conversations(), asked=st.booleans(), target=st.sampled_from(sorted(TARGETS)))
def test_no_request_ends_with_the_models_turn_because_of_what_was_left_out(
    tail: list[Turn | Message], items: list[Turn | Message], asked: bool, target: str
) -> None:
    question: list[Turn | Message] = [UserMessage(id="q", content="Hi.")] if asked else []
    whole = [*items, *question, *tail]
    api, _, _, check = TARGETS[target]
    body = build(whole, target).body
    assert [*check_end(api, body), *check(body)] == []
    assert '"place' not in str(body)


@given(items=conversations())
def test_nothing_that_a_stateless_server_cannot_know_is_sent(items: list[Turn | Message]) -> None:
    assert check_responses(build(items, "openai", store=False).body) == []


@given(items=conversations())
def test_reasoning_stands_directly_before_something_of_the_models_own(items: list[Turn | Message]) -> None:
    sent = build(items, "openai").body["input"]
    for number, item in enumerate(sent):
        if item.get("type") == "reasoning":
            follower = sent[number + 1]
            assert follower.get("role", "assistant") == "assistant"
            assert not str(follower.get("type")).endswith("_output")


def _settled(part: list[Turn | Message], whole: list[Turn | Message]) -> bool:
    """No result came later for a call of the past, and no scope moved on with the user's words."""
    known = _call_ids(part)
    rest = whole[len(part) :]
    late = any(isinstance(item, ToolMessage) and item.tool_call_id in known for item in rest)
    return not late and len(_call_ids(whole)) == len(set(_call_ids(whole)))


def _call_ids(items: list[Turn | Message]) -> list[str]:
    parts = [part for item in items if isinstance(item, Turn) for part in item.parts]
    return [part.id for part in parts if isinstance(part, ToolCallPart)]
