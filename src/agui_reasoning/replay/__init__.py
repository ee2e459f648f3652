"""Invented provider streams, and what reads requests and responses as lists of values, to verify them.

The demo, the replay of the gateway and tests use both without an API key or network access.

An exchange is a JSON object with ``api``, optional ``provider`` and ``model``, and the provider's response:
``events``, a list of ``{"event"?, "data"}``, or ``response``, a whole one. Where ``api`` is ``"other"``,
``api_detail`` names the API.

Scripts also have ``id``, ``stream``, ``question`` and ``request``. They come in threes: ``name`` reasons and
calls a tool; ``name-2`` takes the result, reasons and answers; ``name-3`` reasons about a second question and
answers. No content comes from a model, and the opaque values are base64 that decodes to "agui-reasoning
demo …".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Final, TypeAlias

from agui_reasoning._strict_json import JSONObject
from agui_reasoning._strict_json import load as load_json
from agui_reasoning.errors import ConfigurationError, DecodeError
from agui_reasoning.replay._transcripts import (
    CALL_ID,
    ENCRYPTED_CONTENT,
    ITEM_ID,
    PHASE,
    REASONING_CONTENT,
    REASONING_ID,
    REDACTED,
    RESULT,
    SIGNATURE,
    SUMMARY,
    THINKING,
    TRANSCRIPTS,
    VALUE_KINDS,
    WORDS,
    Check,
    Entry,
    EntryFields,
    Speaker,
    Transcript,
    chat_request,
    checked_value,
    compare,
    entries,
    members,
    read_request,
    read_response,
    required_values,
    speaker_of,
)

__all__ = [
    "CALL_ID",
    "CONVERSATIONS",
    "ENCRYPTED_CONTENT",
    "ITEM_ID",
    "PHASE",
    "REASONING_CONTENT",
    "REASONING_ID",
    "REDACTED",
    "RESULT",
    "SIGNATURE",
    "SUMMARY",
    "THINKING",
    "TOOL",
    "TOOL_RESULT",
    "TRANSCRIPTS",
    "VALUE_KINDS",
    "WORDS",
    "Check",
    "Entry",
    "EntryFields",
    "Exchange",
    "Speaker",
    "Transcript",
    "chat_request",
    "check_exchange",
    "checked_value",
    "choose",
    "compare",
    "entries",
    "exchange_api",
    "is_whole",
    "load_script",
    "members",
    "payloads",
    "read_answer",
    "read_request",
    "required_values",
    "script_names",
    "sequence",
    "speaker_of",
]


Exchange: TypeAlias = Mapping[str, Any]
"""A provider's response, recorded or invented."""

CONVERSATIONS: Final[dict[str, str]] = {
    "anthropic-messages": "anthropic-weather",
    "openai-responses": "openai-weather",
    "openai-chat": "chat-weather",
    "bedrock-converse": "bedrock-weather",
    "mistral-chat": "mistral-weather",
    "cohere-chat": "cohere-weather",
    "ollama": "ollama-weather",
    "gemini": "gemini-weather",
    "xai-grpc": "xai-weather",
    "litellm": "litellm-weather",
    "gemini-interactions": "interactions-weather",
}
"""The first script of each API's conversation, in display order."""

TOOL: Final[JSONObject] = {
    "name": "get_forecast",
    "description": "Weather forecast of a place for the next hours",
    "parameters": {
        "type": "object",
        "properties": {"place": {"type": "string"}, "hours": {"type": "integer"}},
        "required": ["place"],
        "additionalProperties": False,
    },
}
"""The tool that the models in the scripts call, as a front end declares it."""

TOOL_RESULT: Final = (
    '{"place": "Bergen", "from": "14:00", "temperature_c": 9, "rain_mm": 4.2, "gusts_ms": 14}'
)
"""A result of the tool that fits the answers of the models."""

_FOLDERS: Final[list[Traversable]] = [files(__package__) / "scripts"]
_FOLLOWERS: Final = ("-2", "-3")
_OTHER: Final = "other"


# -- scripts


def script_names() -> tuple[str, ...]:
    """Return the names of the scripts, sorted."""
    return tuple(sorted(f"{name}{suffix}" for name in CONVERSATIONS.values() for suffix in ("", *_FOLLOWERS)))


def load_script(name: str) -> dict[str, Any]:
    """Read a script.

    Raises:
        ConfigurationError: The script is unknown (``unknown_script``).

    Examples:
        >>> load_script("anthropic-weather")["api"]
        'anthropic-messages'
    """
    if name not in script_names():
        raise ConfigurationError(
            f"Unknown script {name!r}.",
            code="unknown_script",
            hint=f"Use one of: {', '.join(script_names())}.",
        )
    file = next(found for folder in _FOLDERS if (found := folder / f"{name}.json").is_file())
    script: dict[str, Any] = load_json(file.read_text(encoding="utf-8"))
    return script


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
    followers = [name for suffix in _FOLLOWERS if (name := f"{exchange}{suffix}") in script_names()]
    return (load_script(exchange), *map(load_script, followers))


def choose(exchanges: Sequence[Exchange], speakers: Iterable[Speaker]) -> Exchange:
    """Select the exchange of a `sequence` that answers a conversation, by its speakers in order.

    The second one answers a tool result, the third one a question after an answer, and the first one
    everything else. The first one also replaces missing exchanges.
    """
    spoken = list(speakers)
    position = 0
    if spoken[-1:] == ["tool"]:
        position = 1
    elif spoken[-1:] == ["user"] and "model" in spoken[spoken.index("user") :]:  # a greeting is no answer
        position = 2
    return exchanges[position] if position < len(exchanges) else exchanges[0]


# -- exchanges


def check_exchange(value: Any) -> Exchange:
    """Return the value if it is an exchange that names its API.

    Raises:
        DecodeError: The value is not an exchange (``bad_recording``).
    """
    api = exchange_api(value) if isinstance(value, Mapping) else None
    if api is None:
        raise _bad_recording('The recording is not an object with "api".', "")
    if isinstance(value.get("events"), list):
        for _ in payloads(value):
            pass
    elif "response" not in value:
        raise _bad_recording('The recording has neither "events" nor "response".', "")
    return {**value, "api": api}


def exchange_api(exchange: Exchange) -> str | None:
    """Return the API that an exchange names, if it does."""
    api = exchange.get("api_detail") if exchange.get("api") == _OTHER else exchange.get("api")
    return api if isinstance(api, str) else None


def is_whole(exchange: Exchange) -> bool:
    """Return whether the exchange holds a whole response instead of a stream."""
    return not isinstance(exchange.get("events"), list)


def payloads(exchange: Exchange) -> Iterator[Any]:
    """Yield the payloads of a streamed exchange in order.

    Raises:
        DecodeError: An event has no data (``bad_recording``); raised after yielding those before it.
    """
    for number, event in enumerate(exchange["events"]):
        if not isinstance(event, Mapping) or "data" not in event:
            raise _bad_recording(f"Event {number + 1} of the recording has no data.", f"/events/{number}")
        yield event["data"]


def read_answer(exchange: Exchange) -> list[Entry]:
    """List the entries of the provider's response, as they would appear in a request."""
    answer = [exchange["response"]] if is_whole(exchange) else payloads(exchange)
    return read_response(exchange["api"], answer)


def _bad_recording(message: str, path: str) -> DecodeError:
    return DecodeError(
        message,
        code="bad_recording",
        hint='A recording has "api", and "response" or "events": each of these is an object with "data".',
        path=path,
    )
