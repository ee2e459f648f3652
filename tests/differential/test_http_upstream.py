"""Judge a gateway in front of a provider's HTTP API with the official client: two turns over real HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from agui_reasoning.gateway import HTTPUpstream, create_app, local_server, provider_app
from agui_reasoning.replay import load_script
from tests.differential.judge import VERSIONS, Judge, Version
from tests.differential.test_served import QUESTION, RESULT, assert_fine, last_call, pairs, roles, thought


@pytest.mark.parametrize("version", VERSIONS)
@pairs
def test_a_tool_of_the_front_end_is_answered_and_its_reasoning_goes_back(
    judge: Judge, version: Version, name: str
) -> None:
    script, requests = load_script(name), list[dict[str, Any]]()
    with local_server(provider_app(name, on_request=requests.append)) as provider:
        upstream = HTTPUpstream(
            script["api"],
            base_url=provider if script["api"] == "anthropic-messages" else f"{provider}/v1",
            provider=script["provider"],
            model=script["model"],
            api_key="none",
        )
        with local_server(create_app(upstream)) as served:
            url = f"{served}/agent"
            asked = judge.run_url(url, version=version, run_input=QUESTION, next_turn=False)
            assert_fine(asked)
            call_id = last_call(asked.messages)
            result = {"id": "t1", "role": "tool", "toolCallId": call_id, "content": RESULT}
            verdict = judge.run_url(url, version=version, run_input=QUESTION, follow_up=[result])
    assert_fine(verdict)
    assert verdict.next_events[-1]["type"] == "RUN_FINISHED"
    assert roles(verdict.next_messages)[-2:] == ["reasoning", "assistant"]
    assert thought(verdict.next_messages).startswith(thought(verdict.messages))
    # A replay refuses what a provider would; that nothing was missing is told by the last request itself.
    _, _, last = requests
    assert all(word in str(last) for word in (call_id, RESULT, *_opaque(script)))


def _opaque(script: dict[str, Any]) -> list[str]:
    """What the provider wants back byte for byte, wherever its stream has it."""
    data = [event["data"] for event in script["events"] if isinstance(event["data"], dict)]
    signatures = [
        str(item.get("delta", {}).get("signature"))
        for item in data
        if item.get("type") == "content_block_delta"
    ]
    items = [item["item"] for item in data if item.get("type") == "response.output_item.done"]
    kept = [item["encrypted_content"] for item in items if "encrypted_content" in item]
    return [value for value in (*kept, *signatures) if value != "None"]
