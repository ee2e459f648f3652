"""Send one request and read its answer, leaving nothing open."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

from agui_reasoning.wire import read_events

TIMEOUT = 120
INPUT = {
    "threadId": "t1",
    "runId": "r1",
    "protocolVersion": "1.0",
    "messages": [{"id": "u1", "role": "user", "content": "Umbrella or raincoat?"}],
    "state": {},
    "tools": [],
    "context": [],
    "forwardedProps": {},
}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def events(self) -> list[dict[str, Any]]:
        return read_events(self.body)

    @property
    def error(self) -> dict[str, str]:
        error = json.loads(self.body)
        assert list(error) == ["error"]
        assert list(error["error"]) == ["code", "message"]
        return error["error"]


@contextmanager
def opened(
    url: str,
    body: Any = INPUT,
    method: str = "POST",
    content_type: str | None = "application/json",
    **more: str,
) -> Iterator[HTTPResponse]:
    """An answer of which nothing but the head has been read."""
    parts = urlsplit(url)
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    headers = more if content_type is None else {"content-type": content_type, **more}
    with closing(HTTPConnection(parts.hostname, parts.port, timeout=TIMEOUT)) as connection:
        connection.request(method, parts.path, data, headers)
        with connection.getresponse() as response:
            yield response


def call(url: str, *how: Any, **more: Any) -> Answer:
    """A whole answer."""
    with opened(url, *how, **more) as response:
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers, response.read())
