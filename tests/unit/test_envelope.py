"""Envelopes: what is written reads back, and what comes back is not trusted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_reasoning.envelope import (
    MAX_ENVELOPE_CHARS,
    CallRecord,
    Envelope,
    NativeRecord,
    OpaqueRecord,
    OriginRecord,
    Place,
    ReasoningRecord,
    ResultRecord,
    SegmentRecord,
    Span,
    TextRecord,
    read_envelope,
    write_envelope,
)
from agui_reasoning.parts import Opaque, Origin

FULL = Envelope(
    origin=OriginRecord.of(Origin("anthropic", "anthropic-messages", "claude")),
    response=Place(id="r", native_id="msg_1", messages=("m1",), calls=("c1",)),
    unit=ReasoningRecord(
        kind="reasoning",
        seq=0,
        item_id="rs_1",
        segments=(SegmentRecord(channel="summary", index=1, length=3),),
        opaque=(OpaqueRecord.of(Opaque("anthropic.signature", "SIG/+=")),),
        ext={"format": None, "n": [1, 2]},
        sha256="0" * 64,
    ),
    rest=(
        TextRecord(kind="text", seq=1, at=(Span(message="m1", start=0, length=2),)),
        CallRecord(kind="call", seq=2, id="c1", native_id="", server=True, after=(0,), shares="c0"),
        ResultRecord(kind="result", seq=3, id="c1", message="m2", native={"a": [None]}),
        NativeRecord(kind="native", seq=4, name="openai.compaction", payload={"x": 1.5}),
    ),
)


def test_what_is_written_reads_back() -> None:
    assert read_envelope(write_envelope(FULL)) == FULL


def test_defaults_are_left_out_and_the_marks_are_not() -> None:
    bare = Envelope(response=Place(id="r"), unit=ReasoningRecord(kind="reasoning", seq=0))
    assert json.loads(write_envelope(bare)) == {
        "k": "agui-reasoning",
        "v": 1,
        "response": {"id": "r"},
        "unit": {"kind": "reasoning", "seq": 0},
    }


def test_an_opaque_value_survives_byte_for_byte_lone_surrogates_too() -> None:
    value = 'SIG\ud83d"\\\u2028=='
    unit = ReasoningRecord(kind="reasoning", seq=0, opaque=(OpaqueRecord(kind="a.b", value=value),))
    written = write_envelope(Envelope(response=Place(id="r"), unit=unit))
    assert written.encode()
    read = read_envelope(written)
    assert read is not None
    assert read.unit is not None
    assert read.unit.opaque[0].opaque() == Opaque("a.b", value)


def _damaged(path: list[Any], value: Any) -> str:
    body = json.loads(write_envelope(FULL))
    target = body
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value
    return json.dumps(body)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["k"], "other"),
        (["v"], 2),
        (["v"], "1"),
        (["response"], None),
        (["response", "id"], 7),
        (["response", "messages"], "m1"),
        (["response", "messages"], [1]),
        (["unit", "kind"], "item_reference"),
        (["unit", "seq"], "0"),
        (["unit", "seq"], -1),
        (["unit", "status"], "done"),
        (["unit", "opaque", 0, "value"], {"a": 1}),
        (["unit", "opaque", 0, "encoding"], "hex"),
        (["unit", "segments", 0, "length"], -1),
        (["unit", "ext"], "x"),
        (["rest", 0, "at", 0, "start"], 1.5),
        (["origin", "provider"], ["anthropic"]),
    ],
)
def test_a_wrong_type_anywhere_makes_it_no_envelope_of_ours(path: list[Any], value: Any) -> None:
    assert read_envelope(_damaged(path, value)) is None


def test_unknown_fields_are_ignored() -> None:
    assert read_envelope(_damaged(["unit", "future"], {"a": 1})) == FULL


@pytest.mark.parametrize("value", ["", "null", "[]", "EqQBCk…", '{"id": "x", "signature": "s"}', "{", "1"])
def test_what_is_not_ours_is_not_read(value: str) -> None:
    assert read_envelope(value) is None


def test_what_is_too_large_is_not_read() -> None:
    assert read_envelope(_damaged(["response", "native_id"], "x" * MAX_ENVELOPE_CHARS)) is None


@given(
    st.text(max_size=50)
    | st.recursive(st.none() | st.integers() | st.text(), lambda s: st.lists(s)).map(json.dumps)
)
def test_reading_never_raises(value: str) -> None:
    assert read_envelope(value) is None
