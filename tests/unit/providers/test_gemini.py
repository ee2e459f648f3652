"""Test the gemini decoder, one trap per test, with payloads written for it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from agui_reasoning import AGUIReasoningWarning, stream_run
from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
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
from agui_reasoning.providers import decode_response, decoder

API = "gemini"
KIND = "gemini.thought_signature"
INPUT: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": []}


def payload(*parts: dict[str, Any], finish: Any = None, **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": "gemini-3", "responseId": "r1", **more}


def stream(*payloads: Any) -> list[Delta]:
    made = decoder(API)
    return [delta for one in payloads for delta in made.receive(one)] + made.close()


def parts(*payloads: Any) -> list[Part]:
    """The parts of a stream, without their origin; its whole gives the same."""
    found = fold(stream(*payloads))
    assert fold(unfold(found)) == found
    return [replace(part, origin=None) for part in found]


def each(*given: dict[str, Any], finish: str = "STOP") -> list[Part]:
    """The parts that come of parts of one payload each; those of a whole response are the same."""
    found = parts(*map(payload, given), payload(finish=finish))
    whole = decode_response(API, payload(*given, finish=finish))
    assert [replace(part, origin=None) for part in whole] == found
    return found


def sig(value: str, attach: str = "text") -> tuple[Opaque, ...]:
    return (Opaque(KIND, value, "base64", attach),)


def thought(text: str) -> ReasoningPart:
    return ReasoningPart((Segment("text", 0, text),))


def calling(name: str = "", **fields: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, **fields} if name else fields}


# -- text, thoughts, signatures


def test_a_stream_becomes_deltas() -> None:
    deltas = stream(
        payload({"text": "Hm", "thought": True}),
        payload({"text": "."}),
        payload({"text": "", "thoughtSignature": "c2ln"}, finish="STOP"),
    )
    assert deltas == [
        ResponseStart(Origin("google", API, "gemini-3"), id="r1"),
        ReasoningDelta("Hm", key="thought:0"),
        CloseDelta(key="thought:0"),
        TextDelta(".", key="text:1"),
        OpaqueDelta(Opaque(KIND, "c2ln", "base64", "text"), key="text:1"),
        CloseDelta(key="text:1"),
        FinishDelta("STOP"),
    ]


def test_texts_of_one_kind_are_one_unit() -> None:
    found = each({"text": "a", "thought": True}, {"text": "b", "thought": True}, {"text": "c"}, {"text": "d"})
    assert found == [thought("ab"), TextPart("cd")]


def test_a_signature_ends_the_text_it_came_with() -> None:
    assert each({"text": "a", "thoughtSignature": "eA=="}, {"text": "b"}, {"text": "c"}) == [
        TextPart("a", sig("eA==")),
        TextPart("bc"),
    ]


def test_a_signed_text_is_not_joined_to_the_text_before_it() -> None:
    assert each({"text": "a"}, {"text": "b", "thoughtSignature": "eA=="}) == [
        TextPart("a"),
        TextPart("b", sig("eA==")),
    ]


def test_an_empty_text_with_a_signature_signs_the_text_before_it() -> None:
    assert each({"text": "a"}, {"text": ""}, {"text": "", "thoughtSignature": "eA=="}) == [
        TextPart("a", sig("eA=="))
    ]


@pytest.mark.parametrize(
    "before",
    [
        {"text": "a", "thought": True},
        {"text": "a", "thoughtSignature": "eQ=="},
        {"functionCall": {"name": "f"}, "thoughtSignature": "eQ=="},
    ],
)
def test_an_empty_text_with_a_signature_and_no_text_to_sign_is_a_unit(before: dict[str, Any]) -> None:
    assert each(before, {"text": "", "thoughtSignature": "eA=="})[1:] == [
        TextPart("", sig("eA=="), ext={"explicit_empty": True})
    ]


def test_two_signatures_are_never_joined() -> None:
    assert each({"text": "", "thoughtSignature": "eA=="}, {"text": "", "thoughtSignature": "eQ=="}) == [
        TextPart("", sig("eA=="), ext={"explicit_empty": True}),
        TextPart("", sig("eQ=="), ext={"explicit_empty": True}),
    ]


def test_the_signature_of_a_thought_stays_on_it() -> None:
    assert each({"text": "a", "thought": True}, {"thought": True, "thoughtSignature": "eA=="}) == [
        replace(thought("a"), opaque=sig("eA==", "self"))
    ]


def test_a_part_of_nothing_but_a_signature_is_a_unit_of_its_own() -> None:
    assert each({"text": "a", "thought": True}, {"thoughtSignature": "eA=="}, {"text": "b"}) == [
        thought("a"),
        ReasoningPart((), sig("eA==", "self")),
        TextPart("b"),
    ]


# -- calls


def test_only_the_part_that_is_signed_has_the_signature() -> None:
    signed = {**calling("f", id="c1", args={"a": 1}), "thoughtSignature": "eA=="}
    assert each(signed, calling("f", id="c2", args={"a": 2})) == [
        ToolCallPart("c1", "f", '{"a":1}', opaque=sig("eA==", "tool_call:c1")),
        ToolCallPart("c2", "f", '{"a":2}'),
    ]


def test_calls_without_ids_are_different_calls() -> None:
    first = {**calling("f", args={"a": 1}), "thoughtSignature": "eA=="}
    assert each(first, calling("f", args={"a": 2}), calling("g")) == [
        ToolCallPart("", "f", '{"a":1}', opaque=sig("eA==", "tool_call:")),
        ToolCallPart("", "f", '{"a":2}'),
        ToolCallPart("", "g", "{}"),
    ]


def partial(path: str, goes_on: bool = True, **value: Any) -> dict[str, Any]:
    return calling(partialArgs=[{"jsonPath": path, **value}], willContinue=goes_on)


def test_streamed_arguments_are_put_together() -> None:
    found = parts(
        payload({**calling("f", id="c1", willContinue=True), "thoughtSignature": "eA=="}),
        payload(partial("$.where.city", stringValue="Ber", willContinue=True)),
        payload(partial("$.where.city", stringValue="gen", willContinue=True)),
        payload(partial("$.where.city", stringValue="")),
        payload(partial("$.days[0].n", numberValue=1.0), partial("$.days[0].half", numberValue=0.5)),
        payload(partial("$.days[1]", boolValue=True), partial("$['a key']", nullValue="NULL_VALUE")),
        payload(partial('$["it\\"s"]', stringValue="q"), partial("$['it\\'s']", stringValue="p")),
        payload(calling()),
        payload(calling("g", willContinue=True)),
        payload(calling(), finish="STOP"),
    )
    assert found == [
        ToolCallPart(
            "c1",
            "f",
            '{"where":{"city":"Bergen"},"days":[{"n":1,"half":0.5},true],'
            '"a key":null,"it\\"s":"q","it\'s":"p"}',
            opaque=sig("eA==", "tool_call:c1"),
        ),
        ToolCallPart("", "g", "{}"),
    ]


def test_what_comes_next_ends_a_call_that_was_to_go_on() -> None:
    found = parts(
        payload(calling("f", willContinue=True), partial("$.a", stringValue="x")),
        payload(calling("g", args={})),
        payload(calling("h", willContinue=True), {"text": "Done."}, finish="STOP"),
    )
    assert found == [
        ToolCallPart("", "f", '{"a":"x"}'),
        ToolCallPart("", "g", "{}"),
        ToolCallPart("", "h", "{}"),
        TextPart("Done."),
    ]


@pytest.mark.parametrize("path", ["", "a", "$", "$[0]", "$..a", "$.a[*]", "$.a[-1]", "$" + ".a" * 200])
def test_a_path_that_names_no_single_place_is_refused(path: str) -> None:
    made = decoder(API)
    made.receive(payload(calling("f", willContinue=True)))
    with pytest.raises(DecodeError) as caught:
        made.receive(payload({"text": "a"}, partial(path, stringValue="x")))
    assert caught.value.code == "bad_payload"
    # Nothing of the payload counts.
    deltas = made.receive(payload(partial("$.a", goes_on=False, stringValue="x"), finish="STOP"))
    assert deltas == [ToolCallDelta("", "", '{"a":"x"}'), CloseDelta(key="")]


def test_a_huge_index_makes_no_huge_array() -> None:
    found = parts(
        payload(calling("f", willContinue=True), partial("$.a[999999999]", stringValue="x"), finish="STOP")
    )
    assert found == [ToolCallPart("", "f", '{"a":["x"]}')]


# -- what the provider runs itself


def test_code_and_its_result() -> None:
    code = {"executableCode": {"code": "1", "id": "e1", "language": "PYTHON"}, "thoughtSignature": "eA=="}
    result = {"codeExecutionResult": {"id": "e1", "outcome": "OUTCOME_OK", "output": "1\n"}}
    assert each(code, result) == [
        ToolCallPart(
            "e1",
            "code_execution",
            '{"language":"PYTHON","code":"1"}',
            server=True,
            opaque=sig("eA==", "tool_call:e1"),
            ext={"type": "executableCode"},
        ),
        ToolResultPart("e1", "1\n", native=result),
    ]


def test_a_tool_of_the_providers_own_and_its_signed_response() -> None:
    call = {"toolCall": {"id": "t1", "toolType": "FILE_SEARCH"}, "thoughtSignature": "eA=="}
    response = {"toolResponse": {"id": "t1", "toolType": "FILE_SEARCH"}, "thoughtSignature": "eQ=="}
    assert each(call, response) == [
        ToolCallPart("t1", "file_search", "{}", True, sig("eA==", "tool_call:t1"), ext={"type": "toolCall"}),
        ToolResultPart("t1", "", native=response),
    ]


def test_any_other_part_is_kept_whole() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "eA=="}, "thoughtSignature": "eQ=="}
    assert each({"text": "a"}, image) == [TextPart("a"), NativePart("gemini.inlineData", image)]


# -- responses


def test_other_candidates_are_not_mixed_in_and_are_warned_about_once() -> None:
    def several(text: str, **more: Any) -> dict[str, Any]:
        other = {"content": {"parts": [{"text": "other"}]}, "index": 1, "finishReason": "STOP"}
        own = {"content": {"parts": [{"text": text}]}, **more}
        return {"candidates": [other, own]}

    made = decoder(API)
    payloads = [several("a"), several("b", index=0, finishReason="STOP")]
    deltas = [delta for one in payloads for delta in made.receive(one)] + made.close()
    assert [replace(part, origin=None) for part in fold(deltas)] == [TextPart("ab")]
    assert made.warnings == ["The response has several candidates; only the first is decoded."]

    told: list[str] = []
    list(
        stream_run({"threadId": "t", "runId": "r", "messages": []}, payloads, api=API, on_warning=told.append)
    )
    assert told == made.warnings
    with pytest.warns(AGUIReasoningWarning, match="several candidates"):
        list(stream_run(INPUT, payloads, api=API))


@pytest.mark.parametrize(("number", "name"), [(1, "STOP"), (2, "MAX_TOKENS"), (99, "99")])
def test_the_finish_reason_may_be_a_number(number: int, name: str) -> None:
    assert stream(payload({"text": "a"}, finish=number))[-1] == FinishDelta(name)


def test_a_limit_leaves_the_last_unit_incomplete() -> None:
    assert each({"text": "a", "thought": True}, {"text": "b"}, finish="MAX_TOKENS") == [
        thought("a"),
        TextPart("b", status="incomplete"),
    ]
    cut = parts(payload(calling("f", willContinue=True), partial("$.a", stringValue="x"), finish=2))
    assert cut == [ToolCallPart("", "f", "", status="incomplete")]


def test_a_call_that_came_whole_was_not_cut() -> None:
    assert each({"text": "a"}, calling("f", args={}), finish="MAX_TOKENS") == [
        TextPart("a"),
        ToolCallPart("", "f", "{}"),
    ]


def test_a_blocked_prompt_ends_the_response() -> None:
    blocked = {
        "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
        "usageMetadata": {"totalTokenCount": 1},
    }
    assert stream(blocked)[-1] == FinishDelta("PROHIBITED_CONTENT")


def test_a_stream_without_a_finish_reason_was_cut() -> None:
    made = decoder(API)
    made.receive(payload({"text": "a"}))
    with pytest.raises(DecodeError) as caught:
        made.close()
    assert (caught.value.code, caught.value.deltas) == (
        "truncated_stream",
        (CloseDelta(status="incomplete"),),
    )
    assert made.close() == []


def test_an_error_is_the_providers() -> None:
    error = {"error": {"code": 429, "message": "Quota.", "status": "RESOURCE_EXHAUSTED"}}
    for given in (error, [error]):
        with pytest.raises(ProviderError) as caught:
            decoder(API).receive(given)
        assert (caught.value.provider_code, caught.value.provider_type, caught.value.provider_message) == (
            "429",
            "RESOURCE_EXHAUSTED",
            "Quota.",
        )


def test_counts_include_tools_and_thoughts() -> None:
    counted = {
        "promptTokenCount": 9,
        "toolUsePromptTokenCount": 1,
        "candidatesTokenCount": 4,
        "thoughtsTokenCount": 20,
        "cachedContentTokenCount": 3,
        "totalTokenCount": 34,
    }
    deltas = stream(
        payload({"text": "a"}, usageMetadata={"trafficType": "ON_DEMAND"}),
        payload(finish="STOP", usageMetadata=counted),
    )
    assert [delta for delta in deltas if isinstance(delta, UsageDelta)] == [
        UsageDelta(
            provider="google",
            model="gemini-3",
            input_tokens=10,
            output_tokens=24,
            total_tokens=34,
            reasoning_tokens=20,
            cached_input_tokens=3,
        )
    ]


def test_a_result_without_an_id_answers_the_code_before_it() -> None:
    found = each({"executableCode": {"code": "1"}}, {"codeExecutionResult": {"output": "1"}})
    assert isinstance(found[1], ToolResultPart)
    deltas = stream(payload({"executableCode": {"code": "1"}}, finish="STOP"))
    assert not any(isinstance(delta, ToolResultDelta) for delta in deltas)


@pytest.mark.parametrize("thought", [False, True])
def test_other_members_of_a_text_stay_with_it(thought: bool) -> None:
    own = {"partMetadata": {"source": "cache"}}
    [part] = parts(payload({"text": "Hm.", **({"thought": True} if thought else {}), **own}, finish="STOP"))
    assert part.ext == own
