"""The demo's front end: the package's own client on one thread, and a minimal HTTP client."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from http.client import HTTPConnection
from itertools import count
from typing import Any, Final
from urllib.parse import urlsplit

from ag_ui.core import Event

from agui_reasoning._strict_json import JSONObject
from agui_reasoning.consumer import Conversation
from agui_reasoning.errors import TransportError
from agui_reasoning.wire import MEDIA_TYPE, SSEDecoder

__all__ = ["FrontEnd", "post"]

_TIMEOUT_S: Final = 60.0
_READ_BYTES: Final = 65536


class FrontEnd:
    """A client on one thread. It is independent of the provider: it stores messages and sends them back.

    Attributes:
        conversation: The client's conversation.
        runs: The events of each run, as delivered.
    """

    def __init__(self, url: str, thread_id: str, tools: Sequence[Mapping[str, Any]] = ()) -> None:
        """Create the front end without sending anything.

        Args:
            url: The URL of the endpoint.
            thread_id: The thread ID.
            tools: The tools that run in the front end.
        """
        # Short, deterministic IDs are easier to follow.
        self.conversation = Conversation(thread_id, new_id=map("ui-{}".format, count(1)).__next__)
        self.runs: list[list[Event]] = []
        self._url = url
        self._tools = tools

    async def run(self, content: str | None = None) -> None:
        """Start a run with the conversation and an optional user message, and read it to the end.

        Raises:
            MissingExtraError: The extra ``client`` is not installed.
            RunFailedError: The run ended with RUN_ERROR.
            TransportError: The endpoint is unreachable or rejected the request.
        """
        from agui_reasoning.client import AgentClient

        events: list[Event] = []
        self.runs.append(events)
        async with AgentClient(self._url, timeout=_TIMEOUT_S) as client:
            async for event in client.run(self.conversation, content, tools=self._tools):
                events.append(event)  # noqa: PERF401, one by one because a run may fail midway


def post(url: str, run_input: JSONObject, *, timeout_s: float = _TIMEOUT_S) -> Iterator[JSONObject]:
    """Send a run input and yield the events of the response as they arrive.

    Raises:
        TransportError: The endpoint returned an error status (``http_status``).
    """
    parts = urlsplit(url)
    headers = {"content-type": "application/json", "accept": MEDIA_TYPE}
    with closing(HTTPConnection(parts.hostname or "", parts.port, timeout=timeout_s)) as connection:
        connection.request("POST", parts.path, json.dumps(run_input), headers)
        with connection.getresponse() as response:
            if response.status != 200:
                raise TransportError(
                    f"The endpoint answered with HTTP status {response.status}.",
                    code="http_status",
                    hint="Check the URL, and that it is an AG-UI endpoint.",
                    status_code=response.status,
                )
            reader = SSEDecoder()
            while data := response.read1(_READ_BYTES):
                yield from reader.feed(data)
            yield from reader.close()
