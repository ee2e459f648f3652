"""Hypothesis strategies for the values, deltas and events of this package (extra ``testing``).

Texts include lone surrogates, combining marks and line separators. Keys and IDs come from small sets, so that
they collide.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from itertools import count
from typing import Any, Final, TypeAlias

from ag_ui.core import Event, RunAgentInput
from msgspec.structs import replace

from agui_reasoning._strict_json import dump
from agui_reasoning.consumer import Conversation
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
    unfold,
)
from agui_reasoning.errors import ConfigurationError, MissingExtraError
from agui_reasoning.parts import (
    Ext,
    NativePart,
    Opaque,
    Origin,
    Part,
    ReasoningPart,
    Segment,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Turn,
)
from agui_reasoning.providers import provider_api
from agui_reasoning.run import Run

try:
    from hypothesis import strategies as st
except ImportError:
    raise MissingExtraError("agui_reasoning.testing.strategies", "testing") from None

__all__ = [
    "API_IDS",
    "any_deltas",
    "deltas",
    "event_streams",
    "json_values",
    "opaques",
    "run_inputs",
    "runs",
    "stream",
    "texts",
    "turns",
]

Strategy: TypeAlias = st.SearchStrategy
Draw: TypeAlias = st.DrawFn
Group: TypeAlias = Strategy[list[Part]]
"""Parts that belong together, such as a search and its result."""

CLEAN = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
"""Text as decoders return it: not empty, without lone surrogates."""

TOKENS = st.binary(min_size=4, max_size=12).map(lambda blob: b64encode(blob).decode("ascii"))
"""Base64 text for opaque values."""

_PIECES = ["", " ", "\n\n", "Hm", "yes. ", "\ud83d", "\ude00", "😀", "e\u0301", "\u2028", "<think>", "a" * 50]
_NASTY = st.lists(st.sampled_from(_PIECES), max_size=4).map("".join)
_KEYS = st.sampled_from([None, "a", "b"])
_CALL_IDS = st.sampled_from(["", "c1", "c2", "c3"])
_EXTS = st.sampled_from([None, {"explicit_empty": True}, {"id": "msg_1", "phase": "commentary"}])
_ERRORS = st.sampled_from([None, None, "", "It failed.", "\ud83d"])
_CHANNELS = st.sampled_from(["text", "summary", "raw"])


def texts(*, clean: bool = False) -> Strategy[str]:
    """Generate model text; if ``clean``, as a decoder returns it: not empty, and without lone surrogates."""
    return CLEAN if clean else _NASTY


def opaques() -> Strategy[Opaque]:
    """Generate opaque values, including some attached to missing calls."""
    return st.builds(
        Opaque,
        st.sampled_from(["anthropic.signature", "openai.encrypted_content", "anthropic.redacted_thinking"]),
        st.sampled_from(["SIG", "gAAAA==", "\ud83d", ""]),
        st.sampled_from(["utf8", "base64"]),
        st.sampled_from(["self", "text", "tool_call:c1", "tool_call:c2", "tool_call:nowhere"]),
    )


def any_deltas() -> Strategy[Delta]:
    """Generate any delta, valid or not."""
    origins = [None, *map(_origin, API_IDS), Origin("google", "openai-chat", "gemini")]
    return st.one_of(
        st.builds(
            ReasoningDelta,
            _NASTY,
            key=_KEYS,
            channel=_CHANNELS,
            index=st.integers(0, 2),
            item_id=st.sampled_from([None, None, "rs_1", "rs_2"]),
            ext=_EXTS,
        ),
        st.builds(OpaqueDelta, opaques(), key=_KEYS, append=st.booleans()),
        st.builds(TextDelta, _NASTY, key=_KEYS, ext=_EXTS),
        st.builds(
            ToolCallDelta, _CALL_IDS, st.sampled_from(["", "get"]), _NASTY, server=st.booleans(), ext=_EXTS
        ),
        st.builds(ToolResultDelta, _CALL_IDS, _NASTY, error=_ERRORS, native=st.none() | json_values()),
        st.builds(
            CloseDelta,
            key=st.sampled_from([None, "a", "b", "c1", "c2"]),
            status=st.sampled_from(["complete", "incomplete"]),
        ),
        st.builds(NativeDelta, st.just("openai.compaction"), json_values()),
        st.builds(UsageDelta, input_tokens=st.none() | st.integers(0, 9), model=st.sampled_from([None, "m"])),
        st.builds(FinishDelta, st.sampled_from([None, "stop"])),
        st.builds(ResponseStart, st.sampled_from(origins), id=st.sampled_from([None, "resp_1"])),
    )


def deltas(api: str | None = None, *, provider: str | None = None) -> Strategy[list[Delta]]:
    """Generate the deltas of a stream.

    Args:
        api: Generate one response as from the decoder of this API. By default, any deltas in any order; the
            events emitted for them must be valid too.
        provider: The provider ID; default is one that supports the API.

    Raises:
        ConfigurationError: The API ID is unknown (``unknown_api``).
    """
    if api is None:
        return st.lists(any_deltas(), max_size=25)
    return turns(api, provider=provider).map(stream)


def stream(turn: Turn) -> list[Delta]:
    """Return the deltas of one response, from its start to its end."""
    deltas = [delta for delta in unfold(list(turn.parts)) if not isinstance(delta, ResponseStart)]
    return [ResponseStart(turn.origin, id=turn.id), *deltas, FinishDelta("stop")]


# -- groups of parts


def json_values() -> Strategy[Any]:
    """Generate small JSON values."""
    return st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab\u2028", max_size=3),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xy"), inner, max_size=2),
        max_leaves=4,
    )


def ids(prefix: str) -> Strategy[str]:
    """Generate IDs with a prefix."""
    return st.integers(0, 10**9).map(lambda number: f"{prefix}_{number:09d}")


def alone(part: Part) -> list[Part]:
    """Return a group of one part."""
    return [part]


def text(origin: Origin) -> Group:
    """Generate a text part."""
    return CLEAN.map(lambda drawn: [TextPart(drawn, origin=origin)])


@st.composite
def call(draw: Draw, origin: Origin, prefix: str, *, signed: bool = False) -> list[Part]:
    """Generate a tool call; with ``signed``, it has a thought signature of an OpenAI-compatible endpoint."""
    arguments = dump(draw(st.dictionaries(st.sampled_from("xy"), json_values(), max_size=2)))
    made = ToolCallPart(draw(ids(prefix)), "get", arguments, origin=origin)
    if not signed:
        return [made]
    value = Opaque("gemini.openai_compat_signature", draw(TOKENS), "utf8", f"tool_call:{made.id}")
    return [replace(made, opaque=(value,), ext={"extra_content": "google"})]


def thought(origin: Origin, *, field: str | None = None) -> Group:
    """Generate reasoning that is only text; ``field`` is noted where an API has several for it."""
    ext: Ext | None = {"field": field} if field else None
    return CLEAN.map(lambda drawn: [ReasoningPart((Segment("text", 0, drawn),), origin=origin, ext=ext)])


def signed(origin: Origin, kind: str = "anthropic.signature") -> Group:
    """Generate reasoning with a signature, and possibly without text."""

    def build(drawn: str, token: str) -> list[Part]:
        segments = (Segment("text", 0, drawn),) if drawn else ()
        return [ReasoningPart(segments, (Opaque(kind, token),), origin=origin)]

    return st.builds(build, st.just("") | CLEAN, TOKENS)


def redacted(origin: Origin) -> Group:
    """Generate redacted thinking."""
    return TOKENS.map(
        lambda token: [ReasoningPart((), (Opaque("anthropic.redacted_thinking", token),), origin=origin)]
    )


# -- the responses of each API


def turn(draw: Draw, origin: Origin, groups: Strategy[list[list[Part]]]) -> Turn:
    """Generate a response of groups of parts with distinct IDs."""
    parts: list[Part] = []
    named: set[str] = set()
    for group in draw(groups):
        # The IDs in a response are distinct.
        own = {name for part in group for name in part_ids(part)}
        if not own & named:
            named |= own
            parts += group
    return Turn(tuple(parts), origin, draw(ids("resp")))


def part_ids(part: Part) -> list[str]:
    """Return the provider's IDs of a part."""
    ext = getattr(part, "ext", None) or {}
    found = [getattr(part, "item_id", None), getattr(part, "id", None), ext.get("id")]
    return [name for name in found if isinstance(name, str)]


