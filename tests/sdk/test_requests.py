"""Pass requests of `build_request` to the call of each vendor's own SDK, which sends them unchanged."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest
from ag_ui.core import SystemMessage, Tool

from agui_reasoning.parts import EffortChange
from agui_reasoning.request import REQUEST_API_IDS, build_request, restore
from tests.internals.sources import open_source_sync
from tests.recordings.test_next_request import conversation, request, turns_of
from tests.sdk.conftest import Vendors
from tests.support.effort import is_quick
from tests.support.vendor_sdks import SDKS, THEIR_WARNINGS, VendorSDK, exchanges, sdk_of

Json = dict[str, Any]

pytestmark = THEIR_WARNINGS

TOOLS = [
    Tool(
        name="get",
        description="Gets.",
        parameters={"type": "object", "properties": {"a": {"type": "integer"}}},
    )
]
MESSAGES: list[Json] = [
    {
        "id": "u1",
        "role": "user",
        "content": [
            {"type": "text", "text": "What is it?"},
            {"type": "image", "source": {"type": "data", "value": "+/+/", "mimeType": "image/png"}},
        ],
    },
    {
        "id": "a1",
        "role": "assistant",
        "content": "Let me see.",
        "toolCalls": [{"id": "c1", "type": "function", "function": {"name": "get", "arguments": '{"a":1}'}}],
    },
    {"id": "t1", "role": "tool", "toolCallId": "c1", "content": "4"},
    {"id": "u2", "role": "user", "content": "And now?"},
]


EXCHANGES = [one for one in exchanges() if one.values[0] in REQUEST_API_IDS][:: 2 if is_quick() else 1]


def arrived(sdk: VendorSDK, body: Json, vendors: Vendors) -> Json:
    """What reaches the vendor when its SDK is called with a body; the vendor refuses it."""
    server = vendors.server(sdk.api)
    server.exchange = None
    server.asked.clear()

    def call() -> None:
        ask = lambda: sdk.ask(vendors.client(sdk), body, streamed=True)  # noqa: E731
        with open_source_sync(ask) as payloads:
            list(payloads)  # type: ignore[arg-type]

    with pytest.raises(Exception) as refusal:  # noqa: PT011
        call()
    assert server.asked, refusal.value
    return _without_defaults(server.asked[0])


def _without_defaults(value: Any) -> Any:
    """JSON without what Mistral's SDK adds: the defaults of fields that a body leaves out."""
    if isinstance(value, list):
        return [_without_defaults(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    added = {"prefix": False} if "role" in value else {"index": 0} if "function" in value else {}
    return {
        name: _without_defaults(inner)
        for name, inner in value.items()
        if name not in added or inner != added[name]
    }


def as_json(value: Any) -> Any:
    """A body as it must arrive: bytes are base64."""
    if isinstance(value, dict):
        return {name: as_json(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [as_json(inner) for inner in value]
    return b64encode(value).decode() if isinstance(value, bytes) else value


def _of_ollama(body: Json) -> Json:
    """The SDK has no fields for the ids of calls, and leaves out what is empty."""
    messages = [
        {name: value for name, value in message.items() if name != "tool_call_id" and value != ""}
        for message in body["messages"]
    ]
    for message in messages:
        if "tool_calls" in message:
            message["tool_calls"] = [{"function": call["function"]} for call in message["tool_calls"]]
    return {**body, "messages": messages}


def _of_google(body: Json) -> Json:
    """The SDK puts ``config`` beside ``contents``, and spells base64 and some names differently."""
    config = _google_spelling(body.get("config", {}))
    if "systemInstruction" in config:
        config["systemInstruction"] = {"parts": [{"text": config["systemInstruction"]}], "role": "user"}
    return {"contents": _google_spelling(body["contents"]), **config}


_GOOGLE_NAMES = {
    "mimeType": "mime_type",
    "parametersJsonSchema": "parameters_json_schema",
    "toolType": "tool_type",
}


def _google_spelling(value: Any) -> Any:
    if isinstance(value, list):
        return [_google_spelling(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {
        _GOOGLE_NAMES.get(name, name): inner.replace("+", "-").replace("/", "_")
        if name == "thoughtSignature" or (name == "data" and "mimeType" in value)
        else _google_spelling(inner)
        for name, inner in value.items()
    }


ARRIVES: dict[str, Callable[[Json], Json]] = {"ollama": _of_ollama, "gemini": _of_google}
"""How a body arrives of which the SDK changes something."""


def check(sdk: VendorSDK, body: Json, vendors: Vendors) -> None:
    sent = arrived(sdk, body, vendors)
    expected = ARRIVES.get(sdk.api, lambda same: same)(as_json(body))
    assert {name: sent.get(name) for name in expected} == expected


@pytest.mark.parametrize("api", [api for api in REQUEST_API_IDS if api in SDKS])
def test_a_conversation_arrives_as_it_was_built(api: str, vendors: Vendors) -> None:
    SDKS[api].require()
    warned: list[str] = []
    made = build_request(
        api,
        MESSAGES,
        model="any",
        system="Be brief.",
        tools=TOOLS,
        apply_flags=True,
        on_warning=warned.append,
    )
    check(SDKS[api], made.body, vendors)


@pytest.mark.parametrize(
    ("api", "model"), [("anthropic-messages", "claude-opus-5-5"), ("openai-responses", "gpt-6-astra")]
)
def test_what_changes_inside_a_conversation_arrives_in_its_place(
    api: str, model: str, vendors: Vendors
) -> None:
    SDKS[api].require()
    brief = SystemMessage(id="s", content="Be brief.")
    history = restore(MESSAGES).with_items([brief, EffortChange("high")])
    body = build_request(api, history, model=model, tools=TOOLS).body
    assert "'effort': 'high'" in str(body)
    headers = body.pop("extra_headers", None)
    check(SDKS[api], body, vendors)
    assert (headers is None) == (api == "openai-responses")


@pytest.mark.parametrize(("api", "given"), EXCHANGES)
def test_what_a_response_carried_arrives_at_its_vendor(
    api: str, given: Callable[[], Json], vendors: Vendors
) -> None:
    SDKS[api].require()
    exchange = given()
    history = conversation(turns_of(exchange), goes_on=True)
    check(sdk_of(exchange), request(api, exchange, history, tools=TOOLS, system="Be brief.").body, vendors)
