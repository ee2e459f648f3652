"""Work on stored threads in bulk: in this process, in several, or on Dask or Ray.

A part is a file of threads, one per line of JSON or per row of Parquet, at any address of fsspec. A thread is
an object with ``threadId``, and ``messages`` (see `Conversation.to_json`) or ``events``; ``tenant`` is
its tenant. Other members are kept.
"""

from __future__ import annotations

import builtins
import io
import os
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from glob import escape as glob_escape
from glob import glob
from itertools import islice
from typing import IO, Any, Final, Protocol, TypeAlias

import msgspec
from msgspec import Struct

from agui_reasoning._limits import DEFAULT_LIMITS
from agui_reasoning._strict_json import JSONObject, Malformed, dump, load
from agui_reasoning.compat import ThinkingUpgrader, translate
from agui_reasoning.consumer import Conversation, check_events
from agui_reasoning.crypto import DEFAULT_VARIABLE, Binding, KeyRing, Subtype, looks_like_token, renewed
from agui_reasoning.errors import AGUIReasoningError, ConfigurationError, DecryptionError, MissingExtraError
from agui_reasoning.request import erase_reasoning, restore

__all__ = [
    "Done",
    "Part",
    "Step",
    "Summary",
    "audit",
    "check",
    "erase",
    "parts",
    "reduce",
    "rekey",
    "run",
    "upgrade",
]

_NESTED: Final = ("messages", "events", "state")
"""The members that columns of Parquet hold as JSON text."""

_ADDED: Final = ("messages", "state", "pendingToolCallIds", "interrupts", "status")
"""What `reduce` adds to threads."""

_ROWS: Final = 256

_LONGEST: Final = 4 * DEFAULT_LIMITS.bytes
"""The bytes that no line has: more than a thread may have, because of escapes and events."""


class _AsWritten(str):
    """Text that is not JSON."""


class Done(Struct, frozen=True):
    """The outcome for one thread.

    Attributes:
        thread: What is written in its place; ``None`` leaves it as it was.
        counts: What was found, by code.
    """

    thread: JSONObject | None = None
    counts: dict[str, int] = msgspec.field(default_factory=dict)


Step: TypeAlias = Callable[[JSONObject], Done]
"""Works on one thread. It must be a function of a module, which other processes can import."""


class Part(Struct, frozen=True):
    """A file of threads.

    Attributes:
        source: Its address.
        target: The address of what is written; ``None`` if nothing is.
    """

    source: str
    target: str | None = None


class Summary(Struct):
    """What was done.

    Attributes:
        parts: The number of parts, also of those that were finished before.
        threads: The number of threads in them.
        counts: What was found, by code, and under ``error.`` the threads that could not be worked on.
    """

    parts: int = 0
    threads: int = 0
    counts: dict[str, int] = msgspec.field(default_factory=dict)

    def add(self, other: Summary) -> None:
        """Add another summary."""
        self.parts += other.parts
        self.threads += other.threads
        self.counts = dict(Counter(self.counts) + Counter(other.counts))


class Map(Protocol):
    """The builtin ``map``, or that of a pool or a cluster."""

    def __call__(self, function: Callable[[Part], Summary], parts: Iterable[Part], /) -> Iterable[Summary]:
        """Return the summaries of parts, in any order."""


# -- steps


def upgrade(thread: JSONObject) -> Done:
    """Turn the THINKING_* events of a thread into REASONING_* events."""
    # Warnings are ignored: the findings of `check` say more.
    events = list(translate(thread["events"], ThinkingUpgrader(on_warning=lambda warning: None)))
    return Done(thread | {"events": events}, {"upgraded": int(events != thread["events"])})


def rekey(thread: JSONObject) -> Done:
    """Encrypt the values of a thread with the first key of the environment's ring."""
    ring, counts = _ring(), Counter[str]()
    binding = Binding(thread["threadId"], tenant=thread.get("tenant", ""))
    messages = msgspec.to_builtins(thread["messages"])
    for message in messages:
        for holder in (message, *message.get("toolCalls", ())):
            value = holder.get("encryptedValue", "")
            if not looks_like_token(value):
                continue
            try:
                subtype: Subtype = "message" if holder is message else "tool-call"
                holder["encryptedValue"] = renewed(value, ring, binding, holder["id"], subtype)
                counts["rekeyed" if holder["encryptedValue"] != value else "current"] += 1
            except DecryptionError:
                counts["undecryptable"] += 1
    return Done(thread | {"messages": messages}, dict(counts))


