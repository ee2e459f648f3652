"""Keep the order of roles that Mistral demands, wherever instructions stand in the history."""

from __future__ import annotations

import pytest
from ag_ui.core import Message, SystemMessage, ToolMessage, UserMessage

from agui_reasoning import History, build_request
from agui_reasoning.parts import TextPart, ToolCallPart, Turn
from agui_reasoning.providers import decode_response

CALL = Turn((ToolCallPart("call_0001", "get", "{}"),))
ANSWER = Turn((TextPart("Noon."),))
RESULT = ToolMessage(id="r", content="found", tool_call_id="call_0001")
BRIEF = SystemMessage(id="s", content="Be brief.")
ASKED = UserMessage(id="u", content="And now?")


@pytest.mark.parametrize(
    ("items", "roles"),
    [
        ([ASKED, CALL, RESULT], "user assistant tool"),
        ([ASKED, CALL, BRIEF, RESULT], "user system assistant tool"),
        ([ASKED, CALL, RESULT, BRIEF], "user system assistant tool"),
        ([ASKED, CALL, RESULT, BRIEF, ASKED], "user system assistant tool assistant user"),
        (
            [ASKED, CALL, RESULT, CALL, RESULT, BRIEF, BRIEF],
            "user system system assistant tool assistant tool",
        ),
        ([ASKED, CALL, RESULT, ASKED], "user assistant tool assistant user"),
        ([ASKED, BRIEF], "system user"),
        ([ASKED, ANSWER, ASKED, BRIEF, BRIEF], "user assistant system system user"),
        ([ASKED, ANSWER, BRIEF], "user assistant system user"),
        ([ASKED, ANSWER], "user assistant user"),
        ([BRIEF], "system"),
        ([], ""),
    ],
)
def test_the_user_or_a_tool_speaks_last_and_tools_follow_their_calls(
    items: list[Turn | Message], roles: str
) -> None:
    made = build_request("mistral-chat", History(tuple(items)), model="magistral-medium-2509")
    assert [message["role"] for message in made.body["messages"]] == roles.split()


def test_the_references_of_a_thought_are_not_sent_back_beside_it() -> None:
    reference = {"type": "reference", "reference_ids": [1]}
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}, reference], "kept": 1}
    message = {"role": "assistant", "content": [thinking, {"type": "text", "text": "Noon."}]}
    response = {"id": "r", "model": "magistral-medium-2509", "choices": [{"index": 0, "message": message}]}
    parts = decode_response("mistral-chat", response)
    assert parts[0].ext == {"references": [reference], "kept": 1}
    made = build_request(
        "mistral-chat", History((ASKED, Turn(tuple(parts)), ASKED)), model="magistral-medium-2509"
    )
    [sent] = [one for one in made.body["messages"][1]["content"] if one["type"] == "thinking"]
    assert "references" not in sent
    assert sent["kept"] == 1
