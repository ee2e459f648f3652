"""Every fault of a provider, over every HTTP API, at several places of a call and of an answer.

For each: the client gets a valid stream with one terminal event, and all that came before the fault; nothing
stays open; the strict provider takes the next request, and the next run of the thread finishes.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, cycle, product
from typing import Any
from zlib import crc32

import pytest

from agui_reasoning.gateway import FRAMINGS
from agui_reasoning.providers import provider_api
from tests.support.effort import is_quick, mostly_slow, thinned
from tests.unit.gateway.faulty_provider import (
    APIS,
    END,
    JUDGES,
    RESET,
    Answer,
    Faulty,
    Talk,
    eventually,
    frames,
    gateways,
    good,
    in_memory,
    media_type,
    said,
    shown,
    sockets,
    words,
)
from tests.unit.gateway.http_client import opened

FAILED = "RUN_ERROR"


@dataclass(frozen=True)
class Case:
    """A fault: the answers of the provider, how many frames of a script came whole, and the codes of the end.

    Where the number of whole frames is a matter of taste, there are several.
    """

    answers: tuple[Answer, ...]
    whole: tuple[int, ...]
    codes: tuple[str, ...]


Fault = Callable[[str, int], Iterator[Case]]


def framing(api: str) -> str:
    http = provider_api(api).http
    assert http is not None
    return http.framing


def places(api: str, number: int) -> list[int]:
    """Where a script is broken: in front, behind the first payload, and until the response is complete."""
    count = len(frames(api, number))
    open_until = next(
        n for n in range(count, -1, -1) if in_memory(api, said(api, number, n))[-1]["type"] == FAILED
    )
    found = sorted({0, 1, open_until // 3, open_until // 2, 2 * open_until // 3, open_until})
    return found[1::3] if is_quick() else found


def broken(api: str, number: int, pieces: Callable[[list[bytes], int], Any], *codes: str) -> Iterator[Case]:
    """A script that is broken at its places, by what comes instead of the next frame."""
    written = frames(api, number)
    for place in places(api, number):
        answer = Answer([*written[:place], *pieces(written, place)], content_type=media_type(api))
        yield Case((answer,), (place,), codes)


def reset(api: str, number: int) -> Iterator[Case]:
    yield Case((Answer([RESET], status=0),), (0,), ("unreachable",))
    yield from broken(api, number, lambda written, place: [RESET], "truncated_stream")


def ended(api: str, number: int) -> Iterator[Case]:
    """The connection ends, with and without the end of the body."""
    yield Case((Answer([END], status=0),), (0,), ("unreachable",))
    yield from broken(api, number, lambda written, place: [END], "truncated_stream")
    yield from broken(api, number, lambda written, place: [], "truncated_stream")


def silent(api: str, number: int) -> Iterator[Case]:
    yield Case((Answer([...], status=0),), (0,), ("timeout",))
    yield from list(broken(api, number, lambda written, place: [...], "timeout"))[-1:]


def half_a_frame(api: str, number: int) -> Iterator[Case]:
    """The frame may be whole but for its last line break."""
    for part, end in ((1, END), (5, None), (9, RESET)):

        def cut(written: list[bytes], place: int, part: int = part, end: Any = end) -> list[Any]:
            frame = written[place]
            return [frame[: max(1, len(frame) * part // 10)], *([end] if end else [])]

        yield from broken(api, number, cut, "truncated_stream")
    for case in broken(api, number, lambda written, place: [written[place][:-1], END], "truncated_stream"):
        yield replace(case, whole=(case.whole[0], case.whole[0] + 1))


ERRORS: dict[str, Any] = {
    "anthropic-messages": {"type": "error", "error": {"type": "api_error", "message": "WORDS"}},
    "openai-responses": {"type": "error", "code": "server_error", "message": "WORDS"},
    "bedrock-converse": {"internalServerException": {"message": "WORDS"}},
    "gemini-interactions": {"event_type": "error", "error": {"code": 500, "message": "WORDS"}},
    "mistral-chat": {"object": "error", "type": "internal", "code": 500, "message": "WORDS"},
    "ollama": {"error": "WORDS"},
}
OTHERS = {"error": {"code": 500, "message": "WORDS", "status": "INTERNAL"}}


def error_body(api: str, number: int) -> Iterator[Case]:
    """Status 200, and an error instead of a stream, or in it: in the API's form, and in that of gateways."""
    http = provider_api(api).http
    assert http is not None
    own = ERRORS.get(api, OTHERS)
    for error in (own, OTHERS):
        body = json.dumps(error).encode()
        yield Case((Answer([body], content_type="application/json"),), (0,), ("provider_error",))
        frame = FRAMINGS[http.framing].write(http, {"data": error})
        yield from broken(api, number, lambda written, place, frame=frame: [frame], "provider_error")
    for nothing in (b"{}", b'{"message": "WORDS"}'):
        answer = Answer([nothing], content_type="application/json")
        yield Case((answer,), (0,), ("wrong_api", "bad_payload"))


