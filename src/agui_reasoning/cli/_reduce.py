"""``reduce``: print the messages a client holds after an AG-UI stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer
from rich.text import Text

from agui_reasoning._demo.screen import stdout_console
from agui_reasoning._escaping import escaped, one_line
from agui_reasoning.cli._output import put_json
from agui_reasoning.cli._report import warn
from agui_reasoning.cli._stream import Stream, read_stream
from agui_reasoning.consumer import Conversation
from agui_reasoning.errors import RemoteProtocolError

__all__ = ["reduce"]

_STYLES = {"reasoning": "magenta", "assistant": "green", "tool": "yellow", "activity": "blue"}


def reduce(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A path, or - for standard input.")],
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
        _show(messages)
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
    return _truncated() if stream.cut else None


def _truncated() -> RemoteProtocolError:
    return RemoteProtocolError(
        "The stream ended in the middle of an event, after the end of a run.",
        code="truncated_stream",
        hint="The connection was probably lost.",
    )


def _show(messages: Sequence[dict[str, Any]]) -> None:
    console = stdout_console()
    for message in messages:
        head = (message["role"], _STYLES.get(message["role"], "bold"))
        console.print(Text.assemble(head, (f"  {one_line(message['id'])}", "dim")), soft_wrap=True)
        for line in _lines(message):
            console.print(Text(f"  {escaped(line)}"), soft_wrap=True)


def _lines(message: dict[str, Any]) -> Iterator[str]:
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
