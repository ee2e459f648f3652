"""Test the assertions: they pass correct runs, and name each defect without quoting reasoning."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from agui_reasoning import ConfigurationError, LocalProtocolError, RemoteProtocolError, Run, check_events
from agui_reasoning.consumer import Conversation
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import (
    CloseDelta,
    FinishDelta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
)
from agui_reasoning.parts import Opaque, Origin
from agui_reasoning.providers import decoder
from agui_reasoning.replay import load_script, payloads, script_names
from agui_reasoning.testing import assert_round_trip, assert_valid
from tests.support.verifier import plain

Json = dict[str, Any]

CLAUDE = Origin("anthropic", "anthropic-messages", "claude-sonnet-5")
TARGET = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-sonnet-5"}
QUESTION = {"id": "u1", "role": "user", "content": "Weather in Oslo?"}
INPUT: Json = {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": [QUESTION]}
SECRETS = ("Cold there", "Ask first", "Take a coat", "SIG-1", "SIG-2", "DATA-1")

THOUGHT: list[Any] = [
    ResponseStart(CLAUDE, id="msg_1"),
    ReasoningDelta("Cold there?", key="0"),
    OpaqueDelta(Opaque("anthropic.signature", "SIG-1"), key="0"),
    CloseDelta(key="0"),
    ReasoningDelta("Ask first.", key="1"),
    OpaqueDelta(Opaque("anthropic.signature", "SIG-2"), key="1"),
    CloseDelta(key="1"),
    OpaqueDelta(Opaque("anthropic.redacted_thinking", "DATA-1"), key="2"),
    CloseDelta(key="2"),
    TextDelta("I will look."),
    ToolCallDelta("toolu_1", "weather", '{"city":"Oslo"}'),
    FinishDelta("tool_use"),
]


def emitted(
    items: list[Any], *, end: str = "finish", given: Json = INPUT, first_id: int = 0, **options: Any
) -> list[Json]:
    """The events of a run as JSON; reasoning messages are ``r0``, ``r1`` … by their number."""
    numbers = count(first_id)
    run = Run(given, new_id=lambda: f"id{next(numbers)}", on_warning=lambda message: None, **options)
    events = run.start()
    for item in items:
        events += run.receive(item)
    return plain(events + getattr(run, end)())


def thoughts(events: list[Json]) -> list[str]:
    return [event["messageId"] for event in events if event["type"] == "REASONING_MESSAGE_START"]


def of(events: list[Json], thought: str) -> list[Json]:
    """The events of one reasoning message, its value too."""
    return [
        event
        for event in events
        if event["type"].startswith(("REASONING_MESSAGE", "REASONING_ENCRYPTED"))
        and thought in (event.get("messageId"), event.get("entityId"))
    ]


def values(events: list[Json]) -> list[Json]:
    return [event for event in events if event["type"] == "REASONING_ENCRYPTED_VALUE"]


def edited(event: Json, change: Callable[[Json], object]) -> Json:
    """A value whose envelope was changed."""
    envelope = json.loads(event["encryptedValue"])
    change(envelope)
    return {**event, "encryptedValue": json.dumps(envelope)}


def each_value(events: list[Json], change: Callable[[Json], object]) -> list[Json]:
    return [edited(e, change) if "encryptedValue" in e else e for e in events]


# -- what is right


def test_a_correct_run_passes_as_models_and_as_json() -> None:
    events = emitted(THOUGHT)
    assert_valid(events)
    assert_round_trip(INPUT, events, **TARGET)
    run = Run(INPUT)
    models = run.start()
    for item in THOUGHT:
        models += run.receive(item)
    models += run.finish()
    assert_valid(models)
    assert_round_trip(run.input, models, **TARGET)


@pytest.mark.parametrize("name", script_names())
def test_every_script_passes(name: str) -> None:
    script = load_script(name)
    machine = decoder(script["api"], provider=script["provider"], model=script["model"])
    deltas = [delta for payload in payloads(script) for delta in machine.receive(payload)]
    events = emitted([*deltas, *machine.close()])
    assert_valid(events)
    assert_round_trip(INPUT, events, api=script["api"], provider=script["provider"], model=script["model"])


def test_several_responses_of_one_run_pass() -> None:
    second = [
        ResponseStart(CLAUDE, id="msg_2"),
        OpaqueDelta(Opaque("anthropic.signature", "SIG-3"), key="0"),
        CloseDelta(key="0"),
        TextDelta("Take a coat."),
    ]
    events = emitted([*THOUGHT, ToolResultDelta("toolu_1", "4C"), *second])
    assert_valid(events)
    assert_round_trip(INPUT, events, **TARGET)


def test_what_a_provider_does_not_read_back_needs_only_to_be_restored() -> None:
    events = emitted(
        [ResponseStart(Origin("groq", "openai-chat", "llama")), ReasoningDelta("Hm."), TextDelta("Yes.")]
    )
    assert_round_trip(INPUT, events, api="openai-chat", provider="groq", model="llama")


def test_an_earlier_conversation_in_the_input_is_no_part_of_the_test() -> None:
    lost = {"id": "r0", "role": "reasoning", "content": "Nobody knows who thought this."}
    given = INPUT | {
        "messages": [
            QUESTION,
            lost,
            {"id": "m0", "role": "assistant", "content": "Hi."},
            QUESTION | {"id": "u2"},
        ]
    }
    assert_round_trip(given, emitted(THOUGHT), **TARGET)


def thought(signature: str) -> list[Any]:
    value = Opaque("anthropic.signature", signature)
    return [ResponseStart(CLAUDE), OpaqueDelta(value, key="0"), CloseDelta(key="0")]


def later_run(earlier: list[Any], *items: Any) -> tuple[Json, list[Json]]:
    """The input and the events of a run after an earlier one."""
    conversation = Conversation("t", messages=[QUESTION])
    for event in emitted(earlier):
        conversation.receive(event)
    given = plain([conversation.run_input("And now?", run_id="r2")])[0]
    return given, emitted([*items], given=given, first_id=100)


@pytest.mark.parametrize("signature", ["SIG-1", "SIG-2", "SIG-3"])
def test_a_front_end_may_have_lost_an_equal_unit_of_an_earlier_run(signature: str) -> None:
    """Without steps, as in the input, TanStack keeps only the last value of an answer: not SIG-1."""
    first = [*thought("SIG-1"), ToolCallDelta("toolu_1", "weather", "{}"), FinishDelta("tool_use")]
    second = [*thought("SIG-2"), TextDelta("Take a coat.")]
    given, events = later_run(
        [*first, ToolResultDelta("toolu_1", "4C"), *second], *thought(signature), TextDelta("And a hat.")
    )
    assert_round_trip(given, events, **TARGET)


def test_equal_units_are_those_of_their_own_messages() -> None:
    """The value of a later message carries both units of the first one again."""
    value = Opaque("anthropic.signature", "SIG-1")
    unsaid = [part for key in "01" for part in (OpaqueDelta(value, key=key), CloseDelta(key=key))]
    shown = [ReasoningDelta("Hm.", key="3"), OpaqueDelta(value, key="3"), CloseDelta(key="3")]
    first = [ResponseStart(CLAUDE), *unsaid, ToolCallDelta("toolu_1", "weather", "{}"), *shown]
    answer = [*thought("SIG-1"), TextDelta("Take a coat.")]
    assert_round_trip(INPUT, emitted([*first, ToolResultDelta("toolu_1", "4C"), *answer]), **TARGET)


def test_equal_units_count_one_by_one_in_the_next_request() -> None:
    """The last one is not sent back, because nothing follows it."""
    value = Opaque("anthropic.signature", "SIG-1")
    unsaid = [[OpaqueDelta(value, key=key), CloseDelta(key=key)] for key in "01"]
    items = [ResponseStart(CLAUDE), *unsaid[0], TextDelta("Take a coat."), *unsaid[1]]
    assert_round_trip(INPUT, emitted(items), **TARGET)


# -- defects


def without_value(events: list[Json]) -> list[Json]:
    return [event for event in events if event is not values(events)[0]]


def without_signature(events: list[Json]) -> list[Json]:
    return each_value(
        events, lambda envelope: [unit["part"].pop("opaque", None) for unit in envelope["units"]]
    )


def altered_text(events: list[Json]) -> list[Json]:
    return [e | {"delta": "Cold there!"} if e.get("delta") == "Cold there?" else e for e in events]


def foreign_value(events: list[Json]) -> list[Json]:
    return [e | {"encryptedValue": "SIG-1"} if e is values(events)[0] else e for e in events]


def swapped_values(events: list[Json]) -> list[Json]:
    first, second = values(events)[0], values(events)[-1]
    swap = {first["entityId"]: second["encryptedValue"], second["entityId"]: first["encryptedValue"]}
    return [e | {"encryptedValue": swap[e["entityId"]]} if e in (first, second) else e for e in events]


def swapped_messages(events: list[Json]) -> list[Json]:
    one, other = (of(events, thought) for thought in thoughts(events)[:2])
    at = events.index(one[0])
    rest = [event for event in events if event not in [*one, *other]]
    return [*rest[:at], *other, *one, *rest[at:]]


def value_first(events: list[Json]) -> list[Json]:
    value = values(events)[0]
    rest = [event for event in events if event is not value]
    return [rest[0], value, *rest[1:]]


def twice_the_same_place(events: list[Json]) -> list[Json]:
    return each_value(events, lambda envelope: envelope["units"][0].update(seq=0))


def answer_renamed(events: list[Json]) -> list[Json]:
    """Middleware gives messages ids of its own."""
    text = json.dumps(events)
    for event in events:
        if event["type"] in ("TEXT_MESSAGE_START", "TOOL_CALL_START"):
            old = event.get("messageId") or event["toolCallId"]
            text = text.replace(f'"{old}"', f'"new-{old}"')
    return json.loads(text)  # type: ignore[no-any-return]


def another_producer(events: list[Json]) -> list[Json]:
    return each_value(events, lambda envelope: envelope["origin"].update(provider="deepseek"))


def no_producer(events: list[Json]) -> list[Json]:
    return each_value(events, lambda envelope: envelope.pop("origin"))


def snapshot_without(events: list[Json]) -> list[Json]:
    other = {"id": "other", "role": "reasoning", "content": "Hm.", "encryptedValue": "x"}
    return [*events[:-1], {"type": "MESSAGES_SNAPSHOT", "messages": [QUESTION, other]}, events[-1]]


def without_end(events: list[Json]) -> list[Json]:
    return [event for event in events if event["type"] != "REASONING_MESSAGE_END"]


def truncated(events: list[Json]) -> list[Json]:
    return events[:-1]


def without_reasoning(events: list[Json]) -> list[Json]:
    return [event for event in events if not event["type"].startswith("REASONING")]


DEFECTS: list[tuple[Callable[[list[Json]], list[Json]], list[str]]] = [
    (without_value, ["message 'id3'", "it has no encryptedValue"]),
    (without_signature, ["message 'id3'", "as it is", "CopilotKit", "assistant-ui", "has no signature"]),
    (altered_text, ["message 'id3'", "differs from the text its encryptedValue was created for"]),
    (foreign_value, ["message 'id3'", "not an envelope of agui-reasoning"]),
    (swapped_values, ["message 'id3'", "message 'id4'", "its text differs"]),
    (swapped_messages, ["message 'id3'", "before message 'id4'", "which the stream sent first"]),
    (value_first, ["message 'id3'", "it has no encryptedValue", "before the message existed"]),
    (twice_the_same_place, ["message 'id3'", "the position of another message"]),
    (answer_renamed, ["message 'id3'", "does not name the message or call that followed"]),
    (another_producer, ["message 'id3'", "names a producer whose values this provider cannot read"]),
    (no_producer, ["message 'id3'", "does not name its producer: pass api=, provider=, model= to Run"]),
    (snapshot_without, ["message 'id3'", "a snapshot omitted it"]),
    (without_end, ["breaks the protocol", "left_open", "reasoning message 'id3'"]),
    (truncated, ["breaks the protocol", "truncated_run"]),
    (without_reasoning, ["Nothing was tested", "the stream has no reasoning"]),
]


@pytest.mark.parametrize(("defect", "words"), DEFECTS, ids=[defect.__name__ for defect, _ in DEFECTS])
def test_a_defect_is_named_and_nothing_is_told(
    defect: Callable[[list[Json]], list[Json]], words: list[str]
) -> None:
    events = emitted(THOUGHT)
    with pytest.raises(AssertionError) as caught:
        assert_round_trip(INPUT, defect(events), **TARGET)
    told = str(caught.value)
    assert [word for word in words if word not in told] == [], told
    assert [secret for secret in SECRETS if secret in told] == []
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("api", "provider", "meant"),
    [
        ("anthropic-messages", "antropic", "anthropic"),
        ("openai-chat", "DeepSeak", "deepseek"),
        ("openai-responses", "opena", "openai"),
    ],
)
def test_a_misspelt_provider_is_told_with_the_nearest_name(api: str, provider: str, meant: str) -> None:
    with pytest.raises(AssertionError) as caught:
        assert_round_trip(INPUT, emitted(THOUGHT), api=api, provider=provider, model="m")
    assert str(caught.value).splitlines() == [
        "Nothing would be sent back:",
        f"- The echo policy has no row for {provider!r} of {api} and the model 'm': "
        f"no reasoning is sent back. Did you mean {meant!r}?",
    ]


@pytest.mark.parametrize("provider", ["acme", "MoonshotAI"])
def test_a_provider_of_the_users_own_is_no_slip(provider: str) -> None:
    origin = Origin(provider, "openai-chat", "m")
    items = [ResponseStart(origin), ReasoningDelta("Hm."), TextDelta("Yes.")]
    assert_round_trip(INPUT, emitted(items), api="openai-chat", provider=provider, model="m")


def test_a_value_of_an_unknown_kind_is_told_with_the_nearest_name() -> None:
    claude = Origin("anthropic", "anthropic-messages", "claude-sonnet-5")
    items = [ResponseStart(claude), ReasoningDelta("Hm."), OpaqueDelta(Opaque("signature", "SIG-1"))]
    with pytest.raises(AssertionError) as caught:
        assert_round_trip(INPUT, emitted([*items, TextDelta("Yes.")]), **TARGET)
    told = str(caught.value)
    assert "it has a value of the kind 'signature'. Did you mean 'anthropic.signature'?" in told
    assert "SIG-1" not in told


def test_reasoning_that_was_cut_is_not_taken_for_a_test() -> None:
    events = emitted([*THOUGHT[:2]], end="cancel")
    assert_valid(events)
    with pytest.raises(AssertionError, match="message 'id3' is incomplete"):
        assert_round_trip(INPUT, events, **TARGET)


def test_a_unit_without_text_may_travel_in_the_value_of_a_later_message() -> None:
    grok = Origin("xai", "xai-grpc", "grok-4")
    items = [
        ResponseStart(grok),
        *(ReasoningDelta("Hm.", key="1"), CloseDelta(key="1")),
        *(OpaqueDelta(Opaque("xai.encrypted_content", "DATA"), key="2"), CloseDelta(key="2")),
        *(ReasoningDelta("Hm.", key="3"), CloseDelta(key="3")),
        *(ReasoningDelta("Hm.", key="4"), CloseDelta(key="4")),
        TextDelta("Take a coat."),
    ]
    assert_round_trip(INPUT, emitted(items), api="xai-grpc", provider="xai", model="grok-4")


def test_a_value_on_a_call_that_only_some_front_ends_keep_is_named() -> None:
    gemini = Origin("google", "openai-chat", "gemini-3-pro")
    value = Opaque("gemini.openai_compat_signature", "SIG-1", attach="tool_call:c1")
    items = [
        ResponseStart(gemini),
        ToolCallDelta("c1", "get", "{}", ext={"extra_content": "google"}),
        OpaqueDelta(value, key="c1"),
    ]
    target = {"api": "openai-chat", "provider": "google", "model": "gemini-3-pro"}
    assert_round_trip(INPUT, emitted(items), **target)
    with pytest.raises(AssertionError) as caught:
        assert_round_trip(INPUT, emitted(items, anchors="never"), **target)
    assert str(caught.value).splitlines()[1:] == [
        "- assistant-ui: call 'c1': it does not come back unchanged"
    ]


@pytest.mark.parametrize("earlier", ["SIG-1", "SIG-2"])
def test_a_loss_is_named_though_an_earlier_run_has_an_equal_unit(earlier: str) -> None:
    call = [*thought("SIG-1"), ToolCallDelta("toolu_1", "weather", "{}"), FinishDelta("tool_use")]
    answer = [ResponseStart(CLAUDE), TextDelta("Take a coat.")]
    given, events = later_run(
        [*thought(earlier), TextDelta("Well.")], *call, ToolResultDelta("toolu_1", "4C"), *answer
    )
    late = [event for event in events if event["type"] != "REASONING_ENCRYPTED_VALUE"]
    late[-1:-1] = values(events)
    with pytest.raises(AssertionError) as caught:
        assert_round_trip(given, late, **TARGET)
    [reasoning] = thoughts(events)
    assert str(caught.value).splitlines()[1:] == [
        f"- assistant-ui: message {reasoning!r}: it does not come back unchanged"
    ]


def test_a_value_on_text_that_is_not_the_text_anymore_is_named() -> None:
    gemini = Origin("google", "openai-chat", "gemini-3-pro")
    value = Opaque("gemini.openai_compat_signature", "SIG-1", attach="text")
    items = [
        ResponseStart(gemini),
        TextDelta("Take a coat.", key="t", ext={"extra_content": "google"}),
        OpaqueDelta(value, key="t"),
    ]
    target = {"api": "openai-chat", "provider": "google", "model": "gemini-3-pro"}
    events = emitted(items)
    assert_round_trip(INPUT, events, **target)
    altered = [e | {"delta": "Take a hat."} if e.get("delta") == "Take a coat." else e for e in events]
    with pytest.raises(AssertionError, match="its text differs from the text"):
        assert_round_trip(INPUT, altered, **target)


def test_a_subagent_that_only_thought_has_nothing_to_send_back() -> None:
    run = Run(INPUT, on_warning=lambda message: None, **TARGET)
    child = run.subagent("search", id="S")
    events = run.start()
    for event in (*child.start(), *(e for item in THOUGHT[:4] for e in child.receive(item)), *child.finish()):
        events += run.receive(event)
    assert_round_trip(INPUT, events + run.finish(), **TARGET)


def test_subagents_are_tested_in_conversations_of_their_own() -> None:
    numbers = count()
    run = Run(INPUT, new_id=lambda: f"id{next(numbers)}", on_warning=lambda message: None, **TARGET)
    child = run.subagent("search", id="S")
    events = run.start()
    for event in (
        *child.start(),
        *(e for item in THOUGHT[:-2] for e in child.receive(item)),
        *child.finish(),
    ):
        events += run.receive(event)
    events += run.receive(TextDelta("Done.")) + run.finish()
    wire = plain(events)
    assert_valid(wire)
    assert_round_trip(INPUT, wire, **TARGET)
    with pytest.raises(AssertionError, match="it has no encryptedValue"):
        assert_round_trip(INPUT, without_value(wire), **TARGET)


@pytest.mark.parametrize("visibility", ["full", "summary", "hidden"])
def test_a_run_that_encrypts_passes_with_its_keys(visibility: Any) -> None:
    ring = KeyRing.generate()
    events = emitted(THOUGHT, keys=ring, tenant="acme", visibility=visibility)
    assert_valid(events)
    assert_round_trip(INPUT, events, **TARGET, keys=ring, tenant="acme")
    for keys, tenant in ((ring, "other"), (KeyRing.generate(), "acme")):
        with pytest.raises(AssertionError, match="cannot be decrypted") as caught:
            assert_round_trip(INPUT, events, **TARGET, keys=keys, tenant=tenant)
        assert [secret for secret in SECRETS if secret in str(caught.value)] == []
    with pytest.raises(ConfigurationError) as refused:
        assert_round_trip(INPUT, events, **TARGET)
    assert refused.value.code == "keys_missing"


def test_a_run_that_should_have_encrypted_is_named() -> None:
    with pytest.raises(AssertionError, match="with keys unencrypted values are ignored"):
        assert_round_trip(INPUT, emitted(THOUGHT), **TARGET, keys=KeyRing.generate())


def test_wrong_use_is_told_apart_from_a_failed_test() -> None:
    with pytest.raises(RemoteProtocolError) as refused:
        assert_round_trip({"threadId": 7}, [], **TARGET)
    assert refused.value.code == "bad_input"
    with pytest.raises(LocalProtocolError):
        assert_round_trip(INPUT, ["event"], **TARGET)  # type: ignore[list-item]
    with pytest.raises(LocalProtocolError):
        assert_valid(["event"])  # type: ignore[list-item]


# -- valid


def test_every_finding_is_listed_with_its_place_and_its_remedy() -> None:
    events = without_end(emitted(THOUGHT))
    with pytest.raises(AssertionError) as caught:
        assert_valid(events)
    first, *rest = str(caught.value).splitlines()
    assert first == "The stream is not valid:"
    assert rest
    assert all(line.startswith("- event ") for line in rest)
    assert "left_open" in rest[0]
    assert rest[0].endswith(".")
    assert [secret for secret in SECRETS if secret in str(caught.value)] == []


def test_lints_count_unless_they_are_told_not_to() -> None:
    events = value_first(emitted(THOUGHT))
    with pytest.raises(AssertionError, match="value_before_entity"):
        assert_valid(events)
    assert_valid(events, lints=False)


def test_a_provider_may_sign_reasoning_without_text() -> None:
    events = emitted([*thought("SIG-1"), TextDelta("Take a coat.")])
    assert [finding.code for finding in check_events(events)] == ["reasoning_without_text"]
    assert_valid(events)


@pytest.mark.parametrize("defect", [without_end, truncated])
def test_a_violation_counts_with_and_without_lints(defect: Callable[[list[Json]], list[Json]]) -> None:
    with pytest.raises(AssertionError, match="error"):
        assert_valid(defect(emitted(THOUGHT)), lints=False)
