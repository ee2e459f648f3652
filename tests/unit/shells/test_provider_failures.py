"""Test what RUN_ERROR says about failures that gRPC and botocore report in ways of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_reasoning import ModelStream, aio, stream_run
from agui_reasoning._shells.provider_failures import explain, read_failure
from agui_reasoning.parts import Origin
from tests.support.replay_server import replaying
from tests.support.vendor_sdks import THEIR_WARNINGS
from tests.support.verifier import plain

pytestmark = THEIR_WARNINGS

Json = dict[str, Any]
INPUT: Json = {"threadId": "t", "runId": "r", "messages": [], "protocolVersion": "1.0"}
MODEL = "grok-4-fast-reasoning"
KEY = "xai-secret-key"
STATUSES = {
    "UNAUTHENTICATED": "credentials_refused",
    "PERMISSION_DENIED": "credentials_refused",
    "RESOURCE_EXHAUSTED": "rate_limited",
    "UNAVAILABLE": "overloaded",
    "DEADLINE_EXCEEDED": "timeout",
    "INVALID_ARGUMENT": "request_refused",
    "NOT_FOUND": "unknown_model",
    "INTERNAL": "provider_error",
}


def refused_sync(host: str) -> Json:
    """The last event of a synchronous run against a server that refuses."""
    xai_sdk = pytest.importorskip("xai_sdk", reason="xAI's SDK is not installed")
    with xai_sdk.Client(api_key=KEY, api_host=host, use_insecure_channel=True) as client:
        chat = client.chat.create(model=MODEL, messages=[xai_sdk.chat.user("Hi")])
        return plain(stream_run(INPUT, chat.stream(), api="xai-grpc", provider="xai", model=MODEL))[-1]


async def refused(host: str) -> Json:
    """The last event of an asynchronous run against a server that refuses."""
    xai_sdk = pytest.importorskip("xai_sdk", reason="xAI's SDK is not installed")
    async with xai_sdk.AsyncClient(api_key=KEY, api_host=host, use_insecure_channel=True) as client:
        chat = client.chat.create(model=MODEL, messages=[xai_sdk.chat.user("Hi")])

        async def agent(run: Any) -> AsyncIterator[Any]:
            yield ModelStream(chat.stream(), api="xai-grpc", provider="xai", model=MODEL)

        return plain([event async for event in aio.run_agent(INPUT, agent)])[-1]


@pytest.mark.parametrize(("status", "code"), STATUSES.items())
def test_the_status_of_a_synchronous_grpc_call_is_explained(status: str, code: str) -> None:
    with replaying("xai-grpc") as server:
        server.refusal = status
        last = refused_sync(server.url.removeprefix("http://"))
    assert (last["type"], last["code"]) == ("RUN_ERROR", code)
    assert KEY not in str(last)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(("status", "code"), STATUSES.items())
async def test_the_status_of_an_asynchronous_grpc_call_is_explained(status: str, code: str) -> None:
    with replaying("xai-grpc") as server:
        server.refusal = status
        last = await refused(server.url.removeprefix("http://"))
    assert (last["type"], last["code"]) == ("RUN_ERROR", code)
    assert KEY not in str(last)


def test_a_grpc_server_that_cannot_be_reached_is_unreachable() -> None:
    with replaying("xai-grpc") as server:
        host = server.url.removeprefix("http://")
    assert refused_sync(host)["code"] == "unreachable"


def test_a_grpc_error_without_a_status_says_nothing() -> None:
    grpc = pytest.importorskip("grpc", reason="gRPC is not installed")
    assert read_failure(grpc.RpcError("secret")) is None


def test_missing_credentials_and_used_up_quotas_of_botocore_are_explained() -> None:
    errors = pytest.importorskip("botocore.exceptions", reason="botocore is not installed")
    used_up = {
        "Error": {"Code": "ServiceQuotaExceededException", "Message": "secret"},
        "ResponseMetadata": {"HTTPStatusCode": 400},
    }
    raised = {
        errors.NoCredentialsError(): "credentials_refused",
        errors.PartialCredentialsError(provider="env", cred_var="secret"): "credentials_refused",
        errors.ClientError(used_up, "ConverseStream"): "quota_exhausted",
    }
    target = Origin("bedrock", "bedrock-converse", "claude")
    for error, code in raised.items():
        told = explain(error, target)
        assert told is not None
        assert told.code == code
        assert "secret" not in told.sentence
