"""Test the openai-chat decoder, one trap per test, with payloads written for it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from openai.lib.streaming.chat import ChunkEvent, ContentDeltaEvent
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
    NativeDelta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
    UsageDelta,
    fold,
    unfold,
)
from agui_reasoning.errors import DecodeError, ProviderError
from agui_reasoning.parts import (
    NativePart,
    Opaque,
    Origin,
    Part,
    ReasoningPart,
    Segment,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from agui_reasoning.providers import Decoder, decode_response, decoder

API = "openai-chat"
ORIGIN = Origin(None, API, "m-1")
START = ResponseStart(ORIGIN, id="r1")
NORMAL_ORDER = (ReasoningPart, TextPart, ToolCallPart, ToolResultPart, NativePart)


def chunk(finish: str | None = None, /, *, response_id: str = "r1", **delta: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": response_id, "object": "chat.completion.chunk", "model": "m-1", "choices": [choice]}


def message(finish: str = "stop", /, **fields: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **fields}, "finish_reason": finish}
    return {"id": "r1", "object": "chat.completion", "model": "m-1", "choices": [choice]}


def call(index: int | None = None, **fields: Any) -> dict[str, Any]:
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    entry = {**fields, "function": function} if function else fields
    return entry if index is None else {"index": index, **entry}


def feed(made: Decoder, *payloads: Any) -> list[Delta]:
    return [delta for payload in payloads for delta in made.receive(payload)]


def stream(*payloads: Any, provider: str | None = None) -> list[Delta]:
    """The deltas of a stream that ends well, without its start and its end."""
    made = decoder(API, provider=provider)
    deltas = feed(made, *payloads, chunk("stop"), "[DONE]") + made.close()
    assert isinstance(deltas[0], ResponseStart)
    assert deltas[-1] == FinishDelta("stop")
    return deltas[1:-1]


def parts(*payloads: Any, provider: str | None = None) -> list[Part]:
    """The parts of a stream, without their origin."""
    found = fold(stream(*payloads, provider=provider))
    assert fold(unfold(found)) == found
    return found


def whole(response: Any, provider: str | None = None) -> list[Part]:
    found = decode_response(API, response, provider=provider)
    assert fold(unfold(found)) == found
    return [replace(part, origin=None) for part in found]


def normal(found: list[Part]) -> list[Part]:
    """Reasoning, text, calls; reasoning that resumed is joined."""
    ordered = sorted(found, key=lambda part: NORMAL_ORDER.index(type(part)))
    return [_joined(part) if isinstance(part, ReasoningPart) else part for part in ordered]


def _joined(part: ReasoningPart) -> ReasoningPart:
    texts: dict[tuple[Any, int], str] = {}
    for segment in part.segments:
        place = (segment.channel, segment.index)
        texts[place] = texts.get(place, "") + segment.text
    return replace(part, segments=tuple(Segment(*place, text) for place, text in texts.items()))


def thought(text: str, channel: Any = "text", index: int = 0) -> tuple[Segment, ...]:
    return (Segment(channel, index, text),)


def reasoned(text: str, field: str, *opaque: Opaque) -> ReasoningPart:
    return ReasoningPart(thought(text), opaque, ext={"field": field})


# -- flat fields


def test_a_flat_stream_becomes_one_reasoning_unit_and_one_text() -> None:
    made = decoder(API, provider="deepseek")
    deltas = feed(
        made,
        chunk(role="assistant", content=None, reasoning_content=""),
        chunk(reasoning_content="Add "),
        chunk(reasoning_content="them."),
        chunk(content="4", reasoning_content=None),
        chunk("stop", content=""),
        "[DONE]",
    )
    assert deltas == [
        ResponseStart(Origin("deepseek", API, "m-1"), id="r1"),
        ReasoningDelta("Add ", key="reasoning", ext={"field": "reasoning_content"}),
        ReasoningDelta("them.", key="reasoning"),
        CloseDelta(key="reasoning"),
        TextDelta("4", key="text"),
        FinishDelta("stop"),
    ]
    assert made.close() == []


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text", "thinking"])
def test_every_flat_field_is_read_and_its_name_is_noted(field: str) -> None:
    expected = [reasoned("So.", field), TextPart("Yes")]
    assert parts(chunk(**{field: "So"}), chunk(**{field: "."}), chunk(content="Yes")) == expected
    assert whole(message(**{field: "So.", "content": "Yes"})) == expected


def test_reasoning_ends_when_a_tool_call_begins_and_resumes_under_the_same_key() -> None:
    payloads = [
        chunk(reasoning="One."),
        chunk(tool_calls=[call(0, id="c1", name="f", arguments="{}")]),
        chunk(reasoning="Two."),
    ]
    assert stream(*payloads) == [
        ReasoningDelta("One.", key="reasoning", ext={"field": "reasoning"}),
        CloseDelta(key="reasoning"),
        ToolCallDelta("c1", "f", "{}"),
        ReasoningDelta("Two.", key="reasoning"),
    ]
    response = message(reasoning="One.Two.", tool_calls=[call(id="c1", name="f", arguments="{}")])
    assert normal(parts(*payloads)) == whole(response)


def test_the_same_text_in_two_fields_is_said_once() -> None:
    mirrored = {"reasoning": "Hm", "reasoning_content": "Hm"}
    assert parts(chunk(**mirrored), chunk(**mirrored)) == [reasoned("HmHm", "reasoning_content")]
    assert whole(message(**mirrored)) == [reasoned("Hm", "reasoning_content")]


def test_another_field_takes_over_when_the_first_stops() -> None:
    assert parts(chunk(reasoning="One, "), chunk(reasoning_content="two.")) == [
        reasoned("One, two.", "reasoning")
    ]


def test_the_complete_text_once_more_at_the_end_is_not_said_again() -> None:
    text = "The user asks for the sum of two small numbers."
    assert parts(chunk(reasoning=text[:20]), chunk(reasoning=text[20:]), chunk(reasoning=text)) == [
        reasoned(text, "reasoning")
    ]
    assert parts(chunk(reasoning="Hm."), chunk(reasoning_content="Hm.")) == [reasoned("Hm.", "reasoning")]


def test_small_equal_deltas_are_text() -> None:
    assert parts(chunk(reasoning="ha"), chunk(reasoning="ha")) == [reasoned("haha", "reasoning")]
    ruler = "-" * 40
    assert parts(chunk(reasoning=ruler), chunk(reasoning=ruler)) == [reasoned(ruler * 2, "reasoning")]


def test_a_null_field_is_absent() -> None:
    assert parts(chunk(reasoning=None, reasoning_content=None, content="Hi")) == [TextPart("Hi")]


def test_an_empty_field_without_any_reasoning_is_kept_as_explicitly_empty() -> None:
    ext = {"field": "reasoning_content", "explicit_empty": True}
    assert stream(chunk(reasoning_content="", content=""), chunk(content="Hi")) == [
        TextDelta("Hi", key="text"),
        ReasoningDelta(key="reasoning", ext=ext),
    ]
    assert whole(message(reasoning_content="", content="Hi")) == [TextPart("Hi"), ReasoningPart(ext=ext)]


def test_empty_details_are_explicitly_empty_only_without_other_reasoning() -> None:
    ext = {"field": "reasoning_details", "explicit_empty": True}
    assert whole(message(reasoning_details=[], content="Hi")) == [TextPart("Hi"), ReasoningPart(ext=ext)]
    assert whole(message(reasoning_details=[], reasoning="Hm")) == [reasoned("Hm", "reasoning")]


def test_copilots_opaque_value_sits_on_the_flat_unit() -> None:
    opaque = Opaque("copilot.reasoning_opaque", "op-1")
    assert parts(chunk(reasoning_text="Hm"), chunk(reasoning_opaque="op-1"), chunk(content="Hi")) == [
        reasoned("Hm", "reasoning_text", opaque),
        TextPart("Hi"),
    ]
    assert parts(chunk(reasoning_opaque="op-1")) == [ReasoningPart(opaque=(opaque,))]


def test_an_object_without_reasoning_is_none() -> None:
    assert parts(chunk(reasoning={"content": None})) == []


# -- reasoning_details


def detail(kind: str, index: int | None = 0, **fields: Any) -> dict[str, Any]:
    entry = {"type": f"reasoning.{kind}", "format": "f-1", **fields}
    return entry if index is None else {**entry, "index": index}


def skeleton(kind: str, index: int | None = 0, **fields: Any) -> dict[str, Any]:
    return detail(kind, index, **fields)


def test_details_win_over_the_flat_mirror_and_their_fragments_merge() -> None:
    deltas = stream(
        chunk(reasoning="One", reasoning_details=[detail("text", text="One")]),
        chunk(reasoning=" two", reasoning_details=[detail("text", text=" two", signature="")]),
        chunk(reasoning_details=[detail("text", text="", signature="sig-1")]),
        chunk(content="Hi"),
    )
    assert deltas == [
        ReasoningDelta("One", key="detail:0", ext={"field": "reasoning", "details": [skeleton("text")]}),
        ReasoningDelta(" two", key="detail:0"),
        OpaqueDelta(Opaque("openrouter.signature", "sig-1"), key="detail:0"),
        CloseDelta(key="detail:0"),
        TextDelta("Hi", key="text"),
    ]


def test_summary_and_encrypted_data_of_one_id_are_one_unit() -> None:
    details = [
        detail("summary", 0, summary="Plan", id="rs_1"),
        detail("encrypted", 1, data="enc-1", id="rs_1"),
        detail("summary", 2, summary="Check", id="rs_2"),
        detail("encrypted", 2, data="enc-2", id="rs_2"),
    ]
    expected = [
        ReasoningPart(
            thought("Plan", "summary"),
            (Opaque("openrouter.encrypted", "enc-1"),),
            "rs_1",
            ext={"details": [skeleton("summary", 0, id="rs_1"), skeleton("encrypted", 1, id="rs_1")]},
        ),
        ReasoningPart(
            thought("Check", "summary"),
            (Opaque("openrouter.encrypted", "enc-2"),),
            "rs_2",
            ext={"details": [skeleton("summary", 2, id="rs_2"), skeleton("encrypted", 2, id="rs_2")]},
        ),
    ]
    assert whole(message(reasoning_details=details)) == expected
    assert parts(*(chunk(reasoning_details=[entry]) for entry in details)) == expected


def test_encrypted_data_without_id_or_shared_index_is_a_unit_of_its_own() -> None:
    details = [detail("summary", 0, summary="Plan"), detail("encrypted", 1, data="enc-1", id="rs_1")]
    assert whole(message(reasoning_details=details)) == [
        ReasoningPart(thought("Plan", "summary"), ext={"details": [skeleton("summary")]}),
        ReasoningPart(
            (),
            (Opaque("openrouter.encrypted", "enc-1"),),
            "rs_1",
            ext={"details": [skeleton("encrypted", 1, id="rs_1")]},
        ),
    ]


def test_two_encrypted_values_never_share_a_unit() -> None:
    details = [detail("encrypted", 0, data="a", id="rs_1"), detail("encrypted", 1, data="b", id="rs_1")]
    found = whole(message(reasoning_details=details))
    assert [part.opaque for part in found if isinstance(part, ReasoningPart)] == [
        (Opaque("openrouter.encrypted", "a"),),
        (Opaque("openrouter.encrypted", "b"),),
    ]


def test_streamed_fragments_of_data_are_joined() -> None:
    payloads = [chunk(reasoning_details=[detail("encrypted", data=data)]) for data in ("ab", "cd")]
    assert stream(*payloads) == [
        ReasoningDelta(key="detail:0", ext={"details": [skeleton("encrypted")]}),
        OpaqueDelta(Opaque("openrouter.encrypted", "ab"), key="detail:0"),
        OpaqueDelta(Opaque("openrouter.encrypted", "cd"), key="detail:0", append=True),
    ]
    assert parts(*payloads) == whole(message(reasoning_details=[detail("encrypted", data="abcd")]))


def test_a_value_that_comes_after_the_answer_joins_its_unit() -> None:
    late = detail("encrypted", data="enc-1")
    payloads = [
        chunk(reasoning="Hm", reasoning_details=[detail("text", text="Hm")]),
        chunk(content="Hi"),
        chunk(reasoning_details=[late]),
    ]
    response = message(reasoning="Hm", content="Hi", reasoning_details=[detail("text", text="Hm"), late])
    details = [skeleton("text"), skeleton("encrypted")]
    assert parts(*payloads) == [
        ReasoningPart(
            thought("Hm"),
            (Opaque("openrouter.encrypted", "enc-1"),),
            ext={"field": "reasoning", "details": details},
        ),
        TextPart("Hi"),
    ]
    assert parts(*payloads) == whole(response)
    alone = normal(parts(chunk(content="Hi"), chunk(reasoning_details=[late])))
    assert alone == whole(message(content="Hi", reasoning_details=[late]))


def test_data_without_text_of_its_own_joins_the_flat_unit() -> None:
    entry = detail("encrypted", data="enc-1")
    expected = [
        ReasoningPart(
            thought("Hm"),
            (Opaque("openrouter.encrypted", "enc-1"),),
            ext={"field": "reasoning", "details": [skeleton("encrypted")]},
        )
    ]
    assert parts(chunk(reasoning="Hm"), chunk(reasoning_details=[entry])) == expected
    assert whole(message(reasoning="Hm", reasoning_details=[entry])) == expected


def test_entries_without_an_index_are_separate_when_whole_and_joined_when_streamed() -> None:
    entries = [detail("text", None, text="One"), detail("text", None, text="Two")]
    ext = {"details": [skeleton("text", None)]}
    assert whole(message(reasoning_details=entries)) == [
        ReasoningPart(thought("One"), ext=ext),
        ReasoningPart(thought("Two"), ext=ext),
    ]
    assert parts(*(chunk(reasoning_details=[entry]) for entry in entries)) == [
        ReasoningPart(thought("OneTwo"), ext=ext)
    ]


def test_minimax_sends_all_the_text_so_far() -> None:
    texts = ["I", "I see", "I see."]
    payloads = [chunk(reasoning_details=[detail("text", text=text)]) for text in texts]
    ext = {"details": [skeleton("text")]}
    assert parts(*payloads, provider="minimax") == [ReasoningPart(thought("I see."), ext=ext)]
    assert parts(*payloads) == [ReasoningPart(thought("II seeI see."), ext=ext)]


def test_geminis_encrypted_entry_goes_to_the_call_of_its_id() -> None:
    entry = detail("encrypted", data="enc-1", format="google-gemini-v1", id="c1")
    value = Opaque("openrouter.encrypted", "enc-1", attach="tool_call:c1")
    expected = [ToolCallPart("c1", "f", "{}", opaque=(value,), ext={"details": [_bare(entry)]})]
    tool = call(0, id="c1", name="f", arguments="{}")
    assert parts(chunk(reasoning_details=[entry]), chunk(tool_calls=[tool])) == expected
    assert parts(chunk(tool_calls=[tool]), chunk(reasoning_details=[entry])) == expected
    assert whole(message(tool_calls=[tool], reasoning_details=[entry])) == expected
    orphan = ReasoningPart(opaque=(value,), ext={"details": [_bare(entry)]})
    assert whole(message(reasoning_details=[entry])) == [orphan]


def _bare(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != "data"}


def test_fragments_of_a_calls_value_wait_for_the_call_together() -> None:
    entry = detail("encrypted", format="google-gemini-v1", id="c1")
    payloads = [chunk(reasoning_details=[{**entry, "data": data}]) for data in ("ab", "cd")]
    other = chunk(tool_calls=[call(0, id="c0", name="f", arguments="{}")])
    own = chunk(tool_calls=[call(1, id="c1", name="f", arguments="{}")])
    value = Opaque("openrouter.encrypted", "abcd", attach="tool_call:c1")
    assert parts(*payloads, other, own) == [
        ToolCallPart("c0", "f", "{}"),
        ToolCallPart("c1", "f", "{}", opaque=(value,), ext={"details": [entry]}),
    ]


def test_one_index_with_two_ids_is_two_units() -> None:
    entries = [detail("encrypted", data="a", id="rs_1"), detail("encrypted", data="b", id="rs_2")]
    entries.append(detail("summary", summary="Plan", id="rs_3"))
    found = parts(*(chunk(reasoning_details=[entry]) for entry in entries))
    assert [part.item_id for part in found if isinstance(part, ReasoningPart)] == ["rs_1", "rs_2", "rs_3"]
    assert found == whole(message(reasoning_details=entries))


def test_the_last_word_on_id_and_format_wins_and_nulls_stay() -> None:
    entries = [
        detail("text", text="Hm", format=None, id=None),
        detail("text", format="f-2", id="t-1", signature="sig-1"),
        detail("text", format=None, id=""),
    ]
    assert parts(*(chunk(reasoning_details=[entry]) for entry in entries)) == [
        ReasoningPart(
            thought("Hm"),
            (Opaque("openrouter.signature", "sig-1"),),
            "t-1",
            ext={"details": [{"type": "reasoning.text", "format": "f-2", "id": "t-1", "index": 0}]},
        )
    ]


def test_entries_that_are_not_reasoning_are_kept_verbatim() -> None:
    entry = detail("server_tool_call", tool_name="search", arguments="{}", result="r")
    assert stream(chunk(reasoning_details=[entry])) == [NativeDelta("openrouter.server_tool_call", entry)]


# -- tags in the content


def test_a_leading_tag_makes_a_unit_from_which_the_string_can_be_rebuilt() -> None:
    text = "<think>\nplan\n</think>\n\nHi <think>"
    expected = [
        ReasoningPart(thought("plan"), ext={"tag": {"open": "<think>\n", "close": "\n</think>\n\n"}}),
        TextPart("Hi <think>"),
    ]
    assert parts(*(chunk(content=character) for character in text)) == expected
    assert whole(message(content=text)) == expected


def test_a_second_leading_tag_is_another_unit_and_an_empty_one_is_kept() -> None:
    assert whole(message(content="<think>a</think><think>\n</think>Hi")) == [
        ReasoningPart(thought("a"), ext={"tag": {"open": "<think>", "close": "</think>"}}),
        ReasoningPart(ext={"tag": {"open": "<think>\n", "close": "</think>"}, "explicit_empty": True}),
        TextPart("Hi"),
    ]


def test_without_a_closing_tag_all_is_reasoning_and_a_length_limit_cut_it() -> None:
    ext = {"tag": {"open": "<think>", "close": ""}}
    assert whole(message("length", content="<think>plan</th")) == [
        ReasoningPart(thought("plan</th"), status="incomplete", ext=ext)
    ]
    assert whole(message("length", content="<think>")) == [
        ReasoningPart(status="incomplete", ext={**ext, "explicit_empty": True})
    ]


def test_behind_reasoning_in_a_field_a_tag_counts_if_it_is_closed() -> None:
    tag = {"open": "\n<think>", "close": "</think>"}
    assert parts(chunk(content="\n"), chunk(reasoning="Hm"), chunk(content="<think>x</think>")) == [
        reasoned("Hm", "reasoning"),
        ReasoningPart(thought("x"), ext={"tag": tag}),
    ]
    assert whole(message(reasoning="Hm", content="<think>x")) == [
        reasoned("Hm", "reasoning"),
        TextPart("<think>x"),
    ]


def test_what_was_held_back_comes_before_a_tool_call() -> None:
    tool = chunk(tool_calls=[call(0, id="c1", name="f", arguments="{}")])
    tag = {"open": "<think>", "close": "</think>\n"}
    assert stream(chunk(content="<think>plan</think>\n"), tool) == [
        ReasoningDelta("plan", key="text:thought:1", ext={"tag": {"open": "<think>", "close": ""}}),
        ReasoningDelta(key="text:thought:1", ext={"tag": tag}),
        CloseDelta(key="text:thought:1"),
        ToolCallDelta("c1", "f", "{}"),
    ]
    assert stream(chunk(content="\n\n"), tool) == [
        TextDelta("\n\n", key="text"),
        CloseDelta(key="text"),
        ToolCallDelta("c1", "f", "{}"),
    ]


# -- lists of blocks


def test_content_lists_become_units_in_order() -> None:
    think = [{"type": "text", "text": "2+2"}]
    content = [
        {"type": "thinking", "thinking": think, "closed": True, "signature": "sig-1"},
        {"type": "text", "text": "4"},
        {"type": "reasoning", "text": "Sure?"},
        {"type": "text", "text": "Yes"},
        {"type": "reference", "reference_ids": [1]},
    ]
    assert whole(message(content=content)) == [
        ReasoningPart(thought("2+2"), (Opaque("mistral.signature", "sig-1"),), ext={"closed": True}),
        TextPart("4"),
        ReasoningPart(thought("Sure?")),
        TextPart("Yes"),
        NativePart("openai_chat.reference", {"type": "reference", "reference_ids": [1]}),
    ]


def test_streamed_thinking_chunks_are_appended_and_text_may_go_on_as_a_string() -> None:
    payloads = [
        chunk(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "2+"}]}]),
        chunk(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "2"}]}]),
        chunk(content=[{"type": "thinking", "thinking": [], "closed": True}]),
        chunk(content=[{"type": "text", "text": "It is "}]),
        chunk(content="4"),
        chunk(content=""),
    ]
    assert parts(*payloads) == [ReasoningPart(thought("2+2"), ext={"closed": True}), TextPart("It is 4")]


def test_litellms_blocks_win_over_their_flat_join() -> None:
    payloads = [
        chunk(reasoning_content="One", thinking_blocks=[{"type": "thinking", "thinking": "One"}]),
        chunk(reasoning_content="", thinking_blocks=[{"type": "thinking", "signature": "sig-1"}]),
        chunk(thinking_blocks=[{"type": "redacted_thinking", "data": "red-1"}]),
        chunk(reasoning_content="Two", thinking_blocks=[{"type": "thinking", "thinking": "Two"}]),
        chunk(thinking_blocks=[{"type": "thinking", "thinking": "", "signature": "sig-2"}]),
        chunk(content="Hi"),
    ]
    blocks = [
        {"type": "thinking", "thinking": "One", "signature": "sig-1"},
        {"type": "redacted_thinking", "data": "red-1"},
        {"type": "thinking", "thinking": "Two", "signature": "sig-2"},
    ]
    expected = [
        ReasoningPart(thought("One"), (Opaque("anthropic.signature", "sig-1"),)),
        ReasoningPart((), (Opaque("anthropic.redacted_thinking", "red-1"),)),
        ReasoningPart(thought("Two"), (Opaque("anthropic.signature", "sig-2"),)),
        TextPart("Hi"),
    ]
    assert parts(*payloads) == expected
    assert whole(message(reasoning_content="OneTwo", thinking_blocks=blocks, content="Hi")) == expected


def test_a_signature_whose_text_came_in_the_flat_field_joins_it() -> None:
    signed = [{"type": "thinking", "thinking": "", "signature": "sig-1"}]
    assert parts(chunk(reasoning_content="Hm"), chunk(thinking_blocks=signed)) == [
        reasoned("Hm", "reasoning_content", Opaque("anthropic.signature", "sig-1"))
    ]


def test_litellms_reasoning_items_keep_id_summary_and_ciphertext() -> None:
    item = {
        "type": "reasoning",
        "id": "rs_1",
        "encrypted_content": "enc-1",
        "summary": [{"type": "summary_text", "text": "A"}, {"type": "summary_text", "text": "B"}],
    }
    opaque = (Opaque("openai.encrypted_content", "enc-1"),)
    assert whole(message(reasoning_content="AB", reasoning_items=[item])) == [
        ReasoningPart((Segment("summary", 0, "A"), Segment("summary", 1, "B")), opaque, "rs_1")
    ]
    assert parts(chunk(reasoning_content="AB"), chunk(reasoning_items=[item])) == [
        ReasoningPart(thought("AB"), opaque, "rs_1", ext={"field": "reasoning_content"})
    ]


def test_litellms_bridge_numbers_summaries_by_choice_and_repeats_the_items_at_the_end() -> None:
    def summary(number: int, text: str) -> dict[str, Any]:
        made = chunk(reasoning_content=text)
        made["choices"][0]["index"] = number
        return made

    items = [
        {
            "type": "reasoning",
            "id": f"rs_{number}",
            "encrypted_content": f"enc-{number}",
            "summary": [{"type": "summary_text", "text": text} for text in texts],
        }
        for number, texts in enumerate((["Weigh both.", "Check it."], ["Done."]))
    ]
    payloads = [
        chunk(content=""),
        summary(0, "Weigh "),
        summary(0, "both."),
        summary(1, "Check it."),
        summary(0, "Done."),
        chunk(tool_calls=[call(0, id="c1", name="f", arguments="{}")]),
        chunk("tool_calls", content="", reasoning_items=items),
    ]
    made = decoder("openai-chat", provider="litellm", model="openai/responses/gpt-5")
    flat, tool, rest = fold([delta for payload in payloads for delta in made.receive(payload)] + made.close())
    assert isinstance(flat, ReasoningPart)
    assert isinstance(rest, ReasoningPart)
    assert flat.segments == (
        Segment("text", 0, "Weigh both."),
        Segment("text", 1, "Check it."),
        Segment("text", 2, "Done."),
    )
    assert (flat.item_id, flat.opaque) == ("rs_0", (Opaque("openai.encrypted_content", "enc-0"),))
    assert isinstance(tool, ToolCallPart)
    assert (rest.item_id, rest.text) == ("rs_1", "")
    assert rest.opaque == (Opaque("openai.encrypted_content", "enc-1"),)


def test_litellms_filler_is_no_signature() -> None:
    block = {"type": "thinking", "thinking": "Hm", "signature": "mistral"}
    assert parts(chunk(thinking_blocks=[block]), chunk(thinking_blocks=[block])) == [
        ReasoningPart(thought("HmHm"))
    ]


def test_litellm_embeds_a_signature_in_the_id_and_repeats_it_in_the_message() -> None:
    function = {"name": "f", "arguments": "{}"}
    value = (Opaque("gemini.openai_compat_signature", "c2ln", attach="tool_call:c1"),)
    for fields in ({}, {"provider_specific_fields": {"thought_signature": "c2ln"}}):
        made = whole(
            message(
                "tool_calls",
                content="Let me look.",
                tool_calls=[{"id": "c1__thought__c2ln", "type": "function", "function": function, **fields}],
                provider_specific_fields={"thought_signatures": ["c2ln"]},
            )
        )
        text, tool = made
        assert isinstance(text, TextPart)
        assert isinstance(tool, ToolCallPart)
        assert (text.opaque, tool.id, tool.opaque) == ((), "c1", value)


def test_another_choice_is_no_summary_of_litellms() -> None:
    other = chunk(reasoning_content="Other.", content="Other.")
    other["choices"][0]["index"] = 1
    for provider in ("litellm", "openrouter"):
        made = decoder("openai-chat", provider=provider)
        assert made.receive(other) == []
    other["choices"][0]["delta"]["content"] = None
    assert decoder("openai-chat", provider="openrouter").receive(other) == []


def test_redacted_blocks_and_empty_ones_do_not_join_the_flat_text() -> None:
    blocks = [{"type": "redacted_thinking", "data": "red-1"}, {"type": "thinking", "thinking": ""}]
    assert parts(
        chunk(reasoning_content="Hm"),
        chunk(thinking_blocks=blocks),
        chunk(content=[{"type": "text", "text": ""}]),
    ) == [
        reasoned("Hm", "reasoning_content"),
        ReasoningPart((), (Opaque("anthropic.redacted_thinking", "red-1"),)),
    ]


def test_portkeys_content_blocks_replace_the_content_they_repeat() -> None:
    payloads = [
        chunk(content_blocks=[{"index": 0, "delta": {"thinking": "Hm"}}]),
        chunk(content_blocks=[{"index": 0, "delta": {"signature": "sig-1"}}]),
        chunk(content="Hi", content_blocks=[{"index": 1, "delta": {"text": "Hi"}}]),
    ]
    blocks = [
        {"type": "thinking", "thinking": "Hm", "signature": "sig-1"},
        {"type": "text", "text": "Hi"},
        {"type": "tool_use", "id": "c1"},
    ]
    expected = [
        ReasoningPart(thought("Hm"), (Opaque("anthropic.signature", "sig-1"),)),
        TextPart("Hi"),
    ]
    assert parts(*payloads) == expected
    assert whole(message(content="Hi", content_blocks=blocks)) == expected


# -- tool calls


def test_parallel_calls_are_told_apart_by_index() -> None:
    assert stream(
        chunk(tool_calls=[call(0, id="c1", type="function", name="f", arguments="")]),
        chunk(tool_calls=[call(1, id="c2", type="function", name="g", arguments="")]),
        chunk(tool_calls=[call(0, arguments='{"a":')]),
        chunk(tool_calls=[call(1, arguments="{}")]),
        chunk(tool_calls=[call(0, arguments="1}")]),
    ) == [
        ToolCallDelta("c1", "f"),
        ToolCallDelta("c2", "g"),
        ToolCallDelta("c1", "", '{"a":'),
        ToolCallDelta("c2", "", "{}"),
        ToolCallDelta("c1", "", "1}"),
    ]


def test_a_complete_call_per_chunk_needs_no_index_and_may_reuse_one() -> None:
    entries = [
        call(id="c1", name="f", arguments="{}"),
        call(id="c2", name="f", arguments="{}"),
        call(0, id="c3", name="f", arguments="{}"),
        call(0, id="c4", name="f", arguments="{}"),
    ]
    found = parts(*(chunk(tool_calls=[entry]) for entry in entries))
    assert found == [ToolCallPart(f"c{number}", "f", "{}") for number in (1, 2, 3, 4)]


def test_an_id_and_a_name_that_are_repeated_continue_the_call() -> None:
    for index in (0, None):
        entries = [call(index, id="c1", name="f", arguments=part) for part in ('{"a"', ":1}")]
        assert parts(*(chunk(tool_calls=[entry]) for entry in entries)) == [
            ToolCallPart("c1", "f", '{"a":1}')
        ]


def test_calls_without_ids_are_told_apart_by_their_names() -> None:
    entries = [
        call(id="", name="f", arguments="{}"),
        call(id="", name="f", arguments='{"a":'),
        call(arguments="1}"),
    ]
    expected = [ToolCallPart("", "f", "{}"), ToolCallPart("", "f", '{"a":1}')]
    assert parts(*(chunk(tool_calls=[entry]) for entry in entries)) == expected
    joined = [call(id="", name="f", arguments="{}"), call(id="", name="f", arguments='{"a":1}')]
    assert whole(message(tool_calls=joined)) == expected


def test_two_calls_of_one_id_are_two_calls_in_a_whole_message() -> None:
    entries = [call(id="c1", name="f", arguments="{}"), call(id="c1", name="g", arguments="{}")]
    assert whole(message(tool_calls=entries)) == [
        ToolCallPart("c1", "f", "{}"),
        ToolCallPart("c1", "g", "{}"),
    ]


def test_arguments_may_be_an_object_and_leftovers_are_kept() -> None:
    entry = call(id="c1", name="f", arguments={"a": 1}, caller="x", note=None)
    assert whole(message(tool_calls=[entry])) == [ToolCallPart("c1", "f", '{"a":1}', ext={"caller": "x"})]


def test_custom_tools_have_their_text_as_input() -> None:
    entry = {"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "SELECT"}}
    more = {"index": 0, "custom": {"input": " 1"}}
    expected = [ToolCallPart("c1", "sql", '{"input":"SELECT 1"}', ext={"type": "custom"})]
    assert parts(chunk(tool_calls=[{**entry, "index": 0}]), chunk(tool_calls=[more])) == expected
    entry["custom"] = {"name": "sql", "input": "SELECT 1"}
    assert whole(message(tool_calls=[entry])) == expected


def test_the_empty_custom_beside_a_function_means_nothing() -> None:
    entry = call(id="c1", type="function", name="f", arguments="{}", custom={"name": "", "input": ""})
    empty = {"name": "", "arguments": ""}
    assert whole(message(tool_calls=[entry], function_call=empty)) == [ToolCallPart("c1", "f", "{}")]


def test_the_legacy_function_call_is_a_call_without_id() -> None:
    payloads = [
        chunk(function_call={"name": "f", "arguments": ""}),
        chunk(function_call={"arguments": "{}"}),
    ]
    expected = [ToolCallPart("", "f", "{}", ext={"type": "function_call"})]
    assert parts(*payloads) == expected
    assert whole(message(function_call={"name": "f", "arguments": "{}"})) == expected


def test_groqs_executed_tools_are_server_calls_with_results() -> None:
    announced = {"index": 0, "type": "search", "arguments": "{}", "search_results": {"results": []}}
    answered = {**announced, "output": "Sunny", "search_results": {"results": [{"url": "u"}]}}
    payloads = [
        chunk(reasoning="Look"),
        chunk(executed_tools=[announced]),
        chunk(executed_tools=[answered]),
        chunk(executed_tools=[answered]),
        chunk(reasoning=" up"),
        chunk(content="Sunny"),
    ]
    assert stream(*payloads) == [
        ReasoningDelta("Look", key="reasoning", ext={"field": "reasoning"}),
        CloseDelta(key="reasoning"),
        ToolCallDelta("executed:0", "search", "{}", server=True),
        ToolResultDelta("executed:0", "Sunny", native=answered),
        ReasoningDelta(" up", key="reasoning"),
        CloseDelta(key="reasoning"),
        TextDelta("Sunny", key="text"),
    ]
    response = message(reasoning="Look up", content="Sunny", executed_tools=[answered])
    assert normal(parts(*payloads)) == normal(whole(response))


# -- Gemini's signatures


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"function": {"name": "f", "thought_signature": "sig-1"}}, "function.thought_signature"),
        (
            {"provider_specific_fields": {"thought_signature": "sig-1"}},
            "provider_specific_fields.thought_signature",
        ),
        ({"thought_signature": "sig-1"}, "thought_signature"),
    ],
)
def test_other_places_of_a_calls_signature_are_noted(fields: dict[str, Any], place: str) -> None:
    entry = {"id": "c1__thought__c2ln", "function": {"name": "f"}, **fields}
    kind = "perplexity.thought_signature"
    assert whole(message(tool_calls=[entry]), provider="perplexity") == [
        ToolCallPart(
            "c1",
            "f",
            opaque=(Opaque(kind, "sig-1", attach="tool_call:c1"),),
            ext={"signature_field": place},
        )
    ]


def test_a_messages_signature_goes_to_its_text_else_to_its_first_call() -> None:
    extra = {"google": {"thought_signature": "sig-1"}}
    signed: dict[str, Any] = {"extra_content": extra, "thought_signature": "sig-1"}
    kind, ext = "gemini.openai_compat_signature", {"extra_content": "google"}
    text = [TextPart("Hi", (Opaque(kind, "sig-1", attach="text"),), ext=ext)]
    assert whole(message(content="Hi", **signed)) == text
    assert parts(chunk(**signed), chunk(content="Hi"), chunk(**signed)) == text
    tool = call(0, id="", name="f", arguments="{}")
    opaque = (Opaque(kind, "sig-1", attach="tool_call:"),)
    assert whole(message(tool_calls=[tool], **signed)) == [
        ToolCallPart("", "f", "{}", opaque=opaque, ext=ext)
    ]
    orphan = ReasoningPart(opaque=(Opaque(kind, "sig-1", attach="text"),))
    assert whole(message(**signed)) == [orphan]


def test_every_signature_of_a_list_is_kept() -> None:
    fields = {"thought_signatures": ["sig-1", "sig-2"]}
    kind, ext = (
        "gemini.openai_compat_signature",
        {"signature_field": "provider_specific_fields.thought_signatures"},
    )
    assert whole(message(content="Hi", provider_specific_fields=fields)) == [
        TextPart("Hi", (Opaque(kind, "sig-1", attach="text"),), ext=ext),
        ReasoningPart((), (Opaque(kind, "sig-2"),), ext=ext),
    ]


# -- the rest of a message


def test_a_refusal_is_text_of_its_own_and_annotations_ride_on_the_text() -> None:
    assert parts(chunk(refusal="I "), chunk(refusal="can't.")) == [
        TextPart("I can't.", ext={"type": "refusal"})
    ]
    notes = [{"type": "url_citation", "url_citation": {"url": "u"}}]
    expected = [TextPart("Hi", ext={"annotations": notes * 2})]
    assert parts(chunk(content="Hi", annotations=notes), chunk(annotations=notes)) == expected
    assert whole(message(content="Hi", refusal="", annotations=notes * 2)) == expected


def test_only_the_first_choice_counts() -> None:
    other = {"index": 1, "delta": {"content": "No"}, "finish_reason": None}
    payload = chunk(content="Yes")
    payload["choices"].insert(0, other)
    assert parts(payload, {**chunk(), "choices": [other]}) == [TextPart("Yes")]


# -- the end


def test_a_length_limit_cuts_the_last_unit() -> None:
    cut = parts_of_length(
        chunk(reasoning="Hm"), chunk(content="Hi"), chunk(tool_calls=[call(0, id="c", name="f")])
    )
    assert [part.status for part in cut] == ["complete", "complete", "incomplete"]
    assert [part.status for part in parts_of_length(chunk(reasoning="Hm"), chunk(content="Hi"))] == [
        "complete",
        "incomplete",
    ]
    assert [part.status for part in parts_of_length(chunk(reasoning="Hm"), chunk(content=""))] == [
        "incomplete"
    ]


def parts_of_length(*payloads: Any) -> list[Any]:
    made = decoder(API)
    return fold(feed(made, *payloads, chunk("length"), "[DONE]"))


def test_what_follows_the_finish_reason_still_belongs_to_the_response() -> None:
    usage = {
        "prompt_tokens": 5,
        "completion_tokens": 7,
        "total_tokens": 12,
        "completion_tokens_details": {"reasoning_tokens": 3},
        "prompt_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 1},
    }
    made = decoder(API)
    deltas = feed(
        made,
        chunk(content="Hi"),
        chunk("stop", content=""),
        chunk("stop", content="", response_id="r2"),
        {**chunk(), "choices": [], "usage": usage},
        {**chunk(), "choices": [], "usage": usage},
        "[DONE]",
    )
    assert deltas == [
        START,
        TextDelta("Hi", key="text"),
        UsageDelta(
            model="m-1",
            input_tokens=5,
            output_tokens=7,
            total_tokens=12,
            reasoning_tokens=3,
            cached_input_tokens=2,
            cache_write_input_tokens=1,
        ),
        FinishDelta("stop"),
    ]


@pytest.mark.parametrize(
    ("payload", "output", "reasoning"),
    [
        ({"x_groq": {"usage": {"prompt_tokens": 1, "completion_tokens": 2}}}, 2, None),
        ({"usage": {"prompt_tokens": 1, "completion_tokens": 2, "reasoning_tokens": 1}}, 2, 1),
        # xAI leaves the reasoning out of the completion, but not out of the total.
        (
            {
                "usage": {
                    "prompt_tokens": 1,
                    "completion_tokens": 2,
                    "total_tokens": 7,
                    "completion_tokens_details": {"reasoning_tokens": 4},
                }
            },
            6,
            4,
        ),
    ],
)
def test_servers_count_tokens_in_other_places(
    payload: dict[str, Any], output: int, reasoning: int | None
) -> None:
    usage = next(delta for delta in stream({**chunk(), **payload}) if isinstance(delta, UsageDelta))
    assert (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens) == (1, output, reasoning)


def test_a_new_id_after_the_end_is_another_response() -> None:
    made = decoder(API)
    deltas = feed(
        made,
        chunk(content="One"),
        chunk(content=".", response_id="r1b"),
        chunk("stop"),
        chunk(content="Two", response_id="r2"),
        chunk("stop", response_id="r2"),
    )
    assert deltas + made.close() == [
        START,
        TextDelta("One", key="text"),
        TextDelta(".", key="text"),
        FinishDelta("stop"),
        ResponseStart(ORIGIN, id="r2"),
        TextDelta("Two", key="text"),
        FinishDelta("stop"),
    ]


def test_a_first_chunk_without_choices_starts_nothing() -> None:
    made = decoder(API)
    filtered = {"id": "", "model": "", "choices": [], "prompt_filter_results": [{}]}
    assert made.receive(filtered) == []
    assert made.receive({"type": "ping"}) == []
    assert made.close() == []
    assert made.receive(chunk()) == [START]


def test_done_without_a_finish_reason_is_an_end() -> None:
    made = decoder(API)
    assert feed(made, chunk(content="Hi"), "[DONE]")[-1] == FinishDelta(None)
    assert made.close() == []


COUNTS = {"id": "r", "model": "m", "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}


def test_the_chunk_of_counts_without_a_choice_is_an_end() -> None:
    # Snowflake gives no finish reason, and the openai SDK keeps `[DONE]` to itself.
    made = decoder(API)
    feed(made, chunk(content="Hi"), COUNTS)
    assert made.close()[-1] == FinishDelta(None)
    assert made.close() == []


def test_what_stops_behind_counts_and_more_content_is_truncated() -> None:
    made = decoder(API)
    feed(made, chunk(content="Hi"), COUNTS, chunk(content=" there"))
    with pytest.raises(DecodeError) as caught:
        made.close()
    assert caught.value.code == "truncated_stream"


def test_a_stream_that_stops_in_the_middle_is_truncated() -> None:
    made = decoder(API, provider="groq")
    made.receive(chunk(content="<think>plan\n</th"))
    with pytest.raises(DecodeError) as caught:
        made.close()
    assert (caught.value.code, caught.value.provider) == ("truncated_stream", "groq")
    assert caught.value.deltas == (
        ReasoningDelta("\n</th", key="text:thought:1"),
        CloseDelta(key="text:thought:1", status="incomplete"),
        CloseDelta(status="incomplete"),
    )
    assert made.close() == []


def test_a_chunk_may_hold_the_whole_message() -> None:
    made = decoder(API)
    deltas = feed(made, message(reasoning="Hm", content="Hi"), "[DONE]")
    assert [replace(part, origin=None) for part in fold(deltas)] == whole(
        message(reasoning="Hm", content="Hi")
    )
    # Perplexity repeats the message so far beside every delta.
    beside = chunk(content="Hi")
    beside["choices"][0]["message"] = {"content": "Hi"}
    assert parts(beside) == [TextPart("Hi")]


# -- errors


@pytest.mark.parametrize(
    ("fields", "code", "kind", "words"),
    [
        ({"error": {"code": 400, "type": "bad", "message": "No."}}, "400", "bad", "No."),
        ({"error": "No."}, None, None, "No."),
        ({"object": "error", "message": "No.", "type": "bad", "code": 400}, "400", "bad", "No."),
    ],
)
def test_an_error_payload_raises_and_keeps_what_came(
    fields: dict[str, Any], code: str | None, kind: str | None, words: str
) -> None:
    made = decoder(API)
    made.receive(chunk(content="H"))
    with pytest.raises(ProviderError) as caught:
        made.receive({**chunk(content="i"), **fields})
    error = caught.value
    assert (error.provider_code, error.provider_type, error.provider_message) == (code, kind, words)
    assert error.deltas == (TextDelta("i", key="text"), CloseDelta(status="incomplete"))
    assert made.close() == []
    with pytest.raises(ProviderError):
        decode_response(API, fields)


def test_an_error_may_stand_in_the_choice() -> None:
    payload = chunk("error")
    payload["choices"][0]["error"] = {"code": 502, "message": "Upstream."}
    with pytest.raises(ProviderError) as caught:
        decoder(API).receive(payload)
    assert caught.value.provider_code == "502"


@pytest.mark.parametrize(
    ("delta", "path"),
    [
        ({"content": 5}, "/choices/0/delta/content"),
        ({"reasoning": "Hm", "tool_calls": [5]}, "/choices/0/delta/tool_calls/0"),
        (
            {"tool_calls": [call(0, name="f", arguments=5)]},
            "/choices/0/delta/tool_calls/0/function/arguments",
        ),
    ],
)
def test_a_payload_that_cannot_be_read_leaves_the_decoder_as_it_was(delta: dict[str, Any], path: str) -> None:
    made = decoder(API, provider="vllm")
    made.receive(chunk(reasoning="Hm"))
    with pytest.raises(DecodeError) as caught:
        made.receive(chunk(**delta))
    assert (caught.value.path, caught.value.provider) == (path, "vllm")
    assert made.receive(chunk(reasoning=".")) == [ReasoningDelta(".", key="reasoning")]


def test_the_transcript_of_audio_is_the_text() -> None:
    audio = {"id": "audio_1", "data": "UklGRg==", "expires_at": 1, "transcript": "Noon."}
    message = {"role": "assistant", "content": None, "audio": audio}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    assert [part.text for part in decode_response(API, {"choices": [choice]})] == ["Noon."]
    pieces = [{"id": "audio_1"}, {"transcript": "No"}, {"data": "UklGRg=="}, {"transcript": "on."}]
    made = decoder(API)
    deltas = [delta for piece in pieces for delta in made.receive(chunk(audio=piece))]
    deltas += [*made.receive(chunk("stop")), *made.close()]
    assert [part.text for part in fold(deltas)] == ["Noon."]


def test_the_transcript_of_audio_does_not_repeat_the_content() -> None:
    message = {
        "role": "assistant",
        "audio": {"id": "audio_1", "transcript": "Noon."},
        "content": "It is noon.",
    }
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    assert [part.text for part in decode_response(API, {"choices": [choice]})] == ["It is noon."]


def test_a_whole_response_needs_choices() -> None:
    responses: list[Any] = [{"id": "r1"}, [], {"choices": 5}]
    for response in responses:
        with pytest.raises(DecodeError):
            decode_response(API, response)
    assert decode_response(API, {"choices": []}) == []


# -- SDK objects


def test_sdk_objects_give_the_same_as_their_json() -> None:
    payloads = [
        chunk(role="assistant", content=None, reasoning_content=""),
        chunk(reasoning_content="Hm", reasoning_details=[detail("text", text="Hm", signature="s")]),
        chunk(tool_calls=[call(0, id="c1", type="function", name="f", arguments="{}")]),
        chunk("tool_calls"),
    ]
    chunks = [ChatCompletionChunk.construct(**payload) for payload in payloads]
    expected = feed(decoder(API), *payloads)
    assert feed(decoder(API), *chunks) == expected
    events: list[Any] = []
    for item in chunks:
        events.append(ChunkEvent.construct(type="chunk", chunk=item, snapshot=None))
        events.append(ContentDeltaEvent.construct(type="content.delta", delta="H", snapshot="H"))
    assert feed(decoder(API), *events) == expected
    assert feed(decoder(API), *({"type": "chunk", "chunk": payload} for payload in payloads)) == expected
    response = message(reasoning_content="Hm", content="Hi", refusal=None)
    assert whole(ChatCompletion.construct(**response)) == whole(response)


def test_an_item_with_nothing_but_content_has_that_for_its_text() -> None:
    item = {"type": "reasoning", "id": "rs_1", "content": [{"type": "reasoning_text", "text": "Hm."}]}
    found = decode_response(API, message(content="Hi", reasoning_items=[item]))
    [thought] = [part for part in found if isinstance(part, ReasoningPart)]
    assert (thought.text, thought.item_id, "content" in (thought.ext or {})) == ("Hm.", "rs_1", False)


def test_a_function_call_is_none_of_the_numbered_calls() -> None:
    made = decoder(API)
    first = chunk(tool_calls=[call(0, id="c0", name="f", arguments="{")])
    deltas = [*made.receive(first), *made.receive(chunk(tool_calls=[call(1, id="c1", name="g")]))]
    deltas += made.receive(chunk(function_call={"arguments": "{}"}))
    assert [(one.id, one.arguments) for one in deltas if isinstance(one, ToolCallDelta)] == [
        ("c0", "{"),
        ("c1", ""),
        ("c1", "{}"),
    ]


def test_blocks_of_portkey_that_take_turns_are_told_apart_by_their_number() -> None:
    made = decoder(API)
    thoughts = [(0, "One. "), (1, "Two. "), (0, "And one."), (1, "And two.")]
    deltas = [
        delta
        for index, text in thoughts
        for delta in made.receive(chunk(content_blocks=[{"index": index, "delta": {"thinking": text}}]))
    ]
    keys = [one.key for one in deltas if isinstance(one, ReasoningDelta) and one.text]
    first, second = "content_blocks:0", "content_blocks:1"
    assert keys == [first, second, first, second]
