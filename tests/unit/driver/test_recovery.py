"""Test that a provider that refuses reasoning is asked once more, without it, and never a third time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import anyio
import openai
import pytest

from agui_reasoning import (
    ConfigurationError,
    Conversation,
    ModelStream,
    ProviderError,
    ProviderRequest,
    Run,
    aio,
    run_agent,
)
from agui_reasoning.audit import AuditRecord
from agui_reasoning.gateway import local_server
from agui_reasoning.parts import Origin
from agui_reasoning.policy import EchoRule
from agui_reasoning.replay import load_script
from agui_reasoning.request import build_request, restore
from tests.support.verifier import Client, plain
from tests.unit.gateway.provider import Changing, Reply

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
THINKING: dict[str, Any] = {"thinking": {"type": "adaptive"}}
SECRET = "SECRET words of the provider"
CLAUDE = Origin("anthropic", "anthropic-messages", "claude-sonnet-4-6")
GPT = Origin("openai", "openai-responses", "gpt-5.6-sol")
DEEPSEEK = Origin("deepseek", "openai-chat", "deepseek-v4-flash")
SCRIPTS = {CLAUDE: "anthropic-weather", GPT: "openai-weather", DEEPSEEK: "chat-weather"}
SIGNATURE = f"messages.1.content.0: Invalid `signature` in `thinking` block {SECRET}"
MISSING = f"Expected `thinking` or `redacted_thinking`, but found `tool_use` {SECRET}"
UNREADABLE = f"The encrypted content for item rs_1 could not be verified. {SECRET}"


def payloads(target: Origin, number: str = "") -> list[Any]:
    return [event["data"] for event in load_script(SCRIPTS[target] + number)["events"]]


def of(target: Origin) -> Json:
    return {"api": target.api, "provider": target.provider, "model": target.model}


def conversation(target: Origin, *, answered: bool = True) -> Conversation:
    """A thread in which the model has thought and called a tool."""
    thread = Conversation("t")
    sent = thread.run_input("Umbrella or raincoat?")
    for event in run_agent(sent, lambda run: iter([ModelStream(payloads(target))]), **of(target)):
        thread.receive(event)
    for call in thread.pending_calls:
        if answered:
            thread.add_tool_result(call.id, "4C, rain")
    return thread


class Model:
    """A provider's SDK: notes the requests, and answers or refuses."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[ProviderRequest] = []

    def __call__(self, request: ProviderRequest) -> Iterator[Any]:
        self.requests.append(request)
        answer = self.answers[len(self.requests) - 1]
        if isinstance(answer, Exception):
            raise answer
        return iter(answer)


def refused(words: str, status: int | None = 400, **more: Any) -> ProviderError:
    return ProviderError(provider_message=words, status_code=status, **more)


class Played:
    """A run of some model streams, synchronous or not, with what its callbacks were told."""

    def __init__(
        self, how: str, target: Origin, *streams: ModelStream, run_input: Any = None, client: Any = None
    ) -> None:
        self.warnings: list[str] = []
        self.records: list[AuditRecord] = []
        self.errors: list[BaseException] = []
        given = run_input or conversation(target).run_input()
        run = Run(given, **of(target), on_warning=self.warnings.append, on_audit=self.records.append)

        async def agent(run: Run) -> Any:
            try:
                for stream in streams:
                    yield stream
            finally:
                if client is not None:
                    await client.close()

        async def collect() -> list[Any]:
            return [event async for event in aio.run_agent(run, agent, on_error=self.errors.append)]

        if how == "sync":
            events = list(run_agent(run, lambda run: iter(streams), on_error=self.errors.append))
            if client is not None:
                client.close()
        else:
            events = anyio.run(collect, backend=how)
        self.events = plain(events)
        self.last = self.events[-1]
        Client().feed(self.events).done()

    @property
    def refusals(self) -> list[tuple[str, str, str | None]]:
        found = [record for record in self.records if record.action == "refused"]
        return [(record.outcome, record.reason, record.api) for record in found]


hows = pytest.mark.parametrize("how", ["sync", "asyncio", "trio"])


def opaque_values(value: Any) -> list[str]:
    """The signatures and encrypted contents in a body."""
    if isinstance(value, list):
        return [found for inner in value for found in opaque_values(inner)]
    if not isinstance(value, dict):
        return []
    named = [value[name] for name in ("signature", "encrypted_content", "data") if value.get(name)]
    return named + [found for inner in value.values() for found in opaque_values(inner)]


