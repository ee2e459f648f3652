import hashlib
import io
import json
import logging
import os
import pty
import re
import subprocess
import sys
from dataclasses import replace

import anyio
import pytest
from rich.console import Console

from agui_reasoning import Conversation
from agui_reasoning.deltas import ReasoningDelta
from agui_reasoning.errors import RunFailedError
from agui_reasoning.gateway import Upstream, create_app, local_server
from agui_reasoning.replay import CONVERSATIONS, TOOL_RESULT, Entry, compare, load_script, sequence
from tests.internals.demo import DemoFrontEnd, Screen, conversation, event_rows, play, short
from tests.support.verifier import Client, plain
from tests.unit.cli.command import environment

KINDS = {
    "anthropic-weather": [
        *("thinking", "signature", "redacted thinking", "call id"),
        *("thinking", "signature"),
    ],
    "openai-weather": [
        *("reasoning id", "encrypted content", "reasoning summary", "reasoning summary"),
        *("item id", "call id"),
        *("reasoning id", "encrypted content", "item id", "phase"),
    ],
    "chat-weather": ["reasoning content", "call id", "reasoning content"],
    "bedrock-weather": [
        *("thinking", "signature", "redacted thinking", "call id"),
        *("thinking", "signature"),
    ],
    "mistral-weather": ["thinking", "signature", "call id", "thinking", "signature"],
    "cohere-weather": ["thinking", "call id", "thinking"],
    "ollama-weather": ["thinking", "call id", "thinking"],
    "gemini-weather": ["call id", "signature", "signature"],
    "xai-weather": [
        *("reasoning content", "encrypted content", "call id"),
        "encrypted content",
    ],
    "litellm-weather": ["thinking", "signature", "call id", "thinking", "signature"],
    "interactions-weather": [
        *("reasoning summary", "reasoning summary", "signature", "call id"),
        *("reasoning summary", "signature"),
    ],
}
SHOWN = ("anthropic-weather", "openai-weather", "chat-weather", "gemini-weather")
ALL = sum(len(KINDS[name]) for name in SHOWN)
HISTORY = {"openai-responses": "input", "gemini": "contents", "gemini-interactions": "input"}


class Careless(DemoFrontEnd):
    """A front end that does something to its history before one of its runs."""

    before_run = 3

    def change(self, message):
        raise NotImplementedError

    async def run(self, content=None):
        if len(self.runs) == self.before_run - 1:
            held = [
                json.loads(message.model_dump_json(by_alias=True)) for message in self.conversation.messages
            ]
            self.conversation = Conversation("thread", messages=map(self.change, held))
        await super().run(content)


class Forgetful(Careless):
    """It keeps no encrypted values."""

    def change(self, message):
        return {
            name: value for name, value in message.items() if name != "encryptedValue" and value is not None
        }


class Hasty(Forgetful):
    """It keeps none while a tool works, either."""

    before_run = 2


class Talkative(Careless):
    """It improves upon what the model thought."""

    def change(self, message):
        held = {name: value for name, value in message.items() if value is not None}
        thought = held["role"] == "reasoning" and held.get("content")
        return held | {"content": f"{thought} I think."} if thought else held


@pytest.fixture
def careless(monkeypatch):
    """Let the demo's front end be one of these; what the gateway logs of it is not for the terminal."""
    monkeypatch.setattr(logging.getLogger("agui_reasoning"), "disabled", True)
    return lambda kind: monkeypatch.setattr("agui_reasoning.cli._demo.DemoFrontEnd", kind)


# -- the playback


@pytest.fixture(scope="module")
def playbacks():
    return {name: play(name) for name in CONVERSATIONS.values()}


