"""OpenAI's Conversations API: the server stores the input and the output of the requests that name one."""

from __future__ import annotations

from collections.abc import Iterable

from agui_reasoning.errors import ConfigurationError
from agui_reasoning.parts import Turn
from agui_reasoning.providers.api import ProviderAPI

__all__ = ["check_conversation", "last_stored"]

_FIELD = "conversation"


def check_conversation(spec: ProviderAPI, conversation: str | None, previous_response_id: str | None) -> None:
    """Refuse a conversation that the API cannot take.

    Raises:
        ConfigurationError: The API has no conversations, or refuses one beside a previous response
            (``wrong_option``).
    """
    if conversation is None:
        return
    if _FIELD not in spec.conversation_fields:
        raise ConfigurationError(
            f"{spec.id} does not support `conversation`.",
            code="wrong_option",
            hint="Omit it; it belongs to openai-responses.",
        )
    if previous_response_id is not None:
        raise ConfigurationError(
            "The API refuses `conversation` together with `previous_response_id`.",
            code="wrong_option",
            hint="Pass one of them.",
        )


def last_stored(items: Iterable[object], conversation: str | None) -> str | None:
    """Return the ID of the last response that was made in a conversation; ``None`` if there is none."""
    if conversation is None:
        return None
    stored = [item.id for item in items if isinstance(item, Turn) and item.conversation == conversation]
    return stored[-1] if stored else None
