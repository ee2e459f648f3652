"""Hypothesis strategies for everything that goes through this package (extra ``testing``).

Text is nasty on purpose (halves of emoji, combining marks, line separators), and keys and ids are few, so
that they collide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any, TypeAlias

from ag_ui.core import Event, RunAgentInput

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
from agui_reasoning.run import Run
from agui_reasoning.strict_json import dump

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

_PIECES = ["", " ", "\n\n", "Hm", "yes. ", "\ud83d", "\ude00", "😀", "e\u0301", "\u2028", "<think>", "a" * 50]
_NASTY = st.lists(st.sampled_from(_PIECES), max_size=4).map("".join)
_CLEAN = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
_KEYS = st.sampled_from([None, "a", "b"])
_CALL_IDS = st.sampled_from(["", "c1", "c2", "c3"])
_EXTS = st.sampled_from([None, {"explicit_empty": True}, {"id": "msg_1", "phase": "commentary"}])
_CHANNELS = st.sampled_from(["text", "summary", "raw"])
_TOKENS = st.text("ABCDEFghijkl0123456789+/", min_size=4, max_size=16).map(lambda text: f"{text}==")


# -- single values


def texts(*, clean: bool = False) -> Strategy[str]:
    """Text of a model.

    Args:
        clean: What a decoder settles on: not empty, and no halves of characters.
    """
    return _CLEAN if clean else _NASTY


def json_values() -> Strategy[Any]:
    """Small JSON values."""
    return st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab\u2028", max_size=3),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xy"), inner, max_size=2),
        max_leaves=4,
    )


def opaques() -> Strategy[Opaque]:
    """Opaque values, attached to anything, even to nothing."""
    return st.builds(
        Opaque,
        st.sampled_from(["anthropic.signature", "openai.encrypted_content", "anthropic.redacted_thinking"]),
        st.sampled_from(["SIG", "gAAAA==", "\ud83d", ""]),
        st.sampled_from(["utf8", "base64"]),
        st.sampled_from(["self", "text", "tool_call:c1", "tool_call:c2", "tool_call:nowhere"]),
    )


# -- deltas


def any_deltas() -> Strategy[Delta]:
    """Any delta at all, whoever might send it."""
    origins = [None, *_ORIGINS.values(), Origin("google", "openai-chat", "gemini")]
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
        st.builds(ToolResultDelta, _CALL_IDS, _NASTY, native=st.none() | json_values()),
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
    """The deltas of a stream.

    Args:
        api: Whose: one response as a decoder of this API could give it. Without it, any deltas in any order:
            whatever they are, the events made of them must be valid.
        provider: Who speaks it; default is one that does.

    Raises:
        ConfigurationError: The API id is unknown (``unknown_api``).
    """
    if api is None:
        return st.lists(any_deltas(), max_size=25)
    return turns(api, provider=provider).map(stream)


def stream(turn: Turn) -> list[Delta]:
    """The deltas of one response, from its start to its end."""
    rest = [delta for delta in unfold(list(turn.parts)) if not isinstance(delta, ResponseStart)]
    return [ResponseStart(turn.origin, id=turn.id), *rest, FinishDelta("stop")]


# -- turns


def turns(api: str | None = None, *, provider: str | None = None) -> Strategy[Turn]:
    """One response of a model, in parts, as a decoder could give it.

    Calls have ids of their own in each turn; results of the provider's own tools stand behind their calls.

    Args:
        api: Whose, one of `API_IDS`; without it, any of them.
        provider: Who speaks it; default is one that does.

    Raises:
        ConfigurationError: The API id is unknown (``unknown_api``).
    """
    if api is None:
        return st.one_of([turns(name, provider=provider) for name in API_IDS])
    if api not in _TURNS:
        raise ConfigurationError(
            f"There is no strategy for the API {api!r}.",
            code="unknown_api",
            hint=f"Use one of: {', '.join(API_IDS)}.",
        )
    origin = _ORIGINS[api] if provider is None else replace(_ORIGINS[api], provider=provider)
    return _TURNS[api](origin)


@st.composite
def _anthropic(draw: Draw, origin: Origin) -> Turn:
    choices = [_signed(origin), _redacted(origin), _text(origin), _call(origin, "toolu"), _search(origin)]
    return _turn(draw, origin, st.lists(st.one_of(choices), min_size=1, max_size=5))


def _signed(origin: Origin) -> Strategy[list[Part]]:
    """A thinking block; its text may be withheld."""
    segments = (st.just("") | _CLEAN).map(lambda text: (Segment("text", 0, text),) if text else ())
    signature = _TOKENS.map(lambda token: (Opaque("anthropic.signature", token),))
    return st.builds(ReasoningPart, segments, signature, origin=st.just(origin)).map(_alone)


def _redacted(origin: Origin) -> Strategy[list[Part]]:
    return _TOKENS.map(
        lambda token: [ReasoningPart((), (Opaque("anthropic.redacted_thinking", token),), origin=origin)]
    )


def _search(origin: Origin) -> Strategy[list[Part]]:
    """A search that the provider runs itself, and what it found."""

    def build(token: str) -> list[Part]:
        call = ToolCallPart(f"srvtoolu_{token[:-2]}", "web_search", '{"query":"x"}', True, origin=origin)
        block = {"type": "web_search_tool_result", "tool_use_id": call.id, "content": []}
        return [call, ToolResultPart(call.id, "", block, origin)]

    return st.text("abcdef", min_size=6, max_size=6).map(lambda text: build(f"{text}=="))


@st.composite
def _responses(draw: Draw, origin: Origin) -> Turn:
    """Reasoning is always followed by what it led to, but at the end of a response that was cut."""
    choices = [_item(origin), _message(origin), _function_call(origin), _compaction(origin)]
    return _turn(draw, origin, st.lists(st.one_of(choices), min_size=1, max_size=5))


@st.composite
def _item(draw: Draw, origin: Origin) -> list[Part]:
    """A reasoning item, with none, one or several parts of a summary."""
    summary = draw(st.lists(_CLEAN, max_size=3))
    segments = tuple(Segment("summary", index, text) for index, text in enumerate(summary))
    content = Opaque("openai.encrypted_content", draw(_TOKENS))
    return [ReasoningPart(segments, (content,), draw(_ids("rs")), origin=origin)]


def _message(origin: Origin) -> Strategy[list[Part]]:
    phases = st.sampled_from([{}, {"phase": "commentary"}, {"phase": "final_answer"}])
    ext = st.builds(lambda name, phase: {"id": name, **phase}, _ids("msg"), phases)
    return st.builds(TextPart, _CLEAN, origin=st.just(origin), ext=ext).map(_alone)


def _function_call(origin: Origin) -> Strategy[list[Part]]:
    return st.builds(
        lambda parts, name: [replace(parts[0], ext={"id": name})], _call(origin, "call"), _ids("fc")
    )


def _compaction(origin: Origin) -> Strategy[list[Part]]:
    def build(name: str, token: str) -> list[Part]:
        payload = {"type": "compaction", "id": name, "encrypted_content": token}
        return [NativePart("openai.compaction", payload, origin)]

    return st.builds(build, _ids("cmp"), _TOKENS)


@st.composite
def _chat(draw: Draw, origin: Origin) -> Turn:
    """In the normal form of a flat API: reasoning, text, calls."""
    reasoning = _field(origin) if origin.provider != "google" else _call(origin, "call", signed=True)
    pieces = [
        draw(st.lists(one, min_size=low, max_size=high))
        for one, low, high in (
            (reasoning, 1, 1),
            (_text(origin), 0, 1),
            (_call(origin, "call"), 0, 3),
        )
    ]
    return _turn(draw, origin, st.just([group for groups in pieces for group in groups]))


def _field(origin: Origin) -> Strategy[list[Part]]:
    return _CLEAN.map(
        lambda text: [
            ReasoningPart((Segment("text", 0, text),), origin=origin, ext={"field": "reasoning_content"})
        ]
    )


def _text(origin: Origin) -> Strategy[list[Part]]:
    return _CLEAN.map(lambda text: [TextPart(text, origin=origin)])


@st.composite
def _call(draw: Draw, origin: Origin, prefix: str, *, signed: bool = False) -> list[Part]:
    arguments = dump(draw(st.dictionaries(st.sampled_from("xy"), json_values(), max_size=2)))
    call = ToolCallPart(draw(_ids(prefix)), "get", arguments, origin=origin)
    if not signed:
        return [call]
    value = Opaque("gemini.openai_compat_signature", draw(_TOKENS), "utf8", f"tool_call:{call.id}")
    return [replace(call, opaque=(value,), ext={"extra_content": "google"})]


def _ids(prefix: str) -> Strategy[str]:
    return st.integers(0, 10**9).map(lambda number: f"{prefix}_{number:09d}")


def _alone(part: Part) -> list[Part]:
    return [part]


def _turn(draw: Draw, origin: Origin, groups: Strategy[list[list[Part]]]) -> Turn:
    parts: list[Part] = []
    named: set[str] = set()
    for group in draw(groups):
        # Ids of one response are distinct.
        ids = {name for part in group for name in _names(part)}
        if not ids & named:
            named |= ids
            parts += group
    return Turn(tuple(parts), origin, draw(_ids("resp")))


def _names(part: Part) -> list[str]:
    ext = getattr(part, "ext", None) or {}
    found = [getattr(part, "item_id", None), getattr(part, "id", None), ext.get("id")]
    return [name for name in found if isinstance(name, str)]


_ORIGINS: dict[str, Origin] = {
    "anthropic-messages": Origin("anthropic", "anthropic-messages", "claude-sonnet-5"),
    "openai-chat": Origin("deepseek", "openai-chat", "deepseek-v4-pro"),
    "openai-responses": Origin("openai", "openai-responses", "gpt-5.6"),
}
_TURNS: dict[str, Callable[[Origin], Strategy[Turn]]] = {
    "anthropic-messages": _anthropic,
    "openai-chat": _chat,
    "openai-responses": _responses,
}
API_IDS: tuple[str, ...] = tuple(sorted(_TURNS))
"""The APIs that `turns` and `deltas` know."""


# -- runs


@st.composite
def runs(
    draw: Draw, api: str | None = None, *, provider: str | None = None
) -> tuple[RunAgentInput, list[Event]]:
    """The input of a run and what it emits: valid by construction, and as long as it wants.

    The input holds a conversation of up to two earlier runs, as a client holds it.

    Args:
        draw: Given by Hypothesis.
        api: Whose responses; without it, of any.
        provider: Who speaks it; default is one that does.
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
    """Responses whose ids no earlier one has: a provider gives each item one of its own."""
    used: set[str] = set()

    def is_fresh(turn: Turn) -> bool:
        names = {name for part in turn.parts for name in _names(part)}
        fresh = not names & used
        used.update(names)
        return fresh

    return responses.filter(is_fresh)