@pytest.mark.parametrize("name", CONVERSATIONS.values())
def test_a_conversation_is_two_turns_in_three_valid_runs_of_one_thread(name, playbacks):
    runs = [plain(run) for run in playbacks[name].runs]
    first, second, third = (Client().feed(run).done().messages for run in runs)
    assert [run[0]["threadId"] for run in runs] == [f"demo-{name}"] * 3
    assert len({run[0]["runId"] for run in runs}) == 3
    assert [len(message.get("toolCalls", ())) for message in first][-1] == 1
    call_id = first[-1]["toolCalls"][0]["id"]
    assert runs[0][-1]["outcome"] == {"type": "success", "pendingToolCallIds": [call_id]}
    for run, messages in ((runs[1], second), (runs[2], third)):
        assert {message["role"] for message in messages[:-1]} == {"reasoning"}
        assert messages[-1]["role"] == "assistant"
        assert "outcome" not in run[-1]


@pytest.mark.parametrize("name", CONVERSATIONS.values())
def test_the_provider_is_asked_what_the_script_was_made_for(name, playbacks):
    """The library writes what the scripts hold as a request, but for fields that say what is the default."""
    for request, exchange in zip(playbacks[name].requests, sequence(name), strict=True):
        expected = exchange["request"]
        assert {field for field in expected if field not in request} == set()
        history = HISTORY.get(exchange["api"], "messages")
        differing = {field for field in expected if request[field] != expected[field]} - {history}
        assert differing == set()
        assert len(request[history]) == len(expected[history])


@pytest.mark.parametrize("name", CONVERSATIONS.values())
def test_everything_the_provider_gave_out_comes_back_unchanged(name, playbacks):
    playback = playbacks[name]
    assert [check.kind for check in playback.checks] == KINDS[name]
    assert (playback.ok, playback.failure) == (True, None)


@pytest.mark.parametrize("name", CONVERSATIONS.values())
def test_a_path_leads_to_the_value_in_the_request(name, playbacks):
    playback = playbacks[name]
    for check in playback.checks:
        value = playback.requests[-1]
        for step in check.path.split("/")[1:]:
            value = value[int(step) if isinstance(value, list) else step]
        assert len(value.encode()) == check.bytes
        assert hashlib.sha256(value.encode()).hexdigest().startswith(check.fingerprint)


@pytest.mark.parametrize("name", CONVERSATIONS.values())
def test_what_opaque_values_there_are_is_what_the_payloads_hold(name, playbacks):
    """The comparison cannot have overlooked one: each value is looked for in the raw payloads again."""
    checked = {check.fingerprint for check in playbacks[name].checks}
    for exchange in sequence(name)[:2]:
        for event in exchange["events"]:
            for value in _opaque(event["data"]):
                assert hashlib.sha256(value.encode()).hexdigest()[:8] in checked


def _opaque(payload):
    if payload == "[DONE]" or "contentBlockDelta" in payload:
        return
    yield from filter(None, [payload.get("delta", {}).get("signature")] if "index" in payload else [])
    yield from filter(None, [payload.get("content_block", {}).get("data")])
    if payload.get("type") == "response.output_item.done" and payload["item"]["type"] == "reasoning":
        yield payload["item"]["encrypted_content"]


def test_a_value_that_was_changed_lost_moved_or_made_up_fails():
    def entries(*said):
        return [Entry("model", kind, path, value) for kind, value, path in said]

    given = entries(
        ("signature", "same", ""),
        ("signature", "sent", ""),
        ("thinking", "lost", ""),
        ("thinking", "early", ""),
        ("thinking", "late", ""),
    )
    returned = entries(
        ("signature", "same", "/1"),
        ("signature", "changed", "/2"),
        ("thinking", "late", "/3"),
        ("thinking", "early", "/4"),
        ("words", "other", "/5"),
    )
    assert [(check.kind, check.bytes, check.path, check.unchanged) for check in compare(given, returned)] == [
        ("signature", 4, "/1", True),
        ("signature", 4, None, False),
        ("thinking", 4, None, False),
        ("thinking", 5, "/4", True),
        ("thinking", 4, None, False),
        ("signature", 7, "/2", False),
        ("thinking", 4, "/3", False),
    ]


def test_what_differs_by_one_character_fails():
    given = [Entry("model", "signature", "", "c2ln")]
    assert [check.unchanged for check in compare(given, [Entry("model", "signature", "/1", "c2lN")])] == [
        False,
        False,
    ]