@hows
def test_a_poisoned_request_is_sent_once_more_without_the_values(how: str) -> None:
    model = Model(refused(UNREADABLE, provider_code="invalid_encrypted_content"), payloads(GPT, "-2"))
    played = Played(how, GPT, ModelStream(model, store=False))
    first, second = (request.body for request in model.requests)
    assert opaque_values(first)
    assert opaque_values(second) == []
    assert second["store"] is False
    assert played.last["type"] == "RUN_FINISHED"
    assert played.refusals == [("asked_again", "encrypted_content_unreadable", "openai-responses")]
    assert [warning.partition(":")[0] for warning in played.warnings] == [
        "The provider refused the request (encrypted_content_unreadable)"
    ]
    assert SECRET not in str(played.warnings) + str(played.records)


@hows
def test_thinking_is_turned_off_as_well_if_the_model_waits_for_results(how: str) -> None:
    model = Model(refused(SIGNATURE), payloads(CLAUDE, "-2"))
    played = Played(how, CLAUDE, ModelStream(model))
    first, second = (request.body for request in model.requests)
    assert opaque_values(first)
    assert opaque_values(second) == []
    assert "thinking" not in first
    assert second["thinking"] == {"type": "disabled"}
    assert [flag.name for flag in model.requests[1].overrides] == ["thinking"]
    assert played.last["type"] == "RUN_FINISHED"


def test_thinking_stays_on_if_the_model_waits_for_the_user() -> None:
    thread = conversation(CLAUDE)
    model = Model(refused(SIGNATURE), payloads(CLAUDE, "-2"))
    Played("sync", CLAUDE, ModelStream(model), run_input=thread.run_input("And tomorrow?"))
    assert opaque_values(model.requests[0].body)
    assert opaque_values(model.requests[1].body) == []
    assert "thinking" not in model.requests[1].body


def test_thinking_is_turned_off_if_that_is_the_remedy() -> None:
    model = Model(refused(MISSING), payloads(CLAUDE, "-2"))
    played = Played("sync", CLAUDE, ModelStream(model, apply_flags=True))
    assert model.requests[1].body["thinking"] == {"type": "disabled"}
    assert opaque_values(model.requests[1].body) == opaque_values(model.requests[0].body)
    assert played.refusals == [("asked_again", "thinking_missing", "anthropic-messages")]


def test_a_field_that_the_sdk_does_not_know_goes_into_extra_body() -> None:
    model = Model(refused("Thinking mode does not support this tool_choice"), payloads(DEEPSEEK, "-2"))
    Played("sync", DEEPSEEK, ModelStream(model))
    assert model.requests[1].body["extra_body"] == {"thinking": {"type": "disabled"}}


@hows
def test_a_second_refusal_ends_the_run_and_says_why(how: str, caplog: pytest.LogCaptureFixture) -> None:
    model = Model(refused(SIGNATURE), refused(SIGNATURE), payloads(CLAUDE, "-2"))
    played = Played(how, CLAUDE, ModelStream(model))
    assert len(model.requests) == 2
    assert played.last["type"] == "RUN_ERROR"
    assert played.last["code"] == "reasoning_refused"
    assert played.last["message"] == (
        "The model's provider refused the request. The provider cannot verify the signature of earlier "
        "thinking: another account, provider or model created it, or it was changed."
    )
    assert [outcome for outcome, *_ in played.refusals] == ["asked_again", "failed"]
    assert "code reasoning_refused" in caplog.text


def test_a_refusal_without_a_remedy_ends_the_run_at_once() -> None:
    model = Model(refused("Item 'rs_1' of type 'reasoning' was provided without its required item."))
    fresh: Json = {"threadId": "t", "runId": "r", "messages": [{"id": "u", "role": "user", "content": "Hi"}]}
    played = Played("sync", GPT, ModelStream(model), run_input=fresh)
    assert len(model.requests) == 1
    assert played.last["code"] == "reasoning_refused"
    assert played.refusals == [("failed", "items_unpaired", "openai-responses")]


@hows
@pytest.mark.parametrize(
    "error",
    [refused("overloaded", 529), refused(SIGNATURE, 500), refused("Unknown error"), KeyError("signature")],
    ids=["overloaded", "status", "words", "no provider"],
)
def test_other_errors_are_not_asked_again(how: str, error: Exception) -> None:
    model = Model(error, payloads(CLAUDE, "-2"))
    played = Played(how, CLAUDE, ModelStream(model))
    assert len(model.requests) == 1
    assert played.last["type"] == "RUN_ERROR"
    assert played.refusals == []
    assert played.warnings == []


@hows
def test_an_error_event_as_the_first_payload_is_a_refusal(how: str) -> None:
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": SIGNATURE}}
    model = Model([error], payloads(CLAUDE, "-2"))
    played = Played(how, CLAUDE, ModelStream(model))
    assert len(model.requests) == 2
    assert played.last["type"] == "RUN_FINISHED"


@hows
def test_nothing_is_asked_again_after_the_first_payload(how: str) -> None:
    answer = payloads(CLAUDE, "-2")
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": SIGNATURE}}
    for number in range(1, len(answer)):
        model = Model([*answer[:number], error], answer)
        played = Played(how, CLAUDE, ModelStream(model))
        assert len(model.requests) == 1
        assert played.last["code"] == "reasoning_refused"


