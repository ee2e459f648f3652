"""``origin=`` names what ``api=``, ``provider=`` and ``model=`` name, wherever they are taken."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from typing import Any, Unpack

import anyio
import pytest
from ag_ui.core import Event

import agui_reasoning
from agui_reasoning import (
    ConfigurationError,
    Emitter,
    ModelStream,
    Run,
    RunOptions,
    aio,
    build_request,
    run_agent,
    stream_run,
)
from agui_reasoning.deltas import ReasoningDelta
from agui_reasoning.parts import Origin
from agui_reasoning.providers import decode_response, decoder
from agui_reasoning.testing import assert_round_trip

CLAUDE = Origin("anthropic", "anthropic-messages", "claude-opus-4-5")
NAMED: dict[str, Any] = {"api": CLAUDE.api, "provider": CLAUDE.provider, "model": CLAUDE.model}
INPUT: dict[str, Any] = {
    "threadId": "t",
    "runId": "r",
    "state": {},
    "tools": [],
    "context": [],
    "forwardedProps": {},
    "messages": [{"id": "u", "role": "user", "content": "Hello?"}],
}
ANSWER: list[dict[str, Any]] = [
    {
        "type": "message_start",
        "message": {"id": "msg_1", "type": "message", "role": "assistant", "usage": {}},
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "Yes."}},
    {"type": "content_block_stop", "index": 1},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}},
    {"type": "message_stop"},
]


def numbered() -> Callable[[], str]:
    return map(str, range(1000)).__iter__().__next__


def fixed(**named: Any) -> dict[str, Any]:
    return {"new_id": numbered(), "now_ms": lambda: 0, **named}


def of_agent(**named: Any) -> Any:
    return list(run_agent(INPUT, lambda run: iter([ModelStream(ANSWER)]), **fixed(**named)))


def of_stream_run(**named: Any) -> Any:
    return list(stream_run(INPUT, ANSWER, **fixed(**named)))


def of_model_stream(**named: Any) -> Any:
    stream = ModelStream(ANSWER, **named)
    return list(run_agent(INPUT, lambda run: iter([stream]), **fixed()))


def of_decoder(**named: Any) -> Any:
    read = decoder(**named)
    return [delta for payload in ANSWER for delta in read.receive(payload)]


def of_emitter(**named: Any) -> Any:
    emitter = Emitter(**fixed(**named))
    return [*emitter.receive(ReasoningDelta("Hm.")), *emitter.close()]


def of_run_request(**named: Any) -> Any:
    return Run(INPUT).request(**named)


def of_run(**named: Any) -> Any:
    run = Run(INPUT, **named)
    return run.origin, run.request(), repr(run)


def of_asynchronous_agent(**named: Any) -> Any:
    async def agent(run: Run) -> AsyncIterator[Any]:
        yield ModelStream(ANSWER)

    async def read() -> list[Event]:
        return [event async for event in aio.run_agent(INPUT, agent, **fixed(**named))]

    return anyio.run(read)


def of_build_request(api: str | None = None, **named: Any) -> Any:
    return build_request(api, INPUT["messages"], **named)


def of_decode_response(api: str | None = None, **named: Any) -> Any:
    content = [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, {"type": "text", "text": "Yes."}]
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": content, "usage": {}}
    return decode_response(api, message, **named)


EVENTS = list(stream_run(INPUT, ANSWER, api=CLAUDE.api, provider=CLAUDE.provider, model=CLAUDE.model))


def of_assert_round_trip(**named: Any) -> Any:
    return assert_round_trip(INPUT, EVENTS, **named)


TAKERS = [
    *(
        of_agent,
        of_asynchronous_agent,
        of_stream_run,
        of_model_stream,
        of_decoder,
        of_emitter,
        of_run_request,
        of_run,
    ),
    of_build_request,
    of_decode_response,
    of_assert_round_trip,
]


@pytest.mark.parametrize("taker", TAKERS)
def test_an_origin_is_the_same_as_its_fields(taker: Callable[..., Any]) -> None:
    assert taker(origin=CLAUDE) == taker(**NAMED)


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("taker", TAKERS)
def test_an_origin_beside_one_of_its_fields_is_refused(taker: Callable[..., Any], name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"origin= was given, and also {name}=") as caught:
        taker(origin=CLAUDE, **{name: NAMED[name]})
    assert caught.value.code == "wrong_option"


@pytest.mark.parametrize("taker", TAKERS)
def test_an_origin_of_another_type_is_refused(taker: Callable[..., Any]) -> None:
    with pytest.raises(ConfigurationError, match="origin= is str, not an Origin") as caught:
        taker(origin="anthropic-messages")
    assert caught.value.code == "wrong_option"


@pytest.mark.parametrize(
    "taker",
    [
        of_decoder,
        of_stream_run,
        of_run_request,
        of_build_request,
        of_decode_response,
        of_assert_round_trip,
    ],
)
def test_an_origin_without_an_api_is_refused(taker: Callable[..., Any]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        taker(origin=Origin("anthropic", model="claude-opus-4-5"))
    assert caught.value.code == "no_api"


@pytest.mark.parametrize("name", ["provider", "model"])
def test_a_round_trip_is_asserted_of_a_provider_and_a_model(name: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        of_assert_round_trip(**{given: value for given, value in NAMED.items() if given != name})
    assert caught.value.code == "no_model"
    of_assert_round_trip(**{**NAMED, name: None})


def test_an_asynchronous_run_of_a_stream_needs_an_api_and_closes_its_source() -> None:
    async def source() -> list[Any]:
        return ANSWER

    opened = source()
    with pytest.raises(ConfigurationError, match="No API was named"):
        aio.stream_run(INPUT, opened)
    assert opened.cr_frame is None


def test_what_an_origin_does_not_name_is_that_of_the_run() -> None:
    run = Run(INPUT, origin=CLAUDE)
    assert run.request(origin=Origin(model="claude-opus-5")).target == Origin(
        "anthropic", "anthropic-messages", "claude-opus-5"
    )


def test_the_typed_dicts_name_the_keyword_arguments() -> None:
    """A wrapper passes on what its caller gave, whatever it is."""

    def wrapped(**options: Unpack[RunOptions]) -> Run:
        return Run(INPUT, **options)

    assert wrapped(origin=CLAUDE, visibility="summary").visibility == "summary"
    for options, function in ((RunOptions, Run), (agui_reasoning.RequestOptions, Run.request)):
        taken = inspect.signature(function).parameters.values()
        assert options.__optional_keys__ == {one.name for one in taken if one.kind is one.KEYWORD_ONLY}  # type: ignore[attr-defined]
