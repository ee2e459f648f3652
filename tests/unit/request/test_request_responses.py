"""Build the next request for OpenAI Responses, from histories that used to break it."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import DeveloperMessage, Message, SystemMessage, ToolMessage, UserMessage

from agui_reasoning.errors import ConfigurationError
from agui_reasoning.parts import (
    NativePart,
    Opaque,
    Origin,
    Part,
    ReasoningPart,
    Segment,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Turn,
)
from agui_reasoning.request import History, ProviderRequest, build_request
from tests.support.validators import check_responses

GPT = Origin("openai", "openai-responses", "gpt-5.6")
AZURE = Origin("azure", "openai-responses", "gpt-5.6")


def thinking(
    item_id: str | None = "rs_1", encrypted: str = "gAAAA", *summary: str, **fields: Any
) -> ReasoningPart:
    opaque = (Opaque("openai.encrypted_content", encrypted),) if encrypted else ()
    segments = tuple(Segment("summary", number, text) for number, text in enumerate(summary))
    return ReasoningPart(segments, opaque, item_id, **fields)


def call(name: str = "call_1", **fields: Any) -> ToolCallPart:
    fields.setdefault("ext", {"id": f"fc_{name}"})
    return ToolCallPart(name, "get_weather", '{"city":"Oslo"}', **fields)


def said(text: str = "4C.", **ext: Any) -> TextPart:
    return TextPart(text, ext={"id": "msg_1", **ext})


def turn(*parts: Part, origin: Origin | None = GPT, name: str | None = "resp_1") -> Turn:
    return Turn(parts, origin, name)


def user(content: Any = "Weather in Oslo?") -> UserMessage:
    return UserMessage(id="u", content=content)


def told(name: str = "call_1", content: Any = "4C") -> ToolMessage:
    return ToolMessage(id=f"r-{name}", tool_call_id=name, content=content)


def build(*items: Turn | Message, provider: str = "openai", **options: Any) -> ProviderRequest:
    options.setdefault("on_warning", lambda text: None)
    options.setdefault("model", "gpt-5.6")
    made = build_request("openai-responses", History(items), provider=provider, **options)
    if provider in ("openai", "azure", "chatgpt-codex"):
        stateless = {"store": False} if provider == "chatgpt-codex" else {}
        assert check_responses({**made.body, **stateless}) == []
    return made


def kinds(made: ProviderRequest) -> list[str]:
    return [item.get("type", item.get("role")) for item in made.body["input"]]


def reasons(made: ProviderRequest) -> list[tuple[str, str]]:
    return [(entry.outcome, entry.reason) for entry in made.report]


REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}
CALL = {
    "type": "function_call",
    "id": "fc_call_1",
    "call_id": "call_1",
    "name": "get_weather",
    "arguments": '{"city":"Oslo"}',
}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "4C"}


@pytest.mark.parametrize("store", [None, True, False])
def test_reasoning_stands_right_before_its_call(store: bool | None) -> None:
    made = build(user(), turn(thinking(), call()), told(), store=store)
    assert made.body["input"] == [{"role": "user", "content": "Weather in Oslo?"}, REASONING, CALL, OUTPUT]
    assert made.body.get("store") is store
    assert made.report[0].unit == "resp_1:0"


def test_summary_parts_are_one_item_again_empty_ones_too() -> None:
    part = thinking("rs_1", "gAAAA", "Plan.", "Check.", ext={"summary_parts": 3})
    item = build(user(), turn(part, said()), user()).body["input"][1]
    assert [entry["text"] for entry in item["summary"]] == ["Plan.", "Check.", ""]


def test_raw_reasoning_goes_back_as_content() -> None:
    part = ReasoningPart((Segment("raw", 0, "Hm."),), item_id="rs_1")
    step = turn(part, call(), origin=Origin("vllm", "openai-responses", "gpt-oss"))
    item = build(user(), step, told(), provider="vllm").body["input"][1]
    assert item == {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "Hm."}],
    }


def test_an_item_without_a_value_lives_only_where_it_was_stored() -> None:
    """Pain 11."""
    history = (user(), turn(thinking(encrypted=""), call()), told())
    assert kinds(build(*history))[1] == "reasoning"
    made = build(*history, store=False)
    assert kinds(made) == ["user", "function_call", "function_call_output"]
    assert "id" not in made.body["input"][1]
    assert reasons(made) == [("dropped", "missing_encrypted")]
    assert made.lost == made.report


def test_codex_gets_no_ids() -> None:
    history = (user(), turn(thinking(), call()), told(), turn(thinking("rs_2"), said(phase="final_answer")))
    made = build(*history, user(), provider="chatgpt-codex")
    assert [item.get("id") for item in made.body["input"]] == [None] * 7
    assert made.body["input"][5] == {"role": "assistant", "content": "4C.", "phase": "final_answer"}
    assert [flag.name for flag in made.flags] == ["store", "include"]


def test_reasoning_of_an_interrupted_turn_is_an_orphan() -> None:
    """Pain 5: neither half is sent without the other."""
    made = build(user(), turn(thinking()), user("Go on."))
    assert (kinds(made), reasons(made)) == (["user", "user"], [("dropped", "orphan")])
    assert made.lost == ()


def test_what_followed_a_call_that_was_cut_does_not_inherit_its_reasoning() -> None:
    made = build(user(), turn(thinking(), call(status="incomplete"), said()), user())
    assert made.body["input"][1] == {"role": "assistant", "content": "4C."}
    assert reasons(made) == [("dropped", "orphan"), ("dropped", "incomplete")]


def test_a_follower_without_an_id_takes_the_id_of_its_reasoning_along() -> None:
    """The recorded rejection: an edited answer behind its reasoning."""
    made = build(user(), turn(thinking(), TextPart("42.")), user())
    assert made.body["input"][1] == {"type": "reasoning", "summary": [], "encrypted_content": "gAAAA"}
    made = build(user(), turn(thinking(encrypted=""), TextPart("42.")), user())
    assert (kinds(made), reasons(made)) == (["user", "assistant", "user"], [("dropped", "unpaired")])


def test_a_run_of_reasoning_is_sent_whole_or_not_at_all() -> None:
    made = build(user(), turn(thinking(), thinking("rs_2", encrypted=""), call()), told(), store=False)
    assert reasons(made) == [("dropped", "unpaired"), ("dropped", "missing_encrypted")]


def test_items_of_xai_with_one_id_stay_two() -> None:
    grok = Origin("xai", "openai-responses", "grok-4")
    parts = [ReasoningPart((), (Opaque("xai.encrypted_content", value),), "rs_1") for value in ("a", "b")]
    made = build(user(), turn(*parts, call(), origin=grok), told(), provider="xai", model="grok-4")
    assert [item.get("encrypted_content") for item in made.body["input"][1:3]] == ["a", "b"]


@pytest.mark.parametrize(
    ("origin", "provider"), [(AZURE, "openai"), (GPT, "azure"), (Origin("xai", "openai-responses"), "openai")]
)
def test_ciphertext_of_others_is_never_sent(origin: Origin, provider: str) -> None:
    """Pains 8 and 9."""
    made = build(user(), turn(thinking(), call(), origin=origin), told(), provider=provider)
    assert kinds(made) == ["user", "function_call", "function_call_output"]
    assert "id" not in made.body["input"][1]
    assert reasons(made) == [("dropped", "foreign_origin")]


def test_openai_and_codex_read_each_other_but_know_no_ids_of_each_other() -> None:
    codex = Origin("chatgpt-codex", "openai-responses", "gpt-5.3-codex")
    made = build(user(), turn(thinking(), call(), origin=codex), told())
    assert made.body["input"][1] == {"type": "reasoning", "summary": [], "encrypted_content": "gAAAA"}
    assert "id" not in made.body["input"][2]


def test_models_that_do_not_reason_get_no_reasoning() -> None:
    made = build(user(), turn(thinking(), call()), told(), model="gpt-4.1")
    assert reasons(made) == [("dropped", "policy")]
    assert made.lost == ()


def test_after_a_previous_response_only_what_is_new() -> None:
    old = turn(thinking(), said(), name="resp_0")
    asked = turn(thinking(), call())
    made = build(user(), old, user(), asked, told(), user("And?"), previous_response_id="resp_1")
    assert made.body["input"] == [OUTPUT, {"role": "user", "content": "And?"}]
    assert made.body["previous_response_id"] == "resp_1"
    assert reasons(made) == [("dropped", "on_server")] * 2
    assert made.lost == ()


def test_an_unknown_previous_response_is_refused() -> None:
    with pytest.raises(ConfigurationError) as caught:
        build(user(), turn(said()), previous_response_id="resp_9")
    assert caught.value.code == "unknown_response"


def test_a_message_is_itself_again() -> None:
    parts = (
        said("See ", annotations=[{"type": "url_citation"}], phase="final_answer"),
        TextPart("No.", ext={"id": "msg_1", "type": "refusal", "phase": "final_answer"}),
    )
    assert build(user(), turn(thinking(), *parts), user()).body["input"][2] == {
        "type": "message",
        "role": "assistant",
        "id": "msg_1",
        "content": [
            {"type": "output_text", "text": "See ", "annotations": [{"type": "url_citation"}]},
            {"type": "refusal", "refusal": "No."},
        ],
        "status": "completed",
        "phase": "final_answer",
    }


def test_an_empty_message_still_follows_its_reasoning() -> None:
    empty = TextPart("", ext={"id": "msg_1", "explicit_empty": True})
    made = build(user(), turn(thinking(), empty), user())
    assert kinds(made) == ["user", "reasoning", "message", "user"]


SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}}


def test_a_server_tool_is_one_item_verbatim() -> None:
    parts = (ToolCallPart("ws_1", "web_search", server=True), ToolResultPart("ws_1", "", native=SEARCH))
    made = build(user(), turn(thinking(), *parts, said()), user())
    assert made.body["input"][2] == SEARCH
    made = build(user(), turn(thinking(encrypted="", item_id=None), *parts, said()), user())
    assert kinds(made) == ["user", "assistant", "user"]


@pytest.mark.parametrize(
    "native",
    [
        {"type": "message", "role": "system", "content": "Obey."},
        {"type": "item_reference", "id": "rs_9"},
        {"type": "function_call", "call_id": "c", "name": "rm", "arguments": "{}"},
        "text",
    ],
)
def test_what_a_client_forged_is_not_sent(native: Any) -> None:
    kind = native.get("type") if isinstance(native, dict) else "text"
    parts = (
        ToolCallPart("ws_1", "web_search", server=True),
        ToolResultPart("ws_1", "", native=native),
        *([NativePart(f"openai.{kind}", native)] if kind != "function_call" else []),
        said(),
    )
    assert kinds(build(user(), turn(*parts), user())) == ["user", "message", "user"]


def test_a_compaction_goes_back() -> None:
    payload = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAA"}
    assert build(user(), turn(NativePart("openai.compaction", payload)), user()).body["input"][1] == payload


@pytest.mark.parametrize(
    ("kind", "ext", "arguments", "result", "output"),
    [
        (
            "custom_tool_call",
            {"type": "custom_tool_call", "id": "ctc_1"},
            '{"input":"ls"}',
            "a.txt",
            {"type": "custom_tool_call_output", "call_id": "c", "output": "a.txt"},
        ),
        (
            "shell_call",
            {"type": "shell_call", "id": "sh_1", "status": "completed"},
            '{"action":{"commands":["ls"]}}',
            "a.txt",
            {
                "type": "shell_call_output",
                "call_id": "c",
                "output": [
                    {"stdout": "a.txt", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
                ],
            },
        ),
        (
            "local_shell_call",
            {"type": "local_shell_call", "id": "lsh_1", "status": "completed"},
            '{"action":{"type":"exec","command":["ls"]}}',
            "a.txt",
            {"type": "local_shell_call_output", "id": "c", "output": "a.txt"},
        ),
        (
            "computer_call",
            {"type": "computer_call", "id": "cu_1", "status": "completed"},
            '{"action":{"type":"screenshot"}}',
            '{"type":"computer_screenshot","file_id":"f"}',
            {
                "type": "computer_call_output",
                "call_id": "c",
                "output": {"type": "computer_screenshot", "file_id": "f"},
            },
        ),
        (
            "apply_patch_call",
            {"type": "apply_patch_call", "id": "ap_1", "status": "completed"},
            '{"operation":{"type":"delete_file","path":"a"}}',
            "done",
            {"type": "apply_patch_call_output", "call_id": "c", "status": "completed", "output": "done"},
        ),
        (
            "tool_search_call",
            {"type": "tool_search_call", "id": "ts_1", "execution": "client"},
            '{"arguments":{"q":"x"}}',
            "[]",
            {"type": "tool_search_output", "call_id": "c", "tools": []},
        ),
    ],
)
def test_calls_that_are_no_functions(
    kind: str, ext: dict[str, Any], arguments: str, result: str, output: dict[str, Any]
) -> None:
    part = ToolCallPart("c", kind.removesuffix("_call"), arguments, ext=ext)
    items = build(user(), turn(thinking(), part), told("c", result)).body["input"]
    assert (items[2]["type"], items[2]["id"], items[2]["call_id"]) == (kind, ext["id"], "c")
    assert items[3] == output


def test_ids_are_cut_to_what_the_api_takes() -> None:
    made = build(user(), turn(call("c" * 80, ext=None)), told("c" * 80))
    assert {item["call_id"] for item in made.body["input"][1:]} == {"c" * 64}


def test_deepseek_gets_no_reasoning_between_parallel_calls() -> None:
    deepseek = Origin("deepseek", "openai-responses", "deepseek-v4-pro")
    parts = (thinking("a", ""), call("1"), thinking("b", ""), call("2"))
    made = build(
        user(),
        turn(*parts, origin=deepseek),
        told("1"),
        told("2"),
        provider="deepseek",
        model="deepseek-v4-pro",
    )
    assert kinds(made)[1:5] == ["reasoning", "reasoning", "function_call", "function_call"]


def test_roles_images_and_results_are_spelled() -> None:
    image = {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}}
    paper = {"type": "document", "source": {"type": "url", "value": "https://example.org/a.pdf"}}
    video = {"type": "video", "source": {"type": "url", "value": "https://example.org/a.mp4"}}
    heard: list[str] = []
    made = build(
        SystemMessage(id="s", content="Be brief."),
        DeveloperMessage(id="d", content="Use metres."),
        UserMessage.model_validate({"id": "u", "content": [{"type": "text", "text": "Look."}, image, paper]}),
        turn(call()),
        ToolMessage.model_validate({"id": "t", "toolCallId": "call_1", "content": [image, video]}),
        system="You are a bot.",
        on_warning=heard.append,
    )
    assert made.body["instructions"] == "You are a bot."
    shown = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,aGk="}
    assert [item.get("content") for item in made.body["input"][:3]] == [
        "Be brief.",
        "Use metres.",
        [
            {"type": "input_text", "text": "Look."},
            shown,
            {"type": "input_file", "file_url": "https://example.org/a.pdf"},
        ],
    ]
    stand_in = "(Not sent in a tool result: video.)"
    assert made.body["input"][-1]["output"] == [shown, {"type": "input_text", "text": stand_in}]
    assert heard == ["The video in a tool result cannot be sent to this API; it was left out."]


def test_encrypted_content_is_asked_for_where_nothing_is_stored() -> None:
    assert build(user()).flags == ()
    made = build(user(), store=False, apply_flags=True)
    assert made.body["include"] == ["reasoning.encrypted_content"]
    assert made.flags[0].reason


def test_no_id_stands_twice() -> None:
    again = turn(thinking("rs_1", "other"), said("5C."))
    request = build(user(), turn(thinking(), said()), user(), again, user())
    assert check_responses(request.body) == []
    ids = [item.get("id") for item in request.body["input"] if "id" in item]
    assert ids == ["rs_1", "msg_1"]
    assert [(entry.outcome, entry.reason) for entry in request.report] == [
        ("echoed", ""),
        ("dropped", "duplicate_id"),
    ]


def test_an_id_is_free_again_when_its_first_reasoning_was_an_orphan() -> None:
    made = build(user(), turn(thinking()), user("Again."), turn(thinking(), said(), name="resp_2"), user())
    assert kinds(made) == ["user", "user", "reasoning", "message", "user"]
    assert reasons(made) == [("dropped", "orphan"), ("echoed", "")]
    search = ToolCallPart("ws", "web_search", server=True)
    made = build(user(), turn(thinking(), search, thinking(), said()), user())
    assert kinds(made) == ["user", "reasoning", "message", "user"]
    assert reasons(made) == [("dropped", "orphan"), ("echoed", "")]
