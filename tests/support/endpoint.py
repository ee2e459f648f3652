"""A minimal client of an AG-UI endpoint, which needs no package."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from agui_reasoning.wire import MEDIA_TYPE, SSEDecoder

_READ_BYTES = 65_536


def post(url: str, run_input: dict[str, Any], *, timeout_s: float = 60.0) -> Iterator[dict[str, Any]]:
    """Send a run input and yield the events of the response as they arrive."""
    parts = urlsplit(url)
    headers = {"content-type": "application/json", "accept": MEDIA_TYPE}
    with closing(HTTPConnection(parts.hostname or "", parts.port, timeout=timeout_s)) as connection:
        connection.request("POST", parts.path, json.dumps(run_input), headers)
        with connection.getresponse() as response:
            assert response.status == 200
            reader = SSEDecoder()
            while data := response.read1(_READ_BYTES):
                yield from reader.feed(data)
            yield from reader.close()
