"""Document 003: an older edition of AG-UI's page on reasoning, with its examples and its migration."""

from __future__ import annotations

import base64
import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import ReasoningEncryptedValueEvent as Value
from ag_ui.core import RunAgentInput
from pydantic import TypeAdapter

from agui_reasoning import (
    ConfigurationError,
    Conversation,
    DecryptionError,
    KeyRing,
    RemoteProtocolError,
    Run,
    TruncatedRunError,
    build_request,
    check_events,
    compact,
    compat,
    erase_reasoning,
    protocol,
    reduce_events,
    restore,
    run_agent,
)
from agui_reasoning.audit import AuditRecord
from agui_reasoning.compat import ThinkingDowngrader, ThinkingUpgrader, translate
from agui_reasoning.crypto import Binding
from agui_reasoning.deltas import FinishDelta, ReasoningDelta, TextDelta, ToolCallDelta
from agui_reasoning.emitter.stages import Chunks, Coalesce
from agui_reasoning.parts import Opaque, TextPart
from agui_reasoning.wire import SSEEncoder, read_events
from tests.seeds import CALL, INPUT, each, numbers, row, said, thought, told
from tests.support.lines import lines

JSON = dict[str, Any]

KEY = {"k1": bytes(range(32))}
DEEPSEEK = {"api": "openai-chat", "provider": "deepseek", "model": "deepseek-v4-pro"}
CLAUDE = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-sonnet-4-5"}


def event(kind: str, **members: Any) -> JSON:
    return {"type": kind, **members}


def plain(events: Any) -> list[JSON]:
    return [
        one if isinstance(one, dict) else one.model_dump(mode="json", by_alias=True, exclude_none=True)
        for one in events
    ]


def framed(events: Any) -> list[JSON]:
    """A whole run, with the version that its events are in."""
    ids = {"threadId": "t", "runId": "r"}
    return [event("RUN_STARTED", **ids, protocolVersion="1.0"), *events, event("RUN_FINISHED", **ids)]


def codes(events: Any) -> list[str]:
    return [finding.code for finding in check_events(events)]


def errors(events: Any) -> list[str]:
    return [finding.code for finding in check_events(events) if finding.severity == "error"]


def yielded(items: Any, heard: list[str] | None = None, **options: Any) -> list[JSON]:
    """What a client gets of the items that an agent yields, without times and without the frame."""

    def agent(run: Run) -> Any:
        yield from items

    warn = (lambda sentence: None) if heard is None else heard.append
    events = list(run_agent(INPUT, agent, new_id=numbers(), now_ms=None, on_warning=warn, **options))
    return plain(events)[1:-1]


def span(*inside: JSON) -> list[JSON]:
    return [event("REASONING_START", messageId="s"), *inside, event("REASONING_END", messageId="s")]


def content(delta: str, message_id: str = "m") -> JSON:
    return event("REASONING_MESSAGE_CONTENT", messageId=message_id, delta=delta)


def chunk(delta: str) -> JSON:
    return event("REASONING_MESSAGE_CHUNK", messageId="m", delta=delta)


def value(entity: str, subtype: str = "message", text: str = "eyJhbGci...") -> JSON:
    return event("REASONING_ENCRYPTED_VALUE", subtype=subtype, entityId=entity, encryptedValue=text)


START = event("REASONING_MESSAGE_START", messageId="m", role="reasoning")
END = event("REASONING_MESSAGE_END", messageId="m")
BASIC = span(START, content("Let me "), content("see."), END)
ENCRYPTED = span(START, content("Summary."), END, value("m"))
TOOL = [
    event("TOOL_CALL_START", toolCallId="c", toolCallName="search", parentMessageId="a"),
    event("TOOL_CALL_ARGS", toolCallId="c", delta="{}"),
    event("TOOL_CALL_END", toolCallId="c"),
]
WITH_TOOL = [*TOOL, value("c", "tool-call")]
CHUNKED = span(chunk("Let me "), chunk("see."), chunk(""))
ZDR = span(chunk("Working."), chunk(""), value("m"))


