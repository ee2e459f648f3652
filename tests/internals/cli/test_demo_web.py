"""The demo in a browser: what `demo --web` serves."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from urllib.parse import urljoin

import pytest
from starlette.testclient import TestClient

from agui_reasoning.replay import CONVERSATIONS, load_script
from tests.docs.markdown import ROOT
from tests.internals.demo import exhibits, web_app
from tests.support.verifier import Client
from tests.unit.cli.command import environment
from tests.unit.gateway.http_client import call

COMMAND = [sys.executable, "-W", "error", "-m", "agui_reasoning", "demo", "--web"]
SECONDS = 120
SCRIPTS = tuple(CONVERSATIONS.values())
START = SCRIPTS[0]


@pytest.fixture(scope="module")
def served():
    return TestClient(web_app(START, delay_s=0), base_url="http://localhost")


def events_of(answer):
    return [json.loads(line[len("data: ") :]) for line in answer.text.splitlines() if line]


def ask(served, name, question="Umbrella or raincoat?"):
    message = {"id": "m", "role": "user", "content": question}
    run_input = {
        "threadId": "t",
        "runId": "r",
        "messages": [message],
        "state": {},
        "tools": [],
        "context": [],
    }
    return events_of(served.post(f"/{name}/agent", content=json.dumps(run_input)))


def test_every_script_has_a_page():
    assert {exhibit.script for exhibit in exhibits()} == set(SCRIPTS)


def test_it_starts_with_the_page_of_a_provider(served):
    answer = served.get("/")
    assert (answer.status_code, answer.url.path) == (200, f"/{START}/")


def test_the_pages_link_each_other(served):
    expected = {f"/{exhibit.name}/": exhibit.label for exhibit in exhibits()}
    for exhibit in exhibits():
        links = served.get(f"/{exhibit.name}/_page/config.json").json()["links"]
        found = {urljoin(f"/{exhibit.name}/", link["href"]): link["label"] for link in links}
        assert found == expected
        assert served.get(f"/{exhibit.name}/").status_code == 200


@pytest.mark.parametrize("exhibit", exhibits(), ids=lambda exhibit: exhibit.name)
def test_every_gateway_answers(served, exhibit):
    events = ask(served, exhibit.name)
    Client().feed(events).done()
    assert [event["toolCallName"] for event in events if event["type"] == "TOOL_CALL_START"] == [
        "get_forecast"
    ]


@pytest.mark.parametrize("exhibit", exhibits(), ids=lambda exhibit: exhibit.name)
def test_what_is_hidden_is_encrypted(served, exhibit):
    values = [event["encryptedValue"] for event in ask(served, exhibit.name) if "encryptedValue" in event]
    assert values
    assert all(value.startswith("eyJ") for value in values) is ("visibility" in exhibit.options)


def test_the_page_knows_the_questions_of_its_script(served):
    config = served.get(f"/{START}/_page/config.json").json()
    assert config["questions"][0] == load_script(START)["question"]


def test_it_says_where_it_is_and_ends_on_a_signal():
    pipe = subprocess.PIPE
    with subprocess.Popen(COMMAND, stdout=pipe, stderr=pipe, env=environment(), text=True) as server:
        try:
            line = server.stdout.readline()
            assert line.startswith("agui-reasoning demo at http://127.0.0.1:"), server.stderr.read()
            assert server.stdout.readline() == "Ctrl-C stops it.\n"
            page = call(f"{line.split()[-1]}{START}/", None, "GET")
            assert b"agui-reasoning" in page.body
            server.send_signal(signal.SIGINT)
            rest, complaints = server.communicate(timeout=SECONDS)
            assert (server.returncode, rest, complaints) == (0, "", "")
        finally:
            server.kill()


def test_it_opens_the_default_browser_when_asked(tmp_path):
    browser = tmp_path / "browser"
    os.mkfifo(tmp_path / "opened")
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    browser.chmod(0o755)
    pipe = subprocess.PIPE
    env = environment(BROWSER=f"{browser} %s")
    with subprocess.Popen([*COMMAND, "--open"], stdout=pipe, stderr=pipe, env=env, text=True) as server:
        try:
            line = server.stdout.readline()
            assert (tmp_path / "opened").read_text().split() == line.split()[-1:]
            server.send_signal(signal.SIGINT)
            _, complaints = server.communicate(timeout=SECONDS)
            assert (server.returncode, complaints) == (0, "")
        finally:
            server.kill()


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_passes_the_port_and_opens_the_page():
    command = ["make", "--no-print-directory", "--dry-run", "web", "PORT=8000", "OPEN=1"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=True)
    assert shown.stdout.splitlines()[-1].endswith("agui-reasoning demo --web --port 8000 --open")


@pytest.mark.parametrize(
    ("given", "option"), [(["--port", "0"], "--port"), (["--port", "8000"], "--port"), (["--open"], "--open")]
)
def test_some_options_are_for_browsers_only(given, option, cli):
    result = cli("demo", *given)
    assert (result.status, result.stdout) == (2, "")
    said = f"error: {option} is for --web only. Add --web, or omit {option}. [wrong_option]\n"
    assert result.stderr == said


def test_json_is_not_for_browsers():
    shown = subprocess.run(
        [*COMMAND, "--json"], capture_output=True, text=True, env=environment(), timeout=SECONDS
    )
    assert (shown.returncode, shown.stdout) == (2, "")
    assert "--web and --json exclude each other." in shown.stderr
