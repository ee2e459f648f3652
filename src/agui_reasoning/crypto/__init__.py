"""Encryption of ``encryptedValue`` as JWE tokens, with a key ring, bound to tenant and thread.

Any JOSE library can open the tokens with `KeyRing.content_key`. Every failure to decrypt raises the same
`agui_reasoning.errors.DecryptionError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from ag_ui.core import AssistantMessage, Message
from pydantic import TypeAdapter, ValidationError

from agui_reasoning.crypto._jwe import Binding, claims_type, read_header
from agui_reasoning.crypto._jwe import Secret as Secret
from agui_reasoning.crypto._jwe import Subtype as Subtype
from agui_reasoning.crypto._ring import DEFAULT_VARIABLE as DEFAULT_VARIABLE
from agui_reasoning.crypto._ring import KeyRing, looks_like_token
from agui_reasoning.crypto._ring import TokenReader as TokenReader
from agui_reasoning.crypto._ring import check_encrypt_options as check_encrypt_options
from agui_reasoning.crypto._ring import key_ids as key_ids
from agui_reasoning.crypto._ring import token_key_id as token_key_id
from agui_reasoning.crypto._sources import Fetching as Fetching
from agui_reasoning.crypto._sources import at_once as at_once
from agui_reasoning.errors import ConfigurationError, DecryptionError, LocalProtocolError

# Names with an alias are for the other packages of the library, not for its users.
__all__ = ["Binding", "KeyRing", "looks_like_token", "rekey_messages"]


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
    """Re-encrypt the values of a stored history with the primary key.

    Args:
        messages: The history. It is not modified.
        keys: A ring with the old keys, and the new key as its primary.
        thread_id: The thread ID of the history.
        tenant: The tenant of the history.
        on_undecryptable: ``"raise"`` an error for a token that cannot be decrypted, or ``"keep"`` it
            unchanged.

    Returns:
        The messages, with all tokens of messages and tool calls encrypted with the primary key. Tokens that
        already are, plain values and values of other producers are unchanged.

    Raises:
        DecryptionError: A token cannot be decrypted.
        LocalProtocolError: A message is malformed (``bad_message``).

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
            "on_undecryptable is neither raise nor keep.", code="wrong_option", hint='Pass "raise" or "keep".'
        )
    home = Binding(thread_id, tenant=tenant)

    def changed(entity: Any, subtype: Subtype) -> dict[str, Any]:
        """Return the changed members of a message or call."""
        value = getattr(entity, "encrypted_value", None)
        if not isinstance(value, str):
            return {}
        try:
            return {"encrypted_value": renewed(value, keys, home, entity.id, subtype)}
        except DecryptionError:
            if on_undecryptable == "raise":
                raise
        return {}

    history = []
    for message in map(_model, messages):
        update = changed(message, "message")
        if isinstance(message, AssistantMessage) and message.tool_calls:
            calls = [call.model_copy(update=changed(call, "tool-call")) for call in message.tool_calls]
            update["tool_calls"] = calls
        history.append(message.model_copy(update=update))
    return history


def renewed(value: str, keys: KeyRing, home: Binding, entity_id: str, subtype: Subtype = "message") -> str:
    """Return a value of a message or tool call, re-encrypted if not the primary key encrypted it.

    Raises:
        DecryptionError: The value is a token of this package that cannot be decrypted.
    """
    if not claims_type(value) or not keys.needs_rekey(value):
        return value
    header = read_header(value.partition(".")[0])
    if header is not None and header.entity is not None:
        home = replace(home, entity_id=entity_id, subtype=subtype)
    return keys.rekey(value, home)


def _model(message: object) -> Message:
    if isinstance(message, _MODELS):
        return cast("Message", message)
    try:
        return _MESSAGE.validate_python(message)
    except ValidationError as error:
        where = "/".join(map(str, error.errors(include_input=False)[0]["loc"]))
    # Raised outside the handler, because pydantic's error contains the message.
    raise LocalProtocolError(
        f"A message is malformed at /{where}.",
        code="bad_message",
        hint="Pass the messages as a client sends them.",
    )