@st.composite
def _any_order(draw: Draw, origin: Origin, *groups: Group) -> Turn:
    """Generate the responses of an API with content blocks: up to five groups, in any order."""
    return turn(draw, origin, st.lists(st.one_of(groups), min_size=1, max_size=5))


@st.composite
def _flat(draw: Draw, origin: Origin, *reasoning: Group, blocks: int = 1) -> Turn:
    """Generate the responses of a flat API, in the order of its decoder: reasoning, a text, calls.

    There are up to ``blocks`` groups of reasoning, which is of one kind.
    """
    pieces = [
        *draw(st.lists(st.one_of(reasoning), min_size=1, max_size=blocks)),
        *draw(st.lists(text(origin), max_size=1)),
        *draw(st.lists(call(origin, "call"), max_size=3)),
    ]
    return turn(draw, origin, st.just(pieces))


def _anthropic(origin: Origin) -> Strategy[Turn]:
    """Generate thinking, redacted thinking, text, calls, and searches of the provider with their results."""

    def search(name: str) -> list[Part]:
        made = ToolCallPart(f"srvtoolu_{name}", "web_search", '{"query":"x"}', True, origin=origin)
        block = {"type": "web_search_tool_result", "tool_use_id": made.id, "content": []}
        return [made, ToolResultPart(made.id, "", native=block, origin=origin)]

    searches = st.text("abcdef", min_size=6, max_size=6).map(search)
    groups = (signed(origin), redacted(origin), text(origin), call(origin, "toolu"), searches)
    return _any_order(origin, *groups)


