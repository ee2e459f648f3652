"""Selects the exchange of a script that answers a conversation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agui_reasoning._scripted import load_script, names
from agui_reasoning._scripted._exchange import Exchange, check_exchange
from agui_reasoning.providers.transcript import Speaker

__all__ = ["choose", "sequence"]

_FOLLOWERS = ("-2", "-3")


def sequence(exchange: str | Mapping[str, Any]) -> tuple[Exchange, ...]:
    """Return the exchanges of a script or a recording, in conversation order.

    Args:
        exchange: The name of a script, which includes its follow-ups, or a single recording.

    Raises:
        ConfigurationError: The script is unknown (``unknown_script``).
        DecodeError: The recording is malformed (``bad_recording``).

    Examples:
        >>> [exchange["id"] for exchange in sequence("chat-weather")]
        ['chat-weather', 'chat-weather-2', 'chat-weather-3']
        >>> [exchange["id"] for exchange in sequence("chat-weather-2")]
        ['chat-weather-2']
    """
    if not isinstance(exchange, str):
        return (check_exchange(exchange),)
    followers = [name for suffix in _FOLLOWERS if (name := f"{exchange}{suffix}") in names()]
    return (load_script(exchange), *map(load_script, followers))


def choose(exchanges: Sequence[Exchange], speakers: Iterable[Speaker]) -> Exchange:
    """Select the exchange that answers a conversation.

    The second one answers a tool result, the third one a question after an answer, and the first one
    everything else. The first one also replaces missing exchanges.

    Args:
        exchanges: The exchanges, as returned by `sequence`.
        speakers: The speakers of the conversation, in order.
    """
    position = _position(list(speakers))
    return exchanges[position] if position < len(exchanges) else exchanges[0]


def _position(speakers: list[Speaker]) -> int:
    if speakers[-1:] == ["tool"]:
        return 1
    # A greeting by the assistant is not an answer.
    first_question = speakers.index("user") if "user" in speakers else len(speakers)
    return 2 if speakers[-1:] == ["user"] and "model" in speakers[first_question:] else 0
