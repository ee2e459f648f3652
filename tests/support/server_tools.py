"""Conversations whose tool runs on the server: one run of two responses, and the first has no text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from agui_reasoning import Run
from agui_reasoning.deltas import Delta, TextDelta
from agui_reasoning.parts import ToolResultPart
from agui_reasoning.providers import decoder
from agui_reasoning.replay import CONVERSATIONS, Exchange, load_script, payloads
from tests.support.verifier import plain

__all__ = ["QUESTION", "RESULT", "SCRIPTS", "deltas_of", "run_with_a_tool"]

SCRIPTS = list(CONVERSATIONS.values())
QUESTION = {"id": "u1", "role": "user", "content": "Umbrella or raincoat?"}
RESULT = "9 °C, 4.2 mm of rain, gusts of 14 m/s"


def deltas_of(exchange: Exchange) -> list[Delta]:
    """What a decoder makes of an exchange."""
    decode = decoder(exchange["api"], provider=exchange["provider"], model=exchange["model"])
    return [delta for payload in payloads(exchange) for delta in decode.receive(payload)] + decode.close()


def run_with_a_tool(script: str, *, later: Sequence[Delta] = (), **options: Any) -> tuple[Run, list[Any]]:
    """A run that calls a tool, takes its result, and answers; and its events as JSON.

    Args:
        script: The name of the script.
        later: Deltas of the second response, if not those of the script.
        options: Those of the run.
    """
    first, second = load_script(script), load_script(f"{script}-2")
    numbers = count()
    given = {"threadId": "t", "runId": "r", "messages": [QUESTION]}
    options.setdefault("new_id", lambda: f"id{next(numbers)}")
    options.setdefault("on_warning", lambda text: None)
    run = Run(given, api=first["api"], provider=first["provider"], model=first["model"], **options)
    events = run.start()
    for delta in deltas_of(first):
        if not isinstance(delta, TextDelta):
            events += run.receive(delta)
    for call in run.pending_calls:
        events += run.receive(ToolResultPart(call.id, RESULT))
    for delta in later or deltas_of(second):
        events += run.receive(delta)
    return run, plain(events + run.finish())
