"""Test what requests have in common: tools, options, unasked results, and names in the report."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from typing import Any

import anthropic
import openai
import pytest
from ag_ui.core import Tool, ToolMessage, UserMessage
from xai_sdk.chat import BaseClient

from agui_reasoning import AGUIReasoningWarning, ConfigurationError, ReasoningLostWarning
from agui_reasoning.parts import Opaque, Origin, ReasoningPart, Segment, TextPart, ToolCallPart, Turn
from agui_reasoning.providers import provider_api
from agui_reasoning.providers.echo import rules
from agui_reasoning.request import REQUEST_API_IDS, History, ProviderRequest, build_request

USER = UserMessage(id="u", content="Hi.")
PROVIDERS = {
    api: provider_api(api).vendor or "openai" for api in REQUEST_API_IDS if not api.startswith("gemini")
}
SDKS = ["anthropic-messages", "openai-chat", "openai-responses"]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
WEATHER = Tool(name="get_weather", description="Tells the weather.", parameters=SCHEMA)
AS_JSON = {"name": "get_weather", "description": "Tells the weather.", "parameters": SCHEMA}


def build(api: str, *items: Any, **options: Any) -> ProviderRequest:
    options.setdefault("provider", PROVIDERS[api])
    return build_request(api, History(items or (USER,)), model="m", **options)


SPELLED = {
    "anthropic-messages": {
        "name": "get_weather",
        "description": "Tells the weather.",
        "input_schema": SCHEMA,
    },
    "openai-responses": {"type": "function", **AS_JSON, "strict": False},
    "openai-chat": {"type": "function", "function": AS_JSON},
    "litellm": {"type": "function", "function": AS_JSON},
    "xai-grpc": {"function": {**AS_JSON, "parameters": json.dumps(SCHEMA, separators=(",", ":"))}},
    "bedrock-converse": {
        "toolSpec": {
            "name": "get_weather",
            "description": "Tells the weather.",
            "inputSchema": {"json": SCHEMA},
        }
    },
    "mistral-chat": {"type": "function", "function": AS_JSON},
    "cohere-chat": {"type": "function", "function": AS_JSON},
    "ollama": {"type": "function", "function": AS_JSON},
}


def tools_in(body: Mapping[str, Any]) -> list[Any]:
    """The tools of a request, wherever the API has them."""
    tools: list[Any] = body["toolConfig"]["tools"] if "toolConfig" in body else body["tools"]
    return tools


@pytest.mark.parametrize("api", sorted(PROVIDERS))
@pytest.mark.parametrize("tool", [WEATHER, AS_JSON], ids=["model", "json"])
def test_ag_ui_tools_are_spelled_for_the_api(api: str, tool: Any) -> None:
    assert tools_in(build(api, tools=[tool]).body) == [SPELLED[api]]


@pytest.mark.parametrize("api", sorted(PROVIDERS))
def test_other_tools_pass_verbatim_and_win_over_one_of_their_name(api: str) -> None:
    own: dict[str, Any] = {"type": "function", "function": {"name": "get_weather"}}
    search = {"type": "web_search_20260101", "name": "web_search"}
    assert tools_in(build(api, tools=[WEATHER, own, search]).body) == [own, search]


@pytest.mark.parametrize("api", sorted(PROVIDERS))
def test_a_tool_without_parameters_has_an_empty_object_for_them(api: str) -> None:
    tool = Tool(name="now", description="Tells the time.")
    written = tools_in(build(api, tools=[tool]).body)[0]
    function = written.get("function") or written.get("toolSpec") or written
    schema = function.get("parameters", function.get("input_schema"))
    schema = json.loads(schema) if isinstance(schema, str) else schema
    schema = function["inputSchema"]["json"] if "inputSchema" in function else schema
    assert schema == {"type": "object", "properties": {}}


@pytest.mark.parametrize("api", SDKS)
def test_the_body_splats_into_the_sdk(api: str) -> None:
    create = {
        "anthropic-messages": anthropic.Anthropic(api_key="-").messages.create,
        "openai-responses": openai.OpenAI(api_key="-").responses.create,
        "openai-chat": openai.OpenAI(api_key="-").chat.completions.create,
        # LiteLLM's function has the arguments of OpenAI's.
        "litellm": openai.OpenAI(api_key="-").chat.completions.create,
        "xai-grpc": BaseClient.create,
    }[api]
    history = (USER, Turn((TextPart("Hi."),)), USER)
    stored = {"store": False} if api == "openai-responses" else {}
    body = build(api, *history, tools=[WEATHER], system="Be brief.", apply_flags=True, **stored).body
    assert set(body) <= set(inspect.signature(create).parameters)
    assert not {"model", "stream"} & set(body)


def test_flags_stand_under_extra_body_exactly_where_the_sdk_has_no_such_argument() -> None:
    create = {
        "anthropic-messages": anthropic.Anthropic(api_key="-").messages.create,
        "openai-responses": openai.OpenAI(api_key="-").responses.create,
        "openai-chat": openai.OpenAI(api_key="-").chat.completions.create,
        # LiteLLM's function has the arguments of OpenAI's.
        "litellm": openai.OpenAI(api_key="-").chat.completions.create,
        "xai-grpc": BaseClient.create,
    }
    for rule in (rule for rule in rules() if rule.api in create):
        known = inspect.signature(create[rule.api]).parameters
        for flag in rule.flags:
            argument = flag.name.partition(".")[0]
            assert flag.extra_body == (argument not in known), (rule.api, rule.provider, flag.name)


def test_an_unknown_api_is_refused() -> None:
    with pytest.raises(ConfigurationError) as caught:
        build_request("openai-completions", [], provider=None, model=None)
    assert caught.value.code == "unknown_api"


def test_a_model_that_is_forgotten_is_asked_for_and_an_unknown_one_is_not() -> None:
    with pytest.raises(ConfigurationError) as caught:
        build_request("anthropic-messages", [])
    assert (caught.value.code, "model=None" in caught.value.hint) == ("no_model", True)
    assert build_request("anthropic-messages", [], model=None).target.model is None


@pytest.mark.parametrize("option", [{"store": True}, {"previous_response_id": "resp_1"}])
def test_options_of_another_api_are_refused(option: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        build("openai-chat", **option)
    assert caught.value.code == "wrong_option"


@pytest.mark.parametrize("api", sorted(PROVIDERS))
def test_a_result_without_a_call_is_left_out_with_a_word(api: str) -> None:
    with pytest.warns(AGUIReasoningWarning, match="no call before it"):
        body = build(api, USER, ToolMessage(id="t", tool_call_id="c", content="4C")).body
    assert "4C" not in str(body)


def test_a_lost_unit_is_heard_as_a_warning_of_its_own() -> None:
    claude = Origin("anthropic", "anthropic-messages", "claude")
    cut = ReasoningPart((Segment("text", 0, "Hm."),), status="incomplete")
    step = Turn((cut, ToolCallPart("c", "get", "{}")), claude)
    with pytest.warns(ReasoningLostWarning, match="incomplete"):
        build("anthropic-messages", USER, step, ToolMessage(id="t", tool_call_id="c", content="4C"))


def test_no_warning_or_error_quotes_what_was_thought() -> None:
    heard: list[str] = []
    step = Turn((ReasoningPart((Segment("text", 0, "secret"),)), ToolCallPart("c", "get", "{}")))
    made = build("anthropic-messages", USER, step, on_warning=heard.append)
    assert heard
    assert "secret" not in "".join(heard) + str(made.report)


def test_units_are_named_by_message_or_call_where_that_is_known() -> None:
    claude = Origin("anthropic", "anthropic-messages", "claude")
    known = ReasoningPart((Segment("text", 0, "Hm."),), seen="m7")
    steps = [
        Turn((known, TextPart("Hi.", seen="m8")), claude, "msg_1"),
        Turn((ReasoningPart(item_id="x"),), claude),
    ]
    made = build("anthropic-messages", USER, *steps, on_warning=lambda text: None)
    assert [entry.unit for entry in made.report] == ["m7", "turn1:0"]


def test_the_same_call_answered_twice_is_answered_once() -> None:
    step = Turn((ToolCallPart("c", "get", "{}"),), Origin("openai", "openai-chat", "gpt"))
    results = [ToolMessage(id=f"t{n}", tool_call_id="c", content=str(n)) for n in range(2)]
    messages = build("openai-chat", USER, step, *results).body["messages"]
    assert [message["content"] for message in messages if message["role"] == "tool"] == ["0"]


def test_messages_are_restored_first() -> None:
    messages = [
        {"id": "1", "role": "user", "content": "Hello."},
        {"id": "2", "role": "assistant", "content": "Hi."},
    ]
    made = build_request("openai-chat", messages, provider="openai", model="gpt-5")
    assert made.body == {
        "messages": [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."}]
    }
    run_input = {
        "threadId": "t",
        "runId": "r",
        "state": None,
        "messages": messages,
        "tools": [],
        "context": [],
        "forwardedProps": None,
    }
    assert build_request("openai-chat", run_input, provider="openai", model="gpt-5").body == made.body


def test_a_provider_that_no_row_is_about_is_told_when_reasoning_stays_behind() -> None:
    claude = Origin("anthropic", "anthropic-messages", "claude")
    signed = ReasoningPart((Segment("text", 0, "Hm."),), (Opaque("anthropic.signature", "SIG"),))
    turn = Turn((signed, TextPart("Hi.")), claude)
    heard: list[str] = []
    build_request(
        "anthropic-messages",
        History((USER, turn)),
        provider="antropic",
        model="claude",
        on_warning=heard.append,
    )
    assert len(heard) == 1
    assert "'antropic'" in heard[0]
    build_request(
        "anthropic-messages", History((USER,)), provider="antropic", model="claude", on_warning=heard.append
    )
    assert len(heard) == 1
