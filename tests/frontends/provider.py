"""A provider on this machine that answers each request with something new.

Real providers never repeat an ID or an encrypted value. Front ends rely on it: assistant-ui does not run a
tool again for a call whose ID it has seen. So the exchanges of a script are renewed before they are played.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition, Event
from typing import Any, Final

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agui_reasoning.deltas import fold
from agui_reasoning.gateway import FRAMINGS, ProviderRules, local_server
from agui_reasoning.parts import ReasoningPart, TextPart
from agui_reasoning.providers import decoder, provider_api
from agui_reasoning.replay import (
    ENCRYPTED_CONTENT,
    REDACTED,
    SIGNATURE,
    Exchange,
    choose,
    payloads,
    read_answer,
    read_request,
    sequence,
)

__all__ = ["PATIENCE_S", "Answer", "Break", "Provider", "playing", "renewed"]

PATIENCE_S: Final = 60.0

_ID = re.compile(r"[\w-]*demo[\w-]*")
_NINE = re.compile(r"dEm0\w{5}")  # Mistral's IDs of calls have nine characters
_SEALED = re.compile(r"YWd1aS1yZWFzb25pbmcg")  # how the scripts' encrypted values begin
_OPAQUE: Final = frozenset({SIGNATURE, REDACTED, ENCRYPTED_CONTENT})
_LETTERS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Break:
    """An answer that does not reach its end.

    Attributes:
        kind: The class of deltas within which it stops.
        after: How many of them are sent.
        stays: Whether the connection stays open until the other side leaves, or ends.
        resumes: Whether it only pauses there, until `Provider.resume`.
    """

    kind: type
    after: int = 2
    stays: bool = False
    resumes: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request was answered with.

    Attributes:
        number: The number of the request, from 1.
        exchange: What was sent.
        whole: Whether all of it was sent.
    """

    number: int
    exchange: Exchange
    whole: bool

    @property
    def text(self) -> str:
        """The words of the answer, without the reasoning."""
        return "".join(part.text for part in _parts(self.exchange) if isinstance(part, TextPart))

    @property
    def reasoning(self) -> list[str]:
        """The text of each reasoning unit."""
        parts = [part for part in _parts(self.exchange) if isinstance(part, ReasoningPart)]
        return [segment.text for part in parts for segment in part.segments if segment.text]

    @property
    def opaque(self) -> list[str]:
        """The values that only the provider can read."""
        return [entry.value for entry in read_answer(self.exchange) if entry.kind in _OPAQUE and entry.value]


