"""The binding of a token to tenant, thread and entity."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal, TypeAlias

from agui_reasoning.errors import ConfigurationError

__all__ = ["Binding", "Subtype"]

Subtype: TypeAlias = Literal["message", "tool-call"]
_SUBTYPES = ("message", "tool-call")


@dataclass(frozen=True, slots=True)
class Binding:
    """The tenant, thread and optional entity that a token is bound to.

    Tokens cannot be decrypted with another binding.

    Attributes:
        thread_id: The thread ID. Clients choose it, so it does not separate users.
        tenant: The owner of the thread. Take it from your authentication, never from the request body.
        entity_id: The ID of the message or tool call that stores the token, or empty for no entity. A token
            with an entity can only be decrypted for the same entity, and one without only for no entity.
        subtype: The type of the entity; ignored without ``entity_id``.

    Raises:
        ConfigurationError: A field has a wrong type or value (``bad_binding``).

    Examples:
        >>> Binding("thread-1", tenant="acme")
        Binding(thread_id='thread-1', tenant='acme', entity_id='', subtype='message')
    """

    thread_id: str
    _: KW_ONLY
    tenant: str = ""
    entity_id: str = ""
    subtype: Subtype = "message"

    def __post_init__(self) -> None:
        for name in ("thread_id", "tenant", "entity_id"):
            if not isinstance(getattr(self, name), str):
                raise _bad_binding(f"{name} is {type(getattr(self, name)).__name__}, not str.")
        if self.subtype not in _SUBTYPES:
            raise _bad_binding("subtype is neither message nor tool-call.")


def _bad_binding(problem: str) -> ConfigurationError:
    return ConfigurationError(
        f"The binding is invalid: {problem}",
        code="bad_binding",
        hint="Pass the thread ID, and the tenant if there are several.",
    )
