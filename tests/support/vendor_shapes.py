"""List what each vendor sends: our own payloads in the shapes that were recorded or documented.

A `Shape` is one response twice, streamed and whole, and the parts that both mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from msgspec import structs

from agui_reasoning.parts import (
    Opaque,
    Origin,
    Part,
    ReasoningPart,
    Segment,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

JSON: TypeAlias = dict[str, Any]

THOUGHT, ANSWER, CALL_ID, ARGUMENTS = (
    "Rain is likely. Check.",
    "Take an umbrella.",
    "call_7",
    '{"city":"Oslo"}',
)


@dataclass(frozen=True)
class Shape:
    """One response of a vendor.

    Attributes:
        provider: The vendor.
        name: What is special.
        stream: Its payloads.
        whole: The same response, whole; ``None`` where a whole response does not hold what the stream does.
        parts: What both mean, without origin.
        model: Its model.
        api: The API id.
        arrives: The fields of the vendor's row that it shows.
    """

    provider: str
    name: str
    arrives: tuple[str, ...]
    stream: list[Any]
    whole: JSON | None
    parts: list[Part]
    model: str = "model-1"
    api: str = "openai-chat"

    @property
    def expected(self) -> list[Part]:
        """The parts, with their origin."""
        origin = Origin(self.provider, self.api, self.model)
        return [structs.replace(part, origin=origin) for part in self.parts]


# -- what parts are made of


def thought(
    *texts: str,
    channel: Any = "text",
    opaque: tuple[Opaque, ...] = (),
    item_id: str | None = None,
    **ext: Any,
) -> ReasoningPart:
    """A unit of reasoning."""
    segments = tuple(Segment(channel, number, text) for number, text in enumerate(texts))
    return ReasoningPart(segments, opaque, item_id, ext=ext or None)


def said(text: str = ANSWER, **ext: Any) -> TextPart:
    """The answer."""
    return TextPart(text, ext=ext or None)


def called(**fields: Any) -> ToolCallPart:
    """The call of the one tool."""
    return ToolCallPart(**{"id": CALL_ID, "name": "forecast", "arguments": ARGUMENTS, **fields})


# -- Chat Completions


def chat_chunk(
    delta: Mapping[str, Any], *, finish: str | None = None, model: str = "model-1", **top: Any
) -> JSON:
    """A chunk of a stream."""
    choice = {"index": 0, "delta": dict(delta), "finish_reason": finish}
    return {"id": "r1", "object": "chat.completion.chunk", "model": model, "choices": [choice], **top}


def chat_stream(*deltas: Mapping[str, Any], finish: str = "stop", model: str = "model-1") -> list[Any]:
    """A stream of deltas, with its usual beginning and end."""
    chunks = [chat_chunk(delta, model=model) for delta in ({"role": "assistant", "content": ""}, *deltas)]
    return [*chunks, chat_chunk({}, finish=finish, model=model), "[DONE]"]


def chat_whole(message: Mapping[str, Any], *, finish: str = "stop", model: str = "model-1") -> JSON:
    """A whole response."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "r1", "object": "chat.completion", "model": model, "choices": [choice]}


def chat_call(**fields: Any) -> JSON:
    """An entry of ``tool_calls``."""
    return {
        "id": CALL_ID,
        "type": "function",
        "function": {"name": "forecast", "arguments": ARGUMENTS},
        **fields,
    }


