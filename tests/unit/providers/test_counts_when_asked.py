"""Token counts that come with every payload are read when they are needed, and never lost."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agui_reasoning import DecodeError, Emitter, ProviderError, Run, stream_run
from agui_reasoning.deltas import CloseDelta, Delta, ResponseStart, TextDelta, UsageDelta
from agui_reasoning.parts import Origin
from agui_reasoning.providers import decoder

INPUT: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": [], "protocolVersion": "1.0"}


def xai(number: int, response: str = "r1") -> dict[str, Any]:
    return {
        "id": response,
        "model": "grok-4",
        "outputs": [{"delta": {"content": f"{number} "}}],
        "usage": {"prompt_tokens": 5, "completion_tokens": number, "total_tokens": 5 + number},
    }


def gemini(number: int) -> dict[str, Any]:
    return {
        "candidates": [{"content": {"parts": [{"text": f"{number} "}], "role": "model"}, "index": 0}],
        "usageMetadata": {
            "promptTokenCount": 5,
            "candidatesTokenCount": number,
            "totalTokenCount": 5 + number,
        },
        "modelVersion": "gemini-3",
        "responseId": "r1",
    }


PAYLOADS: dict[str, Callable[..., dict[str, Any]]] = {"xai-grpc": xai, "gemini": gemini}
"""A text, and counts that say that the answer has ``number`` tokens so far."""

each_api = pytest.mark.parametrize("api", PAYLOADS)


def told(events: list[Any]) -> list[int | None]:
    """The output tokens that the last event reports."""
    return [entry.output_tokens for entry in events[-1].usage or ()]


def counts(deltas: Iterator[Delta] | tuple[Delta, ...] | list[Delta]) -> list[int | None]:
    return [delta.output_tokens for delta in deltas if isinstance(delta, UsageDelta)]


@each_api
@pytest.mark.parametrize("ending", ["cancel", "fail", "finish"])
def test_a_run_reports_the_counts_of_the_last_payload_however_it_ends(api: str, ending: str) -> None:
    for length in range(1, 6):
        run, decode = Run(INPUT, api=api), decoder(api)
        run.start()
        for number in range(1, length + 1):
            for delta in decode.receive(PAYLOADS[api](number)):
                run.receive(delta)
        end: dict[str, Callable[[], list[Any]]] = {
            "cancel": run.cancel,
            "fail": lambda run=run: run.fail("No."),  # type: ignore[misc]
            "finish": run.finish,
        }
        assert told(end[ending]()) == [length]


@each_api
def test_an_emitter_knows_the_counts_at_any_time(api: str) -> None:
    emitter, decode = Emitter(), decoder(api)
    for number in range(1, 5):
        for delta in decode.receive(PAYLOADS[api](number)):
            emitter.receive(delta)
        assert [usage.output_tokens for usage in emitter.usage] == [number]


@each_api
def test_a_driven_run_that_breaks_off_reports_them(api: str) -> None:
    def source() -> Iterator[Any]:
        yield from (PAYLOADS[api](number) for number in range(1, 4))
        raise ConnectionError

    assert told(list(stream_run(INPUT, source(), api=api))) == [3]
    cut = [PAYLOADS[api](number) for number in range(1, 4)]
    assert told(list(stream_run(INPUT, cut, api=api))) == [3]


@each_api
def test_the_error_of_a_stream_has_them(api: str) -> None:
    for ending in ("cut", "refused"):
        decode = decoder(api)
        for number in range(1, 4):
            decode.receive(PAYLOADS[api](number))
        with pytest.raises((DecodeError, ProviderError)) as caught:
            decode.close() if ending == "cut" else decode.receive({"error": {"message": "No."}})
        assert counts(caught.value.deltas) == [3]
        assert caught.value.deltas[-1] == CloseDelta(status="incomplete")


@each_api
def test_a_run_of_another_account_reports_them(api: str) -> None:
    run, decode = Run(INPUT, origin=Origin(api=api, account="acme")), decoder(api)
    run.start()
    for number in range(1, 4):
        for delta in decode.receive(PAYLOADS[api](number)):
            run.receive(delta)
    assert told(run.cancel()) == [3]


def test_a_stretch_of_text_reports_its_counts_once_when_it_ends() -> None:
    decode = decoder("gemini")
    sent = [gemini(number) for number in range(1, 6)]
    found = [counts(decode.receive(payload)) for payload in sent]
    assert found == [[1], [], [], [], []]
    call = {"candidates": [{"content": {"parts": [{"functionCall": {"name": "look"}}]}}]}
    assert counts(decode.receive(call)) == [5]
    ending = {"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"totalTokenCount": 9}}
    assert counts(decode.receive(ending) + decode.close()) == [None]


def test_counts_that_a_later_payload_leaves_out_are_kept() -> None:
    run, decode = Run(INPUT, api="gemini"), decoder("gemini")
    run.start()
    thinking = {"promptTokenCount": 5, "thoughtsTokenCount": 20, "totalTokenCount": 25}
    answering = {"promptTokenCount": 5, "totalTokenCount": 9}
    call = {"content": {"parts": [{"functionCall": {"name": "look"}}]}, "finishReason": "STOP"}
    ending = {**gemini(0), "candidates": [call], "usageMetadata": answering}
    for payload in (gemini(1), {**gemini(2), "usageMetadata": thinking}, ending):
        for delta in decode.receive(payload):
            run.receive(delta)
    (usage,) = run.finish()[-1].usage or ()  # type: ignore[union-attr]
    assert (usage.reasoning_tokens, usage.total_tokens) == (20, 9)


@pytest.mark.parametrize("later", ["gemini-3-lite", None])
def test_counts_are_those_of_the_model_that_their_payload_names(later: str | None) -> None:
    decode = decoder("gemini", model="unnamed")
    sent = [gemini(1), gemini(2), *({**gemini(number), "modelVersion": later} for number in (3, 4))]
    found = [delta for payload in sent for delta in decode.receive(payload)]
    with pytest.raises(DecodeError) as cut:
        decode.close()
    assert [delta.text for delta in found if isinstance(delta, TextDelta)] == ["1 ", "2 ", "3 ", "4 "]
    named = [delta.model for delta in (*found, *cut.value.deltas) if isinstance(delta, UsageDelta)]
    assert named == ["gemini-3", later or "gemini-3"]


def test_counts_that_are_malformed_are_refused_with_their_payload_alone() -> None:
    decode = decoder("xai-grpc")
    for number in (1, 2, 3):
        decode.receive(xai(number))
    bad = xai(4)
    for name in bad["usage"]:
        bad["usage"][name] = "4"
    with pytest.raises(DecodeError) as caught:
        decode.receive(bad)
    assert caught.value.code == "bad_payload"
    assert counts(decode.receive(xai(5))) == []
    with pytest.raises(DecodeError) as caught:
        decode.close()
    assert counts(caught.value.deltas) == [5]


UNREAD = "The token counts could not be read; the rest of the response was."


@pytest.mark.parametrize("write", [dict, json.dumps], ids=["parsed", "text"])
@pytest.mark.parametrize("bad", [{"totalTokenCount": "4"}, {"thoughtsTokenCount": 1.5}, ["4"], "4", 4, 2**70])
def test_malformed_counts_of_gemini_do_not_cost_the_answer(write: Callable[..., Any], bad: Any) -> None:
    decode = decoder("gemini")
    texts = [write(gemini(number)) for number in (1, 2, 3)]
    found = [delta for text in texts for delta in decode.receive(text)]
    found += decode.receive(write({**gemini(4), "usageMetadata": bad}))
    assert [delta.text for delta in found if isinstance(delta, TextDelta)] == ["1 ", "2 ", "3 ", "4 "]
    assert decode.warnings == []  # newer ones may follow
    with pytest.raises(DecodeError) as cut:
        decode.close()
    assert (cut.value.code, counts(cut.value.deltas)) == ("truncated_stream", [])
    assert decode.warnings == [UNREAD]


@pytest.mark.parametrize("write", [dict, json.dumps], ids=["parsed", "text"])
def test_good_counts_replace_malformed_ones(write: Callable[..., Any]) -> None:
    run, decode = Run(INPUT, api="gemini"), decoder("gemini")
    run.start()
    sent = [*map(gemini, (1, 2, 3)), {**gemini(4), "usageMetadata": {"totalTokenCount": "4"}}, gemini(5)]
    for payload in sent:
        for delta in decode.receive(write(payload)):
            run.receive(delta)
    assert (told(run.cancel()), decode.warnings) == ([5], [])


@pytest.mark.parametrize("write", [dict, json.dumps], ids=["parsed", "text"])
def test_a_run_whose_counts_are_malformed_finishes_and_warns_once(write: Callable[..., Any]) -> None:
    warned: list[str] = []
    last = {**gemini(3), "candidates": [{"finishReason": "STOP"}]}
    sent = [gemini(1), {**gemini(2), "usageMetadata": {"promptTokenCount": -0.5}}, last]
    source = [write(payload) for payload in sent]
    events = list(stream_run(INPUT, source, api="gemini", on_warning=warned.append))
    assert (events[-1].type.value, told(events), warned) == ("RUN_FINISHED", [3], [UNREAD])


def test_the_counts_of_the_next_response_are_not_those_of_the_last() -> None:
    run, decode = Run(INPUT, api="xai-grpc"), decoder("xai-grpc")
    run.start()
    sent = [xai(1), {**xai(2), "outputs": [{"finish_reason": "REASON_STOP"}]}, xai(7, "r2")]
    deltas = [delta for payload in sent for delta in decode.receive(payload)]
    for delta in deltas:
        run.receive(delta)
    assert counts(deltas) == [2]
    assert told(run.cancel()) == [2 + 7]


def test_what_reads_the_counts_is_no_part_of_a_start() -> None:
    (start, *_) = decoder("xai-grpc").receive(xai(1))
    plain = ResponseStart(Origin("xai", "xai-grpc", "grok-4"), id="r1")
    assert start == plain
    assert (repr(start), hash(start)) == (repr(plain), hash(plain))
    assert pickle.loads(pickle.dumps(start)) == copy.deepcopy(start) == plain
