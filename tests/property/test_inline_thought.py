"""Test the law *stream = whole* for strings that hold reasoning: no cut changes their meaning."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agui_reasoning.deltas import fold
from agui_reasoning.parts import Part, ReasoningPart, TextPart
from agui_reasoning.providers import decode_response, decoder
from tests.property.test_think_tags import texts

MODELS = ("m", "deepseek-r1", "minimax-m2", "gpt-oss-120b")


def whole(model: str, message: dict[str, Any], reason: str) -> list[Part]:
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return decode_response("openai-chat", {"id": "r", "model": model, "choices": [choice]})


def streamed(model: str, deltas: list[dict[str, Any]], reason: str) -> list[Part]:
    made = decoder("openai-chat")
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta} for delta in deltas]
    choices[-1]["finish_reason"] = reason
    payloads = [{"id": "r", "model": model, "choices": [choice]} for choice in choices]
    return fold([delta for payload in payloads for delta in made.receive(payload)] + made.close())


@settings(max_examples=150)
@given(
    text=texts,
    model=st.sampled_from(MODELS),
    reason=st.sampled_from(["stop", "length"]),
    told=st.booleans(),
    data=st.data(),
)
def test_no_cut_changes_what_a_string_means_and_every_character_is_kept(
    text: str, model: str, reason: str, told: bool, data: st.DataObject
) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=6).map(sorted))
    pieces = [text[start:end] for start, end in pairwise([0, *cuts, len(text)])]
    field: dict[str, Any] = {"reasoning_content": "Why?"} if told else {}
    expected = whole(model, {"content": text, **field}, reason)
    assert streamed(model, [field, *({"content": piece} for piece in pieces)], reason) == expected
    rebuilt = ""
    for part in expected:
        assert isinstance(part, ReasoningPart | TextPart)
        ext: Any = part.ext or {}
        if "field" in ext:
            continue
        tag = ext.get("tag", {"open": "", "close": ""})
        rebuilt += tag["open"] + part.text + tag["close"]
    assert rebuilt == text
