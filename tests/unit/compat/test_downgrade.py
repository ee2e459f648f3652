from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import ReasoningStartEvent

from agui_reasoning.compat import ThinkingDowngrader
from agui_reasoning.errors import AGUIReasoningWarning, ConfigurationError, RemoteProtocolError
from tests.support.play import FINISHED, STARTED, Json, ev, text, thought, value


def downgrade(*events: Any, peer: str | None = None) -> tuple[list[Json], list[str]]:
    warnings: list[str] = []
    downgrader = ThinkingDowngrader(peer, warnings.append)
    return [old for event in events for old in downgrader.receive(event)], warnings


def span(name: str, *inside: Json) -> list[Json]:
    return [ev("REASONING_START", messageId=name), *inside, ev("REASONING_END", messageId=name)]


def old(*deltas: str) -> list[Json]:
    """A text of thinking."""
    content = [ev("THINKING_TEXT_MESSAGE_CONTENT", delta=delta) for delta in deltas]
    return [ev("THINKING_TEXT_MESSAGE_START"), *content, ev("THINKING_TEXT_MESSAGE_END")]


def phase(*inside: Json) -> list[Json]:
    return [ev("THINKING_START"), *inside, ev("THINKING_END")]


def marks(*events: Json) -> str:
    """Downgraded events in short: ( ) for a phase, [ ] for a text, deltas as they are."""
    signs = {"START": "(", "END": ")", "TEXT_MESSAGE_START": "[", "TEXT_MESSAGE_END": "]"}
    shown = ""
    for event in downgrade(*events)[0]:
        kind = event["type"].removeprefix("THINKING_")
        shown += event.get("delta") or signs.get(kind, f" {kind} ")
    return shown


# -- THINKING_*


def test_spans_and_messages_become_phases_and_texts() -> None:
    events, warnings = downgrade(*span("s", *thought("a", "Hm", ""), *thought("b")), *span("s2"))
    assert events == [*phase(*old("Hm", ""), *old()), *phase()]
    assert warnings == ["The IDs of reasoning are lost: THINKING_* has none."]


def test_a_message_without_a_span_gets_a_phase_which_clients_of_0_x_insist_on() -> None:
    assert downgrade(*thought("r", "Hm"), *thought("q"))[0] == [*phase(*old("Hm")), *phase(*old())]


def test_chunks_are_expanded_and_closed_by_what_closes_them() -> None:
    chunk = ev("REASONING_MESSAGE_CHUNK", messageId="r", delta="Hm")
    events, _ = downgrade(STARTED, chunk, {"type": chunk["type"], "delta": "!"}, *text("m", "Yes"))
    assert events == [STARTED, *phase(*old("Hm", "!")), *text("m", "Yes")]


def test_nulls_that_mean_absence_do_not_break_chunks() -> None:
    chunk = ev("REASONING_MESSAGE_CHUNK", messageId="r", delta="a", metadata=None)
    assert marks(chunk, chunk | {"messageId": None, "delta": "b"}, FINISHED) == "([ab]) RUN_FINISHED "


def test_a_chunk_that_fits_nothing_is_refused() -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        downgrade(ev("REASONING_MESSAGE_CHUNK", delta="x"))
    assert caught.value.code == "chunk_without_id"


def test_spans_that_overlap_are_one_phase() -> None:
    start, end = span("a")
    assert marks(start, *span("b"), end, *span("c")) == "()()"
    assert "Overlapping" in downgrade(start, *span("b"))[1][1]


def test_messages_that_overlap_are_put_in_a_row_in_pieces() -> None:
    a, b = thought("a", "1"), thought("b", "2")
    assert marks(a[0], b[0], a[1], b[1], a[1], b[2], a[2]) == "([1][2][1])"
    assert marks(a[0], b[0], a[1], a[2], b[1], b[2]) == "([1][2])"
    assert marks(a[0], b[0], b[2], a[2]) == "([][])"
    assert any("Parallel" in warning for warning in downgrade(a[0], *b)[1])


def test_a_message_may_outlive_its_span_and_another_one_then_gets_a_phase() -> None:
    start, end = span("s")
    a, b = thought("a", "1"), thought("b", "2")
    assert marks(start, a[0], end, *a[1:]) == "([)1]"
    assert marks(start, a[0], end, b[0], b[1], a[1], a[2], b[2]) == "([)(][2][1])"


def test_what_is_open_is_closed_before_the_run_ends_so_that_the_next_one_can_open() -> None:
    begun = [STARTED, span("s")[0], *thought("a", "1")[:2]]
    assert marks(*begun, ev("RUN_ERROR", message="x"), *begun[1:]) == " RUN_STARTED ([1]) RUN_ERROR ([1"
    assert marks(*begun, STARTED, *span("s")) == " RUN_STARTED ([1 RUN_STARTED ()"


