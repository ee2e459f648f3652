"""Test each rule of the emitter by whole event lists."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import msgspec
import pytest

from agui_reasoning import Emitter, LocalProtocolError
from agui_reasoning.deltas import (
    CloseDelta,
    FinishDelta,
    NativeDelta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
    UsageDelta,
)
from agui_reasoning.parts import NativePart, Opaque, Origin, ReasoningPart, Segment, TextPart, ToolCallPart
from tests.internals.envelopes import MAX_ENVELOPE_CHARS, Envelope, digest, read_envelope, write_envelope
from tests.laws import law
from tests.support.verifier import plain, replay, types

CLAUDE = Origin("anthropic", "anthropic-messages", "claude")
GEMINI = Origin("google", "openai-chat", "gemini-3-pro")
GEMINI_2_5 = Origin("google", "gemini", "gemini-2.5-flash")
UNKNOWN = Origin("acme", "openai-chat", "model")
SIGNATURE = Opaque("anthropic.signature", "SIG")


def emit(*items: Any, abort: bool = False, **options: Any) -> list[dict[str, Any]]:
    numbers = count()
    emitter = Emitter(new_id=lambda: f"id{next(numbers)}", **options)
    events = [event for item in items for event in emitter.receive(item)]
    events += emitter.abort() if abort else emitter.close()
    replay(events)
    return plain(events)


def brief(events: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Events as (type, id, payload), without hints and envelopes."""
    rows = []
    for event in events:
        who = event.get("messageId") if event["type"] != "TOOL_CALL_RESULT" else event["toolCallId"]
        who = who or event.get("toolCallId") or event.get("entityId")
        what = event.get("delta") or event.get("toolCallName") or event.get("content")
        rows.append((event["type"], who, what) if what is not None else (event["type"], who))
    return rows


def values(events: list[dict[str, Any]]) -> list[tuple[str, str, Envelope]]:
    found = []
    for event in events:
        if event["type"] == "REASONING_ENCRYPTED_VALUE":
            envelope = read_envelope(event["encryptedValue"])
            assert envelope is not None
            found.append((event["subtype"], event["entityId"], envelope))
    return found


@law("E4")
def test_reasoning_then_text_is_a_span_a_message_a_value_and_an_answer() -> None:
    events = emit(ReasoningDelta("Hm, "), ReasoningDelta("yes."), TextDelta("Yes."))
    assert brief(events) == [
        ("REASONING_START", "id2"),
        ("REASONING_MESSAGE_START", "id3"),
        ("REASONING_MESSAGE_CONTENT", "id3", "Hm, "),
        ("REASONING_MESSAGE_CONTENT", "id3", "yes."),
        ("REASONING_MESSAGE_END", "id3"),
        ("REASONING_ENCRYPTED_VALUE", "id3"),
        ("REASONING_END", "id2"),
        ("TEXT_MESSAGE_START", "id1"),
        ("TEXT_MESSAGE_CONTENT", "id1", "Yes."),
        ("TEXT_MESSAGE_END", "id1"),
    ]


@law("E7")
def test_a_plain_answer_has_one_value_that_names_the_answer_to_come() -> None:
    events = emit(ResponseStart(CLAUDE, id="msg_1"), ReasoningDelta("Hm."), TextDelta("Yes."))
    [(subtype, entity, envelope)] = values(events)
    assert (subtype, entity) == ("message", "id3")
    assert json.loads(write_envelope(envelope)) == {
        "k": "agui-reasoning",
        "v": 2,
        "origin": {"provider": "anthropic", "api": "anthropic-messages", "model": "claude"},
        "response": {"id": "id0", "native_id": "msg_1", "messages": ["id1"]},
        "units": [
            {
                "seq": 0,
                "lengths": [3],
                "sha256": digest("Hm."),
                "part": {"kind": "reasoning", "segments": [{}]},
            }
        ],
    }


@law("E2")
def test_adjacent_units_stay_apart_in_one_span() -> None:
    events = emit(
        ReasoningDelta("a", key="0"), CloseDelta(key="0"), ReasoningDelta("b", key="1"), CloseDelta(key="1")
    )
    assert brief(events) == [
        ("REASONING_START", "id2"),
        ("REASONING_MESSAGE_START", "id3"),
        ("REASONING_MESSAGE_CONTENT", "id3", "a"),
        ("REASONING_MESSAGE_END", "id3"),
        ("REASONING_ENCRYPTED_VALUE", "id3"),
        ("REASONING_MESSAGE_START", "id4"),
        ("REASONING_MESSAGE_CONTENT", "id4", "b"),
        ("REASONING_MESSAGE_END", "id4"),
        ("REASONING_ENCRYPTED_VALUE", "id4"),
        ("REASONING_END", "id2"),
        ("REASONING_ENCRYPTED_VALUE", "id4"),  # the last one names everything
    ]