def test_the_next_step_of_the_run_leaves_out_the_same() -> None:
    model = Model(refused(SIGNATURE), payloads(CLAUDE, "-2"), payloads(CLAUDE, "-2"))
    Played("sync", CLAUDE, ModelStream(model), ModelStream(model))
    assert len(model.requests) == 3
    second, third = model.requests[1:]
    given = {entry["signature"] for entry in payloads_with_signature()}
    assert given.isdisjoint(opaque_values(third.body))
    assert third.body["thinking"] == second.body["thinking"] == {"type": "disabled"}


def payloads_with_signature() -> list[Json]:
    return [
        payload["delta"]
        for payload in payloads(CLAUDE)
        if payload.get("type") == "content_block_delta" and payload["delta"]["type"] == "signature_delta"
    ]


async def test_an_asynchronous_function_is_called_in_the_event_loop() -> None:
    asked: list[ProviderRequest] = []

    async def ask(request: ProviderRequest) -> Any:
        await anyio.lowlevel.checkpoint()
        asked.append(request)
        if len(asked) == 1:
            raise refused(SIGNATURE)
        return iter(payloads(CLAUDE, "-2"))

    async def agent(run: Run) -> Any:
        yield ModelStream(ask)

    run_input = conversation(CLAUDE).run_input()
    events = [e async for e in aio.run_agent(run_input, agent, on_warning=lambda text: None, **of(CLAUDE))]
    assert plain(events)[-1]["type"] == "RUN_FINISHED"
    assert len(asked) == 2


async def test_an_abort_at_every_step_leaves_no_third_request() -> None:
    """A reader that leaves after any number of events, and a task that is cancelled in either request."""
    run_input = conversation(CLAUDE).run_input()
    total = None
    for stop in range(100):
        model, read = Model(refused(SIGNATURE), payloads(CLAUDE, "-2"), []), 0
        events = aio.run_agent(run_input, once(model), on_warning=lambda text: None, **of(CLAUDE))
        async for _ in events:
            read += 1
            if read > stop:
                break
        else:
            total = read
        await events.aclose()
        assert len(model.requests) == (0 if stop == 0 else 2)
        if total is not None:
            break
    assert total is not None


def once(source: Any) -> Callable[[Run], Any]:
    async def agent(run: Run) -> Any:
        yield ModelStream(source)

    return agent


@pytest.mark.parametrize("number", [1, 2])
async def test_cancellation_in_a_request_ends_the_run_without_another(number: int) -> None:
    asked: list[ProviderRequest] = []
    with anyio.CancelScope() as scope:

        async def ask(request: ProviderRequest) -> Any:
            asked.append(request)
            if len(asked) == number:
                scope.cancel()
            await anyio.lowlevel.checkpoint()
            raise refused(SIGNATURE)

        run_input = conversation(CLAUDE).run_input()
        async for _ in aio.run_agent(run_input, once(ask), on_warning=lambda text: None, **of(CLAUDE)):
            pass
    assert scope.cancelled_caught
    assert len(asked) == number


# -- what counts as a function of the request


def test_callables_without_a_required_argument_stay_what_they_are() -> None:
    for source in (
        lambda: iter(payloads(CLAUDE, "-2")),
        lambda request=None: iter(payloads(CLAUDE, "-2")),
        lambda *requests: iter(payloads(CLAUDE, "-2")),
    ):
        assert Played("sync", CLAUDE, ModelStream(source)).last["type"] == "RUN_FINISHED"


def test_fields_of_the_request_need_a_function_of_it() -> None:
    with pytest.raises(ConfigurationError) as caught:
        ModelStream(lambda: iter(()), system="Be brief.", store=False)
    assert caught.value.code == "wrong_option"
    assert "system, store" in str(caught.value)


def test_the_request_is_built_as_the_fields_say() -> None:
    tool = {"name": "search", "description": "", "input_schema": {"type": "object"}}
    model = Model(payloads(CLAUDE, "-2"))
    run_input = conversation(CLAUDE).run_input("And tomorrow?")
    Played(
        "sync",
        CLAUDE,
        ModelStream(model, system="Be brief.", tools=[tool], keep_turns=0),
        run_input=run_input,
    )
    (request,) = model.requests
    expected = build_request(
        "anthropic-messages",
        restore(run_input).trim(keep_turns=0),
        provider="anthropic",
        model=CLAUDE.model,
        system="Be brief.",
        tools=[tool],
    )
    assert request == expected


