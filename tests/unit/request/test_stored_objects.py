"""Server tools that name objects stored at the provider: whole with keys, left out whole without."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agui_reasoning import Conversation, Run, restore
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import (
    Delta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
)
from agui_reasoning.parts import Opaque, Origin, ToolCallPart, ToolResultPart
from agui_reasoning.providers.stored_objects import is_public_address, stored_objects
from tests.recordings.test_recordings import ALL, decode
from tests.support.recordings import load
from tests.support.validators import check_anthropic, check_responses

KEYS = KeyRing({"k": bytes(32)})
GPT = Origin("openai", "openai-responses", "gpt-5.6")
CLAUDE = Origin("anthropic", "anthropic-messages", "claude-sonnet-4-6")
CONTAINER = {
    "type": "code_interpreter_call",
    "id": "ci_1",
    "status": "completed",
    "code": "print(4)",
    "container_id": "cntr_1",
    "outputs": [{"type": "logs", "logs": "4"}],
}
OUTPUT_FILE = {
    "type": "bash_code_execution_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": {
        "type": "bash_code_execution_result",
        "stdout": "4",
        "stderr": "",
        "return_code": 0,
        "content": [{"type": "bash_code_execution_output", "file_id": "file_1"}],
    },
}
WITH_CONTAINER: list[Any] = [
    ResponseStart(GPT, id="resp_1"),
    ReasoningDelta("Compute it.", channel="summary", item_id="rs_1", key="rs_1"),
    OpaqueDelta(Opaque("openai.encrypted_content", "gAAAA"), key="rs_1"),
    ToolCallDelta("ci_1", "code_interpreter", '{"code":"print(4)"}', server=True),
    ToolResultDelta("ci_1", "4", native=CONTAINER),
    ReasoningDelta("It is 4.", channel="summary", item_id="rs_2", key="rs_2"),
    OpaqueDelta(Opaque("openai.encrypted_content", "gBBBB"), key="rs_2"),
    TextDelta("Four.", ext={"id": "msg_1"}),
]
WITH_FILE: list[Any] = [
    ResponseStart(CLAUDE, id="msg_1"),
    ReasoningDelta("Compute it."),
    OpaqueDelta(Opaque("anthropic.signature", "U0lHTkVE")),
    ToolCallDelta("srvtoolu_1", "bash_code_execution", '{"command":"echo 4"}', server=True),
    ToolResultDelta("srvtoolu_1", "4", native=OUTPUT_FILE),
    TextDelta("Four."),
]
OWN = {"container": (GPT, WITH_CONTAINER, "cntr_1"), "file": (CLAUDE, WITH_FILE, "file_1")}


def converse(origin: Origin, deltas: list[Delta], **options: Any) -> tuple[Run, list[str]]:
    """A run that follows one that streamed these deltas; and its warnings."""
    target = {"api": origin.api, "provider": origin.provider, "model": origin.model}
    warnings: list[str] = []
    conversation = Conversation("thread", on_warning=warnings.append)
    run = Run(conversation.run_input("What is 2 + 2?"), **target, **options, on_warning=warnings.append)
    for event in [*run.start(), *(e for delta in deltas for e in run.receive(delta)), *run.finish()]:
        conversation.receive(event)
    for call in conversation.pending_calls:
        conversation.add_tool_result(call.id, "4")
    del warnings[:]
    return Run(
        conversation.run_input("And 3 + 3?"), **target, **options, on_warning=warnings.append
    ), warnings


def check(api: str | None, body: dict[str, Any]) -> list[str]:
    return check_anthropic(body) if api == "anthropic-messages" else check_responses(body)


@pytest.mark.parametrize("case", OWN)
@pytest.mark.parametrize("allowed", [None, False])
def test_without_keys_a_pair_that_names_an_object_is_left_out_whole(case: str, allowed: bool | None) -> None:
    origin, deltas, name = OWN[case]
    run, warnings = converse(origin, deltas, allow_file_ids=allowed)
    request = run.request()
    assert name not in json.dumps(request.body)
    assert not {"ci_1", "srvtoolu_1"} & set(ids(request.body))
    assert check(origin.api, request.body) == []
    assert "Four." in json.dumps(request.body)
    [entry] = [entry for entry in request.report if entry.reason == "stored_object"]
    assert (entry.unit, entry.outcome, entry.answer) == (ids_of_call(deltas), "dropped", 1)
    [hint] = [warning for warning in warnings if "stored at the provider" in warning]
    assert all(remedy in hint for remedy in ("keys=", "accept_plain=True", "allow_file_ids=True"))


@pytest.mark.parametrize("case", OWN)
@pytest.mark.parametrize(
    "options", [{"keys": KEYS}, {"keys": KEYS, "allow_file_ids": False}, {"allow_file_ids": True}]
)
def test_with_keys_or_where_it_is_allowed_the_pair_is_sent(case: str, options: dict[str, Any]) -> None:
    origin, deltas, _ = OWN[case]
    run, warnings = converse(origin, deltas, **options)
    request = run.request()
    [native] = [delta.native for delta in deltas if isinstance(delta, ToolResultDelta)]
    items = request.body.get("input") or request.body["messages"][1]["content"]
    assert native in items
    assert check(origin.api, request.body) == []
    assert warnings == []


def test_plain_values_beside_keys_are_checked_like_those_without() -> None:
    origin, deltas, name = OWN["container"]
    run, _ = converse(origin, deltas)
    messages = run.input.messages
    for options, sent in (({}, False), ({"allow_file_ids": True}, True)):
        history = restore(messages, keys=KEYS, thread_id="thread", accept_plain=True, **options)
        natives = [
            part.native for turn in history.turns for part in turn.parts if isinstance(part, ToolResultPart)
        ]
        assert (name in json.dumps(natives)) == sent


def test_a_pair_that_is_left_out_stays_visible_as_a_call_that_is_not_sent() -> None:
    run, _ = converse(GPT, WITH_CONTAINER)
    [turn] = run.history.turns
    [call] = [part for part in turn.parts if isinstance(part, ToolCallPart)]
    assert (call.id, call.name, call.server, call.status) == ("ci_1", "code_interpreter", True, "incomplete")


def ids(value: Any) -> list[str]:
    """Every ID in a body."""
    if isinstance(value, list):
        return [one for inner in value for one in ids(inner)]
    if not isinstance(value, dict):
        return []
    own = [value[name] for name in ("id", "call_id", "tool_use_id") if isinstance(value.get(name), str)]
    return own + [one for inner in value.values() for one in ids(inner)]


def ids_of_call(deltas: list[Delta]) -> str:
    [call] = [delta.id for delta in deltas if isinstance(delta, ToolCallDelta)]
    return call


# -- recordings


def names_objects(file: Path | None) -> bool:
    text = "" if file is None else file.read_text(encoding="utf-8")
    return '"container_id' in text or '"file_id": "' in text or '"file_id":"' in text


NAMING = [param for param in ALL if param.values[0] == "openai-responses" and names_objects(param.values[1])]
if not NAMING:
    NAMING = [
        pytest.param("", None, marks=pytest.mark.skip(reason="no recording names a stored object here"))
    ]


@pytest.mark.parametrize("keys", [None, KEYS], ids=["plain", "keys"])
@pytest.mark.parametrize(("api", "file"), NAMING)
def test_recorded_pairs_come_back_with_keys_only(api: str, file: Path, keys: KeyRing | None) -> None:
    recording = load(file)
    deltas = list(decode(recording))
    origin = Origin(recording["provider"], api, recording["model"])
    run, _ = converse(origin, deltas, keys=keys, allow_file_ids=False)
    request = run.request()
    assert check_responses(request.body, strict=recording["provider"] in ("openai", "azure")) == []
    received = set(stored_objects([getattr(delta, "native", None) for delta in deltas]))
    sent = set(stored_objects(request.body["input"]))
    if keys is None:
        assert sent == set()
        dropped = {entry.unit for entry in request.report if entry.reason == "stored_object"}
        assert not dropped & set(ids(request.body))
    else:
        assert received <= sent


# -- addresses


@pytest.mark.parametrize(
    "address",
    [
        *(
            "https://example.com/cat.png",
            "HTTP://EXAMPLE.COM",
            "data:image/png;base64,eA==",
            "http://[::1]/x",
        ),
        *("https://storage.googleapis.com/public/cat.png", "https://www.youtube.com/watch?v=1"),
        "https://example.com/generativelanguage.googleapis.com/files/1",
    ],
)
def test_data_and_the_public_web_are_no_stored_objects(address: str) -> None:
    assert is_public_address(address)


@pytest.mark.parametrize(
    "address",
    [
        *(
            "gs://bucket/x",
            "GS://bucket/x",
            " gs://bucket/x",
            "g\ts://bucket/x",
            "s3://bucket/x",
            "files/abc",
            "file-1",
        ),
        *(
            "https://generativelanguage.googleapis.com/v1beta/files/1",
            "https:generativelanguage.googleapis.com",
        ),
        *("https://user@GenerativeLanguage.googleapis.com.:443/v1beta/%66iles/1", "https://x\\@example.com"),
        *(
            "https://generativelanguage\u3002googleapis\uff0ecom/files/1",
            "https://",
            "",
            "blob:https://example.com",
        ),
        "https://europe-west1-aiplatform.googleapis.com/x",
    ],
)
def test_other_addresses_are_stored_objects(address: str) -> None:
    assert not is_public_address(address)