def reduce(thread: JSONObject) -> Done:
    """Turn the events of a thread into the messages and the state that its client holds."""
    conversation = Conversation(thread.get("threadId"), on_warning=lambda warning: None)
    for event in thread["events"]:
        conversation.receive(event)
    conversation.end_of_stream()
    rest = {name: value for name, value in thread.items() if name != "events"}
    return Done(rest | load(conversation.to_json()))


def check(thread: JSONObject) -> Done:
    """Count the findings in the events of a thread."""
    return Done(counts=Counter(finding.code for finding in check_events(thread["events"])))


def erase(thread: JSONObject) -> Done:
    """Remove the reasoning from the messages of a thread."""
    erased = erase_reasoning(thread["messages"])
    messages = [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in erased]
    return Done(thread | {"messages": messages})


def audit(thread: JSONObject) -> Done:
    """Count which reasoning of a thread could go back to its provider, and why the rest could not."""
    ring = _ring() if DEFAULT_VARIABLE in os.environ else None
    history = restore(
        thread["messages"], keys=ring, thread_id=thread["threadId"], tenant=thread.get("tenant", "")
    )
    return Done(counts=Counter(".".join(filter(None, [one.outcome, one.reason])) for one in history.report))


# -- parts


def parts(source: str, target: str | None = None) -> list[Part]:
    """Return the parts at an address, which may have wildcards; each is written to the target's folder.

    Raises:
        ConfigurationError: There is no file at the address (``no_parts``), or the name of one cannot be used
            (``bad_part``).
        MissingExtraError: fsspec is not installed (``missing_extra``).
    """
    system, path = _system(source)
    found = [system.unstrip_protocol(one) for one in sorted(system.glob(path))]
    if not found:
        raise ConfigurationError(
            "There is no file at the address of the threads.",
            code="no_parts",
            hint='Pass the address of a file, or one with wildcards such as "threads/*.jsonl".',
        )
    folder = None if target is None else target.rstrip("/")
    made = [Part(one, None if folder is None else f"{folder}/{os.path.basename(one)}") for one in found]
    written = Counter(name for one in made if one.target for name in (one.target, _report_of(one.target)))
    if any("::" in one and one not in source for one in found):
        raise _bad_part("The name of a file has `::`, which joins addresses.", "Rename the file.")
    if any(count > 1 for count in written.values()):
        raise _bad_part("Several files would become the same one.", "Rename them, or write to other folders.")
    return made


def _bad_part(told: str, hint: str) -> ConfigurationError:
    return ConfigurationError(told, code="bad_part", hint=hint)


def _report_of(target: str) -> str:
    return f"{target}.report.json"


def run(parts: Iterable[Part], step: Step, *, map: Map = builtins.map) -> Summary:  # noqa: A002 -- by contract
    """Work on all threads of some parts.

    A part is written under another name and renamed, and its report last: a second start does again only what
    has no report. A thread that cannot be worked on is written as it was.

    Args:
        parts: The parts.
        step: What to do with each thread.
        map: The builtin ``map``, or that of a process pool, of Dask or of Ray.

    Raises:
        ConfigurationError: A part cannot be read or written (``bad_part``); those before it are finished.
    """
    total = Summary()
    for summary in map(partial(_work, step), parts):
        total.add(summary)
    return total


def _work(step: Step, part: Part) -> Summary:
    summary = Summary(parts=1)
    threads = (_stepped(step, thread, summary) for thread in _threads(part.source))
    if part.target is None:
        deque(threads, maxlen=0)
        return summary
    report = _report_of(part.target)
    system, path = _system(report)
    if system.exists(path):
        with system.open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=Summary)
    with _written(part.target) as file:
        _write(part, file, threads)
    with _written(report) as file:
        file.write(msgspec.json.encode(summary))
    return summary


def _stepped(step: Step, thread: Any, summary: Summary) -> Any:
    try:
        done = step(thread)
    except AGUIReasoningError as error:
        done = Done(counts={f"error.{error.code}": 1})
    except (KeyError, TypeError, AttributeError, ValueError):
        done = Done(counts={"error.bad_thread": 1})
    summary.add(Summary(threads=1, counts=done.counts))
    return thread if done.thread is None else done.thread


