"""Restore histories with the right keys, the wrong ones or none, and altered on the way."""

from __future__ import annotations

import copy
import json
from itertools import count
from typing import Any

import pytest

from agui_reasoning import (
    ConfigurationError,
    Conversation,
    DecryptionError,
    Run,
    build_request,
    erase_reasoning,
    restore,
)
from agui_reasoning.audit import AuditRecord
from agui_reasoning.crypto import Binding, KeyRing
from agui_reasoning.deltas import (
    CloseDelta,
    FinishDelta,
    NativeDelta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
)
from agui_reasoning.parts import (
    NativePart,
    Opaque,
    Origin,
    ReasoningPart,
    Segment,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from agui_reasoning.request import History
from tests.internals.envelopes import Envelope, EnvelopeWriter, ResponsePlace, native_unit
from tests.support.frontends import FRONT_ENDS

CLAUDE = Origin("anthropic", "anthropic-messages", "claude")
KEYS = KeyRing({"k1": bytes(range(32))})
OTHER = KeyRing({"k1": bytes(32)})
SIGNED = ReasoningPart(
    (Segment("text", 0, "A private thought."),), (Opaque("anthropic.signature", "U0lH"),), origin=CLAUDE
)
ANSWER = (
    ResponseStart(CLAUDE, id="msg_1"),
    ReasoningDelta("A private thought."),
    OpaqueDelta(Opaque("anthropic.signature", "U0lH")),
    TextDelta("Yes."),
    ToolCallDelta("toolu_1", "f", "{}"),
    OpaqueDelta(Opaque("gemini.thought_signature", "Z2Vt", attach="tool_call:toolu_1")),
    FinishDelta("tool_use"),
)


def run_input(messages: list[dict[str, Any]], thread: str = "thread") -> dict[str, Any]:
    return {"threadId": thread, "runId": "run", "messages": messages}


def messages_of(*items: Any, **options: Any) -> list[dict[str, Any]]:
    """The client's messages after a run that was asked something."""
    numbers = count()
    asked = run_input([{"id": "u", "role": "user", "content": "Hi."}])
    run = Run(asked, new_id=lambda: f"id{next(numbers)}", **options)
    conversation = Conversation("thread", messages=run.input.messages)
    events = run.start() + [event for item in items for event in run.receive(item)] + run.finish()
    for event in events:
        conversation.receive(event)
    return [m.model_dump(mode="json", by_alias=True, exclude_none=True) for m in conversation.messages]


def reasoning_of(history: History) -> list[ReasoningPart]:
    return [part for turn in history.turns for part in turn.parts if isinstance(part, ReasoningPart)]


def outcomes(history: History) -> list[tuple[str, str]]:
    return [(entry.outcome, entry.reason) for entry in history.report]


@pytest.mark.parametrize("visibility", ["full", "summary", "hidden"])
def test_the_unit_comes_back_whole_in_every_visibility(visibility: Any) -> None:
    given = run_input(messages_of(*ANSWER, keys=KEYS, tenant="acme", visibility=visibility))
    history = restore(given, keys=KEYS, tenant="acme")
    assert reasoning_of(history) == [SIGNED]
    assert outcomes(history) == [("restored", "")]


def test_what_the_client_shows_does_not_count_when_the_value_is_encrypted() -> None:
    given = messages_of(*ANSWER, keys=KEYS)
    given[1]["content"] = "Something else entirely."
    assert reasoning_of(restore(run_input(given), keys=KEYS)) == [SIGNED]


@pytest.mark.parametrize("visibility", ["full", "summary", "hidden"])
def test_the_next_request_carries_it_unchanged(visibility: Any) -> None:
    given = run_input(messages_of(*ANSWER, keys=KEYS, visibility=visibility))
    body = build_request(
        "anthropic-messages",
        given,
        provider="anthropic",
        model="claude",
        keys=KEYS,
        on_warning=lambda text: None,
    ).body
    thinking = {"type": "thinking", "thinking": "A private thought.", "signature": "U0lH"}
    assert body["messages"][1]["content"][0] == thinking


@pytest.mark.parametrize(
    "wrong",
    [{"keys": OTHER}, {"thread_id": "another"}, {"tenant": "mallory"}, {"keys": KeyRing({"k2": bytes(32)})}],
    ids=["key", "thread", "tenant", "key id"],
)
def test_what_does_not_open_is_dropped_with_a_reason_and_the_rest_goes_on(wrong: dict[str, Any]) -> None:
    given = run_input(messages_of(*ANSWER, keys=KEYS, tenant="acme"))
    history = restore(given, **({"keys": KEYS, "tenant": "acme"} | wrong))
    assert set(outcomes(history)) == {("dropped", "undecryptable")}
    (turn,) = history.turns
    assert [type(part) for part in turn.parts] == [ReasoningPart, TextPart, ToolCallPart]
    assert [getattr(part, "opaque", ()) for part in turn.parts] == [(), (), ()]
    assert reasoning_of(history)[0].status == "incomplete"


def test_a_caller_may_ask_to_hear_of_it() -> None:
    given = run_input(messages_of(*ANSWER, keys=KEYS))
    with pytest.raises(DecryptionError):
        restore(given, keys=OTHER, on_undecryptable="raise")


def away(kid: str) -> bytes:
    raise TimeoutError("no route")


def test_a_key_that_cannot_be_fetched_is_reported_as_that_and_the_rest_goes_on() -> None:
    given = run_input(messages_of(*ANSWER, keys=KEYS))
    history = restore(given, keys=KeyRing(away, primary="k1"))
    assert set(outcomes(history)) == {("dropped", "key_unavailable")}
    assert [type(part) for part in history.turns[0].parts] == [ReasoningPart, TextPart, ToolCallPart]


def test_what_the_callable_raises_reaches_who_asked_to_hear_of_it() -> None:
    given = run_input(messages_of(*ANSWER, keys=KEYS))
    with pytest.raises(TimeoutError):
        restore(given, keys=KeyRing(away, primary="k1"), on_undecryptable="raise")


def test_forged_key_ids_of_a_history_reach_the_callable_eight_times_at_most() -> None:
    asked: list[str] = []

    def fetch(kid: str) -> bytes:
        asked.append(kid)
        return {"k1": bytes(range(32))}[kid]

    messages = messages_of(*ANSWER, keys=KEYS)
    for number in range(200):
        token = KeyRing({f"forged-{number}": bytes(32)}).encrypt(b"{}", Binding("thread"))
        forged = {"id": f"f{number}", "role": "reasoning", "content": "", "encryptedValue": token}
        messages.insert(1 + number % 2, forged)
    history = restore(run_input(messages), keys=KeyRing(fetch, primary="k1"))
    assert (len(asked), asked.count("k1")) == (9, 1)
    assert SIGNED in [part for turn in history.turns for part in turn.parts]


def test_a_value_that_expired_is_dropped() -> None:
    clock = [1000.0]
    ring = KeyRing({"k1": bytes(range(32))}, now=lambda: clock[0])
    given = run_input(messages_of(*ANSWER, keys=ring, ttl_s=60))
    clock[0] += 59
    assert reasoning_of(restore(given, keys=ring)) == [SIGNED]
    clock[0] += 2
    assert ("dropped", "undecryptable") in outcomes(restore(given, keys=ring))


def test_old_keys_open_and_new_keys_encrypt() -> None:
    given = run_input(messages_of(*ANSWER, keys=KEYS))
    both = KeyRing({"k2": bytes(32), "k1": bytes(range(32))}, primary="k2")
    assert reasoning_of(restore(given, keys=both)) == [SIGNED]
    token = messages_of(*ANSWER, keys=both)[1]["encryptedValue"]
    with pytest.raises(DecryptionError):
        KEYS.decrypt(token, Binding("thread"))


def test_a_plain_envelope_in_place_of_an_encrypted_one_is_refused() -> None:
    plain = messages_of(*ANSWER)
    assert outcomes(restore(run_input(plain))) == [("restored", "")]
    history = restore(run_input(plain), keys=KEYS)
    assert set(outcomes(history)) == {("dropped", "unauthenticated")}
    assert [
        opaque for turn in history.turns for part in turn.parts for opaque in getattr(part, "opaque", ())
    ] == []


def test_plain_envelopes_may_be_accepted_for_a_while() -> None:
    history = restore(run_input(messages_of(*ANSWER)), keys=KEYS, accept_plain=True)
    assert reasoning_of(history) == [SIGNED]


@pytest.mark.parametrize(
    "value",
    [
        '{"provider_name": "anthropic", "signature": "c2ln"}',
        "bare-signature",
        '{"k": "agui-reasoning", "v": 2, "response": {"id": "x"}}',
    ],
)
def test_values_of_other_producers_are_refused_with_keys(value: str) -> None:
    thought = {"id": "r", "role": "reasoning", "content": "Hm.", "encryptedValue": value}
    answer = {"id": "a", "role": "assistant", "content": "Yes."}
    history = restore(run_input([thought, answer]), keys=KEYS, assume_provider="anthropic")
    assert outcomes(history) == [("dropped", "unauthenticated")]
    assert reasoning_of(history) == [
        ReasoningPart((Segment("text", 0, "Hm."),), status="incomplete"),
    ]


def test_a_value_of_another_producer_belongs_to_a_summary_where_its_provider_signs_those() -> None:
    value = '{"provider_name": "openai", "signature": "gAAA", "id": "rs_1"}'
    thought = {"id": "r", "role": "reasoning", "content": "Hm.", "encryptedValue": value}
    [part] = reasoning_of(restore([thought]))
    assert part.segments == (Segment("summary", 0, "Hm."),)
    assert (part.opaque, part.item_id) == ((Opaque("openai.encrypted_content", "gAAA"),), "rs_1")


def test_encrypted_values_without_keys_are_a_mistake_of_the_configuration() -> None:
    with pytest.raises(ConfigurationError) as caught:
        restore(run_input(messages_of(*ANSWER, keys=KEYS)))
    assert caught.value.code == "keys_missing"


def test_keys_need_a_thread() -> None:
    given = messages_of(*ANSWER, keys=KEYS)
    with pytest.raises(ConfigurationError) as caught:
        restore(given, keys=KEYS)
    assert caught.value.code == "keys_without_thread"
    assert reasoning_of(restore(given, keys=KEYS, thread_id="thread")) == [SIGNED]


def test_moving_and_repeating_a_value_within_its_thread_changes_nothing() -> None:
    given = messages_of(*ANSWER, keys=KEYS)
    thought = given[1]
    moved = [*given[:1], *given[2:], thought, copy.deepcopy(thought) | {"id": "again"}]
    assert reasoning_of(restore(run_input(moved), keys=KEYS)) == [SIGNED]


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("openai.item_reference", {"type": "item_reference", "id": "rs_1"}),
        ("anthropic.x", {"type": "item_reference", "id": "rs_1"}),
        ("openai.compaction", {"type": "compaction"}),
    ],
)
def test_native_blocks_are_checked_even_when_they_are_authentic(name: str, payload: dict[str, Any]) -> None:
    forged = Envelope(
        origin=CLAUDE,
        response=ResponsePlace(id="resp"),
        units=(native_unit(seq=0, name=name, payload=payload),),
    )
    value = EnvelopeWriter(KEYS, Binding("thread")).write(forged)
    thought = {"id": "r", "role": "reasoning", "content": "", "encryptedValue": value}
    history = restore(run_input([thought]), keys=KEYS)
    assert [part for turn in history.turns for part in turn.parts if isinstance(part, NativePart)] == []
    assert ("dropped", "native_kind") in outcomes(history)