def run_inputs(api: str | None = None, *, provider: str | None = None) -> Strategy[RunAgentInput]:
    """What a client sends: a conversation of some runs, with its reasoning and values."""
    return runs(api, provider=provider).map(lambda run: run[0])


def event_streams(api: str | None = None, *, provider: str | None = None) -> Strategy[list[Event]]:
    """The events of one run, from RUN_STARTED to its end: finished, cancelled or failed."""
    return runs(api, provider=provider).map(lambda run: run[1])


def _play(
    draw: Draw,
    conversation: Conversation,
    new_id: Callable[[], str],
    turn: Strategy[Turn],
) -> tuple[RunAgentInput, list[Event]]:
    """One run on top of a conversation; what it leaves open is answered by the client."""
    run_input = conversation.run_input(draw(_CLEAN))
    run = Run(run_input, new_id=new_id, on_warning=_ignore)
    events = run.start()
    while True:
        for delta in stream(draw(turn)):
            events += run.receive(delta)
        # The agent answers the calls itself and asks again, or leaves them to the client.
        if not run.pending_calls or draw(st.booleans()):
            break
        for call in run.pending_calls:
            events += run.receive(ToolResultPart(call.id, "Done."))
    endings: list[Callable[[], list[Event]]] = [run.finish, run.cancel, lambda: run.fail("It failed.")]
    events += draw(st.sampled_from(endings))()
    for event in events:
        conversation.receive(event)
    conversation.end_of_stream()
    for waiting in conversation.pending_calls:
        conversation.add_tool_result(waiting.id, "Done.")
    return run_input, events


def _ignore(warning: str) -> None:
    """Warnings are about what was generated."""
