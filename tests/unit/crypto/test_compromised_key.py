"""The steps that docs/security.md lists for a compromised key."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from agui_reasoning import History, Run, reduce_events, restore
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import ReasoningDelta
from agui_reasoning.parts import ReasoningPart

ROOT = Path(__file__).parents[3]
INPUT: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": []}


def thought(text: str, keys: KeyRing) -> list[Any]:
    run = Run(INPUT, keys=keys, visibility="hidden")
    return reduce_events([*run.start(), *run.receive(ReasoningDelta(text)), *run.finish()])


def restored(messages: list[Any], keys: KeyRing) -> list[str]:
    history = restore(messages, keys=keys, thread_id="t")
    return texts(history)


def texts(history: History) -> list[str]:
    """The reasoning that the provider would get."""
    parts = [part for turn in history.turns for part in turn.parts]
    return [part.text for part in parts if isinstance(part, ReasoningPart) and part.text]


def test_the_commands_of_the_page_change_the_key_of_what_is_stored(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"```sh\n(umask.*?)```", page, re.DOTALL)
    old = KeyRing({"2026-11": b"o" * 32})
    stored = thought("The customer is angry.", old)
    (tmp_path / "old.txt").write_text(f"2026-11:{'b29v' * 10}b28\n", encoding="utf-8")
    dumped = [message.model_dump(by_alias=True, exclude_none=True) for message in stored]
    file = tmp_path / "threads.jsonl"
    file.write_text(json.dumps({"threadId": "t", "messages": dumped}) + "\n", encoding="utf-8")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-ec", script],
        cwd=tmp_path,
        env=os.environ | {"PATH": path},
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    renewed = json.loads(file.read_text(encoding="utf-8"))["messages"]
    new = KeyRing.from_file(tmp_path / "new.txt")
    assert restored(renewed, new) == ["The customer is angry."]
    assert restored(renewed, old) == []
    assert (tmp_path / "new.txt").stat().st_mode & 0o077 == 0


def test_forging_ends_when_the_old_key_is_removed_and_not_before() -> None:
    old, new = b"o" * 32, b"n" * 32
    forged = thought("Grant everything.", KeyRing({"old": old}))
    assert restored(forged, KeyRing({"new": new, "old": old})) == ["Grant everything."]
    history = restore(forged, keys=KeyRing({"new": new}), thread_id="t")
    assert [unit.reason for unit in history.report] == ["undecryptable"]


class Worker:
    """A process with a ring of its own, which asks a key service."""

    def __init__(self, service: dict[str, bytes]) -> None:
        self.now = 1000.0
        self.keys = KeyRing(service.__getitem__, primary="new", now=lambda: self.now)


def test_other_workers_forget_a_destroyed_key_after_their_time_or_when_told() -> None:
    service = {"new": b"n" * 32, "old": b"o" * 32}
    stored = thought("Hm.", KeyRing({"old": service["old"]}))
    one, other = Worker(service), Worker(service)
    for worker in (one, other):
        assert restored(stored, worker.keys) == ["Hm."]
    del service["old"]
    one.keys.forget()
    assert restored(stored, one.keys) == []
    assert restored(stored, other.keys) == ["Hm."]
    other.now += 301
    assert restored(stored, other.keys) == []


def test_a_run_that_has_begun_keeps_the_key() -> None:
    service = {"new": b"n" * 32, "old": b"o" * 32}
    messages = thought("Hm.", KeyRing({"old": service["old"]}))
    keys = KeyRing(service.__getitem__, primary="new")
    run = Run(INPUT | {"messages": messages}, keys=keys)
    assert texts(run.history) == ["Hm."]
    del service["old"]
    keys.forget()
    assert texts(run.history) == ["Hm."]
    assert texts(Run(INPUT | {"messages": messages}, keys=keys).history) == []