@law("E2")
def test_several_units_may_be_open_at_once() -> None:
    events = emit(ReasoningDelta("a", key="0"), ReasoningDelta("b", key="1"), ReasoningDelta("c", key="0"))
    contents = [row for row in brief(events) if row[0] == "REASONING_MESSAGE_CONTENT"]
    assert [row[1:] for row in contents] == [("id3", "a"), ("id4", "b"), ("id3", "c")]


@law("E2")
def test_summary_parts_of_one_unit_are_separated_by_a_blank_line_and_kept_apart_in_the_envelope() -> None:
    events = emit(
        ReasoningDelta("**A**", key="r", channel="summary", index=0, item_id="rs_1"),
        ReasoningDelta("**B**", key="r", channel="summary", index=1),
    )
    contents = [row[2] for row in brief(events) if row[0] == "REASONING_MESSAGE_CONTENT"]
    assert contents == ["**A**", "\n\n**B**"]
    [(_, _, envelope)] = values(events)
    [unit] = envelope.units
    assert msgspec.to_builtins(unit) == {
        "seq": 0,
        "lengths": (5, 5),
        "sha256": digest("**A**\n\n**B**"),
        "part": {
            "kind": "reasoning",
            "item_id": "rs_1",
            "segments": ({"channel": "summary"}, {"channel": "summary", "index": 1}),
        },
    }


@law("E2")
def test_flat_reasoning_that_resumes_is_another_message_of_the_same_unit() -> None:
    events = emit(
        ReasoningDelta("a", key="r"),
        CloseDelta(key="r"),
        TextDelta("answer"),
        ReasoningDelta("b", key="r"),
        CloseDelta(key="r"),
    )
    reasoning = [envelope.units[0] for _, _, envelope in values(events)[:2]]
    assert [(unit.seq, unit.stretch, unit.sha256) for unit in reasoning] == [
        (0, 0, digest("a")),
        (0, 1, digest("b")),
    ]


@law("E2")
def test_adjacent_texts_share_one_message_and_their_boundaries_ride_in_the_envelope() -> None:
    events = emit(ReasoningDelta("r"), TextDelta("one", key="1"), TextDelta("two", key="2"))
    assert types(events).count("TEXT_MESSAGE_START") == 1
    _, entity, envelope = values(events)[-1]
    assert entity == "id3"
    assert [msgspec.to_builtins(unit.spans) for unit in envelope.units[1:]] == [
        ({"message": "id1", "start": 0, "length": 3},),
        ({"message": "id1", "start": 3, "length": 3},),
    ]


@law("E3")
def test_nothing_is_sent_for_what_is_empty() -> None:
    assert (
        emit(ReasoningDelta(""), TextDelta(""), ResponseStart(CLAUDE), CloseDelta(), FinishDelta("stop"))
        == []
    )


@pytest.mark.parametrize(
    "present",
    [
        [OpaqueDelta(SIGNATURE, key="r")],
        [ReasoningDelta(key="r", item_id="rs_1")],
        [ReasoningDelta(key="r", ext={"explicit_empty": True})],
    ],
    ids=["value", "item id", "explicitly empty"],
)
def test_a_unit_without_text_is_a_message_without_content(present: list[Any]) -> None:
    assert types(emit(*present)) == [
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_END",
        "REASONING_ENCRYPTED_VALUE",
        "REASONING_END",
    ]


@law("E3")
def test_leading_white_space_waits_for_text() -> None:
    events = emit(
        ReasoningDelta("\n"), ReasoningDelta(" "), ReasoningDelta("a"), TextDelta("\n\n"), TextDelta("b")
    )
    assert [row[2] for row in brief(events) if row[0].endswith("CONTENT")] == ["\n a", "\n\nb"]


