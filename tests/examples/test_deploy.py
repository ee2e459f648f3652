"""Run the files of `examples/deploy`: nginx and Caddy in front of the gateway, under uvicorn."""

from __future__ import annotations

import configparser
import http.client
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
import uvicorn
from starlette.responses import Response

from agui_reasoning.gateway import local_server
from agui_reasoning.wire import read_events
from tests.support.proxies import FOLDER, HOST, PROXIES, Proxy, installed
from tests.support.redis import free_port
from tests.unit.driver.test_aio import PAYLOADS
from tests.unit.gateway.http_client import INPUT, TIMEOUT
from tests.unit.gateway.provider import Provider, Reply, frames

SECONDS = 60
TOKEN = "Bearer token-of-ada"
WORKERS = 2
LIMIT_S = 2
"""The time limit of a proxy here."""

THOUGHT = b"REASONING_MESSAGE_CONTENT"


def started_by_systemd(port: int) -> list[str]:
    """The command of the unit, on another port."""
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(FOLDER / "agents.service", "utf-8")
    command = shlex.split(unit["Service"]["ExecStart"])
    assert command[0].endswith("/uvicorn")
    assert command[command.index("--workers") + 1] == str(WORKERS)
    command[command.index("--port") + 1] = str(port)
    return [sys.executable, "-m", "uvicorn", *command[1:]]


