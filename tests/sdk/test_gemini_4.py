"""Gemini 4 through google-genai: the effort ``xhigh``, signatures, and the end of too many calls."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from agui_reasoning import ModelStream, Run, run_agent
from agui_reasoning.parts import ToolResultPart
from agui_reasoning.providers import decode_response, decoder
from agui_reasoning.providers.echo import rule_for
from tests.support.replay_server import ReplayServer, replaying
from tests.support.strict_providers import STRICT
from tests.support.vendor_sdks import SDKS, THEIR_WARNINGS
from tests.support.verifier import Client, plain

pytestmark = THEIR_WARNINGS

JSON = dict[str, Any]

MODEL = "gemini-4-carbon"
CALL = {
    "functionCall": {"id": "f1", "name": "forecast", "args": {"city": "Oslo"}},
    "thoughtSignature": "U0lH",
}
TARGET = structs.replace(STRICT["gemini"].target, model=MODEL)
LEVEL = {"thinking_level": "XHIGH"}
INPUT = {"threadId": "t", "runId": "r", "messages": [{"id": "u1", "role": "user", "content": "Rain?"}]}


def answer(*parts: JSON, finish: str | None = None) -> JSON:
    candidate: JSON = {"content": {"role": "model", "parts": list(parts)}} if parts else {}
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": MODEL, "responseId": "r1"}


def played(*payloads: JSON) -> JSON:
    return {"api": "gemini", "stream": True, "events": [{"data": payload} for payload in payloads]}


def events_of(server: ReplayServer, client: Any, answers: list[JSON]) -> list[JSON]:
    def agent(run: Run) -> Any:
        for exchange in answers:
            body = run.request().body
            body["config"] = {**body.get("config", {}), "thinking_config": LEVEL}
            server.exchange = exchange
            yield ModelStream(lambda body=body: client.models.generate_content_stream(model=MODEL, **body))
            for call in run.pending_calls:
                yield ToolResultPart(call.id, "4C")

    return plain(run_agent(INPUT, agent, api="gemini", provider="google", model=MODEL))


def test_a_tool_loop_of_gemini_4_with_the_effort_xhigh() -> None:
    sdk = SDKS["gemini"]
    sdk.require()
    first = played(answer({"text": "Hm.", "thought": True}), answer(CALL, finish="STOP"))
    with replaying("gemini") as server, sdk.client(server.url) as client:
        events = events_of(server, client, [first, played(answer(finish="TOO_MANY_TOOL_CALLS"))])
    assert [body["generationConfig"]["thinkingConfig"] for body in server.asked] == [LEVEL, LEVEL]
    sent = {"contents": server.asked[1]["contents"]}
    assert replace(STRICT["gemini"], target=TARGET).reject(sent) is None
    assert sent["contents"][1]["parts"][0]["thoughtSignature"] == CALL["thoughtSignature"]
    assert events[-1]["metadata"]["agui-reasoning"]["finishReason"] == "TOO_MANY_TOOL_CALLS"
    Client().feed(events).done()


def test_signatures_of_gemini_4_are_required() -> None:
    assert rule_for(TARGET).status == "required"


@pytest.mark.parametrize("parts", [(), (CALL,), ({"text": "So far."}, CALL)])
def test_nothing_is_cut_by_the_end_of_too_many_calls(parts: tuple[JSON, ...]) -> None:
    payload = answer(*parts, finish="TOO_MANY_TOOL_CALLS")
    found = decode_response("gemini", payload, provider="google")
    assert [getattr(part, "status", "") for part in found] == ["complete"] * len(parts)
    made = decoder("gemini", provider="google")
    assert (made.receive(payload) + made.close())[-1].reason == "TOO_MANY_TOOL_CALLS"
