"""``keygen``, ``encrypt`` and ``decrypt``: generate keys, and encrypt or decrypt one token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

import typer

from agui_reasoning.cli._output import put, put_exact, put_json
from agui_reasoning.cli._report import complain
from agui_reasoning.cli._ring import KeysEnv, KeysFile, TenantOption, key_ring, not_empty
from agui_reasoning.cli._source import read_file
from agui_reasoning.crypto import Binding, KeyRing
from agui_reasoning.crypto._binding import Subtype
from agui_reasoning.crypto._keys import DEFAULT_VARIABLE
from agui_reasoning.errors import DecryptionError

__all__ = ["decrypt", "encrypt", "keygen"]

_File: TypeAlias = Annotated[str, typer.Argument(metavar="FILE", help="A path, or - for standard input.")]
_Thread: TypeAlias = Annotated[
    str, typer.Option("--thread", metavar="ID", help="The thread the token belongs to.", callback=not_empty)
]
_Entity: TypeAlias = Annotated[
    str,
    typer.Option("--entity", metavar="ID", help="The message or tool call the token is bound to, if any."),
]
_Subtype: TypeAlias = Annotated[
    Subtype, typer.Option("--subtype", metavar="message|tool-call", help="The kind of entity --entity names.")
]


def keygen(
    kid: Annotated[str | None, typer.Option(metavar="KID", help="The key ID; random by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Generate a key and print it as kid:key.

    AGUI_REASONING_KEYS and key files use this format. Separate several keys with commas; the first one
    encrypts.
    """
    written = KeyRing.generate(kid).to_env()
    name, _, key = written.partition(":")
    _show(written, {"kid": name, "key": key} if as_json else None)


def encrypt(
    file: _File,
    thread: _Thread,
    tenant: TenantOption = "",
    entity: _Entity = "",
    subtype: _Subtype = "message",
    ttl_s: Annotated[int | None, typer.Option("--ttl-s", help="Seconds until the token expires.")] = None,
    pad_to: Annotated[int, typer.Option("--pad-to", help="Pad with spaces to this length.")] = 0,
    keys_env: KeysEnv = DEFAULT_VARIABLE,
    keys_file: KeysFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Encrypt a file for a thread and print the token (a JWE).

    FILE is encrypted byte for byte, including a final line break.
    """
    ring = key_ring(keys_env, keys_file)
    binding = Binding(thread, tenant=tenant, entity_id=entity, subtype=subtype)
    token = ring.encrypt(read_file(file), binding, ttl_s=ttl_s, pad_to=pad_to)
    _show(token, {"token": token} if as_json else None)


def decrypt(
    file: _File,
    thread: _Thread,
    tenant: TenantOption = "",
    entity: _Entity = "",
    subtype: _Subtype = "message",
    keys_env: KeysEnv = DEFAULT_VARIABLE,
    keys_file: KeysFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Decrypt a token and print its content byte for byte; escaped if it goes to a terminal.

    FILE holds one token. If it cannot be decrypted, the error message is the same for every cause.
    """
    ring = key_ring(keys_env, keys_file)
    token = read_file(file).decode("utf-8", "replace").strip()
    binding = Binding(thread, tenant=tenant, entity_id=entity, subtype=subtype)
    try:
        plaintext = ring.decrypt(token, binding)
    except DecryptionError as error:
        raise typer.Exit(complain(error) and 1) from None
    if as_json:
        put_json({"plaintext": plaintext.decode("utf-8", "replace")}, indent=None)
    else:
        put_exact(plaintext)


def _show(line: str, value: Mapping[str, str] | None) -> None:
    """Print a line, or the JSON object if there is one."""
    if value is None:
        put(line)
    else:
        put_json(value, indent=None)
