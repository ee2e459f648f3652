"""Test envelopes: written ones read back, and those of a client are not trusted."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_reasoning._strict_json import MAX_NESTING
from agui_reasoning.crypto import Binding, KeyRing
from agui_reasoning.parts import Opaque, Origin, ReasoningPart, TextPart
from tests.internals.envelopes import (
    MAX_ENVELOPE_CHARS,
    CallRecord,
    Envelope,
    EnvelopeReader,
    Fragment,
    NativeRecord,
    OpaqueRecord,
    PlacedPart,
    ReasoningRecord,
    ResponsePlace,
    ResultRecord,
    SegmentRecord,
    Span,
    TextRecord,
    UnitRecord,
    call_unit,
    is_envelope,
    native_unit,
    read_envelope,
    reasoning_unit,
    result_unit,
    text_unit,
    unit_digest,
    write_envelope,
)

FULL = Envelope(
    origin=Origin("anthropic", "anthropic-messages", "claude"),
    response=ResponsePlace(id="r", number=1, native_id="msg_1", messages=("m1",), calls=("c1",)),
    units=(
        reasoning_unit(
            0,
            item_id="rs_1",
            segments=(SegmentRecord(channel="summary", index=1),),
            lengths=(3,),
            opaque=(OpaqueRecord.of(Opaque("anthropic.signature", "SIG/+=")),),
            ext={"format": None, "n": [1, 2]},
            sha256="0" * 64,
        ),
        text_unit(1, spans=(Span(message="m1", start=0, length=2),)),
        call_unit(2, "c1", native_id="", server=True, after=(0,), shares="c0"),
        result_unit(3, "c1", message="m2", native={"a": [None]}),
        native_unit(4, name="openai.compaction", payload={"x": 1.5}),
    ),
    fragments=(Fragment(seq=5, index=1, count=2, data="AAAA"),),
)


def test_what_is_written_reads_back() -> None:
    assert read_envelope(write_envelope(FULL)) == FULL


def test_an_envelope_with_more_brackets_than_levels_reads_back() -> None:
    units = tuple(reasoning_unit(number, ext={"n": [[number]]}) for number in range(MAX_NESTING))
    wide = Envelope(response=ResponsePlace(id="r"), units=units)
    assert read_envelope(write_envelope(wide)) == wide


def test_defaults_are_left_out_and_the_marks_are_not() -> None:
    bare = Envelope(response=ResponsePlace(id="r"), units=(reasoning_unit(0),))
    assert json.loads(write_envelope(bare)) == {
        "k": "agui-reasoning",
        "v": 2,
        "response": {"id": "r"},
        "units": [{"seq": 0, "part": {"kind": "reasoning"}}],
    }


def test_an_opaque_value_survives_byte_for_byte_lone_surrogates_too() -> None:
    value = 'SIG\ud83d"\\\u2028=='
    unit = reasoning_unit(0, opaque=(OpaqueRecord(kind="a.b", value=value),))
    written = write_envelope(Envelope(response=ResponsePlace(id="r"), units=(unit,)))
    assert written.encode()
    read = read_envelope(written)
    assert read is not None
    assert read.units[0].part.opaque[0].opaque() == Opaque("a.b", value)


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
        (["v"], 3),
        (["v"], "2"),
        (["response"], None),
        (["response", "id"], 7),
        (["response", "messages"], "m1"),
        (["response", "messages"], [1]),
        (["response", "number"], -1),
        (["units", 0, "part", "kind"], "item_reference"),
        (["units", 0, "part"], None),
        (["units", 0, "seq"], "0"),
        (["units", 0, "seq"], -1),
        (["units", 0, "part", "status"], "done"),
        (["units", 0, "part", "opaque", 0, "value"], {"a": 1}),
        (["units", 0, "part", "opaque", 0, "encoding"], "hex"),
        (["units", 0, "lengths", 0], -1),
        (["units", 0, "part", "ext"], "x"),
        (["units", 1, "spans", 0, "start"], 1.5),
        (["fragments", 0, "count"], 0),
        (["origin", "provider"], ["anthropic"]),
    ],
)
def test_a_wrong_type_anywhere_makes_it_no_envelope_of_ours(path: list[Any], value: Any) -> None:
    assert read_envelope(_damaged(path, value)) is None


def test_unknown_fields_are_ignored() -> None:
    assert read_envelope(_damaged(["units", 0, "future"], {"a": 1})) == FULL


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


def test_ours_are_told_from_others() -> None:
    token = "eyJ0eXAiOiJhZ3VpLXJlYXNvbmluZytqd2UifQ.."
    newer = json.dumps({"k": "agui-reasoning", "v": 3}, separators=(",", ":"))
    assert all(map(is_envelope, (write_envelope(FULL), newer, token)))
    others = ["", "QUJD", "gAAAA==", "eyJ0eXAiOiJKV1QifQ.a.b", '{"id": "rs_1"}', "é", "W10.x"]
    assert not any(map(is_envelope, others))


PART = {"status": "complete", "opaque": (), "ext": None}
NO_NAMES = dict.fromkeys(("messages", "calls", "failed", "withheld", "interrupts"), ())
NOTHING = dict.fromkeys(("native_id", "after", "after_entity", "subagent", "refused", "effort"), None)
LEFT_OUT: dict[type[msgspec.Struct], dict[str, Any]] = {
    OpaqueRecord: {"encoding": "utf8", "attach": "self", "check": None},
    SegmentRecord: {"channel": "text", "index": 0, "text": None},
    ResponsePlace: {"number": 0, **NOTHING, "prefix": None, "conversation": None, **NO_NAMES},
    ReasoningRecord: {**PART, "item_id": None, "segments": ()},
    TextRecord: {**PART, "text": None},
    CallRecord: {**PART, "id": None, "server": False, "arguments": None},
    ResultRecord: {**PART, "native": None, "content": None, "error": None},
    NativeRecord: {**PART, "payload": None},
    UnitRecord: {
        **{"stretch": 0, "id": None, "message": None, "spans": (), "lengths": ()},
        **{"sha256": None, "after": (), "shares": None},
    },
    Fragment: {"stretch": 0},
    Envelope: {"k": "agui-reasoning", "v": 2, "origin": None, "units": (), "fragments": ()},
}
"""What a field means that a stored value does not have. Values are stored for years: this does not change."""


@pytest.mark.parametrize("record", LEFT_OUT, ids=lambda record: record.__name__)
def test_a_field_that_is_left_out_means_the_same_for_ever(record: type[msgspec.Struct]) -> None:
    fields = msgspec.structs.fields(record)
    assert {one.name: one.default for one in fields if not one.required} == LEFT_OUT[record]


@pytest.mark.parametrize(("levels", "known"), [(8, True), (MAX_NESTING, False)])
def test_what_is_nested_too_deeply_is_no_envelope_of_ours(levels: int, known: bool) -> None:
    value: Any = []
    for _ in range(levels):
        value = [value]
    assert (read_envelope(_damaged(["units", 0, "part", "ext"], {"n": value})) is not None) == known


@pytest.mark.parametrize("record", LEFT_OUT, ids=lambda record: record.__name__)
def test_a_record_is_built_by_name_and_does_not_change(record: type[msgspec.Struct]) -> None:
    with pytest.raises(TypeError, match="positional"):
        record("x")
    assert record.__struct_config__.frozen


def test_what_goes_into_an_envelope_does_not_show_itself() -> None:
    assert repr(FULL.units[0].part.opaque[0]) == "OpaqueRecord()"
    assert repr(FULL.units[1]) == "UnitRecord()"
    placed = PlacedPart(0, TextPart("CANARY"), "shown", "CANARY")
    assert repr(placed) == "PlacedPart()"
    with pytest.raises(AttributeError):
        placed.seq = 1  # type: ignore[misc]


KEYS, HOME = KeyRing({"k": bytes(32)}), Binding("t")
SEALED = KEYS.encrypt(write_envelope(FULL).encode(), HOME)


@pytest.mark.parametrize(
    ("value", "refused"),
    [
        ("x" * (MAX_ENVELOPE_CHARS + 1), "too_large"),
        (write_envelope(FULL), "unauthenticated"),
        (SEALED[:-1], "undecryptable"),
        (KEYS.encrypt(b"of the application", HOME), "application_value"),
        (KEYS.encrypt(b"\xff", HOME), "application_value"),
        (SEALED, ""),
    ],
    ids=["long", "plain", "cut", "application", "no text", "ours"],
)
def test_a_value_that_is_refused_names_the_reason(value: str, refused: str) -> None:
    opened = EnvelopeReader(KEYS, HOME).read(value)
    assert opened.refused == refused
    assert opened.envelope == (None if refused else FULL)


@pytest.mark.parametrize(
    ("part", "named"),
    [
        (ReasoningPart((), (Opaque("a.b", "SIG\ud83d"), Opaque("a.c", "other")), "rs_1"), "SIG\ud83d"),
        (ReasoningPart((), (), "rs_1"), "rs_1"),
        (ReasoningPart(()), None),
    ],
    ids=["value", "ID", "nothing"],
)
def test_a_unit_is_known_by_its_first_value_or_else_by_its_id(part: ReasoningPart, named: str | None) -> None:
    found = sha256((named or "").encode(errors="surrogatepass")).digest()
    assert unit_digest(part) == (None if named is None else urlsafe_b64encode(found[:6]).decode())