# -- the models


@row("003-01", "003-02", "003-02b")
@pytest.mark.parametrize(
    "fields",
    [{"content": "R"}, {"content": "R", "encryptedValue": "v"}, {"content": "", "encryptedValue": "v"}],
)
def test_a_reasoning_message_has_content_and_may_have_a_value(fields: JSON) -> None:
    message = {"id": "m", "role": "reasoning", **fields}
    model = protocol.ReasoningMessage.model_validate(message)
    assert plain([model]) == [message]
    (held,) = Run({**INPUT, "messages": [message]}).input.messages
    assert plain([held]) == [message]


@each(
    "name, members",
    {
        "003-03a": ("ReasoningStartEvent", {"messageId": "s"}),
        "003-03b": ("ReasoningMessageStartEvent", {"messageId": "m", "role": "reasoning"}),
        "003-03c": ("ReasoningMessageContentEvent", {"messageId": "m", "delta": "d"}),
        "003-03d": ("ReasoningMessageEndEvent", {"messageId": "m"}),
        "003-03e": ("ReasoningMessageChunkEvent", {"messageId": "m", "delta": "d"}),
        "003-03f": ("ReasoningEndEvent", {"messageId": "s"}),
        "003-03g": (
            "ReasoningEncryptedValueEvent",
            {"subtype": "message", "entityId": "m", "encryptedValue": "v"},
        ),
    },
)
def test_every_event_has_a_model(name: str, members: JSON) -> None:
    model = getattr(protocol, name).model_validate(members)
    (written,) = plain([model])
    assert written == {**members, "type": model.type.value}
    union: TypeAdapter[Any] = TypeAdapter(protocol.Event)
    assert type(union.validate_python(written)) is type(model)


@row("003-04")
def test_a_subtype_is_message_or_tool_call_and_another_is_dropped() -> None:
    conversation = Conversation("t", on_warning=(heard := []).append)
    delivered = [
        one.type for sent in framed([*WITH_TOOL, value("m", "memo")]) for one in conversation.receive(sent)
    ]
    assert [kind.value for kind in delivered].count("REASONING_ENCRYPTED_VALUE") == 1
    assert heard == [
        "REASONING_ENCRYPTED_VALUE has an unknown value in a required field, so the event is dropped."
    ]


# -- the examples, as a client reads them


@each(
    "events, held",
    {
        "003-06": (BASIC, {"content": "Let me see."}),
        "003-07": (ENCRYPTED, {"content": "Summary.", "encryptedValue": "eyJhbGci..."}),
        "003-09": (ZDR, {"content": "Working.", "encryptedValue": "eyJhbGci..."}),
        "003-10": (CHUNKED, {"content": "Let me see."}),
    },
)
def test_an_example_becomes_its_message(events: list[JSON], held: JSON) -> None:
    assert plain(reduce_events(framed(events))) == [{"id": "m", "role": "reasoning", **held}]


@row("003-08", "003-27")
def test_values_are_stored_on_calls_and_on_messages_of_every_role() -> None:
    messages = [
        {"id": "u", "role": "user", "content": "?"},
        {
            "id": "a",
            "role": "assistant",
            "toolCalls": [{"id": "c", "type": "function", "function": {"name": "search", "arguments": "{}"}}],
        },
        {"id": "t", "role": "tool", "toolCallId": "c", "content": "4"},
    ]
    snapshot = event("MESSAGES_SNAPSHOT", messages=messages)
    values = [value("u", text="1"), value("a", text="2"), value("c", "tool-call", "3"), value("t", text="4")]
    user, assistant, result = plain(reduce_events(framed([snapshot, *values])))
    assert (user["encryptedValue"], assistant["encryptedValue"], result["encryptedValue"]) == ("1", "2", "4")
    assert assistant["toolCalls"][0]["encryptedValue"] == "3"


