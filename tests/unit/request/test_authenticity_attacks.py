"""Restore forged histories: what a client may change, and what never reaches a provider."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from itertools import count
from typing import Any

import msgspec
import pytest

from agui_reasoning import Conversation, DecryptionError, Run, build_request, restore
from agui_reasoning.audit import AuditRecord
from agui_reasoning.crypto import Binding, KeyRing
from agui_reasoning.deltas import (
    FinishDelta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
)
from agui_reasoning.parts import Opaque, Origin, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from agui_reasoning.request import History
from tests.internals.envelopes import (
    Envelope,
    EnvelopeWriter,
    OpaqueRecord,
    ResponsePlace,
    SegmentRecord,
    Span,
    call_unit,
    digest,
    native_unit,
    reasoning_unit,
    result_unit,
    text_unit,
    write_envelope,
)

CLAUDE = Origin("anthropic", "anthropic-messages", "claude")
KEYS = KeyRing({"k1": bytes(range(32))})
FORGED = "forged by the client"
VISIBILITIES = pytest.mark.parametrize("visibility", ["full", "summary", "hidden"])

THOUGHT = (
    ResponseStart(CLAUDE, id="msg_1"),
    ReasoningDelta("A private thought."),
    OpaqueDelta(Opaque("anthropic.signature", "U0lH")),
)
ANSWER = (*THOUGHT, TextDelta("Yes."), ToolCallDelta("toolu_1", "f", "{}"), FinishDelta("tool_use"))
SEARCH = (
    *THOUGHT,
    ToolCallDelta("srv_1", "web_search", '{"query":"rain"}', server=True),
    ToolResultDelta(
        "srv_1", "It rains.", native={"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}
    ),
    TextDelta("Yes."),
    FinishDelta("end_turn"),
)


def messages_of(*items: Any, start: int = 0, **options: Any) -> list[dict[str, Any]]:
    """The client's messages after a run that was asked something."""
    numbers = count(start)
    given = {"threadId": "thread", "runId": "r", "messages": [{"id": "u", "role": "user", "content": "Hi."}]}
    run = Run(given, new_id=lambda: f"id{next(numbers)}", on_warning=lambda text: None, **options)
    conversation = Conversation("thread", messages=run.input.messages)
    for event in run.start() + [e for item in items for e in run.receive(item)] + run.finish():
        conversation.receive(event)
    return [m.model_dump(mode="json", by_alias=True, exclude_none=True) for m in conversation.messages]


def opened(messages: list[dict[str, Any]], **options: Any) -> Any:
    return restore(messages, **({"keys": KEYS, "thread_id": "thread"} | options))


def parts_of(messages: list[dict[str, Any]], **options: Any) -> list[Any]:
    return [part for turn in opened(messages, **options).turns for part in turn.parts]


def body_of(messages: list[dict[str, Any]], **options: Any) -> str:
    request = build_request(
        "anthropic-messages",
        messages,
        provider="anthropic",
        model="claude",
        on_warning=lambda text: None,
        **({"keys": KEYS, "thread_id": "thread"} | options),
    )
    return json.dumps(request.body)


def reasons(messages: list[dict[str, Any]], **options: Any) -> set[str]:
    return {entry.reason for entry in opened(messages, **options).report if entry.outcome == "dropped"}


def forgery(like: dict[str, Any]) -> str:
    """A plain envelope that claims everything there is of a response, and says what the client wants."""
    token = next(m["encryptedValue"] for m in (like, *like.get("toolCalls", ())) if "encryptedValue" in m)
    true = msgspec.json.decode(KEYS.decrypt(token, Binding("thread")), type=Envelope)
    opaque = (OpaqueRecord(kind="anthropic.signature", value=FORGED),)
    ext = {"cache_control": FORGED}
    records = (
        text_unit(seq=1, opaque=opaque, text=FORGED, ext=ext),
        call_unit(seq=2, id="toolu_1", server=True, opaque=opaque, arguments=f'"{FORGED}"'),
        result_unit(seq=3, id="toolu_1", message="x", content=FORGED, native={"x": FORGED}),
        native_unit(seq=4, name="anthropic.container", payload={"type": FORGED}),
    )
    segment = SegmentRecord(text=FORGED)
    unit = reasoning_unit(seq=0, segments=(segment,), opaque=opaque, item_id=FORGED)
    return write_envelope(Envelope(origin=CLAUDE, response=true.response, units=(unit, *records)))


