"""Every finding: a stream that has it, one that has not, and a page that tells of it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from agui_reasoning import Finding, LocalProtocolError, check_events
from agui_reasoning.consumer.lints import is_ours
from agui_reasoning.envelope import Envelope, Place, write_envelope
from tests.support.play import FAILED, FINISHED, RUN, STARTED, Json, call, ev, text, thought, value

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "docs" / "reference" / "findings"
SOURCES = sorted((ROOT / "src" / "agui_reasoning" / "consumer").glob("*.py"))

UNVERSIONED = {"type": "RUN_STARTED", **RUN}
SPAN = [ev("REASONING_START", messageId="sp"), ev("REASONING_END", messageId="sp")]
HIDDEN = [*thought("r"), value("r")]
ECHOED = {**STARTED, "input": {**RUN, "messages": [{"id": "m", "role": "assistant", "content": ""}]}}
S1 = {"subagentRunId": "s1"}
MADE = ev("ACTIVITY_SNAPSHOT", messageId="a", activityType="t", content={})
CALL = call("c", parentMessageId="m")
RESULT = ev("TOOL_CALL_RESULT", messageId="t", toolCallId="c", content="")
TWICE = {"type": "interrupt", "interrupts": [{"id": "i", "reason": "r"}, {"id": "i", "reason": "r"}]}


def snapshot(*messages: Json) -> Json:
    return ev("MESSAGES_SNAPSHOT", messages=list(messages))


def mused(name: str, **more: str) -> Json:
    return {"id": name, "role": "reasoning", "content": "", **more}


def ours(seq: int) -> str:
    return write_envelope(Envelope(response=Place(id="resp", messages=("m",) * seq)))


def run(*events: Json) -> list[Json]:
    return [STARTED, *events, FINISHED]


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
    ("stored_on_span", run({**SPAN[0], "metadata": {"a": 1}}, SPAN[1]), 1),
    ("stored_on_span", run(SPAN[0], value("sp"), SPAN[1]), 2),
    ("raw_beside_hidden", run(ev("RAW", event={}), *HIDDEN), 1),
    ("raw_beside_hidden", [STARTED, *HIDDEN, {**text("m")[0], "rawEvent": 1}, FAILED], 4),
    ("unknown_target", run(text("m")[0], snapshot(), text("m")[-1]), 3),
    ("unknown_target", run(ev("ACTIVITY_DELTA", messageId="a", activityType="t", patch=[])), 1),
    ("patch_failed", run(ev("STATE_DELTA", delta=[{"op": "remove", "path": "/x"}])), 1),
    ("parent_not_assistant", run(*thought("r"), *call("c", parentMessageId="r")), 3),
    ("call_renamed", run(*CALL, *call("c", parentMessageId="m", toolCallName="put")), 3),
]  # fmt: skip
GOOD: list[list[Json]] = [
    run(SPAN[0], *thought("r", "x"), value("r"), SPAN[1], *text("m"), *CALL, value("c", subtype="tool-call")),
    run(*thought("r"), value("r", ours(1)), value("r", ours(2))),
    run(*thought("r"), value("r", "A"), value("r", "A")),
    run(*CALL, *text("m", "x")),
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
]


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
        if ast.unparse(node.func) == "Notice":
            found.append(ast.literal_eval(node.args[0]))
        if ast.unparse(node.func) in ("RemoteProtocolError", "TruncatedRunError"):
            found += [ast.literal_eval(keyword.value) for keyword in node.keywords if keyword.arg == "code"]
    return found


def test_a_violation_ends_its_run_and_the_next_one_is_checked_again() -> None:
    bad = text("m", "x")[1]
    events = [STARTED, bad, bad, FINISHED, FAILED, STARTED, *text("n"), bad, FINISHED]
    assert found(events) == [("not_open", "error", 1), ("not_open", "error", 8)]
    assert found([bad, bad, STARTED, FINISHED]) == [("run_order", "error", 0)]
    assert found([STARTED, STARTED, FINISHED]) == [("run_order", "error", 1)]


def test_a_finding_says_what_and_what_to_do() -> None:
    [finding] = check_events(run(*thought("r", "secret"), value("nobody", "sealed")))
    assert finding == Finding(
        code="unknown_entity",
        severity="warning",
        index=4,
        message="There is no message 'nobody' for this value, in all of the stream: it is lost.",
        remedy="Open the message or tool call it names first; an empty reasoning message will do.",
    )
    every = [finding for _, events, _ in [*ERRORS, *WARNINGS] for finding in check_events(events)]
    assert all(one.message.endswith((".", "…")) and one.remedy.endswith(".") for one in every)
    assert not any("SEAL" in one.message + one.remedy for one in every)


def test_what_is_no_event_is_refused() -> None:
    with pytest.raises(LocalProtocolError):
        check_events(["RUN_STARTED"])  # type: ignore[list-item]


def test_ours_are_told_from_others() -> None:
    token = "eyJ0eXAiOiJhZ3VpLXJlYXNvbmluZytqd2UifQ.."
    assert [is_ours(one) for one in (ours(0), token)] == [True, True]
    others = ["", "QUJD", "gAAAA==", "eyJ0eXAiOiJKV1QifQ.a.b", '{"id": "rs_1"}', "é", "W10.x"]
    assert not any(is_ours(one) for one in others)
