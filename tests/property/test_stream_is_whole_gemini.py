"""Test the law *stream = whole* for Gemini's two APIs."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.laws import law
from tests.property.test_stream_is_whole import cuts, words
from tests.property.test_stream_is_whole_formats import same, token
from tests.support.wholes import Cut

names = st.sampled_from(["a", "b", "c"])
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | words,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=2) | st.dictionaries(names, inner, min_size=1, max_size=2)
    ),
    max_leaves=5,
)
arguments = st.dictionaries(names, values, max_size=2)

# -- generateContent

text = words.map(lambda drawn: {"text": drawn})
part = st.one_of(
    text,
    words.map(lambda drawn: {"text": drawn, "thought": True}),
    st.builds(lambda drawn, value: {"text": drawn, "thoughtSignature": value}, words | st.just(""), token),
    token.map(lambda value: {"thoughtSignature": value}),
    st.builds(lambda args: {"functionCall": {"name": "get", "args": args}}, arguments),
    st.builds(
        lambda args, value: {
            "functionCall": {"id": value, "name": "get", "args": args},
            "thoughtSignature": value,
        },
        arguments,
        token,
    ),
    token.map(lambda value: {"executableCode": {"code": "1", "id": value}, "thoughtSignature": value}),
    token.map(lambda value: {"codeExecutionResult": {"output": "1", "id": value}}),
    token.map(lambda value: {"inlineData": {"data": value}, "thoughtSignature": value}),
)


@st.composite
def contents(draw: st.DrawFn) -> dict[str, Any]:
    candidate = {
        "content": {"role": "model", "parts": draw(st.lists(part, max_size=6))},
        "finishReason": draw(st.sampled_from(["STOP", "MAX_TOKENS"])),
    }
    return {"candidates": [candidate], "modelVersion": "gemini-3", "responseId": "r1"}


@law("stream is whole")
@given(contents(), cuts())
def test_gemini(response: dict[str, Any], cut: Cut) -> None:
    same("gemini", response, cut)


# -- Interactions

summary = st.lists(words.map(lambda drawn: {"type": "text", "text": drawn}), max_size=3)
thought = st.fixed_dictionaries(
    {"type": st.just("thought")}, optional={"signature": st.just("") | token, "summary": summary}
)
output = st.lists(words.map(lambda drawn: {"type": "text", "text": drawn}), min_size=1, max_size=2).map(
    lambda drawn: {"type": "model_output", "content": drawn}
)
search = st.builds(
    lambda value, args: {"type": "google_search_call", "id": "s1", "arguments": args, "signature": value},
    token,
    arguments,
)
found = token.map(
    lambda value: {
        "type": "google_search_result",
        "call_id": "s1",
        "result": [{"a": value}],
        "signature": value,
    }
)


@st.composite
def interactions(draw: st.DrawFn) -> dict[str, Any]:
    steps = draw(st.lists(st.one_of(thought, output, search, found), max_size=5))
    for number in range(draw(st.integers(0, 2))):
        steps.append(
            {"type": "function_call", "id": f"c{number}", "name": "get", "arguments": draw(arguments)}
        )
    status = draw(st.sampled_from(["completed", "requires_action", "incomplete"]))
    return {"id": "i1", "model": "gemini-3", "object": "interaction", "status": status, "steps": steps}


@law("stream is whole")
@given(interactions(), cuts())
def test_interactions(response: dict[str, Any], cut: Cut) -> None:
    same("gemini-interactions", response, cut)
