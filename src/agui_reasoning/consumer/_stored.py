"""Stored conversations: reading and checking their JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from agui_reasoning._strict_json import JSONObject, Malformed, load
from agui_reasoning.errors import LocalProtocolError

__all__ = ["read_stored"]

_ENDED: Final = ("idle", "finished", "interrupted", "cancelled", "failed", "truncated")


def read_stored(text: str) -> JSONObject:
    """Read a stored conversation. A RunAgentInput is read too: it has a thread, messages and a state.

    Raises:
        LocalProtocolError: The text is not a stored conversation (``bad_conversation``).
    """
    stored = load(text)
    if isinstance(stored, Malformed) or not isinstance(stored, dict):
        raise _bad("expected a JSON object")
    for name, (is_valid, expected) in _MEMBERS.items():
        if stored.get(name) is not None and not is_valid(stored[name]):
            raise _bad(f"expected {expected} as `{name}`")
    return stored


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are(is_valid: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda values: isinstance(values, list) and all(map(is_valid, values))


def _is_interrupt(value: Any) -> bool:
    return isinstance(value, dict) and _is_text(value.get("id")) and _is_text(value.get("reason"))


_MEMBERS: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "threadId": (_is_text, "a string"),
    "messages": (_are(lambda value: isinstance(value, dict)), "an array of messages"),
    "status": (_ENDED.__contains__, f"one of {', '.join(_ENDED)}"),
    "pendingToolCallIds": (_are(_is_text), "an array of strings"),
    "interrupts": (_are(_is_interrupt), "an array of interrupts"),
}


def _bad(problem: str) -> LocalProtocolError:
    return LocalProtocolError(
        f"This is not a stored conversation: {problem}.",
        code="bad_conversation",
        hint="Pass what `Conversation.to_json` returned.",
    )
