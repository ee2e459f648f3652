"""The demo's front end: the package's own client on one thread, and a plain reader of event streams."""

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

_TIMEOUT_S: Final = 10.0
_READ_BYTES: Final = 65536


class FrontEnd:
    """A client on one thread. It knows no provider: what it was sent it keeps, and sends back.

    Attributes:
        conversation: What it holds.
        runs: The events of each run, as they were delivered.
    """

    def __init__(self, url: str, thread_id: str, tools: Sequence[Mapping[str, Any]] = ()) -> None:
        """Prepare; nothing is sent yet.

        Args:
            url: The endpoint.
            thread_id: The thread.
            tools: What runs in the front end.
        """
        # Short ids that are the same each time, so that people can follow them.
        self.conversation = Conversation(thread_id, new_id=map("ui-{}".format, count(1)).__next__)
        self.runs: list[list[Event]] = []
        self._url = url
        self._tools = tools

    async def run(self, content: str | None = None) -> None:
        """Start a run with everything that is held, perhaps with words of the user, and read it to its end.

        Raises:
            MissingExtraError: The extra ``client`` is not installed.
            RunFailedError: The run ended in RUN_ERROR.
            TransportError: The endpoint refused, or is not there.
        """
        from agui_reasoning.client import AgentClient

        events: list[Event] = []
        self.runs.append(events)
        async with AgentClient(self._url, timeout=_TIMEOUT_S) as client:
            async for event in client.run(self.conversation, content, tools=self._tools):
                events.append(event)  # noqa: PERF401, one by one: a run may fail after some


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
