"""Read who said what in the toy's requests and answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agui_reasoning.providers.transcript import (
    CALL_ID,
    RESULT,
    SIGNATURE,
    THINKING,
    Entry,
    JSONObject,
    Speaker,
    Transcript,
    entries,
    members,
)

_SPEAKERS: dict[Any, Speaker] = {"user": "user", "toy": "model", "tool": "tool"}
_FIELDS = {
    "think": {"text": THINKING, "seal": SIGNATURE},
    "call": {"id": CALL_ID},
    "result": {"answers": RESULT},
}


def _request(body: Mapping[str, Any]) -> Iterator[Entry]:
    for path, turn in members(body, "turns", ""):
        kind = "result" if "answers" in turn else turn.get("t")
        yield from entries(_SPEAKERS[turn["by"]], turn, kind, path, _FIELDS)


def _steps(steps: list[JSONObject]) -> JSONObject:
    return {"turns": [{"by": "toy", **step} for step in steps if step.get("t") != "end"]}


TRANSCRIPT = Transcript(
    request=_request,
    whole=lambda response: _steps(response["steps"]),
    streamed=lambda payloads: _steps(list(payloads)),
    bond=CALL_ID,
    bound=frozenset({THINKING, SIGNATURE}),
)
