"""The agent of `examples/web` that joins a thread, under Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import Delta, FinishDelta, ReasoningDelta, TextDelta
from agui_reasoning.durable import Runs, SQLiteRuns
from agui_reasoning.gateway import Upstream, create_app, local_server
from agui_reasoning.run import Run
from tests.differential.node import find_node
from tests.support.environments import ROOT

EXAMPLE = ROOT / "examples" / "web"
ROLLDOWN = EXAMPLE / "node_modules" / "rolldown" / "bin" / "cli.mjs"
TIMEOUT_S = 60
INPUT = {
    "threadId": "thread-1",
    "runId": "run-1",
    "messages": [{"id": "u1", "role": "user", "content": "Umbrella?"}],
    "tools": [],
    "context": [],
    "state": {},
    "forwardedProps": {},
}
JOIN = """
import { HttpAgent } from "@ag-ui/client";
import { durable } from "./agui-reasoning";

const agent = new (durable(HttpAgent))({ url: process.argv[2], threadId: "thread-1" });
agent.abortRun(); // as after a run that was aborted
await agent.connectAgent();
console.log(JSON.stringify(agent.messages));
"""


class Forecaster(Upstream):
    name = "forecaster"

    async def agent(self, run: Run) -> AsyncIterator[Delta]:
        yield ReasoningDelta("Clouds over Bergen.")
        yield TextDelta("Take one.")
        yield FinishDelta("stop")


def test_the_agent_of_the_example_joins_a_thread(tmp_path: Path) -> None:
    node = find_node()
    if node is None or not ROLLDOWN.is_file():
        pytest.skip(
            "Node has no build for this platform, or `make test-frontends` did not install the example"
        )
    source, bundle = tmp_path / "join.ts", tmp_path / "join.mjs"
    source.write_text(JOIN, encoding="utf-8")
    shutil.copy(EXAMPLE / "agui-reasoning.ts", tmp_path)
    (tmp_path / "node_modules").symlink_to(EXAMPLE / "node_modules")
    run_node(node, ROLLDOWN, source, "--platform", "node", "--file", bundle)
    keys = KeyRing.generate("k1")
    runs = Runs(SQLiteRuns(tmp_path / "runs.db"), keys=keys)
    with local_server(create_app(Forecaster(), keys=keys, runs=runs)) as url:
        assert httpx2.post(f"{url}/agent", json=INPUT).status_code == 200
        messages: list[dict[str, Any]] = json.loads(run_node(node, bundle, f"{url}/agent"))
    assert [(one["role"], one["content"]) for one in messages] == [
        ("user", "Umbrella?"),
        ("reasoning", "Clouds over Bergen."),
        ("assistant", "Take one."),
    ]


def run_node(node: Path, *arguments: Path | str) -> str:
    done = subprocess.run(
        [node, *arguments], cwd=EXAMPLE, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
