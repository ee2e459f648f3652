"""Let each vendor's SDK be refused by a local server, and read the whole log.

Providers quote what they were sent, so nothing that they say is logged above the level DEBUG.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from itertools import product
from typing import Any

import anyio
import pytest

from agui_reasoning import ModelStream, Run, aio, stream_run
from agui_reasoning.crypto import KeyRing
from agui_reasoning.gateway import Upstream, create_app, local_server
from tests.frameworks.failures import FAILURES, IN_STREAM, Failure, check, name_of
from tests.frameworks.threads import Agent
from tests.sdk.conftest import Vendors
from tests.support.effort import thinned
from tests.support.replay_server import replaying
from tests.support.vendor_sdks import MODEL, SDKS, THEIR_WARNINGS, VendorSDK, greeting
from tests.support.verifier import plain
from tests.unit.gateway.http_client import INPUT as ASKED
from tests.unit.gateway.http_client import call

pytestmark = THEIR_WARNINGS

WORDS = "a prompt that the provider quotes"
INPUT: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": [], "protocolVersion": "1.0"}
CODES = {
    400: "request_refused",
    401: "credentials_refused",
    403: "credentials_refused",
    404: "unknown_model",
    413: "request_refused",
    429: "rate_limited",
    500: "provider_error",
    503: "overloaded",
    529: "overloaded",
}
OVER_HTTP = [api for api in SDKS if api != "xai-grpc"]
GRPC = {"INVALID_ARGUMENT": 400, "UNAUTHENTICATED": 401, "RESOURCE_EXHAUSTED": 429, "UNAVAILABLE": 503}


@pytest.fixture(autouse=True)
def asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let botocore not ask again; the clients of the other SDKs are made so that they do not."""
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")


def assert_brief(
    log: pytest.LogCaptureFixture, status: int, visibility: str, code: str, ids: str = "thread 't', run 'r'"
) -> None:
    """Assert that the log has one line for the failure, and its traceback only where reasoning is visible."""
    assert [record for record in log.records if record.levelno > logging.DEBUG and said(record)] == []
    line, *details = [record for record in log.records if record.name == "agui_reasoning"]
    text = line.getMessage()
    assert (line.levelname, line.exc_info) == ("ERROR", None)
    assert text.startswith(f"The run failed: ProviderError (code {code}, provider who, status {status}")
    assert text.endswith(f"{ids}).")
    assert "\n" not in text
    assert [(one.levelname, "Traceback" in one.getMessage()) for one in details] == (
        [("DEBUG", True)] if visibility == "full" else []
    )


def said(record: logging.LogRecord) -> bool:
    """Return whether a record, as a handler writes it, has the provider's words."""
    return WORDS in logging.Formatter().format(record)


def more(sdk: VendorSDK) -> dict[str, Any]:
    return {"request_options": {"max_retries": 0}} if sdk.module == "cohere" else {}


def asked(sdk: VendorSDK, client: Any) -> Any:
    """What the SDK raises or returns."""
    return sdk.ask(client, greeting(sdk.api) | more(sdk), streamed=True)


def options(visibility: Any) -> dict[str, Any]:
    keys = None if visibility == "full" else KeyRing.generate()
    return {"provider": "who", "model": MODEL, "visibility": visibility, "keys": keys}


@pytest.mark.parametrize("visibility", ["full", "summary", "hidden"])
@pytest.mark.parametrize("api", OVER_HTTP)
def test_a_refused_request_is_one_line_without_the_providers_words(
    api: str, visibility: Any, vendors: Vendors, caplog: pytest.LogCaptureFixture
) -> None:
    sdk, server = SDKS[api], vendors.server(api)
    sdk.require()
    client = vendors.client(sdk)
    for status, code in CODES.items():
        caplog.clear()
        server.exchange, server.status, server.words = None, status, WORDS
        with caplog.at_level(logging.DEBUG):
            ask = lambda: asked(sdk, client)  # noqa: E731
            events = plain(stream_run(INPUT, ask, api=api, **options(visibility)))
        assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", code)
        assert WORDS not in str(events)
        assert_brief(caplog, status, visibility, code)


