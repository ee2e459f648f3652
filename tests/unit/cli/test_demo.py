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
from agui_reasoning.cli.playback import TEXT, TOOL_RESULT, compare, play, received, sent
from agui_reasoning.cli.screen import Screen, blocks, rows, short
from tests.support.verifier import Client, plain
from tests.unit.cli.command import environment

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


@pytest.mark.parametrize("name", command.SCRIPTS)
def test_a_conversation_is_one_valid_run(name):
    playback = play(name)
    client = Client().feed(plain(playback.events)).done()
    assert [message["role"] for message in client.messages if message["role"] == "tool"] == ["tool"]
    assert [event.type.value for event in playback.events].count("RUN_FINISHED") == 1


@pytest.mark.parametrize("name", command.SCRIPTS)
def test_the_tool_answers_what_the_second_request_holds(name):
    assert json.dumps(TOOL_RESULT) in json.dumps(scripted.load(f"{name}-2")["request"])


@pytest.mark.parametrize("name", command.SCRIPTS)
def test_everything_the_provider_sent_arrives(name):
    playback = play(name)
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


def test_a_script_that_differs_by_one_character_fails():
    playback = play("anthropic-weather")
    exchanges = [scripted.load("anthropic-weather"), scripted.load("anthropic-weather-2")]
    delta = next(
        event["data"]["delta"] for event in exchanges[0]["events"] if "signature_delta" in str(event)
    )
    delta["signature"] = delta["signature"][:-2] + "x="
    checks = list(compare(sent(exchanges), received(playback.events)))
    assert sum(not check.identical for check in checks) == 2


# -- the screen


def test_blocks_are_what_a_user_sees():
    assert [block.kind for block in blocks(play("anthropic-weather").events)] == [
        "thinking",
        "thinking",
        "answer",
        "tool call",
        "result",
        "thinking",
        "answer",
    ]


def test_rows_join_the_deltas_of_a_message():
    shown = rows(play("openai-weather").events)
    content = [row for row in shown if row.type.endswith(("_CONTENT", "_ARGS"))]
    assert [(row.id, row.what.split()[0]) for row in content] == [
        ("id-4", "15x"),
        ("call_d…0001", "4x"),
        ("id-7", "7x"),
    ]
    assert (shown[0].depth, content[0].depth, shown[-1].depth) == (0, 3, 0)


def test_long_ids_lose_their_middle():
    assert [short(value) for value in ("id-1", "toolu_demo_01BergenForecast")] == ["id-1", "toolu_…cast"]


def test_a_terminal_streams_every_piece():
    pauses = []
    console = Console(file=io.StringIO(), force_terminal=True, width=88, color_system="standard")
    playback = play("chat-weather")
    Screen(console, lambda: pauses.append(1)).play(playback)
    # The question comes in one piece.
    assert len(pauses) == 1 + sum(len(block.pieces) for block in blocks(playback.events))


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
