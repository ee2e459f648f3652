"""``keygen``, ``encrypt`` and ``decrypt``: a key, and one token at a time."""

from __future__ import annotations

import json
import sys
from typing import Annotated, TypeAlias

import typer

from agui_reasoning.cli._report import complain
from agui_reasoning.cli._ring import KeysEnv, KeysFile, TenantOption, key_ring, named
from agui_reasoning.cli._source import read_file
from agui_reasoning.crypto import Binding, KeyRing
from agui_reasoning.crypto._binding import Subtype
from agui_reasoning.crypto._keys import DEFAULT_VARIABLE
from agui_reasoning.errors import DecryptionError

__all__ = ["decrypt", "encrypt", "keygen"]

_File: TypeAlias = Annotated[str, typer.Argument(metavar="FILE", help="A path, or - for standard input.")]
_Thread: TypeAlias = Annotated[
    str, typer.Option("--thread", metavar="ID", help="The thread it belongs to.", callback=named)
]
_Entity: TypeAlias = Annotated[
    str, typer.Option("--entity", metavar="ID", help="The message or tool call it is bound to, if it is.")
]
_Subtype: TypeAlias = Annotated[Subtype, typer.Option("--subtype", help="What --entity names.")]


def keygen(
    kid: Annotated[str | None, typer.Option(metavar="KID", help="Its id; a random one by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Make a key, and print it as kid:key.

    That is how the variable AGUI_REASONING_KEYS and key files hold keys: separated by commas, the one that
    encrypts first.
    """
    written = KeyRing.generate(kid).to_env()
    name, _, key = written.partition(":")
    print(json.dumps({"kid": name, "key": key}) if as_json else written)


def encrypt(
    file: _File,
    thread: _Thread,
    tenant: TenantOption = "",
    entity: _Entity = "",
    subtype: _Subtype = "message",
    ttl_s: Annotated[int | None, typer.Option("--ttl-s", help="Seconds until it expires.")] = None,
    pad_to: Annotated[int, typer.Option("--pad-to", help="Spaces hide the length up to this.")] = 0,
    keys_env: KeysEnv = DEFAULT_VARIABLE,
    keys_file: KeysFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Encrypt a file for a thread, and print the token (a JWE).

    FILE is encrypted byte for byte, its last line break included.
    """
    ring = key_ring(keys_env, keys_file)
    binding = Binding(thread, tenant=tenant, entity_id=entity, subtype=subtype)
    token = ring.encrypt(read_file(file), binding, ttl_s=ttl_s, pad_to=pad_to)
    print(json.dumps({"token": token}) if as_json else token)


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
    """Decrypt a token, and print what is in it, byte for byte.

    FILE holds one token. Ends with 1 when it does not open, which has the same message whatever the cause.
    """
    ring = key_ring(keys_env, keys_file)
    token = read_file(file).decode("utf-8", "replace").strip()
    binding = Binding(thread, tenant=tenant, entity_id=entity, subtype=subtype)
    try:
        plaintext = ring.decrypt(token, binding)
    except DecryptionError as error:
        raise typer.Exit(complain(error) and 1) from None
    if as_json:
        print(json.dumps({"plaintext": plaintext.decode("utf-8", "replace")}))
    else:
        sys.stdout.buffer.write(plaintext)