def test_a_front_end_that_forgets_is_found_out(careless):
    careless(Forgetful)
    playback = play("anthropic-weather")
    assert (playback.ok, playback.failure, len(playback.requests)) == (False, None, 3)
    lost = [check.kind for check in playback.checks if not check.unchanged]
    assert lost == ["thinking", "signature", "redacted thinking", "thinking", "signature"]


def test_a_front_end_that_changes_a_text_is_found_out(careless):
    careless(Talkative)
    playback = play("anthropic-weather")
    assert playback.ok is False
    assert [check.path for check in playback.checks if not check.unchanged] == [None] * 4


@pytest.mark.parametrize("name", ["anthropic-weather", "chat-weather"])
def test_a_provider_that_refuses_is_a_failure(name, careless):
    careless(Hasty)
    playback = play(name)
    assert playback.ok is False
    assert playback.failure is not None
    assert (len(playback.runs), len(playback.requests)) == (2, 2)
    assert playback.runs[-1][-1].type.value == "RUN_ERROR"
    assert not all(check.unchanged for check in playback.checks)


# -- the front end


class Failing(Upstream):
    name = "failing"

    async def agent(self, run):
        yield ReasoningDelta("Hm")
        raise OSError


def test_a_run_that_fails_is_an_error_of_the_front_end():
    with local_server(create_app(Failing())) as url:
        front_end = DemoFrontEnd(f"{url}/agent", "thread")
        with pytest.raises(RunFailedError):
            anyio.run(front_end.run, "Umbrella?")
    assert [message.content for message in front_end.conversation.messages] == ["Umbrella?", "Hm"]
    assert front_end.runs[0][-1].type.value == "RUN_ERROR"


def test_ids_are_the_same_each_time(playbacks):
    again = play("chat-weather")
    assert [message_ids(run) for run in again.runs] == [
        message_ids(run) for run in playbacks["chat-weather"].runs
    ]


def message_ids(run):
    return [getattr(event, "message_id", None) for event in run]


@pytest.mark.parametrize("name", CONVERSATIONS.values())
def test_the_tool_answers_what_the_second_request_holds(name):
    assert json.dumps(TOOL_RESULT) in json.dumps(load_script(f"{name}-2")["request"])


# -- the screen


def test_blocks_are_what_a_user_sees(playbacks):
    assert [block.kind for block in conversation(playbacks["anthropic-weather"])] == [
        "you",
        "thinking",
        "answer",
        "tool call",
        "result",
        "thinking",
        "answer",
        "you",
        "thinking",
        "answer",
    ]