@row("003-10", "003-10b", "003-11")
def test_chunks_are_delivered_as_start_content_and_end() -> None:
    text = event("TEXT_MESSAGE_CHUNK", messageId="a", role="assistant", delta="A")
    conversation = Conversation("t")
    delivered = [
        (one.type.value, getattr(one, "message_id", None), getattr(one, "delta", None))
        for sent in framed([chunk("Hm"), chunk("."), text])
        for one in conversation.receive(sent)
    ]
    assert delivered[1:-1] == [
        ("REASONING_MESSAGE_START", "m", None),
        ("REASONING_MESSAGE_CONTENT", "m", "Hm"),
        ("REASONING_MESSAGE_CONTENT", "m", "."),
        ("REASONING_MESSAGE_END", "m", None),
        ("TEXT_MESSAGE_START", "a", None),
        ("TEXT_MESSAGE_CONTENT", "a", "A"),
        ("TEXT_MESSAGE_END", "a", None),
    ]


@row("003-11")
def test_a_client_can_store_values_by_their_subtype() -> None:
    stored: dict[tuple[str, str], str] = {}
    conversation = Conversation("t")
    for sent in framed([*ENCRYPTED, *WITH_TOOL]):
        for one in conversation.receive(sent):
            match one:
                case Value(subtype=subtype, entity_id=entity, encrypted_value=text):
                    stored[subtype, entity] = text
    assert stored == {("message", "m"): "eyJhbGci...", ("tool-call", "c"): "eyJhbGci..."}


@row("003-10d")
def test_an_empty_chunk_that_should_end_a_message_is_found() -> None:
    assert codes(framed(CHUNKED)) == ["empty_chunk"]
    assert codes(framed(CHUNKED[:3] + CHUNKED[4:])) == []
    again = framed(span(chunk("a"), chunk(""), chunk("b")))
    assert [message.content for message in reduce_events(again)] == ["ab"]


@row("003-22")
def test_a_stream_that_stops_keeps_what_came() -> None:
    conversation = Conversation("t")
    for sent in framed(BASIC)[:4]:
        conversation.receive(sent)
    with pytest.raises(TruncatedRunError):
        conversation.end_of_stream()
    assert conversation.status == "truncated"
    assert [message.content for message in conversation.messages] == ["Let me "]


@row("003-28")
def test_a_value_for_no_message_is_tolerated_with_a_warning() -> None:
    conversation = Conversation("t", on_warning=(heard := []).append)
    for sent in framed(span(value("m"))):
        conversation.receive(sent)
    assert (conversation.messages, len(heard), conversation.status) == ([], 1, "finished")
    assert codes(framed(span(value("m")))) == ["unknown_entity"]


@row("003-29")
def test_the_type_of_a_value_is_stored_on_messages_and_calls() -> None:
    typed = [
        {**one, "encryptedValueType": "x"} if "encryptedValue" in one else one
        for one in ENCRYPTED + WITH_TOOL
    ]
    assert protocol.encrypted_value_type(Value.model_validate(typed[4])) == "x"
    reasoning, assistant = reduce_events(framed(typed))
    assert protocol.encrypted_value_type(reasoning) == "x"
    assert protocol.encrypted_value_type(assistant.tool_calls[0]) == "x"  # type: ignore[union-attr, index]


ANSWER = {"id": "a", "role": "assistant", "content": "A"}
HELD = {"id": "m", "role": "reasoning", "content": "Summary.", "encryptedValue": "eyJhbGci..."}
WITHDRAWN = {"id": "m", "role": "reasoning", "content": "Summary."}
OTHER = {"id": "n", "role": "reasoning", "content": "Other."}


@row("003-25", "003-30")
@pytest.mark.parametrize(
    ("snapshot", "held"),
    [
        ([HELD, ANSWER], [HELD, ANSWER]),
        ([ANSWER], [HELD, ANSWER]),
        ([WITHDRAWN, ANSWER], [WITHDRAWN, ANSWER]),
        ([ANSWER, OTHER], [ANSWER, OTHER]),
    ],
    ids=["restated", "without reasoning", "without the value", "another"],
)
def test_a_snapshot_says_which_reasoning_stays(snapshot: list[JSON], held: list[JSON]) -> None:
    answer = event("TEXT_MESSAGE_CHUNK", messageId="a", role="assistant", delta="A")
    events = framed([*ENCRYPTED, answer, event("MESSAGES_SNAPSHOT", messages=snapshot)])
    assert plain(reduce_events(events)) == held


