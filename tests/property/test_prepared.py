"""The conversation of a request as parts is what its body says: it gives the same body again."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import Message, ToolMessage, UserMessage
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agui_reasoning.parts import ToolCallPart, Turn
from agui_reasoning.providers import provider_api
from agui_reasoning.providers.strategies import part_ids
from agui_reasoning.request import History, PreparedConversation, PreparedResponse, build_request
from agui_reasoning.testing.strategies import API_IDS
from agui_reasoning.testing.strategies import turns as turns_of
from tests.support.effort import examples


def again(conversation: PreparedConversation) -> History:
    """The history that a prepared conversation amounts to."""
    items: list[Turn | Message] = []
    for number, item in enumerate(conversation.items):
        if not isinstance(item, PreparedResponse):
            items.append(item)
            continue
        items.append(Turn(item.parts, conversation.target, id=f"t{number}"))
        for result in item.results:
            told = {"tool_call_id": result.tool_call_id, "content": result.content, "error": result.error}
            items.append(ToolMessage(id=f"r{number}", **told))
    return History(tuple(items))


def answered(turn: Turn, number: int) -> list[Turn | Message]:
    """A response, the results of its calls, and the next question."""
    calls = [part for part in turn.parts if isinstance(part, ToolCallPart) and not part.server]
    results = [ToolMessage(id=f"r{n}", tool_call_id=call.id, content="9 °C") for n, call in enumerate(calls)]
    return [turn, *results, UserMessage(id=f"u{number}", content="And?")]


def joined(value: Any) -> Any:
    """A body whose adjacent texts are one, as in a whole response of some APIs.

    Gemini's text also takes in the signature of the next one.
    """
    if isinstance(value, dict):
        return {name: joined(inner) for name, inner in value.items()}
    if not isinstance(value, list):
        return value
    made: list[Any] = []
    for one in map(joined, value):
        if made and _is_text(one, "thoughtSignature") and _is_text(made[-1]):
            made[-1] = {**one, "text": made[-1]["text"] + one["text"]}
        else:
            made.append(one)
    return made


def _is_text(value: Any, *more: str) -> bool:
    return isinstance(value, dict) and "text" in value and value.keys() <= {"type", "text", *more}


def _names(turn: Turn) -> set[str]:
    return {name for part in turn.parts for name in part_ids(part)}


@pytest.mark.parametrize("api", API_IDS)
@settings(max_examples=examples(15))
@given(data=st.data())
def test_the_parts_of_a_request_give_its_body(api: str, data: st.DataObject) -> None:
    provider, model = provider_api(api).example
    turns = [replace(data.draw(turns_of(api)), id=f"own{number}") for number in (1, 2)]
    assume(_names(turns[0]).isdisjoint(_names(turns[1])))  # providers use each ID once
    first = UserMessage(id="u0", content="Well?")
    items = (first, *answered(turns[0], 1), *answered(turns[1], 2))

    def asked(history: History) -> Any:
        return build_request(api, history, provider=provider, model=model, on_warning=lambda _: None)

    request = asked(History(items))
    assert joined(asked(again(request.conversation)).body) == joined(request.body)
