import json
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import pytest

from agui_reasoning.crypto import Binding, KeyRing
from agui_reasoning.errors import MissingExtraError
from agui_reasoning.gateway import local_server
from agui_reasoning.parts import Origin
from agui_reasoning.providers import API_IDS
from agui_reasoning.replay import load_script, script_names
from tests.support.effort import mostly_slow
from tests.support.replay_server import replaying
from tests.support.verifier import Client
from tests.unit.cli.command import environment
from tests.unit.gateway.http_client import INPUT, call, opened
from tests.unit.gateway.provider import APIS, KEY, MODELS, Provider, Reply, frames
from tests.unit.gateway.test_guard import send
from tests.unit.gateway.test_http import answer

SERVE = [sys.executable, "-W", "error", "-m", "agui_reasoning", "serve"]
SECONDS = 120
NAMES = ", ".join(script_names())


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


@pytest.mark.parametrize("stop", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_it_says_where_it_is_answers_and_ends_on_a_signal(stop):
    with serving(stop=stop) as url:
        assert types(call(f"{url}/agent"))[-1] == "RUN_FINISHED"
        assert b"agui-reasoning" in call(f"{url}/", None, "GET").body
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


@pytest.mark.parametrize(
    "script", mostly_slow(["openai-weather", "chat-weather-2"], quick=["openai-weather"])
)
def test_a_script_is_chosen_by_its_name(script):
    with serving("--upstream", f"replay:{script}") as url:
        answer = call(f"{url}/agent")
    assert types(answer)[-1] == "RUN_FINISHED"
    assert answer.events[-1]["usage"][0]["provider"] == load_script(script)["provider"]


def test_a_recording_answers_every_request(tmp_path):
    file = tmp_path / "exchange.json"
    file.write_text(json.dumps(load_script("openai-weather-2")), encoding="utf-8")
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
        "Choose another port or host; port 0 selects a free port. [cannot_listen]\n"
    )


@pytest.mark.parametrize(
    ("upstream", "line"),
    [
        ("nope", "Unknown upstream 'nope'. Use replay, replay:SCRIPT or replay:FILE."),
        ("replay:", "Unknown upstream 'replay:'. Use replay, replay:SCRIPT or replay:FILE."),
        ("replay:nope", f"No file or script is named 'nope'. Scripts: {NAMES}."),
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


PROVIDER = (
    "--api",
    "openai-chat",
    "--provider",
    "deepseek",
    "--base-url",
    "http://localhost/v1",
    "--model",
    "m",
)


@pytest.mark.parametrize("api", mostly_slow(APIS, quick=["openai-chat"]))
def test_a_provider_is_asked_with_the_key_of_the_environment(api, monkeypatch):
    provider = Provider(Reply(frames(answer(api))))
    name, model = MODELS[api]
    monkeypatch.setenv("TEST_KEY", f"{KEY}\n")
    with local_server(provider) as url:
        base_url = url if api == "anthropic-messages" else f"{url}/v1"
        where = ("--api", api, "--provider", name, "--base-url", base_url, "--model", model)
        more = ("--api-key-env", "TEST_KEY", "--system", "Be brief.", "--parameters", '{"top_p": 0.5}')
        more += ("--account", "org-first")
        with serving(*where, *more, "--allow-origin", "http://localhost:3000") as served:
            told = call(f"{served}/agent")
            assert types(told)[-1] == "RUN_FINISHED"
            preflight = {"origin": "http://localhost:3000", "access-control-request-method": "POST"}
            assert send(served, preflight, "OPTIONS").status == 200
            page = call(f"{served}/_page/config.json", None, "GET").body.decode()
    (asked,) = provider.asked
    assert KEY in (
        asked.headers.get("x-api-key"),
        asked.headers.get("authorization", "").removeprefix("Bearer "),
    )
    assert (asked.body["model"], asked.body["top_p"]) == (model, 0.5)
    assert "Be brief." in json.dumps(asked.body)
    assert f"{api}:{model}" in page
    assert KEY not in page
    assert f'"account":"{Origin(account="org-first").account}"' in json.dumps(told.events).replace("\\", "")
    assert "org-first" not in page + json.dumps(told.events)


@pytest.mark.slow
def test_a_server_of_your_own_needs_no_key():
    provider = Provider(Reply(frames(answer("openai-responses"))))
    with (
        local_server(provider) as url,
        serving("--api", "openai-responses", "--base-url", url, "--model", "m") as served,
    ):
        assert types(call(f"{served}/agent"))[-1] == "RUN_FINISHED"
    assert "authorization" not in provider.asked[0].headers


@pytest.mark.slow
def test_a_name_is_answered_to_when_it_is_allowed():
    with serving("--allow-host", "agents.example") as url:
        json_body = {"content-type": "application/json"}
        assert send(url, {"host": "agents.example", **json_body}).status == 200
        assert send(url, {"host": "other.example", **json_body}).status == 421


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (
            ["--api", "openai-responses"],
            "Missing options for a provider: --base-url, --model. For example: --api openai-responses "
            "--base-url https://api.openai.com/v1 --model NAME. [missing_option]",
        ),
        (
            ["--model", "m"],
            "Missing options for a provider: --api, --base-url. For example: --api anthropic-messages "
            "--base-url https://api.anthropic.com --model m. [missing_option]",
        ),
        (
            ["--api", "openai-chat", "--base-url", "http://localhost/v1", "--model", "m"],
            "Missing options for a provider: --provider. For example: --api openai-chat --provider "
            "openai --base-url http://localhost/v1 --model m. [missing_option]",
        ),
        (
            [*PROVIDER, "--upstream", "replay"],
            "--upstream and --api exclude each other. Use a replay, or a provider with --api. [wrong_option]",
        ),
        (
            ["--upstream", "replay", "--parameters", "{}"],
            "--upstream and --parameters exclude each other. Use a replay, or a provider with --api. "
            "[wrong_option]",
        ),
        (
            [*PROVIDER, "--api-key-env", KEY],
            "The environment variable that --api-key-env names is not set. Export the key under a name of "
            "your choice, and pass that name: --api-key-env MY_API_KEY. [missing_key]",
        ),
        (
            [*PROVIDER, "--parameters", "[]"],
            "The value of --parameters is not a JSON object. "
            "Write it like --parameters '{\"max_tokens\": 8192}'. [bad_parameter]",
        ),
        (
            [*PROVIDER, "--parameters", '{"stream": false}'],
            "The parameter 'stream' cannot be set. Set model and instructions with their own options; the "
            "conversation comes from each run. [bad_parameter]",
        ),
        (
            [*PROVIDER, "--allow-origin", "localhost:3000"],
            "'localhost:3000' is not an origin. Pass scheme, name and port, for example "
            "http://localhost:3000, or * for all origins. [bad_origin]",
        ),
        (
            ["--api", "litellm"],
            "The API 'litellm' has no HTTP form. It is a Python SDK without an endpoint. Serve LiteLLM's "
            "proxy: provider litellm, with the API openai-chat, openai-responses or anthropic-messages. "
            "[unknown_api]",
        ),
        (
            ["--api", "xai-grpc"],
            "Missing options for a provider: --model. For example: --api xai-grpc --model NAME. "
            "[missing_option]",
        ),
        (
            ["--api", "xai-grpc", "--model", "m", "--provider", "openai"],
            "--api xai-grpc is only served by the provider xai. Leave --provider out. [wrong_option]",
        ),
        (
            ["--api", "xai-grpc", "--model", "m"],
            "There is no API key for xAI. Pass api_key=, or set the environment variable XAI_API_KEY. "
            "[missing_key]",
        ),
        (
            ["--api", "telepathy", "--base-url", "http://localhost", "--model", "m"],
            f"Unknown API 'telepathy'. Use one of: {', '.join(API_IDS)}. [unknown_api]",
        ),
    ],
)
def test_what_cannot_be_asked_is_one_line_and_status_2(args, line, cli):
    result = cli("serve", *args)
    assert (result.status, result.stdout) == (2, "")
    assert result.stderr == f"error: {line}\n"


