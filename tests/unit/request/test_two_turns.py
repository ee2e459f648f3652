"""Two turns with a tool through each strict provider: no request is refused, and nothing required is lost.

The endpoints of Anthropic Messages, the servers of Responses and the vendors of Chat Completions that have
tests of their own are not repeated here; `scripts/two_turns.py` counts all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from agui_reasoning import Conversation, Run
from agui_reasoning.deltas import Delta, FinishDelta, fold, unfold
from agui_reasoning.parts import Origin, Turn
from agui_reasoning.policy import EchoRule
from agui_reasoning.providers import decode_response, decoder
from agui_reasoning.providers.echo import rule_for
from agui_reasoning.replay import load_script, payloads, script_names
from agui_reasoning.request import ProviderRequest
from tests.support.strict_providers import STRICT, STRICT_LOOPS, Issued, StrictProvider
from tests.support.two_turns import Led
from tests.unit.request.test_open_responses import LOOPS

Json = dict[str, Any]

SCRIPTS = {load_script(name)["api"]: name for name in script_names() if name.endswith("-weather")}
FUNCTION = {"name": "get_weather", "arguments": '{"city":"Oslo"}'}
CALL: Json = {"id": "call_1", "type": "function", "function": FUNCTION}
SIGNED = {"thought_signature": "SIG"}
DETAIL = {"type": "reasoning.text", "text": "Hm.", "signature": "SIG", "format": "anthropic-claude-v1"}
OF_GPT: Json = {"id": "rs_1", "format": "openai-responses-v1", "index": 0}
GPT_DETAILS: list[Json] = [
    {"type": "reasoning.summary", "summary": "Hm.", **OF_GPT},
    {"type": "reasoning.encrypted", "data": "SIG", **OF_GPT},
]
ITEM: Json = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Hm."}],
    "encrypted_content": "SIG",
}

# The messages of those that spell reasoning unlike the script of their API: what they think, and their call.
MESSAGES: dict[str, tuple[Json, Json]] = {
    "google": ({}, {**CALL, "extra_content": {"google": SIGNED}}),
    "google on vertex": ({}, {**CALL, "extra_content": {"vertex": SIGNED}}),
    "claude behind vercel": ({"reasoning": "Hm.", "reasoning_details": [DETAIL]}, CALL),
    "gpt behind vercel": ({"reasoning": "Hm.", "reasoning_details": GPT_DETAILS}, CALL),
    "litellm to responses": ({"reasoning_content": "Hm.", "reasoning_items": [ITEM]}, CALL),
    "openrouter": ({"reasoning": "Hm.", "reasoning_details": [DETAIL]}, CALL),
    "litellm to gemini": ({}, {**CALL, "provider_specific_fields": SIGNED}),
    **{
        name: ({"reasoning_content": "Hm."}, CALL)
        for name in ("litellm to groq", "litellm to gpt-oss", "litellm to openai")
    },
}


def response(name: str, target: Origin, number: int) -> list[Delta]:
    """A response: the first calls the tool, the second answers, and so does the third in the next turn."""
    api, who = target.api or "", {"provider": target.provider, "model": target.model}
    if name in MESSAGES:
        thought, call = MESSAGES[name]
        said = {"tool_calls": [call]} if number == 1 else {"content": "Rain."}
        message = {"role": "assistant", "content": None, **thought, **said}
        whole = {"id": f"r{number}", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        return [*unfold(decode_response(api, whole, **who)), FinishDelta("stop")]
    script = load_script(SCRIPTS[STRICT[name].target.api or ""] + ("" if number == 1 else f"-{number}"))
    reader = decoder(api, **who)
    streamed = [delta for payload in payloads(script) for delta in reader.receive(payload)]
    return streamed + reader.close()


def lead(
    strict: StrictProvider, name: str, policy: Sequence[EchoRule] = ()
) -> tuple[list[ProviderRequest], list[str]]:
    """Lead a client through two turns; return the requests, and why they were refused."""
    target, issued, made, refused = strict.target, Issued(), list[ProviderRequest](), list[str]()
    client = Conversation("t", on_warning=lambda text: None)
    who = {"api": target.api, "provider": target.provider, "model": target.model}
    for number, question in ((1, "Weather in Oslo?"), (2, None), (3, "And tomorrow?"), (4, "Thanks.")):
        for call in client.pending_calls:
            client.add_tool_result(call.id, "4C")
        run = Run(client.run_input(question), on_warning=lambda text: None, policy=policy, **who)
        events = run.start()
        made.append(run.request())
        refused += strict.refusals(made[-1].body, issued)
        if number < 4:
            deltas = response(name, target, number)
            issued.add(Turn(tuple(fold(deltas)), target))
            events += [event for delta in deltas for event in run.receive(delta)]
        for event in [*events, *run.finish()]:
            client.receive(event)
    return made, refused


# Others that refuse the same: the name of the strict provider, and who else it stands for.
ALIKE = [
    ("openai", Origin("openai", "openai-responses", "gpt-5.4")),
    ("openai", Origin("litellm", "openai-responses", "gpt-5.6")),
    ("codex", Origin("chatgpt-codex", "openai-responses", "gpt-5.5")),
    ("openrouter", Origin("openrouter", "openai-chat", "anthropic/claude-opus-5.5")),
    ("converse", Origin("bedrock", "bedrock-converse", "us.anthropic.claude-opus-5-5")),
    ("gemini", Origin("opencode-zen", "gemini", "gemini-3-pro")),
    ("litellm", Origin("anthropic", "litellm", "anthropic/claude-opus-5-5")),
    ("litellm", Origin("azure", "litellm", "azure_ai/claude-opus-5")),
    ("litellm", Origin("vertex_ai", "litellm", "vertex_ai/claude-opus-5-5")),
    ("litellm", Origin("bedrock", "litellm", "bedrock/us.anthropic.claude-opus-5")),
    ("litellm", Origin("bedrock", "litellm", "bedrock/us.anthropic.claude-opus-5-5")),
    ("litellm", Origin("litellm", "openai-chat", "anthropic/claude-opus-5")),
    ("litellm", Origin("litellm", "openai-chat", "anthropic/claude-opus-5-5")),
    ("litellm", Origin("litellm", "openai-chat", "bedrock/us.anthropic.claude-opus-5")),
    ("litellm", Origin("litellm", "openai-chat", "bedrock/us.anthropic.claude-opus-5-5")),
    ("litellm to gemini", Origin("litellm", "openai-chat", "gemini/gemini-3-pro")),
    ("litellm to responses", Origin("litellm", "openai-chat", "openai/responses/gpt-5.6")),
    ("litellm to responses", Origin("litellm", "openai-chat", "responses/gpt-5.6")),
]
HERE = [
    *(
        (name, strict.target)
        for name, strict in STRICT.items()
        if name not in LOOPS and strict.target.api != "anthropic-messages"
    ),
    *((name, strict.target) for name, strict in STRICT_LOOPS.items()),
    *ALIKE,
]


@pytest.mark.parametrize(
    ("name", "target"), HERE, ids=lambda value: value if isinstance(value, str) else value.model
)
def test_two_turns_with_a_tool(name: str, target: Origin, led: Led) -> None:
    strict = replace((STRICT | STRICT_LOOPS)[name], target=target)
    led(strict.target)
    made, refused = lead(strict, name)
    assert refused == []
    assert [request.lost for request in made] == [()] * 4
    rule, in_the_loop = rule_for(strict.target), {entry.outcome for entry in made[1].report}
    if rule.status in ("required", "recommended"):
        assert "echoed" in in_the_loop, made[1].report
    assert rule.echoes or "echoed" not in in_the_loop, made[1].report


@pytest.mark.parametrize("name", STRICT_LOOPS)
def test_a_loop_without_its_reasoning_is_refused(name: str) -> None:
    """So that the test above could fail: nothing is echoed under a row that says so."""
    strict = STRICT_LOOPS[name]
    _, refused = lead(strict, name, [EchoRule(api=strict.target.api or "", status="unknown")])
    assert refused
    assert all("is missing" in fault for fault in refused)