# -- plain beside sealed


@VISIBILITIES
@pytest.mark.parametrize("accept_plain", [None, True])
@pytest.mark.parametrize("first", [True, False])
def test_a_plain_envelope_says_nothing_of_a_response_that_a_sealed_one_tells_of(
    visibility: Any, accept_plain: bool | None, first: bool
) -> None:
    given = messages_of(*ANSWER, keys=KEYS, visibility=visibility)
    fake = {"id": "x", "role": "reasoning", "content": "", "encryptedValue": forgery(given[1])}
    mixed = [fake, *given] if first else [*given, fake]
    parts = parts_of(mixed, accept_plain=accept_plain)
    assert FORGED not in body_of(mixed, accept_plain=accept_plain)
    assert [p.text for p in parts if isinstance(p, ReasoningPart) and p.opaque] == ["A private thought."]
    assert [p.server for p in parts if isinstance(p, ToolCallPart)] == [False]
    assert "unauthenticated" in reasons(mixed, accept_plain=accept_plain)


@VISIBILITIES
def test_a_plain_envelope_in_place_of_every_sealed_one_brings_nothing(visibility: Any) -> None:
    given = messages_of(*ANSWER, keys=KEYS, visibility=visibility)
    fake = forgery(given[1])
    for message in given:
        for entity in (message, *message.get("toolCalls", ())):
            if entity.get("role") != "user":
                entity["encryptedValue"] = fake
    assert FORGED not in body_of(given)
    assert all(not getattr(part, "opaque", ()) for part in parts_of(given))
    assert reasons(given) == {"unauthenticated"}


def test_a_token_in_the_content_is_text() -> None:
    given = messages_of(*ANSWER, keys=KEYS)
    token = given[1].pop("encryptedValue")
    given[1]["content"] = token
    assert token not in body_of(given)
    assert not [part for part in parts_of(given) if getattr(part, "opaque", ())]


# -- moved


def test_a_token_on_an_entity_of_another_kind_gives_nothing_that_is_not_shown_there() -> None:
    call = (*THOUGHT, ToolCallDelta("c", "f", "{}"), OpaqueDelta(Opaque("a.b", "V", attach="tool_call:c")))
    given = messages_of(*call, keys=KEYS)
    thought, answer = given[1], given[2]
    of_thought, of_call = thought["encryptedValue"], answer["toolCalls"][0]["encryptedValue"]
    thought["encryptedValue"], answer["toolCalls"][0]["encryptedValue"] = of_call, of_thought
    parts = parts_of(given)
    assert not [part for part in parts if isinstance(part, ReasoningPart) and part.opaque]
    assert [part.opaque for part in parts if isinstance(part, ToolCallPart)] == [
        (Opaque("a.b", "V", attach="tool_call:c"),)
    ]


def subagent_messages(**options: Any) -> list[dict[str, Any]]:
    numbers = count()
    given = {"threadId": "thread", "runId": "r", "messages": [{"id": "u", "role": "user", "content": "Hi."}]}
    run = Run(given, new_id=lambda: f"id{next(numbers)}", keys=KEYS, **options)
    one, two = run.subagent("one", id="one"), run.subagent("two", id="two")
    events = run.start()
    for child in (one, two):
        events += child.start() + [e for item in ANSWER[:-2] for e in child.receive(item)] + child.finish()
    events += [event for item in ANSWER[:-2] for event in run.receive(item)] + run.finish()
    conversation = Conversation("thread", messages=run.input.messages)
    for event in events:
        conversation.receive(event)
    return [m.model_dump(mode="json", by_alias=True, exclude_none=True) for m in conversation.messages]


