"""``rekey``: re-encrypt the values of stored histories with the primary key."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Final

import typer

from agui_reasoning.cli._output import put, put_json
from agui_reasoning.cli._progress import progress
from agui_reasoning.cli._reading import STDIN, lines, opened, size_of
from agui_reasoning.cli._report import line, warn
from agui_reasoning.cli._rewrite import FileSink, Rewrite, Standard
from agui_reasoning.cli._ring import KeysEnv, KeysFile, TenantOption, key_ring, not_empty
from agui_reasoning.cli._stored import (
    StoredHistory,
    StoredRecord,
    StoredValue,
    histories,
    records,
    replace_strings,
    stored_values,
)
from agui_reasoning.crypto import Binding, KeyRing, looks_like_token
from agui_reasoning.crypto._jwe import read_header
from agui_reasoning.crypto._keys import DEFAULT_VARIABLE
from agui_reasoning.crypto._rekey import renewed
from agui_reasoning.errors import ConfigurationError, DecryptionError

__all__ = ["rekey"]

_MAX_KEPT: Final = 1000
"""The most undecryptable tokens kept individually, so that memory use does not grow with the file."""
_MAX_PRINTED: Final = 20
_NAMED: Final = 5


def rekey(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A path, or - for standard input.")],
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
    rekeyer = _Rekeyer(key_ring(keys_env, keys_file), thread, tenant)
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
    report = rekeyer.report(file, dry_run)
    stream = _report_stream(to_stdout)
    if as_json:
        put_json(report, file=stream)
    else:
        put(_sentence(report), file=stream)
        _list(rekeyer.tally)
    if rekeyer.tally.undecryptable:
        line("error", f"{rekeyer.failure()} [undecryptable]")
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True)
class _Place:
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
    unopened: list[_Place] = field(default_factory=list)


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

    def report(self, file: str, dry_run: bool) -> dict[str, Any]:
        """Return the outcome as JSON."""
        return {"file": file, "primary": self._ring.primary, "dry_run": dry_run, **asdict(self.tally)}

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
            header = read_header(value.value.partition(".")[0])
            kid = None if header is None else header.kid
            self._add_undecryptable(_Place(record.line, binding.thread_id, value.message_id, kid))
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

    def _add_undecryptable(self, place: _Place) -> None:
        self.tally.undecryptable += 1
        if len(self.tally.unopened) < _MAX_KEPT:
            self.tally.unopened.append(place)


def _report_stream(to_stdout: bool) -> Any:
    """Return the stream for the report, which must not mix with histories on stdout."""
    return sys.stderr if to_stdout else sys.stdout


def _sentence(report: dict[str, Any]) -> str:
    done = "would be rekeyed" if report["dry_run"] else "rekeyed"
    histories = "history" if report["histories"] == 1 else "histories"
    tokens = "token" if report["tokens"] == 1 else "tokens"
    return (
        f"{report['file']}: {report['tokens']} {tokens} in {report['histories']} {histories}: "
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