def _bedrock(origin: Origin) -> Strategy[Turn]:
    """Generate signed and redacted thinking, text and calls."""

    def build(blob: bytes) -> list[Part]:
        value = Opaque("bedrock.redacted_content", b64encode(blob).decode("ascii"), "base64")
        return [ReasoningPart((), (value,), origin=origin)]

    hidden = st.binary(min_size=3, max_size=12).map(build)
    return _any_order(origin, signed(origin), hidden, text(origin), call(origin, "tooluse"))


@st.composite
def _cohere(draw: Draw, origin: Origin) -> Turn:
    """Generate thinking and an answer, or thinking or a plan and calls."""
    calls = draw(st.lists(call(origin, "call"), max_size=3))
    reasoning = thought(origin, field="tool_plan") | thought(origin) if calls else thought(origin)
    texts = [] if calls else [draw(text(origin))]
    return turn(draw, origin, st.just([draw(reasoning), *texts, *calls]))


def _chat(origin: Origin) -> Strategy[Turn]:
    """Generate reasoning, a text and calls; Google signs the first call instead."""
    if origin.provider == "google":
        return _flat(origin, call(origin, "call", signed=True))
    return _flat(origin, thought(origin, field="reasoning_content"))


def _litellm(origin: Origin) -> Strategy[Turn]:
    """Generate blocks or a string of reasoning, a text and calls."""
    blocks = _flat(origin, signed(origin), redacted(origin), blocks=3)
    return blocks | _flat(origin, thought(origin, field="reasoning_content"))


def _mistral(origin: Origin) -> Strategy[Turn]:
    """Generate thinking, signed or unsigned, a text and calls."""
    with_text = signed(origin, "mistral.signature").filter(lambda group: bool(_text_of(group[0])))
    return _flat(origin, thought(origin), with_text)


def _text_of(part: Part) -> str:
    return part.text if isinstance(part, ReasoningPart) else ""


@st.composite
def _gemini(draw: Draw, origin: Origin) -> Turn:
    """Generate thoughts, text with and without signatures, calls, code and images."""

    def opaque(token: str, attach: str) -> tuple[Opaque, ...]:
        return (Opaque("gemini.thought_signature", token, "base64", attach),)

    def signed_text(drawn: str, token: str) -> list[Part]:
        ext = None if drawn else {"explicit_empty": True}
        return [TextPart(drawn, opaque(token, "text"), origin=origin, ext=ext)]

    def sign(calls: list[ToolCallPart], token: str) -> list[Part]:
        return [replace(calls[0], opaque=opaque(token, f"tool_call:{calls[0].id}")), *calls[1:]]

    def code(token: str) -> list[Part]:
        """Return code that the provider runs, and its result."""
        name, written = f"code_{token[:-2]}", '{"language":"PYTHON","code":"1"}'
        signature = opaque(token, f"tool_call:{name}")
        ext = {"type": "executableCode"}
        made = ToolCallPart(name, "code_execution", written, True, signature, origin=origin, ext=ext)
        part = {"codeExecutionResult": {"id": name, "outcome": "OUTCOME_OK", "output": "1"}}
        return [made, ToolResultPart(name, "1", native=part, origin=origin)]

    def image(token: str) -> list[Part]:
        part = {"inlineData": {"mimeType": "image/png", "data": "eA=="}, "thoughtSignature": token}
        return [NativePart("gemini.inlineData", part, origin)]

    # Of parallel calls, only the first is signed.
    single: Strategy[Any] = call(origin, "fc").map(lambda group: group[0])
    calls = st.lists(single, min_size=1, max_size=3, unique_by=lambda one: one.id)
    groups = (
        *(thought(origin), text(origin), st.builds(signed_text, st.just("") | CLEAN, TOKENS)),
        *(st.builds(sign, calls, TOKENS), TOKENS.map(code), TOKENS.map(image)),
    )
    made = draw(_any_order(origin, *groups))
    return replace(made, parts=_joined(made.parts))


