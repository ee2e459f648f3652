"""``trace``: show which reasoning led to which tool call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.text import Text

from agui_reasoning._demo.screen import stdout_console
from agui_reasoning._escaping import escaped, one_line
from agui_reasoning._strict_json import load
from agui_reasoning.attribution import TraceRecord
from agui_reasoning.attribution import trace as trace_of
from agui_reasoning.cli._output import put_json
from agui_reasoning.cli._report import warn
from agui_reasoning.cli._source import read_file
from agui_reasoning.consumer import Conversation
from agui_reasoning.crypto import looks_like_token
from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.request import restore
from agui_reasoning.wire import read_events

__all__ = ["trace"]


def trace(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A path, or - for standard input.")],
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
        _show(records)


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


def _show(records: list[TraceRecord]) -> None:
    console = stdout_console()
    for record in records:
        name = one_line(record.name or "unknown")
        head = (name, "yellow") if record.call_id is not None else ("answer", "green")
        console.print(
            Text.assemble(head, (f"  {one_line(record.call_id or '')}".rstrip(), "dim")), soft_wrap=True
        )
        for line in _lines(record):
            console.print(Text(f"  {escaped(line)}"), soft_wrap=True)
    if not records:
        console.print("No tool calls and no answers.")


def _lines(record: TraceRecord) -> Iterator[str]:
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