def test_ends_of_nothing_are_left_out_and_content_without_an_opener_gets_one() -> None:
    events, warnings = downgrade(span("s")[1], thought("a")[1], *thought("b", "Hm")[1:])
    assert events == phase(*old("Hm"))
    assert any("without a start is dropped" in warning for warning in warnings)
    assert any("gets one" in warning for warning in warnings)


def test_times_and_raw_events_stay_and_everything_else_is_told_once() -> None:
    more = {"timestamp": 5, "rawEvent": {"a": 1}, "metadata": {"k": 1}, "subagentRunId": "s1"}
    start, end = (event | more for event in span("s"))
    events, warnings = downgrade(start, end, start, end)
    kept = {"timestamp": 5, "rawEvent": {"a": 1}}
    assert events == [event | kept for event in [*phase(), *phase()]]
    assert len(warnings) == 3
    assert len(set(warnings)) == 3


def test_a_title_that_was_kept_is_a_title_again() -> None:
    titled = {"metadata": {"agui-reasoning": {"title": "Plan"}}}
    events, warnings = downgrade(span("s")[0] | titled)
    assert events == [ev("THINKING_START", title="Plan")]
    assert len(warnings) == 1


def test_encrypted_values_are_reported_by_kind_and_never_quoted() -> None:
    events, warnings = downgrade(value("r", "SEAL"), value("c", "SEAL", "tool-call"))
    assert events == []
    assert len(warnings) == 1
    assert "SEAL" not in warnings[0]


def test_the_default_keeps_empty_deltas_and_0_1_10_gets_none() -> None:
    stream = [*thought("r", "", "Hm"), *text("m", "", "Yes")]
    assert downgrade(*stream)[0] == [*phase(*old("", "Hm")), *text("m", "", "Yes")]
    assert downgrade(*stream, peer="0.1.10")[0] == [*phase(*old("Hm")), *text("m", "Yes")]


def test_the_metadata_of_an_empty_delta_is_told() -> None:
    marked = ev("TEXT_MESSAGE_CONTENT", messageId="m", delta="", metadata={"k": 1})
    events, warnings = downgrade(marked, peer="0.1.10")
    assert events == []
    assert "metadata" in warnings[0]


def test_thinking_passes() -> None:
    assert downgrade(*phase(*old("Hm"))) == (phase(*old("Hm")), [])


# -- REASONING_* of their time


@pytest.mark.parametrize("peer", ["0.1.11", "0.1.12", "0.1.13"])
def test_0_1_11_to_13_get_the_role_assistant_and_no_empty_delta(peer: str) -> None:
    chunk = ev("REASONING_MESSAGE_CHUNK", messageId="c", delta="")
    events, warnings = downgrade(*span("s", *thought("r", "", "Hm"), value("r")), chunk, FINISHED, peer=peer)
    start, content, end = thought("r", "Hm")
    assert events == [
        *span("s", start | {"role": "assistant"}, content, end, value("r")),
        ev("REASONING_MESSAGE_START", messageId="c", role="assistant"),
        ev("REASONING_MESSAGE_END", messageId="c"),
        FINISHED,
    ]
    assert warnings == []


@pytest.mark.parametrize("peer", ["0.1.14", "0.1.15"])
def test_0_1_14_and_15_want_the_role_of_today_and_still_no_empty_delta(peer: str) -> None:
    assert downgrade(*thought("r", "", "Hm"), peer=peer)[0] == thought("r", "Hm")


@pytest.mark.parametrize("peer", ["0.1.16", "0.1.22", "0.2.0"])
def test_later_ones_get_reasoning_as_it_is(peer: str) -> None:
    stream = [*span("s", *thought("r", "")), ev("REASONING_MESSAGE_CHUNK", messageId="c"), value("r")]
    assert downgrade(*stream, peer=peer) == (stream, [])


