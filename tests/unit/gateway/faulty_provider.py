"""A provider of raw sockets, which breaks what it says where a test wants; and conversations with it.

Over HTTP, through a gateway under uvicorn, on one thread for each connection.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from agui_reasoning import Conversation, Run, check_events, stream_run
from agui_reasoning.deltas import ReasoningDelta, TextDelta, ToolCallDelta, fold
from agui_reasoning.gateway import FRAMINGS, HTTPUpstream, create_app, listen, local_server, url_of
from agui_reasoning.parts import Origin, Turn
from agui_reasoning.providers import decoder, provider_api
from agui_reasoning.replay import CONVERSATIONS, TOOL_RESULT, load_script, payloads
from tests.support.strict_providers import STRICT, Issued
from tests.support.verifier import Client
from tests.unit.gateway.http_client import TIMEOUT, call

Json = dict[str, Any]
APIS = tuple(api for api in CONVERSATIONS if provider_api(api).http)
JUDGES = {
    "anthropic-messages": "anthropic",
    "openai-responses": "openai",
    "openai-chat": "deepseek",
    "bedrock-converse": "converse",
    "mistral-chat": "mistral",
    "cohere-chat": "cohere",
    "ollama": "ollama",
    "gemini": "gemini",
    "xai-grpc": "xai",
    "litellm": "litellm",
    "gemini-interactions": "interactions",
}
"""The strict provider of each API."""

RESET, END = object(), object()
"""The connection is reset, or ends without the end of the body."""


@dataclass(frozen=True)
class Answer:
    """What a provider answers: a head, unless ``status`` is 0, and pieces of a chunked body.

    A piece is bytes, `RESET`, `END`, or ``...``, which waits for the client to leave.
    """

    pieces: Iterable[Any] = ()
    status: int = 200
    content_type: str = "text/event-stream"
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def head(self) -> bytes:
        fixed = {"content-type": self.content_type, "transfer-encoding": "chunked", "connection": "close"}
        lines = [f"{name}: {value}\r\n" for name, value in (fixed | dict(self.headers)).items()]
        return f"HTTP/1.1 {self.status} Said\r\n{''.join(lines)}\r\n".encode() if self.status else b""


class Faulty:
    """A provider that gives the answers of a test one after the other, and the last one again.

    Attributes:
        url: Where it is.
        answers: What it says.
        asked: The bodies of the requests.
        left: Set when a client has left an answer that waited for it.
    """

    def __init__(self) -> None:
        self._listening = listen()
        self.url = url_of(self._listening)
        self.answers: list[Answer] = []
        self.asked: list[Json] = []
        self.left = threading.Event()
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    def __enter__(self) -> Faulty:
        return self

    def __exit__(self, *why: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._thread.join(TIMEOUT)
        self._listening.close()

    def _accept(self) -> None:
        threads: list[threading.Thread] = []
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                threads.append(threading.Thread(target=self._serve, args=(connection,)))
                threads[-1].start()
        for thread in threads:
            thread.join(TIMEOUT)

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(TIMEOUT)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # a reset drops what is not sent
        # A client that leaves early is no fault of this side.
        with closing(connection), suppress(OSError):
            with connection.makefile("rb") as reader:
                size = 0
                while line := reader.readline().strip():
                    name, _, value = line.partition(b":")
                    size = int(value) if name.lower() == b"content-length" else size
                if not (body := reader.read(size)):
                    return  # it has left before it asked
            self.asked.append(json.loads(body))
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            self._say(connection, answer)

    def _say(self, connection: socket.socket, answer: Answer) -> None:
        connection.sendall(answer.head)
        for piece in answer.pieces:
            if piece is RESET:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return
            if piece is END:
                return
            if piece is Ellipsis:
                with suppress(OSError):
                    connection.recv(1)
                self.left.set()
                return
            connection.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
        connection.sendall(b"0\r\n\r\n")


# -- what a provider says


def target(api: str) -> dict[str, str]:
    """Who answers with an API, as arguments."""
    origin = STRICT[JUDGES[api]].target
    return {"api": api, "provider": origin.provider or "", "model": origin.model or ""}


def script(api: str, number: int = 1) -> Json:
    """The script of an API: the first calls a tool, the second answers, and so does the third."""
    return load_script(CONVERSATIONS[api] + ("" if number == 1 else f"-{number}"))


def frames(api: str, number: int = 1) -> list[bytes]:
    """The frames of a script."""
    http = provider_api(api).http
    assert http is not None
    return [FRAMINGS[http.framing].write(http, event) for event in script(api, number)["events"]]


def media_type(api: str) -> str:
    http = provider_api(api).http
    assert http is not None
    return FRAMINGS[http.framing].media_type


def good(api: str, number: int = 1) -> Answer:
    return Answer(frames(api, number), content_type=media_type(api))


def deltas(api: str, said: Sequence[Any]) -> list[Any]:
    """What a provider said, as the decoder reads it by itself."""
    who = target(api)
    reader = decoder(who.pop("api"), **who)
    return [delta for payload in said for delta in reader.receive(payload)]


def words(api: str, said: Sequence[Any]) -> str:
    """All that payloads show, without white space."""
    kinds = (ReasoningDelta, TextDelta, ToolCallDelta)
    return "".join("".join(_text(delta).split()) for delta in deltas(api, said) if isinstance(delta, kinds))


def _text(delta: Any) -> str:
    return str(delta.arguments if isinstance(delta, ToolCallDelta) else delta.text)


def shown(messages: Sequence[Any]) -> str:
    """All that messages show, without white space."""
    found = ""
    for message in messages:
        found += str(message.content or "") if message.role in ("reasoning", "assistant") else ""
        found += "".join(made.function.arguments for made in getattr(message, "tool_calls", None) or ())
    return "".join(found.split())


# -- conversations


class Talk:
    """A conversation of a client with a gateway, of which every stream is verified.

    Attributes:
        conversation: What the client holds.
        events: The events of the last run.
    """

    def __init__(self, api: str, url: str) -> None:
        self.api, self.url = api, url
        self.conversation = Conversation("t1", on_warning=lambda text: None)
        self.issued = Issued()
        self.events: list[Json] = []

    def ask(self, question: str | None = "Umbrella or raincoat?") -> list[Any]:
        """Ask, verify what comes, and return the new messages."""
        for pending in self.conversation.pending_calls:
            self.conversation.add_tool_result(pending.id, TOOL_RESULT)
        given = self.input(question)
        self.take(call(self.url, given).events)
        return self.conversation.messages[len(given["messages"]) :]

    def input(self, question: str | None) -> Json:
        """The input of the next run."""
        run_input = self.conversation.run_input(question)
        given: Json = run_input.model_dump(mode="json", by_alias=True, exclude_none=True)
        return given

    def take(self, events: list[Json]) -> None:
        """Verify a stream by the protocol's rules, twice, and take it."""
        self.events = events
        Client().feed(events).done()
        assert [found for found in check_events(events) if found.severity == "error"] == []
        assert [event["type"] in ENDS for event in events].count(True) == 1
        for event in events:
            self.conversation.receive(event)

    def has_issued(self, number: int) -> None:
        """Remember the values of a script as the provider's own."""
        streamed = list(payloads(script(self.api, number)))
        self.issued.add(Turn(tuple(fold(deltas(self.api, streamed))), STRICT[JUDGES[self.api]].target))

    def refusals(self, question: str | None = "And tomorrow?", *, values: bool = True) -> list[str]:
        """What the strict provider has against the next request."""
        for pending in self.conversation.pending_calls:
            self.conversation.add_tool_result(pending.id, TOOL_RESULT)
        run = Run(self.conversation.run_input(question), on_warning=lambda text: None, **target(self.api))
        strict = STRICT[JUDGES[self.api]]
        return strict.refusals(run.request().body, self.issued if values else None)

    @property
    def code(self) -> str | None:
        """The code of the error that ended the last run."""
        return self.events[-1].get("code")