def test_what_opens_and_is_no_envelope_is_dropped() -> None:
    value = KEYS.encrypt(b'{"hello": "world"}', Binding("thread"))
    thought = {"id": "r", "role": "reasoning", "content": "", "encryptedValue": value}
    assert outcomes(restore(run_input([thought]), keys=KEYS)) == [("dropped", "application_value")]


def test_server_tools_that_were_not_shown_come_back_whole() -> None:
    native = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}
    items = (
        ResponseStart(CLAUDE),
        ReasoningDelta("A private thought."),
        OpaqueDelta(Opaque("anthropic.signature", "U0lH")),
        ToolCallDelta("srv_1", "web_search", '{"query": "x"}', server=True),
        ToolResultPart("srv_1", "found", native=native, origin=CLAUDE),
        NativeDelta("anthropic.compaction", {"content": "what was said"}),
        TextDelta("Yes."),
    )
    bare = restore(run_input(messages_of(*items, keys=KEYS)), keys=KEYS)
    for visibility in ("summary", "hidden"):
        given = messages_of(*items, keys=KEYS, visibility=visibility)
        assert [turn.parts for turn in restore(run_input(given), keys=KEYS).turns] == [
            turn.parts for turn in bare.turns
        ]
        assert "query" not in json.dumps(given)


