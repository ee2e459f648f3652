"""Test every finding: a stream that has it, one that has not, and its page."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_reasoning import Finding, LocalProtocolError, check_events
from tests.internals.envelopes import (
    Envelope,
    OpaqueRecord,
    ReasoningRecord,
    ResponsePlace,
    UnitRecord,
    write_envelope,
)
from tests.support.play import FAILED, FINISHED, RUN, STARTED, Json, call, ev, text, thought, value

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "docs" / "reference" / "findings"
ROOMS = [ROOT / "src" / "agui_reasoning" / room for room in ("_lint", "consumer")]
SOURCES = [path for room in ROOMS for path in sorted(room.glob("*.py"))]

UNVERSIONED = {"type": "RUN_STARTED", **RUN}
SPAN = [ev("REASONING_START", messageId="sp"), ev("REASONING_END", messageId="sp")]
HIDDEN = [*thought("r"), value("r")]
ECHOED = {**STARTED, "input": {**RUN, "messages": [{"id": "m", "role": "assistant", "content": ""}]}}
S1, S2 = {"subagentRunId": "s1"}, {"subagentRunId": "s2"}
ORPHAN = ev("SUBAGENT_STARTED", name="n", parentSubagentRunId="p", **S1)
CHUNK = ev("TEXT_MESSAGE_CHUNK", messageId="m", delta="x")
MADE = ev("ACTIVITY_SNAPSHOT", messageId="a", activityType="t", content={})
CALL = call("c", parentMessageId="m")
LONG = "The user asks about the weather in Bergen."
SIGNED = "c2lnbmF0dXJlIG9mIGEgcHJvdmlkZXI="
RESULT = ev("TOOL_CALL_RESULT", messageId="t", toolCallId="c", content="")
TWICE = {"type": "interrupt", "interrupts": [{"id": "i", "reason": "r"}, {"id": "i", "reason": "r"}]}


def snapshot(*messages: Json) -> Json:
    return ev("MESSAGES_SNAPSHOT", messages=list(messages))


def mused(name: str, **more: str) -> Json:
    return {"id": name, "role": "reasoning", "content": "", **more}


def ours(seq: int) -> str:
    return write_envelope(Envelope(response=ResponsePlace(id="resp", messages=("m",) * seq)))


def signed(kind: str = "anthropic.signature") -> str:
    """The value of a reasoning part without text."""
    record = ReasoningRecord(opaque=(OpaqueRecord(kind=kind, value="U0lHTkVE"),))
    unit = UnitRecord(seq=0, part=record)
    return write_envelope(Envelope(response=ResponsePlace(id="resp"), units=(unit,)))


def run(*events: Json) -> list[Json]:
    return [STARTED, *events, FINISHED]


def used(provider: str | None, model: str | None = None) -> Json:
    names = {"provider": provider, "model": model}
    return {**FINISHED, "usage": [{"outputTokens": 1} | {k: v for k, v in names.items() if v}]}


def answered(name: str, call_id: str = "c") -> Json:
    return {"id": name, "role": "tool", "toolCallId": call_id, "content": ""}


def begun_agents() -> list[Json]:
    return [ev("SUBAGENT_STARTED", name="n", **owner) for owner in (S1, S2)]


def ended_agents() -> list[Json]:
    return [ev("SUBAGENT_FINISHED", **owner) for owner in (S1, S2)]


CALLER = {
    "id": "m",
    "role": "assistant",
    "toolCalls": [{"id": "c", "type": "function", "function": {"name": "get", "arguments": ""}}],
}

ERRORS: list[tuple[str, list[Json], int]] = [
    ("malformed_event", run(ev("TEXT_MESSAGE_START", messageId=7)), 1),
    ("run_order", [text("m")[0]], 0),
    ("run_order", [*run(), *text("m")], 2),
    ("not_open", run(text("m", "x")[1], *text("n")), 1),
    ("already_open", run(text("m")[0], text("m")[0]), 2),
    ("left_open", run(text("m")[0]), 2),
    ("owner_mismatch", run(text("m", **S1)[0], {**text("m")[-1], "subagentRunId": "s2"}), 2),
    ("subagent_order", run(ev("SUBAGENT_FINISHED", **S1)), 1),
    ("chunk_without_id", run(ev("REASONING_MESSAGE_CHUNK", delta="x")), 1),
    (
        "chunk_conflict",
        run(ev("TEXT_MESSAGE_CHUNK", messageId="m", role="user"), ev("TEXT_MESSAGE_CHUNK", role="system")),
        2,
    ),
    (
        "chunk_ambiguous",
        run(
            ev("TEXT_MESSAGE_CHUNK", messageId="m", subagentRunId="s1"),
            ev("TEXT_MESSAGE_CHUNK", messageId="n", subagentRunId="s2"),
            ev("TEXT_MESSAGE_CHUNK", delta="x"),
        ),
        3,
    ),
    ("truncated_run", [STARTED], 1),
    ("truncated_run", [], 0),
]
WARNINGS: list[tuple[str, list[Json], int]] = [
    ("legacy_shape", run(ev("THINKING_START"), ev("THINKING_END")), 1),
    ("legacy_shape", run({**text("m")[0], "rawEvent": None}, text("m")[-1]), 1),
    ("unknown_event", run(ev("FUTURE_EVENT")), 1),
    ("unknown_member", run({**text("m")[0], "futureProp": 1}, text("m")[-1]), 1),
    ("newer_version", [{**STARTED, "protocolVersion": "9.9"}, FINISHED], 0),
    ("missing_version", [UNVERSIONED, FINISHED], 0),
    ("run_identity", [STARTED, {**FINISHED, "runId": "other"}], 1),
    (
        "duplicate_interrupt",
        [STARTED, {**FINISHED, "outcome": TWICE}],
        1,
    ),
    (
        "empty_chunk",
        run(*(ev("REASONING_MESSAGE_CHUNK", messageId="m", delta=delta) for delta in ("a", "b", ""))),
        3,
    ),
    (
        "empty_chunk",
        run(
            ev("TOOL_CALL_CHUNK", toolCallId="c", toolCallName="f", parentMessageId="m", delta="{}"),
            ev("TOOL_CALL_CHUNK", delta=""),
            *text("n", "x"),
        ),
        2,
    ),
    ("unknown_entity", run(value("nobody")), 1),
    ("unknown_entity", run(*text("m"), value("m", subtype="tool-call")), 3),
    ("unknown_entity", run(MADE, value("a")), 2),
    ("value_before_entity", run(value("r"), *thought("r")), 1),
    ("value_before_entity", run(value("c", subtype="tool-call"), *CALL), 1),
    ("value_before_entity", run(value("m"), *CALL), 1),
    ("value_before_entity", run(value("t"), *CALL, RESULT), 1),
    ("value_before_entity", run(value("r"), snapshot(mused("r"))), 1),
    ("value_before_entity", [*run(value("m")), ECHOED, FINISHED], 1),
    ("replaced_value", run(*thought("r"), value("r", "A"), value("r", "B")), 4),
    ("replaced_value", run(*thought("r"), value("r", "A"), value("r", ours(1))), 4),
    ("replaced_value", run(*CALL, value("c", "A", "tool-call"), value("c", "B", "tool-call")), 4),
    ("shared_id", run(*thought("x"), *text("x")), 3),
    ("snapshot_drops_value", [*run(*HIDDEN), STARTED, snapshot(mused("r")), FINISHED], 6),
    ("snapshot_drops_value", [*run(*HIDDEN), STARTED, snapshot(mused("r2")), FINISHED], 6),
    ("snapshot_drops_value", run(*CALL, value("c", subtype="tool-call"), snapshot()), 4),
    ("snapshot_after_reasoning", run(*thought("r", "x"), snapshot()), 4),
    ("missing_parent", run(*call("c")), 1),
    ("reopened_id", run(*text("m", "a"), *text("m", "b")), 4),
    ("reopened_id", run(*thought("r"), *thought("r")), 3),
    ("reopened_id", [*run(*text("m")), *run(*text("m"))], 5),
    ("reopened_id", [*run(*text("m")), *run(ev("TEXT_MESSAGE_CHUNK", messageId="m"))], 5),
    ("late_reasoning_end", run(*thought("r", "x")[:-1], *text("m", "a"), thought("r")[-1]), 6),
    ("stored_on_span", run({**SPAN[0], "metadata": {"a": 1}}, SPAN[1]), 1),
    ("stored_on_span", run(SPAN[0], value("sp"), SPAN[1]), 2),
    ("raw_beside_hidden", run(ev("RAW", event={}), *HIDDEN), 1),
    ("raw_beside_hidden", [STARTED, *HIDDEN, {**text("m")[0], "rawEvent": 1}, FAILED], 4),
    ("unknown_target", run(text("m")[0], snapshot(), text("m")[-1]), 3),
    ("unknown_target", run(ev("ACTIVITY_DELTA", messageId="a", activityType="t", patch=[])), 1),
    ("patch_failed", run(ev("STATE_DELTA", delta=[{"op": "remove", "path": "/x"}])), 1),
    ("parent_not_assistant", run(*thought("r"), *call("c", parentMessageId="r")), 3),
    ("credential_in_event", run(ev("RAW", event={"headers": ["Bearer sk-live-1234"]})), 1),
    ("reasoning_in_raw", run(ev("RAW", event={"delta": {"reasoning_content": "Hm."}})), 1),
    ("missing_value", run(*thought("r", "Hm."), *CALL), 1),
    ("missing_value", [*run(*HIDDEN), STARTED, *thought("s", "Hm."), *CALL, FINISHED], 6),
    ("missing_value", [STARTED, *thought("r", "Hm."), used("anthropic", "claude-sonnet-4-6")], 1),
    ("missing_value", [STARTED, *thought("r", "Hm."), used("openai", "gpt-5.6-sol")], 1),
    ("reasoning_without_text", run(*text("m"), *thought("r"), value("r", signed()), *text("n", "x")), 3),
    ("repeated_reasoning", run(*thought("r", LONG), *text("m", "x"), *thought("s", LONG)), 7),
    ("repeated_reasoning", [STARTED, *thought("r", LONG), *text("m"), *thought("s", "", LONG), FAILED], 6),
    ("copied_reasoning", run(ev("RAW", event=[{"a": LONG}]), *thought("r", LONG)), 1),
    ("copied_reasoning", run(*thought("r", LONG), ev("STATE_SNAPSHOT", snapshot={"log": [LONG]})), 4),
    ("copied_reasoning", run(*thought("r"), value("r", SIGNED), ev("CUSTOM", name="n", value=SIGNED)), 4),
    ("result_renamed", run(*CALL, RESULT, snapshot(CALLER, answered("t2"))), 4),
    ("result_renamed", [*run(*CALL, RESULT), STARTED, snapshot(CALLER, answered("t2")), FINISHED], 6),
    ("call_renamed", run(*CALL, *call("c", parentMessageId="m", toolCallName="put")), 3),
]  # fmt: skip
GOOD: list[list[Json]] = [
    run(SPAN[0], *thought("r", "x"), value("r"), SPAN[1], *text("m"), *CALL, value("c", subtype="tool-call")),
    run(*thought("r"), value("r", ours(1)), value("r", ours(2))),
    run(*thought("r"), value("r", "A"), value("r", "A")),
    run(*CALL, *text("m", "x")),
    run(*thought("r"), value("r", signed()), *thought("s", "x"), value("s", signed())),
    run(*thought("r"), value("r", signed("anthropic.redacted_thinking"))),
    run(*thought("r"), value("r", signed("openai.encrypted_content"))),
    run(*CALL, *CALL),
    run(*[ev("REASONING_MESSAGE_CHUNK", messageId=name, delta="x") for name in ("r1", "r2", "r1")]),
    run(*HIDDEN, ev("CUSTOM", name="n", value=1)),
    run(*thought("r", "x"), ev("RAW", event=1)),
    [*run(ev("RAW", event=1)), *run(*HIDDEN)],
    [STARTED, snapshot(mused("r", encryptedValue="A")), *thought("n", "x"), FINISHED],
    [*run(*HIDDEN), STARTED, snapshot(), FINISHED],
    [*run(*HIDDEN), STARTED, snapshot(mused("r", encryptedValue="SEAL")), FINISHED],
    [ECHOED, value("m"), FINISHED],
    [FAILED],
    # reasoning without values: where no tool is called, where text goes back as text, where a run fails
    run(*thought("r", "Hm."), *text("m")),
    [STARTED, *thought("r", "Hm."), *CALL, used("deepseek", "deepseek-v4-flash")],
    [STARTED, *thought("r", "Hm."), *CALL, used("ollama", "qwen3:8b")],
    [STARTED, *thought("r", "Hm."), *CALL, used("somebody", "of-their-own")],
    [STARTED, *thought("r", "Hm."), *CALL, FAILED],
    run(*HIDDEN, *CALL),
    run(*thought("r", "Hm."), *CALL, value("c", subtype="tool-call")),
    # the same text: in another answer, of another subagent, in another run, short, or as the answer itself
    run(*thought("r", LONG), value("r"), *CALL, RESULT, *thought("s", LONG)),
    run(*thought("r", LONG), *thought("s", LONG), *text("m")),
    run(*thought("r", LONG), value("r", "A"), *text("m"), *thought("s", LONG), value("s", "B")),
    run(*thought("r", LONG), *text("m"), ev("STEP_STARTED", stepName="s"), ev("STEP_FINISHED", stepName="s"),
        *thought("s", LONG)),
    run(*begun_agents(), *thought("r", LONG, **S1), *text("m"), *thought("s", LONG, **S2), *ended_agents()),
    [*run(*thought("r", LONG)), *run(*thought("s", LONG))],
    run(*thought("r", "Hm."), *text("m"), *thought("s", "Hm.")),
    run(*thought("r", LONG), *text("m", LONG)),
    # copies of what is no reasoning, or too short to tell
    run(*thought("r", "Hm."), ev("STATE_SNAPSHOT", snapshot={"a": "Hm."})),
    run(*text("m", LONG), ev("STATE_SNAPSHOT", snapshot={"a": LONG})),
    [*run(ev("RAW", event=LONG)), *run(*thought("r", LONG))],
    # results under their ids
    run(*CALL, RESULT, snapshot(CALLER, answered("t"))),
    run(*CALL, RESULT, snapshot(CALLER, answered("t"), answered("t2"))),
    [STARTED, snapshot(CALLER, answered("t2")), FINISHED],
]  # fmt: skip


def found(events: list[Json]) -> list[tuple[str, str, int]]:
    return [(finding.code, finding.severity, finding.index) for finding in check_events(events)]


@pytest.mark.parametrize(("code", "events", "index"), ERRORS)
def test_an_error(code: str, events: list[Json], index: int) -> None:
    assert found(events) == [(code, "error", index)]


@pytest.mark.parametrize(("code", "events", "index"), WARNINGS)
def test_a_warning(code: str, events: list[Json], index: int) -> None:
    assert (code, "warning", index) in found(events)
    assert not any(severity == "error" for _, severity, _ in found(events))
    others = {name for name, _, _ in found(events)} - {code}
    # A snapshot or a renamed thing has a second thing to say about it.
    assert others <= {"snapshot_after_reasoning", "reopened_id"}


@pytest.mark.parametrize("events", GOOD)
def test_nothing_to_find_fault_with(events: list[Json]) -> None:
    assert found(events) == []


def test_every_code_has_a_test_and_a_page_and_the_index_names_them() -> None:
    codes = {code for source in SOURCES for code in raised(source)}
    assert {code for code, _, _ in [*ERRORS, *WARNINGS]} == codes
    if PAGES.parent.exists():
        assert {page.stem for page in PAGES.glob("*.md")} == {*codes, "index"}
        index = (PAGES / "index.md").read_text(encoding="utf-8")
        assert [code for code in sorted(codes) if f"[`{code}`]({code}.md)" not in index] == []
        for code in codes:
            assert (PAGES / f"{code}.md").read_text(encoding="utf-8").startswith(f"# `{code}`\n")


def raised(source: Path) -> list[str]:
    """The codes of notices and violations in a module."""
    found = []
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        if ast.unparse(node.func) == "Notice" and isinstance(node.args[0], ast.Constant):
            found.append(ast.literal_eval(node.args[0]))
        if ast.unparse(node.func) in ("RemoteProtocolError", "TruncatedRunError"):
            found += [ast.literal_eval(keyword.value) for keyword in node.keywords if keyword.arg == "code"]
    return found


def test_what_follows_from_a_violation_is_not_told_and_the_next_run_is_checked_again() -> None:
    bad = text("m", "x")[1]
    events = [STARTED, bad, bad, FINISHED, FAILED, STARTED, *text("n"), bad, FINISHED]
    assert found(events) == [("not_open", "error", 1), ("not_open", "error", 8)]
    assert found([bad, bad, STARTED, FINISHED]) == [("run_order", "error", 0)]
    assert found([STARTED, STARTED, FINISHED]) == [("run_order", "error", 1)]


def test_every_fault_of_a_stream_is_found() -> None:
    events = [
        STARTED,
        *text("m1", "x")[1:],  # 1, 2: no start
        {**thought("r1", "x")[0], "role": "assistant"},  # 3: malformed
        *thought("r1", "x")[1:],
        value("nobody"),  # 6
        text("m2")[0],
        text("m2")[0],  # 8: open already
        text("m2")[-1],
        ev("STEP_FINISHED", stepName="s"),  # 10: not open
        {**call("c1", "{}")[0], "toolCallName": 7, "parentMessageId": "m2"},  # 11: malformed
        *call("c1", "{}")[1:],
        ev("FUTURE_EVENT"),  # 14
        ev("REASONING_MESSAGE_CHUNK", delta="x"),  # 15: no id
        ev("REASONING_MESSAGE_CHUNK", delta="y"),
        text("m3")[0],  # never ended
        ev("SUBAGENT_FINISHED", **S1),  # 18
        {**FINISHED, "runId": "other"},  # 19: left open, and another run
        *text("m4"),  # 20: after the run
        STARTED,
        text("m5", "x")[1],  # 23: not open
        FINISHED,
    ]
    assert found(events) == [
        ("not_open", "error", 1),
        ("malformed_event", "error", 3),
        ("unknown_entity", "warning", 6),
        ("already_open", "error", 8),
        ("not_open", "error", 10),
        ("malformed_event", "error", 11),
        ("unknown_event", "warning", 14),
        ("chunk_without_id", "error", 15),
        ("subagent_order", "error", 18),
        ("run_identity", "warning", 19),
        ("left_open", "error", 19),
        ("run_order", "error", 20),
        ("not_open", "error", 23),
    ]
    [left] = [finding for finding in check_events(events) if finding.code == "left_open"]
    assert left.message == "RUN_FINISHED while these are still open: text message 'm3'."


def messages_of(events: list[Json]) -> list[tuple[str, str]]:
    return [(finding.code, finding.message.partition(" ")[2]) for finding in check_events(events)]


def test_every_malformed_and_unknown_place_of_an_event_is_told() -> None:
    user = {
        "id": 1,
        "role": "user",
        "content": [{"type": "text"}, {"type": "text", "text": 4}, {"type": "?"}],
    }
    caller = {"id": "a", "role": "assistant", "toolCalls": [{"id": 3, "type": "function", "function": 5}]}
    assert messages_of(run(ev("MESSAGES_SNAPSHOT", messages=[user, caller, "text"], mine=1))) == [
        ("malformed_event", "is malformed at /messages/0/id: expected a string."),
        ("malformed_event", "is malformed at /messages/0/content/0: expected the field text."),
        ("malformed_event", "is malformed at /messages/0/content/1/text: expected a string."),
        ("malformed_event", "is malformed at /messages/1/toolCalls/0/id: expected a string."),
        ("malformed_event", "is malformed at /messages/1/toolCalls/0/function: expected an object."),
        ("malformed_event", "is malformed at /messages/2: expected an object."),
        ("unknown_member", "is unknown and is removed."),
        ("unknown_member", "is unknown and is removed."),
    ]


def test_what_is_left_without_malformed_optional_members_is_checked_too() -> None:
    content = {**text("m", "x")[1], "timestamp": "now", "metadata": 3, "mine": 1}
    assert messages_of(run(content)) == [
        ("malformed_event", "is malformed at /timestamp: expected a whole number."),
        ("malformed_event", "is malformed at /metadata: expected an object."),
        ("unknown_member", "is unknown and is removed."),
        ("not_open", "no text message 'm' is open."),
    ]
    assert messages_of([STARTED, text("m")[0], {**FINISHED, "usage": 3}]) == [
        ("malformed_event", "is malformed at /usage: expected an array."),
        ("left_open", "while these are still open: text message 'm'."),
    ]


FOLLOWED: list[tuple[list[Json], list[tuple[str, int]]]] = [
    (run(*text("m", "a", "b", "c")[1:]), [("not_open", 1)]),
    (run(*text("m", "a"), *text("m", "b", "c")[1:-1]), [("not_open", 4)]),
    (run(text("m", "a")[1], *text("m", "b")), [("not_open", 1)]),
    (run(*text("m"), text("m")[-1], *text("n", "a")[1:]), [("not_open", 3), ("not_open", 4)]),
    (run(text("m")[0], *text("m"), text("m")[-1]), [("already_open", 2)]),
    (run({**text("m", "a")[0], "messageId": None}, *text("m", "a")[1:]), [("malformed_event", 1)]),
    (run(*text("m", "a")[:2], {**text("m")[-1], "timestamp": "now"}), [("malformed_event", 3)]),
    (run(*thought("r", "a")[1:], value("r")), [("not_open", 1)]),
    (run(*call("c", "a")[1:], value("c", subtype="tool-call")), [("not_open", 1)]),
    (run(SPAN[1], *thought("r")), [("not_open", 1)]),
    ([{**STARTED, "runId": 7}, *text("m"), FINISHED], [("malformed_event", 0)]),
    ([STARTED, text("m")[0], {**FINISHED, "runId": 7}, *run()], [("malformed_event", 2)]),
    ([*text("m"), *thought("r"), FINISHED], [("run_order", 0)]),
    ([*run(), FINISHED, *run()], [("run_order", 2)]),
    ([STARTED, text("m")[0], *run(*text("n"))], [("run_order", 2)]),
    (run(text("m", **S1)[0], *[{**one, **S2} for one in text("m", "a")[1:]]), [("owner_mismatch", 2)]),
    (run(ORPHAN, ev("SUBAGENT_FINISHED", **S1)), [("subagent_order", 1)]),
    (run(CHUNK, *[{**CHUNK, "role": "user"}] * 2), [("chunk_conflict", 2)]),
]  # fmt: skip


@pytest.mark.parametrize(("events", "errors"), FOLLOWED)
def test_what_follows_from_a_violation_is_not_told(events: list[Json], errors: list[tuple[str, int]]) -> None:
    assert [(finding.code, finding.index) for finding in check_events(events)] == errors


EVENTS: list[Json] = [
    *[
        STARTED,
        FINISHED,
        FAILED,
        ORPHAN,
        CHUNK,
        {**CHUNK, **S2},
        *SPAN,
        *text("m", "a"),
        *text("m", "a", **S1),
    ],
    *[
        *thought("r", "a"),
        *CALL,
        value("r"),
        snapshot({"id": "m", "role": "assistant", **S2}),
        ev("THINKING_END"),
    ],
    *[ev("STEP_STARTED", stepName="s"), ev("STEP_FINISHED", stepName="s"), ev("SUBAGENT_FINISHED", **S1), {}],
    *[
        ev("REASONING_MESSAGE_CHUNK", messageId="r", delta="x"),
        ev("REASONING_MESSAGE_CHUNK", delta="x", **S1),
    ],
    *[{"type": {}}, {"type": 7}, ev("X_END", messageId="m"), ev("THINKING_TEXT_MESSAGE_CONTENT", delta="x")],
]


@given(st.lists(st.sampled_from(EVENTS), max_size=12))
def test_whatever_comes_is_checked_to_its_end(events: list[Json]) -> None:
    last = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "late", "delta": 7}
    assert ("malformed_event", "error", len(events)) in found([*events, last])


def test_only_ids_of_the_stream_are_named_and_twice_the_same_is_said() -> None:
    events = [
        STARTED,
        ev("THINKING_TEXT_MESSAGE_CONTENT", delta="x"),
        ev("THINKING_END"),
        ev("THINKING_START"),
        FINISHED,
    ]
    findings = check_events(events)
    assert findings == check_events(events)
    assert [finding.message for finding in findings if finding.severity == "error"] == [
        "THINKING_TEXT_MESSAGE_CONTENT: no reasoning message is open.",
        "THINKING_END: no reasoning span is open.",
        "RUN_FINISHED while these are still open: reasoning span.",
    ]
    assert not any("unnamed" in finding.message for finding in findings)


# -- what should not be in a stream

KEY = "0123456789abcdefABCD"
SECRETS: list[Any] = [
    "Bearer sk-live-abc",
    f"curl -H 'Authorization: Bearer {KEY}'",
    f"sk-{KEY}",
    f"sk-ant-{KEY}",
    "AKIAIOSFODNN7EXAMPLE",
    f"AIza{KEY}{KEY}",
    f"ghp_{KEY}{KEY}",
    "-----BEGIN RSA PRIVATE KEY-----",
    f"api_key={KEY}",
    {"api_key": "hunter22"},
    {"X-Api-Key": "hunter22"},
    {"headers": [{"authorization": "Basic aHVudGVyMg=="}]},
    {"aws_secret_access_key": "wJalrXUtnFEMI/K7MDENG"},
]
HARMLESS: list[Any] = [
    "Bearer authentication is what the header is for",
    "sk-learn and task-management",
    "desk-0123456789abcdefgh",
    {"api_key": "***"},
    {"api_key": ""},
    {"api_key": None},
    {"authorization": "[REDACTED]"},
    {"properties": {"api_key": {"type": "string"}}},
    {"usage": {"input_tokens": 1}},
]
REASONING: list[Any] = [
    {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "Hm."}},
    {"delta": {"type": "signature_delta", "signature": "SEAL"}},
    {"type": "redacted_thinking", "data": "SEAL"},
    {"type": "response.reasoning_summary_text.delta", "delta": "Hm."},
    {"item": {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}},
    {"item": {"encrypted_content": "SEAL"}},
    {"choices": [{"delta": {"reasoning_content": "Hm."}}]},
    {"choices": [{"delta": {"reasoning": "Hm."}}]},
    {"parts": [{"text": "Hm.", "thought": True}]},
    {"parts": [{"thoughtSignature": "SEAL"}]},
]
NO_REASONING: list[Any] = [
    {"reasoning": {"effort": "high"}, "thinking": {"type": "enabled", "budget_tokens": 1024}},
    {"delta": {"reasoning_content": "", "content": "Hi", "reasoning": None}},
    {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Hi"}},
    {"usage": {"reasoning_tokens": 7}},
]


def places(secret: Any) -> list[Json]:
    return [
        ev("RAW", event={"a": [secret]}),
        {**ev("CUSTOM", name="n", value=1), "rawEvent": {"a": secret}},
        ev("CUSTOM", name="n", value={"a": secret}),
        ev("STATE_SNAPSHOT", snapshot={"a": secret}),
        ev("STATE_DELTA", delta=[{"op": "add", "path": "/a", "value": secret}]),
        {**FAILED, "futureMember": secret},
    ]


@pytest.mark.parametrize("secret", SECRETS)
def test_credentials_are_found_wherever_they_are(secret: Any) -> None:
    for event in places(secret):
        [finding] = [one for one in check_events(run(event)) if one.code == "credential_in_event"]
        assert (finding.index, finding.severity) == (1, "warning")
        assert not any(word in finding.message for word in ("hunter22", KEY, "AKIA", "sk-"))


@pytest.mark.parametrize("value", HARMLESS)
def test_what_is_no_credential_is_not_taken_for_one(value: Any) -> None:
    assert not any(
        one.code == "credential_in_event" for event in places(value) for one in check_events(run(event))
    )


@pytest.mark.parametrize("raw", REASONING)
def test_reasoning_in_raw_data_is_found(raw: Any) -> None:
    for event in places(raw)[:2]:
        [finding] = check_events(run(event))
        assert (finding.code, finding.index) == ("reasoning_in_raw", 1)
        assert "Hm." not in finding.message


@pytest.mark.parametrize("raw", NO_REASONING)
def test_settings_and_answers_are_not_reasoning(raw: Any) -> None:
    assert (
        check_events(run(ev("RAW", event=raw), {**ev("CUSTOM", name="n", value={"reasoning": "why"})})) == []
    )


def test_values_where_they_belong_are_no_finding() -> None:
    sealed = f"sk-{KEY}{KEY}"
    assert check_events(run(*thought("r", "x"), value("r", sealed))) == []


def test_a_finding_says_what_and_what_to_do() -> None:
    [finding] = check_events(run(*thought("r", "secret"), value("nobody", "sealed")))
    assert finding == Finding(
        code="unknown_entity",
        severity="warning",
        index=4,
        message="The stream has no message 'nobody' for this value, so the value is lost.",
        remedy="Open the message or tool call that it names first; an empty reasoning message is enough.",
    )
    every = [finding for _, events, _ in [*ERRORS, *WARNINGS] for finding in check_events(events)]
    assert all(one.message.endswith((".", "…")) and one.remedy.endswith(".") for one in every)
    assert not any("SEAL" in one.message + one.remedy for one in every)


def test_what_is_no_event_is_refused() -> None:
    with pytest.raises(LocalProtocolError):
        check_events(["RUN_STARTED"])  # type: ignore[list-item]


def test_every_finding_of_an_event_is_reported() -> None:
    events = [STARTED, text("m")[0], {**FINISHED, "runId": "other", "outcome": TWICE}]
    found = [(finding.code, finding.index) for finding in check_events(events)]
    assert sorted(found) == [("duplicate_interrupt", 2), ("left_open", 2), ("run_identity", 2)]


@pytest.mark.parametrize(
    "chunks",
    [
        [{"messageId": "m", "delta": ""}, {"delta": "a"}],
        [{"messageId": "m", "delta": "a"}, {"delta": ""}, {"delta": "b"}],
        [{"messageId": "m", "delta": "a"}, {"delta": "", "metadata": {"n": 1}}],
        [{"messageId": "m", "delta": ""}],
    ],
)
def test_an_empty_chunk_that_opens_or_is_continued_or_has_metadata_is_no_habit(chunks: list[Json]) -> None:
    events = run(*(ev("TEXT_MESSAGE_CHUNK", **chunk) for chunk in chunks))
    assert "empty_chunk" not in {finding.code for finding in check_events(events)}
