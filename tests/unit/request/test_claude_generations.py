"""Lead two turns with a tool through each generation of Claude, with nothing changed but the model's name.

The server refuses what the generation refuses, and shows thinking only where it would be shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import anthropic
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from agui_reasoning import Conversation, ModelStream, build_request, run_agent
from agui_reasoning.gateway import HTTPUpstream, create_app, local_server
from agui_reasoning.policy import EchoFlag, Generation
from agui_reasoning.providers.echo import generations
from agui_reasoning.request import ProviderRequest, joined_flags, write_flags
from tests.support.effort import mostly_slow
from tests.support.strict_providers.anthropic_messages import refused_since_2026_10_21
from tests.support.strict_providers.claude import BINDING, CLAUDES, INTERLEAVED, Claude, betas
from tests.unit.gateway.http_client import call

Json = dict[str, Any]
API = "anthropic-messages"
TOOL: Json = {"name": "get_forecast", "description": "Forecast", "input_schema": {"type": "object"}}
models = pytest.mark.parametrize("model", CLAUDES)
FORMS = ("claude-haiku-4-5", "claude-sonnet-4-5", "claude-sonnet-4-6", "claude-opus-4-7", "claude-opus-5-5")
led = pytest.mark.parametrize("model", mostly_slow(CLAUDES, quick=FORMS))
"""Over HTTP, a quick run takes one model of each form."""


@dataclass
class Server:
    """An ASGI application that answers as the model would that a request names."""

    taken: list[tuple[Json, Mapping[str, str]]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    numbers: count[int] = field(default_factory=count)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise NotImplementedError
        request = Request(scope, receive)
        body = await request.json()
        await self.answer(CLAUDES[body["model"]], body, request.headers)(scope, receive, send)

    def answer(self, claude: Claude, body: Json, headers: Mapping[str, str]) -> Response:
        """Refuse a request, or call the tool and then answer."""
        fault = claude.refusal(body, headers)
        if fault is not None:
            self.refused.append(fault)
            error = {"type": "invalid_request_error", "message": fault}
            return JSONResponse({"type": "error", "error": error}, 400)
        self.taken.append((body, headers))
        after_call = body["messages"][-1]["content"][-1]["type"] == "tool_result"
        number = next(self.numbers)
        blocks: list[Json] = []
        if claude.on(body) and (not after_call or claude.thinks_between_calls(headers)):
            text = f"Thought {number}." if claude.shown(body) else ""
            blocks.append({"type": "thinking", "thinking": text, "signature": f"{claude.model}:{number}"})
        tool = {"type": "tool_use", "id": f"toolu_{number}", "name": "get_forecast", "input": {}}
        blocks.append({"type": "text", "text": "Umbrella."} if after_call else tool)
        return Response(frames(claude.model, blocks), media_type="text/event-stream")


def frames(model: str, blocks: list[Json]) -> str:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []}
    usage = {"input_tokens": 1, "output_tokens": 1}
    payloads: list[Json] = [{"type": "message_start", "message": {**message, "usage": usage}}]
    for index, block in enumerate(blocks):
        payloads.append({"type": "content_block_start", "index": index, "content_block": block})
        payloads.append({"type": "content_block_stop", "index": index})
    reason = "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn"
    payloads.append({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage})
    payloads.append({"type": "message_stop"})
    return "".join(f"event: {payload['type']}\ndata: {json.dumps(payload)}\n\n" for payload in payloads)


@contextmanager
def serving() -> Iterator[tuple[str, Server]]:
    server = Server()
    with local_server(server) as url:
        yield url, server


def thoughts(thread: Conversation) -> list[str]:
    return [str(message.content) for message in thread.messages if message.role == "reasoning"]


def expected(claude: Claude) -> list[str]:
    """What is seen of two turns, each with a call: a generation that thinks once does not after a result."""
    numbers = (0, 1, 2, 3) if claude.interleaves or "adaptive" in claude.takes else (0, 2)
    return [f"Thought {number}." for number in numbers]


# -- the model's name alone decides


@led
@pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning")
def test_two_turns_with_the_sdk(model: str) -> None:
    """The agent of the pages: its own fields name no form of thinking."""
    with serving() as (url, server):
        client = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)
        ask = {"model": model, "max_tokens": 8192, "stream": True}
        create: Any = client.messages.create
        thread = Conversation("t")
        for question in ("Umbrella?", None, "And tomorrow?", None):
            for pending in thread.pending_calls:
                thread.add_tool_result(pending.id, "4 mm")
            stream = ModelStream(lambda request: create(**request.merged(ask)), tools=[TOOL])
            agent = lambda run: iter([stream])  # noqa: B023, E731
            for event in run_agent(thread.run_input(question), agent, api=API, model=model):
                thread.receive(event)
        client.close()
    assert server.refused == []
    assert thoughts(thread) == expected(CLAUDES[model])


@led
@pytest.mark.parametrize("version", ["2023-06-01", pytest.param("2026-10-21", marks=pytest.mark.slow)])
def test_two_turns_with_the_gateway(model: str, version: str) -> None:
    """Its defaults, without a parameter, in both versions of the API."""
    headers = {} if version == "2023-06-01" else {"anthropic-version": version}
    with serving() as (url, server):
        options: Json = {"api_key": "k", "parameters": {"tools": [TOOL]}, "headers": headers}
        upstream = HTTPUpstream(API, base_url=url, model=model, **options)
        with local_server(create_app(upstream)) as served:
            thread = Conversation("t")
            for question in ("Umbrella?", None, "And tomorrow?", None):
                for pending in thread.pending_calls:
                    thread.add_tool_result(pending.id, "4 mm")
                asked = thread.run_input(question).model_dump(mode="json", by_alias=True, exclude_none=True)
                for event in call(f"{served}/agent", asked).events:
                    thread.receive(event)
    assert server.refused == []
    assert thoughts(thread) == expected(CLAUDES[model])
    assert {sent["anthropic-version"] for _, sent in server.taken} == {version}


@models
@pytest.mark.parametrize(("api", "provider"), [("bedrock-converse", "bedrock"), ("litellm", "anthropic")])
def test_other_apis_recommend_what_the_model_takes(api: str, provider: str, model: str) -> None:
    claude = CLAUDES[model]
    fields = build_request(api, [], provider=provider, model=f"anthropic.{model}-v1:0").merged({})
    fields = fields.get("additionalModelRequestFields", fields)
    features = [*fields.get("anthropic_beta", ()), *betas(fields.get("extra_headers", {}))]
    headers = {"anthropic-beta": ",".join(features)}
    asked = {"role": "user", "content": [{"type": "text", "text": "Umbrella?"}]}
    body = {"model": model, "max_tokens": 8192, "messages": [asked], "thinking": fields["thinking"]}
    assert claude.refusal(body, headers) is None
    assert claude.on(body)
    assert claude.shown(body)
    assert claude.thinks_between_calls(headers) == (claude.interleaves or "adaptive" in claude.takes)


OWN: list[Json] = [
    {"temperature": 0.2},
    {"tool_choice": {"type": "tool", "name": "get_forecast"}},
    {"max_tokens": 1024},
    {"thinking": {"type": "disabled"}},
    {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    {"thinking": {"type": "adaptive"}},
    {"thinking": None},
]


@models
def test_own_fields_are_refused_only_where_they_would_be_alone(model: str) -> None:
    claude, ask = CLAUDES[model], {"model": model, "max_tokens": 8192}
    asked = [{"id": "1", "role": "user", "content": "Umbrella?"}]
    request = build_request(API, asked, provider="anthropic", model=model, tools=[TOOL])
    found, alone = [], []
    for own in OWN:
        body = request.merged({**ask, **own})
        found.append(claude.refusal(body, body.pop("extra_headers", {})))
        given = {name: value for name, value in own.items() if value is not None}
        alone.append(claude.refusal({**ask, **request.body, **given}, {}))
    assert found == alone


@models
def test_own_members_of_thinking_are_joined_with_its_form(model: str) -> None:
    request = build_request(API, [], provider="anthropic", model=model)
    body = request.merged({"model": model, "max_tokens": 8192, "thinking": {"display": "omitted"}})
    body["messages"] = [{"role": "user", "content": [{"type": "text", "text": "Umbrella?"}]}]
    assert CLAUDES[model].refusal(body, body.pop("extra_headers", {})) is None
    assert not CLAUDES[model].shown(body)


def test_the_newer_version_refuses_what_the_older_takes() -> None:
    """What the fake refuses; the strict provider of each test of requests refuses the rest."""
    asked = {"role": "user", "content": [{"type": "text", "text": "Umbrella?"}]}
    body: Json = {"model": "m", "max_tokens": 1, "messages": [asked], "temperature": 1}
    old, new = ({"anthropic-version": version} for version in ("2023-06-01", "2026-10-21"))
    assert CLAUDES["claude-haiku-4-5"].refusal(body, old) is None
    assert "removed" in str(CLAUDES["claude-haiku-4-5"].refusal(body, new))
    cited = [{"type": "text", "text": "So.", "citations": [{"type": "char_location"}]}]
    document = [{"type": "document", "source": {"type": "file", "file_id": "f"}}]
    for role, content in (("user", cited), ("assistant", document)):
        assert list(refused_since_2026_10_21({"messages": [{"role": role, "content": content}]}))
    for role, content in (("assistant", cited), ("user", document)):
        assert not list(refused_since_2026_10_21({"messages": [{"role": role, "content": content}]}))


def test_a_beta_feature_needs_its_header() -> None:
    """What the fake refuses of the generations that take block binding."""
    thinking = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    body = {"model": "m", "max_tokens": 1, "messages": [], "thinking": thinking}
    claude = CLAUDES["claude-opus-5-5"]
    assert claude.refusal(body, {}) == "thinking.adaptive.block_binding: Extra inputs are not permitted"
    assert claude.refusal(body, {"anthropic-beta": f"a, {BINDING}"}) is None


# -- the rows


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("claude-3-5-sonnet-20241022", None),
        ("anthropic.claude-3-haiku-20240307-v1:0", None),
        ("claude-3-7-sonnet@20250219", "enabled"),
        ("claude-haiku-4.5", "enabled"),
        ("claude-4-opus-20250514", "enabled, between calls"),
        ("claude-sonnet-4@20250514", "enabled, between calls"),
        ("claude-opus-4-1-20250805", "enabled, between calls"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "enabled, between calls"),
        ("claude-opus-4-5-20251101", "enabled, between calls"),
        ("anthropic.claude-opus-4-6-v1", "adaptive"),
        ("anthropic/claude-opus-4.8", "adaptive"),
        ("claude-opus-5-20260505", "adaptive"),
        ("claude-haiku-5-5@20261007", "adaptive, bound"),
        ("claude-mythos-preview", "adaptive"),
        ("my-claude", None),
        ("claude-prod", None),
    ],
)
@pytest.mark.parametrize("api", [API, "bedrock-converse", "litellm"])
def test_the_generation_is_read_from_the_name(api: str, name: str, form: str | None) -> None:
    provider = "bedrock" if api == "bedrock-converse" else "anthropic"
    request = build_request(api, [], provider=provider, model=name, on_warning=lambda text: None)
    body = request.merged({})
    more = body.get("additionalModelRequestFields", body)
    thinking = more.get("thinking", {})
    features = betas(body.get("extra_headers", {})) | set(more.get("anthropic_beta", ()))
    found = thinking.get("type")
    if found and INTERLEAVED in features:
        found += ", between calls"
    if found and "bound" in str(form) and (api != API or BINDING in features):
        found += ", bound"  # the other APIs know no field for it
    assert found == form
    assert thinking.get("display") == ("summarized" if str(form).startswith("adaptive") else None)


def test_every_generation_names_evidence_and_has_the_same_rows_on_each_api() -> None:
    def row(one: Generation) -> tuple[Any, ...]:
        return one.model, [flag.value for flag in one.flags if "thinking" in flag.name], one.checked

    found = {api: [row(one) for one in generations() if one.api == api] for api in (API, "litellm")}
    found["bedrock-converse"] = [row(one) for one in generations() if one.api == "bedrock-converse"]
    assert found["litellm"] == found["bedrock-converse"] == found[API] != []
    assert all(one.evidence for one in generations())


# -- joining


def flag(name: str, value: Any, **more: Any) -> EchoFlag:
    return EchoFlag(name=name, value=value, reason="it helps", **more)


THINK = flag("thinking", {"type": "adaptive", "display": "summarized"})
BETA = flag("extra_headers", {"anthropic-beta": "theirs"})


@pytest.mark.parametrize(
    ("flags", "own", "merged"),
    [
        ([THINK], {}, {"thinking": {"type": "adaptive", "display": "summarized"}}),
        ([THINK], {"thinking": {"display": None}}, {"thinking": {"type": "adaptive", "display": None}}),
        ([THINK], {"thinking": {"type": "disabled"}}, {"thinking": {"type": "disabled"}}),
        ([THINK], {"thinking": None}, {}),
        ([THINK], {"thinking": "off"}, {"thinking": "off"}),
        ([flag("thinking", "on")], {"thinking": {"type": "enabled"}}, {"thinking": {"type": "enabled"}}),
        (
            [BETA],
            {"extra_headers": {"X-Mine": "1"}},
            {"extra_headers": {"anthropic-beta": "theirs", "x-mine": "1"}},
        ),
        (
            [BETA],
            {"extra_headers": {"Anthropic-Beta": "mine,theirs"}},
            {"extra_headers": {"anthropic-beta": "theirs,mine"}},
        ),
        ([BETA], {"betas": ["mine"]}, {"betas": ["theirs", "mine"]}),
        (
            [BETA, flag("extra_headers", {"x-more": "1"})],
            {"betas": []},
            {"betas": ["theirs"], "extra_headers": {"x-more": "1"}},
        ),
        ([flag("include", ["a"])], {"include": ["b", "a"]}, {"include": ["a", "b"]}),
        ([flag("a.b", 1)], {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}),
        (
            [flag("keep", True, extra_body=True)],
            {"extra_body": {"x": 1}},
            {"extra_body": {"keep": True, "x": 1}},
        ),
        ([flag("think", 1, unless=("a.b",))], {"a": {"b": 0}}, {"a": {"b": 0}}),
        ([flag("think", 1, unless=("a.b",))], {"a": {"c": 0}}, {"think": 1, "a": {"c": 0}}),
        ([flag("think", 1, at_least={"room": 5})], {"room": 4}, {"room": 4}),
        ([flag("think", 1, at_least={"room": 5})], {"room": 5}, {"think": 1, "room": 5}),
    ],
)
@pytest.mark.parametrize("applied", [False, True])
def test_own_fields_and_recommended_ones(
    flags: list[EchoFlag], own: Json, merged: Json, applied: bool
) -> None:
    body: Json = {"messages": []}
    kept = joined_flags(flags)
    if applied:
        write_flags(body, kept)
    assert ProviderRequest(body, kept).merged(own) == {"messages": [], **merged}


def test_the_conversation_is_replaced_but_tools_are_joined() -> None:
    request = build_request(API, [{"id": "1", "role": "user", "content": "Hi"}], model="any", tools=[TOOL])
    search = {"type": "web_search_20260209", "name": "web_search"}
    made = request.merged({"messages": [], "tools": [search]})
    assert (made["messages"], made["tools"]) == ([], [TOOL, search])


def test_what_a_second_request_leaves_out_wins_over_own_fields() -> None:
    request = build_request(API, [], model="claude-sonnet-4-6").override(
        flag("thinking", {"type": "disabled"})
    )
    assert request.merged({"thinking": {"type": "adaptive"}})["thinking"] == {"type": "disabled"}


def test_nothing_of_the_request_is_changed() -> None:
    request = build_request(API, [], model="claude-opus-5-5", apply_flags=True)
    before = json.dumps(request.body)
    request.merged({"thinking": {"display": "omitted"}, "extra_headers": {"anthropic-beta": "x"}})
    assert json.dumps(request.body) == before
