"""Test what RUN_ERROR says of failures that libraries report in ways of their own, or behind other errors."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_reasoning import ModelStream, aio, stream_run
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.parts import Origin
from tests.internals.sources import explain, explain_elsewhere, read_failure, retry_after
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


# -- errors that led to others


class APIStatusError(Exception):
    """An error as an SDK raises it; libraries of other servers have errors of the same form."""

    def __init__(self, status_code: int) -> None:
        super().__init__("words of the server")
        self.status_code = status_code


class SDKError(APIStatusError):
    """The error of a vendor's SDK."""


SDKError.__module__ = "openai"


class ModelHTTPError(APIStatusError):
    """The class by which Pydantic AI reports a status."""


TARGET = Origin("openai", "openai-responses", "gpt")


def raised(*errors: Exception, cause: bool = True) -> Exception:
    """Raise the errors, each because of the one before it or while that is handled; return the last one."""
    last = errors[0]
    for error in errors[1:]:
        try:
            try:
                raise last
            except Exception as reason:
                if cause:
                    raise error from reason
                raise error  # noqa: B904
        except Exception as caught:
            last = caught
    return last


def code_of(error: BaseException) -> str | None:
    """The code that an error has which an agent raised, rather than a model stream."""
    explained = explain_elsewhere(error, TARGET)
    return None if explained is None else explained.code


def test_an_error_of_the_agent_is_explained_by_the_provider_that_led_to_it() -> None:
    bug = ValueError("no answer")
    assert code_of(SDKError(529)) == "overloaded"
    assert code_of(raised(SDKError(529), bug)) == "overloaded"
    assert code_of(raised(SDKError(529), KeyError("x"), bug, cause=False)) == "overloaded"
    assert code_of(ExceptionGroup("tasks", [bug, ExceptionGroup("more", [SDKError(529)])])) == "overloaded"


def test_what_wraps_an_error_does_not_change_its_cause() -> None:
    # Frameworks choose a status for errors inside a stream, which have none.
    assert code_of(raised(SDKError(429), ModelHTTPError(500))) == "rate_limited"
    assert code_of(ModelHTTPError(529)) == "overloaded"


def test_the_failure_of_a_second_attempt_is_told_and_not_that_of_the_first() -> None:
    assert code_of(raised(SDKError(529), SDKError(401), cause=False)) == "credentials_refused"


def test_an_error_that_hides_its_context_is_not_explained_by_it() -> None:
    error = raised(SDKError(529), ValueError("no answer"), cause=False)
    error.__suppress_context__ = True
    assert code_of(error) is None


def test_errors_of_other_servers_are_not_the_providers() -> None:
    """A tool asks them."""
    botocore = pytest.importorskip("botocore.exceptions", reason="botocore is not installed")
    denied = {"Error": {"Code": "AccessDenied"}, "ResponseMetadata": {"HTTPStatusCode": 403}}
    assert code_of(APIStatusError(404)) is None
    assert code_of(raised(APIStatusError(404), ValueError())) is None
    assert code_of(TimeoutError()) is None
    assert code_of(botocore.ClientError(denied, "GetObject")) is None
    assert code_of(botocore.ClientError(denied, "ConverseStream")) == "credentials_refused"


def test_our_own_errors_keep_their_code() -> None:
    wrong = ConfigurationError("Wrong.", code="wrong_option", hint="Do it right.")
    assert code_of(raised(SDKError(529), wrong)) is None


def test_a_circle_of_errors_ends() -> None:
    first, second = ValueError(), KeyError()
    first.__cause__, second.__cause__ = second, first
    assert code_of(first) is None
    third = ValueError()
    third.__context__ = ExceptionGroup("tasks", [third])
    assert code_of(third) is None


# -- the delay that a provider asks for

NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("20", 20.0),
        (" 1.5 ", 1.5),
        ("0", 0.0),
        ("-3", 0.0),
        ("Tue, 14 Nov 2023 22:13:50 GMT", 30.0),
        ("Tue, 14 Nov 2023 22:13:00 GMT", 0.0),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("", None),
    ],
)
def test_both_forms_of_retry_after_are_read(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}, now_s=NOW) == seconds


def test_the_delay_of_google_is_read_from_the_body() -> None:
    body = {"error": {"code": 429, "details": [{"@type": "Help"}, {"retryDelay": "13.5s"}]}}
    assert retry_after({}, body) == retry_after({}, [body]) == 13.5
    assert retry_after({"retry-after": "2"}, body) == 2
    assert retry_after({}, {"error": "words"}) is None
