"""Hypothesis strategies for the values, deltas and events of this package (extra ``testing``).

Texts include lone surrogates, combining marks and line separators. Keys and IDs come from small sets, so that
they collide.
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
_ERRORS = st.sampled_from([None, None, "", "It failed.", "\ud83d"])
_CHANNELS = st.sampled_from(["text", "summary", "raw"])


# -- single values


def texts(*, clean: bool = False) -> Strategy[str]:
    """Generate model text.

    Args:
        clean: Generate only text as a decoder returns it: not empty, and without lone surrogates.
    """
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


# -- turns


def turns(api: str | None = None, *, provider: str | None = None) -> Strategy[Turn]:
    """Generate a model response as from a decoder.

    Calls have unique IDs within a turn. Results of server tools follow their calls.

    Args:
        api: One of `API_IDS`; by default, any of them.
        provider: The provider ID; default is one that supports the API.

    Raises:
        ConfigurationError: The API ID is unknown (``unknown_api``).
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
    draw: Draw,
    conversation: Conversation,
    new_id: Callable[[], str],
    turn: Strategy[Turn],
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