# -- the examples, as an agent writes them


@row("003-06b", "003-06c", "003-06d")
@pytest.mark.parametrize("models", [False, True], ids=["dicts", "models"])
@pytest.mark.parametrize("count", [6, 4], ids=["whole", "ends forgotten"])
def test_an_agent_can_yield_the_events_itself(models: bool, count: int) -> None:
    union: TypeAdapter[Any] = TypeAdapter(protocol.Event)
    assert yielded([union.validate_python(one) if models else one for one in BASIC[:count]]) == BASIC


@row("003-05")
def test_the_events_of_a_unit_come_in_their_order() -> None:
    assert lines(said([ReasoningDelta("Let me "), ReasoningDelta("see."), TextDelta("A")])) == [
        "reasoning_start 1",
        "reasoning_message_start 2",
        "reasoning_message_content 2 | Let me see.",
        "reasoning_message_end 2",
        "reasoning_encrypted_value 2",
        "reasoning_end 1",
        "text_message_start 3",
        "text_message_content 3 | A",
        "text_message_end 3",
    ]


@row("003-10c")
def test_chunks_can_be_written() -> None:
    assert lines(said([thought("Hm."), TextPart("A")], stages=[Chunks()])) == [
        "reasoning_start 1",
        "reasoning_message_chunk 2",
        "reasoning_message_chunk 2 | Hm.",
        "reasoning_encrypted_value 2",
        "reasoning_end 1",
        "text_message_chunk 3",
        "text_message_chunk 3 | A",
    ]


@row("003-07b", "003-08b", "003-08c")
def test_an_agent_encrypts_its_own_text_for_a_call() -> None:
    keys, binding = KeyRing(KEY), Binding("t", entity_id="call_1", subtype="tool-call")
    token = keys.encrypt(b"It asked for a.", binding)
    header = token.partition(".")[0]
    named = json.loads(base64.urlsafe_b64decode(header + "=" * (-len(header) % 4)))
    assert (named["alg"], named["enc"], named["kid"]) == ("dir", "A256GCM", "k1")
    attached = Value(subtype="tool-call", entity_id="call_1", encrypted_value=token)
    (assistant,) = reduce_events(said([CALL, attached]))
    assert keys.decrypt(assistant.tool_calls[0].encrypted_value, binding) == b"It asked for a."  # type: ignore[union-attr, index, arg-type]
    with pytest.raises(DecryptionError):
        keys.decrypt(token, Binding("another", entity_id="call_1", subtype="tool-call"))


@row("003-21")
def test_deltas_in_any_order_are_a_valid_stream() -> None:
    deltas = [
        ReasoningDelta("a", key="1"),
        ReasoningDelta("b", key="2"),
        TextDelta("A"),
        ToolCallDelta("c", "f"),
    ]
    for order in permutations(deltas):
        for cut in range(1, 5):
            run = Run(INPUT, new_id=numbers())
            events = [*run.start(), *(one for delta in order[:cut] for one in run.receive(delta))]
            assert errors([*events, *run.cancel()]) == []
            assert errors(said(order[:cut])) == []


@row("003-23")
def test_less_is_sent_where_less_is_wanted() -> None:
    pieces = [*map(ReasoningDelta, "abcdef"), TextDelta("A")]
    whole, joined = said(pieces), said(pieces, stages=[Coalesce(3)])
    assert [one.delta for one in joined if one.type == "REASONING_MESSAGE_CONTENT"] == ["abc", "def"]  # type: ignore[union-attr]
    merged = [one.delta for one in compact(whole) if one.type == "REASONING_MESSAGE_CONTENT"]  # type: ignore[union-attr]
    assert merged == ["abcdef"]
    assert told(joined) == told(whole) == [("reasoning", "abcdef"), ("assistant", "A")]