def _threads(address: str) -> Iterator[Any]:
    """Yield the threads of a file, one at a time."""
    if address.endswith(".parquet"):
        yield from _rows(address)
        return
    system, path = _system(address)
    with system.open(path, "rb") as file, io.BufferedReader(file) as lines:
        for line in iter(partial(lines.readline, _LONGEST), b""):
            if len(line) == _LONGEST:
                raise _bad_part("A line is too long for one thread.", "Cut it, or remove the file.")
            if text := line.decode("utf-8", "surrogateescape").strip():
                yield _loaded(text)


def _rows(address: str) -> Iterator[JSONObject]:
    with _parquet(address) as file:
        for batch in file.iter_batches(_ROWS):
            for row in batch.to_pylist():
                texts = {name: row[name] for name in _NESTED if isinstance(row.get(name), str | bytes)}
                nested = {
                    name: _loaded(text if isinstance(text, str) else text.decode())
                    for name, text in texts.items()
                }
                yield {name: value for name, value in row.items() if value is not None} | nested


@contextmanager
def _parquet(address: str) -> Iterator[Any]:
    """Open a file of Parquet, and raise what is wrong with it as `ConfigurationError`."""
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    system, path = _system(address)
    try:
        with system.open(path, "rb") as file:
            yield ParquetFile(file)
    except (ArrowException, ArithmeticError, OSError, ValueError):
        raise _bad_part(
            "A file of Parquet cannot be read.", "Check that it is whole, or remove it."
        ) from None


def _loaded(text: str) -> Any:
    value = load(text)
    return _AsWritten(text) if isinstance(value, Malformed) else value


def _dumped(value: Any) -> str:
    return str(value) if isinstance(value, _AsWritten) else dump(value)


def _write(part: Part, file: IO[bytes], threads: Iterable[Any]) -> None:
    if part.source.endswith(".parquet"):
        _write_rows(part.source, file, threads)
        return
    for thread in threads:
        file.write(_dumped(thread).encode("utf-8", "surrogateescape") + b"\n")


def _write_rows(source: str, file: IO[bytes], threads: Iterable[JSONObject]) -> None:
    """Write rows with the columns of the source, and those that the step adds."""
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    with _parquet(source) as read:
        known = {field.name: field.type for field in read.schema_arrow}
    columns = dict.fromkeys(_ADDED if "events" in known else (), pyarrow.string()) | known
    columns |= {name: pyarrow.string() for name in _NESTED if name in columns}
    left = iter(threads)
    rows = [_row(thread, known) for thread in islice(left, _ROWS)]
    added = sorted({name for row in rows for name in row} - columns.keys())
    of_first = pyarrow.Table.from_pylist([{name: row.get(name) for name in added} for row in rows])
    columns |= {field.name: field.type for field in of_first.schema}
    with ParquetWriter(file, pyarrow.schema(columns)) as writer:
        while rows:
            if not columns.keys() >= {name for row in rows for name in row}:
                raise _bad_part("The step adds a column after the first rows.", "Add it to the first, too.")
            writer.write_table(pyarrow.Table.from_pylist(rows, writer.schema))
            rows = [_row(thread, known) for thread in islice(left, _ROWS)]


def _row(thread: JSONObject, known: Collection[str]) -> JSONObject:
    texts = {*_NESTED, *(name for name in _ADDED[:-1] if name not in known)}
    try:
        return {name: _dumped(value) if name in texts else value for name, value in thread.items()}
    except TypeError:
        raise _bad_part("A column of a file of Parquet holds what is not JSON.", "Store text.") from None


@contextmanager
def _written(address: str) -> Iterator[IO[bytes]]:
    """Write a file whole or not at all: rename it in its folder, or put it into its object store at once."""
    system, path = _system(address)
    is_local = "file" in system.protocol
    folder, name = os.path.split(path)
    if is_local:
        os.makedirs(folder, exist_ok=True)
        for left in glob(f"{glob_escape(folder)}/.{glob_escape(name)}.*.tmp"):
            os.unlink(left)  # of a process that was killed
    where = folder if is_local else None
    with tempfile.NamedTemporaryFile(dir=where, prefix=f".{name}.", suffix=".tmp", delete=False) as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(file.name, path) if is_local else system.put_file(file.name, path)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(file.name)


def _system(address: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise MissingExtraError("agui_reasoning.bulk", "bulk") from None
    found: tuple[Any, str] = url_to_fs(address)
    return found


@cache
def _ring() -> KeyRing:
    """Return the ring of this process's environment: rings are never sent to other processes."""
    return KeyRing.from_env()
