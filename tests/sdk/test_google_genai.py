"""Google's own SDK asks a local server that replays, and its objects go into the decoder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agui_reasoning._scripted import load_script
from agui_reasoning._strict_json import dump
from agui_reasoning.deltas import Delta
from agui_reasoning.gateway import local_server, provider_app
from agui_reasoning.providers import decoder
from agui_reasoning.request import build_request
from tests.support.expected import payloads
from tests.support.recordings import load, recordings

genai = pytest.importorskip("google.genai", reason="google-genai is not installed: pip install google-genai")

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::UserWarning", "ignore::ResourceWarning"
)


@contextmanager
def provider(recordings: Iterable[dict[str, Any]], asked: list[Any] | None = None) -> Iterator[Any]:
    """The SDK's client of a server that answers each request with the next recording."""
    answers = iter(recordings)

    async def answer(request: Request) -> Response:
        if asked is not None:
            asked.append(await request.json())
        recording = next(answers)
        if not recording["stream"]:
            return JSONResponse(recording["response"])
        datas = (event["data"] for event in recording["events"])
        frames = [f"data: {data if isinstance(data, str) else dump(data)}\n\n" for data in datas]
        return StreamingResponse(iter(frames), media_type="text/event-stream")

    with local_server(Starlette(routes=[Route("/{path:path}", answer, methods=["POST"])])) as url:
        yield genai.Client(api_key="none", http_options=genai.types.HttpOptions(base_url=url))


def objects(client: Any, recording: dict[str, Any]) -> list[Any]:
    if recording["api"] == "gemini-interactions":
        made = client.interactions.create(model="m", input="Hi.", stream=recording["stream"])
        return list(made) if recording["stream"] else [made]
    if recording["stream"]:
        return list(client.models.generate_content_stream(model="m", contents="Hi."))
    return [client.models.generate_content(model="m", contents="Hi.")]


def decoded(recording: dict[str, Any], answers: list[Any]) -> list[Delta]:
    made = decoder(recording["api"], provider=recording["provider"])
    if not recording["stream"]:
        return made.whole(answers[0])
    return [delta for payload in answers for delta in made.receive(payload)] + made.close()


def readable(recording: dict[str, Any]) -> bool:
    """The SDK takes neither signatures that its source replaced, nor finish reasons that are numbers."""
    text = dump(recording.get("events") or recording["response"])
    odd = "REDACTED" in text and recording["api"] == "gemini"
    return not odd and '"finishReason":1' not in text and '"decafe42"' not in text


@pytest.mark.parametrize("api", ["gemini", "gemini-interactions"])
def test_objects_of_the_sdk_give_what_their_wire_json_gives(api: str) -> None:
    files = [param.values[0] for param in recordings(api) if param.values[0] is not None]
    chosen = [one for one in map(load, files) if readable(one) and "mock" not in one["id"]]
    if not chosen:
        pytest.skip("the recordings are absent; set AGUI_REASONING_SHARED")
    with provider(chosen) as client:
        for recording in chosen:
            wire = payloads(recording) if recording["stream"] else [recording["response"]]
            made = decoded(recording, objects(client, recording))
            assert made == decoded(recording, wire), recording["id"]


WHOLE: dict[str, Any] = {
    "stream": False,
    "response": {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi."}]}, "index": 0}]},
}


def test_a_body_splats_into_the_sdks_call_and_its_sentinel_arrives_as_it_is() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    messages = [
        {"id": "1", "role": "user", "content": "Hi."},
        {"id": "2", "role": "assistant", "toolCalls": [call]},
        {"id": "3", "role": "tool", "toolCallId": "c", "content": "4"},
    ]
    tool = {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}
    body = build_request("gemini", messages, model="gemini-3-pro", system="Be brief.", tools=[tool]).body
    asked: list[Any] = []
    with provider([WHOLE], asked) as client:
        client.models.generate_content(model="gemini-3-pro", **body)
    (sent,) = asked
    assert sent["contents"] == body["contents"]
    assert sent["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    # The SDK spells some fields as Python does; the API takes both.
    assert [tool["name"] for tool in sent["tools"][0]["functionDeclarations"]] == ["f"]


def test_the_sdk_holds_a_conversation_with_a_replayed_provider() -> None:
    script = load_script("gemini-weather-3")
    with local_server(provider_app("gemini-weather")) as url:
        options = genai.types.HttpOptions(base_url=url, api_version="v1beta")
        client = genai.Client(api_key="none", http_options=options)
        body = {"contents": script["request"]["contents"], "config": {"tools": script["request"]["tools"]}}
        chunks = list(client.models.generate_content_stream(model=script["model"], **body))
    assert decoded(script, chunks) == decoded(script, [event["data"] for event in script["events"]])
