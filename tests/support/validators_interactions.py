"""What Gemini Interactions refuses of a whole conversation, written from the facts about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

Body = dict[str, Any]
Step = Mapping[str, Any]


def check_interactions(body: Body) -> list[str]:
    """A request that holds the whole conversation: nothing of it is on the server."""
    steps = body["input"]
    faults = [] if not steps or steps[0]["type"] == "user_input" else ["input: a user step must come first"]
    faults += [fault for number, step in enumerate(steps) for fault in _step(step, number)]
    for told, run in groupby(steps, key=lambda step: step["type"] == "user_input"):
        if not told and {step["type"] for step in run} == {"thought"}:
            faults.append("a thought leads to nothing")
    return [*faults, *_calls(steps), *_server_calls(steps)]


def _step(step: Step, number: int) -> Iterator[str]:
    kind, signature = step["type"], step.get("signature")
    if kind == "thought" and not signature:
        yield f"{number}: a thought without its signature"
    if signature is not None and (not isinstance(signature, str) or kind in ("user_input", "model_output")):
        yield f"{number}: Invalid signature"
    if kind in ("user_input", "model_output") and not step["content"]:
        yield f"{number}: content must not be empty"
    if kind == "function_call" and not isinstance(step["arguments"], dict):
        yield f"{number}: arguments must be an object"
    for content in step.get("content", ()):
        if content["type"] == "text" and not content["text"]:
            yield f"{number}: text must not be empty"
        if content["type"] == "function_result" and not isinstance(content["result"], str | list):
            yield f"{number}: a result is a string or a list"


def _calls(steps: list[Step]) -> Iterator[str]:
    """Every call is answered once, in the user step behind the response, and nothing else is."""
    waiting: list[str] = []
    seen: set[str] = set()
    for number, step in enumerate(steps):
        if step["type"] == "function_call":
            if step["id"] in seen:
                yield f"{number}: an id twice"
            seen.add(step["id"])
            waiting.append(step["id"])
        for content in step.get("content", ()) if step["type"] == "user_input" else ():
            if content["type"] != "function_result":
                continue
            if content["call_id"] not in waiting:
                yield f"{number}: Tool type of tool_call part does not match"
            else:
                waiting.remove(content["call_id"])
        if step["type"] == "user_input" and waiting:
            yield f"{number}: calls without results: {waiting}"
    if waiting:
        yield "calls without results at the end"


def _server_calls(steps: list[Step]) -> Iterator[str]:
    """Calls of the provider's own and their results come in pairs."""
    open_calls: dict[str, int] = {}
    for number, step in enumerate(steps):
        stem, _, what = step["type"].rpartition("_")
        if stem == "function" or what not in ("call", "result"):
            continue
        open_calls[stem] = open_calls.get(stem, 0) + (1 if what == "call" else -1)
        if open_calls[stem] < 0:
            yield f"{number}: a {stem} result without its call"
    if left := [stem for stem, count in open_calls.items() if count]:
        yield f"calls of the provider's own without results: {left}"
