"""Hypothesis strategies for everything that goes through this package (extra ``testing``).

Text is nasty on purpose (halves of emoji, combining marks, line separators), and keys and ids are few, so
that they collide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

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
    Opaque,
    Origin,
    ToolResultPart,
    Turn,
)
from agui_reasoning.providers import provider_api, provider_apis
from agui_reasoning.providers.strategies import CLEAN, Draw, Strategy, json_values, part_ids
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

_PIECES = ["", " ", "\n\n", "Hm", "yes. ", "\ud83d", "\ude00", "😀", "e\u0301", "\u2028", "<think>", "a" * 50]
_NASTY = st.lists(st.sampled_from(_PIECES), max_size=4).map("".join)
_KEYS = st.sampled_from([None, "a", "b"])
_CALL_IDS = st.sampled_from(["", "c1", "c2", "c3"])
_EXTS = st.sampled_from([None, {"explicit_empty": True}, {"id": "msg_1", "phase": "commentary"}])
_CHANNELS = st.sampled_from(["text", "summary", "raw"])


# -- single values


def texts(*, clean: bool = False) -> Strategy[str]:
    """Text of a model.

    Args:
        clean: What a decoder settles on: not empty, and no halves of characters.
    """
    return CLEAN if clean else _NASTY


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
    if api not in API_IDS:
        raise ConfigurationError(
            f"The API {api!r} has no strategy.",
            code="unknown_api",
            hint=f"Use one of: {', '.join(API_IDS)}.",
        )
    origin = _origin(api) if provider is None else replace(_origin(api), provider=provider)
    responses: Strategy[Turn] = provider_api(api).load_strategy()(origin)
    return responses


def _origin(api: str) -> Origin:
    provider, model = provider_api(api).example
    return Origin(provider, api, model)


API_IDS: tuple[str, ...] = tuple(sorted(api.id for api in provider_apis() if api.strategy))
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
        names = {name for part in turn.parts for name in part_ids(part)}
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
    run_input = conversation.run_input(draw(CLEAN))
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
