"""Judge server-sent events with the official `@ag-ui/client` under Node, over real HTTP.

One Node process serves a whole session. Each judged body is registered with a local HTTP server; the
client's `HttpAgent` runs against it, and then runs once more against a server that only records what
it is sent: that request is what the conversation's next turn would carry.
"""

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Literal, Self

from tests.differential.node import JS_DIR

Json = dict[str, Any]
Version = Literal["1.0.0", "0.0.59"]
VERSIONS: tuple[Version, ...] = ("1.0.0", "0.0.59")

_RUN = {"threadId": "thread-1", "runId": "run-1"}

_SLACK = 10.0
"""Seconds a wait may outlast the client's own limit before the judge itself counts as broken."""


class JudgeError(Exception):
    """The judge broke, which says nothing about the stream."""


@dataclass(frozen=True)
class Verdict:
    """What the client made of one stream.

    Attributes:
        accepted: The run did not fail. Neither a RUN_ERROR nor a cut or empty stream makes it fail: see
            `finished`.
        error: Why it failed, as the client puts it.
        messages: The client's message list afterwards.
        events: The events the client delivered to a subscriber.
        state: The client's state afterwards.
        warnings: What the client wrote to the console, apart from `error`.
        run_error: The RUN_ERROR event, if one was delivered.
        request: The body the client sent to start the run.
        next_input: The body the client sends to start the following run.
        next_error: Why the following run failed, for example before it was sent.
        next_messages: The client's message list after the following run.
        next_events: The events of the following run.
        next_warnings: What the client wrote to the console during the following run.
    """

    accepted: bool
    error: str | None
    messages: list[Json]
    events: list[Json]
    state: Any
    warnings: list[str]
    run_error: Json | None
    request: Json | None
    next_input: Json | None
    next_error: str | None
    next_messages: list[Json]
    next_events: list[Json]
    next_warnings: list[str]

    @property
    def finished(self) -> bool:
        """Whether a RUN_FINISHED was delivered."""
        return any(event["type"] == "RUN_FINISHED" for event in self.events)


