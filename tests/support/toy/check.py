"""Take the toy API through the whole loop; run as a program, because the registry is read once.

``python -m tests.support.toy.check`` adds the row, then prints what came of each step as JSON.
"""

from __future__ import annotations

import json
from typing import Any

from agui_reasoning.providers import registry

registry._PACKAGES["toy"] = "tests.support.toy"

from ag_ui.core import RunAgentInput  # noqa: E402

from agui_reasoning import Conversation, Run, build_request, restore  # noqa: E402
from agui_reasoning._demo.playback import play  # noqa: E402
from agui_reasoning._scripted import load_script  # noqa: E402
from agui_reasoning.cli._demo import SCRIPTS  # noqa: E402
from agui_reasoning.parts import Origin  # noqa: E402
from agui_reasoning.providers import decode_response, decoder  # noqa: E402
from agui_reasoning.providers.echo import rule_for  # noqa: E402
from tests.docs.test_echo_policy_page import tables  # noqa: E402


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
        "restored": parts == decode_response("toy", {"steps": steps}),
        "body": build_request("toy", run_input, provider=None, model="toy-1").body,
        "emitter knows the rule": rule_for(Origin(None, "toy")).status,
    }


def demo() -> dict[str, Any]:
    """The gateway in front of a provider that plays the toy's scripts."""
    playback = play("toy-weather")
    return {"listed": "toy-weather" in SCRIPTS, "ok": playback.ok, "checks": len(playback.checks)}


print(json.dumps({"loop": loop(), "demo": demo(), "docs": tables()["toy"].splitlines()[-1]}))