def test_rows_join_the_deltas_of_a_message(playbacks):
    shown = event_rows(playbacks["openai-weather"].events)
    content = [row for row in shown if row.type.endswith(("_CONTENT", "_ARGS"))]
    assert [(row.id, row.what.split()[0]) for row in content] == [
        ("id-4", "15x"),
        ("call_d…0001", "4x"),
        ("id-6", "7x"),
        ("id-12", "9x"),
        ("id-10", "10x"),
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


@pytest.mark.parametrize("width", [60, 80, 100])
def test_every_value_of_the_request_is_marked_on_a_line_of_its_own(width, playbacks):
    for name, playback in playbacks.items():
        console = Console(file=io.StringIO(), width=width)
        Screen(console, list).play(playback, list_events=False)
        shown = console.file.getvalue()
        assert shown.count("returned unchanged\n") == len(KINDS[name])
        assert all(len(line) <= width for line in shown.splitlines())
        assert (
            shown.splitlines()[-1]
            == f"{len(KINDS[name])} of {len(KINDS[name])} values came back byte for byte."
        )


def test_what_was_changed_is_marked_where_it_stands(playbacks):
    good = playbacks["chat-weather"]
    first, *rest = good.checks
    bad = replace(good, checks=(replace(first, unchanged=False), *rest))
    console = Console(file=io.StringIO(), width=80)
    Screen(console, list).play(bad, list_events=False)
    marked = [line for line in console.file.getvalue().splitlines() if line.endswith("NOT WHAT WAS SENT")]
    assert [line.split()[0] for line in marked] == ['"reasoning_content":']
    assert "2 of 3 values came back byte for byte." in console.file.getvalue()


# -- the command


NAMES = ("Anthropic Messages", "OpenAI Responses", "Chat Completions", "Gemini generateContent")


@pytest.mark.parametrize("options", [[], ["--verbose"]])
def test_piped_output_is_plain_and_narrow(options, cli):
    result = cli("demo", *options)
    assert (result.status, result.stderr) == (0, "")
    assert "\x1b" not in result.stdout
    assert all(len(line) <= 80 and line == line.rstrip() for line in result.stdout.splitlines())
    assert f"{ALL} of {ALL} values came back byte for byte." in result.stdout
    assert [name for name in NAMES if name not in result.stdout] == []


def test_it_fits_a_screen(cli):
    shown = cli("demo").stdout.splitlines()
    assert len(shown) <= 40
    rows = [line.split("  ")[1] for line in shown if re.match(r"  \S.* \d+ of \d+ ", line)]
    assert rows == [*NAMES]
    assert [line.split()[-1] for line in shown if "demo --verbose" in line] == ["--verbose"]


def test_the_rest_is_shown_on_request(cli):
    shown = cli("demo", "--verbose").stdout
    assert shown.count("returned unchanged\n") == ALL
    assert "AG-UI events in 3 runs  adjacent deltas are joined\nA tool's result starts a run" in shown


@pytest.mark.slow  # it starts a process
def test_it_needs_no_unicode_terminal(process):
    assert process("demo", PYTHONIOENCODING="ascii").status == 0


@pytest.mark.slow  # it starts a process
def test_no_color_makes_a_terminal_plain():
    master, slave = pty.openpty()
    env = environment(NO_COLOR="1", TERM="xterm-256color")
    arguments = [sys.executable, "-m", "agui_reasoning", "demo"]
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
    kinds = {s["name"]: [check["kind"] for check in s["checks"]] for s in report["scripts"]}
    assert kinds == {name: KINDS[name] for name in SHOWN}
    assert [(s["runs"], s["failure"]) for s in report["scripts"]] == [(3, None)] * 4
    assert report["scripts"][2]["checks"][0] == {
        "kind": "reasoning content",
        "bytes": 126,
        "fingerprint": "a0ab0b26",
        "path": "/messages/1/reasoning_content",
        "unchanged": True,
    }


def test_json_holds_the_last_requests_whole(cli, playbacks):
    report = json.loads(cli("demo", "--json").stdout)
    assert {s["name"]: s["request"] for s in report["scripts"]} == {
        name: playbacks[name].requests[-1] for name in SHOWN
    }


def test_one_api_can_be_chosen(cli):
    report = json.loads(cli("demo", "--api", "bedrock-converse", "--json").stdout)
    assert [s["name"] for s in report["scripts"]] == ["bedrock-weather"]


def test_what_did_not_come_back_is_status_1(careless, cli):
    careless(Forgetful)
    result = cli("demo")
    assert result.status == 1
    assert "NOT RETURNED: redacted thinking  212 bytes" in result.stdout
    lost = result.stdout.count("\nNOT RETURNED: ")
    assert 5 < lost < ALL
    assert f"{ALL - lost} of {ALL} values came back byte for byte." in result.stdout


def test_what_did_not_come_back_is_in_the_json(careless, cli):
    careless(Forgetful)
    result = cli("demo", "--json")
    assert (result.status, json.loads(result.stdout)["ok"]) == (1, False)


def test_a_refusal_is_shown_and_status_1(careless, cli):
    careless(Hasty)
    result = cli("demo")
    assert result.status == 1
    assert "   failed  The model's provider refused the request." in result.stdout
    assert "A run of anthropic-weather failed." in result.stdout


def test_the_client_is_named_when_it_is_missing(process):
    code = (
        "import sys; sys.modules['httpx2'] = None\n"
        "from agui_reasoning.cli import main; sys.exit(main(['demo']))"
    )
    result = process(code=code)
    assert (result.status, result.stdout) == (2, "")
    assert 'pip install "httpx2' in result.stderr
