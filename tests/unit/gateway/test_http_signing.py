"""Requests that are signed with the machine's own credentials, judged by servers that know the secret."""

from __future__ import annotations

import hashlib
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import unquote

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agui_reasoning import ConfigurationError, RemoteProtocolError
from agui_reasoning.gateway import FRAMINGS, HTTPUpstream, create_app, encode_chunk, local_server
from agui_reasoning.providers import provider_api
from agui_reasoning.replay import load_script
from tests.support.verifier import Client
from tests.unit.gateway.http_client import INPUT, call

auth = pytest.importorskip("botocore.auth", reason="botocore is not installed: pip install botocore")
google_auth = pytest.importorskip("google.auth", reason="google-auth is not installed")
from botocore.awsrequest import AWSRequest  # noqa: E402
from botocore.credentials import Credentials  # noqa: E402

ACCESS, SECRET, TOKEN = (
    "AKIDEXAMPLE0123456",
    "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
    "session/TOKEN+0123456789==",
)
REGION = "eu-central-1"
MODEL = "us.anthropic.claude-sonnet-4-6-v1:0"
SIGNED = "content-type;host;x-amz-date;x-amz-security-token"


@pytest.fixture(autouse=True)
def no_credentials_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "GOOGLE_APPLICATION_CREDENTIALS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", TOKEN)
    monkeypatch.setenv("AWS_REGION", REGION)
    return monkeypatch


# -- a strict AWS


def fault_of(headers: dict[str, str], url: str, body: bytes, service: str = "bedrock") -> str:
    """What AWS has against a request; it computes the signature itself."""
    fields = dict(part.strip().split("=", 1) for part in headers["authorization"].split(" ", 1)[1].split(","))
    if fields["SignedHeaders"] != SIGNED:
        return f"SignedHeaders={fields['SignedHeaders']}"
    date = headers["x-amz-date"]
    age = datetime.now(UTC) - datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    if abs(age) > timedelta(minutes=5):
        return "Signature expired"
    signed = {name: headers[name] for name in SIGNED.split(";") if name != "host"}
    request = AWSRequest(method="POST", url=url, data=body, headers=signed)
    request.context["timestamp"] = date
    judge = auth.SigV4Auth(Credentials(ACCESS, SECRET, TOKEN), service, REGION)
    text = judge.string_to_sign(request, judge.canonical_request(request))
    expected = judge.signature(text, request)
    scope = f"{ACCESS}/{date[:8]}/{REGION}/{service}/aws4_request"
    good = fields["Signature"] == expected and fields["Credential"] == scope
    return "" if good else f"The Canonical String should have been {judge.canonical_request(request)}"


def scope_of(headers: dict[str, str]) -> list[str]:
    """The region and the service that a request was signed for."""
    credential = headers["authorization"].partition("Credential=")[2].partition(",")[0]
    return credential.split("/")[2:]


class AWS:
    """Bedrock as it judges signatures; it repeats all it was sent when it refuses."""

    def __init__(self, api: str = "bedrock-converse", provider: str = "bedrock") -> None:
        endpoint = provider_api(api).endpoint(provider)
        assert endpoint is not None
        self._http = endpoint
        self._script = {"bedrock-converse": "bedrock-weather-2"}.get(api, "anthropic-weather-2")
        self.seen: list[dict[str, str]] = []
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def answer(self, request: Request) -> Response:
        headers, body = dict(request.headers), await request.body()
        self.seen.append(headers)
        self.asked.append((unquote(request.scope["raw_path"].decode()), json.loads(body)))
        url = f"http://{headers['host']}{request.scope['raw_path'].decode()}"
        if fault := fault_of(headers, url, body, self._http.aws_service):
            words = {"message": f"{fault} {headers}"}
            kind = {"x-amzn-errortype": "InvalidSignatureException:http://internal.amazon.com/"}
            return JSONResponse(words, 403, headers=kind)
        framing = FRAMINGS[self._http.framing]
        events = load_script(self._script)["events"]
        frames = [framing.write(self._http, event) for event in events]
        return StreamingResponse(iter(frames), media_type=framing.media_type)


