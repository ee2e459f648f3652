"""Test that each command ends with each code of the table."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from agui_reasoning.cli import COMMANDS, exit_codes
from agui_reasoning.crypto import Binding, KeyRing
from agui_reasoning.wire import SSEEncoder
from tests.docs.markdown import ROOT
from tests.support.play import FINISHED, STARTED, ev, thought
from tests.unit.cli.command import Result

Run = Callable[..., Result]

KEYS = ["--keys-file", "keys.txt"]
ANTHROPIC = ["--api", "anthropic-messages"]
TOKEN = ["--thread", "thread-1", "token.txt"]

# What ends with which code. `serve`, `proxy` and the signals have tests of their own, with processes.
CASES: dict[tuple[str, int], list[str]] = {
    ("demo", 0): ["--api", "ollama", "--json"],
    ("demo", 1): ["--api", "ollama", "--json"],  # with a provider that loses something, see below
    ("demo", 2): ["--api", "none"],
    ("serve", 2): ["--upstream", "none"],
    ("proxy", 2): ["--upstream", "none"],
    ("bulk", 0): ["audit", "threads.jsonl"],
    ("bulk", 1): ["check", "cut.jsonl"],
    ("bulk", 2): ["erase", "none"],
    ("encode", 0): [*ANTHROPIC, "weather.jsonl"],
    ("encode", 1): [*ANTHROPIC, "cut.jsonl"],
    ("encode", 2): [*ANTHROPIC, "none"],
    ("check", 0): ["warned.jsonl"],
    ("check", 1): ["--strict", "warned.jsonl"],
    ("check", 2): ["none"],
    ("explain", 0): ["left_open"],
    ("explain", 2): ["left_opn"],
    ("reduce", 0): ["run.sse"],
    ("reduce", 1): ["broken.jsonl"],
    ("reduce", 2): ["none"],
    ("request", 0): [*ANTHROPIC, "--model", "m", "messages.json"],
    ("request", 1): [*ANTHROPIC, "--model", "m", "malformed.json"],
    ("request", 2): ["--api", "none", "messages.json"],
    ("trace", 0): ["run.sse"],
    ("trace", 1): ["broken.jsonl"],
    ("trace", 2): ["none"],
    ("providers", 0): ["deepseek"],
    ("providers", 2): ["deepsek"],
    ("upgrade", 0): ["old.jsonl"],
    ("upgrade", 2): ["none"],
    ("downgrade", 0): ["run.sse"],
    ("downgrade", 1): ["chunk.jsonl"],
    ("downgrade", 2): ["none"],
    ("migrate", 0): ["app.py"],
    ("migrate", 1): ["undecided.py"],
    ("migrate", 2): ["none"],
    ("keygen", 0): [],
    ("keygen", 2): ["--none"],
    ("encrypt", 0): [*KEYS, "--thread", "thread-1", "messages.json"],
    ("encrypt", 2): ["--keys-env", "NOT_SET", "--thread", "thread-1", "messages.json"],
    ("decrypt", 0): [*KEYS, *TOKEN],
    ("decrypt", 1): [*KEYS, "--tenant", "other", *TOKEN],
    ("decrypt", 2): ["--keys-env", "NOT_SET", *TOKEN],
    ("rekey", 0): [*KEYS, "histories.jsonl"],
    ("rekey", 1): ["--keys-file", "new-keys.txt", "histories.jsonl"],
    ("rekey", 2): [*KEYS, "none"],
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("codes")
    keys = KeyRing.generate("k")
    token = keys.encrypt(b"{}", Binding("thread-1"))
    message = {"id": "r1", "role": "reasoning", "content": "", "encryptedValue": token}
    weather = (ROOT / "examples/weather.jsonl").read_text(encoding="utf-8")
    encoded = b"".join(map(SSEEncoder().encode, [STARTED, *thought("r1", "Rain?"), FINISHED]))
    contents = {
        "weather.jsonl": weather,
        "cut.jsonl": "".join(weather.splitlines(keepends=True)[:4]),
        "run.sse": encoded.decode(),
        "chunk.jsonl": json.dumps(ev("REASONING_MESSAGE_CHUNK", delta="x")),
        "warned.jsonl": "".join(f"{json.dumps(event)}\n" for event in (STARTED, ev("FOO"), FINISHED)),
        "broken.jsonl": "".join(f"{json.dumps(event)}\n" for event in (STARTED, thought("r1", "x")[1])),
        "old.jsonl": '{"type": "THINKING_START"}\n{"type": "THINKING_END"}\n',
        "messages.json": '[{"id": "u", "role": "user", "content": "Hi"}]',
        "malformed.json": '[{"id": "u", "role": "user", "content": 1}]',
        "keys.txt": keys.to_env(),
        "new-keys.txt": KeyRing.generate("new").to_env(),
        "token.txt": token,
        "histories.jsonl": f"{json.dumps({'threadId': 'thread-1', 'messages': [message]})}\n",
        "app.py": "x = 1\n",
        "threads.jsonl": '{"threadId": "t", "messages": []}',
        "undecided.py": "from ag_ui.core import ThinkingStartEvent\n\nNAME = 'THINKING_START'\n",
    }
    for name, content in contents.items():
        (folder / name).write_text(content, encoding="utf-8")
        (folder / name).chmod(0o600)
    return folder


@pytest.mark.parametrize(("command", "code"), CASES)
def test_a_command_ends_with_the_code(
    command: str, code: int, files: Path, monkeypatch: pytest.MonkeyPatch, cli: Run
) -> None:
    monkeypatch.chdir(files)
    if (command, code) == ("demo", 1):
        monkeypatch.setattr("agui_reasoning.cli._demo.Playback.ok", False)
    result = cli(command, *CASES[command, code])
    assert result.status == code, result.stderr
    if code == 2:
        assert re.fullmatch(r"error: [^\n]+ \[\w+\]\n", result.stderr)


def test_every_code_of_the_table_has_a_case() -> None:
    in_table = {(name, code) for name in COMMANDS for code in exit_codes(name)}
    assert in_table - CASES.keys() == {("serve", 0), ("proxy", 0)}
    assert CASES.keys() <= in_table