def test_the_request_follows_the_policy_of_the_stream() -> None:
    rule = EchoRule(api="openai-chat", status="rejected")
    model = Model(payloads(DEEPSEEK, "-2"))
    run_input = conversation(DEEPSEEK).run_input("And tomorrow?")
    stream = ModelStream(model, policy=[rule], foreign_reasoning="context")
    Played("sync", DEEPSEEK, stream, run_input=run_input)
    expected = build_request(
        None, restore(run_input), origin=DEEPSEEK, policy=[rule], foreign_reasoning="context"
    )
    assert model.requests == [expected]
    assert expected != build_request(None, restore(run_input), origin=DEEPSEEK)


@hows
def test_a_source_that_takes_the_request_may_have_options_of_the_decoder(how: str) -> None:
    answer = [{"choices": [{"index": 0, "delta": {"content": "<x>Hm.</x>Hi."}, "finish_reason": "stop"}]}]
    played = Played(how, DEEPSEEK, ModelStream(Model(answer), tags={"<x>": "</x>"}))
    told = [event["delta"] for event in played.events if "delta" in event]
    assert (told, played.last["type"]) == (["Hm.", "Hi."], "RUN_FINISHED")


def test_a_stream_may_name_another_target_than_its_run() -> None:
    model = Model(payloads(GPT, "-2"))
    played = Played("sync", CLAUDE, ModelStream(model, api=GPT.api, provider=GPT.provider, model=GPT.model))
    assert model.requests[0].target == GPT
    assert played.last["type"] == "RUN_FINISHED"


# -- the vendors' SDKs, and a server that counts


@contextmanager
def served(*replies: Reply) -> Iterator[tuple[str, Changing]]:
    provider = Changing(*replies)
    with local_server(provider) as url:
        yield url, provider


def refusing(words: str, status: int = 400, **more: Any) -> Reply:
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": words, **more}}
    return Reply([json.dumps(body).encode()], status, "application/json")


def answering(target: Origin) -> Reply:
    texts = [json.dumps(payload) for payload in payloads(target, "-2")]
    names = [payload.get("type") for payload in payloads(target, "-2")]
    pieces = [f"event: {name}\ndata: {text}\n\n".encode() for name, text in zip(names, texts, strict=True)]
    return Reply(pieces)


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("recovers", [False, True])
def test_the_sdk_of_anthropic_asks_twice_at_most(asynchronous: bool, recovers: bool) -> None:
    last = answering(CLAUDE) if recovers else refusing(SIGNATURE)
    with served(refusing(SIGNATURE), last) as (url, provider):
        options: Json = {"base_url": url, "api_key": "k", "max_retries": 0}
        client: Any = (anthropic.AsyncAnthropic if asynchronous else anthropic.Anthropic)(**options)
        ask = lambda request: client.messages.create(  # noqa: E731
            model=CLAUDE.model,
            max_tokens=2048,
            stream=True,
            **(THINKING | request.body),
        )
        played = Played("asyncio" if asynchronous else "sync", CLAUDE, ModelStream(ask), client=client)
    first, second = (asked.body for asked in provider.asked)
    assert opaque_values(first["messages"])
    assert opaque_values(second["messages"]) == []
    assert (first["thinking"], second["thinking"]) == ({"type": "adaptive"}, {"type": "disabled"})
    assert played.last["type"] == ("RUN_FINISHED" if recovers else "RUN_ERROR")
    assert SECRET not in json.dumps(played.events)


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("recovers", [False, True])
def test_the_sdk_of_openai_asks_twice_at_most(asynchronous: bool, recovers: bool) -> None:
    refusal = refusing(UNREADABLE, code="invalid_encrypted_content")
    with served(refusal, answering(GPT) if recovers else refusal) as (url, provider):
        options: Json = {"base_url": f"{url}/v1", "api_key": "k", "max_retries": 0}
        client: Any = (openai.AsyncOpenAI if asynchronous else openai.OpenAI)(**options)
        ask = lambda request: client.responses.create(model=GPT.model, stream=True, **request.body)  # noqa: E731
        played = Played(
            "asyncio" if asynchronous else "sync", GPT, ModelStream(ask, store=False), client=client
        )
    first, second = (asked.body for asked in provider.asked)
    assert opaque_values(first["input"])
    assert opaque_values(second["input"]) == []
    assert played.last["type"] == ("RUN_FINISHED" if recovers else "RUN_ERROR")


def test_an_error_event_that_an_sdk_raises_is_a_refusal() -> None:
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": SIGNATURE}}
    event = Reply([f"event: error\ndata: {json.dumps(error)}\n\n".encode()])
    with served(event, answering(CLAUDE)) as (url, provider):
        client = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)
        ask = lambda request: client.messages.create(  # noqa: E731
            model=CLAUDE.model, max_tokens=2048, stream=True, **request.body
        )
        played = Played("sync", CLAUDE, ModelStream(ask), client=client)
    assert len(provider.asked) == 2
    assert played.last["type"] == "RUN_FINISHED"
