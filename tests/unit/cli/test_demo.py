import io
import json
import os
import pty
import subprocess
import sys
from dataclasses import replace

import pytest
from rich.console import Console

from agui_reasoning import scripted
from agui_reasoning.cli import demo as command
from agui_reasoning.cli.front_end import FrontEnd, post
from agui_reasoning.cli.playback import TEXT, TOOL_RESULT, compare, play, received, sent
from agui_reasoning.cli.screen import Screen, conversation, rows, short
from agui_reasoning.deltas import ReasoningDelta
from agui_reasoning.errors import RunFailedError, TransportError
from agui_reasoning.gateway import create_app, local_server
from tests.support.verifier import Client, plain
from tests.unit.cli.command import environment
from tests.unit.gateway.test_app import Fake

KINDS = {
    "anthropic-weather": [
        TEXT,
        "anthropic.signature",
        "anthropic.redacted_thinking",
        TEXT,
        "anthropic.signature",
    ],
    "openai-weather": [TEXT, "openai.encrypted_content", "openai.encrypted_content"],
    "chat-weather": [TEXT, TEXT],
}


@pytest.fixture
def broken(monkeypatch):
    """One value did not arrive."""

    def play_badly(name):
        good = play(name)
        first, *rest = good.checks
        return replace(good, checks=(replace(first, identical=False), *rest))

    monkeypatch.setattr(command, "play", play_badly)


# -- the playback


@pytest.fixture(scope="module")
def playbacks():
    return {name: play(name) for name in command.SCRIPTS}


@pytest.mark.parametrize("name", command.SCRIPTS)
def test_a_conversation_is_two_valid_runs_of_one_thread(name, playbacks):
    runs = [plain(run) for run in playbacks[name].runs]
    first, second = (Client().feed(run).done().messages for run in runs)
    assert [run[0]["threadId"] for run in runs] == [f"demo-{name}"] * 2
    assert [run[0]["runId"] for run in runs] == ["run-1", "run-2"]
    assert [len(message.get("toolCalls", ())) for message in first][-1] == 1
    assert [message["role"] for message in second] == ["reasoning", "assistant"]
    call_id = first[-1]["toolCalls"][0]["id"]
    assert runs[0][-1]["outcome"] == {"type": "success", "pendingToolCallIds": [call_id]}
    assert "outcome" not in runs[1][-1]


def test_the_front_end_sends_its_history_back():
    """As our verifier reads the same events: what the client holds is what it sends."""
    with local_server(create_app()) as url:
        front_end = FrontEnd(f"{url}/agent", "thread")
        front_end.ask("Umbrella or raincoat?")
        first = Client().feed(plain(front_end.run())).messages
        question, *held = front_end.messages
        front_end.answer(first[-1]["toolCalls"][0]["id"], TOOL_RESULT)
        second = Client().feed(plain(front_end.run())).messages
    assert question == {"id": "user-1", "role": "user", "content": "Umbrella or raincoat?"}
    assert known(held) == known(first)
    assert known(front_end.messages[-2:]) == known(second)
    assert all("encryptedValue" in message for message in held if message["role"] == "reasoning")


def known(messages):
    """What is compared of a message: our verifier keeps no types of calls, but their parents."""
    names = ("id", "role", "content", "encryptedValue")
    return [
        {name: message[name] for name in names if message.get(name)}
        | {"calls": [(call["id"], call["function"]) for call in message.get("toolCalls", ())]}
        for message in messages
    ]


def test_a_run_that_fails_is_an_error_of_the_front_end():
    with local_server(create_app(Fake(ReasoningDelta("Hm"), OSError()))) as url:
        front_end = FrontEnd(f"{url}/agent", "thread")
        with pytest.raises(RunFailedError):
            front_end.run()
    assert [message["content"] for message in front_end.messages] == ["Hm"]


def test_an_endpoint_that_refuses_is_an_error_of_the_front_end():
    with local_server(create_app()) as url, pytest.raises(TransportError) as caught:
        list(post(f"{url}/agent", {}))
    assert (caught.value.code, caught.value.status_code) == ("http_status", 422)


@pytest.mark.parametrize("name", command.SCRIPTS)
def test_the_tool_answers_what_the_second_request_holds(name):
    assert json.dumps(TOOL_RESULT) in json.dumps(scripted.load(f"{name}-2")["request"])


@pytest.mark.parametrize("name", command.SCRIPTS)
def test_everything_the_provider_sent_arrives(name, playbacks):
    playback = playbacks[name]
    assert [check.kind for check in playback.checks] == KINDS[name]
    assert playback.ok