def _joined(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Let texts without a signature take in what continues them, as the decoder does."""
    joined: list[Part] = []
    for part in parts:
        before = joined[-1] if joined else None
        if isinstance(part, TextPart) and isinstance(before, TextPart) and not before.opaque:
            joined[-1] = replace(before, text=before.text + part.text, opaque=part.opaque)
        else:
            joined.append(part)
    return tuple(joined)


def _interactions(origin: Origin) -> Strategy[Turn]:
    """Generate signed thoughts with any number of summary entries, text, calls, searches and images."""

    def reasoning(texts: list[str], token: str) -> list[Part]:
        segments = tuple(Segment("summary", index, drawn) for index, drawn in enumerate(texts))
        value = Opaque("gemini.interaction_signature", token, "base64")
        return [ReasoningPart(segments, (value,), origin=origin)]

    def search(token: str) -> list[Part]:
        name, written, ext = f"search_{token[:-2]}", '{"queries":["x"]}', {"type": "google_search_call"}
        opaque = (Opaque("gemini.interaction_signature", token, "base64", f"tool_call:{name}"),)
        made = ToolCallPart(name, "google_search", written, True, opaque, origin=origin, ext=ext)
        step = {"type": "google_search_result", "call_id": name, "result": [], "signature": token}
        return [made, ToolResultPart(name, "[]", native=step, origin=origin)]

    thoughts = st.builds(reasoning, st.lists(CLEAN, max_size=2), TOKENS)
    content = {"type": "image", "mime_type": "image/png", "data": "eA=="}
    images = st.just(NativePart("gemini.image", content, origin)).map(alone)
    return _any_order(origin, thoughts, text(origin), call(origin, "fc"), TOKENS.map(search), images)


def _responses(origin: Origin) -> Strategy[Turn]:
    """Generate reasoning items with any number of summary parts, messages, calls and compactions."""

    def reasoning(texts: list[str], token: str, name: str) -> list[Part]:
        segments = tuple(Segment("summary", index, drawn) for index, drawn in enumerate(texts))
        value = Opaque("openai.encrypted_content", token)
        return [ReasoningPart(segments, (value,), name, origin=origin)]

    def message(drawn: str, name: str, phase: Ext) -> list[Part]:
        return [TextPart(drawn, origin=origin, ext={"id": name, **phase})]

    def function_call(group: list[Part], name: str) -> list[Part]:
        return [replace(group[0], ext={"id": name})]

    def compaction(name: str, token: str) -> list[Part]:
        payload = {"type": "compaction", "id": name, "encrypted_content": token}
        return [NativePart("openai.compaction", payload, origin)]

    phases = st.sampled_from([{}, {"phase": "commentary"}, {"phase": "final_answer"}])
    return _any_order(
        origin,
        st.builds(reasoning, st.lists(CLEAN, max_size=3), TOKENS, ids("rs")),
        st.builds(message, CLEAN, ids("msg"), phases),
        st.builds(function_call, call(origin, "call"), ids("fc")),
        st.builds(compaction, ids("cmp"), TOKENS),
    )


def _xai(origin: Origin) -> Strategy[Turn]:
    """Generate reasoning with text, ciphertext or both, text, calls, and searches of the provider."""

    def search(call_id: str, token: str) -> list[Part]:
        name, arguments, kind = "web_search", '{"query":"x"}', "TOOL_CALL_TYPE_WEB_SEARCH_TOOL"
        function = {"name": name, "arguments": arguments}
        told = {"id": call_id, "type": kind, "status": "TOOL_CALL_STATUS_COMPLETED", "function": function}
        message = {"role": "ROLE_TOOL", "tool_calls": [told], "encrypted_content": token}
        made = ToolCallPart(call_id, name, arguments, True, origin=origin, ext={"type": kind})
        return [made, ToolResultPart(call_id, "", native=message, origin=origin)]

    reasoning = thought(origin) | signed(origin, "xai.encrypted_content")
    searches = st.builds(search, ids("call_search"), TOKENS)
    return _any_order(origin, reasoning, text(origin), call(origin, "call"), searches)


TURNS: Final[dict[str, Callable[[Origin], Strategy[Turn]]]] = {
    "anthropic-messages": _anthropic,
    "bedrock-converse": _bedrock,
    "cohere-chat": _cohere,
    "gemini": _gemini,
    "gemini-interactions": _interactions,
    "litellm": _litellm,
    "mistral-chat": _mistral,
    "ollama": lambda origin: _flat(origin, thought(origin)),
    "openai-chat": _chat,
    "openai-responses": _responses,
    "xai-grpc": _xai,
}
"""The strategy of each API's responses, called with their origin."""


# -- turns


def turns(api: str | None = None, *, provider: str | None = None, model: str | None = None) -> Strategy[Turn]:
    """Generate a model response as from a decoder.

    Calls have unique IDs within a turn. Results of server tools follow their calls.

    Args:
        api: One of `API_IDS`; by default, any of them.
        provider: The provider ID; default is one that supports the API.
        model: The model; default is one of that provider.

    Raises:
        ConfigurationError: The API ID is unknown (``unknown_api``).
    """
    if api is None:
        return st.one_of([turns(name, provider=provider, model=model) for name in API_IDS])
    if api not in API_IDS:
        raise ConfigurationError(
            f"The API {api!r} has no strategy.", code="unknown_api", hint=f"Use one of: {', '.join(API_IDS)}."
        )
    example = _origin(api)
    origin = replace(example, provider=provider or example.provider, model=model or example.model)
    return TURNS[api](origin)


def _origin(api: str) -> Origin:
    provider, model = provider_api(api).example
    return Origin(provider, api, model)


API_IDS: tuple[str, ...] = tuple(sorted(TURNS))
"""The APIs that `turns` and `deltas` support."""


# -- runs


@st.composite
def runs(
    draw: Draw, api: str | None = None, *, provider: str | None = None
) -> tuple[RunAgentInput, list[Event]]:
    """Generate the input of a run and its events, which are valid.

    The input contains a conversation of up to two earlier runs, as a client would send it.

    Args:
        draw: Passed by Hypothesis.
        api: The API of the responses; by default, any.
        provider: The provider ID; default is one that supports the API.
    """
    numbers = count(1)

    def new_id() -> str:
        return f"id-{next(numbers)}"

    conversation = Conversation("thread-1", on_warning=_ignore, new_id=new_id)
    turn = _fresh(turns(api, provider=provider))
    for _ in range(draw(st.integers(0, 2))):
        _play(draw, conversation, new_id, turn)
    return _play(draw, conversation, new_id, turn)


def _fresh(responses: Strategy[Turn]) -> Strategy[Turn]:
    """Exclude responses with IDs of earlier ones, because providers use unique IDs."""
    used: set[str] = set()

    def is_fresh(turn: Turn) -> bool:
        names = {name for part in turn.parts for name in part_ids(part)}
        fresh = not names & used
        used.update(names)
        return fresh

    return responses.filter(is_fresh)


def run_inputs(api: str | None = None, *, provider: str | None = None) -> Strategy[RunAgentInput]:
    """Generate run inputs: a conversation of some runs, with reasoning and values."""
    return runs(api, provider=provider).map(lambda run: run[0])


def event_streams(api: str | None = None, *, provider: str | None = None) -> Strategy[list[Event]]:
    """Generate the events of one run, from RUN_STARTED to its end: finished, cancelled or failed."""
    return runs(api, provider=provider).map(lambda run: run[1])


def _play(
    draw: Draw, conversation: Conversation, new_id: Callable[[], str], turn: Strategy[Turn]
) -> tuple[RunAgentInput, list[Event]]:
    """Continue a conversation with one run; the client answers its pending calls."""
    run_input = conversation.run_input(draw(CLEAN))
    run = Run(run_input, new_id=new_id, on_warning=_ignore)
    events = run.start()
    while True:
        for delta in stream(draw(turn)):
            events += run.receive(delta)
        # The agent answers the calls and continues, or leaves them to the client.
        if not run.pending_calls or draw(st.booleans()):
            break
        for call in run.pending_calls:
            events += run.receive(ToolResultPart(call.id, "Done.", draw(_ERRORS)))
    endings: list[Callable[[], list[Event]]] = [run.finish, run.cancel, lambda: run.fail("It failed.")]
    events += draw(st.sampled_from(endings))()
    for event in events:
        conversation.receive(event)
    conversation.end_of_stream()
    for waiting in conversation.pending_calls:
        conversation.add_tool_result(waiting.id, "Done.", error=draw(st.sampled_from([None, "It failed."])))
    return run_input, events


def _ignore(warning: str) -> None:
    """Ignore warnings about generated values."""