@row("003-26")
def test_models_and_dicts_are_the_same_bytes() -> None:
    encode = SSEEncoder().encode
    union: TypeAdapter[Any] = TypeAdapter(protocol.Event)
    for one in BASIC:
        assert read_events(encode(one)) == [one]
        assert read_events(encode(union.validate_python(one))) == [one]


# -- what is sent back


SAMPLE = [
    {"id": "m", "role": "reasoning", "content": "Summary.", "encryptedValue": "EqQB"},
    {"id": "u", "role": "user", "content": "And now?"},
]


@row("003-12")
def test_a_request_without_a_run_id_is_named() -> None:
    with pytest.raises(RemoteProtocolError, match="malformed at /runId") as failure:
        Run({"threadId": "t", "messages": SAMPLE})
    assert failure.value.code == "bad_input"


@row("003-12", "003-31")
@pytest.mark.parametrize("assumed", [None, "anthropic"])
def test_a_value_of_somebody_else_goes_to_the_provider_that_is_named(assumed: str | None) -> None:
    asked = {"id": "q", "role": "user", "content": "?"}
    history = restore([asked, SAMPLE[0], ANSWER, SAMPLE[1]], assume_provider=assumed)
    request = build_request("anthropic-messages", history, provider="anthropic", model="claude-sonnet-4-5")
    signed = {"type": "thinking", "thinking": "Summary.", "signature": "EqQB"}
    answer = {"type": "text", "text": "A"}
    assert request.body["messages"][1]["content"] == ([signed, answer] if assumed else [answer])
    assert [entry.outcome for entry in request.report] == ["echoed" if assumed else "dropped"]


@row("003-12b")
def test_a_conversation_sends_reasoning_back_and_the_provider_gets_it() -> None:
    conversation = Conversation("t")
    for one in said([thought(), CALL], **DEEPSEEK):
        conversation.receive(one)
    conversation.add_tool_result("call_1", "4")
    back = conversation.run_input("And now?")
    assert [message.role for message in back.messages] == ["reasoning", "assistant", "tool", "user"]
    assert Run(back, **DEEPSEEK).request().body["messages"][0]["reasoning_content"] == "Hm."


# -- THINKING_*


OLD = [
    event("THINKING_START", messageId="t1"),
    event("THINKING_TEXT_MESSAGE_START", messageId="m"),
    event("THINKING_TEXT_MESSAGE_CONTENT", messageId="m", delta="..."),
    event("THINKING_TEXT_MESSAGE_END", messageId="m"),
    event("THINKING_END", messageId="t1"),
]
NEW = [
    event("REASONING_START", messageId="id-1"),
    {**START, "messageId": "id-2"},
    content("...", "id-2"),
    {**END, "messageId": "id-2"},
    event("REASONING_END", messageId="id-1"),
]


@row("003-13", "003-13d")
def test_old_events_are_upgraded_under_new_ids() -> None:
    upgrader = ThinkingUpgrader(new_id=numbers(), on_warning=(heard := []).append)
    assert list(translate(OLD, upgrader)) == NEW
    assert [sentence.partition(" ")[0] for sentence in heard] == [one["type"] for one in OLD]


@row("003-13b")
def test_a_conversation_reads_old_events() -> None:
    conversation = Conversation("t", on_warning=(heard := []).append)
    for one in framed(OLD):
        conversation.receive(one)
    assert [(message.role, message.content) for message in conversation.messages] == [("reasoning", "...")]
    assert len(heard) == 5


@row("003-13c")
def test_the_models_of_old_events_are_here() -> None:
    for one in OLD:
        name = "".join(word.title() for word in one["type"].split("_")) + "Event"
        (written,) = plain([getattr(compat, name).model_validate(one)])
        assert {written["type"], written.get("delta")} == {one["type"], one.get("delta")}


