"""Let a provider quote the reasoning in its errors, behind a gateway that hides it."""

from __future__ import annotations

import json
import logging
from contextlib import ExitStack
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest

from agui_reasoning import Conversation
from agui_reasoning.crypto import KeyRing
from agui_reasoning.gateway import create_app, local_server
from agui_reasoning.replay import load_script, payloads
from agui_reasoning.wire import read_events
from tests.unit.gateway.http_client import TIMEOUT
from tests.unit.gateway.provider import APIS, CUT, Provider, Reply, frames, upstream
from tests.unit.gateway.test_http import SCRIPTS

KEYS = KeyRing({"k": bytes(range(32))})
SECRET = "thought that nobody may read"


def broken(api: str) -> dict[str, Reply]:
    """Ways to fail, each of them quoting."""
    begun = list(payloads(load_script(SCRIPTS[api])))[:6]
    error = {"type": "error", "error": {"type": SECRET, "code": SECRET, "message": SECRET}}
    return {
        "a refusal": Reply([json.dumps(error).encode()], 400, "application/json"),
        "a page": Reply([f"<p>{SECRET}</p>".encode()], 502, "text/html"),
        "an error in the stream": Reply(frames([*begun, error])),
        "no JSON": Reply([*frames(begun), f"data: {{{SECRET}\n\n".encode()]),
        "another shape": Reply(frames([*begun, *(_misshapen(payload) for payload in begun)])),
        "a stream that is cut": Reply([*frames(begun), f"data: {SECRET}".encode(), CUT]),
    }


def _misshapen(payload: Any) -> Any:
    """The same payload, with something else wherever a list or an object is expected."""
    if not isinstance(payload, dict):
        return payload
    return {k: f"{SECRET} {k}" if isinstance(v, dict | list) else v for k, v in payload.items()}


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("visibility", ["summary", "hidden"])
@pytest.mark.parametrize("how", list(broken(APIS[0])))
def test_nothing_that_a_provider_says_wrong_is_quoted(
    api: str, visibility: Any, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with ExitStack() as stack:
        url = stack.enter_context(local_server(Provider(broken(api)[how])))
        app = create_app(upstream(api, url), keys=KEYS, visibility=visibility)
        parts = urlsplit(stack.enter_context(local_server(app)))
        body = Conversation("thread").run_input("Hi.").model_dump_json(by_alias=True, exclude_none=True)
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=TIMEOUT)
        connection.request("POST", "/agent", body.encode(), {"content-type": "application/json"})
        came = connection.getresponse().read()
        connection.close()
    assert read_events(came)[-1]["type"] == "RUN_ERROR"
    assert "nobody may read" not in came.decode()
    assert "nobody may read" not in caplog.text
    assert "The run failed: " in caplog.text
