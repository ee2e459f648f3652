"""The demo's front end: an AG-UI client over HTTP that holds one thread.

It knows no provider. What it was sent it keeps as messages, and sends back with its next run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from ag_ui.core import (
    Event,
    ReasoningEncryptedValueEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageStartEvent,
    RunErrorEvent,
    TextMessageContentEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallStartEvent,
)
from pydantic import TypeAdapter

from agui_reasoning.errors import RunFailedError, TransportError
from agui_reasoning.protocol import PROTOCOL_VERSION
from agui_reasoning.wire import MEDIA_TYPE, SSEDecoder

__all__ = ["FrontEnd", "post"]

_TIMEOUT_S: Final = 10.0
_READ_BYTES: Final = 65536
_EVENTS: TypeAdapter[Event] = TypeAdapter(Event)

JSONObject: TypeAlias = dict[str, Any]


class FrontEnd:
    """A client on one thread.

    Attributes:
        messages: What it holds, and sends with every run.
    """

    def __init__(self, url: str, thread_id: str) -> None:
        self.messages: list[JSONObject] = []
        self._url = url
        self._thread_id = thread_id
        self._runs = 0
        self._entities: dict[tuple[str, str], JSONObject] = {}

    def ask(self, content: str) -> None:
        """Add a message of the user."""
        self.messages.append({"id": f"user-{self._runs + 1}", "role": "user", "content": content})

    def answer(self, call_id: str, content: str) -> None:
        """Add the result of a tool that runs in the front end."""
        message = {"id": f"result-{call_id}", "role": "tool", "toolCallId": call_id, "content": content}
        self.messages.append(message)

    def run(self) -> list[Event]:
        """Start a run with all messages, read it to its end, and keep what it says.

        Raises:
            RunFailedError: The run ended in RUN_ERROR.
            TransportError: See `post`.
        """
        self._runs += 1
        events = [_EVENTS.validate_python(event) for event in post(self._url, self._run_input())]
        for event in events:
            self._take(event)
        return events

    def _run_input(self) -> JSONObject:
        return {
            "threadId": self._thread_id,
            "runId": f"run-{self._runs}",
            "protocolVersion": PROTOCOL_VERSION,
            "messages": self.messages,
            "state": {},
            "tools": [],
            "context": [],
            "forwardedProps": {},
        }

    def _take(self, event: Event) -> None:
        match event:
            case ReasoningMessageStartEvent() | TextMessageStartEvent():
                self._message(event.message_id, event.role or "assistant")["content"] = ""
            case ReasoningMessageContentEvent() | TextMessageContentEvent():
                self._entities["message", event.message_id]["content"] += event.delta
            case ToolCallStartEvent():
                self._start_call(event)
            case ToolCallArgsEvent():
                self._entities["tool-call", event.tool_call_id]["function"]["arguments"] += event.delta
            case ReasoningEncryptedValueEvent():
                self._entities[event.subtype, event.entity_id]["encryptedValue"] = event.encrypted_value
            case RunErrorEvent():
                raise RunFailedError(event)

    def _message(self, message_id: str, role: str) -> JSONObject:
        """The message with this id; it is added when there is none."""
        key = ("message", message_id)
        if key not in self._entities:
            self._entities[key] = {"id": message_id, "role": role}
            self.messages.append(self._entities[key])
        return self._entities[key]

    def _start_call(self, event: ToolCallStartEvent) -> None:
        parent = self._message(event.parent_message_id or event.tool_call_id, "assistant")
        call = {
            "id": event.tool_call_id,
            "type": "function",
            "function": {"name": event.tool_call_name, "arguments": ""},
        }
        parent.setdefault("toolCalls", []).append(call)
        self._entities["tool-call", event.tool_call_id] = call


def post(url: str, run_input: JSONObject) -> Iterator[JSONObject]:
    """Send a run input, and give the events of the answer as they come.

    Raises:
        TransportError: The endpoint refused (``http_status``).
    """
    parts = urlsplit(url)
    headers = {"content-type": "application/json", "accept": MEDIA_TYPE}
    with closing(HTTPConnection(parts.hostname or "", parts.port, timeout=_TIMEOUT_S)) as connection:
        connection.request("POST", parts.path, json.dumps(run_input), headers)
        with connection.getresponse() as response:
            if response.status != 200:
                raise TransportError(
                    f"The endpoint answered with HTTP status {response.status}.",
                    code="http_status",
                    hint="Check its URL, and that it speaks AG-UI.",
                    status_code=response.status,
                )
            reader = SSEDecoder()
            while data := response.read1(_READ_BYTES):
                yield from reader.feed(data)
            yield from reader.close()
