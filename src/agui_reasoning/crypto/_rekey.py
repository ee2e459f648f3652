"""Stored values under a new primary key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from ag_ui.core import AssistantMessage, Message
from pydantic import TypeAdapter, ValidationError

from agui_reasoning.crypto._binding import Binding, Subtype
from agui_reasoning.crypto._jwe import claims_type, read_header
from agui_reasoning.crypto._keys import KeyRing
from agui_reasoning.errors import ConfigurationError, DecryptionError, LocalProtocolError

__all__ = ["OnUnopened", "rekey_messages", "renewed"]

OnUnopened: TypeAlias = Literal["raise", "keep"]
_HANDLING: Final = ("raise", "keep")
_MESSAGE: Final[TypeAdapter[Message]] = TypeAdapter(Message)
_MODELS: Final[tuple[type, ...]] = get_args(get_args(Message)[0])


def rekey_messages(
    messages: Iterable[Message | Mapping[str, Any]],
    keys: KeyRing,
    *,
    thread_id: str,
    tenant: str = "",
    on_undecryptable: OnUnopened = "raise",
) -> list[Message]:
    """Encrypt the values of a stored history again, where another key than the primary one encrypted them.

    Args:
        messages: The history. It is not changed.
        keys: A ring that holds the old keys, and the new one as its primary.
        thread_id: The thread the history belongs to.
        tenant: Who owns it.
        on_undecryptable: What to do about a token that does not open: ``"raise"``, or ``"keep"`` it as it is.

    Returns:
        The messages with their values, and those of their tool calls, under the primary key. Plain values,
        those of other producers, and tokens that are under the primary key already stay as they are.

    Raises:
        DecryptionError: A token does not open. There is no result then: nothing is half done.
        LocalProtocolError: Something is not a message (``bad_message``).

    Examples:
        >>> token = KeyRing({"2026-04": b"o" * 32}).encrypt(b"{}", Binding("thread-1"))
        >>> both = KeyRing({"2026-10": b"n" * 32, "2026-04": b"o" * 32})
        >>> stored = {"id": "r1", "role": "reasoning", "content": "", "encryptedValue": token}
        >>> [message] = rekey_messages([stored], both, thread_id="thread-1")
        >>> both.needs_rekey(token), both.needs_rekey(message.encrypted_value)
        (True, False)
    """
    if on_undecryptable not in _HANDLING:
        raise ConfigurationError(
            "on_undecryptable is neither raise nor keep.",
            code="wrong_option",
            hint='Pass "raise" or "keep".',
        )
    home = Binding(thread_id, tenant=tenant)
    again = _Renewal(keys, home, keep=on_undecryptable == "keep")
    return [again.message(_model(message)) for message in messages]


def renewed(value: str, keys: KeyRing, home: Binding, entity_id: str, subtype: Subtype = "message") -> str:
    """Give a value as it should be stored: itself, unless another key than the primary one encrypted it.

    Args:
        value: Any ``encryptedValue``.
        keys: The ring.
        home: Thread and tenant.
        entity_id: What the value stands on: what a token that is bound to an entity has to be bound to.
        subtype: What that is.

    Raises:
        DecryptionError: It is one of our tokens and does not open.
    """
    if not claims_type(value) or not keys.needs_rekey(value):
        return value
    header = read_header(value.partition(".")[0])
    if header is not None and header.entity is not None:
        home = replace(home, entity_id=entity_id, subtype=subtype)
    return keys.rekey(value, home)


class _Renewal:
    """One history: its ring, its place, and what to do about what does not open."""

    def __init__(self, keys: KeyRing, home: Binding, *, keep: bool) -> None:
        self._keys = keys
        self._home = home
        self._keep = keep

    def message(self, message: Message) -> Message:
        update = self._value(message, "message")
        if isinstance(message, AssistantMessage) and message.tool_calls:
            calls = [call.model_copy(update=self._value(call, "tool-call")) for call in message.tool_calls]
            update["tool_calls"] = calls
        return message.model_copy(update=update)

    def _value(self, entity: Any, subtype: Subtype) -> dict[str, Any]:
        value = getattr(entity, "encrypted_value", None)
        if not isinstance(value, str):
            return {}
        try:
            return {"encrypted_value": renewed(value, self._keys, self._home, entity.id, subtype)}
        except DecryptionError:
            if not self._keep:
                raise
        return {}


def _model(message: object) -> Message:
    if isinstance(message, _MODELS):
        return cast("Message", message)
    try:
        return _MESSAGE.validate_python(message)
    except ValidationError as error:
        where = "/".join(map(str, error.errors(include_input=False)[0]["loc"]))
    # Not inside the handler: pydantic's error holds the message.
    raise LocalProtocolError(
        f"A message is malformed at /{where}.",
        code="bad_message",
        hint="Give a history as a client sends it.",
    )