@contextmanager
def bedrock(
    api: str = "bedrock-converse", provider: str = "bedrock", **options: Any
) -> Iterator[tuple[str, AWS]]:
    """A gateway in front of a strict Bedrock."""
    aws = AWS(api, provider)
    with local_server(Starlette(routes=[Route("/{path:path}", aws.answer, methods=["POST"])])) as url:
        upstream = HTTPUpstream(api, provider=provider, **{"base_url": url, "model": MODEL} | options)
        with local_server(create_app(upstream)) as served:
            yield f"{served}/agent", aws


@pytest.mark.parametrize("words", ["Umbrella or raincoat?", "\u00e6\u00f8\u00e5 \U0001f600 /?&%3A"])
def test_bedrock_takes_what_is_signed(aws: pytest.MonkeyPatch, words: str) -> None:
    messages = [{"id": "u1", "role": "user", "content": words}]
    with bedrock() as (url, server):
        events = call(url, INPUT | {"messages": messages}).events
    Client().feed(events).done()
    assert events[-1]["type"] == "RUN_FINISHED"
    (seen,) = server.seen
    assert seen["x-amz-security-token"] == TOKEN
    assert SECRET not in json.dumps(seen)


CLAUDE = {"bedrock": "AnthropicBedrock", "bedrock-mantle": "AnthropicBedrockMantle"}


@pytest.mark.parametrize("provider", CLAUDE)
@pytest.mark.parametrize("model", [MODEL, "anthropic.claude-opus-5-5"])
def test_claude_on_bedrock_is_asked_as_its_own_sdk_asks(
    aws: pytest.MonkeyPatch, provider: str, model: str
) -> None:
    """The versions differ: the SDK sends its newest."""
    anthropic = pytest.importorskip("anthropic", reason="Anthropic's SDK is not installed")
    parameters = {"max_tokens": 100, "tools": [{"type": "web_search_20250305", "name": "web_search"}]}
    with bedrock("anthropic-messages", provider, model=model, parameters=parameters) as (url, server):
        events = call(url).events
        Client().feed(events).done()
    (path, body), headers = server.asked[0], server.seen[0]
    assert headers["x-amz-security-token"] == TOKEN
    theirs = AWS("anthropic-messages", provider)
    with local_server(Starlette(routes=[Route("/{path:path}", theirs.answer, methods=["POST"])])) as address:
        keys = {"aws_access_key": ACCESS, "aws_secret_key": SECRET, "aws_session_token": TOKEN}
        client = getattr(anthropic, CLAUDE[provider])(
            base_url=address, aws_region=REGION, max_retries=0, **keys
        )
        more = {
            name: value
            for name, value in body.items()
            if name not in ("anthropic_version", "model", "stream")
        }
        betas = {"anthropic-beta": headers["anthropic-beta"]} if "anthropic-beta" in headers else {}
        more.pop("anthropic_beta", None)
        with pytest.raises(anthropic.APIStatusError):  # it signs every header
            client.messages.create(model=model, stream=True, extra_headers=betas, **more)
    ((their_path, their_body),) = theirs.asked
    assert scope_of(headers) == scope_of(theirs.seen[0])
    version = {"anthropic_version"} if provider == "bedrock" else set()
    assert path == their_path
    assert {name: value for name, value in body.items() if name not in version} == {
        name: value for name, value in their_body.items() if name not in version
    }
    assert body.keys() == their_body.keys()
    assert body.get("anthropic_version", "bedrock-2023-05-31") == "bedrock-2023-05-31"


def framed(name: str, payload: Any) -> bytes:
    bedrock = provider_api("bedrock-converse").http
    assert bedrock is not None
    return FRAMINGS["aws-event-stream"].write(bedrock, {"event": name, "data": payload})


