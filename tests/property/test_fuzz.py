"""Whatever comes in, only the library's own errors come out; `scripts/fuzz.py` tries a million cases."""

from __future__ import annotations

import json

import pytest

from agui_reasoning import Conversation, RemoteProtocolError, build_request, restore
from tests.internals.envelopes import Envelope, Fragment, ResponsePlace, write_envelope
from tests.support.effort import is_quick
from tests.support.fuzz import TARGETS, kept, run_case, tried
from tests.support.fuzz.cases import CORPUS, quiet
from tests.support.fuzz.inputs import KEYS, ignore

COUNT = 6000
"""How many cases of a decoder are tried; of slower targets fewer. Together they take about a minute."""

MOST_BYTES = 200_000
"""The size of the corpus."""


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_escapes(name: str) -> None:
    target = TARGETS[name]
    count = COUNT // (16 if is_quick() else 1) // target.pace
    with quiet():
        escapes = [run_case(target, number) for number in range(max(8, count))]
    for escape in filter(None, escapes):
        pytest.fail(f"{name} --case {escape.number}: {escape.what}\n{escape.trace}")


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_escapes_from_what_was_kept(name: str) -> None:
    target = TARGETS[name]
    with quiet():
        found = [(number, tried(target, case)) for number, case in enumerate(kept(target), 1)]
    for number, error in found:
        assert error is None, f"line {number} of the corpus: {error!r}"


def test_the_corpus_is_small_and_of_targets_alone() -> None:
    files = {file.stem: file.stat().st_size for file in CORPUS.glob("*")}
    assert files.keys() <= set(TARGETS)
    assert sum(files.values()) < MOST_BYTES


def test_a_member_of_a_patch_whose_name_is_no_string_is_malformed() -> None:
    conversation = Conversation(on_warning=ignore)
    conversation.receive({"type": "RUN_STARTED", "threadId": "t", "runId": "r"})
    delta = [{"op": "add", "path": "/a", "value": 1, 5: "five"}]
    with pytest.raises(RemoteProtocolError, match="/delta/0"):
        conversation.receive({"type": "STATE_DELTA", "delta": delta})


# -- lone surrogates


def test_half_an_emoji_in_the_arguments_of_a_call_does_not_break_the_next_turn() -> None:
    function = {"name": "look", "arguments": '{"at": "\ud83d"}'}
    call = {"id": "c", "type": "function", "function": function}
    messages = [{"id": "a", "role": "assistant", "toolCalls": [call]}]
    body = build_request(
        "anthropic-messages", messages, provider="anthropic", model="m", on_warning=ignore
    ).body
    [used] = [block for block in body["messages"][1]["content"] if block["type"] == "tool_use"]
    assert used["input"] == {"at": "\ufffd"}
    build_request("openai-responses", messages, provider="openai", model="m", on_warning=ignore)


def test_a_value_that_is_half_an_emoji_is_no_value() -> None:
    thought = {"id": "r", "role": "reasoning", "content": "Hm.", "encryptedValue": "\ud800"}
    assert [entry.reason for entry in restore([thought]).report] == ["unknown_value"]
    assert [e.reason for e in restore([thought], keys=KEYS, thread_id="t").report] == ["unauthenticated"]


@pytest.mark.parametrize("data", ["é", "\ud800", "%", "AAAA", "/w=="])
def test_a_slice_that_cannot_be_read_is_missing(data: str) -> None:
    fragment = Fragment(seq=0, index=0, count=1, data=data)
    value = write_envelope(Envelope(response=ResponsePlace(id="one"), fragments=(fragment,)))
    thought = {"id": "r", "role": "reasoning", "content": "Hm.", "encryptedValue": value}
    assert [entry.reason for entry in restore([thought]).report] == ["part_missing"]


@pytest.mark.parametrize("field", ["id", "role", "toolCallId", "subagentRunId"])
@pytest.mark.parametrize("value", [[], {}, 1, True])
def test_an_id_that_is_no_string_is_bad_input(field: str, value: object) -> None:
    with pytest.raises(RemoteProtocolError, match=field) as caught:
        restore([{"id": "a", "role": "assistant", "content": "So.", field: value}])
    assert caught.value.code == "bad_input"


@pytest.mark.parametrize("name", [5, [], {}, True])
def test_a_function_whose_name_is_no_string_is_bad_input(name: object) -> None:
    call = {"id": "c", "type": "function", "function": {"name": name, "arguments": "{}"}}
    with pytest.raises(RemoteProtocolError, match="toolCalls/function/name") as caught:
        restore([{"id": "a", "role": "assistant", "toolCalls": [call]}])
    assert caught.value.code == "bad_input"


@pytest.mark.parametrize("name", [5, ["anthropic"], {"anthropic": 1}, None])
def test_a_value_of_another_framework_without_a_provider_is_no_value(name: object) -> None:
    value = json.dumps({"provider_name": name, "signature": "c2ln"})
    thought = {"id": "r", "role": "reasoning", "content": "Hm.", "encryptedValue": value}
    for provider in (None, "anthropic"):
        history = restore([thought], assume_provider=provider)
        assert [entry.reason for entry in history.report] == ["unknown_value"]
