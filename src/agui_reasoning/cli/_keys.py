"""``keygen``, ``encrypt``, ``decrypt`` and ``rekey``: keys, tokens, and values of stored histories.

A record of stored histories is a line of JSON lines, or the whole file if it is one JSON value. Values are
replaced in place, and every other byte of a record is preserved.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Final, TypeAlias

import typer

from agui_reasoning._strict_json import Malformed, dump, load
from agui_reasoning.cli._app import File, KeysEnv, KeysFile, TenantOption, key_ring, not_empty
from agui_reasoning.cli._files import (
    JSON_STRING,
    STDIN,
    FileSink,
    Rewrite,
    Standard,
    lines,
    opened,
    read_file,
    size_of,
)
from agui_reasoning.cli._output import complain, counted, progress, put, put_exact, put_json, tell, warn
from agui_reasoning.crypto import (
    DEFAULT_VARIABLE,
    Binding,
    KeyRing,
    Subtype,
    looks_like_token,
    renewed,
    token_key_id,
)
from agui_reasoning.errors import ConfigurationError, DecryptionError, RemoteProtocolError

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

_MAX_KEPT: Final = 1000
"""The most undecryptable tokens kept individually, so that memory use does not grow with the file."""
_MAX_PRINTED: Final = 20
_NAMED: Final = 5

_BOM: Final = b"\xef\xbb\xbf"
# The wire name, and the Python name that models dumped without aliases have.
_VALUE: Final = ("encryptedValue", "encrypted_value")
_CALLS: Final = ("toolCalls", "tool_calls")
_THREAD: Final = ("threadId", "thread_id")


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
    if as_json:
        put_json({"kid": name, "key": key}, indent=None)
    else:
        put(written)


def encrypt(
    file: File,
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
    if as_json:
        put_json({"token": token}, indent=None)
    else:
        put(token)


def decrypt(
    file: File,
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


# -- stored histories


def rekey(
    file: File,
    thread: Annotated[
        str | None,
        typer.Option(
            "--thread", metavar="ID", help="The thread of histories that do not name one.", callback=not_empty
        ),
    ] = None,
    tenant: TenantOption = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Report what would change without writing.")
    ] = False,
    keys_env: KeysEnv = DEFAULT_VARIABLE,
    keys_file: KeysFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Re-encrypt the values of stored histories with the first key of the ring.

    FILE is JSON or JSON lines: arrays of messages, messages, or objects with threadId and messages. It is
    replaced atomically at the end; an interrupted command leaves it unchanged. Tokens that cannot be
    decrypted are kept and listed. It is safe to run the command repeatedly.
    """
    ring = key_ring(keys_env, keys_file)
    rekeyer = _Rekeyer(ring, thread, tenant)
    to_stdout = file == STDIN and not dry_run
    with (
        opened(file) as source,
        progress("rekey", size_of(source), quiet=as_json or to_stdout, in_bytes=True) as bar,
    ):
        sink = FileSink() if dry_run else Standard() if to_stdout else Rewrite(file, source)
        with sink:
            rekeyer.all(lines(file, source), sink, bar.advance)
            source.close()
            sink.commit()
    report = {"file": file, "primary": ring.primary, "dry_run": dry_run, **asdict(rekeyer.tally)}
    stream = sys.stderr if to_stdout else sys.stdout  # it must not mix with histories
    if as_json:
        put_json(report, file=stream)
    else:
        put(_sentence(report), file=stream)
        _list(rekeyer.tally)
    if rekeyer.tally.undecryptable:
        tell("error", f"{rekeyer.failure()} [undecryptable]")
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True)
class _KeptToken:
    """The location of a token that cannot be decrypted, and the key ID it names, if any."""

    line: int
    thread_id: str
    message_id: str
    kid: str | None


@dataclass(slots=True)
class _Tally:
    """Counts of the tokens found and their outcomes."""

    histories: int = 0
    tokens: int = 0
    rekeyed: int = 0
    current: int = 0
    undecryptable: int = 0
    other: int = 0
    unopened: list[_KeptToken] = field(default_factory=list)


class _Rekeyer:
    """Re-encrypts the values of one file."""

    def __init__(self, ring: KeyRing, thread: str | None, tenant: str) -> None:
        self.tally = _Tally()
        self._ring = ring
        self._thread = thread
        self._tenant = tenant

    def all(self, lines: Iterator[bytes], sink: FileSink, advance: Callable[[float], None]) -> None:
        """Write every record to the sink, with its re-encrypted values."""
        for record in records(lines):
            changes = self._changes(record, advance)
            if changes:
                sink.change(replace_strings(record.data, changes))
            else:
                sink.keep(record.data)

    def failure(self) -> str:
        """Return the error message for tokens that cannot be decrypted."""
        kids = {place.kid for place in self.tally.unopened if place.kid is not None}
        missing = sorted(kids.difference(self._ring.kids))
        names = ", ".join(missing[:_NAMED]) + (", ..." if len(missing) > _NAMED else "")
        keys = f", and add the keys they name to the ring ({names})" if missing else ""
        return (
            f"Tokens that cannot be decrypted: {self.tally.undecryptable}. Pass the --tenant and --thread "
            f"they were encrypted for{keys}; otherwise they have expired or were altered."
        )

    def _changes(self, record: StoredRecord, advance: Callable[[float], None]) -> dict[str, str]:
        """Map each token of a record that changes to its replacement."""
        found = histories(record)
        changes: dict[str, str] = {}
        for history in found:
            self.tally.histories += bool(history.messages)
            for value in stored_values(history):
                new = self._renewed(record, history, value)
                if new != value.value:
                    changes[value.value] = new
            advance(len(record.data) / len(found))
        return changes

    def _renewed(self, record: StoredRecord, history: StoredHistory, value: StoredValue) -> str:
        if not looks_like_token(value.value):
            self.tally.other += 1
            return value.value
        self.tally.tokens += 1
        binding = self._binding(record, history)
        try:
            new = renewed(value.value, self._ring, binding, value.entity_id, value.subtype)
        except DecryptionError:
            self.tally.undecryptable += 1
            if len(self.tally.unopened) < _MAX_KEPT:
                kid = token_key_id(value.value)
                place = _KeptToken(record.line, binding.thread_id, value.message_id, kid)
                self.tally.unopened.append(place)
            return value.value
        self.tally.rekeyed += new != value.value
        self.tally.current += new == value.value
        return new

    def _binding(self, record: StoredRecord, history: StoredHistory) -> Binding:
        thread = self._thread if history.thread_id is None else history.thread_id
        if thread is None:
            raise ConfigurationError(
                f"The history at line {record.line} does not name its thread.",
                code="no_thread",
                hint="Pass --thread.",
            )
        return Binding(thread, tenant=self._tenant)