def test_a_run_opens_what_came_and_writes_its_request() -> None:
    first = messages_of(*ANSWER, keys=KEYS, visibility="hidden")
    result = {"id": "t", "role": "tool", "toolCallId": "toolu_1", "content": "4"}
    run = Run(
        run_input([*first, result]),
        api="anthropic-messages",
        provider="anthropic",
        model="claude",
        keys=KEYS,
        visibility="hidden",
        on_warning=lambda text: None,
    )
    content = run.request().body["messages"][1]["content"]
    assert content[0] == {"type": "thinking", "thinking": "A private thought.", "signature": "U0lH"}


def test_a_run_may_fail_on_what_does_not_open() -> None:
    given = run_input(messages_of(*ANSWER, keys=KEYS))
    with pytest.raises(DecryptionError):
        _ = Run(given, keys=OTHER, on_undecryptable="raise").history
    assert Run(given, keys=OTHER).history.turns


def test_an_auditor_hears_of_every_unit_and_of_no_word() -> None:
    heard: list[AuditRecord] = []
    first = messages_of(*ANSWER, keys=KEYS, tenant="acme", visibility="hidden", on_audit=heard.append)
    sent = heard[0]
    assert (sent.action, sent.outcome, sent.unit) == ("emitted", "encrypted", first[1]["id"])
    assert (sent.thread_id, sent.run_id, sent.key_id) == ("thread", "run", "k1")
    assert (sent.provider, sent.visibility) == ("anthropic", "hidden")
    assert (sent.text_chars, sent.shown_chars) == (len("A private thought."), 0)
    assert sent.opaque_chars == 4
    assert sent.span_id
    del heard[:]
    _ = Run(run_input(first), keys=KEYS, tenant="acme", on_audit=heard.append).history
    back, call = heard
    assert (call.action, call.outcome, call.unit) == ("restored", "restored", "toolu_1")
    assert call.opaque_chars > 0
    assert (back.action, back.outcome, back.unit, back.run_id) == ("restored", "restored", sent.unit, "run")
    assert (back.tenant, back.key_id, back.provider) == (sent.tenant, "k1", "anthropic")
    assert (back.text_chars, back.opaque_chars) == (sent.text_chars, 4)
    assert back.value_chars > 0
    assert "private" not in repr(heard) + repr(sent)


