"""Document 000: reasoning that OpenHands gets from LiteLLM, its log, its front end, its next request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import CustomEvent
from pydantic import BaseModel

from agui_reasoning import DecodeError, build_request, reduce_events, restore
from agui_reasoning.interop import openhands
from agui_reasoning.parts import Opaque, TextPart
from agui_reasoning.policy import EchoRule
from agui_reasoning.providers import API_IDS, decode_response
from tests.seeds import CALL, INPUT, answered, asked, each, row, said, thought, told
from tests.support.frontends import FRONT_ENDS
from tests.support.lines import lines
from tests.unit.cli.command import Result

JSON = dict[str, Any]
CALLS = [
    {"id": f"call_{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    for number in (1, 2)
]
BLOCK = {"type": "thinking", "thinking": "R", "signature": "EqQB"}
TEXT = {"type": "text", "text": "A"}
SHOWN = [("reasoning", "R"), ("assistant", "A")]
ONLY_TEXT = [("assistant", "A")]


def completion(**message: Any) -> JSON:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
    return {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice]}


def chunk(reason: str | None = None, **delta: Any) -> JSON:
    choice = {"index": 0, "finish_reason": reason, "delta": delta}
    return {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}


# -- what LiteLLM hands over


@each(
    "message, shown",
    {
        "000-01": ({"content": "A", "reasoning_content": "R"}, SHOWN),
        "000-02": ({"content": "A", "reasoning_content": "R", "thinking_blocks": [BLOCK]}, SHOWN),
        "000-03": ({"content": "A", "reasoning": "R"}, SHOWN),
        "000-04": ({"content": "A", "thinking": "R"}, SHOWN),
        "000-05": ({"content": [{"type": "reasoning", "text": "R"}, TEXT]}, SHOWN),
        "000-06 text": ({"content": [{"type": "thinking", "text": "R"}, TEXT]}, SHOWN),
        "000-06 thinking": ({"content": [{"type": "thinking", "thinking": "R"}, TEXT]}, SHOWN),
        "000-07": ({"content": "A"}, ONLY_TEXT),
        "000-08 null": ({"content": "A", "reasoning_content": None, "thinking_blocks": None}, ONLY_TEXT),
        "000-09": ({"content": "A", "reasoning_content": "R", "reasoning": "R", "thinking": "R"}, SHOWN),
        "000-09b": ({"content": [{"type": "thinking", "text": "R"}, TEXT], "reasoning_content": "R"}, SHOWN),
        "000-12": ({"content": "A", "thinking_blocks": [BLOCK]}, SHOWN),
        "000-21": ({"content": None, "reasoning_content": "R"}, [("reasoning", "R")]),
    },
)
@pytest.mark.parametrize("api", ["litellm", "openai-chat"])
def test_a_message_is_read_whole_and_streamed(api: str, message: JSON, shown: list[tuple[str, str]]) -> None:
    assert told(answered(completion(**message), api=api)) == shown
    assert told(answered([chunk(**message), chunk("stop")], api=api)) == shown


@row("000-06")
def test_both_spellings_of_a_block_are_read_in_mistrals_chat() -> None:
    for name in ("text", "thinking"):
        blocks = [{"type": "thinking", name: "R"}, TEXT]
        assert told(answered(completion(content=blocks), api="mistral-chat")) == SHOWN


@row("000-02", "000-12")
@pytest.mark.parametrize("beside", [{}, {"reasoning_content": "R"}])
def test_signatures_of_blocks_are_kept(beside: JSON) -> None:
    message = completion(content="A", thinking_blocks=[BLOCK], **beside)
    reasoning, answer = decode_response("litellm", message, provider="anthropic")
    assert reasoning.opaque == (Opaque("anthropic.signature", "EqQB"),)  # type: ignore[union-attr]
    assert (reasoning.text, answer.text) == ("R", "A")  # type: ignore[union-attr]


@row("000-07", "000-08", "000-22")
@pytest.mark.parametrize("field", [{}, {"reasoning_content": None}])
def test_without_reasoning_nothing_but_text_is_sent(field: JSON) -> None:
    events = lines(answered(completion(content="A", **field), api="litellm"))
    assert events == ["text_message_start 1", "text_message_content 1 | A", "text_message_end 1"]


@row("000-10")
def test_fragments_are_joined_by_line_breaks() -> None:
    blocks = [{"type": "thinking", "text": "a"}, {"type": "reasoning", "text": "b"}]
    (action,) = openhands.write_events(
        answered(completion(content=blocks, tool_calls=CALLS[:1]), api="litellm")
    )
    assert action["args"] == {"thought": "", "reasoning_content": "a\nb"}


@row("000-08")
@pytest.mark.parametrize("calls", [[], CALLS[:1]])
@pytest.mark.parametrize("provider", ["litellm", "deepseek"])
def test_an_empty_string_shows_no_message(provider: str, calls: list[JSON]) -> None:
    message = completion(content="A", reasoning_content="", tool_calls=calls)
    events = answered(message, api="litellm", provider=provider)
    assert [event.type for event in events if "REASONING_MESSAGE" in event.type.value] == []
    (turn,) = restore(reduce_events(events)).turns
    assert list(turn.parts) == decode_response("litellm", message, provider=provider)


@row("000-08")
@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_deepseek_gets_its_empty_string_back_through_every_front_end(front_end: str) -> None:
    """DeepSeek V4 returns 400 if it is missing (deepseek-ai/deepseek-harness#739)."""
    message = completion(content="A", reasoning_content="", tool_calls=CALLS[:1])
    held = reduce_events(answered(message, api="openai-chat", provider="deepseek"))
    result = {"id": "r", "role": "tool", "toolCallId": CALLS[0]["id"], "content": "ok"}
    history = [*FRONT_ENDS[front_end](held), result]
    request = build_request("openai-chat", history, provider="deepseek", model="deepseek-v4")
    [answer] = [sent for sent in request.body["messages"] if sent["role"] == "assistant"]
    assert answer["reasoning_content"] == ""


class Model(BaseModel, extra="allow"):
    """An object whose fields are attributes, as LiteLLM's are."""


@row("000-11")
def test_objects_are_read_like_their_json() -> None:
    message = Model.model_validate({"role": "assistant", "content": "A", "reasoning_content": "R"})
    choice = Model.model_validate({"index": 0, "finish_reason": "stop", "message": message})
    response = Model.model_validate({"id": "c", "object": "chat.completion", "choices": [choice]})
    assert told(answered(response, api="litellm")) == SHOWN


@row("000-13", "000-20")
def test_reasoning_is_shown_while_it_streams_and_above_the_text() -> None:
    stream = [chunk(role="assistant", content="", reasoning_content="Hm"), chunk(reasoning_content=", so.")]
    events = answered([*stream, chunk(content="A"), chunk("stop")], api="litellm")
    assert [event.delta for event in events if event.type == "REASONING_MESSAGE_CONTENT"] == ["Hm", ", so."]  # type: ignore[union-attr]
    assert lines(events) == [
        "reasoning_start 1",
        "reasoning_message_start 2",
        "reasoning_message_content 2 | Hm, so.",
        "reasoning_message_end 2",
        "reasoning_encrypted_value 2",
        "reasoning_end 1",
        "text_message_start 3",
        "text_message_content 3 | A",
        "text_message_end 3",
    ]


@row("000-30")
def test_the_first_choice_counts_and_none_is_nothing() -> None:
    two = completion(content="A", reasoning_content="R")
    other = {"index": 1, "message": {"role": "assistant", "content": "B", "reasoning_content": "Q"}}
    assert told(answered({**two, "choices": [*two["choices"], other]}, api="litellm")) == SHOWN
    assert lines(answered({**two, "choices": []}, api="litellm")) == []


@row("000-24", "000-25")
@pytest.mark.parametrize(
    "content",
    [
        {"content": "A", "reasoning": "R"},
        {"content": [{"type": "reasoning", "text": "R"}, TEXT]},
        {"content": [{"type": "thinking", "text": "R"}, TEXT]},
    ],
)
def test_the_first_call_has_the_thought_and_the_reasoning(content: JSON) -> None:
    events = answered(completion(tool_calls=CALLS, **content), api="litellm")
    assert told(events) == [*SHOWN, *(("call", f"call_{number}", "look", "{}") for number in (1, 2))]
    first, second = openhands.write_events(events)
    assert (first["args"], second["args"]) == ({"thought": "A", "reasoning_content": "R"}, {"thought": ""})


# -- the log


@row("000-14", "000-15")
@pytest.mark.parametrize(
    ("parts", "args"),
    [
        ([thought("R"), TextPart("X"), CALL], {"thought": "X", "reasoning_content": "R"}),
        ([thought("R"), CALL], {"thought": "", "reasoning_content": "R"}),
        ([TextPart("X"), CALL], {"thought": "X"}),
        ([CALL], {"thought": ""}),
    ],
)
def test_a_thought_is_written_as_a_string_and_reasoning_where_there_is_some(
    parts: list[Any], args: JSON
) -> None:
    (action,) = openhands.write_events(said(parts))
    assert action["args"] == {"at": "a", **args}


@each(
    "args, shown",
    {
        "000-16a": ({"thought": "X"}, [("assistant", "X")]),
        "000-16b": (
            {"thought": {"text": "X", "reasoning_content": "R"}},
            [("reasoning", "R"), ("assistant", "X")],
        ),
        "000-16c": ({"thought": "X", "reasoning_content": "R"}, [("reasoning", "R"), ("assistant", "X")]),
        "000-16d": ({"thought": {"text": "X"}}, [("assistant", "X")]),
        "000-16e": ({"thought": {"text": "X", "reasoning_content": None}}, [("assistant", "X")]),
        "000-16f": (
            {"thought": {"text": "X", "reasoning_content": "I"}, "reasoning_content": "O"},
            [("reasoning", "O"), ("assistant", "X")],
        ),
        "000-17": ({"thought": None}, []),
    },
)
def test_every_form_of_a_thought_is_read(args: JSON, shown: list[tuple[str, str]]) -> None:
    action = {"id": 7, "action": "run", "args": {"command": "ls", **args}}
    events = openhands.read_events([action])
    assert told(events) == [*shown, ("call", "openhands-7", "run", '{"command":"ls"}')]
    assert openhands.write_events(events) == [action]


@each(
    "action, shown",
    {
        "000-18": (
            {"action": "finish", "args": {"final_thought": "F", "thought": "X", "reasoning_content": "R"}},
            [
                ("reasoning", "R"),
                ("assistant", "X"),
                ("call", "openhands-7", "finish", '{"final_thought":"F"}'),
            ],
        ),
        "000-19": (
            {"action": "think", "args": {"thought": "X", "reasoning_content": "R"}},
            [("reasoning", "R"), ("call", "openhands-7", "think", '{"thought":"X"}')],
        ),
        "000-21": (
            {"action": "run", "args": {"thought": "", "reasoning_content": "R"}},
            [("reasoning", "R"), ("call", "openhands-7", "run", "{}")],
        ),
        "000-22": (
            {"action": "run", "args": {"thought": "X"}},
            [("assistant", "X"), ("call", "openhands-7", "run", "{}")],
        ),
        "000-23": (
            {"action": "message", "source": "agent", "args": {"content": "Hi.", "reasoning_content": "R"}},
            [("reasoning", "R"), ("assistant", "Hi.")],
        ),
    },
)
def test_reasoning_stands_above_the_thought_once(action: JSON, shown: list[tuple[str, ...]]) -> None:
    stored = {"id": 7, **action}
    events = openhands.read_events([stored])
    assert told(events) == shown
    assert openhands.write_events(events) == [stored]


@row("000-29")
def test_a_thought_that_is_a_number_is_named() -> None:
    with pytest.raises(DecodeError, match="int at /args/thought, where a string or an object") as failure:
        openhands.read_events([{"action": "run", "args": {"thought": 5}}])
    assert (failure.value.code, failure.value.path) == ("bad_payload", "/args/thought")


LOG = [
    {"id": 1, "source": "user", "action": "message", "args": {"content": "What is here?"}},
    {"id": 2, "action": "run", "args": {"command": "ls", "thought": "X", "reasoning_content": "R"}},
    {"id": 3, "cause": 2, "observation": "run", "content": "notes.txt", "extras": {"exit_code": 0}},
    {"id": 4, "observation": "agent_state_changed", "extras": {"agent_state": "finished"}},
]


@row("000-32")
def test_observations_are_results_and_states_are_custom_events() -> None:
    events = openhands.read_events(LOG)
    assert told(events)[-2:] == [
        ("call", "openhands-2", "run", '{"command":"ls"}'),
        ("tool", "openhands-2", "notes.txt"),
    ]
    custom = [(event.name, event.value) for event in events if isinstance(event, CustomEvent)]
    assert custom == [("openhands.agent_state_changed", LOG[3])]
    assert openhands.write_events(events) == LOG


@row("000-33")
def test_hidden_reasoning_of_a_log_is_in_no_byte() -> None:
    log = json.loads(json.dumps(LOG).replace('"R"', '"Confidential."'))
    wire = "".join(event.model_dump_json() for event in openhands.read_events(log, visibility="hidden"))
    assert "notes.txt" in wire
    assert "Confidential" not in wire


@row("000-31")
def test_the_command_reads_a_log(tmp_path: Path, cli: Any) -> None:
    log = tmp_path / "log.json"
    log.write_text(json.dumps(LOG))
    result: Result = cli("encode", "--api", "openhands", log)
    assert (result.status, result.stderr) == (0, "")
    assert told(result.events) == [
        ("user", "What is here?"),
        ("reasoning", "R"),
        ("assistant", "X"),
        ("call", "openhands-2", "run", '{"command":"ls"}'),
        ("tool", "openhands-2", "notes.txt"),
    ]


# -- what goes back

CALLED = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"at":"a"}'}}


