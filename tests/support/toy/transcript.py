"""Say where the values are that the toy wants back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agui_reasoning.replay import CALL_ID, RESULT, SIGNATURE, THINKING, Transcript

JSONObject = dict[str, Any]


def _response(payloads: Iterator[JSONObject]) -> JSONObject:
    steps = [step for payload in payloads for step in payload.get("turns", [payload])]
    return {"turns": [{"role": "model", **step} for step in steps if step.get("type") != "end"]}


TRANSCRIPT = Transcript(
    request={
        "turns/*:think/text": THINKING,
        "turns/*:think/seal": SIGNATURE,
        "turns/*:call/id": CALL_ID,
        "turns/*/answers": RESULT,
    },
    response=_response,
)