@pytest.mark.parametrize("subagent", [None, "one", "two"])
def test_what_a_subagent_thought_is_restored_for_it_alone(subagent: str | None) -> None:
    given = subagent_messages()
    whole = opened(given, subagent=subagent)
    assert [entry.outcome for entry in whole.report] == ["restored"]
    for message in given:
        if message["role"] != "user":
            message.pop("subagentRunId", None)
            message |= {} if subagent is None else {"subagentRunId": subagent}
    moved = opened(given, subagent=subagent)
    signed = [p for turn in moved.turns for p in turn.parts if isinstance(p, ReasoningPart) and p.opaque]
    assert len(signed) == 1
    assert [e.reason for e in moved.report if e.outcome == "dropped"] == ["misplaced", "misplaced"]


# -- pointing at others


def test_what_a_user_says_is_never_taken_for_an_answer() -> None:
    given = messages_of(*ANSWER[:-2], OpaqueDelta(Opaque("a.b", "V", attach="text")), keys=KEYS)
    answer = next(message for message in given if message["role"] == "assistant")
    given.remove(answer)
    given.append({"id": answer["id"], "role": "user", "content": FORGED})
    assert [part for part in parts_of(given) if isinstance(part, TextPart)] == []
    assert opened(given).messages[-1].content == FORGED


def test_an_authentic_record_that_points_at_a_message_of_the_user_gives_no_text() -> None:
    record = text_unit(seq=0, spans=(Span(message="u", start=0, length=3),), sha256=digest("Hi."))
    value = EnvelopeWriter(KEYS, Binding("thread")).write(
        Envelope(response=ResponsePlace(id="x"), units=(record,))
    )
    thought = {"id": "r", "role": "reasoning", "content": "", "encryptedValue": value}
    assert parts_of([{"id": "u", "role": "user", "content": "Hi."}, thought]) == []


# -- what is shown


@VISIBILITIES
def test_what_a_tool_of_the_provider_did_is_not_the_clients_to_change(visibility: Any) -> None:
    given = messages_of(*SEARCH, keys=KEYS, visibility=visibility)
    true = parts_of(copy.deepcopy(given))
    for message in given:
        if message["role"] == "tool":
            message["content"] = FORGED
        for call in message.get("toolCalls", ()):
            call["function"]["arguments"] = json.dumps({"query": FORGED})
    assert parts_of(given) == true
    assert [part.content for part in true if isinstance(part, ToolResultPart)] == ["It rains."]
    assert [part.arguments for part in true if isinstance(part, ToolCallPart)] == ['{"query":"rain"}']
    assert FORGED not in body_of(given)


def test_an_answer_that_was_edited_goes_out_as_edited_and_without_what_was_signed() -> None:
    """The words of the answer are the client's; what the provider signed with them is not."""
    given = messages_of(*ANSWER[:-2], OpaqueDelta(Opaque("a.b", "V", attach="text")), keys=KEYS)
    next(message for message in given if message["role"] == "assistant")["content"] = "No."
    (said,) = [part for part in parts_of(given) if isinstance(part, TextPart)]
    assert (said.text, said.opaque) == ("No.", ())
    assert reasons(given) == {"text_modified"}
    assert [part.text for part in parts_of(given) if isinstance(part, ReasoningPart)] == [
        "A private thought."
    ]


def test_half_a_character_in_a_message_breaks_nothing() -> None:
    given = messages_of(*ANSWER)
    for message in given[1:]:
        message["content"] = "\ud800"
    assert ("dropped", "text_modified") in [(entry.outcome, entry.reason) for entry in restore(given).report]


def test_metadata_forges_no_structure_of_what_is_sealed() -> None:
    given = messages_of(*ANSWER, keys=KEYS)
    true = parts_of(copy.deepcopy(given))
    hint = {"agui-reasoning": {"response": "other", "seq": 99, "reasoning": ["u"]}}
    for message in given:
        message["metadata"] = hint
        for call in message.get("toolCalls", ()):
            call["metadata"] = hint
    assert parts_of(given) == true


