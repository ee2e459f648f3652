"""Do what new users do, with nothing but the blocks of the pages.

Each task takes the blocks below some headings, joins them as a reader would, lets a scripted provider answer,
and looks at what reached the provider and the client.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
from ast import literal_eval
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from agui_reasoning import Conversation, check_events
from agui_reasoning.crypto import KeyRing, rekey_messages
from agui_reasoning.gateway import local_server
from tests.docs.environment import TURNS, Providers, surroundings
from tests.docs.markdown import ROOT, blocks
from tests.docs.tasks import Recorder, ask, below, commands_below, python_below, run, thoughts_of
from tests.docs.test_snippets import BIN

FIRST, SECOND = TURNS
SECURITY, SDKS = "docs/security.md", "docs/how-to/provider-sdks.md"


@pytest.fixture
def provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    """What answers the SDKs of the pages, and keeps their requests; the folder is empty."""
    monkeypatch.chdir(tmp_path)
    providers = Providers()
    recorder = Recorder(providers)
    with local_server(recorder) as url, surroundings("", providers, url):
        yield recorder


# -- a tool of the server, with Gemini


# google-genai's own.
@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
def test_gemini_with_a_tool_of_the_server(provider: Recorder) -> None:
    (_, with_tool) = python_below(SDKS, "Gemini")
    names, _ = run(with_tool)
    conversation = Conversation("thread-1")
    with local_server(names["app"]) as url:
        events = [
            event
            for question in (FIRST, SECOND)
            for event in asyncio.run(ask(f"{url}/agent", conversation, question))
        ]
    assert (conversation.status, check_events(events)) == ("finished", [])
    assert [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"] == [
        "Rain in Bergen for 6 hours."
    ]
    checks = provider.checks("gemini-weather")
    assert [check.kind for check in checks if not check.unchanged] == []
    assert [check.kind for check in checks].count("signature") == 2


# -- reasoning in tags


def test_think_tags_of_a_model_under_another_name(provider: Recorder) -> None:
    _, printed = run(*python_below("docs/how-to/think-tags.md", "Say what your server sends"))
    shown = dict.fromkeys(("REASONING_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT"), "")
    for kind, delta in literal_eval(printed):
        shown[kind] += delta
    assert shown == {"REASONING_MESSAGE_CONTENT": "Two and two.", "TEXT_MESSAGE_CONTENT": "Four."}


# -- frameworks that stay


@pytest.mark.slow  # each starts a server in an environment of its own
@pytest.mark.parametrize("name", ["langchain", "pydantic_ai"])
def test_a_framework_is_kept(name: str) -> None:
    page = ROOT / "docs" / "how-to" / "frameworks" / f"{name.replace('_', '-')}.md"
    (part, *_) = [block for block in blocks(page) if block.is_part]
    example = ROOT / part.body.split("# Part of ", 1)[1].split("\n", 1)[0].rstrip(".")
    assert part.unmarked.strip() in example.read_text(encoding="utf-8")
    python = ROOT / ".venv" / "peers" / name / "bin" / "python"
    if not python.exists():
        pytest.skip(f"the environment of {name} is not installed: scripts/test_frameworks.py installs it")
    code = f"from tests.frameworks.pages import check_example; check_example({name!r})"
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([python, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr[-2000:]) == (0, "")


# -- a wire format of one's own


def test_an_own_wire_format_is_decoded_encoded_and_served(provider: Recorder) -> None:
    page = "docs/how-to/own-wire-format.md"
    sections = ("Decode its payloads", "Encode its requests", "Name it", "Use it")
    names, printed = run(*(body for section in sections for body in python_below(page, section)))
    thought = {"think": "Gusts decide it.", "seals": ["U0lHTkVE"]}
    assert names["request"].body["dialog"][1]["thoughts"] == [thought]
    assert [entry.outcome for entry in names["request"].report] == ["echoed"]
    assert "1 unit sent unchanged" in printed
    assert any(getattr(route, "path", "") == "/agent" for route in names["app"].routes)


# -- threads in SQLite, and their erasure


def test_threads_are_stored_in_sqlite_and_erased(provider: Recorder, tmp_path: Path) -> None:
    page = "docs/how-to/store-threads.md"
    thought = b'"content":"Rain."'
    store = python_below(page, "Store it on the server")
    erase = python_below(page, "Change keys, erase, expire")
    kept, _ = run(*store)
    kept["database"].close()
    assert thought in (tmp_path / "threads.sqlite").read_bytes()
    (tmp_path / "threads.sqlite").unlink()
    erased, _ = run(*store, *erase)
    erased["database"].close()
    assert thought not in (tmp_path / "threads.sqlite").read_bytes()
    with contextlib.closing(sqlite3.connect("threads.sqlite")) as database:
        (stored,) = database.execute("SELECT conversation FROM threads").fetchone()
    messages = Conversation.from_json(stored).messages
    assert [message.role for message in messages] == ["user", "assistant", "user", "assistant"]


# -- zero retention, with other keys for the second turn


def test_nothing_is_retained_and_keys_rotate(provider: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = KeyRing.generate("2026-05"), KeyRing.generate("2026-11")
    rings = [old.to_env(), f"{new.to_env()},{old.to_env()}", new.to_env()]
    conversation = Conversation("thread-1")
    seen: list[dict[str, object]] = []

    def ask_with(ring: str, question: str | None) -> None:
        monkeypatch.setenv("AGUI_REASONING_KEYS", ring)
        names, _ = run(*python_below(SECURITY, "Retain nothing"))
        with local_server(names["app"]) as url:
            seen.extend(asyncio.run(ask(f"{url}/agent", conversation, question)))

    ask_with(rings[0], FIRST)
    (call,) = conversation.pending_calls
    conversation.add_tool_result(call.id, "Rain.")
    ask_with(rings[1], None)  # the new key encrypts, the old one still opens
    renewed = rekey_messages(conversation.messages, KeyRing.from_env(), thread_id="thread-1", tenant="acme")
    conversation = Conversation("thread-1", messages=renewed)
    ask_with(rings[2], SECOND)  # the old key is gone

    shown = json.dumps(seen) + conversation.to_json()
    assert [thought for thought in thoughts_of("openai-weather") if thought[:40] in shown] == []
    assert [check.kind for check in provider.checks("openai-weather") if not check.unchanged] == []
    assert [request["store"] for request in provider.requests] == [False] * 3


# -- a broken stream


def test_a_broken_stream_is_found_and_explained(provider: Recorder, tmp_path: Path) -> None:
    _, printed = run(*python_below("docs/how-to/consume-a-stream.md", "Consume a stream"))
    assert "not_open" in printed
    checks = commands_below("docs/how-to/command-line.md", "Check an AG-UI stream")
    (broken,) = [line for line in checks if line.startswith("echo")]
    lines = shell(broken, tmp_path, status=1).splitlines()
    pages = [line.partition("see:")[2].strip() for line in lines if "see:" in line]
    assert pages == ["agui-reasoning explain missing_version", "agui-reasoning explain truncated_run"]
    assert all("What to do:" in shell(command, tmp_path) for command in pages)


def shell(command: str, folder: Path, status: int = 0) -> str:
    """Run a command of a page; give what it prints."""
    env = {"PATH": f"{BIN}:/usr/bin:/bin"}
    done = subprocess.run(
        command, shell=True, cwd=folder, capture_output=True, text=True, env=env, timeout=60
    )
    assert done.returncode == status, done.stderr
    return done.stdout


# -- away from THINKING_*


@pytest.mark.slow  # it starts processes
def test_thinking_events_are_left_behind(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "legacy", tmp_path / "examples" / "legacy")
    commands = commands_below("docs/migrate-from-thinking.md", "Rewrite Python source")
    preview, rewrite = [line for line in commands if "migrate examples/legacy" in line][:2]
    before = (tmp_path / "examples/legacy/agent_0_1_10.py").read_text(encoding="utf-8")
    assert "nothing left to decide" in shell(f"{preview} 2>&1", tmp_path)
    assert (tmp_path / "examples/legacy/agent_0_1_10.py").read_text(encoding="utf-8") == before
    assert "Oslo in November: rain." in shell(rewrite, tmp_path)
    after = (tmp_path / "examples/legacy/agent_0_1_10.py").read_text(encoding="utf-8")
    assert ("ThinkingStartEvent" in before, "ThinkingStartEvent" in after) == (True, False)
    stream = shell(f"{shlex.quote(sys.executable)} examples/legacy/agent_0_1_10.py", tmp_path)
    (tmp_path / "run.sse").write_text(stream, encoding="utf-8")
    report = shell("agui-reasoning check --json run.sse", tmp_path)
    assert json.loads(report)["errors"] == 0


# -- a person's approval


def test_a_call_runs_only_after_a_person_agrees(provider: Recorder) -> None:
    page = "docs/how-to/ask-the-user.md"
    (agent, _) = python_below(page, "Write the agent")
    (front_end, *_) = python_below(page, "Answer in the front end")
    names, printed = run(agent, front_end)
    assert "May the agent call get_forecast?" in printed
    assert names["conversation"].status == "finished"
    result = provider.requests[-1]["messages"][-1]["content"][0]
    assert (result["type"], "Oslo" in json.dumps(result)) == ("tool_result", True)
    assert [check.kind for check in provider.checks("anthropic-weather") if not check.unchanged] == []


# -- two workers behind a proxy, hidden, with keys


class RoundRobin:
    """A proxy that gives each request to the next worker."""

    def __init__(self, *workers: ASGIApp) -> None:
        self._next = cycle(workers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (next(self._next) if scope["type"] == "http" else self.idle)(scope, receive, send)

    async def idle(self, scope: Scope, receive: Receive, send: Send) -> None:
        while (message := await receive())["type"] != "lifespan.shutdown":
            await send({"type": f"{message['type']}.complete"})
        await send({"type": "lifespan.shutdown.complete"})


def test_two_workers_answer_one_thread_by_turns(provider: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGUI_REASONING_KEYS", KeyRing.generate("2026-11").to_env())
    source = python_below(SECURITY, "Retain nothing")
    workers = [run(*source)[0]["app"] for _ in range(2)]
    conversation = Conversation("thread-1")
    with local_server(RoundRobin(*workers)) as url:
        asyncio.run(ask(f"{url}/agent", conversation, FIRST))
        (call,) = conversation.pending_calls
        conversation.add_tool_result(call.id, "Rain.")
        asyncio.run(ask(f"{url}/agent", conversation, None))
        asyncio.run(ask(f"{url}/agent", conversation, SECOND))
    assert conversation.status == "finished"
    assert [
        thought for thought in thoughts_of("openai-weather") if thought[:40] in conversation.to_json()
    ] == []
    assert [check.kind for check in provider.checks("openai-weather") if not check.unchanged] == []


def test_the_headings_are_on_the_pages() -> None:
    assert [block.language for block in below(SECURITY, "Retain nothing")] == ["python"]