@law("E3")
def test_white_space_alone_rides_in_the_envelope_only() -> None:
    events = emit(ReasoningDelta("\n"), TextDelta("\n\n"), ToolCallDelta("c", "f", "{}"))
    assert not [row for row in brief(events) if row[0].endswith("CONTENT")]
    assert "TEXT_MESSAGE_START" not in types(events)
    _, _, envelope = values(events)[-1]
    reasoning, text, _ = [msgspec.structs.asdict(unit.part) for unit in envelope.units]
    assert reasoning["segments"][0].text == "\n"
    assert text["text"] == "\n\n"


@law("E5")
def test_a_value_on_a_call_and_one_on_text_reach_their_entities_and_the_last_reasoning() -> None:
    events = emit(
        ReasoningDelta("r"),
        TextDelta("t"),
        OpaqueDelta(Opaque("gemini.thought_signature", "ON-TEXT", attach="text")),
        ToolCallDelta("c", "f", "{}"),
        OpaqueDelta(Opaque("gemini.thought_signature", "ON-CALL", attach="tool_call:c")),
    )
    carried = [
        (subtype, entity, [o.value for unit in e.units for o in unit.part.opaque])
        for subtype, entity, e in values(events)
    ]
    assert carried == [
        ("message", "id3", []),
        ("message", "id1", ["ON-TEXT"]),
        ("tool-call", "c", ["ON-CALL"]),
        ("message", "id3", ["ON-TEXT", "ON-CALL"]),
    ]


@law("E5")
def test_a_value_that_waits_for_its_call_is_delivered_when_the_call_begins() -> None:
    early = OpaqueDelta(Opaque("gemini.thought_signature", "EARLY", attach="tool_call:c"))
    events = emit(ReasoningDelta("r"), early, ToolCallDelta("c", "f", "{}"))
    assert ("tool-call", "c") in [(subtype, entity) for subtype, entity, _ in values(events)]


def test_a_value_whose_call_never_comes_is_kept_on_a_unit_of_its_own() -> None:
    orphan = OpaqueDelta(Opaque("gemini.thought_signature", "ORPHAN", attach="tool_call:c"))
    [(subtype, _, envelope)] = values(emit(orphan))
    assert (subtype, envelope.units[0].part.opaque[0].value) == ("message", "ORPHAN")


@law("E5")
def test_a_late_value_is_delivered_to_its_unit() -> None:
    events = emit(
        ReasoningDelta("r", key="0"), CloseDelta(key="0"), TextDelta("t"), OpaqueDelta(SIGNATURE, key="0")
    )
    carried = [
        [o.value for o in e.units[0].part.opaque] for _, entity, e in values(events) if entity == "id3"
    ]
    assert carried == [[], ["SIG"]]


@law("E6")
def test_native_parts_and_results_ride_verbatim_in_the_last_value_of_the_response() -> None:
    block = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"encrypted_content": "X"}]}
    events = emit(
        ReasoningDelta("r"),
        ToolCallDelta("s", "web_search", "{}", server=True),
        ToolResultDelta("s", "[]", native=block),
        NativeDelta("openai.compaction", {"encrypted_content": "Y"}),
        TextDelta("t"),
    )
    _, entity, envelope = values(events)[-1]
    assert entity == "id3"
    kept = {unit.part.__struct_config__.tag: msgspec.structs.asdict(unit.part) for unit in envelope.units}
    assert kept["result"]["native"] == block
    assert kept["native"]["payload"] == {"encrypted_content": "Y"}
    assert kept["call"]["server"] is True


@law("E6")
def test_the_superset_goes_out_before_the_result_of_the_agents_tool() -> None:
    events = emit(ReasoningDelta("r"), ToolCallDelta("c", "f"), ToolResultDelta("c", "ok"))
    assert types(events)[-3:] == ["TOOL_CALL_END", "REASONING_ENCRYPTED_VALUE", "TOOL_CALL_RESULT"]


@law("E6")
def test_without_reasoning_a_required_value_opens_an_anchor() -> None:
    signature = OpaqueDelta(Opaque("gemini.openai_compat_signature", "SIG", attach="tool_call:c"))
    required = emit(ResponseStart(GEMINI), ToolCallDelta("c", "f"), signature)
    assert types(required)[-5:] == [
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_END",
        "REASONING_ENCRYPTED_VALUE",
        "REASONING_END",
    ]
    assert values(required)[-1][2].units[0].part.opaque[0].value == "SIG"
    [opened] = [event for event in required if event["type"] == "REASONING_MESSAGE_START"]
    assert opened["metadata"] == {"agui-reasoning": {"response": "id0", "empty": True}}