def test_an_auditor_hears_of_the_value_of_a_text_by_its_message() -> None:
    heard: list[AuditRecord] = []
    gemini = Origin("google", "gemini", "gemini-3-pro")
    value = Opaque("gemini.thought_signature", "U0lH", attach="text")
    given = messages_of(ResponseStart(gemini), TextPart("Rain.", (value,)), keys=KEYS)
    restore(run_input(given), keys=KEYS, on_audit=heard.append)
    [shown] = [message["id"] for message in given if message.get("content") == "Rain."]
    assert [(one.outcome, one.unit, one.opaque_chars) for one in heard] == [("restored", shown, 4)]


def test_an_auditor_hears_of_a_value_that_nobody_made() -> None:
    heard: list[AuditRecord] = []
    given = messages_of(ResponseStart(Origin("acme", "openai-chat")), ToolCallDelta("c1", "f", "{}"))
    given[1]["toolCalls"][0]["encryptedValue"] = "bare"
    restore(run_input(given), keys=KEYS, on_audit=heard.append)
    assert [(one.outcome, one.unit, one.reason) for one in heard] == [("dropped", "c1", "unauthenticated")]
    assert [(one.provider, one.api, one.model, one.value_chars) for one in heard] == [(None, None, None, 4)]


def test_the_thread_may_have_its_name_of_python() -> None:
    given = run_input(messages_of(*ANSWER, keys=KEYS))
    given["thread_id"] = given.pop("threadId")
    assert reasoning_of(restore(given, keys=KEYS)) == [SIGNED]


def test_an_auditor_hears_of_what_is_not_kept() -> None:
    heard: list[AuditRecord] = []
    acme = Origin("acme", "openai-chat", "model")
    messages_of(ResponseStart(acme), ReasoningDelta("Hm."), visibility="hidden", on_audit=heard.append)
    assert [(r.outcome, r.text_chars, r.value_chars) for r in heard] == [("not_kept", 0, 0)]


@pytest.mark.parametrize("options", [{}, {"keys": KEYS}, {"keys": KEYS, "visibility": "hidden"}])
def test_erased_messages_hold_no_reasoning(options: dict[str, Any]) -> None:
    messages = messages_of(*ANSWER, **options)
    left = erase_reasoning(messages)
    text = json.dumps([m.model_dump(mode="json", by_alias=True, exclude_none=True) for m in left])
    assert [message.role for message in left] == ["user", "assistant"]
    assert "Yes." in text
    assert "toolu_1" in text
    for trace in ("private", "encryptedValue", "agui-reasoning", "U0lH", "Z2Vt"):
        assert trace not in text
    assert [
        part for turn in restore(left).turns for part in turn.parts if isinstance(part, ReasoningPart)
    ] == []


