import json
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import pytest

from agui_reasoning import scripted
from tests.support.verifier import Client
from tests.unit.cli.command import environment
from tests.unit.gateway.http_client import call, opened

SERVE = [sys.executable, "-W", "error", "-m", "agui_reasoning.cli", "serve"]
SECONDS = 30
NAMES = ", ".join(scripted.names())


@contextmanager
def serving(*args, stop=signal.SIGINT):
    """A server and its URL; it must end well when it is told to."""
    pipe = subprocess.PIPE
    command = [*SERVE, "--port", "0", *map(str, args)]
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, env=environment(), text=True) as server:
        try:
            line = server.stdout.readline()
            assert line.startswith("agui-reasoning gateway ("), server.stderr.read()
            yield line.split()[-1]
            server.send_signal(stop)
            rest, complaints = server.communicate(timeout=SECONDS)
            assert (server.returncode, rest, complaints) == (0, "", "")
        finally:
            server.kill()


def types(answer):
    Client().feed(answer.events).done()
    return [event["type"] for event in answer.events]


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_it_says_where_it_is_answers_and_ends_on_a_signal(stop):
    with serving(stop=stop) as url:
        assert types(call(f"{url}/agent"))[-1] == "RUN_FINISHED"
        assert b"AG-UI" in call(f"{url}/", None, "GET").body
        port = int(url.rpartition(":")[2])
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", port))


def test_connections_that_are_open_do_not_keep_it():
    with serving() as url:
        port = int(url.rpartition(":")[2])
        idle = socket.create_connection(("127.0.0.1", port), SECONDS)
        unread = opened(f"{url}/agent")
        unread.__enter__()
    idle.close()
    unread.__exit__(None, None, None)


@pytest.mark.parametrize("upstream", ["replay:openai-weather", "replay:chat-weather-2"])
def test_a_script_is_chosen_by_its_name(upstream):
    with serving("--upstream", upstream) as url:
        answer = call(f"{url}/agent")
    assert types(answer)[-1] == "RUN_FINISHED"
    assert answer.events[-1]["usage"][0]["provider"] == scripted.load(upstream[7:])["provider"]


def test_a_recording_answers_every_request(tmp_path):
    file = tmp_path / "exchange.json"
    file.write_text(json.dumps(scripted.load("openai-weather-2")), encoding="utf-8")
    with serving("--upstream", f"replay:{file}") as url:
        first, second = types(call(f"{url}/agent")), types(call(f"{url}/agent"))
    assert first == second
    assert "TEXT_MESSAGE_CONTENT" in first


def test_a_port_that_is_taken_is_one_line_and_status_2(cli):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = cli("serve", "--port", port)
    assert (result.status, result.stdout) == (2, "")
    assert result.stderr == (
        f"error: Port {port} of 127.0.0.1 cannot be used: Address already in use. "
        "Choose another port or host; port 0 is any free one. [cannot_listen]\n"
    )


@pytest.mark.parametrize(
    ("upstream", "line"),
    [
        ("nope", "There is no upstream 'nope'. Use replay, replay:SCRIPT or replay:FILE."),
        ("replay:", "There is no upstream 'replay:'. Use replay, replay:SCRIPT or replay:FILE."),
        ("replay:nope", f"There is no file and no script 'nope'. Scripts are: {NAMES}."),
    ],
)
def test_an_unknown_upstream_is_one_line_and_status_2(upstream, line, cli):
    result = cli("serve", "--upstream", upstream)
    assert (result.status, result.stdout) == (2, "")
    assert result.stderr == f"error: {line} [unknown_upstream]\n"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("{", "bad_recording"),
        ("[]", "bad_recording"),
        ('{"api": "openai-chat"}', "bad_recording"),
        ('{"api": "openai-chat", "events": [{}]}', "bad_recording"),
        ('{"api": "nope", "events": []}', "unknown_api"),
    ],
)
def test_a_file_that_is_no_recording_is_one_line_and_status_2(content, code, cli, tmp_path):
    file = tmp_path / "exchange.json"
    file.write_text(content, encoding="utf-8")
    result = cli("serve", "--upstream", f"replay:{file}")
    assert (result.status, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.endswith(f"[{code}]\n")


def test_a_directory_is_one_line_and_status_2(cli, tmp_path):
    result = cli("serve", "--upstream", f"replay:{tmp_path}")
    assert (result.status, result.stderr.count("\n")) == (2, 1)
    assert result.stderr.endswith("[unreadable_file]\n")


@pytest.mark.parametrize("port", ["-1", "65536", "http"])
def test_a_number_that_is_no_port_is_wrong_usage(port, cli):
    result = cli("serve", "--port", port)
    assert (result.status, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.endswith("[usage]\n")


@pytest.mark.parametrize("command", [["serve"], ["demo"]])
def test_the_extra_is_named_when_it_is_missing(command, process):
    code = (
        "import sys; sys.modules['uvicorn'] = None\n"
        f"from agui_reasoning.cli import main; sys.exit(main({command}))"
    )
    result = process(code=code)
    assert (result.status, result.stdout, result.stderr) == (
        2,
        "",
        "error: agui_reasoning.gateway needs packages that are not installed. "
        'Install them: pip install "agui-reasoning[server]". [missing_extra]\n',
    )


def test_encode_needs_no_server(process):
    code = (
        "import sys; sys.modules['uvicorn'] = sys.modules['starlette'] = None\n"
        "from agui_reasoning.cli import main; sys.exit(main(['encode', '--api', 'openai-chat', '-']))"
    )
    result = process(
        code=code, stdin=b'{"choices": [{"delta": {"content": "Yes."}, "finish_reason": "stop"}]}'
    )
    assert (result.status, result.stderr) == (0, "")
