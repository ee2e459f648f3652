"""Which exchange of a script answers what: a question, the result of a tool, the question after an answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agui_reasoning._scripted import load, names
from agui_reasoning._scripted._exchange import Exchange, check_exchange
from agui_reasoning.providers.transcript import Speaker

__all__ = ["choose", "sequence"]

_FOLLOWERS = ("-2", "-3")


def sequence(exchange: str | Mapping[str, Any]) -> tuple[Exchange, ...]:
    """The exchanges that a name or a recording stands for, in the order of a conversation.

    Args:
        exchange: The name of a script, which brings those that follow it, or a recording, which stands alone.

    Raises:
        ConfigurationError: There is no script of that name (``unknown_script``).
        DecodeError: It is no recording (``bad_recording``).

    Examples:
        >>> [exchange["id"] for exchange in sequence("chat-weather")]
        ['chat-weather', 'chat-weather-2', 'chat-weather-3']
        >>> [exchange["id"] for exchange in sequence("chat-weather-2")]
        ['chat-weather-2']
    """
    if not isinstance(exchange, str):
        return (check_exchange(exchange),)
    followers = [name for suffix in _FOLLOWERS if (name := f"{exchange}{suffix}") in names()]
    return (load(exchange), *map(load, followers))


def choose(exchanges: Sequence[Exchange], speakers: Iterable[Speaker]) -> Exchange:
    """The exchange that answers a conversation.

    The second answers the result of a tool, the third a question after an answer, the first everything else;
    it also stands in for what is not there.

    Args:
        exchanges: What there is, as `sequence` gives it.
        speakers: Who spoke, in order.
    """
    place = _place(list(speakers))
    return exchanges[place] if place < len(exchanges) else exchanges[0]


def _place(spoke: list[Speaker]) -> int:
    if spoke[-1:] == ["tool"]:
        return 1
    # An assistant that greets has not answered anything yet.
    first_question = spoke.index("user") if "user" in spoke else len(spoke)
    return 2 if spoke[-1:] == ["user"] and "model" in spoke[first_question:] else 0
