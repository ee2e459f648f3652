"""Test how large an input may be."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import RunAgentInput

import agui_reasoning
from agui_reasoning import ConfigurationError, Limits, RemoteProtocolError, Run, aio, build_request, restore
from tests.internals.envelopes import Envelope, ResponsePlace, Span, TextRecord, UnitRecord, write_envelope

_ROW = re.compile(r"^\| `(messages|calls|bytes|envelopes|spans|nesting)` \| [^|]+ \| ([\d,]+)", re.MULTILINE)
NAMES = ("messages", "calls", "bytes", "envelopes", "spans", "nesting")


def test_the_fields_are_those_of_the_contract_and_leave_room_for_long_histories() -> None:
    assert tuple(field.name for field in fields(Limits)) == NAMES
    assert Limits().messages >= 10_000
    assert Limits().calls >= 10_000


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [0, -1, 1.5, "9", None, True])
def test_a_limit_that_is_no_whole_number_is_refused_when_it_is_made(name: str, value: object) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Limits(**{name: value})  # type: ignore[arg-type]
    assert (caught.value.code, name in str(caught.value)) == ("bad_limit", True)


@pytest.mark.parametrize("name", NAMES)
def test_the_error_says_what_came_what_is_allowed_and_what_to_raise(name: str) -> None:
    limits = Limits(**{name: 7})
    limits.check(name, 7)  # type: ignore[arg-type]
    with pytest.raises(RemoteProtocolError) as caught:
        limits.check(name, 9)  # type: ignore[arg-type]
    assert caught.value.code == "too_large"
    assert all(said in str(caught.value) for said in ("9 ", "7 are allowed", f"Limits({name}="))


def test_the_bytes_of_documents_add_up() -> None:
    limits = Limits(bytes=12)
    counted = limits.check_json({"a": "é"})  # the object, two strings, one byte and two
    assert counted == 6
    assert limits.check_json({"a": "é"}, ["four"]) == 12
    with pytest.raises(RemoteProtocolError, match="at least 13 bytes"):
        limits.check_json({"a": "é"}, ["four!"])


def test_names_count_each_time() -> None:
    assert Limits().check_json([{"é": 1}, {"é": 2, "a": [{}]}]) == 1 + (1 + 3 + 1) + (1 + 3 + 1 + 2 + 2)


def test_half_a_character_has_a_size_too() -> None:
    assert Limits().check_json("\ud83d") == 4


def test_nesting_is_counted_without_recursion() -> None:
    document: list[object] = ["leaf"]
    for _ in range(100_000):
        document = [document]
    with pytest.raises(RemoteProtocolError, match="nesting"):
        Limits().check_json(document)
    assert Limits(nesting=2).check_json([["leaf"]]) == 7


# -- who takes them

USER = {"id": "u", "role": "user", "content": "Hello."}
CALL = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}


def thought(number: int) -> dict[str, Any]:
    spans = (Span(message="a", start=0, length=0),) * 2
    unit = UnitRecord(seq=0, spans=spans, part=TextRecord())
    envelope = Envelope(response=ResponsePlace(id=f"{number}"), units=(unit,))
    return {
        "id": f"r{number}",
        "role": "reasoning",
        "content": "",
        "encryptedValue": write_envelope(envelope),
    }


BEYOND = {
    "messages": [{**USER, "id": f"u{n}"} for n in range(3)],
    "calls": [{"id": "a", "role": "assistant", "toolCalls": [{**CALL, "id": f"c{n}"} for n in range(3)]}],
    "bytes": [{**USER, "content": "x" * 100}],
    "envelopes": [thought(0), thought(1)],
    "spans": [thought(0), thought(1)],
    "nesting": [{**USER, "metadata": {"a": [[[1]]]}}],
}
SMALL = {"messages": 2, "calls": 2, "bytes": 100, "envelopes": 1, "spans": 3, "nesting": 3}


def run_input(messages: list[dict[str, Any]]) -> dict[str, Any]:
    rest: dict[str, Any] = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
    return {"threadId": "t", "runId": "r", "messages": messages, **rest}


@pytest.mark.parametrize("name", NAMES)
def test_a_history_beyond_a_limit_is_refused_with_the_name_of_the_limit(name: str) -> None:
    limits = Limits(**{name: SMALL[name]})
    given = run_input(BEYOND[name])
    takers = (
        lambda: restore(given, limits=limits),
        lambda: restore(BEYOND[name], limits=limits),
        lambda: build_request("openai-chat", given, provider="openai", model="gpt", limits=limits),
        lambda: Run(given, limits=limits).history,
        lambda: Run(RunAgentInput.model_validate(given), limits=limits).history,
    )
    for take in takers:
        with pytest.raises(RemoteProtocolError, match=f"Limits\\({name}=") as caught:
            take()
        assert caught.value.code == "too_large"
    restore(given)  # the defaults have room for it


@pytest.mark.parametrize("name", ["messages", "calls", "bytes", "nesting"])
def test_a_run_beyond_a_limit_is_refused_before_it_begins(name: str) -> None:
    limits = Limits(**{name: SMALL[name]})
    given = run_input(BEYOND[name])
    for make in (
        lambda: Run(given, limits=limits),
        lambda: agui_reasoning.run_agent(given, lambda run: iter(()), limits=limits),
        lambda: agui_reasoning.stream_run(given, [], api="openai-chat", limits=limits),
        lambda: aio.stream_run(given, [], api="openai-chat", limits=limits),
        lambda: aio.run_agent(given, no_agent, limits=limits),
    ):
        with pytest.raises(RemoteProtocolError) as caught:
            make()
        assert caught.value.code == "too_large"


def test_a_subagent_has_the_limits_of_its_run() -> None:
    run = Run(
        run_input([{**message, "subagentRunId": "s"} for message in BEYOND["spans"]]), limits=Limits(spans=3)
    )
    assert run.history.items == ()
    with pytest.raises(RemoteProtocolError, match="spans"):
        _ = run.subagent("helper", id="s").history


async def no_agent(run: Run) -> AsyncIterator[Any]:
    return
    yield


def test_the_defaults_are_those_of_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
    told = {name: int(number.replace(",", "")) for name, number in _ROW.findall(page)}
    told["bytes"] *= 1024 * 1024
    assert told == {field.name: field.default for field in fields(Limits)}


@pytest.mark.parametrize("kind", [dict, RunAgentInput.model_validate], ids=["JSON", "model"])
@pytest.mark.parametrize("member", ["state", "forwardedProps", "tools", "resume"])
def test_all_of_an_input_has_a_depth_that_can_be_written(member: str, kind: Any) -> None:
    deep: Any = "x"
    for _ in range(300):
        deep = [deep]
    given = {
        "state": deep,
        "forwardedProps": deep,
        "tools": [{"name": "look", "description": "Look.", "parameters": {"type": deep}}],
        "resume": [{"interruptId": "i", "status": "resolved", "payload": deep}],
    }
    run_input = {"threadId": "t", "runId": "r", "messages": [], "tools": [], "context": [], "state": {}}
    with pytest.raises(RemoteProtocolError, match="nesting") as caught:
        Run(kind({**run_input, "forwardedProps": {}, member: given[member]}))
    assert caught.value.code == "too_large"