@law("E6")
@pytest.mark.parametrize(
    ("origin", "anchors", "opened"),
    [
        (GEMINI, "never", 0),
        (UNKNOWN, "required", 0),
        (UNKNOWN, "auto", 0),
        (UNKNOWN, "always", 1),
        (GEMINI, "required", 1),
        (GEMINI, "auto", 1),
        (GEMINI_2_5, "required", 0),
        (GEMINI_2_5, "auto", 1),
        (Origin("google", "openai-chat", "gemini-2.5-flash"), "auto", 1),
        (Origin("google-vertex", "openai-chat", "google/gemini-2.5-pro"), "auto", 1),
        (Origin("litellm", "openai-chat", "gemini/gemini-2.5-pro"), "auto", 1),
        (Origin("gemini", "litellm", "gemini/gemini-2.5-pro"), "auto", 1),
    ],
)
def test_anchors_follow_the_policy_and_the_option(origin: Origin, anchors: Any, opened: int) -> None:
    signature = OpaqueDelta(Opaque("gemini.openai_compat_signature", "SIG", attach="tool_call:c"))
    events = emit(ResponseStart(origin), ToolCallDelta("c", "f"), signature, anchors=anchors)
    assert types(events).count("REASONING_MESSAGE_START") == opened
    assert any("SIG" in event.get("encryptedValue", "") for event in events)


LAST_TEXT = [TextDelta("t"), OpaqueDelta(Opaque("gemini.thought_signature", "SIG", "base64", attach="text"))]
NOTHING = [ReasoningDelta(ext={"field": "reasoning_content", "explicit_empty": True}), TextDelta("t")]
CALL = ToolCallDelta("c", "f", "{}")


@pytest.mark.parametrize(
    ("origin", "deltas", "opened"),
    [
        (Origin("google", "gemini", "gemini-3-pro-preview"), LAST_TEXT, 1),
        (GEMINI_2_5, LAST_TEXT, 1),
        (Origin("google", "gemini", "gemini-3-pro-preview"), [*LAST_TEXT, CALL], 1),
        (GEMINI_2_5, [*LAST_TEXT, CALL], 1),
        (Origin("xai", "xai-grpc", "grok-4"), LAST_TEXT, 1),
        (Origin("deepseek", "openai-chat", "deepseek-v4"), NOTHING, 0),
        (Origin("deepseek", "openai-chat", "deepseek-v4"), [*NOTHING, CALL], 0),
        (Origin("zai", "openai-chat", "glm-5"), [*NOTHING, CALL], 0),
        (Origin("zai-coding-plan", "openai-chat", "glm-5"), [*NOTHING, CALL], 1),
    ],
    ids=lambda value: value.provider if isinstance(value, Origin) else None,
)
def test_only_reasoning_that_says_nothing_may_ride_on_the_answer_alone(
    origin: Origin, deltas: list[Any], opened: int
) -> None:
    """assistant-ui drops values of answers; what DeepSeek misses is a placeholder in the request."""
    events = emit(ResponseStart(origin), *deltas)
    assert types(events).count("REASONING_MESSAGE_START") == opened
    assert {entity for _, entity, _ in values(events)} >= ({"id1"} if deltas[0] is LAST_TEXT[0] else set())
    assert values(events)
    assert types(emit(ResponseStart(origin), *deltas, anchors="always")).count("REASONING_MESSAGE_START") == 1


def test_a_response_of_native_parts_alone_gets_an_anchor_or_a_warning() -> None:
    native = NativeDelta("openai.compaction", {"encrypted_content": "Y"})
    assert "REASONING_MESSAGE_START" in types(emit(native))
    heard: list[str] = []
    assert emit(native, anchors="never", on_warning=heard.append) == []
    assert len(heard) == 1


def test_text_and_calls_alone_have_no_envelope() -> None:
    events = emit(ResponseStart(CLAUDE), TextDelta("t"), ToolCallDelta("c", "f", "{}"))
    assert values(events) == []