class Judge:
    """A local HTTP server and a Node process with both clients; a context manager, for one thread."""

    def __init__(self, node: Path) -> None:
        self._node = node
        self._cleanup = ExitStack()
        self._server = _Server()
        self._answers: SimpleQueue[Json | None] = SimpleQueue()
        self._jobs = 0

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self._server)
            serving = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
            serving.start()
            stack.callback(serving.join, _SLACK)
            stack.callback(self._server.shutdown)
            self._stderr = stack.enter_context(tempfile.TemporaryFile())
            self._process = stack.enter_context(self._start_node())
            reading = threading.Thread(target=self._read_answers)
            reading.start()
            stack.callback(reading.join, _SLACK)
            stack.callback(self._stop_node)
            if self._answer(60.0).get("type") != "ready":
                raise JudgeError(f"Node did not start: {self._complaint()}")
            self._cleanup = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cleanup.close()

    def register(self, body: bytes, *, chunks: list[bytes] | None = None) -> str:
        """Serves `body` at the path returned, until told to `forget` it.

        With `chunks`, which must add up to `body`, the server sends a chunk only once a client run by
        this judge has dealt with the one before.

        Raises:
            ValueError: `chunks` do not add up to `body`.
        """
        if chunks is None:
            return self._server.add(_Route([body]))
        if b"".join(chunks) != body:
            raise ValueError("the chunks do not add up to the body")
        return self._server.add(_Route([chunk for chunk in chunks if chunk], reads=SimpleQueue()))

    def forget(self, path: str) -> None:
        """Stops serving `path`."""
        self._server.routes.pop(path, None)

    def requests(self, path: str) -> list[Json]:
        """The bodies that clients have sent to `path`."""
        return self._server.routes[path].requests

    def run(
        self,
        body: bytes,
        *,
        version: Version = "1.0.0",
        run_input: Json | None = None,
        chunks: list[bytes] | None = None,
        paced: bool = False,
        follow_up: str | None = None,
        next_turn: bool = True,
        timeout: float = 20.0,
    ) -> Verdict:
        """Runs a client against `body`.

        Args:
            body: The server-sent events of one run.
            version: Which client judges.
            run_input: The RunAgentInput to start from; thread and run have names by default.
            chunks: `body` in the network reads the client shall see. See `register`.
            paced: One event per network read. In a burst, 1.0.0 loses the events before a violation.
            follow_up: A user message the client adds before the following turn.
            next_turn: Whether to run the following turn.
            timeout: Seconds a run may last before it counts as rejected.

        Raises:
            JudgeError: The judge itself broke.
        """
        if paced and chunks is None:
            chunks = list(split_events(body))
        path = self.register(body, chunks=chunks)
        next_path = self._server.add(_Route(None)) if next_turn else None
        try:
            answer = self._ask(
                self._server.routes[path],
                version=version,
                url=self._server.url(path),
                nextUrl=None if next_path is None else self._server.url(next_path),
                runInput=_RUN | (run_input or {}),
                followUps=_follow_ups(follow_up),
                paced=chunks is not None,
                timeoutMs=round(timeout * 1000),
            )
            return _verdict(
                answer, self.requests(path), [] if next_path is None else self.requests(next_path)
            )
        finally:
            self.forget(path)
            if next_path is not None:
                self.forget(next_path)

    def run_url(
        self,
        url: str,
        *,
        version: Version = "1.0.0",
        run_input: Json | None = None,
        follow_up: str | Iterable[Json] | None = None,
        next_turn: bool = True,
        timeout: float = 20.0,
    ) -> Verdict:
        """Runs a client against an endpoint that is not the judge's own; its following turn goes there too.

        Args:
            url: The endpoint.
            version: Which client judges.
            run_input: See `run`.
            follow_up: A user message, or messages, that the client adds before the following turn.
            next_turn: See `run`.
            timeout: See `run`.

        Raises:
            JudgeError: The judge itself broke.
        """
        answer = self._ask(
            _Route(None),
            version=version,
            url=url,
            nextUrl=url if next_turn else None,
            runInput=_RUN | (run_input or {}),
            followUps=_follow_ups(follow_up),
            paced=False,
            timeoutMs=round(timeout * 1000),
        )
        return _verdict(answer, [], [])

    def run_many(self, bodies: Iterable[bytes], **options: Any) -> list[Verdict]:
        """Runs each of `bodies` in turn, with the options of `run`."""
        return [self.run(body, **options) for body in bodies]

    def _ask(self, route: "_Route", **job: Any) -> Json:
        self._jobs += 1
        line = json.dumps({"id": self._jobs, **job})
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
        except OSError as error:
            raise JudgeError(f"Node is gone: {self._complaint()}") from error
        try:
            while True:
                # Two runs, each bounded by the client's limit.
                answer = self._answer(2 * job["timeoutMs"] / 1000 + _SLACK)
                if answer["type"] == "read" and answer["id"] < self._jobs:
                    continue  # a client that rejected a stream had already come back for more of it
                if answer["id"] != self._jobs or answer["type"] == "broken":
                    raise JudgeError(f"the judge answered {answer}")
                if answer["type"] == "verdict":
                    return answer
                if route.reads is not None:
                    route.reads.put(answer["total"])
        finally:
            if route.reads is not None:
                route.reads.put(None)

    def _answer(self, timeout: float) -> Json:
        try:
            answer = self._answers.get(timeout=timeout)
        except Empty:
            # What it still says would be taken for the answer to the next job.
            self._process.kill()
            raise JudgeError(f"Node did not answer within {timeout} s: {self._complaint()}") from None
        if answer is None:
            raise JudgeError(f"Node ended: {self._complaint()}")
        return answer

    def _start_node(self) -> subprocess.Popen[str]:
        # Neither a proxy nor debugging switches may come between the client and the server here.
        unwanted = {"NODE_OPTIONS", "NODE_USE_ENV_PROXY"}
        return subprocess.Popen(
            [self._node, "judge.mjs"],
            cwd=JS_DIR,
            env={name: value for name, value in os.environ.items() if name not in unwanted},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            encoding="utf-8",
        )

    def _stop_node(self) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            self._process.wait(_SLACK)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()

    def _read_answers(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(json.loads(line))
        self._answers.put(None)

    def _complaint(self) -> str:
        self._stderr.seek(0)
        return self._stderr.read()[-4000:].decode(errors="replace") or "it left no message"


def split_events(body: bytes) -> Iterator[bytes]:
    """The server-sent events of `body`, each with the blank line that ends it, and what is left over."""
    while body:
        event, blank, body = body.partition(b"\n\n")
        yield event + blank


def _verdict(answer: Json, requests: list[Json], next_requests: list[Json]) -> Verdict:
    events = answer["events"]
    return Verdict(
        accepted=answer["error"] is None,
        error=answer["error"],
        messages=answer["messages"],
        events=events,
        state=answer["state"],
        warnings=answer["warnings"],
        run_error=next((event for event in events if event["type"] == "RUN_ERROR"), None),
        request=next(iter(requests), None),
        next_input=next(iter(next_requests), None),
        next_error=answer["nextError"],
        next_messages=answer["nextMessages"],
        next_events=answer["nextEvents"],
        next_warnings=answer["nextWarnings"],
    )


def _follow_ups(follow_up: str | Iterable[Json] | None) -> list[Json]:
    if isinstance(follow_up, str):
        return [{"id": "follow-up", "role": "user", "content": follow_up}]
    return list(follow_up or ())


@dataclass(frozen=True)
class _Route:
    chunks: list[bytes] | None
    """What to send; None for a run that does nothing."""
    reads: SimpleQueue[int | None] | None = None
    """How much the client has dealt with, then None when it is gone. Without it, all goes out at once."""
    requests: list[Json] = field(default_factory=list)

    def body(self, request: Json) -> Iterator[bytes]:
        self.requests.append(request)
        if self.chunks is None:
            yield _empty_run(request)
            return
        sent = 0
        for chunk in self.chunks:
            if not self._dealt_with(sent):
                return
            yield chunk
            sent += len(chunk)
        self._dealt_with(sent)

    def _dealt_with(self, sent: int) -> bool:
        while self.reads is not None:
            try:
                total = self.reads.get(timeout=_SLACK)
            except Empty:
                return False
            if total is None:
                return False
            if total >= sent:
                break
        return True


def _empty_run(request: Json) -> bytes:
    run = {"threadId": request["threadId"], "runId": request["runId"]}
    events = ({"type": "RUN_STARTED", **run}, {"type": "RUN_FINISHED", **run})
    return b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in events)


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # closing the server waits for them

    def __init__(self) -> None:
        self.routes: dict[str, _Route] = {}
        self._added = 0
        super().__init__(("127.0.0.1", 0), _Handler)

    def add(self, route: _Route) -> str:
        self._added += 1
        path = f"/run/{self._added}"
        self.routes[path] = route
        return path

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _SLACK
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.close_connection = True
        route = self.server.routes.get(self.path)
        if route is None:
            self.send_error(404)
            return
        try:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.send_header("Connection", "close")
            self.end_headers()
            for piece in route.body(request):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")
        except ConnectionError:
            pass  # the client hung up, as it does on a violation

    def log_message(self, *args: object) -> None:
        pass