class Provider:
    """Answers as the provider of a script, and refuses what that would refuse.

    Attributes:
        api: The ID of its API.
        requests: The bodies of the requests, in order.
        answers: What each was answered with; ``None`` where it was refused.
        refusals: Why.
    """

    def __init__(self, script: str) -> None:
        self.script = sequence(script)
        self.api: str = self.script[0]["api"]
        self.requests: list[dict[str, Any]] = []
        self.answers: list[Answer | None] = []
        self.refusals: list[str] = []
        self._left = 0
        self._breaks: deque[Break | None] = deque()
        self._changed = Condition()
        self._resumed = Event()

    def break_next(self, broken: Break, *, after: int = 0) -> None:
        """Break an answer.

        Args:
            broken: Where.
            after: How many answers before it are whole.
        """
        self._breaks.extend([None] * after)
        self._breaks.append(broken)

    def resume(self) -> None:
        """Send the rest of an answer that pauses."""
        self._resumed.set()

    def wait_for(self, answers: int) -> None:
        """Wait until so many requests were answered, or are being answered."""
        self._wait(lambda: len(self.answers) >= answers)

    def wait_until_left(self, times: int = 1) -> None:
        """Wait until the other side has left so many answers that stayed open."""
        self._wait(lambda: self._left >= times)

    def _wait(self, condition: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(condition, PATIENCE_S), (
                f"{len(self.requests)} requests, refused: {self.refusals}"
            )

    def app(self) -> Starlette:
        """The HTTP API."""
        http = provider_api(self.api).http
        assert http is not None
        return Starlette(routes=[Route(http.base + http.path, self._answer, methods=["POST"])])

    async def _answer(self, request: Request) -> Response:
        body = json.loads(await request.body())
        self.requests.append(body)
        entries = read_request(self.api, body)
        given = [answer.exchange for answer in self.answers if answer is not None]
        if fault := ProviderRules(given or self.script[:1]).broken_by(entries):
            self.refusals.append(fault)
            self._note(None)
            error = {"type": "invalid_request_error", "message": fault}
            return JSONResponse({"type": "error", "error": error}, 400)
        number = len(self.requests)
        exchange = renewed(choose(self.script, [entry.speaker for entry in entries]), number)
        broken = self._breaks.popleft() if self._breaks else None
        before = exchange["events"] if broken is None else _until(exchange, broken)
        whole = broken is None or broken.resumes
        if not whole:
            exchange = {**exchange, "events": before}
        self._note(Answer(number, exchange, whole))
        http = provider_api(self.api).http
        assert http is not None
        framing = FRAMINGS[http.framing]
        frames = [framing.write(http, event) for event in exchange["events"]]
        stays = broken is not None and broken.stays
        return StreamingResponse(self._stream(frames, len(before), stays), media_type=framing.media_type)

    async def _stream(self, frames: list[bytes], before: int, stays: bool) -> AsyncIterator[bytes]:
        try:
            for frame in frames[:before]:
                yield frame
            if before < len(frames):
                await anyio.to_thread.run_sync(self._resumed.wait, PATIENCE_S, abandon_on_cancel=True)
            for frame in frames[before:]:
                yield frame
            if stays:
                await anyio.sleep_forever()
        finally:
            if stays:
                with self._changed:
                    self._left += 1
                    self._changed.notify_all()

    def _note(self, answer: Answer | None) -> None:
        with self._changed:
            self.answers.append(answer)
            self._changed.notify_all()


@contextmanager
def playing(script: str) -> Iterator[tuple[str, Provider]]:
    """A provider that plays a script: its URL, and what happens to it."""
    provider = Provider(script)
    with local_server(provider.app()) as url:
        yield url, provider


# -- exchanges


def _parts(exchange: Exchange) -> list[Any]:
    decode = decoder(exchange["api"], provider=exchange["provider"], model=exchange["model"])
    deltas = [delta for payload in payloads(exchange) for delta in decode.receive(payload)]
    return fold([*deltas, *decode.close()])


def _until(exchange: Exchange, broken: Break) -> Sequence[Any]:
    """The events of an exchange up to where it breaks."""
    decode = decoder(exchange["api"], provider=exchange["provider"], model=exchange["model"])
    seen = 0
    for number, payload in enumerate(payloads(exchange), start=1):
        seen += sum(isinstance(delta, broken.kind) for delta in decode.receive(payload))
        if seen >= broken.after:
            return list(exchange["events"][:number])
    raise AssertionError(f"{exchange['id']} has only {seen} of {broken.kind.__name__}")


def renewed(exchange: Exchange, number: int) -> Exchange:
    """The same exchange with IDs and encrypted values of its own; its text begins with its number."""
    text = "".join(part.text for part in _parts(exchange) if isinstance(part, TextPart))
    begun = False

    def renew(value: str) -> str:
        nonlocal begun
        if _ID.fullmatch(value):
            return f"{value}n{number}"
        if _NINE.fullmatch(value):
            return f"{value[:-1]}{_LETTERS[number]}"
        if _SEALED.match(value):
            return f"{value[:24]}{_LETTERS[number]}{value[25:]}"
        if text and (value == text or (not begun and len(value) > 2 and text.startswith(value))):
            begun = True
            return f"Answer {number}: {value}"
        return value

    events = [_mapped(event, renew) for event in exchange["events"]]
    renewed = {**exchange, "events": events}
    assert not text or _says(renewed, f"Answer {number}: {text}"), exchange["id"]
    return renewed


def _says(exchange: Exchange, text: str) -> bool:
    return text == "".join(part.text for part in _parts(exchange) if isinstance(part, TextPart))


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _mapped(member, change) for key, member in value.items()}
    return [_mapped(member, change) for member in value] if isinstance(value, list) else value
