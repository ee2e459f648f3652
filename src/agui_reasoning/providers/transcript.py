"""Reads requests and responses of providers as flat lists of entries.

Each API's reader is in its folder. Readers use the JSON itself, without decoder and encoder, and can thus
verify them. A response is first converted to the form in which requests repeat it, so that the same code
reads both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from agui_reasoning._strict_json import JSONObject

__all__ = [
    "ARTEFACTS",
    "CALL_ID",
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
    "WORDS",
    "Entry",
    "EntryFields",
    "JSONObject",
    "Speaker",
    "Transcript",
    "chat_request",
    "entries",
    "members",
    "speaker_of",
]

Speaker: TypeAlias = Literal["user", "model", "tool"]

THINKING: Final = "thinking"
SIGNATURE: Final = "signature"
REDACTED: Final = "redacted thinking"
SUMMARY: Final = "reasoning summary"
ENCRYPTED_CONTENT: Final = "encrypted content"
REASONING_CONTENT: Final = "reasoning content"
REASONING_ID: Final = "reasoning id"
ITEM_ID: Final = "item id"
PHASE: Final = "phase"
CALL_ID: Final = "call id"
RESULT: Final = "result"
WORDS: Final = "words"

ARTEFACTS: Final = frozenset(
    {
        *(THINKING, SIGNATURE, REDACTED, SUMMARY, ENCRYPTED_CONTENT, REASONING_CONTENT),
        *(REASONING_ID, ITEM_ID, PHASE, CALL_ID),
    }
)
"""The kinds of entry that a provider requires back, unlike the model's words."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One value in a request or response.

    Attributes:
        speaker: The speaker.
        kind: One of `ARTEFACTS`, `RESULT` (then the value is the ID of the call), or `WORDS`.
        path: The position, as a JSON pointer into the request.
        value: The value; empty for words.
    """

    speaker: Speaker
    kind: str
    path: str
    value: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """Reads the conversations of one API.

    Attributes:
        request: Yields the entries of a request, in order, skipping what it cannot read.
        whole: Converts a whole response to a request that contains only the response.
        streamed: Converts the payloads of a streamed response to such a request.
        bond: The kind of entry that may be returned only with the adjacent entries of ``bound``.
        bound: The kinds of these adjacent entries.
    """

    request: Callable[[Mapping[str, Any]], Iterator[Entry]]
    whole: Callable[[JSONObject], JSONObject]
    streamed: Callable[[Iterator[JSONObject]], JSONObject]
    bond: str
    bound: frozenset[str]


EntryFields: TypeAlias = Mapping[str, Mapping[str, str]]
"""For each type of object, the kinds of its fields."""

_ROLES: Final[Mapping[Any, Speaker]] = {"user": "user", "assistant": "model", "tool": "tool"}


def speaker_of(role: Any) -> Speaker | None:
    """Return the speaker for a role; ``None`` for instructions."""
    return _ROLES.get(role) if isinstance(role, str) else None


def entries(
    speaker: Speaker, holder: Mapping[str, Any], kind: Any, path: str, fields: EntryFields
) -> Iterator[Entry]:
    """Yield the entries of an object; one without known fields is words."""
    counting = fields.get(kind, {}) if isinstance(kind, str) else {}
    found = [(name, holder[name]) for name in counting if isinstance(holder.get(name), str)]
    yield from (Entry(speaker, counting[name], f"{path}/{name}", value) for name, value in found)
    if not found:
        yield Entry(speaker, WORDS, path)


def members(holder: Mapping[str, Any], name: str, path: str) -> Iterator[tuple[str, JSONObject]]:
    """Yield the objects in a list, each with its JSON pointer; none if there is no list."""
    listed = holder.get(name)
    for number, member in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(member, dict):
            yield f"{path}/{name}/{number}", member


def chat_request(body: Mapping[str, Any], fields: EntryFields) -> Iterator[Entry]:
    """Read a request whose messages have tool calls in ``tool_calls`` and everything else in string fields.

    Args:
        body: The request.
        fields: The fields of the messages, by role, and of calls, as ``function``.
    """
    for path, message in members(body, "messages", ""):
        speaker = speaker_of(message.get("role"))
        if speaker is None:
            continue  # instructions
        yield from entries(speaker, message, message["role"], path, fields)
        for place, call in members(message, "tool_calls", path):
            yield from entries(speaker, call, "function", place, fields)
