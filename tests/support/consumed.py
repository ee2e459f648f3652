"""Everything that a consumer shows of a stream, with and without its fast path."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any, TypeAlias

from agui_reasoning.consumer import Conversation, Repeats, check_events, compact, reduce_events
from agui_reasoning.errors import AGUIReasoningError

__all__ = ["assert_same_without_fast_path", "exactly", "received", "without_fast_path"]

Look: TypeAlias = Callable[[list[Any]], Any]

UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@contextmanager
def without_fast_path() -> Iterator[None]:
    """Send every event through all stages."""
    Repeats.enabled = False
    try:
        yield
    finally:
        Repeats.enabled = True


def received(stream: list[Any]) -> list[str]:
    """What a conversation shows after each event; reading now and then must change nothing."""
    seen: list[str] = []
    numbers = count(1)
    conversation = Conversation(on_warning=seen.append, new_id=lambda: f"id-{next(numbers)}")
    for number, event in enumerate(stream):
        seen.append(result(partial(delivered, conversation, event)))
        seen.append(f"{conversation.changed} {conversation.status} {conversation.thread_id}")
        if number % 3 == 0:
            seen.append(repr(conversation.messages))
    seen.append(result(conversation.end_of_stream))
    return [*seen, held(conversation)]


def delivered(conversation: Conversation, event: Any) -> list[str]:
    """The events that a conversation delivers for one."""
    return [exactly(one) for one in conversation.receive(event)]


def held(conversation: Conversation) -> str:
    """What a conversation holds."""
    calls, interrupts = conversation.pending_calls, conversation.interrupts
    return repr([conversation.messages, conversation.state, conversation.status, calls, interrupts])


def checked(stream: list[Any]) -> str:
    """The findings."""
    return result(lambda: check_events(stream))


def reduced(stream: list[Any]) -> list[str]:
    """The messages, or the error."""
    return warned(lambda: reduce_events(stream))


def compacted(stream: list[Any]) -> list[str]:
    """The merged events, or the error."""
    texts: list[str] = []
    return [result(lambda: [exactly(one) for one in compact(stream, on_warning=texts.append)]), *texts]


def exactly(model: Any) -> str:
    """A model, with what its equality ignores: the order of the members and what was given."""
    return repr((type(model), vars(model), sorted(model.model_fields_set), model.model_extra))


def result(call: Callable[[], Any]) -> str:
    """The result of a call, or everything of its error."""
    try:
        return repr(call())
    except AGUIReasoningError as error:
        return repr((error, vars(error)))


def warned(call: Callable[[], Any]) -> list[str]:
    """The result of a call, and its warnings."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        seen = result(call)
    return [seen, *(str(one.message) for one in given)]


LOOKS = (received, checked, reduced, compacted)


def assert_same_without_fast_path(stream: list[Any], looks: Sequence[Look] = LOOKS) -> None:
    """Compare everything that the looks show."""
    for look in looks:
        with without_fast_path():
            expected = shown(look, stream)
        assert shown(look, stream) == expected


def shown(look: Look, stream: list[Any]) -> str:
    """What a look shows, but for generated IDs; repr tells 1, 1.0 and True apart."""
    return UUID.sub("uuid", repr(look(stream)))
