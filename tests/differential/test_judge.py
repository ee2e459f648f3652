"""Prove that the judge rejects invalid streams."""

import json
from typing import Any

import pytest

from tests.differential.judge import VERSIONS, Judge, Version, split_events
from tests.differential.node import JS_DIR

Event = dict[str, Any]

RUN = {"threadId": "thread-1", "runId": "run-1"}
REASONING: list[Event] = [
    {"type": "REASONING_START", "messageId": "span-1"},
    {"type": "REASONING_MESSAGE_START", "messageId": "r1", "role": "reasoning"},
    {"type": "REASONING_MESSAGE_CONTENT", "messageId": "r1", "delta": "Paris, "},
    {"type": "REASONING_MESSAGE_CONTENT", "messageId": "r1", "delta": "surely."},
    {"type": "REASONING_MESSAGE_END", "messageId": "r1"},
    {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "r1", "encryptedValue": "sealed"},
    {"type": "REASONING_END", "messageId": "span-1"},
]
GOOD: list[Event] = [
    {"type": "RUN_STARTED", **RUN},
    *REASONING,
    {"type": "TEXT_MESSAGE_START", "messageId": "m1", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "Let me look. ☀"},
    {"type": "TEXT_MESSAGE_END", "messageId": "m1"},
    {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "weather", "parentMessageId": "m1"},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": '{"city":'},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": '"Paris"}'},
    {"type": "TOOL_CALL_END", "toolCallId": "c1"},
    {"type": "RUN_FINISHED", **RUN},
]
REASONING_MESSAGE = {"id": "r1", "role": "reasoning", "content": "Paris, surely.", "encryptedValue": "sealed"}
MESSAGES = [
    REASONING_MESSAGE,
    {
        "id": "m1",
        "role": "assistant",
        "content": "Let me look. ☀",
        "toolCalls": [
            {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Paris"}'}}
        ],
    },
]

both_versions = pytest.mark.parametrize("version", VERSIONS)


def sse(events: list[Event]) -> bytes:
    return b"".join(b"data: %s\n\n" % json.dumps(event, ensure_ascii=False).encode() for event in events)


def without(*kinds: str) -> list[Event]:
    return [event for event in GOOD if event["type"] not in kinds]


def with_role(role: str) -> list[Event]:
    return [event | {"role": role} if event["type"] == "REASONING_MESSAGE_START" else event for event in GOOD]


@both_versions
@pytest.mark.parametrize("paced", [False, True])
def test_a_good_stream_is_accepted_and_becomes_messages(judge: Judge, version: Version, paced: bool) -> None:
    verdict = judge.run(sse(GOOD), version=version, paced=paced)

    assert (verdict.accepted, verdict.error, verdict.warnings, verdict.finished) == (True, None, [], True)
    assert verdict.run_error is None
    assert verdict.events == GOOD
    assert verdict.messages == MESSAGES
    assert verdict.state == {}


@both_versions
def test_a_character_cut_in_two_reads_arrives_whole(judge: Judge, version: Version) -> None:
    body = sse(GOOD)
    middle = body.index("☀".encode()) + 1

    verdict = judge.run(body, version=version, chunks=[body[:middle], body[middle:]])

    assert verdict.messages == MESSAGES


@both_versions
def test_the_next_turn_carries_the_reasoning_and_its_encrypted_value(judge: Judge, version: Version) -> None:
    verdict = judge.run(sse(GOOD), version=version, follow_up="And tomorrow?")

    assert verdict.next_error is None
    assert verdict.next_input is not None
    assert verdict.next_input["threadId"] == "thread-1"
    *sent, question = verdict.next_input["messages"]
    assert sent == MESSAGES
    assert (question["role"], question["content"]) == ("user", "And tomorrow?")


@both_versions
def test_the_run_input_reaches_the_server(judge: Judge, version: Version) -> None:
    run_input = {
        "threadId": "t-9",
        "runId": "r-9",
        "messages": [{"id": "u1", "role": "user", "content": "Weather?"}],
        "state": {"unit": "celsius"},
        "tools": [{"name": "weather", "description": "The weather", "parameters": {"type": "object"}}],
        "forwardedProps": {"trace": "on"},
    }
    run = {"threadId": "t-9", "runId": "r-9"}
    body = sse([{"type": "RUN_STARTED", **run}, *REASONING, {"type": "RUN_FINISHED", **run}])

    verdict = judge.run(body, version=version, run_input=run_input)

    assert verdict.accepted
    assert verdict.state == {"unit": "celsius"}
    assert verdict.messages == [*run_input["messages"], REASONING_MESSAGE]
    assert verdict.request is not None
    assert verdict.next_input is not None
    assert {key: verdict.request[key] for key in run_input} == run_input
    assert verdict.next_input["tools"] == run_input["tools"]


@pytest.mark.parametrize(
    "missing", [("REASONING_MESSAGE_END",), ("REASONING_END",), ("REASONING_MESSAGE_END", "REASONING_END")]
)
def test_reasoning_left_open_is_rejected_by_the_newer_client_only(
    judge: Judge, missing: tuple[str, ...]
) -> None:
    body = sse(without(*missing))

    newer = judge.run(body, version="1.0.0")
    older = judge.run(body, version="0.0.59")

    assert not newer.accepted
    assert newer.error is not None
    assert "still active" in newer.error
    assert older.accepted


@both_versions
def test_a_reasoning_message_with_another_role_is_rejected(judge: Judge, version: Version) -> None:
    verdict = judge.run(sse(with_role("assistant")), version=version)

    assert not verdict.accepted
    assert verdict.error is not None
    assert '"role"' in verdict.error


def test_an_unknown_event_is_fatal_to_the_older_client_and_dropped_by_the_newer(judge: Judge) -> None:
    body = sse([*GOOD[:-1], {"type": "REASONING_NOVELTY", "messageId": "r1"}, GOOD[-1]])

    older = judge.run(body, version="0.0.59")
    newer = judge.run(body, version="1.0.0")

    assert not older.accepted
    assert older.error is not None
    assert "invalid_union_discriminator" in older.error
    assert newer.accepted
    assert newer.events == GOOD
    assert len(newer.warnings) == 1
    assert "REASONING_NOVELTY" in newer.warnings[0]


@both_versions
def test_broken_json_is_rejected(judge: Judge, version: Version) -> None:
    verdict = judge.run(sse(GOOD[:1]) + b'data: {"type":\n\n', version=version)

    assert not verdict.accepted


@both_versions
def test_pacing_keeps_the_events_before_a_violation(judge: Judge, version: Version) -> None:
    body = sse([*GOOD[:8], {"type": "TEXT_MESSAGE_START", "messageId": 7}])

    burst = judge.run(body, version=version)
    paced = judge.run(body, version=version, paced=True)

    assert (burst.accepted, paced.accepted) == (False, False)
    assert burst.messages == []
    assert paced.events == GOOD[:8]
    assert paced.messages == [REASONING_MESSAGE]


@both_versions
def test_a_run_error_is_no_rejection(judge: Judge, version: Version) -> None:
    error = {"type": "RUN_ERROR", "message": "the provider is away", "code": "overloaded"}

    verdict = judge.run(sse([*GOOD[:8], error]), version=version)

    assert verdict.accepted
    assert verdict.run_error == error
    assert not verdict.finished


@both_versions
@pytest.mark.parametrize("cut", [0, 1, 5])
def test_a_cut_stream_is_accepted_but_not_finished(judge: Judge, version: Version, cut: int) -> None:
    verdict = judge.run(sse(GOOD[:cut]), version=version)

    assert verdict.accepted
    assert not verdict.finished
    assert verdict.events == GOOD[:cut]


def test_a_run_past_its_limit_is_rejected_and_the_judge_goes_on(judge: Judge) -> None:
    deltas = [GOOD[3]] * 2000

    slow = judge.run(sse([*GOOD[:3], *deltas, *GOOD[5:]]), paced=True, next_turn=False, timeout=0.05)

    assert not slow.accepted
    assert slow.error is not None
    assert "did not finish" in slow.error
    assert judge.run(sse(GOOD)).accepted


def test_many_streams_get_their_own_verdicts_in_order(judge: Judge) -> None:
    bodies = [sse(GOOD), sse(with_role("user")), sse(GOOD)]

    verdicts = judge.run_many(bodies, version="0.0.59", next_turn=False)

    assert [verdict.accepted for verdict in verdicts] == [True, False, True]
    assert [verdict.next_input for verdict in verdicts] == [None, None, None]


def test_chunks_must_add_up_to_the_body(judge: Judge) -> None:
    with pytest.raises(ValueError, match="do not add up"):
        judge.register(b"data: {}\n\n", chunks=[b"data: {}"])


def test_events_are_split_at_blank_lines() -> None:
    assert list(split_events(b"data: 1\n\nid: 2\ndata: 2\n\ndata: 3")) == [
        b"data: 1\n\n",
        b"id: 2\ndata: 2\n\n",
        b"data: 3",
    ]


def test_the_lock_file_records_hashes_and_no_download_addresses() -> None:
    lock = json.loads((JS_DIR / "package-lock.json").read_text(encoding="utf-8"))
    packages = {name: package for name, package in lock["packages"].items() if name}

    assert packages
    assert all("integrity" in package and "resolved" not in package for package in packages.values())
