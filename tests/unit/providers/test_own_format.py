"""Test wire formats that an application brings, wherever an API is named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from agui_reasoning import (
    ConfigurationError,
    DecodeError,
    Emitter,
    ModelStream,
    Run,
    aio,
    build_request,
    reduce_events,
    restore,
    run_agent,
    stream_run,
)
from agui_reasoning.client import AgentClient
from agui_reasoning.consumer import Conversation
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
    NativeDelta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    UsageDelta,
)
from agui_reasoning.gateway import HTTPUpstream, create_app
from agui_reasoning.parts import NativePart, Opaque, Origin, ReasoningPart, Segment, TextPart
from agui_reasoning.policy import EchoRule
from agui_reasoning.providers import HTTPEndpoint, ProviderAPI, decode_response, decoder, provider_api
from agui_reasoning.providers.encoding import ResponseStep, reasoning_units, text_of
from agui_reasoning.request import PreparedResponse, prepare
from agui_reasoning.testing import assert_round_trip
from tests.support.verifier import plain, replay

QUESTION = {"id": "1", "role": "user", "content": "Umbrella?"}
INPUT = {"threadId": "t", "runId": "r", "messages": [QUESTION]}
LINES = [{"think": "Hm"}, {"think": "."}, {"seal": "U0VBTA"}, {"say": "Yes."}, {"end": "stop"}]


class AcmeDecoder:
    def __init__(self, *, provider: str | None, model: str | None) -> None:
        self.named = provider, model
        self.warnings: list[str] = []
        self.ended = False

    def receive(self, payload: Any) -> list[Delta]:
        deltas: list[Delta] = []
        for kind, value in payload.items():
            if kind == "odd":
                self.warnings.append("Something odd came.")
            deltas += self.read(kind, value)
        return deltas

    def read(self, kind: str, value: Any) -> list[Delta]:
        if kind == "end":
            self.ended = True
            return [FinishDelta(value)]
        made: dict[str, Any] = {
            "think": ReasoningDelta,
            "say": TextDelta,
            "seal": lambda seal: OpaqueDelta(Opaque("acme.seal", seal)),
            "block": lambda block: NativeDelta("acme.block", block),
            "count": lambda count: UsageDelta(output_tokens=count),
        }
        return [made[kind](value)] if kind in made else []

    def whole(self, response: Any) -> list[Delta]:
        return [delta for line in response["lines"] for delta in self.receive(line)]

    def close(self) -> list[Delta]:
        if self.ended:
            return []
        deltas = [CloseDelta(status="incomplete")]
        raise DecodeError("Cut.", code="truncated_stream", hint="Ask again.", deltas=deltas)


def encode(conversation: Any, options: Any) -> dict[str, Any]:
    dialog: list[Any] = []
    for item in conversation:
        if not isinstance(item, ResponseStep):
            dialog.append(text_of(item.content, options.report, "message"))
            continue
        for unit in reasoning_units(item):
            dialog.append([unit.part.text, *(value.value for value in unit.part.opaque)])  # type: ignore[union-attr]
            options.report.echo(unit)
        for unit in item.units:
            if isinstance(unit.part, TextPart):
                dialog.append(unit.part.text)
            elif isinstance(unit.part, NativePart) and not unit.refused:
                dialog.append(unit.part.payload)
                options.report.echo(unit)
    return {"dialog": dialog}


def acme(**members: Any) -> ProviderAPI:
    return ProviderAPI(
        **{
            "id": "acme",
            "decoder": AcmeDecoder,
            "encoder": encode,
            "conversation_fields": frozenset({"dialog"}),
            "native_kinds": ("acme.",),
            "http": HTTPEndpoint(path="/dialog", framing="json-lines"),
            **members,
        }
    )


ACME = acme()
POLICY = [EchoRule(api="acme", status="required", field=("thinking",), scope="all")]
ORIGIN = Origin("acme", "acme", "acme-1")


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test starts without formats of the application."""
    monkeypatch.setattr("agui_reasoning.providers.registry._OWN", {})


def play(lines: Any = LINES, **options: Any) -> list[dict[str, Any]]:
    events = plain(list(stream_run(INPUT, lines, api=ACME, model="acme-1", **options)))
    replay(events, framed=True)
    return events


def test_a_decoder_of_an_own_format_says_where_its_responses_come_from() -> None:
    decode = decoder(ACME, model="acme-1")
    counted = decode.receive({"count": 3})
    assert [*counted, *(delta for line in LINES for delta in decode.receive(line)), *decode.close()] == [
        UsageDelta(output_tokens=3),
        ResponseStart(ORIGIN),
        ReasoningDelta("Hm"),
        ReasoningDelta("."),
        OpaqueDelta(Opaque("acme.seal", "U0VBTA")),
        TextDelta("Yes."),
        FinishDelta("stop"),
    ]
    assert decode.receive({"say": "More."}) == [ResponseStart(ORIGIN), TextDelta("More.")]