@pytest.mark.parametrize("value", ["", "  \n"])
def test_an_empty_key_is_none(value, cli, monkeypatch):
    monkeypatch.setenv("TEST_KEY", value)
    result = cli("serve", *PROVIDER, "--api-key-env", "TEST_KEY")
    assert (result.status, result.stderr.rpartition(" ")[2]) == (2, "[missing_key]\n")


def test_the_extra_of_a_provider_is_named_when_it_is_missing(process):
    code = (
        "import sys; sys.modules['httpx2'] = None\n"
        f"from agui_reasoning.cli import main; sys.exit(main({['serve', *PROVIDER]}))"
    )
    result = process(code=code)
    assert (result.status, result.stdout, result.stderr) == (
        2,
        "",
        f"error: {MissingExtraError('agui_reasoning.gateway.HTTPUpstream', 'client')} [missing_extra]\n",
    )


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
        f"error: {MissingExtraError('agui_reasoning.gateway', 'server')} [missing_extra]\n",
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


@pytest.mark.parametrize("visibility", mostly_slow(["summary", "hidden"], quick=["hidden"]))
def test_reasoning_can_be_hidden_with_keys_from_the_environment(visibility, monkeypatch):
    ring = KeyRing.generate()
    monkeypatch.setenv("AGUI_REASONING_KEYS", ring.to_env())
    with serving("--visibility", visibility) as url:
        events = call(f"{url}/agent").events
    Client().feed(events).done()
    values = [event["encryptedValue"] for event in events if "encryptedValue" in event]
    assert values
    assert all(ring.decrypt(value, Binding("t1")) for value in values)


