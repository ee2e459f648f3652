"""Test that no input makes the command control a terminal or a CI runner, whichever command reads it.

A runner takes a line that begins with `::` after blanks as a command, and so `##[` anywhere.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agui_reasoning.cli import COMMANDS
from agui_reasoning.crypto import Binding, KeyRing
from tests.support.effort import mostly_slow
from tests.support.play import FINISHED, STARTED, call, ev, text, thought, value
from tests.unit.cli.command import Result, environment

Run = Callable[..., Result]

# OSC 52 and OSC 0, cursor moves, C1 introducers, bidirectional and invisible characters, all line ends.
ATTACK = (
    "a\x1b]52;c;cm0=\x07\x1b]0;t\x1b\\\x1b[2J\x9b1A\x9d0;t\x9c\x00\x08\x7f\u202eb\u2066c\u2069\u200b\u200d\ufeff"
    "\xad\U000e0041\r::error::cr\n::add-mask::lf\r\n \t::stop-commands::x\n\u3000::debug::y\u2028::error::z"
    "\x85::error::w\x0b::error::v\x0c::error::u ##[error]t ##vso[task.complete]\n##[group]s\n::"
)
HALF = f"{ATTACK}\ud800"
LINES = re.compile("[\r\n]")
COMMANDS_OF_RUNNERS = re.compile(r"\s*::|.*##\w*\[")
OWN_ANNOTATION = re.compile(r"::(error|warning) file=")
KEYS = KeyRing.generate("k")


def unsafe(shown: bytes) -> Iterator[str]:
    """Yield the characters and the lines that may not be shown."""
    words = shown.decode()  # raises for bytes that are not UTF-8
    for char in set(words) - {"\n", "\t"}:
        if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}:
            yield f"U+{ord(char):04X}"
    for line in LINES.split(words):
        if COMMANDS_OF_RUNNERS.match(line) and not OWN_ANNOTATION.match(line):
            yield line


def test_the_check_of_this_file_sees_every_attack() -> None:
    found = list(unsafe(ATTACK.encode()))
    assert {"U+001B", "U+009B", "U+202E", "U+200B", "U+2028", "U+000D", "U+FEFF", "U+E0041"} <= {*found}
    assert len([line for line in found if "::" in line or "##" in line]) == 6


# -- inputs

STREAM = [
    STARTED | {"threadId": ATTACK, "runId": ATTACK},
    *thought(ATTACK, HALF, ATTACK),
    value(ATTACK, ATTACK),
    *text("m1", HALF, ATTACK),
    *call(ATTACK, json.dumps({ATTACK: ATTACK}), ATTACK, parentMessageId="m1"),
    ev("TOOL_CALL_RESULT", messageId=f"{ATTACK}2", toolCallId=ATTACK, content=ATTACK, role="tool"),
    ev("CUSTOM", name=ATTACK, value={ATTACK: HALF}),
    ev("ACTIVITY_SNAPSHOT", messageId=f"{ATTACK}3", activityType=ATTACK, content={ATTACK: ATTACK}),
    {"type": ATTACK, ATTACK: ATTACK},
    {"type": "STEP_STARTED", "stepName": ATTACK},
    ev("RAW", event={ATTACK: ATTACK}, source=ATTACK),
]
ENDS = {
    "finished": [FINISHED | {"threadId": ATTACK, "runId": ATTACK}],
    "failed": [{"type": "RUN_ERROR", "message": ATTACK, "code": ATTACK}],
    "broken": [ev("TEXT_MESSAGE_CONTENT", messageId=ATTACK, delta="x")],
    "malformed": [{"type": "TEXT_MESSAGE_START", "messageId": [ATTACK], "role": ATTACK}],
    "cut": [],
}
THINKING = [
    STARTED,
    ev("THINKING_START", title=ATTACK),
    ev("THINKING_TEXT_MESSAGE_START"),
    ev("THINKING_TEXT_MESSAGE_CONTENT", delta=ATTACK),
    ev("THINKING_TEXT_MESSAGE_END"),
    ev("THINKING_END"),
    FINISHED,
]
MESSAGES = [
    {"id": ATTACK, "role": "user", "content": HALF},
    {"id": f"{ATTACK}r", "role": "reasoning", "content": HALF, "encryptedValue": ATTACK},
    {
        "id": f"{ATTACK}a",
        "role": "assistant",
        "content": ATTACK,
        "encryptedValue": json.dumps({"k": "agui-reasoning", "v": 2, ATTACK: ATTACK}),
        "toolCalls": [{"id": ATTACK, "type": "function", "function": {"name": ATTACK, "arguments": ATTACK}}],
    },
    {"id": f"{ATTACK}t", "role": "tool", "toolCallId": ATTACK, "content": ATTACK},
]
STORED = {
    "threadId": ATTACK,
    "messages": [
        {
            "id": ATTACK,
            "role": "reasoning",
            "content": ATTACK,
            "encryptedValue": KeyRing.generate("gone").encrypt(b"{}", Binding("t")),
        }
    ],
}
CHAT = {
    "api": "openai-chat",
    "provider": "deepseek",
    "model": ATTACK,
    "events": [
        {
            "data": {
                "id": ATTACK,
                "model": ATTACK,
                "choices": [{"index": 0, "delta": {"reasoning_content": HALF, "content": ATTACK}}],
            }
        },
        {"data": {"error": {"message": ATTACK, "type": ATTACK, "code": ATTACK}}},
    ],
}
SOURCE = f"from ag_ui.core import EventType, ThinkingStartEvent\nx = EventType.THINKING_{chr(0xAD)}\n"
POLICY = f"""
[[row]]
provider = [{json.dumps(ATTACK)}]
api = "openai-chat"
model = ["*"]
{json.dumps(ATTACK)} = 1
"""


def raw_json(value: Any) -> str:
    """Write JSON whose strings contain everything that JSON does not forbid."""
    return json.dumps(value, ensure_ascii=False).encode(errors="surrogatepass").decode(errors="replace")


def sse(events: list[Any]) -> bytes:
    """Write frames with hostile comments, names and IDs around them."""
    extra = f"{ATTACK}\n: {ATTACK}".replace("\r", "\n").split("\n")
    head = "".join(f"{line}\n" for line in extra if line.lstrip().startswith(":")).encode() + b"\x9b: x\n"
    frames = (f"event: \x1b[2J\nid: \u202e\ndata: {raw_json(event)}\n\n" for event in events)
    return b":\x9b\xff\n" + head + "".join(frames).encode()


def jsonl(events: list[Any]) -> bytes:
    return "".join(f"{raw_json(event)}\n" for event in events).encode()


def array(events: list[Any]) -> bytes:
    return raw_json(events).encode()


FORMS: dict[str, Callable[[list[Any]], bytes]] = {"sse": sse, "jsonl": jsonl, "array": array}


@dataclass(frozen=True)
class Case:
    """A command line; FILE stands for a file with the content, whose name is hostile too."""

    args: tuple[str, ...]
    content: bytes = b""
    status: tuple[int, ...] = (0, 1, 2)
    suffix: str = ".json"


STREAM_COMMANDS = (
    "check FILE --format text",
    "check FILE --json",
    "check FILE --format sarif",
    "check FILE --format github --strict",
    "reduce FILE",
    "reduce FILE --json",
    "trace FILE",
    "trace FILE --json",
)
TRANSLATIONS = (
    "upgrade FILE",
    "upgrade FILE --repair --keep-title",
    "upgrade FILE --json",
    "downgrade FILE",
    "downgrade FILE --json",
    "downgrade FILE --in-place --json",
)
EXCHANGE, CUT = (raw_json(CHAT | {"events": CHAT["events"][:n]}).encode() for n in (2, 1))
HISTORY, TOKEN = raw_json(STORED).encode(), KEYS.encrypt(ATTACK.encode(), Binding("t")).encode()
MIGRATED = b"from ag_ui.core import EventType\nprint(EventType.THINKING_START.value)\n"
ARGUMENT = ATTACK.replace("\0", "")

# Command, content of the file, and the end of its name.
OTHERS: tuple[tuple[str, bytes, str], ...] = (
    *((f"trace FILE{option}", array(MESSAGES), ".json") for option in ("", " --json")),
    *(
        (f"request FILE --api {api} --report{option}", array(MESSAGES), ".json")
        for api in ("openai-chat", "anthropic-messages", "openai-responses", "gemini")
        for option in ("", " --json")
    ),
    *(
        (f"encode FILE{option}", content, ".json")
        for option in ("", " --json")
        for content in (EXCHANGE, CUT)
    ),
    *((f"rekey FILE{option}", HISTORY, ".json") for option in ("", " --json", " --dry-run")),
    ("decrypt FILE --thread t", ATTACK.encode(), ".txt"),
    ("decrypt FILE --thread t --json", TOKEN, ".txt"),
    *(
        (f"migrate FILE{option}", content, ".py")
        for option in ("", " --json", " --write")
        for content in (MIGRATED, SOURCE.encode())
    ),
    *(
        (f"{command} --policy FILE", POLICY.encode(), ".toml")
        for command in ("providers", "request x --api gemini")
    ),
)

REFUSED: tuple[tuple[str, ...], ...] = (
    (ARGUMENT,),
    (f"--{ARGUMENT}",),
    ("check", f"{ARGUMENT[:90]}/none"),
    ("check", "x", "--select", ARGUMENT),
    ("check", "x", "--docs-url", ARGUMENT),
    ("decrypt", "x", "--thread", "t", "--keys-env", ARGUMENT.replace("=", "")),
    ("demo", "--api", ARGUMENT),
    ("encode", "x", "--api", ARGUMENT),
    ("encrypt", "x", "--thread", "t", "--keys-file", ARGUMENT),
    ("explain", ARGUMENT),
    ("keygen", "--kid", ARGUMENT),
    ("providers", ARGUMENT),
    ("providers", "--api", ARGUMENT),
    ("bulk", "erase", ARGUMENT),
    ("bulk", ARGUMENT, "x"),
    ("proxy", "--upstream", ARGUMENT),
    ("reduce", ARGUMENT, ARGUMENT),
    ("rekey", ARGUMENT),
    ("request", "x", "--api", ARGUMENT),
    ("serve", "--allow-origin", ARGUMENT),
    ("serve", "--api", ARGUMENT, "--model", ARGUMENT, "--base-url", ARGUMENT),
    ("serve", "--parameters", ARGUMENT),
    ("serve", "--port", ARGUMENT),
    ("serve", "--upstream", ARGUMENT),
    ("serve", "--upstream", f"replay:{ARGUMENT}"),
)


def cases() -> Iterator[tuple[str, Case]]:
    for form, write in FORMS.items():
        for (end, events), command in itertools.product(ENDS.items(), STREAM_COMMANDS):
            yield f"{command} {form} {end}", Case(tuple(command.split()), write(STREAM + events))
        for command in TRANSLATIONS:
            content = write([*STREAM, *ENDS["finished"]])
            yield f"{command} {form} REASONING", Case(tuple(command.split()), content)
            yield f"{command} {form} THINKING", Case(tuple(command.split()), write(THINKING))
    for number, (command, content, suffix) in enumerate(OTHERS):
        yield f"{command} {number}", Case(tuple(command.split()), content, suffix=suffix)
    for number, line in enumerate(REFUSED):
        yield f"refused {number}", Case(line, status=(2,))


CASES = dict(cases())


def test_every_command_has_a_case() -> None:
    assert {case.args[0] for case in CASES.values()} >= {*COMMANDS}


# One format of a stream tells what the others tell, and one end.
QUICK = {name for name in CASES if "array" not in name and "jsonl" not in name}
QUICK -= {name for name in QUICK if name.endswith((" finished", " broken", " malformed", " cut"))}


@pytest.mark.parametrize("name", mostly_slow(CASES, quick=QUICK))
def test_nothing_unsafe_is_shown(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Run, capsysbinary: Any
) -> None:
    case = CASES[name]
    monkeypatch.setenv("AGUI_REASONING_KEYS", KEYS.to_env())
    monkeypatch.chdir(tmp_path)
    path = Path(os.fsdecode(b"\xff") + ATTACK.replace("\0", "").replace("/", "")[:200] + case.suffix)
    path.write_bytes(case.content)
    result = cli(*(str(path) if arg == "FILE" else arg for arg in case.args))
    assert result.status in case.status, result.stderr
    assert result.stdout + result.stderr
    assert list(unsafe(result.stdout.encode())) == []
    assert list(unsafe(result.stderr.encode())) == []


ODD_JSON = {
    "nesting": '{"type":"CUSTOM","name":"n","value":' + "[" * 100_000 + "]" * 100_000 + "}",
    "digits": '{"type":"CUSTOM","name":"n","value":' + "9" * 100_000 + "}",
    "infinite": '{"type":"CUSTOM","name":"n","value":1e999999}',
    "half": r'{"type":"CUSTOM","name":"\ud800","value":"\udfff"}',
    "half a name": r'{"type":"CUSTOM","name":"n","\ud800":1}',
}
READERS = (
    *("check", "reduce", "trace", "upgrade", "downgrade", "rekey", "encode --api openai-chat"),
    *("request --api openai-chat", "request --api anthropic-messages"),
)


@pytest.mark.parametrize("form", ["[{}]", "{}", '{{"threadId":"t","messages":[{}]}}', '{{"events":[{}]}}'])
@pytest.mark.parametrize("name", ODD_JSON)
@pytest.mark.parametrize("command", READERS)
def test_json_that_parsers_stumble_over_is_an_error_or_a_value(
    command: str, name: str, form: str, tmp_path: Path, cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGUI_REASONING_KEYS", KEYS.to_env())
    path = tmp_path / "in.json"
    path.write_text(form.format(ODD_JSON[name]), encoding="utf-8")
    first, *options = command.split()
    result = cli(first, str(path), *options)
    assert result.status in (0, 1, 2)
    assert "Traceback" not in result.stderr
    assert list(unsafe((result.stdout + result.stderr).encode())) == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("command", ["upgrade", "downgrade", "upgrade --json", "downgrade --json"])
def test_an_escaped_stream_has_the_same_values(command: str, form: str, cli: Run) -> None:
    events = [event for event in STREAM if not event["type"].startswith("REASONING")]
    shown = cli(*command.split(), "-", stdin=FORMS[form](events)).stdout
    if "--json" in command:
        found = json.loads(shown)["events"]
    elif form == "sse":
        found = [json.loads(line[6:]) for line in shown.split("\n") if line.startswith("data: ")]
    else:
        found = json.loads(shown) if form == "array" else [json.loads(line) for line in shown.splitlines()]
    assert found == json.loads(raw_json(events))


def test_histories_that_are_rekeyed_to_standard_output_have_the_same_values(
    cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGUI_REASONING_KEYS", KEYS.to_env())
    result = cli("rekey", "-", stdin=raw_json(STORED).encode())
    assert list(unsafe(result.stdout.encode() + result.stderr.encode())) == []
    assert json.loads(result.stdout) == STORED


def test_encoded_text_has_the_same_value(cli: Run) -> None:
    whole = CHAT | {"events": CHAT["events"][:1]}
    events = json.loads(cli("encode", "-", "--json", stdin=json.dumps(whole).encode()).stdout)
    deltas = {event["type"]: event["delta"] for event in events if "delta" in event}
    assert deltas["TEXT_MESSAGE_CONTENT"] == ATTACK


def test_a_byte_order_mark_stays_a_mark(cli: Run) -> None:
    frame = b'data: {"type": "CUSTOM", "name": "\xef\xbb\xbf", "value": 1}\n\n'
    shown = cli("upgrade", "-", stdin=b"\xef\xbb\xbf" + frame).stdout
    assert shown == "\ufeff" + frame.decode().replace("\ufeff", r"\ufeff")


def test_the_bytes_of_a_real_process_are_safe(tmp_path: Path) -> None:
    path = tmp_path / "run.sse"
    path.write_bytes(sse(STREAM + ENDS["failed"]))
    for args in (["reduce"], ["trace"], ["downgrade"], ["check", "--format", "github"]):
        command = [sys.executable, "-m", "agui_reasoning", *args, str(path)]
        done = subprocess.run(command, capture_output=True, timeout=60, env=environment(), check=False)
        assert done.stdout
        assert list(unsafe(done.stdout)) == []
        assert list(unsafe(done.stderr)) == []


def test_plaintext_is_exact_in_a_pipe_and_escaped_on_a_terminal(
    cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGUI_REASONING_KEYS", KEYS.to_env())
    assert cli("decrypt", "-", "--thread", "t", stdin=TOKEN).stdout == ATTACK
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    shown = cli("decrypt", "-", "--thread", "t", stdin=TOKEN).stdout
    assert shown != ATTACK
    assert list(unsafe(shown.encode())) == []


def test_the_log_of_a_server_is_escaped_and_records_cannot_be_forged() -> None:
    code = f"""
import logging
from agui_reasoning.cli._serve import log_to_stderr
log_to_stderr()
try:
    raise ValueError({ATTACK!r})
except ValueError:
    logging.getLogger("x").error("%s", {ATTACK!r}, exc_info=True)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True)
    assert list(unsafe(done.stderr)) == []
    first, *others = done.stderr.decode().splitlines()
    assert re.match(r"\d{4}-\d\d-\d\d ", first)
    assert "  Traceback (most recent call last):" in others
    assert all(line.startswith("  ") for line in others)
