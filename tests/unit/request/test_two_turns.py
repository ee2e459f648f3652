"""Two turns with a tool through each strict provider: no request is refused, and nothing required is lost.

The endpoints of Anthropic Messages, the servers of Responses and the vendors of Chat Completions that have
tests of their own are not repeated here; `scripts/two_turns.py` counts all of them.
"""

from __future__ import annotations

from typing import Any

import pytest

from agui_reasoning import Conversation, Run
from agui_reasoning._scripted import _exchange as exchange
from agui_reasoning._scripted import load_script, names
from agui_reasoning.deltas import Delta, FinishDelta, fold, unfold
from agui_reasoning.parts import Turn
from agui_reasoning.providers import decode_response, decoder
from agui_reasoning.providers.echo import rule_for
from agui_reasoning.request import ProviderRequest
from tests.support.strict_providers import STRICT, Issued, StrictProvider
from tests.support.two_turns import Led
from tests.unit.request.test_open_responses import LOOPS

Json = dict[str, Any]

SCRIPTS = {load_script(name)["api"]: name for name in names() if name.endswith("-weather")}
FUNCTION = {"name": "get_weather", "arguments": '{"city":"Oslo"}'}
CALL: Json = {"id": "call_1", "type": "function", "function": FUNCTION}
SIGNED = {"thought_signature": "SIG"}
DETAIL = {"type": "reasoning.text", "text": "Hm.", "signature": "SIG", "format": "anthropic-claude-v1"}

# The messages of those that spell reasoning unlike the script of their API: what they think, and their call.
MESSAGES: dict[str, tuple[Json, Json]] = {
    "google": ({}, {**CALL, "extra_content": {"google": SIGNED}}),
    "openrouter": ({"reasoning": "Hm.", "reasoning_details": [DETAIL]}, CALL),
    "litellm to gemini": ({}, {**CALL, "provider_specific_fields": SIGNED}),
    **{
        name: ({"reasoning_content": "Hm."}, CALL)
        for name in ("litellm to groq", "litellm to gpt-oss", "litellm to openai")
    },
}


def response(name: str, number: int) -> list[Delta]:
    """A response: the first calls the tool, the second answers, and so does the third in the next turn."""
    target = STRICT[name].target
    api, who = target.api or "", {"provider": target.provider, "model": target.model}
    if name in MESSAGES:
        thought, call = MESSAGES[name]
        said = {"tool_calls": [call]} if number == 1 else {"content": "Rain."}
        message = {"role": "assistant", "content": None, **thought, **said}
        whole = {"id": f"r{number}", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        return [*unfold(decode_response(api, whole, **who)), FinishDelta("stop")]
    script = load_script(SCRIPTS[api] if number == 1 else f"{SCRIPTS[api]}-{number}")
    reader = decoder(api, **who)
    streamed = [delta for payload in exchange.payloads(script) for delta in reader.receive(payload)]
    return streamed + reader.close()


def lead(strict: StrictProvider, name: str) -> tuple[list[ProviderRequest], list[str]]:
    """Lead a client through two turns; return the requests, and why they were refused."""
    target, issued, made, refused = strict.target, Issued(), list[ProviderRequest](), list[str]()
    client = Conversation("t", on_warning=lambda text: None)
    who = {"api": target.api, "provider": target.provider, "model": target.model}
    for number, question in ((1, "Weather in Oslo?"), (2, None), (3, "And tomorrow?"), (4, "Thanks.")):
        for call in client.pending_calls:
            client.add_tool_result(call.id, "4C")
        run = Run(client.run_input(question), on_warning=lambda text: None, **who)
        events = run.start()
        made.append(run.request())
        refused += strict.refusals(made[-1].body, issued)
        if number < 4:
            deltas = response(name, number)
            issued.add(Turn(tuple(fold(deltas)), target))
            events += [event for delta in deltas for event in run.receive(delta)]
        for event in [*events, *run.finish()]:
            client.receive(event)
    return made, refused


HERE = [
    name for name, strict in STRICT.items() if name not in LOOPS and strict.target.api != "anthropic-messages"
]


@pytest.mark.parametrize("name", HERE)
def test_two_turns_with_a_tool(name: str, led: Led) -> None:
    strict = STRICT[name]
    led(strict.target)
    made, refused = lead(strict, name)
    assert refused == []
    assert [request.lost for request in made] == [()] * 4
    rule, in_the_loop = rule_for(strict.target), {entry.outcome for entry in made[1].report}
    if rule.status in ("required", "recommended"):
        assert "echoed" in in_the_loop, made[1].report
    assert rule.echoes or "echoed" not in in_the_loop, made[1].report
