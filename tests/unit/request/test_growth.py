"""Restoring and building a request grow with the history, in time and memory, whatever its shape."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any

import pytest
from ag_ui.core import UserMessage

from agui_reasoning import Emitter, build_request, erase_reasoning, restore
from agui_reasoning.attribution import PartKind, attribute
from agui_reasoning.crypto import Binding, KeyRing, rekey_messages
from agui_reasoning.deltas import CloseDelta
from agui_reasoning.parts import (
    CUT_CALL_RESULT,
    NativePart,
    Opaque,
    Origin,
    Part,
    ReasoningPart,
    Segment,
    TextPart,
    ToolCallPart,
    Turn,
)
from agui_reasoning.request import REQUEST_API_IDS, History
from tests.internals.envelopes import (
    Envelope,
    ResponsePlace,
    SegmentRecord,
    Span,
    UnitRecord,
    call_unit,
    digest,
    reasoning_unit,
    result_unit,
    text_unit,
    write_envelope,
)
from tests.laws import law
from tests.support.effort import mostly_slow
from tests.support.growth import assert_linear

Message = dict[str, Any]
Messages = list[Message]

PROVIDERS = {
    "anthropic-messages": "anthropic",
    "gemini": "google",
    "gemini-interactions": "google",
    "openai-chat": "openrouter",
    "openai-responses": "openai",
    "xai-grpc": "xai",
    "litellm": "openrouter",
    "bedrock-converse": "bedrock",
    "mistral-chat": "mistral",
    "cohere-chat": "cohere",
    "ollama": "ollama",
}
USUAL = ("anthropic-messages", "gemini", "openai-chat")
APIS = mostly_slow(REQUEST_API_IDS, quick=USUAL)
"""Every API; in the quick profile those whose encoders differ most."""

ORIGIN = Origin(provider="anthropic", api="anthropic-messages", model="claude")


def build(api: str, given: Any) -> Any:
    return build_request(api, given, provider=PROVIDERS[api], model="some-model", on_warning=lambda _: None)


def user(number: int) -> Message:
    return {"id": f"u{number}", "role": "user", "content": "And then?"}


def assistant(number: int, **more: Any) -> Message:
    return {"id": f"a{number}", "role": "assistant", "content": f"Answer {number}.", **more}


def call(name: str) -> Message:
    return {"id": name, "type": "function", "function": {"name": "look", "arguments": "{}"}}


def result(number: int, name: str) -> Message:
    return {"id": f"t{number}", "role": "tool", "toolCallId": name, "content": "Seen."}


def thought(number: int, envelope: Envelope | None = None) -> Message:
    value = {} if envelope is None else {"encryptedValue": write_envelope(envelope)}
    return {"id": f"r{number}", "role": "reasoning", "content": "Hm.", **value}


def unit(seq: int, stretch: int = 0) -> UnitRecord:
    segments = (SegmentRecord(),)
    return reasoning_unit(seq, stretch=stretch, segments=segments, lengths=(3,), sha256=digest("Hm."))


# -- the shapes


def plain(count: int) -> Messages:
    return [message for n in range(count) for message in (user(n), assistant(n))]


def units_of_one_response(count: int) -> Messages:
    place = ResponsePlace(id="one")
    return [thought(n, Envelope(origin=ORIGIN, response=place, units=(unit(n),))) for n in range(count)]


def units_that_share_a_value(count: int) -> Messages:
    units = tuple(reasoning_unit(n, segments=(SegmentRecord(text="Hm."),)) for n in range(count))
    return [thought(0, Envelope(origin=ORIGIN, response=ResponsePlace(id="one"), units=units))]


def stretches_of_one_unit(count: int) -> Messages:
    place = ResponsePlace(id="one")
    return [thought(n, Envelope(origin=ORIGIN, response=place, units=(unit(0, n),))) for n in range(count)]


def responses_after_one_another(count: int) -> Messages:
    return [
        thought(
            n, Envelope(origin=ORIGIN, response=ResponsePlace(id=f"{n}", after=f"{n + 1}"), units=(unit(0),))
        )
        for n in range(count)
    ]


def calls_that_an_envelope_names(count: int) -> Messages:
    names = [f"call{n}" for n in range(count)]
    place = ResponsePlace(id="one", messages=("a0",), calls=tuple(names))
    calls = [call(name) for name in names]
    return [
        thought(0, Envelope(origin=ORIGIN, response=place, units=(unit(0),))),
        assistant(0, toolCalls=calls),
    ]


def calls_that_an_envelope_records(count: int) -> Messages:
    names = [f"call{n}" for n in range(count)]
    records = tuple(call_unit(seq=n + 1, id=name) for n, name in enumerate(names))
    place = ResponsePlace(id="one", messages=("a0",), calls=tuple(names))
    envelope = Envelope(origin=ORIGIN, response=place, units=(unit(0), *records))
    return [
        thought(0, envelope),
        assistant(0, toolCalls=[call(name) for name in names]),
        *(result(n, name) for n, name in enumerate(names)),
    ]


def calls_of_one_id(count: int) -> Messages:
    return [
        message
        for n in range(count)
        for message in (assistant(n, toolCalls=[call("same")]), result(n, "same"))
    ]


def calls_of_one_id_in_one_message(count: int) -> Messages:
    return [assistant(0, toolCalls=[call("same")] * count), *(result(n, "same") for n in range(count))]


def calls_with_illegal_ids(count: int) -> Messages:
    return [assistant(0, toolCalls=[call("é" * 8 + chr(0x4E00 + n % 9000)) for n in range(count)])]


def a_turn_of_calls_and_results(count: int) -> Messages:
    calls = [call(f"call{n}") for n in range(count)]
    return [assistant(0, toolCalls=calls), *(result(n, f"call{count - n - 1}") for n in range(count))]


def results_nobody_asked_for(count: int) -> Messages:
    return [
        message
        for n in range(count)
        for message in (assistant(n, toolCalls=[call(f"call{n}")]), result(n, f"other{n}"))
    ]


def result_records(count: int) -> Messages:
    records = tuple(result_unit(seq=n + 1, id=f"call{n}", message=f"gone{n}") for n in range(count))
    envelope = Envelope(origin=ORIGIN, response=ResponsePlace(id="one"), units=(unit(0), *records))
    return [thought(0, envelope), *(result(n, f"call{n}") for n in range(count))]


def texts_of_one_message(count: int) -> Messages:
    text = "word " * count
    records = tuple(
        text_unit(
            seq=n,
            spans=(Span(message="a0", start=5 * n, length=5),),
            sha256=digest("word "),
            ext={"id": "msg_1"},
        )
        for n in range(count)
    )
    place = ResponsePlace(id="one", messages=("a0",))
    origin = Origin(provider="openai", api="openai-responses", model="gpt")
    envelope = Envelope(origin=origin, response=place, units=(unit(count), *records))
    return [thought(0, envelope), {**assistant(0), "content": text}]


def hints_of_one_response(count: int) -> Messages:
    hint = {"agui-reasoning": {"response": "one"}}
    return [assistant(n, metadata=hint) for n in range(count)]


def thoughts_without_values(count: int) -> Messages:
    return [thought(n) for n in range(count)]


def _cut_call(name: str) -> Message:
    return {"id": name, "type": "function", "function": {"name": "look", "arguments": '{"pla'}}


def calls_that_were_cut(count: int) -> Messages:
    """Each in an answer of its own, every other answered by its run."""
    messages = [assistant(n, toolCalls=[_cut_call(f"c{n}")]) for n in range(count)]
    answers = [result(n, f"c{n}") | {"content": CUT_CALL_RESULT} for n in range(0, count, 2)]
    return [*messages, *answers]


def cut_calls_of_one_id_in_one_message(count: int) -> Messages:
    pieces = [{"type": "text", "text": piece} for piece in CUT_CALL_RESULT]
    calls = [_cut_call("c") for _ in range(count)]
    return [assistant(0, toolCalls=calls), *(result(n, "c") | {"content": pieces} for n in range(count))]


SHAPES = [
    calls_that_were_cut,
    cut_calls_of_one_id_in_one_message,
    plain,
    units_of_one_response,
    units_that_share_a_value,
    stretches_of_one_unit,
    responses_after_one_another,
    calls_that_an_envelope_names,
    calls_that_an_envelope_records,
    calls_of_one_id,
    calls_of_one_id_in_one_message,
    calls_with_illegal_ids,
    a_turn_of_calls_and_results,
    results_nobody_asked_for,
    result_records,
    texts_of_one_message,
    hints_of_one_response,
    thoughts_without_values,
]


@law("linear")
@pytest.mark.growth
@pytest.mark.parametrize("shape", SHAPES)
def test_restoring_grows_with_the_history(shape: Callable[[int], Messages]) -> None:
    assert_linear(shape, restore, 400)


@law("linear")
@pytest.mark.growth
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("api", APIS)
def test_building_a_request_grows_with_the_history(api: str, shape: Callable[[int], Messages]) -> None:
    assert_linear(lambda count: restore(shape(count)), partial(build, api), 400)


# -- turns that only a provider makes

TARGETS = {
    "anthropic-messages": Origin("anthropic", "anthropic-messages", "some-model"),
    "gemini": Origin("google", "gemini", "some-model"),
    "gemini-interactions": Origin("google", "gemini-interactions", "some-model"),
    "openai-chat": Origin("openrouter", "openai-chat", "some-model"),
    "openai-responses": Origin("openai", "openai-responses", "some-model"),
    "xai-grpc": Origin("xai", "xai-grpc", "some-model"),
    "litellm": Origin("openrouter", "litellm", "some-model"),
    "bedrock-converse": Origin("bedrock", "bedrock-converse", "openai.gpt-oss"),
    "mistral-chat": Origin("mistral", "mistral-chat", "some-model"),
    "cohere-chat": Origin("cohere", "cohere-chat", "command-a-reasoning"),
    "ollama": Origin("ollama", "ollama", "some-model"),
}


def runs_of_reasoning(count: int) -> list[Part]:
    """Reasoning and what it led to, in turn."""
    value = (Opaque("openai.encrypted_content", "gAAA"), Opaque("anthropic.signature", "EqRk"))
    return [
        part
        for n in range(count)
        for part in (
            ReasoningPart((Segment("summary", 0, "Hm."),), value, f"rs_{n}"),
            TextPart("So.", ext={"id": f"msg_{n}"}),
        )
    ]


def one_run_of_reasoning(count: int) -> list[Part]:
    return [ReasoningPart((Segment("summary", 0, "Hm."),), item_id=f"rs_{n}") for n in range(count)]


def calls_and_reasoning(count: int) -> list[Part]:
    return [
        part
        for n in range(count)
        for part in (
            ToolCallPart(f"call{n}", "look", "{}"),
            ReasoningPart((Segment("summary", 0, "Hm."),), (Opaque("openai.encrypted_content", "g"),)),
        )
    ]


def many_details(count: int) -> list[Part]:
    segments = tuple(Segment("text", n, "Hm.") for n in range(count))
    details = [{"type": "reasoning.text", "index": n} for n in range(count)]
    ext = {"field": "reasoning_details", "details": details}
    return [ReasoningPart(segments, ext=ext), TextPart("So.")]


def blocks_that_cannot_go(count: int) -> list[Part]:
    return [NativePart(f"acme.block_{n}", {}) for n in range(count)]


def reasoning_of_one_id(count: int) -> list[Part]:
    return [part for _ in range(count) for part in (ReasoningPart(item_id="rs"), TextPart("So."))]


@pytest.mark.growth
@pytest.mark.parametrize(
    "parts",
    [
        runs_of_reasoning,
        one_run_of_reasoning,
        calls_and_reasoning,
        many_details,
        blocks_that_cannot_go,
        reasoning_of_one_id,
    ],
)
@pytest.mark.parametrize("api", APIS)
def test_encoding_grows_with_the_parts_of_a_turn(api: str, parts: Callable[[int], list[Part]]) -> None:
    def history(count: int) -> History:
        return History((Turn(tuple(parts(count)), TARGETS[api]),))

    assert_linear(history, partial(build, api), 1_000)


# -- what else walks a history


@pytest.mark.growth
@pytest.mark.parametrize("api", ["anthropic-messages", "openai-chat"])
def test_preparing_a_conversation_grows_with_the_history(api: str) -> None:
    def history(count: int) -> History:
        turns = [Turn((ReasoningPart((Segment("text", 0, "Hm."),)), TextPart("Yes."))) for _ in range(count)]
        asked = UserMessage(id="u", content="And then?")
        return History(tuple(item for turn in turns for item in (asked, turn)))

    assert_linear(history, lambda given: build(api, given).conversation, 1_600)


@pytest.mark.growth
@pytest.mark.parametrize("keep", [0, 1, 100_000])
def test_trimming_grows_with_the_history(keep: int) -> None:
    assert_linear(lambda count: restore(plain(count)), lambda history: history.trim(keep_turns=keep), 1_000)


@pytest.mark.growth
def test_erasing_grows_with_the_history() -> None:
    assert_linear(a_turn_of_calls_and_results, erase_reasoning, 500)


@pytest.mark.growth
def test_attribution_grows_with_the_items() -> None:
    kinds: tuple[PartKind, ...] = ("reasoning", "text", "call", "call", "result", "boundary")

    def items(count: int) -> list[tuple[PartKind, str]]:
        return list(chain.from_iterable([(kind, f"{kind}{n}") for kind in kinds] for n in range(count)))

    assert_linear(items, attribute, 2_000)
    assert_linear(lambda count: [("reasoning", f"r{n}") for n in range(count)], attribute, 10_000)


@pytest.mark.growth
@pytest.mark.parametrize("shape", [units_of_one_response, units_that_share_a_value])
def test_auditing_grows_with_the_report(shape: Callable[[int], Messages]) -> None:
    restored = partial(restore, on_audit=lambda _: None)
    assert_linear(shape, restored, 500)


# -- keys: the id of a thread is the client's choice, and may be long

RING = KeyRing({"new": b"n" * 32, "old": b"o" * 32})


def junk_tokens_of_a_long_thread(count: int) -> tuple[Messages, str]:
    thread = "t" * (2_000 * count)
    token = KeyRing({"old": b"x" * 32}).encrypt(b"{}", Binding(thread))
    return [{**thought(n), "encryptedValue": token} for n in range(count)], thread


def tokens_of_a_long_thread(count: int) -> tuple[Messages, str]:
    thread = "t" * (2_000 * count)
    token = KeyRing({"old": b"o" * 32}).encrypt(b"{}", Binding(thread))
    return [{**thought(n), "encryptedValue": token} for n in range(count)], thread


@pytest.mark.growth
def test_reading_tokens_grows_with_the_history_and_the_id_of_its_thread() -> None:
    assert_linear(
        junk_tokens_of_a_long_thread, lambda given: restore(given[0], keys=RING, thread_id=given[1]), 300
    )


@pytest.mark.growth
def test_rekeying_grows_with_the_history_and_the_id_of_its_thread() -> None:
    assert_linear(
        tokens_of_a_long_thread, lambda given: rekey_messages(given[0], RING, thread_id=given[1]), 300
    )


@pytest.mark.growth
def test_encrypting_grows_with_the_units_and_the_id_of_their_thread() -> None:
    def emitted(count: int) -> None:
        emitter = Emitter(keys=RING, thread_id="t" * (2_000 * count))
        for _ in range(count):
            emitter.receive(ReasoningPart((Segment("text", 0, "Hm."),)))
            emitter.receive(CloseDelta())
        emitter.close()

    assert_linear(lambda count: count, emitted, 150)


# -- memory

CHARS = 200_000


def peak_bytes(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        kept = work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        del kept


def overlapping_spans(count: int) -> Messages:
    spans = (Span(message="a0", start=0, length=CHARS),) * count
    record = text_unit(seq=1, spans=spans, sha256=digest("other"))
    return [*named("one", rest=(record,)), {**assistant(0), "content": "x" * CHARS}]


def units_with_the_same_span(count: int) -> Messages:
    at = (Span(message="a0", start=0, length=CHARS),)
    records = tuple(text_unit(seq=n + 1, spans=at, sha256=digest("other")) for n in range(count))
    return [*named("one", rest=records), {**assistant(0), "content": "x" * CHARS}]


def empty_spans_of_an_edited_message(count: int) -> Messages:
    at = (Span(message="a0", start=0, length=0),)
    records = tuple(text_unit(seq=n + 1, spans=at, sha256=digest("other")) for n in range(count))
    return [*named("one", rest=records), {**assistant(0), "content": "x" * CHARS}]


def responses_that_name_one_message(count: int) -> Messages:
    names = [message for n in range(count) for message in named(f"{n}", number=n)]
    return [*names, {**assistant(0), "content": "x" * CHARS}]


def one_message_named_often(count: int) -> Messages:
    return [*named("one", messages=("a0",) * count), {**assistant(0), "content": "x" * CHARS}]


def results_of_one_message(count: int) -> Messages:
    records = tuple(result_unit(seq=n + 1, id=f"c{n}", message="t0") for n in range(count))
    return [*named("one", rest=records), {**result(0, "c"), "content": "x" * CHARS}]


def calls_recorded_often(count: int) -> Messages:
    long = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '"' + "x" * CHARS + '"'}}
    records = tuple(call_unit(seq=n + 1, id="c") for n in range(count))
    return [*named("one", rest=records), assistant(0, toolCalls=[long])]


def named(
    response: str, *, number: int = 0, messages: tuple[str, ...] = ("a0",), rest: tuple[Any, ...] = ()
) -> Messages:
    place = ResponsePlace(id=response, messages=messages)
    return [thought(number, Envelope(origin=ORIGIN, response=place, units=(unit(0), *rest)))]


@pytest.mark.parametrize(
    "shape",
    [
        overlapping_spans,
        units_with_the_same_span,
        empty_spans_of_an_edited_message,
        responses_that_name_one_message,
        one_message_named_often,
        results_of_one_message,
        calls_recorded_often,
    ],
)
def test_no_envelope_multiplies_what_the_client_shows(shape: Callable[[int], Messages]) -> None:
    messages = shape(100)

    def chars() -> int:
        body = build("openai-chat", restore(messages)).body
        return len(str(body))

    assert peak_bytes(chars) < 20 * CHARS
    assert chars() < 3 * CHARS
