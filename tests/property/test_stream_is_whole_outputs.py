"""Test the law *stream = whole* for xAI's outputs and for LiteLLM's fields beside the text."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agui_reasoning.deltas import fold
from agui_reasoning.providers import decode_response, decoder
from tests.laws import law
from tests.property.test_stream_is_whole import calls, cuts, words
from tests.support.wholes import STREAMS, Cut, normal

token = st.text("abcXYZ019+/=", min_size=4, max_size=12)

# -- xAI

KINDS = {
    "c": "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL",
    "s": "TOOL_CALL_TYPE_WEB_SEARCH_TOOL",
    "x": "TOOL_CALL_TYPE_CODE_EXECUTION_TOOL",
}


@st.composite
def xai_responses(draw: st.DrawFn) -> dict[str, Any]:
    """Outputs of the model, each followed by those of the tools that it called."""
    outputs: list[dict[str, Any]] = []
    for turn in range(draw(st.integers(1, 3))):
        calls = [
            _call(kind, turn, n) for n, kind in enumerate(draw(st.lists(st.sampled_from("csx"), max_size=3)))
        ]
        message: dict[str, Any] = {"role": "ROLE_ASSISTANT", "tool_calls": calls}
        for name in draw(st.sets(st.sampled_from(["reasoning_content", "content"]))):
            message[name] = draw(words)
        if draw(st.booleans()):
            message["encrypted_content"] = draw(token)
        outputs.append({"message": message, "finish_reason": "REASON_TOOL_CALLS"})
        for call in calls:
            if call["type"] != KINDS["c"] and draw(st.booleans()):
                name = draw(st.sampled_from(["content", "encrypted_content"]))
                outputs.append({"message": {"role": "ROLE_TOOL", "tool_calls": [call], name: draw(token)}})
    last = draw(st.sampled_from(["REASON_STOP", "REASON_MAX_LEN", "REASON_TOOL_CALLS"]))
    final = {"role": "ROLE_ASSISTANT", "content": draw(words), "tool_calls": []}
    outputs.append({"message": final, "finish_reason": last})
    indexed = [{"index": place, **output} for place, output in enumerate(outputs)]
    return {"id": "r", "model": "grok", "outputs": indexed}


def _call(kind: str, turn: int, number: int) -> dict[str, Any]:
    function = {"name": "get", "arguments": '{"a": 1}'}
    return {"id": f"{kind}{turn}{number}", "type": KINDS[kind], "function": function}


@law("stream is whole")
@given(xai_responses(), cuts())
def test_xai(response: dict[str, Any], cut: Cut) -> None:
    made = decoder("xai-grpc")
    deltas = [delta for payload in STREAMS["xai-grpc"](response, cut) for delta in made.receive(payload)]
    assert normal(fold(deltas + made.close())) == normal(decode_response("xai-grpc", response))


# -- LiteLLM

blocks = st.lists(
    st.one_of(
        st.fixed_dictionaries({"type": st.just("thinking"), "thinking": words, "signature": token}),
        st.fixed_dictionaries({"type": st.just("redacted_thinking"), "data": token}),
    ),
    min_size=1,
    max_size=3,
)
items = st.lists(
    st.fixed_dictionaries(
        {"type": st.just("reasoning"), "encrypted_content": token},
        optional={"summary": words.map(lambda text: [{"type": "summary_text", "text": text}])},
    ),
    min_size=1,
    max_size=3,
).map(lambda drawn: [{**item, "id": f"rs_{number}"} for number, item in enumerate(drawn)])


@st.composite
def litellm_messages(draw: st.DrawFn) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": draw(words), "tool_calls": draw(calls)}
    kind = draw(st.sampled_from(["blocks", "items", "flat", "signatures"]))
    if kind == "blocks":
        message["thinking_blocks"] = draw(blocks)
        message["reasoning_content"] = "".join(b.get("thinking", "") for b in message["thinking_blocks"])
    elif kind == "items":
        message["reasoning_items"] = draw(items)
    elif kind == "flat":
        message["reasoning_content"] = draw(words)
    else:
        signature = draw(token)
        for call in message["tool_calls"][:1]:
            call["id"] += f"__thought__{signature}"
            call["provider_specific_fields"] = {"thought_signature": signature}
        message["provider_specific_fields"] = {"thought_signatures": [signature]}
    return message


def litellm_stream(completion: dict[str, Any], cut: Cut) -> list[Any]:
    """As LiteLLM streams: fragments of blocks beside the same text, the value in the last fragment."""
    head = {name: completion[name] for name in ("id", "model")}
    message = completion["choices"][0]["message"]
    deltas: list[dict[str, Any]] = []
    for block in message.get("thinking_blocks", ()):
        deltas += _fragments(block, cut)
    beside = {"reasoning_items", "provider_specific_fields"} & set(message)
    deltas += [{"reasoning_items": [item]} for item in message.get("reasoning_items", ())]
    plain = {k: v for k, v in message.items() if k not in ("thinking_blocks", *beside)}
    if "thinking_blocks" in message:
        plain.pop("reasoning_content")
    choice = {**completion["choices"][0], "message": plain}
    tail = STREAMS["litellm"]({**completion, "choices": [choice]}, cut)
    chunks = [{**head, "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    fields = {name: message[name] for name in beside if name != "reasoning_items"}
    signed = [{**head, "choices": [{"index": 0, "delta": fields}]}] if fields else []
    return [*chunks, *tail[:-2], *signed, *tail[-2:]]


def _fragments(block: dict[str, Any], cut: Cut) -> list[dict[str, Any]]:
    if "data" in block:
        return [{"thinking_blocks": [block]}]
    pieces = [{"type": "thinking", "thinking": piece} for piece in cut(block["thinking"])]
    last = {"type": "thinking", "thinking": "", "signature": block["signature"]}
    said = [{"thinking_blocks": [piece], "reasoning_content": piece["thinking"]} for piece in pieces]
    return [*said, {"thinking_blocks": [last], "reasoning_content": ""}]


@law("stream is whole")
@given(litellm_messages(), st.sampled_from(["stop", "tool_calls"]), cuts())
def test_litellm(message: dict[str, Any], reason: str, cut: Cut) -> None:
    choice = {"index": 0, "message": message, "finish_reason": reason}
    completion = {"id": "chatcmpl", "model": "m", "choices": [choice]}
    made = decoder("litellm", provider="anthropic")
    deltas = [delta for payload in litellm_stream(completion, cut) for delta in made.receive(payload)]
    whole = decode_response("litellm", completion, provider="anthropic")
    assert normal(fold(deltas + made.close()), flat=True) == normal(whole, flat=True)