@row("000-26")
def test_an_upstream_that_nobody_knows_gets_no_reasoning() -> None:
    with pytest.warns(match="no row for 'acme'"):
        body = asked([thought(), CALL], api="litellm", provider="acme", model="acme/m").body
    assert body["messages"][1] == {"role": "assistant", "content": None, "tool_calls": [CALLED]}


@row("000-27")
@pytest.mark.parametrize("api", API_IDS)
def test_nothing_goes_back_where_the_application_says_so(api: str) -> None:
    never = EchoRule(api=api, status="rejected")
    request = asked([thought(), TextPart("A"), CALL], api=api, provider="p", model="m", policy=[never])
    assert ("Hm." in json.dumps(request.body, default=str), '"A"' in json.dumps(request.body)) == (
        False,
        True,
    )
    assert [(entry.outcome, entry.reason) for entry in request.report] == [("dropped", "policy")]


@row("000-28")
def test_the_client_gets_reasoning_that_the_model_does_not() -> None:
    target = {"api": "litellm", "provider": "xai", "model": "xai/grok-3-mini"}
    run_input = {**INPUT, "messages": [{"id": "u", "role": "user", "content": "Look."}]}
    events = answered(
        completion(content="A", reasoning_content="Hm.", tool_calls=CALLS[:1]), run_input, **target
    )
    assert told(events)[0] == ("reasoning", "Hm.")
    assert "Hm." not in json.dumps(asked([thought(), CALL], **target).body)