def limited(api: str, number: int) -> Iterator[Case]:
    refused = Answer([b"{}"], 429, "application/json", {"retry-after": "7"})
    yield Case((refused,), (0,), ("rate_limited",))


HTML = b"<!DOCTYPE html>\n<html><body><h1>WORDS</h1>\n\n</body></html>\n"


def html_page(api: str, number: int) -> Iterator[Case]:
    yield Case((Answer([HTML], 502, "text/html"),), (0,), ("provider_error", "overloaded"))
    yield Case((Answer([HTML], 200, "text/html"),), (0,), ("not_an_event_stream",))
    codes = ("truncated_stream", "bad_payload", "bad_frame")
    yield Case((Answer([HTML], 200, media_type(api)),), (0,), codes)


BAD = {
    "sse": [b"data: {\n\n", b'data: {"a": 1]\n\n', b"data: WORDS\n\n", b"data: [1]\n\n"],
    "json-lines": [b"{\n", b'{"a": 1]\n', b"WORDS\n", b"[1]\n"],
    "aws-event-stream": [b"\0" * 16, b"WORDS and more than a prelude"],
}


def malformed(api: str, number: int) -> Iterator[Case]:
    for bad in BAD[framing(api)]:
        yield from broken(
            api, number, lambda written, place, bad=bad: [bad, *written[place:]], "bad_payload", "bad_frame"
        )


def not_utf_8(api: str, number: int) -> Iterator[Case]:
    """A signature would not fit a text in which something was replaced."""
    whole = Answer([b'{"content": "\xff"}'], content_type="application/json")
    yield Case((whole,), (0,), ("bad_utf8",))

    def damaged(written: list[bytes], place: int) -> list[bytes]:
        head, quote, tail = written[place].rpartition(b'"')
        frame = head + b"\xff" + quote + tail
        return [_checked(frame) if framing(api) == "aws-event-stream" else frame, *written[place + 1 :]]

    yield from broken(api, number, damaged, "bad_utf8")


def _checked(frame: bytes) -> bytes:
    """A message of AWS that was changed, with the right sizes and sums."""
    lengths = struct.pack(">I", len(frame)) + frame[4:8]
    message = lengths + struct.pack(">I", crc32(lengths)) + frame[12:-4]
    return message + struct.pack(">I", crc32(message))


FAULTS: dict[str, Fault] = {
    "reset": reset,
    "ended": ended,
    "silent": silent,
    "half a frame": half_a_frame,
    "error body": error_body,
    "limited": limited,
    "HTML": html_page,
    "malformed": malformed,
    "not UTF-8": not_utf_8,
}


def some_slow(apis: Iterable[str]) -> list[Any]:
    """The APIs, of which a quick run takes one of each framing."""
    return mostly_slow(apis, quick=("openai-chat", "bedrock-converse", "ollama"))


@pytest.fixture(scope="module")
def provider() -> Iterator[Faulty]:
    with Faulty() as found:
        yield found


@pytest.fixture(scope="module")
def gateway(provider: Faulty) -> Iterator[Any]:
    with gateways(provider) as found:
        yield found


def ready(api: str, url: str, number: int) -> Talk:
    """A conversation whose next answer is that of a script."""
    talk = Talk(api, url)
    if number == 2:
        talk.has_issued(1)
        talk.take(list(first_events(api)))
        talk.refusals(None)  # gives the call its result
    return talk


@cache
def first_events(api: str) -> tuple[Any, ...]:
    return tuple(in_memory(api, said(api, 1)))


HERE = [
    pytest.param(fault, api, marks=() if i == j else pytest.mark.slow, id=f"{fault}-{api}")
    for (i, fault), (j, api) in product(enumerate(FAULTS), enumerate(APIS))
]


@pytest.mark.parametrize(("fault", "api"), HERE)
def test_a_fault_ends_the_run_and_loses_nothing(
    fault: str,
    api: str,
    provider: Faulty,
    gateway: Any,
    record_property: Callable[[str, object], None],
) -> None:
    url = gateway(api, **({"timeout_s": 0.1} if fault == "silent" else {}))
    provider.answers = [good(api, 3)]
    Talk(api, url).ask()
    before, times = sockets(), 0
    for number in (1, 2):
        for case in (cases := list(FAULTS[fault](api, number))):
            talk = ready(api, url, number)
            provider.answers = [*case.answers, good(api, 3)]
            talk.has_issued(number)
            new = talk.ask(None if number == 2 else "Umbrella?")
            assert shown(new) in {words(api, said(api, number, count)) for count in case.whole}
            assert talk.code in case.codes
            assert talk.refusals() == []
            if case is cases[-1]:
                talk.ask("And by bicycle?")
                assert talk.events[-1]["type"] == "RUN_FINISHED"
            times += 1
    eventually(lambda: sockets() <= before)
    record_property("times", times)