def test_the_sdk_reads_what_is_framed_as_invoke_model_frames_it() -> None:
    decoder = pytest.importorskip(
        "anthropic.lib.bedrock._stream_decoder", reason="Anthropic's SDK is missing"
    )
    payloads = [event["data"] for event in load_script("anthropic-weather-2")["events"]]
    data = b"".join(encode_chunk(payload) for payload in payloads)
    pieces = [data[start : start + 7] for start in range(0, len(data), 7)]
    theirs = [json.loads(event.data) for event in decoder.AWSEventStreamDecoder().iter_bytes(iter(pieces))]
    chunks = FRAMINGS["aws-chunks"].reader()
    assert [json.loads(text) for piece in pieces for text in chunks.feed(piece)] == theirs == payloads


def test_an_exception_in_the_stream_is_read_as_the_sdk_reads_it() -> None:
    decoder = pytest.importorskip(
        "anthropic.lib.bedrock._stream_decoder", reason="Anthropic's SDK is missing"
    )
    data = framed("throttlingException", {"message": "Too many."})
    [event] = decoder.AWSEventStreamDecoder().iter_bytes(iter([data]))
    [text] = FRAMINGS["aws-chunks"].reader().feed(data)
    assert json.loads(text) == json.loads(event.data)


@pytest.mark.parametrize("chunk", [{}, {"p": "abc"}, []])
def test_a_chunk_without_bytes_is_skipped(chunk: Any) -> None:
    assert FRAMINGS["aws-chunks"].reader().feed(framed("chunk", chunk)) == []


@pytest.mark.parametrize("value", ["no base64!", "/w==", 7])
def test_a_chunk_that_is_no_text_is_damaged(value: Any) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        FRAMINGS["aws-chunks"].reader().feed(framed("chunk", {"bytes": value}))
    assert caught.value.code == "bad_frame"


def test_without_a_region_it_is_said_at_once(aws: pytest.MonkeyPatch) -> None:
    aws.delenv("AWS_REGION")
    with pytest.raises(ConfigurationError) as caught:
        HTTPUpstream("bedrock-converse", base_url="http://localhost:1", model=MODEL)
    assert caught.value.code == "missing_region"


@pytest.mark.parametrize(
    "how", [{"api_key": "ABSK-0123456789"}, {"headers": {"Authorization": "Bearer mine"}}]
)
def test_a_key_or_a_header_of_yours_is_taken_instead(aws: pytest.MonkeyPatch, how: dict[str, Any]) -> None:
    upstream = HTTPUpstream("bedrock-converse", base_url="http://localhost:1", model=MODEL, **how)
    assert upstream._signer is None


