"""Assistant messages that an application puts into a history are sent, as those of a client are."""

from __future__ import annotations

import pytest
from ag_ui.core import AssistantMessage, FunctionCall, ToolCall, ToolMessage, UserMessage

from agui_reasoning import build_request
from agui_reasoning.providers import provider_apis
from agui_reasoning.request import REQUEST_API_IDS, History

CALL = ToolCall(id="call00001", function=FunctionCall(name="look", arguments="{}"))
MESSAGES = (
    UserMessage(id="u", content="Look."),
    AssistantMessage(id="a", content="I look.", tool_calls=[CALL]),
    ToolMessage(id="t", tool_call_id="call00001", content="Dark."),
    AssistantMessage(id="b", content="It is dark."),
    UserMessage(id="v", content="Again."),
)
VENDORS = {api.id: api.vendor or "openai" for api in provider_apis()}


@pytest.mark.parametrize("api", REQUEST_API_IDS)
def test_a_history_of_messages_is_sent_as_the_messages_are(api: str) -> None:
    def body(given: object) -> object:
        return build_request(api, given, provider=VENDORS[api], model="m", on_warning=print).body  # type: ignore[arg-type]

    assert body(History(MESSAGES)) == body(MESSAGES)
    assert "It is dark." in str(body(History(MESSAGES)))
