"""Whatever comes in, only the library's own errors come out; `scripts/fuzz.py` tries a million cases."""

from __future__ import annotations

import json

import pytest

from agui_reasoning import Conversation, RemoteProtocolError, build_request, restore
from tests.internals.envelopes import Envelope, Fragment, ResponsePlace, write_envelope
from tests.support.effort import examples, mostly_slow
from tests.support.fuzz import KEYS, ignore, run_case
from tests.support.recordings import FOLDER

BLOCK = 2000
BLOCKS = 15


@pytest.mark.parametrize("block", mostly_slow(map(str, range(BLOCKS)), quick=("0", "1")))
def test_nothing_escapes(block: str) -> None:
    recordings = FOLDER if FOLDER.is_dir() else None
    first = int(block) * BLOCK
    for number in range(first, first + examples(BLOCK)):
        escape = run_case(number, recordings=recordings)
        assert escape is None, f"case {number} ({escape.kind}: {escape.what})\n{escape.trace}"


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