@row("003-13e")
def test_events_are_downgraded_for_old_clients() -> None:
    downgrader = ThinkingDowngrader(on_warning=(heard := []).append)
    assert list(translate(NEW, downgrader)) == [
        {name: member for name, member in one.items() if name != "messageId"} for one in OLD
    ]
    assert heard == ["The IDs of reasoning are lost: THINKING_* has none."]


@row("003-13f")
def test_old_events_of_an_agent_are_upgraded_on_the_way_out() -> None:
    assert yielded(OLD, heard := []) == NEW
    assert ["THINKING_*" in sentence for sentence in heard] == [True]


AFTER = span({**START, "role": "assistant"}, content("..."), END)


@row("003-14")
def test_the_role_of_the_new_sample_is_told_and_mended(cli: Any) -> None:
    with pytest.raises(RemoteProtocolError, match='malformed at /role: expected "reasoning"'):
        reduce_events(framed(AFTER))
    assert codes(framed(AFTER)) == ["malformed_event"]
    assert yielded(AFTER, heard := []) == span(START, content("..."), END)
    assert heard == ['The role "assistant" of REASONING_MESSAGE_START is now "reasoning".']
    result = cli("upgrade", "--repair", "-", stdin=json.dumps(framed(AFTER)).encode())
    assert (result.status, json.loads(result.stdout)) == (0, framed(span(START, content("..."), END)))


PYTHON = """\
from ag_ui.core import ThinkingEndEvent, ThinkingStartEvent


def run():
    yield ThinkingStartEvent()
    yield ThinkingEndEvent()
"""
MIGRATED = """\
from ag_ui.core import ReasoningEndEvent, ReasoningStartEvent
from uuid import uuid4


def run():
    reasoning_span_id = str(uuid4())
    yield ReasoningStartEvent(message_id=reasoning_span_id)
    yield ReasoningEndEvent(message_id=reasoning_span_id)
"""


@row("003-15", "003-15b")
def test_source_is_migrated_and_what_is_not_python_is_left_with_advice(tmp_path: Path, cli: Any) -> None:
    pytest.importorskip("libcst", reason="the extra `migrate` is not installed")
    python, script = tmp_path / "old.py", tmp_path / "old.ts"
    python.write_text(PYTHON)
    assert cli("migrate", "--write", python).status == 0
    assert python.read_text() == MIGRATED
    script.write_text('yield { type: "THINKING_START", messageId: "t" }\n')
    result = cli("migrate", "--write", script)
    assert (result.status, script.read_text()) == (1, 'yield { type: "THINKING_START", messageId: "t" }\n')
    assert f"decide: {script}:1:15 A string contains THINKING_START." in result.stderr


# -- what is shown


@each(
    "visibility, shown",
    {
        "003-16full": ("full", "Confidential."),
        "003-16summary": ("summary", "In short."),
        "003-16hidden": ("hidden", ""),
    },
)
def test_the_client_sees_what_the_agent_lets_it(visibility: str, shown: str) -> None:
    keys = KeyRing(KEY)
    short = {"summarize": lambda part: "In short."} if visibility == "summary" else {}
    events = said(
        [thought("Confidential."), TextPart("A")], visibility=visibility, keys=keys, **short, **DEEPSEEK
    )
    assert told(events) == [("reasoning", shown), ("assistant", "A")]
    (turn,) = restore(reduce_events(events), keys=keys, thread_id="t").turns
    assert turn.parts[0].text == "Confidential."  # type: ignore[union-attr]


@row("003-09b", "003-18", "003-19")
@pytest.mark.parametrize("visibility", ["summary", "hidden"])
def test_hidden_text_is_in_no_byte_that_a_client_gets_or_stores(visibility: Any) -> None:
    keys = KeyRing(KEY)
    conversation = Conversation("t")
    signed = thought("Confidential.", opaque=(Opaque("anthropic.signature", "EqQB"),))
    wire = b""
    asked = conversation.run_input("Look.").model_dump(by_alias=True, exclude_none=True)
    for one in said([signed, CALL], asked, visibility=visibility, keys=keys, **CLAUDE):
        wire += SSEEncoder().encode(one)
        conversation.receive(one)
    conversation.add_tool_result("call_1", "4")
    run = Run(conversation.run_input("And now?"), visibility=visibility, keys=keys, **CLAUDE)
    kept = [wire.decode(), conversation.to_json(), repr(conversation.messages), repr(run.history)]
    assert [text for text in kept if "Confidential" in text or "EqQB" in text] == []
    assert "eyJ" in wire.decode()
    signed_block = {"type": "thinking", "thinking": "Confidential.", "signature": "EqQB"}
    assert run.request().body["messages"][1]["content"][0] == signed_block


