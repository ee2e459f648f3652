"""Test the law *stream = whole*: a response decodes to the same parts, however it is cut."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agui_reasoning.deltas import Delta, fold
from agui_reasoning.providers import decode_response, decoder
from tests.laws import law
from tests.support.wholes import STREAMS, Cut, normal

texts = st.text(st.characters(codec="utf-8", exclude_characters="<[◁"), max_size=20)
words = st.text(st.characters(codec="utf-8", exclude_characters="<[◁"), min_size=1, max_size=20).filter(
    str.strip
)
cipher = st.text("abcXYZ+/=", min_size=4, max_size=12)
objects = st.dictionaries(st.sampled_from("abc"), st.integers() | texts, max_size=2)


@st.composite
def cuts(draw: st.DrawFn) -> Cut:
    """A way to cut texts: every so many characters, with empty pieces in between or not."""
    size, hollow = draw(st.integers(1, 9)), draw(st.booleans())

    def cut(text: str) -> list[str]:
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        return [piece for pair in ((piece, "") for piece in pieces) for piece in pair] if hollow else pieces

    return cut


def stream(api: str, response: dict[str, Any], cut: Cut) -> list[Delta]:
    machine = decoder(api, provider="openrouter" if api == "openai-chat" else None)
    deltas = [delta for payload in STREAMS[api](response, cut) for delta in machine.receive(payload)]
    return deltas + machine.close()


# -- Anthropic

thinking = st.fixed_dictionaries(
    {"type": st.just("thinking"), "thinking": texts, "signature": st.just("") | cipher}
)
redacted = st.fixed_dictionaries({"type": st.just("redacted_thinking"), "data": cipher})
text_block = st.fixed_dictionaries(
    {"type": st.just("text"), "text": words},
    optional={"citations": st.lists(objects, min_size=1, max_size=2)},
)
result_block = st.fixed_dictionaries(
    {"type": st.just("web_search_tool_result"), "tool_use_id": st.just("s1"), "content": st.lists(objects)}
)
other_block = st.fixed_dictionaries({"type": st.just("fallback"), "from": objects})


@st.composite
def anthropic_messages(draw: st.DrawFn) -> dict[str, Any]:
    blocks = draw(st.lists(st.one_of(thinking, redacted, text_block, result_block, other_block), max_size=6))
    for number in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(["tool_use", "server_tool_use"]))
        blocks.append({"type": kind, "id": f"t{number}", "name": "get", "input": draw(objects)})
    reason = draw(st.sampled_from(["end_turn", "tool_use", "max_tokens"]))
    return {"id": "msg_1", "model": "claude", "content": blocks, "stop_reason": reason}


@law("stream is whole")
@given(anthropic_messages(), cuts())
def test_anthropic(message: dict[str, Any], cut: Cut) -> None:
    streamed = fold(stream("anthropic-messages", message, cut))
    assert normal(streamed) == normal(decode_response("anthropic-messages", message))


# -- OpenAI Responses


@st.composite
def responses(draw: st.DrawFn) -> dict[str, Any]:
    output = [draw(_ITEMS[draw(st.sampled_from(sorted(_ITEMS)))]) for _ in range(draw(st.integers(0, 5)))]
    for number, item in enumerate(output):
        item = output[number] = {**item, "id": f"{item['type']}_{number}"}
        if item["type"] == "function_call":
            item["call_id"] = f"call_{number}"
    status = draw(st.sampled_from(["completed", "incomplete"]))
    details = {"reason": "max_output_tokens"} if status == "incomplete" else None
    return {"id": "resp", "model": "gpt", "status": status, "incomplete_details": details, "output": output}


def _parts_of(kind: str) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(st.fixed_dictionaries({"type": st.just(kind), "text": words}), max_size=3)


_ITEMS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "reasoning": st.fixed_dictionaries(
        {"type": st.just("reasoning"), "summary": _parts_of("summary_text")},
        optional={"encrypted_content": cipher, "content": _parts_of("reasoning_text")},
    ),
    "message": st.fixed_dictionaries(
        {"type": st.just("message"), "role": st.just("assistant"), "content": _parts_of("output_text")},
        optional={"phase": st.sampled_from(["commentary", "final_answer"])},
    ),
    "function_call": st.fixed_dictionaries(
        {
            "type": st.just("function_call"),
            "name": st.just("get"),
            "arguments": st.sampled_from(["", "{}", '{"a": 1}']),
        }
    ),
    "compaction": st.fixed_dictionaries({"type": st.just("compaction"), "encrypted_content": cipher}),
    "web_search_call": st.fixed_dictionaries({"type": st.just("web_search_call"), "action": objects}),
}


@law("stream is whole")
@given(responses(), cuts())
def test_openai_responses(response: dict[str, Any], cut: Cut) -> None:
    streamed = fold(stream("openai-responses", response, cut))
    assert normal(streamed) == normal(decode_response("openai-responses", response))


# -- Chat completions

details = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("reasoning.text"), "text": words, "format": st.just("anthropic-claude-v1")},
            optional={"signature": cipher},
        ),
        st.fixed_dictionaries(
            {"type": st.just("reasoning.summary"), "summary": words, "id": st.just("rs_1")}
        ),
        st.fixed_dictionaries({"type": st.just("reasoning.encrypted"), "data": cipher}),
    ),
    min_size=1,
    max_size=3,
).map(lambda entries: [{**entry, "index": index} for index, entry in enumerate(entries)])
calls = st.lists(st.sampled_from(["", "{}", '{"a": 1}']), max_size=3).map(
    lambda texts: [
        {"id": f"c{n}", "type": "function", "function": {"name": "get", "arguments": text}}
        for n, text in enumerate(texts)
    ]
)
messages = st.fixed_dictionaries(
    {"role": st.just("assistant")},
    optional={
        "content": words,
        "reasoning_content": words,
        "reasoning_details": details,
        "tool_calls": calls,
    },
)


@law("stream is whole")
@given(messages, st.sampled_from(["stop", "tool_calls", "length"]), cuts())
def test_openai_chat(message: dict[str, Any], reason: str, cut: Cut) -> None:
    if "reasoning_details" in message:
        message.pop("reasoning_content", None)
    choice = {"index": 0, "message": message, "finish_reason": reason}
    completion = {"id": "chatcmpl", "model": "m", "choices": [choice]}
    streamed = fold(stream("openai-chat", completion, cut))
    whole = decode_response("openai-chat", completion, provider="openrouter")
    assert normal(streamed, flat=True) == normal(whole, flat=True)