@pytest.mark.parametrize("visibility", ["full", "hidden"])
def test_a_refused_grpc_call_is_one_too(visibility: Any, caplog: pytest.LogCaptureFixture) -> None:
    sdk = SDKS["xai-grpc"]
    sdk.require()
    with replaying(sdk.api) as server, sdk.client(server.url) as client:
        server.words = WORDS
        for server.refusal, status in GRPC.items():
            caplog.clear()
            with caplog.at_level(logging.DEBUG):
                ask = lambda: asked(sdk, client)  # noqa: E731
                plain(stream_run(INPUT, ask, api=sdk.api, **options(visibility)))
            assert_brief(caplog, status, visibility, CODES[status])


async def refused(sdk: VendorSDK, url: str, how: str) -> AsyncIterator[Any]:
    """What an agent yields: the SDK is asked by the model stream, or before it, which explains errors too."""
    async with sdk.async_client(url) as client:  # type: ignore[misc]
        asking = sdk.ask_async(client, greeting(sdk.api) | more(sdk), streamed=True)
        if how == "by the agent":
            try:
                asking = await asking
            except Exception as error:
                raise RuntimeError(f"Cannot ask: {error}") from error
        yield ModelStream(asking)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(
    ("api", "visibility", "how"),
    thinned(
        product(
            ["anthropic-messages", "openai-responses"], ["full", "hidden"], ["by the stream", "by the agent"]
        ),
        3,
    ),
)
async def test_it_does_not_matter_who_asks(
    api: str, visibility: Any, how: str, vendors: Vendors, caplog: pytest.LogCaptureFixture
) -> None:
    sdk, server = SDKS[api], vendors.server(api)
    sdk.require()
    for status, code in CODES.items():
        caplog.clear()
        server.exchange, server.status, server.words = None, status, WORDS

        async def agent(run: Run) -> AsyncIterator[Any]:
            async for item in refused(sdk, server.url, how):
                yield item

        with caplog.at_level(logging.DEBUG), anyio.fail_after(20):
            run = aio.run_agent(INPUT, agent, api=api, **options(visibility))
            events = [event async for event in run]
        assert events[-1].code == code  # type: ignore[union-attr]
        assert_brief(caplog, status, visibility, code)


def asking(api: str) -> Callable[[str], Agent]:
    """Make the agent that asks an SDK without a framework, from the URL of the provider."""

    def made(url: str) -> Agent:
        async def agent(run: Run) -> AsyncIterator[Any]:
            async for item in refused(SDKS[api], url, "by the stream"):
                yield item

        return agent

    return made


@pytest.mark.parametrize("failure", [*FAILURES, IN_STREAM], ids=name_of)
def test_a_failure_is_told_as_through_the_frameworks(
    failure: Failure, caplog: pytest.LogCaptureFixture
) -> None:
    SDKS["anthropic-messages"].require()
    check(failure, asking("anthropic-messages"), caplog, api="anthropic-messages", provider="anthropic")


@pytest.mark.parametrize("failure", FAILURES, ids=name_of)
def test_a_failure_is_told_as_through_the_agents_sdk(
    failure: Failure, caplog: pytest.LogCaptureFixture
) -> None:
    SDKS["openai-responses"].require()
    check(failure, asking("openai-responses"), caplog, api="openai-responses", provider="openai")


class Asking(Upstream):
    """An upstream of one's own in front of an SDK."""

    name, provider, model = "<sdk>", "who", MODEL

    def __init__(self, sdk: VendorSDK, url: str) -> None:
        self.api, self._sdk, self._url = sdk.api, sdk, url

    async def agent(self, run: Run) -> AsyncIterator[Any]:
        async for item in refused(self._sdk, self._url, "by the stream"):
            yield item


@pytest.mark.parametrize("visibility", ["full", "hidden"])
def test_the_line_of_the_gateway_is_the_same(
    visibility: Any, vendors: Vendors, caplog: pytest.LogCaptureFixture
) -> None:
    sdk, server = SDKS["anthropic-messages"], vendors.server("anthropic-messages")
    sdk.require()
    keys = None if visibility == "full" else KeyRing.generate()
    server.exchange, server.status, server.words = None, 529, WORDS
    app = create_app(Asking(sdk, server.url), visibility=visibility, keys=keys)
    with caplog.at_level(logging.DEBUG), local_server(app) as url:
        answer = call(f"{url}/agent", ASKED)
    assert answer.events[-1]["code"] == "overloaded"
    assert WORDS.encode() not in answer.body
    assert_brief(caplog, 529, visibility, "overloaded", "thread 't1', run 'r1'")