@row("003-16d")
def test_without_keys_nothing_can_be_hidden_that_must_come_back() -> None:
    with pytest.raises(ConfigurationError):
        said([thought(), CALL], visibility="hidden", **CLAUDE)


@row("003-16e")
def test_one_answer_can_be_shown_to_two_audiences() -> None:
    keys = KeyRing(KEY)
    deltas = [ReasoningDelta("Confidential."), TextDelta("A"), FinishDelta("stop")]
    admin, user = (
        told(said(deltas, visibility=visibility, keys=keys, **DEEPSEEK)) for visibility in ("full", "hidden")
    )
    assert admin == [("reasoning", "Confidential."), ("assistant", "A")]
    assert user == [("reasoning", ""), ("assistant", "A")]


@row("003-24")
def test_a_summary_without_a_summarizer_is_a_placeholder() -> None:
    events = said(
        [thought("Confidential."), TextPart("A")], visibility="summary", keys=KeyRing(KEY), **CLAUDE
    )
    ((_, shown), answer) = told(events)
    assert (bool(shown.strip()), "Confidential" in shown, answer) == (True, False, ("assistant", "A"))


@row("003-20")
def test_an_audit_has_spans_and_sizes_and_no_content() -> None:
    records: list[AuditRecord] = []
    events = said(
        [thought("Confidential."), TextPart("A")], keys=KeyRing(KEY), on_audit=records.append, **DEEPSEEK
    )
    (begin,) = [one.message_id for one in events if one.type == "REASONING_START"]  # type: ignore[union-attr]
    (end,) = [one.message_id for one in events if one.type == "REASONING_END"]  # type: ignore[union-attr]
    assert [(one.action, one.outcome, one.span_id, one.text_chars) for one in records] == [
        ("emitted", "encrypted", begin, len("Confidential."))
    ]
    assert begin == end
    assert "Confidential" not in repr(records)


# -- erasure


@row("003-17")
def test_a_conversation_goes_on_without_its_reasoning() -> None:
    messages = reduce_events(said([thought("Confidential."), CALL], **DEEPSEEK))
    erased = erase_reasoning([*messages, protocol.ToolMessage(id="r", tool_call_id="call_1", content="4")])
    assert [message.role for message in erased] == ["assistant", "tool"]
    body = Run(RunAgentInput.model_validate({**INPUT, "messages": erased}), **DEEPSEEK).request().body
    assert [message["role"] for message in body["messages"]] == ["assistant", "tool"]
    assert "Confidential" not in json.dumps(body)


@row("003-17b")
def test_without_its_key_the_reasoning_of_a_tenant_is_gone() -> None:
    both = {"acme": bytes(32), "other": bytes(range(32))}
    keys = KeyRing(both, primary="acme")
    options: JSON = {"visibility": "hidden", "tenant": "acme"}
    messages = reduce_events(
        said([thought("Confidential."), TextPart("A")], keys=keys, **options, **DEEPSEEK)
    )
    opened = restore(messages, keys=keys, thread_id="t", tenant="acme")
    gone = restore(messages, keys=KeyRing({"other": both["other"]}), thread_id="t", tenant="acme")
    assert [part.text for part in opened.turns[0].parts] == ["Confidential.", "A"]  # type: ignore[union-attr]
    assert [part.text for part in gone.turns[0].parts] == ["", "A"]  # type: ignore[union-attr]
    assert [(entry.outcome, entry.reason) for entry in gone.report] == [("dropped", "undecryptable")]