@contextmanager
def served(provider: str, keep_alive_s: float = 15.0) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """The gateway as the unit starts it: its port, and its process."""
    port = free_port()
    env = os.environ | {
        "ANTHROPIC_BASE_URL": provider,
        "ANTHROPIC_API_KEY": "none",
        "AGUI_REASONING_KEYS": f"k1:{'A' * 43}",
        "USERS": "token-of-ada:ada",
        "KEEP_ALIVE_S": str(keep_alive_s),
    }
    process = subprocess.Popen(
        started_by_systemd(port),
        cwd=FOLDER,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    watchdog = threading.Timer(SECONDS, os.killpg, (process.pid, signal.SIGKILL))
    try:
        watchdog.start()
        lines = []
        for line in process.stdout or ():
            lines.append(line)
            if sum(b"Application startup complete" in one for one in lines) == WORKERS:
                break
        else:
            pytest.fail(b"".join(lines).decode())
        watchdog.cancel()
        yield port, process
    finally:
        watchdog.cancel()
        process.terminate()
        try:
            process.communicate(timeout=SECONDS)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


class Behind:
    """A proxy in front of the gateway, in front of a provider."""

    def __init__(self, proxy: Proxy, provider: Provider) -> None:
        self.proxy, self.provider = proxy, provider

    def replies(self, *pieces: Any) -> None:
        """Let the provider answer with these pieces from now on."""
        self.provider.reply = Reply(pieces)
        self.provider.left.clear()
        self.provider.reached.clear()

    @contextmanager
    def asked(self, path: str = "/agent", body: bytes | None = None, **headers: str) -> Iterator[Any]:
        """The head of an answer; the connection is closed at the end."""
        plain = socket.create_connection(("127.0.0.1", self.proxy.port), TIMEOUT)
        with closing(http.client.HTTPSConnection(HOST, timeout=TIMEOUT)) as connection:
            connection.sock = self.proxy.trust.wrap_socket(plain, server_hostname=HOST)
            given = {"content-type": "application/json", "authorization": TOKEN} | headers
            body = json.dumps(INPUT).encode() if body is None else body
            connection.request("POST" if body else "GET", path, body or None, given)
            with connection.getresponse() as response:
                yield response


def until(response: Any, wanted: bytes) -> bytes:
    """Read until something has come."""
    found = b""
    while wanted not in found:
        piece = response.read1()
        assert piece, "the stream was cut"
        found += piece
    return found


@pytest.fixture(scope="module")
def provider() -> Iterator[tuple[str, Provider]]:
    given = Provider(Reply())
    with local_server(given) as url:
        yield url, given


@pytest.fixture(scope="module")
def gateway(provider: tuple[str, Provider]) -> Iterator[int]:
    with served(provider[0]) as (port, _):  # with comments so rare that no test sees one
        yield port


def port_of(url: str) -> int:
    return urlsplit(url).port or 0


def need(name: str) -> None:
    if installed(name) is None:
        pytest.skip(f"no {name} here: run `make test` as root on Debian, or install it")


def those_here() -> list[str]:
    return [name for name in PROXIES if installed(name)] or pytest.skip("neither nginx nor Caddy here")


@pytest.fixture(scope="module", params=PROXIES)
def behind(
    request: pytest.FixtureRequest,
    gateway: int,
    provider: tuple[str, Provider],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Behind]:
    need(request.param)
    folder = tmp_path_factory.mktemp(request.param)
    with PROXIES[request.param](folder, gateway) as proxy:
        yield Behind(proxy, provider[1])


def test_the_first_frame_arrives_before_the_second_is_written(behind: Behind) -> None:
    gate = threading.Event()
    behind.replies(*frames(PAYLOADS[:6]), gate, *frames(PAYLOADS[6:]))
    with behind.asked(**{"accept-encoding": "gzip"}) as response:
        assert response.status == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["content-encoding"] is None
        early = until(response, THOUGHT)
        gate.set()
        events = read_events(early + response.read())
    assert events[-1]["type"] == "RUN_FINISHED"


def test_a_client_that_leaves_closes_the_stream_of_the_provider(behind: Behind) -> None:
    behind.replies(*frames(PAYLOADS[:6]), ...)
    with behind.asked() as response:
        until(response, THOUGHT)
    left = time.monotonic()
    assert behind.provider.left.wait(SECONDS)
    assert time.monotonic() - left < 1.0


@pytest.mark.slow
def test_comments_keep_a_silent_model_alive_beyond_the_time_limit_of_the_proxy(
    provider: tuple[str, Provider], tmp_path: Path
) -> None:
    gate = threading.Event()
    with ExitStack() as stack:
        port, _ = stack.enter_context(served(provider[0], keep_alive_s=0.2))
        open_runs = []
        for name in those_here():
            (folder := tmp_path / name).mkdir()
            proxy = stack.enter_context(PROXIES[name](folder, port, read_timeout=f"{LIMIT_S}s"))
            behind = Behind(proxy, provider[1])
            behind.replies(*frames(PAYLOADS[:6]), gate, *frames(PAYLOADS[6:]))
            response = stack.enter_context(behind.asked())
            open_runs.append((response, until(response, THOUGHT)))
        time.sleep(1.5 * LIMIT_S)
        gate.set()
        for response, begun in open_runs:
            found = begun + response.read()
            assert found.count(b": keep-alive") > 3
            assert read_events(found)[-1]["type"] == "RUN_FINISHED"


def test_requests_beyond_the_limit_are_refused_by_the_proxy(behind: Behind) -> None:
    behind.replies()
    with behind.asked(body=b"x" * (17 * 1024 * 1024)) as response:
        assert response.status in (413, 502)  # Caddy 2.6 says 502
    assert not behind.provider.reached.is_set()


def test_who_calls_is_known_behind_the_proxy(behind: Behind) -> None:
    with behind.asked(authorization="Bearer nobody") as response:
        assert response.status == 401


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_are_for_the_inside_only(behind: Behind, gateway: int, path: str) -> None:
    with behind.asked(path, b"") as response:
        assert response.status == 404
    inside = http.client.HTTPConnection("127.0.0.1", gateway, timeout=TIMEOUT)
    inside.request("GET", path)
    assert inside.getresponse().status == 200
    inside.close()


SPELLINGS = ["//healthz", "/%68ealthz", "/./healthz", "/x/../healthz", "/healthz/", "/readyz?x", "/readyz%2f"]


def raw(behind: Behind, request: str) -> bytes:
    """What the proxy answers to bytes, until it closes the connection."""
    plain = socket.create_connection(("127.0.0.1", behind.proxy.port), TIMEOUT)
    with behind.proxy.trust.wrap_socket(plain, server_hostname=HOST) as connection:
        connection.sendall(request.encode())
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize("path", SPELLINGS)
def test_no_spelling_of_a_probe_reaches_it(behind: Behind, path: str) -> None:
    found = raw(behind, f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n")
    assert int(found.split()[1]) >= 300


FRAMINGS = {
    "both": "Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n\r\n",
    "two lengths": "Content-Length: 5\r\nContent-Length: {length}\r\n\r\n",
    "spaced": "Content-Length: {length}\r\nTransfer-Encoding : chunked\r\n\r\n",
    "odd name": "Content-Length: {length}\r\nTransfer-Encoding: xchunked\r\n\r\n",
    "sign": "Content-Length: +{length}\r\n\r\n",
}


@pytest.mark.parametrize("framing", FRAMINGS)
def test_a_request_that_is_hidden_in_another_is_not_answered_by_the_gateway(
    behind: Behind, framing: str
) -> None:
    hidden = f"GET /healthz HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n"
    body = f"0\r\n\r\n{hidden}"
    head = FRAMINGS[framing].format(length=len(body))
    found = raw(behind, f"POST /agent HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n{head}{body}")
    assert b"HTTP/1.1 " in found
    assert b" 200 OK" not in found
    with behind.asked(authorization="Bearer nobody") as response:  # nothing is left for who comes next
        assert response.status == 401


@pytest.mark.parametrize("name", PROXIES)
def test_a_stream_without_comments_is_cut_at_the_time_limit_of_the_proxy(name: str, tmp_path: Path) -> None:
    need(name)
    silent = Provider(Reply([*frames(PAYLOADS[:6]), ...]))
    with local_server(silent) as url, PROXIES[name](tmp_path, port_of(url), read_timeout="1s") as proxy:
        with Behind(proxy, silent).asked() as response:
            found, began = until(response, b"thinking_delta"), time.monotonic()
            try:
                found += response.read()
            except http.client.IncompleteRead as cut:
                found += cut.partial
        assert 0.8 < time.monotonic() - began < 5
        assert b"message_stop" not in found
        assert silent.left.wait(SECONDS)


def test_nginx_limits_the_open_runs_of_a_user(
    gateway: int, provider: tuple[str, Provider], tmp_path: Path
) -> None:
    need("nginx")
    with PROXIES["nginx"](tmp_path, gateway) as proxy, ExitStack() as stack:
        behind = Behind(proxy, provider[1])
        behind.replies(*frames(PAYLOADS[:6]), ...)
        for _ in range(4):
            assert stack.enter_context(behind.asked()).status == 200
        with behind.asked() as response:
            assert response.status == 429
        with behind.asked(authorization="Bearer somebody-else") as response:
            assert response.status == 401


@pytest.mark.parametrize("name", PROXIES)
def test_browsers_get_streams_over_http_2(
    name: str, gateway: int, provider: tuple[str, Provider], tmp_path: Path
) -> None:
    need(name)
    curl = shutil.which("curl")
    if curl is None or b"HTTP2" not in subprocess.run([curl, "-V"], capture_output=True, timeout=60).stdout:
        pytest.skip("no curl here that speaks HTTP/2")
    gate = threading.Event()
    provider[1].reply = Reply([*frames(PAYLOADS[:6]), gate, *frames(PAYLOADS[6:])])
    with PROXIES[name](tmp_path, gateway) as proxy:
        command = [curl, "--no-buffer", "--silent", "--http2", "--cacert", str(tmp_path / "host.pem")]
        command += ["--resolve", f"{HOST}:{proxy.port}:127.0.0.1", "--write-out", "%{http_version}"]
        command += ["--header", f"authorization: {TOKEN}", "--json", json.dumps(INPUT)]
        with subprocess.Popen(
            [*command, f"https://{HOST}:{proxy.port}/agent"], stdout=subprocess.PIPE
        ) as asking:
            assert asking.stdout is not None
            for line in asking.stdout:
                if THOUGHT in line:
                    break
            gate.set()
            rest = asking.stdout.read()
    assert b"RUN_FINISHED" in rest
    assert rest.endswith(b"\n2")


def test_open_runs_end_with_a_code_when_the_server_stops(
    provider: tuple[str, Provider], tmp_path: Path
) -> None:
    with ExitStack() as stack:
        port, process = stack.enter_context(served(provider[0]))
        open_runs = []
        for name in those_here():
            (folder := tmp_path / name).mkdir()
            behind = Behind(stack.enter_context(PROXIES[name](folder, port)), provider[1])
            behind.replies(*frames(PAYLOADS[:6]), ...)
            response = stack.enter_context(behind.asked())
            open_runs.append((behind, response, until(response, THOUGHT)))
        process.send_signal(signal.SIGTERM)
        for _, response, found in open_runs:
            last = read_events(found + response.read())[-1]
            assert (last["type"], last["code"]) == ("RUN_ERROR", "shutdown")
        assert process.wait(SECONDS) == 0
        for behind, *_ in open_runs:
            with behind.asked() as response:  # what a load balancer sees: ask another process
                assert response.status == 502


# -- the files themselves


def test_the_unit_is_valid(tmp_path: Path) -> None:
    verify = shutil.which("systemd-analyze")
    if verify is None:
        pytest.skip("no systemd-analyze here")
    unit = (FOLDER / "agents.service").read_text("utf-8")
    here = tmp_path / "agents.service"
    here.write_text(unit.replace("/srv/agents/venv/bin/uvicorn", "/bin/true"), "utf-8")
    done = subprocess.run([verify, "verify", str(here)], capture_output=True, text=True, timeout=60)
    complaints = [line for line in done.stderr.splitlines() if "agents.service" in line]
    assert complaints == []


def test_idle_connections_are_closed_by_the_proxies_before_uvicorn_closes_them() -> None:
    ours = uvicorn.Config("gateway:app", log_config=None).timeout_keep_alive
    for name, pattern in {
        "nginx.conf": r"keepalive_timeout (\d+)s;",
        "Caddyfile": r"\tkeepalive (\d+)s",
    }.items():
        (seconds,) = re.findall(pattern, (FOLDER / name).read_text("utf-8"))
        assert int(seconds) < ours


def limits() -> dict[str, int]:
    """Where the files say how long stopping may take, in seconds."""
    files = {
        name: (FOLDER / name).read_text("utf-8") for name in ("agents.service", "Dockerfile", "compose.yaml")
    }
    patterns = {
        "agents.service: uvicorn": r"--timeout-graceful-shutdown (\d+)",
        "agents.service: systemd": r"TimeoutStopSec=(\d+)",
        "Dockerfile: uvicorn": r'"--timeout-graceful-shutdown", "(\d+)"',
        "compose.yaml: docker": r"stop_grace_period: (\d+)s",
    }
    found = {name: re.search(pattern, files[name.partition(":")[0]]) for name, pattern in patterns.items()}
    return {name: int(one[1]) for name, one in found.items() if one}


def test_who_kills_waits_longer_than_uvicorn() -> None:
    found = limits()
    assert len(found) == 4
    uvicorn = {seconds for name, seconds in found.items() if name.endswith("uvicorn")}
    others = {seconds for name, seconds in found.items() if not name.endswith("uvicorn")}
    assert max(uvicorn) < min(others)


INSTRUCTIONS = frozenset(["FROM", "RUN", "COPY", "WORKDIR", "USER", "EXPOSE", "ENV", "HEALTHCHECK", "CMD"])


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n", " ", (FOLDER / "Dockerfile").read_text("utf-8"))
    lines = [line.split(None, 1) for line in text.splitlines() if line and not line.startswith("#")]
    return [(name, rest) for name, rest in lines]


def test_the_dockerfile_has_known_instructions_and_files_that_exist() -> None:
    found = instructions()
    assert found[0][0] == "FROM"
    assert {name for name, _ in found} <= INSTRUCTIONS
    copied = [rest.split()[0] for name, rest in found if name == "COPY" and not rest.startswith("--from")]
    assert [name for name in copied if not (FOLDER / name).is_file()] == []
    stages = [rest.split(" AS ")[1] for name, rest in found if name == "FROM" and " AS " in rest]
    of_stages = [rest.split()[0] for name, rest in found if name == "COPY" and rest.startswith("--from")]
    assert [f"--from={stage}" for stage in stages] == of_stages


def test_the_commands_of_the_image_are_in_exec_form_and_run_the_same_server() -> None:
    found = dict(instructions())
    command = json.loads(found["CMD"])
    unit = started_by_systemd(8000)[3:]
    host = command.index("--host") + 1
    assert command[host] == "0.0.0.0"
    assert [*command[1:host], "127.0.0.1", *command[host + 1 :]] == unit
    check = json.loads(found["HEALTHCHECK"].partition("CMD ")[2])
    compile(check[check.index("-c") + 1], "HEALTHCHECK", "exec")
    user = [name for name, _ in instructions()]
    assert user.index("USER") < user.index("CMD")


def test_the_health_check_of_the_image_tells_a_server_from_none(gateway: int) -> None:
    check = json.loads(dict(instructions())["HEALTHCHECK"].partition("CMD ")[2])[-1]
    for port, status in ((gateway, 0), (free_port(), 1)):
        code = check.replace(":8000", f":{port}")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
        assert done.returncode == status


def test_compose_names_files_and_services_that_exist() -> None:
    yaml = pytest.importorskip("yaml")
    given = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))
    services = given["services"]
    assert set(services["caddy"]["depends_on"]) <= services.keys()
    mounted = [volume.split(":")[0] for volume in services["caddy"]["volumes"]]
    files = [name for name in mounted if name.startswith("./")]
    assert [name for name in files if not (FOLDER / name).is_file()] == []
    assert [name for name in mounted if name not in files] == list(given["volumes"])
    assert services["caddy"]["environment"] == ["GATEWAY=gateway:8000"]


# -- limits in the application


@pytest.mark.anyio
async def test_a_user_has_only_so_many_open_runs() -> None:
    names: dict[str, Any] = {"__name__": "open_runs"}
    exec(compile((FOLDER / "open_runs.py").read_text("utf-8"), "open_runs.py", "exec"), names)
    release = anyio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await release.wait()
        await Response(b"done")(scope, receive, send)

    limited = names["OpenRuns"](app, limit=2)
    transport = httpx2.ASGITransport(app=limited)
    statuses: dict[str, list[int]] = {"ada": [], "bob": []}
    async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:

        async def ask(user: str) -> None:
            statuses[user].append((await client.get("/", headers={"authorization": user})).status_code)

        async with anyio.create_task_group() as tasks:
            for user in ("ada", "ada", "bob"):
                tasks.start_soon(ask, user)
            await anyio.wait_all_tasks_blocked()
            await ask("ada")
            assert statuses == {"ada": [429], "bob": []}
            release.set()
        await ask("ada")
    assert statuses == {"ada": [429, 200, 200, 200], "bob": [200]}
    assert limited.open == {}
