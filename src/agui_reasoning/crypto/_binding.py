"""What a token belongs to: it opens nowhere else."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal, TypeAlias

from agui_reasoning.errors import ConfigurationError

__all__ = ["Binding", "Subtype"]

Subtype: TypeAlias = Literal["message", "tool-call"]
_SUBTYPES = ("message", "tool-call")


@dataclass(frozen=True, slots=True)
class Binding:
    """Where a token belongs.

    Attributes:
        thread_id: The conversation. Clients choose it, so it does not separate users.
        tenant: Who owns the conversation, taken from authentication and never from the request's body.
        entity_id: The message or tool call the token stands on; empty binds to no entity. A token that is
            bound to one opens only for a binding that names it, and one that is not only for a binding
            that names none.
        subtype: What ``entity_id`` names; without one it means nothing.

    Raises:
        ConfigurationError: A field is not what it should be (``bad_binding``).

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
        f"Nothing can be bound to that: {problem}",
        code="bad_binding",
        hint="Give the thread's id, and the tenant where there are several.",
    )
