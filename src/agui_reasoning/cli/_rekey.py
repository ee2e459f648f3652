"""``rekey``: the values of stored histories under the primary key."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Final

import typer

from agui_reasoning.cli._reading import STDIN, lines, opened, progress
from agui_reasoning.cli._report import line, warn
from agui_reasoning.cli._rewrite import FileSink, Rewrite, Standard
from agui_reasoning.cli._ring import KeysEnv, KeysFile, TenantOption, key_ring, named
from agui_reasoning.cli._stored import (
    StoredHistory,
    StoredRecord,
    StoredValue,
    histories,
    records,
    replaced,
    stored_values,
)
from agui_reasoning.crypto import Binding, KeyRing, looks_like_token
from agui_reasoning.crypto._jwe import read_header
from agui_reasoning.crypto._keys import DEFAULT_VARIABLE
from agui_reasoning.crypto._rekey import renewed
from agui_reasoning.errors import ConfigurationError, DecryptionError

__all__ = ["rekey"]

_LISTED: Final = 1000
"""How many tokens that do not open are remembered one by one: memory does not grow with the file."""
_SHOWN: Final = 20
_NAMED: Final = 5


def rekey(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A path, or - for standard input.")],
    thread: Annotated[
        str | None,
        typer.Option("--thread", metavar="ID", help="The thread of what names none.", callback=named),
    ] = None,
    tenant: TenantOption = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")
    ] = False,
    keys_env: KeysEnv = DEFAULT_VARIABLE,
    keys_file: KeysFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Encrypt the values of stored histories again with the first key of the ring.

    FILE is JSON or JSON lines: arrays of messages, messages, or objects with threadId and messages. It is
    replaced as a whole, when all is done; whatever stops the command leaves it as it was. What does not open
    stays as it is, is listed, and makes the command end with 1. Run it again as often as you like.
    """
    work = _Work(key_ring(keys_env, keys_file), thread, tenant)
    to_stdout = file == STDIN and not dry_run
    with opened(file) as source, progress("rekey", source, quiet=as_json or to_stdout) as advance:
        sink = FileSink() if dry_run else Standard() if to_stdout else Rewrite(file, source)
        with sink:
            work.all(lines(file, source), sink, advance)
            source.close()
            sink.commit()
    report = work.report(file, dry_run)
    print(json.dumps(report, indent=2) if as_json else _sentence(report), file=_out(to_stdout))
    if not as_json:
        _list(work.tally)
    if work.tally.undecryptable:
        line("error", f"{work.failure()} [undecryptable]")
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a token stands that does not open, and the key it names, if it names one."""

    line: int
    thread_id: str
    message_id: str
    kid: str | None


@dataclass(slots=True)
class _Tally:
    """What was found, and what became of it."""

    histories: int = 0
    tokens: int = 0
    rekeyed: int = 0
    current: int = 0
    undecryptable: int = 0
    other: int = 0
    unopened: list[_Place] = field(default_factory=list)


class _Work:
    """The values of one file."""

    def __init__(self, ring: KeyRing, thread: str | None, tenant: str) -> None:
        self.tally = _Tally()
        self._ring = ring
        self._thread = thread
        self._tenant = tenant

    def all(self, lines: Iterator[bytes], sink: FileSink, advance: Callable[[float], None]) -> None:
        """Hand every record on, with new values in it where there are any."""
        for record in records(lines):
            changes = self._changes(record, advance)
            if changes:
                sink.change(replaced(record.data, changes))
            else:
                sink.keep(record.data)

    def report(self, file: str, dry_run: bool) -> dict[str, Any]:
        """What was done, as JSON."""
        return {"file": file, "primary": self._ring.primary, "dry_run": dry_run, **asdict(self.tally)}

    def failure(self) -> str:
        """How many tokens do not open, and what to do about them."""
        kids = {place.kid for place in self.tally.unopened if place.kid is not None}
        missing = sorted(kids.difference(self._ring.kids))
        names = ", ".join(missing[:_NAMED]) + (", ..." if len(missing) > _NAMED else "")
        keys = f", and add the keys they name to the ring ({names})" if missing else ""
        return (
            f"Tokens that do not open: {self.tally.undecryptable}. Give the --tenant and --thread they were "
            f"encrypted for{keys}; else they have expired or were altered."
        )

    def _changes(self, record: StoredRecord, advance: Callable[[float], None]) -> dict[str, str]:
        """The tokens of a record that are to be replaced, each with what replaces it."""
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
        home = self._home(record, history)
        try:
            new = renewed(value.value, self._ring, home, value.entity_id, value.subtype)
        except DecryptionError:
            header = read_header(value.value.partition(".")[0])
            kid = None if header is None else header.kid
            self._unopened(_Place(record.line, home.thread_id, value.message_id, kid))
            return value.value
        self.tally.rekeyed += new != value.value
        self.tally.current += new == value.value
        return new

    def _home(self, record: StoredRecord, history: StoredHistory) -> Binding:
        thread = self._thread if history.thread_id is None else history.thread_id
        if thread is None:
            raise ConfigurationError(
                f"The history that begins at line {record.line} does not say which thread it belongs to.",
                code="no_thread",
                hint="Add --thread.",
            )
        return Binding(thread, tenant=self._tenant)

    def _unopened(self, place: _Place) -> None:
        self.tally.undecryptable += 1
        if len(self.tally.unopened) < _LISTED:
            self.tally.unopened.append(place)


def _out(to_stdout: bool) -> Any:
    """Where the report goes: beside the histories, not among them."""
    return sys.stderr if to_stdout else sys.stdout


def _sentence(report: dict[str, Any]) -> str:
    done = "would be rekeyed" if report["dry_run"] else "rekeyed"
    histories = "history" if report["histories"] == 1 else "histories"
    tokens = "token" if report["tokens"] == 1 else "tokens"
    return (
        f"{report['file']}: {report['tokens']} {tokens} in {report['histories']} {histories}: "
        f"{report['rekeyed']} {done} to {report['primary']}, {report['current']} there already, "
        f"{report['undecryptable']} not opening."
    )


def _list(tally: _Tally) -> None:
    for place in tally.unopened[:_SHOWN]:
        warn(
            f"line {place.line}, thread {place.thread_id}, message {place.message_id}: "
            f"the token{f' of key {place.kid}' if place.kid else ''} does not open and stays as it is."
        )
    if tally.undecryptable > _SHOWN:
        warn(f"and {tally.undecryptable - _SHOWN} more.")