def test_without_keys_what_is_hidden_is_kept_for_as_long_as_it_runs_and_that_is_said():
    command = [*SERVE, "--port", "0", "--visibility", "hidden"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            url = server.stdout.readline().split()[-1]
            events = call(f"{url}/agent").events
            server.send_signal(signal.SIGINT)
            _, complaints = server.communicate(timeout=SECONDS)
        finally:
            server.kill()
    assert [event for event in events if "encryptedValue" in event]
    assert complaints.startswith("warning: AGUI_REASONING_KEYS is not set")


def test_keys_that_are_not_there_are_told_at_once():
    done = subprocess.run(
        [*SERVE, "--visibility", "hidden", "--keys-env", "NOT_SET"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=environment(),
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "[no_keys]" in done.stderr


@pytest.mark.slow
def test_steps_and_a_pause_before_each_payload():
    with serving("--steps", "--delay-ms", "1") as url:
        assert "STEP_STARTED" in types(call(f"{url}/agent"))


@pytest.mark.slow
def test_keys_come_from_a_file_too(tmp_path):
    file = tmp_path / "keys"
    file.write_text(KeyRing.generate().to_env(), encoding="utf-8")
    file.chmod(0o600)
    with serving("--visibility", "hidden", "--keys-file", file) as url:
        assert [event for event in call(f"{url}/agent").events if "encryptedValue" in event]


def complaints_of(*args):
    """What a server writes to stderr while it answers one request, which fails or not."""
    pipe = subprocess.PIPE
    command = [*SERVE, "--port", "0", *map(str, args)]
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, env=environment(), text=True) as server:
        try:
            url = server.stdout.readline().split()[-1]
            answer = call(f"{url}/agent")
            server.send_signal(signal.SIGINT)
            return answer.events[-1], server.communicate(timeout=SECONDS)[1]
        finally:
            server.kill()


LOGGED = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} "


def test_a_provider_that_cannot_be_reached_is_one_line():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    options = ("--api", "anthropic-messages", "--base-url", f"http://127.0.0.1:{port}", "--model", "m")
    last, complaints = complaints_of(*options)
    assert (last["type"], last["code"]) == ("RUN_ERROR", "unreachable")
    assert re.fullmatch(
        LOGGED
        + r"ERROR: The run failed: TransportError \(code unreachable, provider anthropic, thread 't1', "
        r"run 'r1'\)\. The connection to the provider failed: the connection was refused\. "
        r"Check the port, .*\n",
        complaints,
    )


def test_a_provider_that_is_misspelt_is_told_when_it_starts():
    provider = Provider(Reply(frames(answer("openai-chat"))))
    with local_server(provider) as url:
        options = ("--api", "openai-chat", "--provider", "deepsek", "--base-url", url, "--model", "m")
        _, complaints = complaints_of(*options)
    assert re.match(LOGGED + r"WARNING: The echo policy has no row .* Did you mean 'deepseek'\? ", complaints)


@pytest.mark.parametrize(
    "api", mostly_slow(["anthropic-messages", "openai-chat", "openai-responses"], quick=["openai-chat"])
)
def test_the_proxy_of_litellm_is_served_over_its_three_apis(api):
    provider = Provider(Reply(frames(answer(api))))
    with local_server(provider) as base:
        args = ["--api", api, "--provider", "litellm", "--base-url", f"{base}/v1", "--model", MODELS[api]]
        with serving(*args) as url:
            assert types(call(f"{url}/agent"))[-1] == "RUN_FINISHED"
    assert len(provider.asked) == 1


def test_xai_is_served_through_its_sdk(monkeypatch):
    pytest.importorskip("xai_sdk", reason="xAI's SDK is not installed")
    monkeypatch.setenv("MY_KEY", "xai-secret")
    monkeypatch.setattr(f"{__name__}.SERVE", [SERVE[0], *SERVE[3:]])  # gRPC warns of itself
    with replaying("xai-grpc") as server:
        server.exchange = load_script("xai-weather-2")
        args = ["--api", "xai-grpc", "--base-url", server.url, "--model", "grok-4", "--api-key-env", "MY_KEY"]
        with serving(*args) as url:
            assert types(call(f"{url}/agent"))[-1] == "RUN_FINISHED"
    assert server.headers[0]["authorization"] == "Bearer xai-secret"


def test_callers_choose_effort_and_display_where_that_is_allowed():
    command = [*SERVE, "--port", "0", "--allow-reasoning-request", "low..high"]
    asked = INPUT | {"forwardedProps": {"reasoning": {"display": "none", "effort": "max"}}}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            url = server.stdout.readline().split()[-1]
            body = call(f"{url}/agent", asked).body
            offered = json.loads(call(f"{url}/_page/config.json", None, "GET").body)["reasoningRequest"]
            server.send_signal(signal.SIGINT)
            _, complaints = server.communicate(timeout=SECONDS)
        finally:
            server.kill()
    assert b"gusts" not in body
    assert offered["effort"] == ["low", "medium", "high"]
    assert complaints.startswith("warning: AGUI_REASONING_KEYS is not set")


@pytest.mark.parametrize("levels", ["high", "low..huge", "..", ""])
def test_bounds_of_the_effort_that_are_none_are_refused(levels, cli):
    result = cli("serve", "--allow-reasoning-request", levels)
    assert result.status == 2
    assert (
        f"The value {levels!r} of --allow-reasoning-request is not known. Use all, or two of" in result.stderr
    )