ENDS = ("RUN_FINISHED", "RUN_ERROR")


def in_memory(api: str, said: Sequence[Any], given: Json | None = None) -> list[Json]:
    """The events of a run of payloads that nothing happens to on their way."""
    run_input = given or Conversation("t1").run_input("Umbrella or raincoat?")
    events = stream_run(run_input, list(said), on_warning=lambda text: None, **target(api))
    return [event.model_dump(mode="json", by_alias=True, exclude_none=True) for event in events]


@contextmanager
def gateways(provider: Faulty) -> Iterator[Any]:
    """Gateways in front of the provider, each opened when it is first asked for, by API and options."""
    opened: dict[Any, str] = {}
    with ExitStack() as stack:

        def gateway(api: str, **options: Any) -> str:
            key = (api, *sorted(options.items()))
            if key not in opened:
                more = {"attempts": 1, "api_key": "sk-KEY-0123456789", **options}
                upstream = HTTPUpstream(base_url=provider.url, **target(api), **more)
                opened[key] = f"{stack.enter_context(local_server(create_app(upstream)))}/agent"
            return opened[key]

        yield gateway


def sockets() -> int:
    """The number of sockets of this process."""
    found = 0
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found += os.readlink(f"/proc/self/fd/{name}").startswith("socket:")
    return found


def origin(api: str) -> Origin:
    return STRICT[JUDGES[api]].target


def said(api: str, number: int, count: int | None = None) -> list[Any]:
    """The first payloads of a script."""
    whole = script(api, number)
    return list(payloads({**whole, "events": whole["events"][:count]}))


def eventually(holds: Callable[[], bool]) -> None:
    """Wait for what threads that close connections bring about."""
    until, pause = time.monotonic() + TIMEOUT, threading.Event()
    while not holds():
        assert time.monotonic() < until
        pause.wait(0.002)
