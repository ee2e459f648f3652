"""Test the HTTP upstream: what it sends, and how it reads the answer."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import anyio
import anyio.abc
import httpx2
import pytest
from starlette.testclient import TestClient

from agui_reasoning import ConfigurationError, Conversation, MissingExtraError, Run
from agui_reasoning.aio import run_agent
from agui_reasoning.client import AgentClient
from agui_reasoning.gateway import HTTPUpstream, create_app, local_server, provider_app
from agui_reasoning.replay import load_script, payloads
from tests.support.verifier import Client
from tests.unit.gateway.http_client import INPUT, TIMEOUT, call
from tests.unit.gateway.provider import APIS, KEY, MODELS, Json, Provider, Reply, frames, gateway, upstream

SCRIPTS = {
    "anthropic-messages": "anthropic-weather",
    "openai-responses": "openai-weather",
    "openai-chat": "chat-weather",
}
# What a gateway writes by itself; the rest of a script's request are its parameters.
BUILT = {"model", "stream", "messages", "input", "tools"}
FORECAST = {
    "name": "get_forecast",
    "description": "Weather forecast of a place for the next hours",
    "parameters": {
        "type": "object",
        "properties": {"place": {"type": "string"}, "hours": {"type": "integer"}},
        "required": ["place"],
        "additionalProperties": False,
    },
}

apis = pytest.mark.parametrize("api", APIS)


def answer(api: str, part: str = "-2") -> list[Any]:
    """What a provider says: by default a thought and an answer."""
    return list(payloads(load_script(SCRIPTS[api] + part)))


def request_of(api: str, run_input: Mapping[str, Any] = INPUT, **options: Any) -> Json:
    """The one request that a run causes."""
    with gateway(api, Reply(frames(answer(api))), **options) as (url, provider):
        Client().feed(call(url, run_input).events).done()
    (asked,) = provider.asked
    return asked.body


# -- conversations


def turns(request: Json) -> list[Json]:
    """The conversation in a request, in one of the spellings that an API takes for the same."""
    return [_turn(turn, "max_tokens" in request) for turn in request.get("messages") or request["input"]]


def _turn(turn: Json, blocks: bool) -> Json:
    turn = {name: value for name, value in turn.items() if name != "status"}
    if blocks and turn["role"] == "user" and isinstance(turn["content"], str):
        return turn | {"content": [{"type": "text", "text": turn["content"]}]}
    if turn.get("type") == "message":  # as it came: `logprobs` is empty, and nothing is lost with it
        content = [
            {key: value for key, value in part.items() if key != "logprobs"} for part in turn["content"]
        ]
        return turn | {"content": content}
    return turn | ({"content": turn["content"] or ""} if "content" in turn else {})


def said(request: Json) -> str:
    content = turns(request)[-1]["content"]
    return content if isinstance(content, str) else content[0]["text"]


def result(request: Json) -> str:
    last = turns(request)[-1]
    return (
        last["output"]
        if "output" in last
        else last["content"]
        if last["role"] == "tool"
        else "".join(block["content"] for block in last["content"])
    )


@pytest.mark.parametrize(("account", "sent"), [("org-first", True), ("org-second", False), (None, True)])
def test_signatures_of_another_account_are_not_sent(account: str | None, sent: bool) -> None:
    api = "anthropic-messages"
    conversation = Conversation("t")
    for question, own in (("Umbrella?", "org-first"), ("And tomorrow?", account)):
        given = conversation.run_input(question).model_dump(mode="json", by_alias=True, exclude_none=True)
        with gateway(api, Reply(frames(answer(api))), account=own) as (url, provider):
            told = call(url, given).events
        for event in told:
            conversation.receive(event)
        assert "org-" not in json.dumps(told)
    assert ("signature" in json.dumps(provider.asked[0].body)) == sent


@apis
def test_three_turns_with_a_tool_of_the_front_end_are_what_the_provider_wants(api: str) -> None:
    scripts = [load_script(f"{SCRIPTS[api]}{part}") for part in ("", "-2", "-3")]
    wanted = [script["request"] for script in scripts]
    parameters = {name: value for name, value in wanted[0].items() if name not in BUILT}
    requests: list[Json] = []
    conversation = Conversation()

    async def converse(url: str) -> None:
        async with AgentClient(url) as client:
            async for _ in client.run(conversation, said(wanted[0]), tools=[FORECAST]):
                pass
            (pending,) = conversation.pending_calls
            conversation.add_tool_result(pending.id, result(wanted[1]))
            async for _ in client.run(conversation, tools=[FORECAST]):
                pass
            async for _ in client.run(conversation, said(wanted[2]), tools=[FORECAST]):
                pass

    app = provider_app(SCRIPTS[api], on_request=requests.append)
    with (
        local_server(app) as provider,
        local_server(create_app(upstream(api, provider, parameters=parameters))) as url,
    ):
        anyio.run(converse, f"{url}/agent")
    for request, expected in zip(requests, wanted, strict=True):
        field = "messages" if "messages" in expected else "input"
        assert {**request, field: turns(request)} == {**expected, field: turns(expected)}
    assert conversation.status == "finished"
    assert conversation.pending_calls == []


@apis
def test_a_run_that_calls_tools_ends_and_names_them(api: str) -> None:
    with gateway(api, Reply(frames(answer(api, "")))) as (url, provider):
        events = call(url, INPUT | {"tools": [FORECAST]}).events
    Client().feed(events).done()
    assert len(events[-1]["outcome"]["pendingToolCallIds"]) == 1
    assert len(provider.asked) == 1


# -- the request


KEY_HEADERS = {
    "anthropic-messages": {"x-api-key": KEY, "anthropic-version": "2023-06-01"},
    "openai-responses": {"authorization": f"Bearer {KEY}"},
    "openai-chat": {"authorization": f"Bearer {KEY}"},
}
PATHS = {
    "anthropic-messages": "/v1/messages",
    "openai-responses": "/v1/responses",
    "openai-chat": "/v1/chat/completions",
}


@apis
def test_the_key_stands_where_the_api_wants_it_and_only_there(api: str) -> None:
    with gateway(api, Reply(frames(answer(api)))) as (url, provider):
        call(url)
    (asked,) = provider.asked
    assert asked.path == PATHS[api]
    named = ("x-api-key", "authorization", "anthropic-version")
    assert {name: asked.headers[name] for name in named if name in asked.headers} == KEY_HEADERS[api]
    assert asked.headers["content-type"] == "application/json"
    assert asked.headers["accept"] == "text/event-stream, application/json"
    assert KEY not in json.dumps(asked.body) + asked.path


@apis
def test_without_a_key_no_header_is_sent_for_one(api: str) -> None:
    with gateway(api, Reply(frames(answer(api))), api_key=None) as (url, provider):
        call(url)
    assert not {"x-api-key", "authorization"} & set(provider.asked[0].headers)


def test_headers_of_yours_win() -> None:
    headers = {"Authorization": "Basic dXNlcjpwYXNz", "X-Team": "weather"}
    with gateway("openai-chat", Reply(frames(answer("openai-chat"))), headers=headers) as (url, provider):
        call(url)
    sent = provider.asked[0].headers
    assert (sent["authorization"], sent["x-team"]) == ("Basic dXNlcjpwYXNz", "weather")


def test_a_slash_at_the_end_of_the_address_does_no_harm() -> None:
    provider = Provider(Reply(frames(answer("openai-chat"))))
    with local_server(provider) as url:
        asking = upstream("openai-chat", url, base_url=f"{url}/v1/")
        with local_server(create_app(asking)) as served:
            call(f"{served}/agent")
    assert provider.asked[0].path == "/v1/chat/completions"


@apis
def test_the_smallest_request_is_the_conversation_and_what_the_api_demands(api: str) -> None:
    words = "Umbrella or raincoat?"
    _, model = MODELS[api]
    user: Json = {"role": "user", "content": words}
    expected: Json = {
        "anthropic-messages": {
            "max_tokens": 16_384,
            # The policy recommends to let the model think, and to show it.
            "thinking": {"type": "adaptive", "display": "summarized"},
            "messages": [{"role": "user", "content": [{"type": "text", "text": words}]}],
        },
        "openai-responses": {"input": [user]},
        # The policy recommends to say in which mode DeepSeek's conversation is held.
        "openai-chat": {"messages": [user], "thinking": {"type": "enabled"}},
    }[api]
    assert request_of(api) == {"model": model, "stream": True, **expected}


@apis
def test_the_instructions_stand_where_the_api_wants_them(api: str) -> None:
    request = request_of(api, system="Be brief.")
    places = {
        "anthropic-messages": request.get("system"),
        "openai-responses": request.get("instructions"),
        "openai-chat": (request.get("messages") or [{}])[0].get("content"),
    }
    assert places[api] == "Be brief."


def test_parameters_win_over_defaults_and_recommendations() -> None:
    request = request_of("anthropic-messages", parameters={"max_tokens": 5, "top_k": 3})
    assert (request["max_tokens"], request["top_k"]) == (5, 3)
    disabled = {"type": "disabled"}
    assert request_of("openai-chat", parameters={"thinking": disabled})["thinking"] == disabled


def test_a_parameter_that_is_none_leaves_the_field_out() -> None:
    assert "thinking" not in request_of("openai-chat", parameters={"thinking": None, "nothing": None})
    assert "nothing" not in request_of("openai-chat", parameters={"thinking": None, "nothing": None})


def test_a_request_that_stores_nothing_asks_for_encrypted_reasoning() -> None:
    request = request_of(
        "openai-responses", parameters={"store": False, "include": ["file_search_call.results"]}
    )
    assert request["store"] is False
    assert request["include"] == ["reasoning.encrypted_content", "file_search_call.results"]


@apis
def test_tools_of_the_provider_stand_beside_those_of_the_front_end(api: str) -> None:
    search = {"type": "web_search"}
    request = request_of(api, INPUT | {"tools": [FORECAST]}, parameters={"tools": [search]})
    forecast, second = request["tools"]
    assert second == search
    assert "get_forecast" in (forecast.get("name"), forecast.get("function", {}).get("name"))


def test_headers_that_the_policy_recommends_are_headers() -> None:
    api, beta = "anthropic-messages", "thinking-binding-controls-2026-08-01"
    options: Json = {"model": "claude-opus-5-5", "headers": {"Anthropic-Beta": "mine-2026-01-01"}}
    with gateway(api, Reply(frames(answer(api))), **options) as (url, provider):
        call(url)
    (asked,) = provider.asked
    assert asked.headers["anthropic-beta"] == f"{beta},mine-2026-01-01"
    assert (asked.headers["x-api-key"], asked.headers["content-type"]) == (KEY, "application/json")
    assert asked.body["thinking"]["type"] == "adaptive"
    assert "extra_headers" not in asked.body


def test_what_a_client_forwards_does_not_reach_the_request() -> None:
    forwarded = INPUT | {"forwardedProps": {"model": "dear", "max_tokens": 1}, "state": {"model": "dear"}}
    assert request_of("anthropic-messages", forwarded) == request_of("anthropic-messages")


def test_half_a_character_goes_out_as_a_replacement() -> None:
    words = [{"id": "u1", "role": "user", "content": "?"}]
    body = json.dumps(INPUT | {"messages": words}).replace("?", "\\ud83d").encode()
    api = "openai-chat"
    with gateway(api, Reply(frames(answer(api)))) as (url, provider):
        assert call(url, body).events[-1]["type"] == "RUN_FINISHED"
    assert provider.asked[0].body["messages"][-1]["content"] == "\ufffd"


# -- what cannot work is said at once


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"api": "telepathy"}, "unknown_api"),
        ({"base_url": "api.example.com/v1"}, "bad_url"),
        ({"base_url": "ftp://api.example.com"}, "bad_url"),
        ({"base_url": "https://"}, "bad_url"),
        ({"base_url": "https://[::1"}, "bad_url"),
        ({"base_url": "https://h:99999999"}, "bad_url"),
        ({"base_url": f"https://user:{KEY}@api.example.com"}, "bad_url"),
        ({"base_url": f"https://api.example.com/v1?key={KEY}"}, "bad_url"),
        ({"base_url": f"https://api.example.com/v1#{KEY}"}, "bad_url"),
        ({"base_url": "https://api.example.com/\n"}, "bad_url"),
        ({"base_url": ""}, "bad_url"),
        ({"parameters": {"tools": "web_search"}}, "bad_parameter"),
        ({"parameters": {"stream": False}}, "bad_parameter"),
        ({"parameters": {"messages": []}}, "bad_parameter"),
        ({"api": "openai-responses", "parameters": {"previous_response_id": "resp_1"}}, "bad_parameter"),
        ({"parameters": {"extra_body": {}}}, "bad_parameter"),
        ({"parameters": {"temperature": float("nan")}}, "bad_parameter"),
        ({"parameters": {"stop": object()}}, "bad_parameter"),
        ({"api_key": f"{KEY}\n"}, "bad_header"),
        ({"api_key": f"{KEY}\r\nX-Other: 1"}, "bad_header"),
        ({"api_key": f"{KEY}é"}, "bad_header"),
        ({"api_key": ""}, "bad_header"),
        ({"headers": {"X-Key": f"{KEY}\n"}}, "bad_header"),
        ({"headers": {"X: Y": KEY}}, "bad_header"),
        ({"timeout_s": 0}, "bad_limit"),
        ({"timeout_s": -1}, "bad_limit"),
    ],
)
def test_what_cannot_work_is_said_at_once_and_without_the_key(options: Json, code: str) -> None:
    options = {"api": "openai-chat", "base_url": "https://api.example.com/v1", "model": "m"} | options
    with pytest.raises(ConfigurationError) as caught:
        HTTPUpstream(options.pop("api"), **options)
    assert caught.value.code == code
    assert KEY not in str(caught.value) + repr(caught.value)


@pytest.mark.parametrize("seconds", [0.5, 60.0, 600.0, None])
def test_the_time_for_connecting_is_that_for_silence(seconds: float | None) -> None:
    """Under load, connecting takes as long as everything else."""
    asked: list[Any] = []

    def refuse(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.extensions["timeout"])
        return httpx2.Response(400)

    http = httpx2.AsyncClient(transport=httpx2.MockTransport(refuse))
    model = upstream("openai-chat", "http://localhost", timeout_s=seconds, http=http)
    with TestClient(create_app(model), base_url="http://localhost") as client:
        client.post("/agent", json=INPUT)
    assert asked == [dict.fromkeys(("connect", "pool", "read", "write"), seconds)]


def test_only_the_upstream_that_needs_it_asks_for_the_extra() -> None:
    script = (
        "import sys; sys.modules['httpx2'] = None\n"
        "from agui_reasoning import MissingExtraError\n"
        "from agui_reasoning.gateway import HTTPUpstream, ReplayUpstream, create_app\n"
        "create_app(ReplayUpstream())\n"
        "try:\n    HTTPUpstream('openai-chat', base_url='http://localhost', model='m')\n"
        "except MissingExtraError as error:\n    print(error.code, error)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == (
        f"missing_extra {MissingExtraError('agui_reasoning.gateway.HTTPUpstream', 'client')}\n",
        "",
    )


# -- answers


@apis
def test_a_whole_response_is_shown_like_a_stream(api: str) -> None:
    whole: Json = {
        "anthropic-messages": {
            "id": "msg_1",
            "type": "message",
            "model": "m",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                {"type": "text", "text": "Yes."},
            ],
            "stop_reason": "end_turn",
        },
        "openai-responses": {
            "id": "resp_1",
            "object": "response",
            "status": "completed",
            "output": [
                {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]},
                {
                    "type": "message",
                    "id": "m1",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "Yes."}],
                },
            ],
        },
        "openai-chat": {
            "object": "chat.completion",
            "choices": [
                {
                    "message": {"role": "assistant", "reasoning_content": "Hm.", "content": "Yes."},
                    "finish_reason": "stop",
                }
            ],
        },
    }[api]
    body = json.dumps(whole).encode()
    pieces = [body[:20], body[20:]]
    with gateway(api, Reply(pieces, content_type="application/json; charset=utf-8")) as (url, _):
        messages = Client().feed(call(url).events).done().messages
    shown = [(message["role"], message["content"]) for message in messages]
    assert shown == [("reasoning", "Hm."), ("assistant", "Yes.")]


@apis
@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_the_bytes_of_a_stream_may_come_in_any_pieces(api: str, size: int) -> None:
    body = b": a comment\r\n\r\n" + b"".join(frames(answer(api))).replace(b"\n", b"\r\n")
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    with gateway(api, Reply(pieces)) as (url, _):
        messages = Client().feed(call(url).events).done().messages
    with gateway(api, Reply(frames(answer(api)))) as (url, _):
        expected = Client().feed(call(url).events).done().messages
    assert contents(messages) == contents(expected) != []


def contents(messages: list[Json]) -> list[tuple[str, Any]]:
    return [(message["role"], message.get("content")) for message in messages]


def test_the_last_frame_may_lack_its_blank_line() -> None:
    body = b"".join(frames(answer("openai-chat"))).removesuffix(b"\n\n")
    with gateway("openai-chat", Reply([body])) as (url, _):
        assert call(url).events[-1]["type"] == "RUN_FINISHED"


# -- the agent by itself


@contextmanager
def asked(api: str, reply: Reply) -> Iterator[tuple[HTTPUpstream, Provider]]:
    provider = Provider(reply)
    with local_server(provider) as url:
        yield upstream(api, url), provider


@pytest.mark.anyio
@apis
async def test_it_is_an_agent_for_runs_of_your_own(api: str) -> None:
    with asked(api, Reply(frames(answer(api)))) as (agent, _):
        provider, model = MODELS[api]
        run = Run(INPUT, api=api, provider=provider, model=model)
        events = [event.type.value async for event in run_agent(run, agent.agent)]
        await agent.aclose()
    assert (events[0], events[-1]) == ("RUN_STARTED", "RUN_FINISHED")


@pytest.mark.anyio
async def test_a_closed_upstream_opens_again() -> None:
    api = "openai-chat"
    with asked(api, Reply(frames(answer(api)))) as (agent, provider):
        for _ in range(2):
            run = Run(INPUT, api=api, provider="deepseek")
            events = [event async for event in run_agent(run, agent.agent)]
            assert events[-1].type.value == "RUN_FINISHED"
            await agent.aclose()
            await agent.aclose()
    assert len(provider.asked) == 2


@pytest.mark.anyio
async def test_a_connection_that_serves_nobody_is_closed_also_when_no_other_request_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agui_reasoning.gateway._transport.IDLE_S", 0.01)
    body = b"".join(frames(answer("openai-chat")))
    head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(body)}\r\n\r\n"
    closed = anyio.Event()
    asked: list[int] = []

    async def provide(stream: anyio.abc.ByteStream) -> None:
        received = b""
        try:
            while True:
                while not received.endswith(b"}"):  # the end of the request's JSON
                    received += await stream.receive()
                asked.append(len(received))
                received = b""
                await stream.send(head.encode() + body)
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            closed.set()
        finally:
            await stream.aclose()

    with anyio.fail_after(TIMEOUT):
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        async with listener, anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, provide)
            port = listener.extra(anyio.abc.SocketAttribute.local_port)
            agent = upstream("openai-chat", f"http://127.0.0.1:{port}")
            for number in (1, 2):
                run = Run(INPUT, api="openai-chat", provider="deepseek")
                events = [event async for event in run_agent(run, agent.agent)]
                assert events[-1].type.value == "RUN_FINISHED"
                await closed.wait()
                closed = anyio.Event()
                assert len(asked) == number
            tasks.cancel_scope.cancel()