@law("E7")
def test_history_keeps_the_order_reasoning_text_call() -> None:
    client = replay_of(
        ReasoningDelta("r1"),
        TextDelta("t1"),
        ToolCallDelta("a", "f"),
        ToolCallDelta("b", "f"),
        TextDelta("t2"),
        ReasoningDelta("r2"),
        ToolCallDelta("c", "f"),
    )
    assert [(m["role"], [c["id"] for c in m.get("toolCalls", ())]) for m in client.messages] == [
        ("reasoning", []),
        ("assistant", ["a", "b"]),
        ("assistant", []),
        ("reasoning", []),
        ("assistant", ["c"]),
    ]


def replay_of(*items: Any) -> Any:
    emitter = Emitter()
    return replay([event for item in items for event in emitter.receive(item)] + emitter.close())


@law("E8")
def test_hints_say_place_and_which_reasoning_a_call_followed() -> None:
    events = emit(ReasoningDelta("r"), ToolCallDelta("a", "f"), ToolCallDelta("b", "f"))
    hints = [event["metadata"]["agui-reasoning"] for event in events if "metadata" in event]
    assert hints == [
        {"response": "id0", "seq": 0},
        {"response": "id0", "seq": 1, "reasoning": ["id3"]},
        {"response": "id0", "seq": 2, "sharesReasoningOf": "a"},
    ]


@law("E10")
def test_a_server_tool_without_a_result_gets_an_empty_one_at_the_end() -> None:
    events = emit(ToolCallDelta("s", "web_search", "{}", server=True), FinishDelta("pause_turn"))
    assert brief(events)[-1] == ("TOOL_CALL_RESULT", "s", "")
    paused = emit(
        ToolCallDelta("s", "web_search", "{}", server=True),
        FinishDelta("pause_turn"),
        ToolResultDelta("s", "found", native={"type": "web_search_tool_result"}),
    )
    assert [row for row in brief(paused) if row[0] == "TOOL_CALL_RESULT"] == [
        ("TOOL_CALL_RESULT", "s", "found")
    ]


@law("E11")
def test_an_abort_closes_in_order_discards_the_unfinished_value_and_marks_the_unit() -> None:
    events = emit(
        ReasoningDelta("r", key="0"), OpaqueDelta(SIGNATURE, key="0", append=True), TextDelta("t"), abort=True
    )
    assert types(events)[-5:] == [
        "REASONING_MESSAGE_END",
        "REASONING_ENCRYPTED_VALUE",
        "REASONING_END",
        "TEXT_MESSAGE_END",
        "REASONING_ENCRYPTED_VALUE",  # once more, because the answer was cut too
    ]
    part = values(events)[-1][2].units[0].part
    assert (part.status, part.opaque) == ("incomplete", ())


def test_a_unit_that_ended_before_the_abort_stays_complete() -> None:
    events = emit(
        ReasoningDelta("r", key="0"), OpaqueDelta(SIGNATURE, key="0"), CloseDelta(key="0"), abort=True
    )
    part = values(events)[-1][2].units[0].part
    assert (part.status, part.opaque[0].value) == ("complete", "SIG")


def test_a_length_limit_reported_after_the_block_marks_it() -> None:
    events = emit(ReasoningDelta("r", key="0"), CloseDelta(key="0"), CloseDelta(key="0", status="incomplete"))
    assert [e.units[0].part.status for _, _, e in values(events)] == ["complete", "incomplete"]


@law("E1")
def test_a_call_id_that_is_missing_or_used_is_minted_and_the_native_one_kept() -> None:
    events = emit(
        ReasoningDelta("r"),
        ToolCallDelta("", "f", "{}"),
        ToolCallDelta("old", "f", "{}"),
        used_call_ids=["old"],
    )
    calls = [event["toolCallId"] for event in events if event["type"] == "TOOL_CALL_START"]
    assert "old" not in calls
    assert "" not in calls
    rest = values(events)[-1][2].units[1:]
    assert [(unit.id, unit.part.id) for unit in rest] == [
        (calls[0], ""),
        (calls[1], "old"),
    ]


@law("E1")
def test_a_result_finds_a_call_whose_id_was_minted() -> None:
    events = emit(ToolCallDelta("old", "f"), ToolResultDelta("old", "ok"), used_call_ids=["old"])
    start = next(event for event in events if event["type"] == "TOOL_CALL_START")
    assert events[-1]["toolCallId"] == start["toolCallId"] != "old"


@law("E1")
def test_provider_ids_never_become_message_ids() -> None:
    events = emit(ResponseStart(CLAUDE, id="msg_1"), ReasoningDelta("r", item_id="rs_1"), TextDelta("t"))
    ids = {event.get("messageId") for event in events}
    assert not ids & {"msg_1", "rs_1"}