def test_a_value_that_was_changed_lost_or_made_up_fails():
    assert [
        (check.kind, check.entity, check.identical)
        for check in compare(
            [("a", "same"), ("a", "sent"), ("b", "lost")],
            [("a", "same", "message 1"), ("a", "changed", "message 2")],
        )
    ] == [("a", "message 1", True), ("a", None, False), ("b", None, False), ("a", "message 2", False)]


def test_a_script_that_differs_by_one_character_fails(playbacks):
    exchanges = [scripted.load("anthropic-weather"), scripted.load("anthropic-weather-2")]
    delta = next(
        event["data"]["delta"] for event in exchanges[0]["events"] if "signature_delta" in str(event)
    )
    delta["signature"] = delta["signature"][:-2] + "x="
    checks = list(compare(sent(exchanges), received(playbacks["anthropic-weather"].messages)))
    assert sum(not check.identical for check in checks) == 2


# -- the screen


def test_blocks_are_what_a_user_sees(playbacks):
    assert [block.kind for block in conversation(playbacks["anthropic-weather"])] == [
        "you",
        "thinking",
        "thinking",
        "answer",
        "tool call",
        "result",
        "thinking",
        "answer",
    ]


def test_rows_join_the_deltas_of_a_message(playbacks):
    shown = rows(playbacks["openai-weather"].events)
    content = [row for row in shown if row.type.endswith(("_CONTENT", "_ARGS"))]
    assert [(row.id, row.what.split()[0]) for row in content] == [
        ("id-4", "15x"),
        ("call_d…0001", "4x"),
        ("id-6", "7x"),
    ]
    assert (shown[0].depth, content[0].depth, shown[-1].depth) == (0, 3, 0)


def test_long_ids_lose_their_middle():
    assert [short(value) for value in ("id-1", "toolu_demo_01BergenForecast")] == ["id-1", "toolu_…cast"]


def test_a_terminal_streams_every_piece(playbacks):
    pauses = []
    console = Console(file=io.StringIO(), force_terminal=True, width=88, color_system="standard")
    playback = playbacks["chat-weather"]
    Screen(console, lambda: pauses.append(1)).play(playback)
    assert len(pauses) == sum(len(block.pieces) for block in conversation(playback))


# -- the command


def test_piped_output_is_plain_and_narrow(process):
    result = process("demo")
    assert (result.status, result.stderr) == (0, "")
    assert "\x1b" not in result.stdout
    assert all(len(line) <= 80 and line == line.rstrip() for line in result.stdout.splitlines())
    assert "10 of 10 values arrived byte for byte." in result.stdout
    for name in ("Anthropic Messages", "OpenAI Responses", "Chat Completions"):
        assert name in result.stdout


def test_it_needs_no_unicode_terminal(process):
    assert process("demo", PYTHONIOENCODING="ascii").status == 0


def test_no_color_makes_a_terminal_plain():
    master, slave = pty.openpty()
    env = environment(NO_COLOR="1", TERM="xterm-256color")
    arguments = [sys.executable, "-m", "agui_reasoning.cli", "demo"]
    with subprocess.Popen(arguments, stdin=slave, stdout=slave, stderr=slave, env=env) as running:
        os.close(slave)
        shown = b"".join(_chunks(master))
    os.close(master)
    assert running.returncode == 0
    assert b"Chat Completions" in shown
    assert b"\x1b" not in shown


def _chunks(descriptor):
    while True:
        try:
            data = os.read(descriptor, 65536)
        except OSError:  # Linux, when the other side is closed
            return
        if not data:
            return
        yield data


def test_json_is_one_object_that_says_what_was_checked(cli):
    result = cli("demo", "--json")
    report = json.loads(result.stdout)
    assert (result.status, report["ok"]) == (0, True)
    assert {s["name"]: [check["kind"] for check in s["checks"]] for s in report["scripts"]} == KINDS
    assert report["scripts"][2]["checks"][0] == {
        "kind": "thinking text",
        "chars": 126,
        "fingerprint": "a0ab0b26",
        "entity": "message id-4",
        "identical": True,
    }


def test_a_failed_comparison_is_status_1(broken, cli):
    result = cli("demo")
    assert result.status == 1
    assert "7 of 10 values arrived byte for byte." in result.stdout


def test_a_failed_comparison_is_in_the_json(broken, cli):
    result = cli("demo", "--json")
    assert (result.status, json.loads(result.stdout)["ok"]) == (1, False)
