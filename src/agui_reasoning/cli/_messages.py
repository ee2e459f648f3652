"""``reduce`` and ``trace`` show what one thread holds; ``bulk`` works on many stored threads at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib import import_module
from typing import Annotated, Any, Literal

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from agui_reasoning._escaping import one_line
from agui_reasoning._strict_json import load
from agui_reasoning.attribution import TraceRecord
from agui_reasoning.attribution import trace as trace_of
from agui_reasoning.cli._app import File
from agui_reasoning.cli._console import new_console
from agui_reasoning.cli._files import Stream, read_file, read_stream
from agui_reasoning.cli._output import counted, progress, put, put_json, warn
from agui_reasoning.consumer import Conversation
from agui_reasoning.crypto import looks_like_token
from agui_reasoning.errors import ConfigurationError, MissingExtraError, RemoteProtocolError
from agui_reasoning.request import restore
from agui_reasoning.wire import read_events

_STYLES = {"reasoning": "magenta", "assistant": "green", "tool": "yellow", "activity": "blue"}


def reduce(
    file: File,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array of messages.")] = False,
) -> None:
    """Print the messages a client holds after an AG-UI stream.

    FILE holds the events as server-sent events, JSON lines or a JSON array. If the stream breaks the protocol
    or is truncated, the messages up to that point are printed.
    """
    conversation = Conversation(on_warning=warn)
    failure = _receive(conversation, read_stream(file))
    messages = [message.model_dump(by_alias=True) for message in conversation.messages]
    if as_json:
        put_json(messages)
    else:
        console = new_console()
        for message in messages:
            style = _STYLES.get(message["role"], "bold")
            _show(console, (message["role"], style), message["id"], _message_lines(message))
    if failure is not None:
        raise failure


def _receive(conversation: Conversation, stream: Stream) -> RemoteProtocolError | None:
    try:
        for event in stream.events:
            conversation.receive(event)
        if stream.error is not None:
            return stream.error
        conversation.end_of_stream()
    except RemoteProtocolError as error:
        return error
    if not stream.cut:
        return None
    return RemoteProtocolError(
        "The stream ended in the middle of an event, after the end of a run.",
        code="truncated_stream",
        hint="The connection was probably lost.",
    )


def _message_lines(message: dict[str, Any]) -> Iterator[str]:
    content = message.get("content")
    if isinstance(content, str):
        yield from content.split("\n") if content else ()
    elif content is not None:
        yield json.dumps(content, ensure_ascii=False)
    yield from _encrypted_value(message)
    for call in message.get("toolCalls", ()):
        yield f"{call['function']['name']}({call['function']['arguments']})  {call['id']}"
        yield from _encrypted_value(call)


def _encrypted_value(holder: dict[str, Any]) -> Iterator[str]:
    if "encryptedValue" in holder:
        yield f"[encrypted value: {len(holder['encryptedValue'])} characters]"


def trace(
    file: File,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array of records.")] = False,
) -> None:
    """Show which reasoning led to which tool call.

    FILE holds an AG-UI stream (server-sent events, JSON lines or a JSON array), a RunAgentInput, or an array
    of messages. Only reasoning that a client was shown is printed: encrypted values are not opened.
    """
    records = trace_of(restore(_messages(read_file(file))))
    if as_json:
        put_json([asdict(record) for record in records])
    else:
        console = new_console()
        for record in records:
            name = one_line(record.name or "unknown")
            head = (name, "yellow") if record.call_id is not None else ("answer", "green")
            _show(console, head, record.call_id or "", _record_lines(record))
        if not records:
            console.print("No tool calls and no answers.")


def _messages(data: bytes) -> list[dict[str, Any]]:
    given = load(data.decode(errors="replace"))
    messages = given.get("messages") if isinstance(given, dict) else given
    if not isinstance(messages, list) or any(not _is_message(message) for message in messages):
        messages = _reduced(data)
    return [_readable(message) for message in messages]


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and "role" in value and "type" not in value


def _reduced(data: bytes) -> list[dict[str, Any]]:
    conversation = Conversation(on_warning=warn)
    events = read_events(data)
    if not events:
        raise RemoteProtocolError(
            "The file holds neither AG-UI events nor messages.",
            code="bad_input",
            hint="Pass a stream, a RunAgentInput, or an array of its messages.",
        )
    for event in events:
        conversation.receive(event)
    return [message.model_dump(by_alias=True, exclude_none=True) for message in conversation.messages]


def _readable(message: dict[str, Any]) -> dict[str, Any]:
    """Leave out what only keys open; what the client was shown counts."""
    value = message.get("encryptedValue")
    if isinstance(value, str) and looks_like_token(value):
        return {name: held for name, held in message.items() if name != "encryptedValue"}
    return message


def _record_lines(record: TraceRecord) -> Iterator[str]:
    if record.arguments:
        yield f"arguments  {record.arguments}"
    if record.reasoning_ref is not None:
        yield f"reasoning  that of {record.reasoning_ref} ({record.how})"
    elif record.how is None:
        yield "reasoning  none"
    else:
        first, *others = (record.reasoning or "(not shown)").split("\n")
        yield f"reasoning  {first}"
        yield from (f"           {line}" for line in others)


def _show(console: Console, head: tuple[str, str], identifier: str, lines: Iterable[str]) -> None:
    """Print lines below a head with its style and an ID."""
    title = Text.assemble(head, (f"  {one_line(identifier)}".rstrip(), "dim"))
    for text in (title, *(Text(f"  {line}") for line in lines)):
        console.print(text, soft_wrap=True)


_READS = frozenset({"check", "audit"})


def bulk(
    step: Annotated[
        Literal["upgrade", "rekey", "reduce", "check", "erase", "audit"],
        typer.Argument(metavar="STEP", help="What to do with each thread."),
    ],
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="JSON lines or Parquet: an address, also with wildcards.")
    ],
    target: Annotated[
        str | None, typer.Argument(metavar="TARGET", help="The folder of the results and their reports.")
    ] = None,
    workers: Annotated[
        int, typer.Option("--workers", metavar="N", min=1, help="The number of processes.")
    ] = 1,
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", metavar="ADDRESS", help="A Dask scheduler to work on.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Work on the stored threads of many files.

    STEP is upgrade, rekey, reduce, check, erase or audit. A thread is a line of JSON or a row of Parquet,
    with threadId, and messages or events. Each file of SOURCE becomes one of TARGET, written whole or not at
    all; if the command is interrupted, it goes on at the next start. Workers take the keys from their
    environment.
    """
    from agui_reasoning import bulk as threads

    if target is None and step not in _READS:
        raise ConfigurationError(
            f"{step} writes threads, but there is no TARGET.",
            code="no_target",
            hint="Pass a folder for them.",
        )
    parts = threads.parts(source, target)
    with _mapped(workers, scheduler) as mapped, progress("bulk", len(parts), quiet=as_json) as bar:

        def counting(function: Callable[[Any], Any], given: Iterable[Any]) -> Iterator[Any]:
            for done in mapped(function, given):
                yield done
                bar.advance(1)

        summary = threads.run(parts, getattr(threads, step), map=counting)
    if as_json:
        put_json(msgspec.to_builtins(summary))
    else:
        put(f"{counted(summary.threads, 'thread')} in {counted(summary.parts, 'part')}")
        for code, count in sorted(summary.counts.items()):
            put(f"{count:>12}  {code}")
    if any(code.startswith("error.") for code in summary.counts):
        raise typer.Exit(1)


@contextmanager
def _mapped(workers: int, scheduler: str | None) -> Iterator[Callable[..., Iterable[Any]]]:
    if scheduler is not None:
        try:
            dask: Any = import_module("distributed")
        except ImportError:
            raise MissingExtraError("agui-reasoning bulk --scheduler", "bulk") from None

        with dask.Client(scheduler) as client:
            yield lambda function, parts: (
                done.result() for done in dask.as_completed(client.map(function, list(parts), pure=False))
            )
    elif workers > 1:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            yield pool.map
    else:
        yield map