def string_field(provider: str, field: str, *, model: str = "model-1") -> Shape:
    """Reasoning as a string beside the content, then a call: most of the family."""
    fragments = ["Rain is ", "likely. ", "Check."]
    head, tail = ARGUMENTS[:8], ARGUMENTS[8:]
    opened = {**chat_call(index=0), "function": {"name": "forecast", "arguments": ""}}
    return Shape(
        provider,
        f"a string in {field}",
        (field,),
        chat_stream(
            {"content": None, field: ""},
            *({"content": None, field: text} for text in fragments),
            {"content": ANSWER, field: None},
            {"tool_calls": [opened]},
            {"tool_calls": [{"index": 0, "function": {"arguments": head}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": tail}}]},
            finish="tool_calls",
            model=model,
        ),
        chat_whole(
            {"content": ANSWER, field: THOUGHT, "tool_calls": [chat_call()]}, finish="tool_calls", model=model
        ),
        [thought(THOUGHT, field=field), said(), called()],
        model,
    )


def tagged(
    provider: str, *, opening: str = "<think>", closing: str = "</think>", model: str = "model-1"
) -> Shape:
    """Reasoning between tags in the content; the tags are cut by the fragments."""
    opening, closing = f"{opening}\n", f"\n{closing}\n\n"
    content = f"{opening}{THOUGHT}{closing}{ANSWER}"
    return Shape(
        provider,
        f"tags, {opening.strip()}",
        ("content_tags",),
        chat_stream(*({"content": content[n : n + 5]} for n in range(0, len(content), 5)), model=model),
        chat_whole({"content": content}, model=model),
        [thought(THOUGHT, tag={"open": opening, "close": closing}), said()],
        model,
    )


def prefilled(provider: str, model: str) -> Shape:
    """The opening tag is part of the prompt."""
    content = f"{THOUGHT}\n</think>\n\n{ANSWER}"
    return Shape(
        provider,
        "only the closing tag",
        ("content_tags",),
        chat_stream(*({"content": content[n : n + 5]} for n in range(0, len(content), 5)), model=model),
        chat_whole({"content": content}, model=model),
        [thought(THOUGHT, tag={"open": "", "close": "\n</think>\n\n"}), said()],
        model,
    )


def detailed(provider: str, *, mirror: str | None, model: str = "anthropic/claude-sonnet-5") -> Shape:
    """Entries of ``reasoning_details``, with the text once more in a string; the signature comes late."""
    form = {"format": "anthropic-claude-v1", "index": 0}
    entry = {"type": "reasoning.text", **form}
    texts = ["Rain is likely. ", "Check."]
    beside = [{mirror: text} if mirror else {} for text in texts]
    return Shape(
        provider,
        "details",
        ("reasoning_details", *([mirror] if mirror else [])),
        chat_stream(
            *(
                {"reasoning_details": [{**entry, "text": text}], **more}
                for text, more in zip(texts, beside, strict=True)
            ),
            {"reasoning_details": [{**entry, "signature": "SIG"}]},
            {"content": ANSWER},
            model=model,
        ),
        chat_whole(
            {
                "content": ANSWER,
                "reasoning_details": [{**entry, "text": THOUGHT, "signature": "SIG"}],
                **({mirror: THOUGHT} if mirror else {}),
            },
            model=model,
        ),
        [
            thought(
                THOUGHT,
                opaque=(Opaque("openrouter.signature", "SIG"),),
                **({"field": mirror} if mirror else {}),
                details=[entry],
            ),
            said(),
        ],
        model,
    )


def _minimax_native() -> Shape:
    first, second = "Rain?", "Oslo it is."
    content = f"<think>\n{first}\n</think>\n\nLet me look.<think>\n{second}\n</think>\n\n{ANSWER}"
    tag = {"open": "<think>\n", "close": "\n</think>\n\n"}
    pieces = [content[n : n + 4] for n in range(0, len(content), 4)]
    model = "MiniMax-M2.1"
    return Shape(
        "minimax",
        "native: thoughts between stretches of one string",
        ("content_tags",),
        chat_stream(
            *({"content": piece} for piece in pieces),
            {"tool_calls": [chat_call(index=0)]},
            finish="tool_calls",
            model=model,
        ),
        chat_whole({"content": content, "tool_calls": [chat_call()]}, finish="tool_calls", model=model),
        [
            thought(first, tag=tag),
            said("Let me look."),
            thought(second, tag=tag),
            said(),
            called(),
        ],
        model,
    )


def _minimax_split() -> Shape:
    entry = {"type": "reasoning.text", "id": "reasoning-text-1", "format": "MiniMax-response-v1", "index": 0}
    model = "MiniMax-M2.1"
    return Shape(
        "minimax",
        "split: every delta has all the text so far",
        ("reasoning_details",),
        chat_stream(
            {"reasoning_details": [{**entry, "text": "Rain is "}]},
            {"reasoning_details": [{**entry, "text": "Rain is likely. "}]},
            {"reasoning_details": [{**entry, "text": THOUGHT}]},
            {"content": ANSWER},
            model=model,
        ),
        chat_whole({"content": ANSWER, "reasoning_details": [{**entry, "text": THOUGHT}]}, model=model),
        [thought(THOUGHT, item_id="reasoning-text-1", details=[entry]), said()],
        model,
    )


def _vercel_gateway() -> Shape:
    named = {"id": "rs_1", "format": "openai-responses-v1", "index": 0}
    summary, encrypted = {"type": "reasoning.summary", **named}, {"type": "reasoning.encrypted", **named}
    model = "openai/gpt-5.6"
    return Shape(
        "vercel-gateway",
        "summary and encrypted entry of one id and index",
        ("reasoning_details", "reasoning"),
        chat_stream(
            {
                "reasoning": "Rain is likely. ",
                "reasoning_details": [{**summary, "summary": "Rain is likely. "}],
            },
            {"reasoning": "Check.", "reasoning_details": [{**summary, "summary": "Check."}]},
            {"reasoning_details": [{**encrypted, "data": "gAAAA"}]},
            {"content": ANSWER},
            model=model,
        ),
        chat_whole(
            {
                "content": ANSWER,
                "reasoning": THOUGHT,
                "reasoning_details": [{**summary, "summary": THOUGHT}, {**encrypted, "data": "gAAAA"}],
            },
            model=model,
        ),
        [
            thought(
                THOUGHT,
                channel="summary",
                opaque=(Opaque("openrouter.encrypted", "gAAAA"),),
                item_id="rs_1",
                field="reasoning",
                details=[summary, encrypted],
            ),
            said(),
        ],
        model,
    )


def _openrouter_gemini() -> Shape:
    entry = {"type": "reasoning.encrypted", "id": CALL_ID, "format": "google-gemini-v1", "index": 0}
    model = "google/gemini-3-pro"
    return Shape(
        "openrouter",
        "Gemini's value bears the id of its call",
        ("reasoning_details",),
        chat_stream(
            {"tool_calls": [chat_call(index=0)]},
            {"reasoning_details": [{**entry, "data": "SIG"}]},
            finish="tool_calls",
            model=model,
        ),
        chat_whole(
            {"content": None, "reasoning_details": [{**entry, "data": "SIG"}], "tool_calls": [chat_call()]},
            finish="tool_calls",
            model=model,
        ),
        [
            called(
                opaque=(Opaque("openrouter.encrypted", "SIG", attach=f"tool_call:{CALL_ID}"),),
                ext={"details": [entry]},
            )
        ],
        model,
    )


def _openrouter_deepseek() -> Shape:
    model = "deepseek/deepseek-v4"
    return Shape(
        "openrouter",
        "an empty list of details has a meaning",
        ("reasoning_details",),
        chat_stream({"reasoning_details": []}, {"content": ANSWER}, model=model),
        chat_whole({"content": ANSWER, "reasoning_details": []}, model=model),
        [said(), thought(field="reasoning_details", explicit_empty=True)],
        model,
    )


def _snowflake() -> Shape:
    shape = detailed("snowflake", mirror=None, model="claude-sonnet-5")
    empty = {"function_call": {"name": "", "arguments": ""}, "audio": {}, "refusal": ""}
    stream = [
        {**data, "choices": [{"index": 0, "delta": {**empty, **data["choices"][0]["delta"]}}]}
        for data in shape.stream[:-2]
    ]
    message = {**empty, **shape.whole["choices"][0]["message"]}
    whole = {**shape.whole, "choices": [{"index": 0, "message": message, "finish_reason": ""}]}
    return replace(
        shape,
        name="empty fields beside every text, no finish reason",
        stream=[*stream, "[DONE]"],
        whole=whole,
    )


def _gemini_call(provider: str, namespace: str) -> Shape:
    extra = {namespace: {"thought_signature": "SIG"}}
    return Shape(
        provider,
        f"a signature on the call, in {namespace}",
        ("tool_calls",),
        chat_stream({"tool_calls": [chat_call(index=0, extra_content=extra)]}, finish="tool_calls"),
        chat_whole({"content": None, "tool_calls": [chat_call(extra_content=extra)]}, finish="tool_calls"),
        [
            called(
                opaque=(Opaque("gemini.openai_compat_signature", "SIG", attach=f"tool_call:{CALL_ID}"),),
                ext={"extra_content": namespace},
            )
        ],
    )


def _gemini_thought(provider: str, namespace: str) -> Shape:
    mark = {"extra_content": {namespace: {"thought": True}}}
    tag = {"open": "", "close": ""}
    return Shape(
        provider,
        "content that is marked as a thought",
        ("content",),
        chat_stream({"content": THOUGHT[:9], **mark}, {"content": THOUGHT[9:], **mark}),
        chat_whole({"content": THOUGHT, **mark}),
        [thought(THOUGHT, tag=tag)],
    )


def _mistral() -> Shape:
    def thinking(text: str) -> JSON:
        return {"type": "thinking", "thinking": [{"type": "text", "text": text}], "closed": True}

    return Shape(
        "mistral",
        "chunks in the content, each of which calls itself closed",
        ("content",),
        chat_stream(
            {"content": [thinking("Rain is ")]},
            {"content": [thinking("likely. ")]},
            {"content": [thinking("Check.")]},
            {"content": ANSWER},
        ),
        chat_whole({"content": [thinking(THOUGHT), {"type": "text", "text": ANSWER}]}),
        [thought(THOUGHT, closed=True), said()],
    )


def _perplexity_steps() -> Shape:
    search = {
        "search_keywords": ["Oslo rain"],
        "search_results": [{"title": "Rain", "url": "https://example.org"}],
    }
    steps = [
        {"thought": "Rain is likely.", "type": "web_search", "web_search": search},
        {"thought": "Check.", "type": "fetch_url_content", "fetch_url_content": {"contents": []}},
    ]
    return Shape(
        "perplexity",
        "steps, each with its thought",
        ("reasoning_steps",),
        chat_stream(*({"reasoning_steps": [step]} for step in steps), {"content": ANSWER}, model="sonar-pro"),
        chat_whole({"content": ANSWER, "reasoning_steps": steps}, model="sonar-pro"),
        [
            thought("Rain is likely.", type="web_search", web_search=search),
            thought("Check.", type="fetch_url_content", fetch_url_content={"contents": []}),
            said(),
        ],
        "sonar-pro",
    )


def _copilot() -> Shape:
    return Shape(
        "github-copilot",
        "text with an opaque value beside it",
        ("reasoning_text", "reasoning_opaque"),
        chat_stream(
            {"reasoning_text": "Rain is likely. "},
            {"reasoning_text": "Check."},
            {"reasoning_opaque": "OPAQUE"},
            {"content": ANSWER},
        ),
        chat_whole({"content": ANSWER, "reasoning_text": THOUGHT, "reasoning_opaque": "OPAQUE"}),
        [
            thought(THOUGHT, opaque=(Opaque("copilot.reasoning_opaque", "OPAQUE"),), field="reasoning_text"),
            said(),
        ],
    )


def _any_llm(upstream: JSON, expected: ReasoningPart, name: str, *, text: bool = True) -> Shape:
    first = (
        [{"reasoning": {"content": "Rain is likely. "}}, {"reasoning": {"content": "Check."}}] if text else []
    )
    whole = {"reasoning": {"content": THOUGHT}} if text else {}
    return Shape(
        "any-llm",
        name,
        ("reasoning.content",) if text else ("extra_content",),
        chat_stream(*first, {"extra_content": upstream}, {"content": ANSWER}),
        chat_whole({"content": ANSWER, **whole, "extra_content": upstream}),
        [expected, said()],
    )


def _portkey() -> Shape:
    return Shape(
        "portkey",
        "Anthropic's blocks, numbered",
        ("content_blocks",),
        chat_stream(
            {"content_blocks": [{"index": 0, "delta": {"thinking": "Rain is likely. "}}]},
            {"content_blocks": [{"index": 0, "delta": {"thinking": "Check."}}]},
            {"content_blocks": [{"index": 0, "delta": {"signature": "SIG"}}]},
            {"content_blocks": [{"index": 1, "delta": {"text": ANSWER}}], "content": ANSWER},
        ),
        chat_whole(
            {
                "content": ANSWER,
                "content_blocks": [
                    {"type": "thinking", "thinking": THOUGHT, "signature": "SIG"},
                    {"type": "text", "text": ANSWER},
                ],
            }
        ),
        [thought(THOUGHT, opaque=(Opaque("anthropic.signature", "SIG"),)), said()],
    )


def _portkey_gemini() -> Shape:
    function = {"name": "forecast", "arguments": ARGUMENTS, "thought_signature": "SIG"}
    return Shape(
        "portkey",
        "Gemini's signature in the function",
        ("tool_calls",),
        chat_stream({"tool_calls": [chat_call(index=0, function=function)]}, finish="tool_calls"),
        chat_whole({"content": None, "tool_calls": [chat_call(function=function)]}, finish="tool_calls"),
        [
            called(
                opaque=(Opaque("gemini.openai_compat_signature", "SIG", attach=f"tool_call:{CALL_ID}"),),
                ext={"signature_field": "function.thought_signature"},
            )
        ],
    )


def _litellm_blocks() -> Shape:
    def block(text: str, signature: str = "") -> JSON:
        return {"type": "thinking", "thinking": text, "signature": signature}

    return Shape(
        "litellm",
        "blocks, with their text once more in a string",
        ("thinking_blocks", "reasoning_content"),
        chat_stream(
            {"thinking_blocks": [block("Rain is likely. ")], "reasoning_content": "Rain is likely. "},
            {"thinking_blocks": [block("Check.")], "reasoning_content": "Check."},
            {"thinking_blocks": [block("", "SIG")]},
            {"thinking_blocks": [{"type": "redacted_thinking", "data": "DATA"}]},
            {"content": ANSWER},
        ),
        chat_whole(
            {
                "content": ANSWER,
                "reasoning_content": THOUGHT,
                "thinking_blocks": [block(THOUGHT, "SIG"), {"type": "redacted_thinking", "data": "DATA"}],
            }
        ),
        [
            thought(THOUGHT, opaque=(Opaque("anthropic.signature", "SIG"),)),
            thought(opaque=(Opaque("anthropic.redacted_thinking", "DATA"),)),
            said(),
        ],
    )


def _litellm_items() -> Shape:
    item = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": THOUGHT}],
        "encrypted_content": "gAAAA",
    }
    model = "responses/gpt-5.6"
    return Shape(
        "litellm",
        "items of its Responses bridge",
        ("reasoning_items",),
        chat_stream({"reasoning_items": [item]}, {"content": ANSWER}, model=model),
        chat_whole({"content": ANSWER, "reasoning_items": [item]}, model=model),
        [
            thought(
                THOUGHT,
                channel="summary",
                opaque=(Opaque("openai.encrypted_content", "gAAAA"),),
                item_id="rs_1",
            ),
            said(),
        ],
        model,
    )


def _litellm_gemini() -> Shape:
    call = chat_call(id=f"{CALL_ID}__thought__SIG", provider_specific_fields={"thought_signature": "SIG"})
    listed = {"provider_specific_fields": {"thought_signatures": ["SIG"]}}
    return Shape(
        "litellm",
        "Gemini's signature in the id, beside it and on the message",
        ("tool_calls",),
        chat_stream({"tool_calls": [{**call, "index": 0}], **listed}, finish="tool_calls"),
        chat_whole({"content": None, "tool_calls": [call], **listed}, finish="tool_calls"),
        [
            called(
                opaque=(Opaque("gemini.openai_compat_signature", "SIG", attach=f"tool_call:{CALL_ID}"),),
                ext={"signature_field": "provider_specific_fields.thought_signature"},
            )
        ],
    )


def _litellm_openrouter() -> Shape:
    shape = detailed("litellm", mirror="reasoning_content", model="openrouter/anthropic/claude-sonnet-5")
    message = shape.whole["choices"][0]["message"]
    hidden = {"provider_specific_fields": {"reasoning_details": message["reasoning_details"]}}
    kept = {name: value for name, value in message.items() if name not in ("role", "reasoning_details")}
    whole = chat_whole({**kept, **hidden}, model=shape.model)
    return replace(shape, name="details that a whole response hides", whole=whole)


def _answer_only(provider: str, **beside: Any) -> Shape:
    return Shape(
        provider,
        "an answer and nothing else",
        (),
        chat_stream({"content": "Take an "}, {"content": "umbrella."}),
        chat_whole({"content": ANSWER, **beside}),
        [said()],
    )


def _meta() -> Shape:
    return Shape(
        "meta",
        "a field that is documented as empty",
        ("reasoning_content",),
        chat_stream({"content": ANSWER, "reasoning_content": ""}),
        chat_whole({"content": ANSWER, "reasoning_content": ""}),
        [said(), thought(field="reasoning_content", explicit_empty=True)],
    )


_STRINGS = {
    "reasoning_content": [
        *(
            "azure",
            "deepseek",
            "moonshot",
            "zai",
            "zai-coding-plan",
            "xai",
            "longcat",
            "dashscope",
            "fireworks",
        ),
        *("together", "nvidia", "vllm", "sglang", "llamacpp", "lmstudio", "venice", "doubleword", "gpustack"),
        *("mistralrs", "deepinfra", "publicai", "opencode-zen", "aihubmix", "litellm"),
        *("xiaomi", "bedrock", "baseten", "huggingface", "novita", "google-vertex"),
    ],
    "reasoning": [
        *("groq", "cerebras", "together", "ollama", "ollama-cloud", "vllm", "doubleword", "crusoe"),
        *("huggingface", "deepinfra", "publicai", "bedrock-mantle", "localai", "openrouter", "litellm"),
        "lmstudio",
    ],
}

CHAT = [
    *(string_field(provider, field) for field, providers in _STRINGS.items() for provider in providers),
    *map(tagged, ("groq", "nvidia", "llamacpp", "lmstudio", "huggingface", "publicai", "perplexity")),
    tagged("sglang", opening="◁think▷", closing="◁/think▷", model="kimi-k2-thinking"),
    prefilled("llamacpp", "deepseek-r1-distill-qwen-7b"),
    _answer_only("openai", refusal=None, annotations=[]),
    _answer_only("sambanova"),
    _minimax_native(),
    _minimax_split(),
    detailed("openrouter", mirror="reasoning"),
    _openrouter_gemini(),
    _openrouter_deepseek(),
    _vercel_gateway(),
    detailed("avian", mirror="reasoning_content", model="kimi-k2.6"),
    detailed("doubleword", mirror="reasoning_content", model="qwen3"),
    detailed("novita", mirror=None),
    _snowflake(),
    _gemini_call("google", "google"),
    _gemini_call("google-vertex", "vertex"),
    _gemini_thought("google", "google"),
    _mistral(),
    _perplexity_steps(),
    _copilot(),
    _any_llm(
        {"anthropic": {"signature": "SIG"}},
        thought(THOUGHT, opaque=(Opaque("anthropic.signature", "SIG"),), field="reasoning.content"),
        "an object, and Claude's signature",
    ),
    _any_llm(
        {"deepseek": {"reasoning_content": THOUGHT}},
        thought(THOUGHT, field="extra_content.deepseek.reasoning_content"),
        "DeepSeek's text",
        text=False,
    ),
    _portkey(),
    _portkey_gemini(),
    _litellm_blocks(),
    _litellm_items(),
    _litellm_gemini(),
    _litellm_openrouter(),
    _meta(),
]
"""The shapes of Chat Completions."""


# -- Responses


def responses_event(kind: str, index: int | None = 0, **fields: Any) -> JSON:
    """An event of a stream."""
    place = {} if index is None else {"output_index": index}
    return {"type": f"response.{kind}", **place, **fields}


def responses_whole(*output: JSON, model: str = "model-1") -> JSON:
    """A whole response."""
    return {
        "id": "resp_1",
        "object": "response",
        "model": model,
        "status": "completed",
        "output": list(output),
    }


def responses_stream(*events: JSON, output: tuple[JSON, ...], model: str = "model-1") -> list[Any]:
    """A stream; ``output`` is what its last event says of it."""
    created = {"id": "resp_1", "object": "response", "model": model, "status": "in_progress", "output": []}
    return [
        {"type": "response.created", "response": created},
        {"type": "response.in_progress", "response": created},
        *events,
        {"type": "response.completed", "response": responses_whole(*output, model=model)},
    ]


def message_item(identity: str = "msg_1", text: str = ANSWER) -> JSON:
    """An answer."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"id": identity, "type": "message", "role": "assistant", "status": "completed", "content": content}


def message_events(index: int, item: JSON) -> list[JSON]:
    """How an answer streams."""
    identity, text = item["id"], item["content"][0]["text"]
    return [
        responses_event("output_item.added", index, item={**item, "status": "in_progress", "content": []}),
        *(
            responses_event("output_text.delta", index, item_id=identity, content_index=0, delta=piece)
            for piece in (text[:7], text[7:])
        ),
        responses_event("output_text.done", index, item_id=identity, content_index=0, text=text),
        responses_event("output_item.done", index, item=item),
    ]


def summarized(identity: str, *texts: str, **fields: Any) -> JSON:
    """An item of reasoning with summaries."""
    summary = [{"type": "summary_text", "text": text} for text in texts]
    return {"id": identity, "type": "reasoning", "summary": summary, **fields}


def raw_item(identity: str, text: str = THOUGHT, **fields: Any) -> JSON:
    """An item of raw reasoning."""
    return {**summarized(identity), "content": [{"type": "reasoning_text", "text": text}], **fields}


def summary_events(index: int, item: JSON, *, early: str | None = "EARLY") -> list[JSON]:
    """How summaries stream; the item is announced with another value than it ends with."""
    announced = {**item, "summary": [], **({"encrypted_content": early} if early else {})}
    events = [responses_event("output_item.added", index, item=announced)]
    for number, part in enumerate(item["summary"]):
        where, text = {"item_id": item["id"], "summary_index": number}, part["text"]
        empty = {"type": "summary_text", "text": ""}
        events += [
            responses_event("reasoning_summary_part.added", index, **where, part=empty),
            responses_event("reasoning_summary_text.delta", index, **where, delta=text[:6], obfuscation="x9"),
            responses_event("reasoning_summary_text.delta", index, **where, delta=text[6:], obfuscation="k"),
            responses_event("reasoning_summary_text.done", index, **where, text=text),
            responses_event("reasoning_summary_part.done", index, **where, part=part),
        ]
    return [*events, responses_event("output_item.done", index, item=item)]


def raw_events(index: int, item: JSON, *, number: int = 0) -> list[JSON]:
    """How raw reasoning streams."""
    where, text = {"item_id": item["id"], "content_index": number}, item["content"][0]["text"]
    return [
        responses_event("output_item.added", index, item={**item, "content": []}),
        responses_event("reasoning_text.delta", index, **where, delta=text[:6]),
        responses_event("reasoning_text.delta", index, **where, delta=text[6:]),
        responses_event("reasoning_text.done", index, **where, text=text),
        responses_event("output_item.done", index, item=item),
    ]


def _encrypted(value: str, kind: str = "openai.encrypted_content") -> tuple[Opaque, ...]:
    return (Opaque(kind, value),)


def _responses(
    provider: str,
    name: str,
    arrives: tuple[str, ...],
    events: list[JSON],
    output: tuple[JSON, ...],
    parts: list[Part],
    **more: Any,
) -> Shape:
    """A shape whose stream ends with ``completed``, or with what ``more`` says of it."""
    completed = more.pop("completed", output)
    whole = more.pop("whole", responses_whole(*output))
    stream = responses_stream(*events, output=completed)
    return Shape(provider, name, arrives, stream, whole, parts, api="openai-responses", **more)


def _summaries(provider: str, kind: str = "openai.encrypted_content", **more: Any) -> Shape:
    item, answer = summarized("rs_1", "Rain is likely.", "Check.", encrypted_content="FINAL"), message_item()
    return _responses(
        provider,
        "summaries; `added`, `done` and `completed` have different values",
        ("summary", "encrypted_content"),
        [*summary_events(0, item), *message_events(1, answer)],
        (item, answer),
        [
            thought(
                "Rain is likely.",
                "Check.",
                channel="summary",
                opaque=_encrypted("FINAL", kind),
                item_id="rs_1",
            ),
            said(id="msg_1"),
        ],
        completed=({**item, "encrypted_content": "THIRD"}, answer),
        **more,
    )


def _raw(provider: str, identity: str, *, number: int = 0, **fields: Any) -> Shape:
    item, answer = raw_item(identity, **fields), message_item()
    values = _encrypted(fields["encrypted_content"]) if "encrypted_content" in fields else ()
    return _responses(
        provider,
        f"raw reasoning, part {number}, id {identity}",
        ("content", *fields),
        [*raw_events(0, item, number=number), *message_events(1, answer)],
        (item, answer),
        [thought(THOUGHT, channel="raw", opaque=values, item_id=identity), said(id="msg_1")],
    )


def _perplexity_thoughts() -> Shape:
    """Thoughts are events of their own, without a place; only the stream has them."""
    answer = message_item()
    del answer["id"]
    events = [
        {"type": "response.reasoning.started", "thought": "Rain is likely."},
        {"type": "response.reasoning.search_queries", "queries": ["Oslo rain"], "thought": None},
        {"type": "response.reasoning.search_results", "results": [], "thought": "Check."},
        {"type": "response.reasoning.stopped", "thought": None},
        responses_event("output_item.added", None, item={**answer, "content": []}),
        responses_event("output_text.delta", None, delta=ANSWER[:7]),
        responses_event("output_text.delta", None, delta=ANSWER[7:]),
        responses_event("output_text.done", None, text=ANSWER),
        responses_event("output_item.done", None, item=answer),
    ]
    return _responses(
        "perplexity",
        "thoughts in events of their own",
        ("thought",),
        events,
        (answer,),
        [thought("Rain is likely.", "Check.", field="thought"), said()],
        whole=None,
    )


def _codex() -> Shape:
    item = summarized("rs_1", encrypted_content="FINAL")
    call = {
        "id": "fc_1",
        "type": "function_call",
        "call_id": CALL_ID,
        "name": "forecast",
        "arguments": ARGUMENTS,
    }
    return _responses(
        "chatgpt-codex",
        "`completed` with an empty output",
        ("encrypted_content",),
        [
            *summary_events(0, item),
            responses_event("output_item.added", 1, item={**call, "arguments": "", "status": "in_progress"}),
            responses_event("function_call_arguments.delta", 1, item_id="fc_1", delta=ARGUMENTS[:5]),
            responses_event("function_call_arguments.delta", 1, item_id="fc_1", delta=ARGUMENTS[5:]),
            responses_event("function_call_arguments.done", 1, item_id="fc_1", arguments=ARGUMENTS),
            responses_event("output_item.done", 1, item={**call, "status": "completed"}),
        ],
        (item, call),
        [thought(opaque=_encrypted("FINAL"), item_id="rs_1"), called(ext={"id": "fc_1"})],
        completed=(),
    )


def _copilot_responses() -> Shape:
    """Every event of an item has another id, and so has the item in the last one."""
    item, answer = summarized("id_9", THOUGHT, encrypted_content="FINAL"), message_item("id_19")
    events = [*summary_events(0, item), *message_events(1, answer)]
    rotated = []
    for number, event in enumerate(events):
        changed = dict(event)
        if "item_id" in changed:
            changed["item_id"] = f"id_r{number}"
        if event["type"].endswith("added") and "item" in changed:
            changed["item"] = {**changed["item"], "id": f"id_r{number}"}
        rotated.append(changed)
    last = ({**item, "id": "id_99", "encrypted_content": "THIRD"}, {**answer, "id": "id_98"})
    return _responses(
        "github-copilot",
        "ids that change in mid-stream",
        ("summary", "encrypted_content"),
        rotated,
        (item, answer),
        [thought(THOUGHT, channel="summary", opaque=_encrypted("FINAL"), item_id="id_9"), said(id="id_19")],
        completed=last,
    )


def _xai_twins() -> Shape:
    first, second = summarized("rs_1", encrypted_content="ONE"), summarized("rs_1", encrypted_content="TWO")
    search = {
        "id": "ctc_1",
        "type": "custom_tool_call",
        "call_id": "xs_1",
        "name": "x_keyword_search",
        "input": '{"query":"rain"}',
        "status": "completed",
    }
    answer = message_item()
    events = [
        *summary_events(0, first, early=None),
        responses_event("output_item.added", 1, item={**search, "input": "", "status": "in_progress"}),
        responses_event("custom_tool_call_input.delta", 1, item_id="ctc_1", delta=search["input"]),
        responses_event("custom_tool_call_input.done", 1, item_id="ctc_1", input=search["input"]),
        responses_event("output_item.done", 1, item=search),
        *summary_events(2, second, early=None),
        *message_events(3, answer),
    ]
    kind = "xai.encrypted_content"
    free = '{"input":"{\\"query\\":\\"rain\\"}"}'
    return _responses(
        "xai",
        "two items of one id, and a step of its own search",
        ("encrypted_content",),
        events,
        (first, search, second, answer),
        [
            thought(opaque=_encrypted("ONE", kind), item_id="rs_1"),
            called(id="xs_1", name="x_keyword_search", arguments=free, server=True),
            ToolResultPart("xs_1", "", native=search),
            thought(opaque=_encrypted("TWO", kind), item_id="rs_1"),
            said(id="msg_1"),
        ],
    )


def _late_value(provider: str) -> Shape:
    item, answer = summarized("rs_1", THOUGHT, encrypted_content="FINAL"), message_item()
    without = {**item, "encrypted_content": None}
    return _responses(
        provider,
        "encrypted content only in `completed`",
        ("summary", "encrypted_content"),
        [*summary_events(0, without, early=None), *message_events(1, answer)],
        (item, answer),
        [thought(THOUGHT, channel="summary", opaque=_encrypted("FINAL"), item_id="rs_1"), said(id="msg_1")],
    )


def _openrouter_claude() -> Shape:
    item = raw_item("rs_1", signature="SIG", format="anthropic-claude-v1")
    answer = message_item()
    return _responses(
        "openrouter",
        "a signature and a format on the item",
        ("content", "signature"),
        [*raw_events(0, item), *message_events(1, answer)],
        (item, answer),
        [
            thought(
                THOUGHT,
                channel="raw",
                opaque=(Opaque("openrouter.signature", "SIG"),),
                item_id="rs_1",
                format="anthropic-claude-v1",
            ),
            said(id="msg_1"),
        ],
    )


def _openrouter_behind() -> Shape:
    """Gemini's item comes behind its message, and is announced before that ends."""
    item = summarized("rs_1", encrypted_content="SIG", format="google-gemini-v1")
    answer = message_item()
    *streamed, ended = message_events(0, answer)
    announced, done = summary_events(1, item, early=None)
    return _responses(
        "openrouter",
        "an item behind its message",
        ("encrypted_content",),
        [*streamed, announced, ended, done],
        (answer, item),
        [said(id="msg_1"), thought(opaque=_encrypted("SIG"), item_id="rs_1", format="google-gemini-v1")],
    )


def _perplexity_signature() -> Shape:
    call = {
        "id": "fc_1",
        "type": "function_call",
        "call_id": CALL_ID,
        "name": "forecast",
        "arguments": ARGUMENTS,
        "status": "completed",
        "thought_signature": "SIG",
    }
    return _responses(
        "perplexity",
        "a signature on a call, whole in its announcement",
        ("thought_signature",),
        [
            responses_event("output_item.added", None, item=call),
            responses_event("output_item.done", None, item=call),
        ],
        (call,),
        [
            called(
                opaque=(Opaque("perplexity.thought_signature", "SIG", attach=f"tool_call:{CALL_ID}"),),
                ext={"id": "fc_1"},
            )
        ],
    )


def part_events(item: JSON, *, name: str = "reasoning", numbers: tuple[int, ...] = (0, 0, 0)) -> list[JSON]:
    """How Open Responses streams raw reasoning: parts begin and end.

    Args:
        item: The item, with one part.
        name: The name of the events with its text; empty: only the part's own events have it.
        numbers: The part's number in each fragment.
    """
    (part,) = item["content"]
    where, text = {"item_id": item["id"], "content_index": 0}, part["text"]
    pieces = zip(numbers, (text[:6], text[6:12], text[12:]), strict=True)
    texts = [
        *(
            responses_event(f"{name}.delta", **{**where, "content_index": number}, delta=piece)
            for number, piece in pieces
        ),
        responses_event(f"{name}.done", **where, text=text),
    ]
    return [
        responses_event("output_item.added", item={**item, "content": []}),
        responses_event("content_part.added", **where, part={**part, "text": ""}),
        *(texts if name else []),
        responses_event("content_part.done", **where, part=part),
        responses_event("output_item.done", item=item),
    ]


def _open(
    provider: str, what: str, item: JSON, events: list[JSON], part: ReasoningPart, **more: Any
) -> Shape:
    answer = message_item()
    field = part.segments[0].channel
    return _responses(
        provider,
        what,
        ({"raw": "content"}.get(field, field),),
        [*events, *message_events(1, answer)],
        (item, answer),
        [part, said(id="msg_1")],
        **more,
    )


def _open_responses() -> list[Shape]:
    """What its schema permits, and what implementers of it send."""
    item, raw = raw_item("rs_1"), thought(THOUGHT, channel="raw", item_id="rs_1")
    spoken = {**item, "content": [{"type": "output_text", "text": THOUGHT}]}
    typed = structs.replace(raw, ext={"content_types": [{"type": "output_text"}]})
    announced, begun, *texts, ended, done = part_events(item)
    bare = {**summarized("rs_1"), "content": None}
    short = summarized("rs_1", THOUGHT)
    summaries = [
        responses_event("output_item.added", item={**short, "summary": []}),
        responses_event("reasoning_summary.delta", item_id="rs_1", summary_index=0, delta=THOUGHT[:6]),
        responses_event("reasoning_summary.delta", item_id="rs_1", summary_index=0, delta=THOUGHT[6:]),
        responses_event("reasoning_summary.done", item_id="rs_1", summary_index=0, text=THOUGHT),
        responses_event("output_item.done", item=short),
    ]
    name = "open-responses"
    without = [announced, begun, *texts, ended, {**done, "item": bare}]
    return [
        _open(name, "raw text in `reasoning`", item, part_events(item), raw),
        _open(name, "text only in the end of a part", item, part_events(item, name=""), raw),
        _open(name, "text in no final form", bare, without, raw, whole=None),
        _open(name, "a part of another type", spoken, part_events(spoken), typed),
        _open(
            name,
            "that part with the events of a message",
            spoken,
            part_events(spoken, name="output_text"),
            typed,
        ),
        _open(name, "summaries", short, summaries, thought(THOUGHT, channel="summary", item_id="rs_1")),
        _open("huggingface", "parts with events", item, part_events(item, name="reasoning_text"), raw),
        _open(
            "vllm",
            "every fragment has a number",
            item,
            part_events(item, name="reasoning_text", numbers=(0, 1, 2)),
            raw,
        ),
    ]


def _llamacpp() -> Shape:
    """No event has a place; the encrypted content is empty."""
    item = raw_item("rs_1", encrypted_content="")
    events = [
        {name: value for name, value in event.items() if name not in ("output_index", "content_index")}
        for event in raw_events(0, item)
    ]
    part = thought(THOUGHT, channel="raw", item_id="rs_1")
    return _open("llamacpp", "events without a place", item, events, part)


def _ollama_responses() -> Shape:
    """The encrypted content is the summary."""
    item = summarized("rs_1", THOUGHT, encrypted_content=THOUGHT)
    part = thought(THOUGHT, channel="summary", item_id="rs_1")
    return _open("ollama", "a summary twice", item, summary_events(0, item, early=None), part)


RESPONSES = [
    *map(_summaries, ("openai", "azure", "opencode-zen", "litellm", "meta")),
    _summaries("xai", "xai.encrypted_content"),
    _codex(),
    _copilot_responses(),
    _raw("bedrock-mantle", "msg_7", number=1, encrypted_content="FINAL"),
    _raw("deepseek", "3e32f0", encrypted_content="FINAL"),
    _raw("lmstudio", "rs_1"),
    _raw("vllm", "rs_1"),
    _raw("vercel-gateway", "rs_1"),
    _raw("bedrock", "rs_1", encrypted_content="FINAL"),
    *_open_responses(),
    _llamacpp(),
    _ollama_responses(),
    _xai_twins(),
    _late_value("litellm"),
    _openrouter_claude(),
    _openrouter_behind(),
    _perplexity_signature(),
    _perplexity_thoughts(),
]
"""The shapes of Responses. Payloads name their type, so no ``event:`` line is needed."""