def _sentence(report: dict[str, Any]) -> str:
    done = "would be rekeyed" if report["dry_run"] else "rekeyed"
    histories = "history" if report["histories"] == 1 else "histories"
    return (
        f"{report['file']}: {counted(report['tokens'], 'token')} in {report['histories']} {histories}: "
        f"{report['rekeyed']} {done} to {report['primary']}, {report['current']} already current, "
        f"{report['undecryptable']} not decryptable."
    )


def _list(tally: _Tally) -> None:
    for place in tally.unopened[:_MAX_PRINTED]:
        warn(
            f"line {place.line}, thread {place.thread_id}, message {place.message_id}: "
            f"the token{f' of key {place.kid}' if place.kid else ''} cannot be decrypted and was kept."
        )
    if tally.undecryptable > _MAX_PRINTED:
        warn(f"and {tally.undecryptable - _MAX_PRINTED} more.")


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """One JSON value in a file: the line it starts on, from 1, and its bytes, including the line break."""

    line: int
    data: bytes


@dataclass(frozen=True, slots=True)
class StoredHistory:
    """A history in a record: the thread it names, if any, and its messages, as JSON."""

    thread_id: str | None
    messages: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class StoredValue:
    """An encrypted value in a history, the message or call that carries it, and the message with that."""

    value: str
    entity_id: str
    subtype: Subtype
    message_id: str


def records(lines: Iterable[bytes]) -> Iterator[StoredRecord]:
    """Split a file into records lazily."""
    numbered = enumerate(lines, start=1)
    head: list[bytes] = []
    for number, line in numbered:
        head.append(line)
        if not line.strip():
            continue
        # If the first line is a complete value, the file is JSON lines.
        if isinstance(_parsed(line), Malformed):
            yield StoredRecord(number, b"".join([*head, *(line for _, line in numbered)]))
        else:
            yield StoredRecord(number, b"".join(head))
            yield from (StoredRecord(number, line) for number, line in numbered)
        return
    if head:
        yield StoredRecord(1, b"".join(head))


def histories(record: StoredRecord) -> list[StoredHistory]:
    """Read the histories in a record: messages, an object with messages, or an array of these.

    Raises:
        RemoteProtocolError: The record is not JSON (``bad_json``).
        ConfigurationError: The JSON is not a history (``not_a_history``).
    """
    if not record.data.strip():
        return []
    value = _parsed(record.data)
    if isinstance(value, Malformed):
        raise RemoteProtocolError(
            f"The record at line {record.line} is not JSON.",
            code="bad_json",
            hint="Pass one JSON value, or one per line.",
        )
    items = value if isinstance(value, list) else [value]
    if all(_is_message(item) for item in items):
        return [StoredHistory(None, items)]
    return [_history(item, record.line) for item in items]


def stored_values(history: StoredHistory) -> Iterator[StoredValue]:
    """Yield the encrypted values of messages and of their tool calls."""
    for message in history.messages:
        message_id = _text(message, ("id",)) or ""
        if (value := _text(message, _VALUE)) is not None:
            yield StoredValue(value, message_id, "message", message_id)
        calls = next((message[name] for name in _CALLS if isinstance(message.get(name), list)), ())
        for call in calls:
            if isinstance(call, dict) and (value := _text(call, _VALUE)) is not None:
                yield StoredValue(value, _text(call, ("id",)) or "", "tool-call", message_id)


def replace_strings(data: bytes, changes: Mapping[str, str]) -> bytes:
    """Replace strings anywhere in the record; nothing else changes."""
    table = {_json_string(old): _json_string(new) for old, new in changes.items()}

    def replace(match: re.Match[bytes]) -> bytes:
        found: bytes = match[0]
        # Tokens need no escapes, but a writer may use them anyway.
        plain = _json_string(load(found.decode())) if b"\\" in found else found
        return table.get(plain, found)

    return JSON_STRING.sub(replace, data)


def _json_string(text: str) -> bytes:
    return dump(text).encode()


def _parsed(data: bytes) -> Any:
    try:
        return load(data.removeprefix(_BOM).decode())
    except UnicodeDecodeError:
        return Malformed(None)


def _history(item: Any, line: int) -> StoredHistory:
    messages = item.get("messages") if isinstance(item, dict) else None
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise ConfigurationError(
            f"The record at line {line} is not a history.",
            code="not_a_history",
            hint="Pass an array of messages, an object with threadId and messages, or an array of these.",
        )
    return StoredHistory(_text(item, _THREAD), messages)


def _is_message(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("role"), str)


def _text(item: Mapping[str, Any], names: Iterable[str]) -> str | None:
    return next((item[name] for name in names if isinstance(item.get(name), str)), None)
