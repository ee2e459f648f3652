"""`examples/web/agui-reasoning.ts` under Node: the loop, stored threads, TanStack's client tools."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.differential.node import find_node
from tests.frontends.test_durable_agent import EXAMPLE, ROLLDOWN, run_node

Play = Callable[[str], Any]

STORAGE = """
const kept = new Map();
const storage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value) };
"""
CALLER = """
const agent = {
  messages: [{ role: "assistant", toolCalls: [{ id: "old", function: { name: "f", arguments: "{}" } }] }],
  runs: 0,
  addMessage(message) { this.messages.push(message); },
  abortRun() {},
  async runAgent(_, subscriber) {
    const id = `call-${++this.runs}`;
    this.messages.push({ role: "assistant", toolCalls: [{ id, function: { name: "f", arguments: "{}" } }] });
    ENDING
  },
};
const errors = [];
await runUntilAnswered(agent, { tools: [], answer: async ({ id }) => `answer to ${id}`, maxRuns: 2 })
  .catch((error) => errors.push([error instanceof RunFailed, error.message]));
const answered = agent.messages.filter(({ role }) => role === "tool").map(({ toolCallId }) => toolCallId);
console.log(JSON.stringify({ runs: agent.runs, answered, errors }));
"""


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """Runs a script with what the file exports, and reads the JSON that it prints."""
    node = find_node()
    if node is None or not ROLLDOWN.is_file():
        pytest.skip(
            "Node has no build for this platform, or `make test-frontends` did not install the example"
        )

    def played(script: str) -> Any:
        names = "RunFailed, runUntilAnswered, save, stored, withClientTools"
        head = (
            f'import {{ HttpAgent }} from "@ag-ui/client";\nimport {{ {names} }} from "./agui-reasoning";\n'
        )
        source, bundle = tmp_path / "script.ts", tmp_path / "script.mjs"
        source.write_text(head + script, encoding="utf-8")
        shutil.copy(EXAMPLE / "agui-reasoning.ts", tmp_path)
        (tmp_path / "node_modules").symlink_to(EXAMPLE / "node_modules")
        run_node(node, ROLLDOWN, source, "--platform", "node", "--file", bundle)
        return json.loads(run_node(node, bundle))

    return played


@pytest.mark.parametrize("pending", ["", "pendingToolCallIds: [id]"], ids=["client 0.x", "client 1.0"])
def test_the_loop_answers_the_calls_of_its_runs_and_ends_at_the_limit(play: Play, pending: str) -> None:
    ending = f'subscriber.onRunFinishedEvent({{ outcome: "success", {pending} }});'
    assert play(CALLER.replace("ENDING", ending)) == {
        "runs": 2,
        "answered": ["call-1", "call-2"],
        "errors": [[True, "The model still calls tools after 2 runs."]],
    }


@pytest.mark.parametrize(
    ("ending", "errors"),
    [
        ('subscriber.onRunErrorEvent({ event: { message: "Overloaded." } });', [[True, "Overloaded."]]),
        ("", [[True, "The agent cannot be reached, or the connection was lost."]]),
        ('subscriber.onRunFinishedEvent({ outcome: "interrupt" });', []),
    ],
    ids=["error", "cut", "interrupt"],
)
def test_no_call_is_answered_unless_the_run_succeeded(play: Play, ending: str, errors: list[Any]) -> None:
    assert play(CALLER.replace("ENDING", ending)) == {"runs": 1, "answered": [], "errors": errors}


def test_a_stored_thread_comes_back_as_it_was(play: Play) -> None:
    messages = [
        {"id": "u1", "role": "user", "content": "Umbrella?"},
        {"id": "r1", "role": "reasoning", "content": "", "encryptedValue": "b3BhcXVl"},
        {
            "id": "a1",
            "role": "assistant",
            "content": "Take one.",
            "metadata": {"agui-reasoning": {"response": "x"}},
        },
    ]
    script = f"""{STORAGE}
const Agent = stored(HttpAgent, storage);
storage.setItem("messages of t", JSON.stringify({json.dumps(messages)}));
const second = new Agent({{ url: "http://unused.invalid/", threadId: "t" }});
save(second, storage);
await second.connectAgent();
console.log(JSON.stringify([second.messages, JSON.parse(storage.getItem("messages of t"))]));
"""
    assert play(script) == [messages, messages]


def test_tanstack_gets_an_event_for_each_call_that_is_left(play: Play) -> None:
    script = """
const events = [
  { type: "TOOL_CALL_START", toolCallId: "a", toolCallName: "forecast" },
  { type: "TOOL_CALL_ARGS", toolCallId: "a", delta: '{"place":' },
  { type: "TOOL_CALL_ARGS", toolCallId: "a", delta: '"Bergen"}' },
  { type: "TOOL_CALL_START", toolCallId: "b", toolCallName: "server" },
  { type: "TOOL_CALL_RESULT", toolCallId: "b" },
  { type: "RUN_FINISHED" },
];
const { connect } = withClientTools({ async *connect() { yield* events; } });
const seen = [];
for await (const event of connect()) seen.push(event);
console.log(JSON.stringify(seen.slice(5)));
"""
    value = {"toolCallId": "a", "toolName": "forecast", "input": {"place": "Bergen"}}
    assert play(script) == [
        {"type": "CUSTOM", "name": "tool-input-available", "value": value},
        {"type": "RUN_FINISHED"},
    ]