# -- a stream that never ends


@pytest.mark.parametrize("api", some_slow(APIS))
def test_a_whole_answer_on_a_connection_that_stays_open_is_one(
    api: str, provider: Faulty, gateway: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agui_reasoning.gateway._transport.AFTER_END_S", 0.05)
    provider.answers = [replace(good(api), pieces=[*frames(api), ...]), good(api, 2)]
    talk = ready(api, gateway(api), 1)
    talk.has_issued(1)
    assert shown(talk.ask()) == words(api, said(api, 1))
    assert talk.events[-1]["type"] == "RUN_FINISHED"
    assert talk.refusals(None) == []


@pytest.mark.parametrize("api", ["ollama", "gemini", "openai-responses"])
def test_what_looks_like_an_end_inside_a_payload_is_none(
    api: str, provider: Faulty, gateway: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The arguments of a call and the schemas of tools may have any members, and models think after them."""
    monkeypatch.setattr("agui_reasoning.gateway._transport.AFTER_END_S", 0.0)
    looks = b'{"other": {"metadata": {"done": true, "finishReason": "STOP", "x": "message_stop"}}, '
    first, *rest = frames(api)
    provider.answers = [
        Answer([first.replace(b"{", looks, 1), *rest], content_type=media_type(api)),
        good(api, 2),
    ]
    talk = ready(api, gateway(api), 1)
    talk.has_issued(1)
    assert shown(talk.ask()) == words(api, said(api, 1))
    assert talk.events[-1]["type"] == "RUN_FINISHED"


ENDLESS = {"sse": b"data: " + b"x" * 500_000, "json-lines": b"x" * 500_000}


@pytest.mark.parametrize("api", some_slow(api for api in APIS if framing(api) in ENDLESS))
def test_a_frame_that_never_ends_is_not_kept(api: str, provider: Faulty, gateway: Any) -> None:
    pieces = [*frames(api)[:2], *[ENDLESS[framing(api)]] * 40, ...]
    provider.left.clear()
    provider.answers = [Answer(pieces, content_type=media_type(api)), good(api, 3)]
    talk = ready(api, gateway(api), 1)
    assert shown(talk.ask()) == words(api, said(api, 1, 2))
    assert talk.code == "frame_too_large"
    assert talk.refusals() == []


@pytest.mark.parametrize("what", ["words", "comments"])
@pytest.mark.parametrize("api", some_slow(APIS))
def test_a_client_that_leaves_ends_a_stream_that_never_does(
    api: str, what: str, provider: Faulty, gateway: Any
) -> None:
    """Whether the provider says something or only that it is there."""
    provider.answers = [good(api, 3)]
    talk = ready(api, gateway(api), 1)
    talk.ask()  # opens the gateway, which has sockets of its own
    before = sockets()
    ping = {"sse": b": ping\n\n", "json-lines": b"\n"}.get(framing(api), frames(api)[0])
    written = frames(api)
    endless = cycle([written[2] if what == "words" else ping])
    provider.left.clear()
    provider.answers = [Answer(chain(written[:3], endless), content_type=media_type(api)), good(api, 3)]
    with opened(talk.url, talk.input("Umbrella?")) as response:
        assert b"RUN_STARTED" in response.readline()
    eventually(lambda: sockets() <= before)


# -- events twice, and in another order


def twice(payloads: list[Any], place: int) -> list[Any]:
    return [*payloads[: place + 1], payloads[place], *payloads[place + 1 :]]


def swapped(payloads: list[Any], place: int) -> list[Any]:
    return [*payloads[:place], *payloads[place + 1 : place + 2], payloads[place], *payloads[place + 2 :]]


@pytest.mark.parametrize("disorder", [twice, swapped])
@pytest.mark.parametrize("api", JUDGES)
def test_events_twice_or_in_another_order_are_a_valid_stream(
    api: str, disorder: Any, record_property: Callable[[str, object], None]
) -> None:
    """What was said twice is shown twice, for nobody can tell it from a word that was repeated."""
    cases = [(number, place) for number in (1, 2) for place in range(len(said(api, number)))]
    for number, place in (tried := thinned(cases, 7)):
        whole = said(api, number)
        talk = ready(api, "", number)
        given = talk.input(None if number == 2 else "Umbrella?")
        talk.take(in_memory(api, disorder(whole, place), given))
        new = shown(talk.conversation.messages[len(given["messages"]) :])
        assert new.startswith(words(api, whole[:place]))
        assert talk.refusals(values=False) == []
    record_property("times", len(tried))
