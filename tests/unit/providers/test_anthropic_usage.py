"""Token counts of Anthropic that the totals of a response leave out: ``usage.iterations``."""

from __future__ import annotations

from typing import Any

import pytest

from agui_reasoning import Run
from agui_reasoning.deltas import Delta, UsageDelta
from agui_reasoning.errors import DecodeError
from agui_reasoning.providers import decoder
from agui_reasoning.providers.registry import provider_api

Counts = dict[str, Any]


def entry(kind: str, given: int, output: int, **more: Any) -> Counts:
    """One sampling."""
    return {"type": kind, "input_tokens": given, "output_tokens": output, **more}


def stream(*iterations: Counts, model: str = "claude-fable-5", **totals: int) -> list[Counts]:
    """A message that ends with these counts."""
    usage = {"input_tokens": 23_000, "output_tokens": 1_000, **totals}
    message = {"id": "msg_1", "model": model, "usage": {"input_tokens": 3, "output_tokens": 1}}
    return [
        {"type": "message_start", "message": message},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {**usage, "iterations": list(iterations)},
        },
        {"type": "message_stop"},
    ]


def decode(payloads: list[Counts]) -> list[Delta]:
    machine = decoder("anthropic-messages", provider="anthropic")
    return [delta for payload in payloads for delta in machine.receive(payload)]


def of_run(payloads: list[Counts]) -> list[tuple[str | None, int | None, int | None, int | None]]:
    """What the last event of a run counts: model, input, output and all tokens."""
    run = Run({"threadId": "t", "runId": "r", "messages": []}, api="anthropic-messages", model="m")
    run.start()
    for delta in decode(payloads):
        run.receive(delta)
    return [
        (usage.model, usage.input_tokens, usage.output_tokens, usage.total_tokens)
        for usage in run.finish()[-1].usage
    ]


COMPACTION = entry("compaction", 180_000, 3_500)
ANSWER = entry("message", 23_000, 1_000)


def test_the_summary_of_a_compaction_is_counted() -> None:
    assert of_run(stream(COMPACTION, ANSWER)) == [("claude-fable-5", 203_000, 4_500, 207_500)]


def test_samplings_of_a_tool_loop_are_in_the_totals_already() -> None:
    payloads = stream(ANSWER, entry("message", 23_100, 20), input_tokens=46_100, output_tokens=1_020)
    assert of_run(payloads) == [("claude-fable-5", 46_100, 1_020, 47_120)]


def test_an_advisor_has_an_entry_of_its_own() -> None:
    advice = entry("advisor_message", 2_543, 18, model="claude-opus-5", cache_read_input_tokens=7)
    more = entry("advisor_message", 1_000, 2, model="claude-opus-5")
    assert of_run(stream(ANSWER, advice, more)) == [
        ("claude-fable-5", 23_000, 1_000, 24_000),
        ("claude-opus-5", 3_550, 20, 3_570),
    ]


def test_a_model_that_advises_itself_has_one_entry() -> None:
    advice = entry("advisor_message", 100, 18, model="claude-fable-5")
    assert of_run(stream(ANSWER, advice)) == [("claude-fable-5", 23_100, 1_018, 24_118)]


DECLINED = entry(
    "message",
    2,
    578,
    model="claude-fable-5",
    cache_creation_input_tokens=10_421,
    cache_read_input_tokens=72_769,
)
SERVED = entry("fallback_message", 2, 13_658, model="claude-opus-4-8", cache_read_input_tokens=79_214)


def test_a_fallback_is_counted_for_both_models() -> None:
    totals = {name: SERVED[name] for name in ("input_tokens", "output_tokens", "cache_read_input_tokens")}
    assert of_run(stream(DECLINED, SERVED, **totals)) == [
        ("claude-opus-4-8", 79_216, 13_658, 92_874),
        ("claude-fable-5", 83_192, 578, 83_770),
    ]


def test_a_model_that_declined_at_once_is_not_charged() -> None:
    declined = entry("message", 412, 0, model="claude-fable-5")
    served = entry("fallback_message", 23_000, 1_000, model="claude-opus-4-8")
    assert of_run(stream(declined, served)) == [("claude-opus-4-8", 23_000, 1_000, 24_000)]


def test_the_earlier_samplings_of_the_fallback_model_are_in_the_totals() -> None:
    earlier = entry("message", 22_000, 10, model="claude-opus-4-8")
    served = entry("fallback_message", 1_000, 990, model="claude-opus-4-8")
    assert of_run(stream(earlier, served)) == [("claude-opus-4-8", 23_000, 1_000, 24_000)]


def test_counts_that_come_twice_count_once() -> None:
    payloads = stream(COMPACTION, entry("advisor_message", 5, 6, model="claude-opus-5"))
    start, counted, stop = payloads
    assert of_run([start, counted, counted, stop]) == of_run(payloads)


def test_a_whole_response_counts_as_its_stream() -> None:
    payloads = stream(COMPACTION, entry("advisor_message", 5, 6, model="claude-opus-5"), ANSWER)
    body = {**payloads[0]["message"], "type": "message", "content": [], "usage": payloads[1]["usage"]}
    whole = provider_api("anthropic-messages").load_decoder()(provider="anthropic").whole(body)
    assert [delta for delta in whole if isinstance(delta, UsageDelta)] == [
        delta for delta in decode(payloads)[2:] if isinstance(delta, UsageDelta)
    ]


@pytest.mark.parametrize(
    ("iterations", "path"),
    [
        ({}, "/usage/iterations"),
        ([1], "/usage/iterations/0"),
        ([{"type": "compaction", "input_tokens": "1"}], "/usage/iterations/0/input_tokens"),
    ],
)
def test_malformed_iterations_are_refused(iterations: Any, path: str) -> None:
    start, counted, _ = stream()
    counted["usage"]["iterations"] = iterations
    with pytest.raises(DecodeError) as caught:
        decode([start, counted])
    assert caught.value.path == path