@pytest.mark.parametrize("value", [None, 7, True, [], {}, ["x"], {"k": "agui-reasoning"}])
def test_a_value_that_is_no_string_is_none(value: Any) -> None:
    thought = {"id": "r", "role": "reasoning", "content": "Hm.", "encryptedValue": value}
    assert [part.status for part in parts_of([thought], assume_provider="anthropic")] == ["incomplete"]


@pytest.mark.parametrize("text", ["[" * 100_000, '{"k":' * 50_000, "9" * 10_000])
def test_endless_nesting_is_no_envelope(text: str) -> None:
    sealed = KEYS.encrypt(text.encode(), Binding("thread"))
    for value, reason in ((text, "unauthenticated"), (sealed, "application_value")):
        thought = {"id": "r", "role": "reasoning", "content": "Hm.", "encryptedValue": value}
        assert reasons([thought]) == {reason}


# -- "raise" is for everything that is not authentic


@pytest.mark.parametrize(
    "how",
    ["the header", "the nonce", "the text", "the tag", "an end", "plain", "foreign", "too long"],
)
def test_who_asks_to_hear_hears_of_every_value_that_is_not_authentic(how: str) -> None:
    given = messages_of(*ANSWER, keys=KEYS)
    token: str = given[1]["encryptedValue"]
    start = [0, 0, *(n + 1 for n, c in enumerate(token) if c == ".")]
    place = {"the header": 0, "the nonce": start[3], "the text": start[4], "the tag": start[5]}
    if how in place:
        n = place[how]
        token = token[:n] + ("A" if token[n] != "A" else "B") + token[n + 1 :]
    else:
        changed = {"an end": token[:-1], "plain": forgery(given[1]), "foreign": "c2ln"}
        token = changed.get(how, token + "A" * 2_000_000)
    given[1]["encryptedValue"] = token
    assert reasons(given)
    with pytest.raises(DecryptionError):
        opened(given, on_undecryptable="raise")
    with pytest.raises(DecryptionError):
        body_of(given, on_undecryptable="raise")
    run = Run({"threadId": "thread", "runId": "r", "messages": given}, keys=KEYS, on_undecryptable="raise")
    with pytest.raises(DecryptionError):
        _ = run.history


def test_without_keys_nobody_is_told_of_other_producers_values() -> None:
    thought = {"id": "r", "role": "reasoning", "content": "Hm.", "encryptedValue": "c2ln"}
    assert len(restore([thought], on_undecryptable="raise").turns) == 1


# -- time


def test_a_value_that_expires_while_a_run_goes_on_stays_what_it_was() -> None:
    clock = [1000.0]
    ring = KeyRing({"k1": bytes(range(32))}, now=lambda: clock[0])
    given = messages_of(*ANSWER, keys=ring, ttl_s=60)
    run = Run({"threadId": "thread", "runId": "r", "messages": given}, keys=ring)
    before = run.history.items
    clock[0] += 61
    assert run.history.items == before


def test_a_clock_that_is_behind_opens_what_a_clock_that_is_ahead_wrote() -> None:
    ahead = KeyRing({"k1": bytes(range(32))}, now=lambda: 2000.0)
    behind = KeyRing({"k1": bytes(range(32))}, now=lambda: 1000.0)
    given = messages_of(*ANSWER, keys=ahead, ttl_s=60)
    assert not reasons(given, keys=behind)


# -- the report of the request


@pytest.mark.parametrize("how", ["undecryptable", "unauthenticated"])
def test_the_report_of_the_request_says_why(how: str) -> None:
    value = (TextDelta("Yes."), OpaqueDelta(Opaque("a.b", "V", attach="text")))
    given = messages_of(*THOUGHT, *value, **({"keys": KEYS} if how == "undecryptable" else {}))
    keys = KeyRing({"k1": bytes(32)}) if how == "undecryptable" else KEYS
    request = build_request(
        "anthropic-messages",
        given,
        provider="anthropic",
        model="claude",
        keys=keys,
        thread_id="thread",
        on_warning=lambda text: None,
    )
    assert [(entry.unit, entry.outcome, entry.reason) for entry in request.report] == [
        (message["id"], "dropped", how) for message in given[1:]
    ]


# -- places


