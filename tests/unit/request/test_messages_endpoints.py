"""Lead two turns with a tool through every endpoint that is compatible with Anthropic Messages.

The SDK of Anthropic sends the requests to a local server, which refuses what the real endpoint refuses.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import anthropic
import pytest
from ag_ui.core import ToolMessage, UserMessage
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from agui_reasoning import Conversation, ModelStream, ProviderRequest, run_agent
from agui_reasoning.gateway import local_server
from agui_reasoning.parts import (
    NativePart,
    Opaque,
    Origin,
    ReasoningPart,
    Segment,
    TextPart,
    ToolCallPart,
    Turn,
)
from agui_reasoning.policy import EchoRule
from agui_reasoning.providers.echo import rule_for, rules
from agui_reasoning.providers.refusals import find_refusal
from agui_reasoning.request import History, build_request
from tests.support.effort import thinned
from tests.support.strict_providers.messages_endpoints import ENDPOINTS, Check, Endpoint, Memory
from tests.support.two_turns import Led
from tests.support.verifier import plain

Json = dict[str, Any]
API = "anthropic-messages"
THOUGHTS = [["Rain is likely.", "I should check."], ["4 mm: rain."], ["Tomorrow?", "Check again."], ["Dry."]]
"""What the model thinks in its four responses; the first and third end with a call."""


@dataclass
class Served:
    """An endpoint behind HTTP: what it was asked, and what it refused."""

    endpoint: Endpoint
    memory: Memory = field(default_factory=Memory)
    taken: list[Json] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    numbers: count[int] = field(default_factory=count)

    def answer(self, body: Json) -> Response:
        """Refuse a request, or stream the next response."""
        refusal = self.endpoint.refusal(body, self.memory)
        if refusal is not None:
            message, param = refusal
            self.refused.append(param or message)
            error = {
                "type": "invalid_request_error",
                "message": message,
                **({"param": param} if param else {}),
            }
            return JSONResponse({"type": "error", "error": error}, 400)
        number = len(self.taken)
        self.taken.append(body)
        events = self._events(number, body["messages"])
        text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        return Response(text, media_type="text/event-stream")

    def _events(self, number: int, before: list[Any]) -> Iterator[Json]:
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "content": []}
        yield {"type": "message_start", "message": {**message, "model": self.endpoint.model}}
        for index, thought in enumerate(THOUGHTS[number]):
            yield from self._thought(index, thought, before)
        calls = number % 2 == 0
        last = len(THOUGHTS[number])
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "forecast", "input": {}}
        yield {
            "type": "content_block_start",
            "index": last,
            "content_block": call if calls else {"type": "text", "text": "Take a coat."},
        }
        yield {"type": "content_block_stop", "index": last}
        yield {"type": "message_delta", "delta": {"stop_reason": "tool_use" if calls else "end_turn"}}
        yield {"type": "message_stop"}

    def _thought(self, index: int, text: str, before: list[Any]) -> Iterator[Json]:
        signature = self.endpoint.signature(self.numbers)
        self.memory.add(text, signature or "", before)
        signed = {} if signature is None else {"signature": ""}
        yield _block("start", index, content_block={"type": "thinking", "thinking": "", **signed})
        yield _block("delta", index, delta={"type": "thinking_delta", "thinking": text})
        if signature is not None:
            yield _block("delta", index, delta={"type": "signature_delta", "signature": signature})
        yield _block("stop", index)


def _block(what: str, index: int, **more: Any) -> Json:
    return {"type": f"content_block_{what}", "index": index, **more}


class Server:
    """Every endpoint, at a path of its own."""

    def __init__(self) -> None:
        self.served: dict[str, Served] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise NotImplementedError
        request = Request(scope, receive)
        response = self.served[scope["path"].split("/")[1]].answer(await request.json())
        await response(scope, receive, send)


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, Server]]:
    app = Server()
    with local_server(app) as url:
        yield url, app


@dataclass
class Thread:
    """A thread that was led through an endpoint."""

    served: Served
    requests: list[ProviderRequest]
    warnings: list[str]
    last: list[Json]


def lead(
    server: tuple[str, Server], name: str, *, policy: list[EchoRule] | None = None, runs: int = 4
) -> Thread:
    """Ask, answer the call, ask again, answer the call."""
    url, app = server
    endpoint = ENDPOINTS[name]
    served = app.served["it"] = Served(endpoint)
    requests: list[ProviderRequest] = []
    client = anthropic.Anthropic(base_url=f"{url}/it", api_key="k", max_retries=0)

    def ask(request: ProviderRequest) -> Any:
        requests.append(request)
        fields: Json = {"thinking": {"type": "enabled", "budget_tokens": 1024}, **request.body}
        return client.messages.create(model=endpoint.model, max_tokens=2048, stream=True, **fields)

    led = Thread(served, requests, [], [])
    thread = Conversation("t")
    who: Mapping[str, Any] = {"api": API, "provider": endpoint.provider, "model": endpoint.model}
    for number in range(runs):
        for call in thread.pending_calls:
            thread.add_tool_result(call.id, "4 mm")
        sent = thread.run_input(("Umbrella?", None, "And tomorrow?", None)[number])
        agent = lambda run: iter([ModelStream(ask)])  # noqa: E731
        events = list(run_agent(sent, agent, policy=policy or (), on_warning=led.warnings.append, **who))
        for event in events:
            thread.receive(event)
        led.last.append(plain(events)[-1])
    client.close()
    return led


def rule_of(endpoint: Endpoint) -> EchoRule:
    return rule_for(Origin(endpoint.provider, API, endpoint.model))


@pytest.mark.parametrize("name", ENDPOINTS)
def test_two_turns_with_a_tool(server: tuple[str, Server], name: str, led: Led) -> None:
    endpoint = ENDPOINTS[name]
    led(Origin(endpoint.provider, API, endpoint.model))
    thread = lead(server, name)
    rule = rule_of(endpoint)
    assert thread.served.refused == []
    assert [event["type"] for event in thread.last] == ["RUN_FINISHED"] * 4
    assert [request.lost for request in thread.requests] == [()] * 4
    whole = ["\n\n" if endpoint.last_only else ""] * 3
    said = [glue.join(thoughts) for glue, thoughts in zip(whole, THOUGHTS, strict=False)]
    # The last request is that of the second tool loop.
    read = endpoint.read(thread.served.taken[3])
    assert read == {"none": ["", "", ""], "tool_loop": ["", "", said[2]], "all": said}[rule.scope]
    assert bool(thread.warnings) == (rule.status == "unknown")


def test_every_row_of_the_policy_has_an_endpoint() -> None:
    shown = [rule_of(endpoint) for endpoint in ENDPOINTS.values()]
    missing = [rule for rule in rules() if rule.api == API and rule not in shown]
    assert [rule.evidence for rule in missing] == [
        "Tested with LiteLLM 1.106.2: stores the upstream's ciphertext in a separate block"
    ]


CHECKS = [
    pytest.param(name, check, id=f"{name}-{number}")
    for name, endpoint in ENDPOINTS.items()
    for number, check in enumerate(endpoint.checks)
]


@pytest.mark.parametrize(("name", "check"), thinned(CHECKS, 2))
def test_an_endpoint_refuses_what_the_real_one_refuses(
    server: tuple[str, Server], name: str, check: Check
) -> None:
    led = lead(server, name, runs=2)
    body = led.served.taken[1]
    assert ENDPOINTS[name].refusal(body, led.served.memory) is None
    message, param = ENDPOINTS[name].refusal(check.spoil(body), led.served.memory) or ("", None)
    assert (param or message) == check.words


REQUIRED = [name for name, one in ENDPOINTS.items() if rule_of(one).status == "required"]


def unknown(endpoint: Endpoint) -> list[EchoRule]:
    """A policy that knows nothing of an endpoint."""
    return [EchoRule(api=API, provider=(endpoint.provider,), status="unknown")]


@pytest.mark.parametrize("name", thinned(REQUIRED, 2))
def test_an_endpoint_that_misses_reasoning_gets_it(server: tuple[str, Server], name: str) -> None:
    """Without the row, the request is refused once in each run, then sent with reasoning and thinking on."""
    led = lead(server, name, policy=unknown(ENDPOINTS[name]))
    assert [event["type"] for event in led.last] == ["RUN_FINISHED"] * 4
    assert 2 <= len(led.served.refused) <= 3
    for body in led.served.taken:
        assert body["thinking"]["type"] == "enabled"
    said = ["".join(thoughts) for thoughts in THOUGHTS[:3]]
    # Signed thinking may be bound to a conversation that had none.
    signed = rule_of(ENDPOINTS[name]).needs == "signature"
    assert ENDPOINTS[name].read(led.served.taken[3]) == (["", "", said[2]] if signed else said)
    assert any("asked once more, with the reasoning of earlier answers" in text for text in led.warnings)


@pytest.mark.parametrize(
    "name", [name for name in REQUIRED if rule_of(ENDPOINTS[name]).placeholder is not None]
)
def test_a_placeholder_replaces_the_reasoning_of_others(server: tuple[str, Server], name: str) -> None:
    endpoint, messages = ENDPOINTS[name], claude_history()
    request = build_request(API, messages, provider=endpoint.provider, model=endpoint.model)
    body = {**request.body, "model": endpoint.model, "max_tokens": 1, "stream": True}
    assert endpoint.refusal(body, Memory()) is None
    assert request.body["messages"][1]["content"][0] == {
        "type": "thinking",
        "thinking": rule_of(endpoint).placeholder,
        "signature": "",
    }


def claude_history() -> History:
    origin = Origin("anthropic", API, "claude-opus-5")
    thought = ReasoningPart(
        (Segment("text", 0, "Hm."),), (Opaque("anthropic.signature", "SIG"),), origin=origin
    )
    call = ToolCallPart("toolu_1", "forecast", "{}", origin=origin)
    asked = UserMessage(id="u1", content="Umbrella?")
    return History(
        (asked, Turn((thought, call), origin), ToolMessage(id="t1", tool_call_id="toolu_1", content="4"))
    )


@pytest.mark.parametrize(("name", "check"), CHECKS)
def test_the_words_of_an_endpoint_are_recognized(name: str, check: Check) -> None:
    endpoint = ENDPOINTS[name]
    target = Origin(endpoint.provider, API, endpoint.model)
    assert find_refusal(target, status=400, names=["invalid_request_error"], message=check.words) is not None


# -- what the rows say beside the status


def test_every_thinking_block_has_a_signature(server: tuple[str, Server]) -> None:
    """Servers in Rust refuse blocks without the field, even where none was sent."""
    body = lead(server, "sglang-gateway Qwen/Qwen3.5", runs=2).served.taken[1]
    blocks = [block for block in body["messages"][1]["content"] if block["type"] == "thinking"]
    assert [block["signature"] for block in blocks] == ["", ""]


def test_redacted_thinking_is_left_out_where_it_is_refused() -> None:
    origin = Origin("sglang", API, "qwen3.5")
    history = claude_history()
    redacted = ReasoningPart((), (Opaque("anthropic.redacted_thinking", "DATA"),), origin=origin)
    turn = Turn((redacted, ToolCallPart("toolu_1", "forecast", "{}", origin=origin)), origin)
    request = build_request(
        API, History((history.items[0], turn, history.items[2])), provider="sglang", model="qwen3.5"
    )
    assert [block["type"] for block in request.body["messages"][1]["content"]] == ["tool_use"]
    assert [(entry.outcome, entry.reason) for entry in request.report] == [("dropped", "policy")]


@pytest.mark.parametrize(("provider", "sent"), [("anthropic", 1), ("zai", 1), ("lmstudio", 0), ("acme", 0)])
def test_native_blocks_are_sent_only_to_known_endpoints(provider: str, sent: int) -> None:
    origin = Origin(provider, API, "model-1")
    block = {"type": "compaction", "content": "Summed up."}
    turn = Turn((NativePart("anthropic.compaction", block, origin), TextPart("Yes.", origin=origin)), origin)
    history = History((UserMessage(id="u1", content="Hi."), turn, UserMessage(id="u2", content="And now?")))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        request = build_request(API, history, provider=provider, model="model-1")
    content = next(message for message in request.body["messages"] if message["role"] == "assistant")[
        "content"
    ]
    assert [part["type"] for part in content] == ["compaction"] * sent + ["text"]


@pytest.mark.parametrize(
    ("provider", "producer", "target", "sent"),
    [
        ("openrouter", "deepseek/deepseek-v4", "anthropic/claude-opus-5", False),
        ("opencode-zen", "kimi-k2.6", "claude-opus-5", False),
        ("openrouter", "anthropic/claude-opus-5", "anthropic/claude-sonnet-5", True),
        ("litellm", "bedrock/anthropic.claude-opus-5", "anthropic/claude-opus-5", True),
    ],
)
def test_signatures_of_a_host_go_to_models_of_the_same_family(
    provider: str, producer: str, target: str, sent: bool
) -> None:
    origin = Origin(provider, API, producer)
    history = claude_history()
    turn = history.items[1]
    assert isinstance(turn, Turn)
    parts = tuple(replace(part, origin=origin) for part in turn.parts)
    moved = History((history.items[0], Turn(parts, origin), history.items[2]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        request = build_request(API, moved, provider=provider, model=target)
    kinds = [block["type"] for block in request.body["messages"][1]["content"]]
    assert kinds == ["thinking"] * sent + ["tool_use"]
