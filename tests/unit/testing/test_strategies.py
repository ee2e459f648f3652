"""Test that the strategies keep their promises, and that results pass the assertions."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import TypeVar

import pytest
from ag_ui.core import Event, RunAgentInput
from hypothesis import Phase, given, settings
from hypothesis import find as find_smallest
from hypothesis import strategies as st

import agui_reasoning.testing as agui_testing
from agui_reasoning import ConfigurationError, MissingExtraError, restore
from agui_reasoning.deltas import Delta, FinishDelta, ReasoningDelta, ResponseStart, fold
from agui_reasoning.parts import NativePart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart, Turn
from agui_reasoning.providers import API_IDS
from agui_reasoning.testing import assert_round_trip, assert_valid, strategies
from tests.support.effort import examples, mostly_slow

T = TypeVar("T")
NEWER = ("bedrock-converse", "mistral-chat", "cohere-chat", "ollama")

TARGETS = {
    "anthropic-messages": ("anthropic", "claude-sonnet-5"),
    "gemini": ("google", "gemini-3-flash-preview"),
    "gemini-interactions": ("google", "gemini-3-flash-preview"),
    "openai-chat": ("deepseek", "deepseek-v4-pro"),
    "openai-responses": ("openai", "gpt-5.6"),
    "xai-grpc": ("xai", "grok-4"),
    "litellm": ("anthropic", "anthropic/claude-sonnet-5"),
    "bedrock-converse": ("bedrock", "us.anthropic.claude-sonnet-4-6"),
    "mistral-chat": ("mistral", "mistral-small-latest"),
    "cohere-chat": ("cohere", "command-a-reasoning-08-2025"),
    "ollama": ("ollama", "qwen3:4b"),
}


def find(strategy: st.SearchStrategy[T], condition: Callable[[T], bool]) -> T:
    """The first value that fits: making it small takes long."""
    quick = settings(max_examples=5000, phases=[Phase.generate], database=None)
    return find_smallest(strategy, condition, settings=quick)


def test_every_api_with_a_strategy_has_a_decoder() -> None:
    assert set(strategies.API_IDS) <= set(API_IDS)
    assert sorted(TARGETS) == list(strategies.API_IDS)


def test_an_api_without_a_strategy_is_refused_with_those_that_have_one() -> None:
    with pytest.raises(ConfigurationError, match="anthropic-messages") as caught:
        strategies.turns("telepathy")
    assert caught.value.code == "unknown_api"


@pytest.mark.parametrize("api", strategies.API_IDS)
@settings(max_examples=examples(40))
@given(data=st.data())
def test_a_turn_is_what_a_decoder_settles_on(api: str, data: st.DataObject) -> None:
    turn = data.draw(strategies.turns(api))
    assert turn.origin is not None
    assert turn.origin.api == api
    deltas = data.draw(strategies.deltas(api))
    assert isinstance(deltas[0], ResponseStart)
    assert isinstance(deltas[-1], FinishDelta)
    servers = [part.id for part in turn.parts if isinstance(part, ToolCallPart) and part.server]
    assert servers == [part.tool_call_id for part in turn.parts if isinstance(part, ToolResultPart)]


@given(strategies.turns())
def test_the_deltas_of_a_turn_fold_into_its_parts(turn: Turn) -> None:
    assert tuple(fold(strategies.stream(turn))) == turn.parts


@pytest.mark.parametrize(
    ("api", "kinds"),
    [
        ("anthropic-messages", [ReasoningPart, TextPart, ToolCallPart, ToolResultPart]),
        ("openai-chat", [ReasoningPart, TextPart, ToolCallPart]),
        ("openai-responses", [ReasoningPart, TextPart, ToolCallPart, NativePart]),
        ("xai-grpc", [ReasoningPart, TextPart, ToolCallPart, ToolResultPart]),
        ("litellm", [ReasoningPart, TextPart, ToolCallPart]),
        ("gemini-interactions", [ReasoningPart, TextPart, ToolCallPart, ToolResultPart, NativePart]),
        *((api, [ReasoningPart, TextPart, ToolCallPart]) for api in NEWER),
    ],
)
def test_every_kind_of_part_comes_up(api: str, kinds: list[type]) -> None:
    for kind in kinds:
        find(strategies.turns(api), lambda turn, kind=kind: any(isinstance(p, kind) for p in turn.parts))  # type: ignore[misc]


def test_a_provider_that_signs_calls_gets_signed_calls() -> None:
    turn = find(strategies.turns("openai-chat", provider="google"), lambda turn: bool(turn.parts))
    call = next(part for part in turn.parts if isinstance(part, ToolCallPart))
    assert (call.opaque[0].kind, turn.origin.provider if turn.origin else None) == (
        "gemini.openai_compat_signature",
        "google",
    )


@given(strategies.deltas())
def test_any_deltas_fold(deltas: list[Delta]) -> None:
    fold(deltas)


def test_any_deltas_are_nasty_enough_to_split_a_character() -> None:
    find(
        strategies.deltas(),
        lambda deltas: any(isinstance(d, ReasoningDelta) and d.text.endswith("\ud83d") for d in deltas),
    )


@pytest.mark.parametrize("api", mostly_slow(strategies.API_IDS, quick=("anthropic-messages", "openai-chat")))
@settings(max_examples=examples(40))
@given(data=st.data())
def test_a_run_passes_both_assertions(api: str, data: st.DataObject) -> None:
    run_input, events = data.draw(strategies.runs(api))
    assert_valid(events)
    provider, model = TARGETS[api]
    fault = ""
    try:
        assert_round_trip(run_input, events, api=api, provider=provider, model=model)
    except AssertionError as error:
        fault = str(error)
    assert not fault or fault.startswith("Nothing was tested")


@given(strategies.event_streams())
def test_a_stream_is_valid(events: list[Event]) -> None:
    assert_valid(events)


@given(strategies.run_inputs())
def test_an_input_ends_with_the_user_and_can_be_restored(run_input: RunAgentInput) -> None:
    assert run_input.messages[-1].role == "user"
    restore(run_input)


def test_some_input_holds_an_earlier_conversation() -> None:
    find(strategies.run_inputs(), lambda given: len(restore(given).turns) > 2)


SCRIPT = """
import sys
sys.modules["hypothesis"] = None  # as if it were not installed
import agui_reasoning.testing as t
run = {"threadId": "t", "runId": "r"}
t.assert_valid([{"type": "RUN_STARTED", "protocolVersion": "1.0", **run}, {"type": "RUN_FINISHED", **run}])
try:
    t.strategies
except ImportError as error:
    print(type(error).__name__, error)
"""


def test_only_the_strategies_need_hypothesis_and_they_say_how_to_get_it() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("MissingExtraError")
    assert MissingExtraError("", "testing").hint in done.stdout


def test_what_the_module_does_not_have_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'assert_anything'"):
        agui_testing.assert_anything  # noqa: B018