def test_a_whole_response_is_decoded_with_its_origin() -> None:
    reasoning, text = decode_response(ACME, {"lines": LINES}, provider="host", model="acme-1")
    assert isinstance(reasoning, ReasoningPart)
    assert reasoning.origin == text.origin == Origin("host", "acme", "acme-1")
    assert (reasoning.text, reasoning.opaque) == ("Hm.", (Opaque("acme.seal", "U0VBTA"),))


@pytest.mark.parametrize("keys", [None, KeyRing.generate()])
def test_what_was_said_goes_back(keys: KeyRing | None) -> None:
    events = play(keys=keys, policy=POLICY)
    messages = [QUESTION, *reduce_events(events)]
    request = build_request(
        ACME, messages, model="acme-1", policy=POLICY, keys=keys, thread_id="t" if keys else None
    )
    assert request.body == {"dialog": ["Umbrella?", ["Hm.", "U0VBTA"], "Yes."]}
    assert [entry.outcome for entry in request.report] == ["echoed"]
    assert_round_trip(INPUT, events, api=ACME, provider=None, model="acme-1", keys=keys, policy=POLICY)


def test_the_conversation_of_an_own_format_has_what_may_be_sent() -> None:
    messages = [QUESTION, *reduce_events(play())]
    options: dict[str, Any] = {"model": "acme-1", "on_warning": lambda _: None}
    thought = ReasoningPart((Segment("text", 0, "Hm."),), (Opaque("acme.seal", "U0VBTA"),), origin=ORIGIN)
    text = TextPart("Yes.", origin=ORIGIN)
    said = [prepare(ACME, messages, policy=policy, **options).items[1] for policy in (POLICY, ())]
    assert said == [PreparedResponse((thought, text)), PreparedResponse((text,))]
    (_, elsewhere) = prepare(ACME, messages, provider="host", policy=POLICY, **options).items
    assert elsewhere == PreparedResponse((text,))


def test_without_a_row_reasoning_stays_and_a_warning_says_so() -> None:
    heard: list[str] = []
    request = build_request(ACME, [QUESTION, *reduce_events(play())], model="acme-1", on_warning=heard.append)
    assert request.body == {"dialog": ["Umbrella?", "Yes."]}
    assert heard == [
        "The echo policy has no row for 'acme' of acme and the model 'acme-1': no reasoning is sent back."
    ]


def test_values_stay_with_their_format() -> None:
    messages = [QUESTION, *reduce_events(play(policy=POLICY))]
    other = build_request("anthropic-messages", messages, model="claude-sonnet-5")
    assert "U0VBTA" not in str(other.body)


def test_native_parts_go_back_if_their_value_is_encrypted() -> None:
    lines = [{"think": "Hm."}, {"block": {"n": 1}}, {"say": "Yes."}, {"end": "stop"}]
    keys = KeyRing.generate()
    for ring, blocks in ((keys, [{"n": 1}]), (None, [])):
        messages = [QUESTION, *reduce_events(play(lines, keys=ring, policy=POLICY))]
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("warnings.warn", lambda *said, **more: None)
            request = build_request(
                ACME, messages, model="acme-1", policy=POLICY, keys=ring, thread_id="t" if ring else None
            )
        assert [item for item in request.body["dialog"] if isinstance(item, dict)] == blocks


def test_a_run_takes_it_and_so_does_a_request_of_another_api_in_it() -> None:
    run = Run(INPUT, api=ACME, model="acme-1", policy=POLICY)
    assert (run.api, run.request().body) == ("acme", {"dialog": ["Umbrella?"]})
    other = Run(INPUT, api="ollama", model="m")
    assert other.request(api=ACME, model="acme-1").body == {"dialog": ["Umbrella?"]}
    assert Emitter(api=ACME).receive(TextDelta("Yes."))


@pytest.mark.anyio
async def test_a_model_stream_takes_it_beside_another_api() -> None:
    async def agent(run: Run) -> Any:
        assert (await aio.request(run, api=ACME, model="acme-1")).body == {"dialog": ["Umbrella?"]}
        yield ModelStream(LINES, api=ACME, model="acme-1")

    events = plain([event async for event in aio.run_agent(INPUT, agent, api="ollama", model="m")])
    assert [event["delta"] for event in events if "delta" in event] == ["Hm", ".", "Yes."]
    (turn,) = restore(reduce_events(events)).turns
    assert turn.origin == ORIGIN


def test_warnings_of_the_decoder_are_said_once() -> None:
    heard: list[str] = []
    play([{"odd": 1}, {"odd": 2, "say": "Yes."}, {"end": "stop"}], on_warning=heard.append)
    assert heard == ["Something odd came."]


def test_a_stream_that_was_cut_ends_the_run_and_keeps_what_came() -> None:
    events = play(LINES[:2])
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "truncated_stream")


class Enveloped:
    """A `PayloadReader` that takes payloads of a known API out of envelopes."""

    def __init__(self, run: Run) -> None:
        self.decoder = decoder("openai-chat", provider="deepseek", model=run.model)

    def receive(self, payload: Any) -> list[Delta]:
        return self.decoder.receive(payload["data"]) if "data" in payload else []

    def whole(self, response: Any) -> list[Delta]:
        return self.decoder.whole(response["data"])

    def close(self) -> list[Delta]:
        return self.decoder.close()


