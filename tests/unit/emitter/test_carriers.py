"""Test which reasoning opens a message, which shares one, and what the values say of both."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest

from agui_reasoning import Emitter
from agui_reasoning.audit import AuditRecord
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    fold,
)
from agui_reasoning.parts import Opaque, Origin, Part, ReasoningPart, ToolResultPart
from agui_reasoning.request import build_request, restore
from agui_reasoning.testing import FRONT_ENDS, tanstack
from tests.internals.envelopes import MAX_ENVELOPE_CHARS, read_envelope
from tests.laws import law
from tests.support.verifier import Client, plain, replay

CLAUDE = Origin("anthropic", "anthropic-messages", "claude")
KEYS = KeyRing({"k1": bytes(range(32))})
SEALED: dict[str, Any] = {"keys": KEYS, "thread_id": "thread"}
HOW: list[dict[str, Any]] = [
    {},
    SEALED,
    {**SEALED, "visibility": "summary"},
    {**SEALED, "visibility": "hidden"},
]


def emit(*deltas: Delta | Part, abort: bool = False, **options: Any) -> list[dict[str, Any]]:
    numbers = count()
    emitter = Emitter(new_id=lambda: f"id{next(numbers)}", **options)
    events = [event for delta in deltas for event in emitter.receive(delta)]
    return plain(events + (emitter.abort() if abort else emitter.close()))


def types(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"].removeprefix("REASONING_") for event in events]


def told(events: list[dict[str, Any]]) -> list[tuple[str, list[int]]]:
    """Each plain value: its message, and the units it tells of."""
    found = []
    for event in events:
        if "encryptedValue" in event:
            envelope = read_envelope(event["encryptedValue"])
            assert envelope is not None
            found.append((event["entityId"], [unit.seq for unit in envelope.units]))
    return found


def test_the_values_of_a_response_are_numbered_in_the_order_of_sending() -> None:
    events = emit(*signed("Hm.", "S", "0"), *redacted("R", "1"), TextDelta("Yes."), *redacted("R", "2"))
    values = [read_envelope(event["encryptedValue"]) for event in events if "encryptedValue" in event]
    assert [value.response.number for value in values if value] == [*range(len(values))]
    assert len(values) > 2


def redacted(value: str, key: str) -> list[Delta]:
    return [OpaqueDelta(Opaque("anthropic.redacted_thinking", value), key=key), CloseDelta(key=key)]


def signed(text: str, value: str, key: str) -> list[Delta]:
    signature = OpaqueDelta(Opaque("anthropic.signature", value), key=key)
    return [ReasoningDelta(text, key=key), signature, CloseDelta(key=key)]


@law("E4")
def test_the_first_unit_opens_a_message_without_text_and_the_next_with_text_takes_it_over() -> None:
    events = emit(*redacted("R", "0"), *signed("Hm.", "S", "1"), TextDelta("Yes."))
    assert types(events) == [
        *("START", "MESSAGE_START", "MESSAGE_CONTENT", "MESSAGE_END", "ENCRYPTED_VALUE", "END"),
        *("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"),
    ]
    assert told(events) == [("id3", [1, 0])]


@law("E4")
def test_the_message_opens_as_soon_as_there_is_a_unit() -> None:
    emitter = Emitter()
    first = emitter.receive(redacted("R", "0")[0])
    assert types(plain(first)) == ["START", "MESSAGE_START"]


def test_a_later_unit_without_text_rides_along_with_the_message_before_it() -> None:
    events = emit(*signed("Hm.", "S", "0"), *redacted("R", "1"), TextDelta("Yes."))
    assert types(events).count("MESSAGE_START") == 1
    assert told(events) == [("id3", [0]), ("id3", [0, 1])]


@law("E4")
@pytest.mark.parametrize("between", [TextDelta("Well."), ToolCallDelta("c", "f", "{}")])
def test_what_follows_text_or_a_call_does_not_take_the_message_over(between: Delta) -> None:
    events = emit(*redacted("R", "0"), between, *signed("Hm.", "S", "1"), TextDelta("Yes."))
    assert types(events).count("MESSAGE_START") == 2
    empty, shown = (event["messageId"] for event in events if event["type"].endswith("ING_MESSAGE_START"))
    assert [event["messageId"] for event in events if event["type"].endswith("ING_MESSAGE_CONTENT")] == [
        shown
    ]
    assert told(events)[0] == (empty, [0])
    assert told(events)[-1] == (shown, [2, 0, 1, 3])


def test_a_unit_that_is_under_way_may_give_the_message_text_after_the_answer_has_begun() -> None:
    item = ReasoningDelta(key="0", item_id="rs_1")
    events = emit(item, TextDelta("Yes."), ReasoningDelta("Hm.", key="0"))
    assert types(events).count("MESSAGE_START") == 1


@law("E4")
def test_there_is_one_empty_message_at_most() -> None:
    deltas = [d for n in range(4) for d in (*redacted(f"R{n}", f"{n}"), TextDelta(f"{n}.", key=f"t{n}"))]
    events = emit(*deltas)
    assert types(events).count("MESSAGE_START") == 1
    spans = [event["messageId"] for event in events if event["type"] == "REASONING_START"]
    [message] = [event["messageId"] for event in events if event["type"] == "REASONING_MESSAGE_START"]
    assert spans[1:] == [message] * (len(spans) - 1)


@law("E4")
@pytest.mark.parametrize(("options", "messages"), [(SEALED, 1), ({}, 0)])
def test_hidden_has_one_message_with_keys_and_none_without(options: dict[str, Any], messages: int) -> None:
    deltas = [
        d for n in range(3) for d in (ReasoningDelta("Hm.", key=f"{n}"), TextDelta("Yes.", key=f"t{n}"))
    ]
    acme = ResponseStart(Origin("acme", "openai-chat", "model"))
    assert types(emit(acme, *deltas, visibility="hidden", **options)).count("MESSAGE_START") == messages


def test_the_value_is_sent_again_when_something_follows_and_when_the_response_is_aborted() -> None:
    events = emit(*signed("Hm.", "S", "0"), *redacted("R", "1"), TextDelta("Ye"), abort=True)
    assert told(events) == [("id3", [0]), ("id3", [0, 1]), ("id3", [0, 1, 2])]


FOLLOWERS: dict[str, list[Delta]] = {
    "text": [TextDelta("Yes.")],
    "a call": [ToolCallDelta("c", "f")],
    "a search": [ToolCallDelta("s", "search", "{}", server=True)],
}
REASONING: list[Delta] = [ReasoningDelta("So.", key="2")]
FOLLOWED = [(follower, how) for follower in FOLLOWERS.values() for how in HOW]


# In ``hidden``, the only message is still open when more reasoning follows.
@pytest.mark.parametrize(("follower", "options"), [*FOLLOWED, *((REASONING, how) for how in HOW[:3])])
def test_a_client_that_stops_in_what_follows_has_the_units_without_text(
    follower: list[Delta], options: dict[str, Any]
) -> None:
    numbers = count()
    emitter = Emitter(new_id=lambda: f"id{next(numbers)}", **options)
    deltas = [ResponseStart(CLAUDE), *signed("Hm.", "S", "0"), *redacted("R", "1"), *follower]
    events = plain([event for delta in deltas for event in emitter.receive(delta)])
    reading = {k: v for k, v in options.items() if k != "visibility"}
    client = Client(framed=False)
    client.feed(events)
    [turn] = [turn for turn in restore(client.messages, **reading).turns if turn.origin]
    values = [value.value for part in turn.parts for value in getattr(part, "opaque", ())]
    assert values == ["S", "R"]


@law("E7")
def test_a_value_that_is_sent_again_contains_the_names_of_the_one_it_replaces() -> None:
    before = [ToolCallDelta("b", "f", "{}"), FinishDelta("tool_use"), ToolResultPart("b", "", error="Lost.")]
    signs = [*signed("Hm.", "S", "0"), *redacted("R", "1"), ToolCallDelta("c", "f"), TextDelta("Yes.")]
    events = emit(*before, *signs)
    values = [event["encryptedValue"] for event in events if "encryptedValue" in event]
    first, again, last = (read_envelope(value) for value in values)
    assert first
    assert again
    assert last
    assert again.response.messages == first.response.messages != ()
    assert again.response.failed == first.response.failed == ("b",)
    assert last.response.calls == ("c",)


def test_a_unit_that_is_still_open_is_not_sent_before_it_ends() -> None:
    carried = OpaqueDelta(Opaque("anthropic.redacted_thinking", "R"), key="1")
    events = emit(*signed("Hm.", "S", "0"), carried, TextDelta("Yes."), CloseDelta(key="1"))
    assert told(events) == [("id3", [0]), ("id3", [0, 1])]


def test_a_unit_without_text_before_the_message_and_one_after_it_are_both_in_its_value() -> None:
    events = emit(*redacted("R", "0"), *signed("Hm.", "S", "1"), *redacted("Q", "2"), ToolCallDelta("c", "f"))
    assert told(events)[:2] == [("id3", [1, 0]), ("id3", [1, 0, 2])]


def test_a_value_is_not_sent_twice_when_nothing_follows() -> None:
    events = emit(*signed("Hm.", "S", "0"), *redacted("R", "1"), FinishDelta("stop"))
    assert told(events) == [("id3", [0]), ("id3", [0, 1])]


@pytest.mark.parametrize(
    "late",
    [
        ReasoningDelta("", key="0", item_id="rs_1"),
        ReasoningDelta("", key="0", ext={"name": "n"}),
        OpaqueDelta(Opaque("anthropic.signature", "T"), key="0"),
        CloseDelta(key="0", status="incomplete"),
    ],
)
def test_what_changes_reasoning_after_its_value_is_in_the_last_value(late: Delta) -> None:
    before = [*signed("Hm.", "S", "0"), TextDelta("Yes.")]
    assert len(told(emit(*before))) == 1
    values = [event for event in emit(*before, late) if "encryptedValue" in event]
    last = read_envelope(values[-1]["encryptedValue"])
    assert len(values) == 2
    assert last is not None
    assert [unit.seq for unit in last.units] == [0]


def test_a_value_is_sent_again_when_it_has_twice_as_many_units() -> None:
    units = [d for n in range(1, 9) for d in (*redacted(f"R{n}", f"{n}"), TextDelta(f"{n}.", key=f"t{n}"))]
    events = emit(*signed("Hm.", "S", "0"), *units)
    assert [len(seqs) for _, seqs in told(events)] == [1, 2, 4, 8, 17]


@law("E4")
def test_units_never_ride_across_responses() -> None:
    events = emit(
        *signed("Hm.", "S", "0"), FinishDelta("tool_use"), *redacted("R", "0"), FinishDelta("end_turn")
    )
    assert [len(seqs) for _, seqs in told(events)] == [1, 1]
    assert types(events).count("MESSAGE_START") == 2


@law("E4")
def test_an_altered_text_drops_its_own_signature_and_not_those_that_ride_along() -> None:
    deltas = [ResponseStart(CLAUDE), *signed("Hm.", "S", "0"), *redacted("R", "1"), TextDelta("Yes.")]
    messages = replay(emit(*deltas)).messages
    messages[0]["content"] = "Hm!"
    history = restore(messages)
    name = messages[0]["id"]
    assert [(e.unit, e.outcome, e.reason) for e in history.report] == [
        (name, "dropped", "text_modified"),
        (name, "restored", ""),
    ]
    values = [value.value for part in history.turns[0].parts for value in getattr(part, "opaque", ())]
    assert values == ["R"]


@pytest.mark.parametrize("options", HOW)
@pytest.mark.parametrize("front_end", [*FRONT_ENDS, "none"])
def test_an_answer_with_one_text_keeps_everything_in_every_front_end(
    front_end: str, options: dict[str, Any]
) -> None:
    call = ToolCallDelta("toolu_1", "f", '{"a":1}')
    deltas = [
        ResponseStart(CLAUDE),
        *redacted("R0", "0"),
        *signed("Hm.", "S", "1"),
        *redacted("R2", "2"),
        call,
    ]
    held = [{"id": "u", "role": "user", "content": "Hi."}, *replay(emit(*deltas, **options)).messages]
    held.append({"id": "t", "role": "tool", "toolCallId": "toolu_1", "content": "1"})
    returned = FRONT_ENDS.get(front_end, list)(held)
    reading = {k: v for k, v in options.items() if k != "visibility"}
    request = build_request(
        "anthropic-messages", returned, provider="anthropic", model="claude", on_warning=print, **reading
    )
    assert [entry.outcome for entry in request.report] == ["echoed"] * 3
    assert len({entry.unit for entry in request.report}) == 1
    assert request.body["messages"][1]["content"] == [
        {"type": "redacted_thinking", "data": "R0"},
        {"type": "thinking", "thinking": "Hm.", "signature": "S"},
        {"type": "redacted_thinking", "data": "R2"},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}},
    ]


def test_a_signature_and_then_a_redacted_value_are_two_units() -> None:
    parts = fold(
        [
            ReasoningDelta("Hm."),
            OpaqueDelta(Opaque("anthropic.signature", "S")),
            OpaqueDelta(Opaque("anthropic.redacted_thinking", "R")),
            OpaqueDelta(Opaque("anthropic.redacted_thinking", "Q")),
            OpaqueDelta(Opaque("anthropic.signature", "T")),
        ]
    )
    assert [[value.value for value in part.opaque] for part in parts if isinstance(part, ReasoningPart)] == [
        ["S"],
        ["R"],
        ["Q"],
        ["T"],
    ]


@pytest.mark.parametrize("options", HOW)
def test_what_an_auditor_hears_of_what_was_sent_and_of_what_came_back_agrees(options: dict[str, Any]) -> None:
    heard: list[AuditRecord] = []
    deltas = [
        ResponseStart(CLAUDE),
        *redacted("R0", "0"),
        ReasoningDelta("One.", key="1", index=0),
        ReasoningDelta("Two.", key="1", index=1),
        OpaqueDelta(Opaque("anthropic.signature", "S"), key="1"),
        CloseDelta(key="1"),
        *redacted("R2", "2"),
        ToolCallDelta("c", "f", "{}"),
        OpaqueDelta(Opaque("gemini.thought_signature", "V", attach="tool_call:c")),
    ]
    messages = replay(emit(*deltas, on_audit=heard.append, **options)).messages
    origin = ("emitted", CLAUDE.provider, CLAUDE.api, CLAUDE.model)
    assert [(r.action, r.provider, r.api, r.model) for r in heard] == [origin] * 4
    sent = [(r.unit, r.text_chars, r.opaque_chars, r.value_chars > 0) for r in heard]
    heard.clear()
    reading = {k: v for k, v in options.items() if k != "visibility"}
    restore(messages, on_audit=heard.append, **reading)
    assert [(r.unit, r.text_chars, r.opaque_chars, r.value_chars > 0) for r in heard] == sent
    assert [r.outcome for r in heard] == ["restored"] * 4


LARGE = 5_000_000
SIGNED = Opaque("anthropic.signature", "S" * LARGE)


@pytest.mark.parametrize("options", [{}, SEALED, {**SEALED, "visibility": "hidden"}])
@pytest.mark.parametrize(
    "deltas",
    [
        [ReasoningDelta("Hm.", key="0"), OpaqueDelta(SIGNED, key="0"), TextDelta("Yes.")],
        [ReasoningDelta("word " * (LARGE // 5), key="0"), *redacted("R", "1"), TextDelta("Yes.")],
        [d for n in range(50) for d in redacted(f"{n}" * (LARGE // 75), f"{n}")],
        [
            TextDelta("Yes."),
            ToolCallDelta("s", "image", "{}", server=True),
            OpaqueDelta(Opaque("anthropic.x", "V" * LARGE, attach="tool_call:s")),
        ],
        [*signed("One.", "S" * 700_000, "0"), *signed("Two.", "T" * 700_000, "1"), TextDelta("Yes.")],
        *(
            [*signed("One.", "S" * size, "0"), *signed("Two.", "T", "1"), *signed("Three.", "U", "2")]
            for size in (850_000, 1_100_000)  # too large for the message's own value with keys, and without
        ),
    ],
    ids=[
        *("a signature", "a text", "many units", "a call", "two signatures"),
        *("a signature before others, with keys", "a signature before others, without keys"),
    ],
)
def test_a_response_of_five_megabytes_restores_whole(deltas: list[Delta], options: dict[str, Any]) -> None:
    deltas = [ResponseStart(CLAUDE), *deltas]
    events = emit(*deltas, **options)
    values = [event["encryptedValue"] for event in events if "encryptedValue" in event]
    assert max(map(len, values)) <= MAX_ENVELOPE_CHARS
    if not options:
        numbers = [envelope.response.number for value in values if (envelope := read_envelope(value))]
        assert numbers == [*range(len(values))]
    reading = {k: v for k, v in options.items() if k != "visibility"}
    held = replay(events).messages
    for returned in (held, FRONT_ENDS["copilotkit"](held), FRONT_ENDS["assistant-ui"](held)):
        [turn] = restore(returned, **reading).turns
        assert list(turn.parts) == list(fold(deltas))


def test_a_slice_that_is_missing_is_told_and_nothing_else_is_lost() -> None:
    events = emit(ResponseStart(CLAUDE), OpaqueDelta(SIGNED, key="0"), *redacted("R", "1"), TextDelta("Yes."))
    messages = replay(events).messages
    held = [m for m in messages if m["role"] == "reasoning"]
    messages.remove(held[-2])
    history = restore(messages)
    assert {(entry.outcome, entry.reason) for entry in history.report} >= {("dropped", "part_missing")}
    assert json.dumps([turn.origin.provider for turn in history.turns if turn.origin]) == '["anthropic"]'


def test_merged_reasoning_keeps_what_rides_along() -> None:
    deltas = [
        *(ResponseStart(CLAUDE), *signed("One.", "S", "0"), TextDelta("Well.")),
        *(*signed("Two.", "T", "1"), *redacted("R", "2"), ToolCallDelta("c", "f", "{}")),
    ]
    messages = replay(emit(*deltas)).messages
    [turn] = [t for t in restore(tanstack(messages)).turns if t.origin]
    values = [value.value for part in turn.parts for value in getattr(part, "opaque", ())]
    assert values == ["R"]


def test_values_name_the_origin_that_the_options_name() -> None:
    options = {"provider": CLAUDE.provider, "api": CLAUDE.api, "model": CLAUDE.model}
    events = emit(*signed("Hm.", "S", "0"), **options)
    found = [read_envelope(event["encryptedValue"]) for event in events if "encryptedValue" in event]
    assert {envelope.origin for envelope in found if envelope} == {CLAUDE}


def test_a_message_without_a_unit_of_its_own_belongs_to_the_first_that_it_carries() -> None:
    times = count()
    events = emit(*redacted("R0", "0"), *redacted("R1", "1"), TextDelta("Yes."), now_ms=lambda: next(times))
    [end] = [event for event in events if event["type"] == "REASONING_MESSAGE_END"]
    assert end["metadata"]["agui-reasoning"]["seq"] == 0


def test_hidden_reasoning_that_ends_with_a_call_loses_nothing_of_the_call() -> None:
    deltas = [ToolCallDelta("c", "f", "{}"), ReasoningDelta("Hm.", key="0"), FinishDelta("tool_use")]
    events = emit(*deltas, visibility="hidden")
    assert [kind for kind in types(events) if kind.startswith("TOOL_CALL")] == [
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
    ]