def test_a_refusal_gives_nothing_away(aws: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    aws.setenv("AWS_SECRET_ACCESS_KEY", SECRET[::-1])
    caplog.set_level(logging.DEBUG)
    with bedrock() as (url, server):
        events = call(url).events
    assert events[-1]["type"] == "RUN_ERROR"
    assert "InvalidSignatureException" in caplog.text
    (seen,) = server.seen
    signature = seen["authorization"].rpartition("Signature=")[2]
    shown = caplog.text + json.dumps(events) + "".join(repr(record.__dict__) for record in caplog.records)
    for secret in (ACCESS, SECRET, SECRET[::-1], TOKEN, signature):
        assert secret not in shown


def test_nothing_shows_what_a_signer_knows(aws: pytest.MonkeyPatch) -> None:
    upstream = HTTPUpstream("bedrock-converse", base_url="http://localhost:1", model=MODEL)
    signer = upstream._signer
    assert signer is not None
    signed = signer.sign("http://localhost:1/model/m", {"content-type": "application/json"}, b"{}")
    assert set(signer.secrets()) == {ACCESS, TOKEN}
    sealed = repr((upstream, signer, upstream._transport, upstream._headers))
    assert not [value for value in (ACCESS, SECRET, TOKEN, signed["authorization"]) if value in sealed]


def test_values_of_credentials_that_were_renewed_are_remembered_a_while(aws: pytest.MonkeyPatch) -> None:
    signer = HTTPUpstream("bedrock-converse", base_url="http://localhost:1", model=MODEL)._signer
    assert signer is not None
    for number in range(10):
        signer._credentials = Credentials(f"AKID{number}", SECRET, f"token{number}")  # type: ignore[attr-defined]
        signer.sign("http://localhost:1/", {"content-type": "application/json"}, b"")
    assert set(signer.secrets()) == {f"{name}{number}" for name in ("AKID", "token") for number in (7, 8, 9)}


class Failing:
    """Credentials whose renewal fails, with secrets in what it says."""

    valid = False
    token = None

    def get_frozen_credentials(self) -> Any:
        raise ValueError(TOKEN)

    def refresh(self, request: Any) -> None:
        raise ValueError(TOKEN)


@pytest.mark.parametrize(("api", "provider"), [("bedrock-converse", "bedrock"), ("gemini", "google-vertex")])
def test_credentials_that_cannot_be_renewed_end_the_run(
    api: str, provider: str, aws: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    aws.setattr("google.auth.default", lambda scopes: (Failing(), "project"))
    upstream = HTTPUpstream(api, base_url="http://localhost:1", model="m", provider=provider)
    upstream._signer._credentials = Failing()  # type: ignore[union-attr]
    with local_server(create_app(upstream)) as url:
        events = call(f"{url}/agent").events
    assert events[-1]["type"] == "RUN_ERROR"
    assert TOKEN not in json.dumps(events) + caplog.text
    assert "no_credentials" in caplog.text


@pytest.mark.parametrize(
    ("api", "provider", "module", "extra"),
    [
        ("bedrock-converse", "bedrock", "botocore.session", "bedrock"),
        ("gemini", "google-vertex", "google.auth", "vertex"),
    ],
)
def test_a_missing_library_or_credentials_are_said_at_the_start(
    api: str,
    provider: str,
    module: str,
    extra: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def make() -> HTTPUpstream:
        return HTTPUpstream(api, base_url="http://localhost:1", model="m", provider=provider)

    assert make()._signer is None
    assert "Requests are not authorized: pass an API key, or" in caplog.text
    monkeypatch.setitem(sys.modules, module, None)
    assert make()._signer is None
    assert f'install "agui-reasoning[{extra}]"' in caplog.text


# -- Google


class Token:
    """Credentials that are renewed for each request."""

    def __init__(self) -> None:
        self.count = 0
        self.token = ""
        self.valid = False

    def refresh(self, request: Any) -> None:
        self.count += 1
        self.token = f"ya29.token-{self.count}"

    def apply(self, headers: dict[str, str]) -> None:
        headers["authorization"] = f"Bearer {self.token}"
        headers["x-goog-user-project"] = "quota"


def test_vertex_gets_an_access_token_and_it_is_hidden(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("google.auth.default", lambda scopes: (Token(), "project"))
    seen: list[dict[str, str]] = []

    async def refuse(request: Request) -> Response:
        seen.append(dict(request.headers))
        return JSONResponse({"error": {"message": str(seen[-1]), "status": "UNAUTHENTICATED"}}, 401)

    with local_server(Starlette(routes=[Route("/{path:path}", refuse, methods=["POST"])])) as url:
        upstream = HTTPUpstream("gemini", base_url=url, model="m", provider="google-vertex")
        with local_server(create_app(upstream)) as served:
            for _ in range(2):
                assert call(f"{served}/agent").events[-1]["type"] == "RUN_ERROR"
    assert [headers["authorization"] for headers in seen] == ["Bearer ya29.token-1", "Bearer ya29.token-2"]
    assert seen[0]["x-goog-user-project"] == "quota"
    assert "UNAUTHENTICATED" in caplog.text
    assert "ya29" not in caplog.text


def test_a_digest_of_the_body_is_signed() -> None:
    """The judge of these tests finds a body that was changed on its way."""
    url, signed = "http://h/model/m", {"content-type": "application/json"}
    request = AWSRequest(method="POST", url=url, data=b"{}", headers=signed)
    auth.SigV4Auth(Credentials(ACCESS, SECRET, TOKEN), "bedrock", REGION).add_auth(request)
    headers = {name.lower(): value for name, value in request.headers.items()}
    assert fault_of(headers, url, b"{}") == ""
    assert hashlib.sha256(b"[]").hexdigest() in fault_of(headers, url, b"[]")