@pytest.mark.parametrize("peer", ["0.1.9", "0.0.39", "latest", "", "1"])
def test_a_peer_that_is_no_version_or_too_old_is_refused(peer: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ThinkingDowngrader(peer)
    assert caught.value.code == "unknown_peer"


# -- what else old peers refuse


def test_subagents_are_left_out_for_those_who_do_not_know_them() -> None:
    started = ev("SUBAGENT_STARTED", subagentRunId="s1", name="helper")
    assert downgrade(started)[0] == []
    assert "SUBAGENT" in downgrade(started, peer="0.1.20")[1][0]
    assert downgrade(started, peer="0.1.21") == ([started], [])


def test_a_cancelled_run_never_looks_like_a_success() -> None:
    cancelled = FINISHED | {"outcome": {"type": "cancelled"}, "timestamp": 5}
    error = ev("RUN_ERROR", message="The run was cancelled.", code="cancelled", timestamp=5)
    for peer in (None, "0.1.10", "0.1.22"):
        assert downgrade(cancelled, peer=peer)[0] == [error]
    assert downgrade(cancelled, peer="1.0.0") == ([cancelled], [])


def test_outcomes_hold_only_what_old_clients_know() -> None:
    pending = FINISHED | {"outcome": {"type": "success", "pendingToolCallIds": ["c1"]}}
    assert downgrade(pending) == ([FINISHED | {"outcome": {"type": "success"}}], [])
    novel = FINISHED | {"outcome": {"type": "novelty"}}
    events, warnings = downgrade(novel)
    assert events == [FINISHED]
    assert len(warnings) == 1
    assert downgrade(FINISHED | {"outcome": None})[0] == [FINISHED | {"outcome": None}]


def test_histories_lose_reasoning_messages_where_there_is_no_such_role() -> None:
    user, reasoning = (
        {"id": "u", "role": "user", "content": "Hi"},
        {"id": "r", "role": "reasoning", "content": ""},
    )
    snapshot = ev("MESSAGES_SNAPSHOT", messages=[user, reasoning])
    started = STARTED | {"input": {"threadId": "t", "runId": "r", "messages": [reasoning, user]}}
    (old_snapshot, old_started), warnings = downgrade(snapshot, started)
    assert old_snapshot["messages"] == old_started["input"]["messages"] == [user]
    assert len(warnings) == 1
    assert downgrade(snapshot, peer="0.1.13") == ([snapshot], [])


def test_an_echoed_input_has_all_that_old_models_ask_for() -> None:
    started = STARTED | {"input": {"threadId": "t", "runId": "r", "messages": [], "tools": ["kept"]}}
    (old_started,), _ = downgrade(started)
    assert old_started["input"] == started["input"] | {
        "state": {},
        "context": [],
        "forwardedProps": {},
    }
    assert downgrade(STARTED) == ([STARTED], [])


def test_results_of_tools_become_text() -> None:
    parts = [{"type": "text", "text": "12 "}, {"type": "image"}, {"type": "text", "text": "mm"}]
    result = ev("TOOL_CALL_RESULT", messageId="t", toolCallId="c", content=parts)
    message = {"id": "t", "role": "tool", "toolCallId": "c", "content": parts}
    (one, two), warnings = downgrade(result, ev("MESSAGES_SNAPSHOT", messages=[message]), peer="0.1.22")
    assert (one["content"], two["messages"][0]["content"]) == ("12 mm", "12 mm")
    assert len(warnings) == 1


IMAGE = {"type": "image", "source": {"type": "url", "value": "https://example.org/a.png"}}
SCAN = {
    "type": "document",
    "source": {"type": "data", "value": "QQ==", "mimeType": "application/pdf"},
    "metadata": {"filename": "a.pdf"},
}
UPLOAD = {"type": "image", "source": {"type": "file", "value": "f1"}}


def test_media_become_binary_where_there_were_no_kinds_and_newer_sources_are_left_out() -> None:
    content = [{"type": "text", "text": "See"}, IMAGE, SCAN, UPLOAD]
    snapshot = ev("MESSAGES_SNAPSHOT", messages=[{"id": "u", "role": "user", "content": content}])
    (old_one,), warnings = downgrade(snapshot, peer="0.1.14")
    assert old_one["messages"][0]["content"] == [
        {"type": "text", "text": "See"},
        {"type": "binary", "mimeType": "image/*", "url": "https://example.org/a.png"},
        {"type": "binary", "mimeType": "application/pdf", "data": "QQ==", "filename": "a.pdf"},
    ]
    assert len(warnings) == 1
    assert downgrade(snapshot, peer="0.1.15")[0][0]["messages"][0]["content"] == content[:3]


# -- what it is given


def test_models_are_taken_and_events_are_not_changed() -> None:
    assert downgrade(ReasoningStartEvent(message_id="s"))[0] == [ev("THINKING_START")]
    started = STARTED | {"input": {"messages": []}}
    copy = {**started, "input": dict(started["input"])}
    downgrade(started)
    assert started == copy


@pytest.mark.parametrize(
    "event",
    [
        {"type": 5},
        {},
        ev("REASONING_START", messageId=["s"]),
        ev("REASONING_MESSAGE_CHUNK", messageId={}, delta="x"),
        ev("TEXT_MESSAGE_CHUNK", messageId="m", subagentRunId=[]),
    ],
)
def test_what_is_malformed_goes_on_as_it_is(event: Json) -> None:
    assert downgrade(event) == ([event], [])


def test_the_end_of_a_stream_makes_nothing_up_and_forgets_what_is_open() -> None:
    downgrader = ThinkingDowngrader(on_warning=lambda warning: None)
    downgrader.receive(ev("REASONING_MESSAGE_CHUNK", messageId="r", delta="x"))
    assert downgrader.close() == []
    assert downgrader.receive(FINISHED) == [FINISHED]


def test_without_a_listener_python_warns() -> None:
    with pytest.warns(AGUIReasoningWarning, match="IDs of reasoning"):
        ThinkingDowngrader().receive(span("s")[0])