def test_erasing_keeps_other_metadata() -> None:
    message = {
        "id": "a",
        "role": "assistant",
        "content": "Yes.",
        "metadata": {"agui-reasoning": {}, "mine": 1},
    }
    assert erase_reasoning([message])[0].metadata == {"mine": 1}
    assert message["metadata"] == {"agui-reasoning": {}, "mine": 1}


def test_a_stripped_history_has_nothing_only_a_provider_can_read() -> None:
    redacted = ReasoningPart((), (Opaque("anthropic.redacted_thinking", "data"),), origin=CLAUDE)
    history = restore(run_input(messages_of(SIGNED, redacted, TextPart("Yes.", origin=CLAUDE))))
    assert len(reasoning_of(history)) == 2
    (turn,) = history.strip_opaque().turns
    assert [type(part) for part in turn.parts] == [ReasoningPart, TextPart]
    assert all(part.seen for part in turn.parts)
    assert all(not part.opaque for part in turn.parts if isinstance(part, ReasoningPart | TextPart))


def test_a_history_is_cut_only_between_groups() -> None:
    items = [m for n in range(3) for m in _group(n)]
    history = restore([{"id": "s", "role": "system", "content": "Be brief."}, *items])
    assert [len(history.trim(keep_turns=n).turns) for n in (0, 1, 2, 3, 4, 5, 6, 7)] == [
        2,
        2,
        2,
        4,
        4,
        6,
        6,
        6,
    ]
    kept = history.trim(keep_turns=1)
    assert [getattr(item, "role", "turn") for item in kept.items] == [
        "system",
        "user",
        "turn",
        "tool",
        "turn",
    ]
    with pytest.raises(ConfigurationError):
        history.trim(keep_turns=-1)


def _group(number: int) -> list[dict[str, Any]]:
    call = {"id": f"c{number}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return [
        {"id": f"u{number}", "role": "user", "content": "Hi."},
        {"id": f"a{number}", "role": "assistant", "toolCalls": [call]},
        {"id": f"t{number}", "role": "tool", "toolCallId": f"c{number}", "content": "1"},
        {"id": f"b{number}", "role": "assistant", "content": "Yes."},
    ]


def test_both_reports_name_a_unit_alike() -> None:
    given = run_input(messages_of(*ANSWER))
    history = restore(given)
    request = build_request(
        "anthropic-messages", history, provider="anthropic", model="claude", on_warning=lambda text: None
    )
    restored = {entry.unit for entry in history.report}
    assert restored
    assert restored <= {entry.unit for entry in request.report}


@pytest.mark.parametrize("front_end", ["copilotkit", "assistant-ui"])
def test_a_response_of_which_nothing_is_shown_keeps_its_place(front_end: str) -> None:
    gpt = Origin("openai", "openai-responses", "gpt")
    items = (
        ResponseStart(gpt, id="resp_1"),
        ReasoningDelta("Look it up.", channel="summary"),
        ToolCallDelta("call_1", "f", "{}"),
        FinishDelta("stop"),
        ToolResultPart("call_1", "4"),
        ResponseStart(gpt, id="resp_2"),
        NativeDelta("openai.compaction", {"type": "compaction", "encrypted_content": "x"}),
        FinishDelta("stop"),
    )
    returned = FRONT_ENDS[front_end](messages_of(*items))
    history = restore(run_input(returned))
    assert [getattr(item, "role", None) or item.id for item in history.items] == [
        "user",
        "resp_1",
        "tool",
        "resp_2",
    ]


def test_a_unit_of_which_a_message_is_missing_is_not_sent_back() -> None:
    flat = Origin("deepseek", "openai-chat", "deepseek-v4-pro")
    items = (
        ResponseStart(flat),
        ReasoningDelta("First.", key="0"),
        CloseDelta(key="0"),
        TextDelta("Say."),
        ReasoningDelta("Second.", key="0"),
        FinishDelta("stop"),
    )
    given = messages_of(*items, keys=KEYS)
    assert [message["role"] for message in given] == ["user", "reasoning", "assistant", "reasoning"]
    assert outcomes(restore(run_input(given), keys=KEYS)) == [("restored", "")]
    history = restore(run_input([given[0], *given[2:]]), keys=KEYS)
    assert outcomes(history) == [("dropped", "part_missing")]
    assert reasoning_of(history)[0].status == "incomplete"


def test_erasing_leaves_no_field_of_a_producers_own() -> None:
    message = {"id": "a", "role": "assistant", "content": "Yes.", "reasoning_content": "A private thought."}
    assert "private" not in repr(erase_reasoning([message]))
