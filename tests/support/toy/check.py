"""Take the toy API through the whole loop; run as a program, because the registry is read once.

``python -m tests.support.toy.check`` adds the rows, then prints what came of each step as JSON.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agui_reasoning.providers import vendors
from agui_reasoning.replay import CONVERSATIONS, TRANSCRIPTS
from tests.internals.registry import APIS, SCRIPT_FOLDERS
from tests.support.toy.entry import TOY
from tests.support.toy.transcript import TRANSCRIPT

APIS["toy"] = TOY
vendors._FOLDERS.append(Path(__file__).parent / "rows")
CONVERSATIONS["toy"] = "toy-weather"
SCRIPT_FOLDERS.append(Path(__file__).parent / "scripts")
TRANSCRIPTS["toy"] = TRANSCRIPT

from ag_ui.core import RunAgentInput  # noqa: E402

from agui_reasoning import Conversation, Run, build_request, restore  # noqa: E402
from agui_reasoning.parts import Origin  # noqa: E402
from agui_reasoning.providers import decode_response, decoder  # noqa: E402
from agui_reasoning.providers.echo import rule_for  # noqa: E402
from agui_reasoning.replay import load_script  # noqa: E402
from scripts.tables import tables  # noqa: E402
from tests.internals.demo import play  # noqa: E402


def loop() -> dict[str, Any]:
    """Decode, emit, reduce, restore, request."""
    conversation = Conversation("thread-1")
    run = Run(conversation.run_input("Umbrella or raincoat?"), api="toy")
    events = run.start()
    reader = decoder("toy")
    for event in load_script("toy-weather")["events"]:
        for delta in reader.receive(event["data"]):
            events += run.receive(delta)
    for event in events + run.finish():
        conversation.receive(event)
    conversation.end_of_stream()
    conversation.add_tool_result(conversation.pending_calls[0].id, "Rain.")
    run_input: RunAgentInput = conversation.run_input()
    parts = [part for turn in restore(run_input).turns for part in turn.parts]
    steps = [event["data"] for event in load_script("toy-weather")["events"]]
    return {
        "restored": parts == decode_response("toy", {"turns": steps}),
        "body": build_request("toy", run_input, provider=None, model="toy-1").body,
        "emitter knows the rule": rule_for(Origin(None, "toy")).status,
    }


def demo() -> dict[str, Any]:
    """The gateway in front of a provider that plays the toy's scripts."""
    playback = play("toy-weather")
    return {"ok": playback.ok, "checks": len(playback.checks)}


print(json.dumps({"loop": loop(), "demo": demo(), "docs": tables()["echo-policy/toy.md"].splitlines()[-1]}))
