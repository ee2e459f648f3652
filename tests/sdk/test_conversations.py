"""OpenAI's Conversations API through its SDK, with a strict server that takes no item twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from ag_ui.core import UserMessage
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from agui_reasoning import ConfigurationError, Conversation, ModelStream, Run, build_request, run_agent
from agui_reasoning.gateway import local_server
from agui_reasoning.parts import Origin, TextPart, ToolResultPart, Turn
from agui_reasoning.request import History
from tests.support.vendor_shapes import message_item, summarized
from tests.support.verifier import plain

openai: Any = pytest.importorskip("openai", reason="OpenAI's SDK is not installed")

JSON = dict[str, Any]

GPT: JSON = {"api": "openai-responses", "provider": "openai", "model": "gpt-5.6"}
CALL = {"type": "function_call", "call_id": "call_1", "name": "get", "arguments": "{}", "status": "completed"}


class Server:
    """It knows its conversations by ID, and adds the items of each request and response to one."""

    def __init__(self, *answers: list[JSON]) -> None:
        self.answers = list(answers)
        self.stored: dict[str, list[JSON]] = {}
        self.asked: list[JSON] = []

    async def create(self, request: Request) -> JSONResponse:
        name = f"conv_{len(self.stored) + 1}"
        self.stored[name] = []
        return JSONResponse({"id": name, "object": "conversation", "created_at": 0, "metadata": {}})

    async def respond(self, request: Request) -> JSONResponse:
        body = await request.json()
        self.asked.append(body)
        refusal = self.refusal(body)
        if refusal:
            error = {"message": refusal[1], "type": "invalid_request_error", "param": None, "code": None}
            return JSONResponse({"error": error}, refusal[0])
        number, name = len(self.asked), body.get("conversation")
        output = [{**item, "id": f"{item['type'][:2]}_{number}"} for item in self.answers.pop(0)]
        if name:
            self.stored[name] += [*body["input"], *output]
        held = {"conversation": {"id": name}} if name else {}
        whole = {"id": f"resp_{number}", "object": "response", "status": "completed", "output": output}
        return JSONResponse({**whole, "model": "gpt-5.6", **held})

    def refusal(self, body: JSON) -> tuple[int, str] | None:
        name = body.get("conversation")
        if name and body.get("previous_response_id"):
            return 400, "Mutually exclusive parameters: 'conversation' and 'previous_response_id'."
        if name and name not in self.stored:
            return 404, f"Conversation with id '{name}' not found."
        before = self.stored.get(name, [])
        known = {item["id"] for item in before if item.get("id")}
        twice = [item["id"] for item in body["input"] if item.get("id") in known]
        if twice:
            return 400, f"Duplicate item found with id {twice[0]}. Remove duplicate items from your input."
        called = {
            item["call_id"] for item in (*before, *body["input"]) if item.get("type") == "function_call"
        }
        outputs = [item for item in body["input"] if item.get("type") == "function_call_output"]
        lost = [item["call_id"] for item in outputs if item["call_id"] not in called]
        return (400, f"No tool call found for function call output with call_id {lost[0]}.") if lost else None


@contextmanager
def served(*answers: list[JSON]) -> Iterator[tuple[Server, Any]]:
    server = Server(*answers)
    routes = [
        Route("/v1/conversations", server.create, methods=["POST"]),
        Route("/v1/responses", server.respond, methods=["POST"]),
    ]
    with (
        local_server(Starlette(routes=routes)) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
    ):
        yield server, client


THOUGHT = summarized("rs", "Hm.", encrypted_content="gAAAA")
TURNS = ([THOUGHT, CALL], [THOUGHT, message_item("m", "Rain.")], [message_item("m", "Snow.")])


def roles(body: JSON) -> list[str]:
    return [item.get("type") or item["role"] for item in body["input"]]


def test_two_turns_with_a_tool_send_only_what_the_conversation_lacks() -> None:
    thread = Conversation("t")
    with served(*TURNS) as (server, client):
        name = client.conversations.create().id

        def agent(run: Run) -> Any:
            while True:
                body = run.request(conversation=name, tools=()).body
                yield ModelStream(lambda body=body: client.responses.create(model="gpt-5.6", **body))
                if not run.pending_calls:
                    return
                for call in run.pending_calls:
                    yield ToolResultPart(call.id, "4C")

        for text in ("Rain?", "And tomorrow?"):
            events = plain(run_agent(thread.run_input(text), agent, **GPT))
            assert events[-1]["type"] == "RUN_FINISHED"
            for event in events:
                thread.receive(event)
    assert [roles(body) for body in server.asked] == [["user"], ["function_call_output"], ["user"]]
    assert [body["conversation"] for body in server.asked] == [name] * 3
    # Another conversation, and none, get everything.
    everything = [
        *("user", "reasoning", "function_call", "function_call_output"),
        *("reasoning", "message", "user", "assistant"),
    ]
    for options in ({"conversation": "conv_9"}, {}):
        made = build_request("openai-responses", thread.messages, **_target(), **options)
        assert roles(made.body) == everything


def test_a_conversation_that_is_gone_is_sent_in_full_and_not_named_again() -> None:
    thread, warned = Conversation("t"), list[str]()
    with served(*TURNS) as (server, client):
        name = client.conversations.create().id
        ask = lambda request: client.responses.create(model="gpt-5.6", **request.body)  # noqa: E731

        def agent(run: Run) -> Any:
            yield ModelStream(ask, conversation=name)
            for call in run.pending_calls:
                server.stored.clear()
                yield ToolResultPart(call.id, "4C")
                yield ModelStream(ask, conversation=name)
                yield ModelStream(ask, conversation=name)

        run_input = thread.run_input("Rain?")
        events = plain(run_agent(run_input, agent, **GPT, on_warning=warned.append))
    assert events[-1]["type"] == "RUN_FINISHED"
    assert [body.get("conversation") for body in server.asked] == [name, name, None, None]
    assert [roles(body) for body in server.asked[1:3]] == [
        ["function_call_output"],
        ["user", "reasoning", "function_call", "function_call_output"],
    ]
    assert ["conversation_not_found" in sentence for sentence in warned] == [True]


def _target() -> JSON:
    return {"provider": "openai", "model": "gpt-5.6", "on_warning": lambda text: None}


def test_what_others_said_in_between_is_sent() -> None:
    origin = Origin("openai", "openai-responses", "gpt-5.6")
    other = Origin("deepseek", "openai-chat", "deepseek-v4-pro")
    items = (
        UserMessage(id="u1", content="One?"),
        Turn((TextPart("Stored."),), origin, "resp_1", conversation="conv_1"),
        UserMessage(id="u2", content="Two?"),
        Turn((TextPart("Elsewhere."),), other, "x"),
        UserMessage(id="u3", content="Three?"),
    )
    made = build_request("openai-responses", History(items), conversation="conv_1", **_target())
    assert [item["content"] for item in made.body["input"]] == ["Two?", "Elsewhere.", "Three?"]
    assert made.body["conversation"] == "conv_1"


@pytest.mark.parametrize(
    ("api", "options"),
    [
        ("openai-chat", {"conversation": "conv_1"}),
        ("gemini-interactions", {"conversation": "conv_1"}),
        ("openai-responses", {"conversation": "conv_1", "previous_response_id": "resp_1"}),
    ],
)
def test_a_conversation_stands_alone_and_is_openais(api: str, options: JSON) -> None:
    with pytest.raises(ConfigurationError) as caught:
        build_request(api, [], **_target(), **options)
    assert caught.value.code == "wrong_option"


def test_the_server_is_strict() -> None:
    server = Server()
    server.stored["conv_1"] = [{**THOUGHT, "id": "rs_1"}]
    output = {"type": "function_call_output", "call_id": "call_9", "output": ""}
    for body, words in (
        ({"conversation": "conv_2", "input": []}, "not found"),
        ({"conversation": "conv_1", "previous_response_id": "r", "input": []}, "Mutually exclusive"),
        ({"conversation": "conv_1", "input": [{**THOUGHT, "id": "rs_1"}]}, "Duplicate item"),
        ({"conversation": "conv_1", "input": [output]}, "No tool call found"),
    ):
        assert words in str(server.refusal(body))
