"""Two turns with a tool through vendors of Chat Completions that require, read or refuse reasoning."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import ToolMessage, UserMessage

from agui_reasoning import Conversation, Run
from agui_reasoning.parts import Origin, ToolCallPart, Turn
from agui_reasoning.policy import EchoRule
from agui_reasoning.providers import decode_response
from agui_reasoning.request import History, ProviderRequest, build_request
from tests.support.strict_providers import STRICT_CHAT
from tests.support.strict_providers.chat_vendors import CHAT_VENDORS, ChatVendor, Which, chosen
from tests.support.two_turns import Led

Json = dict[str, Any]

VENDORS = [pytest.param(vendor, id=vendor.name) for vendor in CHAT_VENDORS]


def response(vendor: ChatVendor, thought: str, call_id: str | None) -> list[Any]:
    """The parts of an answer, or of a call."""
    function = {"name": "forecast", "arguments": '{"city":"Oslo"}'}
    calls = {"tool_calls": [{"id": call_id, "type": "function", "function": function}]} if call_id else {}
    message = {"role": "assistant", "content": None if call_id else "Rain.", vendor.sends: thought, **calls}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if call_id else "stop"}
    whole = {"id": f"r-{thought}", "model": vendor.model, "choices": [choice]}
    return list(decode_response(vendor.api, whole, provider=vendor.provider, model=vendor.model))


def requests(vendor: ChatVendor, **options: Any) -> list[ProviderRequest]:
    """The requests of two turns with the result of a tool, after it went to a client and came back."""
    client = Conversation("t", on_warning=lambda _: None)
    built = []
    for turn in ("one", "two"):
        asked = client.run_input(f"Ask {turn}.")
        play(vendor, client, asked, response(vendor, f"call {turn}", f"call_{turn}"))
        client.add_tool_result(f"call_{turn}", "Rain.")
        run = play(vendor, client, client.run_input(), response(vendor, f"answer {turn}", None), **options)
        built.append(run)
    return built


def play(vendor: ChatVendor, client: Conversation, asked: Any, parts: list[Any], **options: Any) -> Any:
    """Run the agent once; return the request that it makes first."""
    policy = options.pop("policy", ())
    target = {"api": vendor.api, "provider": vendor.provider, "model": vendor.model}
    run = Run(asked, **target, policy=policy, on_warning=lambda _: None)
    events = run.start()
    request = run.request(**options)
    for part in parts:
        events += run.receive(part)
    for event in [*events, *run.finish()]:
        client.receive(event)
    return request


def refusals(vendor: ChatVendor, body: Json) -> list[str]:
    """What the vendor has against a request, also against the fields that its SDK does not know."""
    sent = {name: value for name, value in body.items() if name != "extra_body"}
    return STRICT_CHAT[vendor.name].refusals(sent) or vendor.refusals(body)


def echoed(vendor: ChatVendor, body: Json) -> list[str]:
    fields = [name for name in vendor.takes if name in ("reasoning_content", "reasoning")]
    found = [message.get(name) for message in body["messages"] for name in fields]
    return list(dict.fromkeys(text for text in found if text))


THOUGHTS: dict[Which, list[list[str]]] = {
    "nowhere": [[], []],
    "loop": [["call one"], ["call two"]],
    "calls": [["call one"], ["call one", "call two"]],
    "answers": [["call one"], ["call one", "answer one", "call two"]],
}
"""The reasoning in the two requests, by the messages that a vendor reads."""


@pytest.mark.parametrize("flags", [False, True], ids=["plain", "with flags"])
@pytest.mark.parametrize("vendor", VENDORS)
def test_two_turns_with_a_tool_are_accepted_and_carry_what_the_vendor_reads(
    vendor: ChatVendor, flags: bool, led: Led
) -> None:
    led(Origin(vendor.provider, vendor.api, vendor.model))
    built = requests(vendor, apply_flags=flags)
    assert [refusals(vendor, one.body) for one in built] == [[], []]
    assert [one.lost for one in built] == [(), ()]
    which = vendor.flagged if flags and vendor.flagged else vendor.echoes
    assert [echoed(vendor, one.body) for one in built] == THOUGHTS[which]
    if flags:
        assert [tuple(one.body.get("extra_body", {})) for one in built] == [vendor.flags] * 2


@pytest.mark.parametrize("vendor", [param for param in VENDORS if param.values[0].where != "nowhere"])
def test_a_message_without_the_required_reasoning_is_refused(vendor: ChatVendor) -> None:
    """So that the test above could fail: nothing is echoed under a row that says so."""
    silent = EchoRule(api=vendor.api, status="unknown")
    for one in requests(vendor, policy=[silent]):
        assert any("is missing" in fault for fault in refusals(vendor, one.body))


@pytest.mark.parametrize("vendor", [param for param in VENDORS if param.values[0].where != "nowhere"])
def test_a_call_without_a_thought_gets_what_stands_in_for_it(vendor: ChatVendor) -> None:
    call = tuple(part for part in response(vendor, "", "call_1") if isinstance(part, ToolCallPart))
    items = (
        UserMessage(id="u", content="Ask."),
        Turn(call, call[0].origin),
        ToolMessage(id="t", tool_call_id="call_1", content="Rain."),
    )
    target = {"provider": vendor.provider, "model": vendor.model}
    body = build_request(vendor.api, History(items), **target).body
    assert refusals(vendor, body) == []
    assert [message[vendor.sends].strip() for _, message in chosen(body["messages"], vendor.where)] == [""]


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_vendor_refuses_fields_and_flags_that_it_does_not_know(vendor: ChatVendor) -> None:
    first, _ = requests(vendor)
    messages = [{**message} for message in first.body["messages"]]
    messages[1]["thinking_blocks"] = []
    assert any("thinking_blocks" in fault for fault in refusals(vendor, {"messages": messages}))
    flagged = {**first.body, "extra_body": {"surprise": 1}}
    assert refusals(vendor, flagged) == ["Unrecognized request argument: surprise"]