def test_a_payload_reader_reads_what_only_it_knows() -> None:
    choice = {"index": 0, "delta": {"content": "Rain."}, "finish_reason": "stop"}

    def agent(run: Run) -> Iterator[Any]:
        yield ModelStream([{"ping": 1}, {"data": {"model": "m", "choices": [choice]}}], reader=Enveloped)

    reader: type[aio.PayloadReader] = Enveloped
    assert reader is Enveloped
    events = plain(list(run_agent(INPUT, agent, api="openai-chat", provider="deepseek")))
    assert [event["delta"] for event in events if "delta" in event] == ["Rain."]


@pytest.mark.anyio
async def test_the_gateway_asks_over_http() -> None:
    asked: list[Any] = []

    async def provider(scope: Any, receive: Any, send: Any) -> None:
        body = b""
        more = True
        while more:
            message = await receive()
            body, more = body + message["body"], message.get("more_body", False)
        asked.append((scope["path"], body))
        headers = [(b"content-type", b"application/x-ndjson")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        lines = "".join(f"{line}\n".replace("'", '"') for line in LINES)
        await send({"type": "http.response.body", "body": lines.encode()})

    http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=provider))
    upstream = HTTPUpstream(ACME, base_url="http://models.acme", model="acme-1", http=http)
    app = create_app(upstream, policy=POLICY, allowed_hosts=["gateway"])
    conversation = Conversation("t")
    web = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app))
    async with web, AgentClient("http://gateway/agent", http=web) as client:
        for question in ("Umbrella?", "And tomorrow?"):
            _ = [event async for event in client.run(conversation, question)]
    assert [path for path, _ in asked] == ["/dialog", "/dialog"]
    assert b'["Umbrella?",["Hm.","U0VBTA"],"Yes.","And tomorrow?"]' in asked[1][1].replace(b", ", b",")


@pytest.mark.parametrize(
    ("api", "words"),
    [
        (acme(id="openai-chat"), "is that of an API of this package"),
        (acme(id=""), "is not a string with text"),
        (acme(decoder=7), "decoder of 'acme' is int"),
        (acme(decoder="decode:AcmeDecoder"), "decoder of 'acme' is str"),
        (acme(encoder={}), "encoder of 'acme' is dict"),
        (acme(conversation_fields="dialog"), "fields of 'acme' are a string, not a set"),
        (acme(http=HTTPEndpoint(path="dialog")), "is 'dialog', which does not start with a slash"),
        (
            acme(http=HTTPEndpoint(path="/dialog", framing="jsonl")),  # type: ignore[arg-type]
            "framing of 'acme' is 'jsonl', not one of sse, json-lines",
        ),
        (AcmeDecoder, "api is type"),
        (7, "api is int"),
    ],
)
def test_a_format_that_cannot_work_is_refused_at_once(api: Any, words: str) -> None:
    for step in (lambda: decoder(api), lambda: Run(INPUT, api=api), lambda: ModelStream([], api=api)):
        with pytest.raises(ConfigurationError, match=words) as caught:
            step()
        assert caught.value.code == "bad_api"


def test_an_encoder_returns_a_request() -> None:
    with pytest.raises(ConfigurationError, match="encoder of 'listed' returned list") as caught:
        build_request(acme(id="listed", encoder=lambda conversation, options: []), [QUESTION], model="m")
    assert caught.value.code == "bad_api"


def test_the_gateway_says_how_a_format_gets_an_endpoint() -> None:
    with pytest.raises(ConfigurationError) as caught:
        HTTPUpstream(acme(id="spoken", http=None), base_url="https://models.example", model="m")
    assert caught.value.code == "unknown_api"
    assert caught.value.hint == "Give it one: ProviderAPI(…, http=HTTPEndpoint(path=…))."


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"reader": 7}, "reader of the model stream is int, and cannot be called"),
        ({"reader": object, "tags": {"<a>": "</a>"}}, "has a reader, and also tags"),
        ({"reader": object, "starts_in_reasoning": False}, "and also starts_in_reasoning"),
        ({"reader": object, "stream_id": "s"}, "and also stream_id"),
    ],
)
def test_a_reader_that_cannot_be_used_is_refused_at_once(options: Any, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words) as caught:
        ModelStream([], **options)
    assert caught.value.code == "wrong_option"


def test_a_format_of_the_package_stands_for_itself() -> None:
    assert decoder(provider_api("ollama")).api == "ollama"


def test_an_api_without_an_encoder_is_only_decoded() -> None:
    with pytest.raises(ConfigurationError) as caught:
        build_request(acme(id="mute", encoder=None), [QUESTION], model="m")
    assert caught.value.code == "unknown_api"


def test_an_id_is_known_once_its_object_was_passed_and_a_later_object_replaces_it() -> None:
    with pytest.raises(ConfigurationError) as caught:
        decoder("acme")
    assert caught.value.code == "unknown_api"
    decoder(ACME)
    assert provider_api("acme") is ACME
    later = acme(vendor="other")
    decoder(later)
    assert provider_api("acme") is later
