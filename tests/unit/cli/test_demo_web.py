"""The demo in a browser: what `demo --web` serves."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from urllib.parse import urljoin

import pytest
from starlette.testclient import TestClient

from agui_reasoning._demo.web import exhibits, web_app
from agui_reasoning._scripted import load_script
from agui_reasoning.cli._demo import SCRIPTS
from tests.support.verifier import Client
from tests.unit.cli.command import environment
from tests.unit.gateway.http_client import call

COMMAND = [sys.executable, "-W", "error", "-m", "agui_reasoning.cli", "demo", "--web"]
SECONDS = 120
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
            page = call(f"{line.split()[-1]}{START}/", None, "GET")
            assert b"agui-reasoning" in page.body
            server.send_signal(signal.SIGINT)
            rest, complaints = server.communicate(timeout=SECONDS)
            assert (server.returncode, rest, complaints) == (0, "", "")
        finally:
            server.kill()


def test_the_api_chooses_the_first_page():
    from agui_reasoning.cli._demo import _chosen

    assert _chosen("gemini")[:1] == ["gemini-weather"]


@pytest.mark.parametrize("port", ["0", "8000"])
def test_a_port_is_for_browsers_only(port, cli):
    result = cli("demo", "--port", port)
    assert (result.status, result.stdout) == (2, "")
    assert result.stderr == "error: --port is for --web only. Add --web, or omit --port. [wrong_option]\n"


def test_json_is_not_for_browsers():
    shown = subprocess.run(
        [*COMMAND, "--json"], capture_output=True, text=True, env=environment(), timeout=SECONDS
    )
    assert (shown.returncode, shown.stdout) == (2, "")
    assert "--web and --json exclude each other." in shown.stderr