@law("E13")
def test_a_clock_stamps_openers_and_closers_and_times_the_reasoning() -> None:
    ticks = count(1000, 10)
    events = emit(ReasoningDelta("r"), TextDelta("t"), ToolCallDelta("c", "f", "{}"), now_ms=ticks.__next__)
    stamped = [event["type"] for event in events if "timestamp" in event]
    assert stamped == [
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_END",
        "REASONING_END",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_END",
        "TOOL_CALL_START",
        "TOOL_CALL_END",
    ]
    end = next(event for event in events if event["type"] == "REASONING_MESSAGE_END")
    assert end["metadata"]["agui-reasoning"] == {"response": "id0", "seq": 0, "durationMs": 10}


@law("E15")
def test_a_surrogate_pair_cut_in_two_is_one_character_and_a_lone_half_is_replaced() -> None:
    events = emit(
        ReasoningDelta("a\ud83d", key="0"),
        ReasoningDelta("\ude00", key="0"),
        ReasoningDelta("\ud83d", key="0"),
        CloseDelta(key="0"),
        TextDelta("\ude00b"),
    )
    assert [row[2] for row in brief(events) if row[0].endswith("CONTENT")] == ["a", "😀", "�", "�b"]


def test_parts_are_emitted_as_their_deltas_are() -> None:
    parts = [
        ReasoningPart((Segment("text", 0, "r"),), (SIGNATURE,), origin=CLAUDE),
        TextPart("t", origin=CLAUDE),
        ToolCallPart("c", "f", "{}", origin=CLAUDE),
        NativePart("openai.compaction", {"a": 1}, origin=CLAUDE),
    ]
    deltas = [
        ResponseStart(CLAUDE),
        ReasoningDelta("r", key="0"),
        OpaqueDelta(SIGNATURE, key="0"),
        CloseDelta(key="0"),
        TextDelta("t"),
        ToolCallDelta("c", "f", "{}"),
        NativeDelta("openai.compaction", {"a": 1}),
    ]
    assert emit(*parts) == emit(*deltas)


def test_counts_are_kept_per_response_and_the_last_value_of_a_field_wins() -> None:
    emitter = Emitter()
    emitter.receive(UsageDelta(model="m", input_tokens=1, output_tokens=1))
    emitter.receive(UsageDelta(output_tokens=5))
    emitter.receive(FinishDelta("stop"))
    emitter.receive(UsageDelta(reasoning_tokens=2))
    emitter.receive(ReasoningDelta("next"))
    emitter.receive(UsageDelta(model="m", output_tokens=7))
    assert emitter.usage == (
        UsageDelta(model="m", input_tokens=1, output_tokens=5, reasoning_tokens=2),
        UsageDelta(model="m", output_tokens=7),
    )


@pytest.mark.parametrize("name", ["__aiter__", "__iter__", "__await__", "__aenter__", "__enter__"])
def test_the_hint_for_what_may_be_a_models_stream_names_model_stream(name: str) -> None:
    item = type("Stream", (), {name: lambda self: self})()
    with pytest.raises(LocalProtocolError) as caught:
        Emitter().receive(item)
    assert "ModelStream" in caught.value.hint


@pytest.mark.parametrize("item", [None, "text", {"messageId": "m"}, object()])
def test_what_is_no_item_is_refused_and_changes_nothing(item: Any) -> None:
    emitter = Emitter()
    emitter.receive(ReasoningDelta("r"))
    with pytest.raises(LocalProtocolError) as caught:
        emitter.receive(item)
    assert caught.value.code == "not_an_item"
    assert types(plain(emitter.close()))[0] == "REASONING_MESSAGE_END"


def test_what_is_too_large_for_one_value_goes_on_further_ones() -> None:
    heard: list[str] = []
    events = emit(OpaqueDelta(Opaque("anthropic.signature", "x" * 1_100_000)), on_warning=heard.append)
    assert [len(value) <= MAX_ENVELOPE_CHARS for value in values_of(events)] == [True, True]
    assert types(events).count("REASONING_MESSAGE_START") == 2
    assert heard == []


def values_of(events: list[dict[str, Any]]) -> list[str]:
    return [event["encryptedValue"] for event in events if "encryptedValue" in event]