def restored(*units: Any, place: ResponsePlace, after: Sequence[Any] = (), **message: Any) -> History:
    """What comes back of a plain envelope that a client may have written."""
    value = write_envelope(Envelope(origin=CLAUDE, response=place, units=(reasoning_unit(seq=0), *units)))
    thought = {"id": "t", "role": "reasoning", "content": "", "encryptedValue": value}
    return restore([thought, {"id": "a", "role": "assistant", **message}, *after])


@pytest.mark.parametrize("overlap", [0, 1])
def test_texts_may_share_a_message_but_no_character(overlap: int) -> None:
    spans = (Span(message="a", start=0, length=4 + overlap), Span(message="a", start=4, length=4))
    texts = ["Yes. No."[span.start :][: span.length] for span in spans]
    units = [
        text_unit(seq=n, spans=(span,), sha256=digest(text))
        for n, (span, text) in enumerate(zip(spans, texts, strict=True), 1)
    ]
    history = restored(*units, place=ResponsePlace(id="r", messages=("a",)), content="Yes. No.")
    [turn] = history.turns
    said = [part.text for part in turn.parts if isinstance(part, TextPart)]
    assert said == (["Yes. No."] if overlap else ["Yes.", " No."])
    assert [(entry.unit, entry.reason) for entry in history.report if entry.reason] == (
        [("a", "spans_overlap")] * 2 if overlap else []
    )


def test_the_explanation_of_a_refusal_is_no_part_of_the_answer() -> None:
    place = ResponsePlace(id="r", messages=("a",), refused="a")
    [turn] = restored(place=place, content="The provider refused.").turns
    assert turn.refused
    assert [part for part in turn.parts if isinstance(part, TextPart)] == []


@pytest.mark.parametrize("arguments", ["{}", '{"at":1}'])
@pytest.mark.parametrize("checked", [True, False])
def test_a_value_of_a_call_is_bound_to_its_arguments_if_they_were_shown(
    arguments: str, checked: bool
) -> None:
    value = Opaque("gemini.thought_signature", "U0lH")
    record = OpaqueRecord.of(value)
    unit = call_unit(seq=1, id="c", opaque=(record,), sha256=digest("{}") if checked else None)
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    history = restored(unit, place=ResponsePlace(id="r", messages=("a",), calls=("c",)), toolCalls=[call])
    [found] = [part for turn in history.turns for part in turn.parts if isinstance(part, ToolCallPart)]
    kept = arguments == "{}" or not checked
    assert found.opaque == ((value,) if kept else ())
    assert [entry.reason for entry in history.report if entry.unit == "c"] == (
        [] if kept else ["text_modified"]
    )


def test_a_value_that_no_message_shows_is_audited_without_one() -> None:
    heard: list[AuditRecord] = []
    damaged = OpaqueRecord(kind="gemini.thought_signature", value="U0lH", check="other")
    units = (text_unit(seq=0, text="Yes.", opaque=(damaged,)), call_unit(seq=1, id="c"))
    value = write_envelope(
        Envelope(origin=CLAUDE, response=ResponsePlace(id="r", messages=("a",), calls=("c",)), units=units)
    )
    call = {"id": "c", "type": "function", "function": {"name": "f"}, "encryptedValue": value}
    restore([{"id": "a", "role": "assistant", "toolCalls": [call]}], on_audit=heard.append)
    assert [(one.unit, one.outcome, one.reason, one.value_chars) for one in heard] == [
        ("r", "dropped", "value_modified", 0)
    ]


def test_the_result_of_a_server_tool_is_the_text_of_its_message() -> None:
    units = (call_unit(seq=1, id="c", server=True), result_unit(seq=2, id="c", message="t0"))
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    content = [{"type": "text", "text": "It "}, {"type": "image"}, {"type": "text", "text": "rains."}]
    told = {"id": "t0", "role": "tool", "toolCallId": "c", "content": content}
    place = ResponsePlace(id="r", messages=("a",), calls=("c",))
    [turn] = restored(*units, place=place, toolCalls=[call], after=[told]).turns
    assert [part.content for part in turn.parts if isinstance(part, ToolResultPart)] == ["It rains."]
