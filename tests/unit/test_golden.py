"""Compare the wire and stored forms with those of files that were written once.

A client may return years later what it stores today, so nothing in these files is written again:
``python -m tests.unit.test_golden`` adds what is missing, for example for a new API. To change the wire on
purpose, delete the member ``wire`` of a file. Keep ``plain`` and ``sealed``: they are stored histories.
"""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest

from agui_reasoning import KeyRing, Run, build_request, reduce_events
from agui_reasoning.providers import decoder
from agui_reasoning.replay import load_script, script_names
from tests.docs.markdown import ROOT

FOLDER: Final = ROOT / "tests" / "fixtures" / "golden"
KEYS: Final = KeyRing({"golden": bytes(range(32))})
NEXT: Final = {"id": "next", "role": "user", "content": "And then?"}
FORMS: Final = {"plain": None, "sealed": KEYS}

Json = dict[str, Any]


def first_scripts() -> list[str]:
    """Return the first script of each API."""
    found: dict[str, str] = {}
    for name in script_names():
        found.setdefault(load_script(name)["api"], name)
    return sorted(found.values())


def run_events(name: str, keys: KeyRing | None) -> list[Json]:
    """Play a script with IDs and times that do not change."""
    script = load_script(name)
    origin = {key: script.get(key) for key in ("api", "provider", "model")}
    ids, clock = count(1), count(1_700_000_000_000, 5)
    run = Run(
        {"threadId": "thread", "runId": "run", "messages": []},
        **origin,
        keys=keys,
        new_id=lambda: f"id-{next(ids)}",
        now_ms=lambda: next(clock),
    )
    decode = decoder(**origin)
    events = run.start()
    for event in script["events"]:
        for delta in decode.receive(event["data"]):
            events += run.receive(delta)
    for delta in decode.close():
        events += run.receive(delta)
    events += run.finish()
    return [event.model_dump(mode="json", by_alias=True, exclude_none=True) for event in events]


def stored(name: str, keys: KeyRing | None) -> list[Json]:
    """Return the messages that a client stores of a run, with a tool's results."""
    held = reduce_events(run_events(name, keys))
    messages = [message.model_dump(mode="json", by_alias=True, exclude_none=True) for message in held]
    calls = [call["id"] for message in messages for call in message.get("toolCalls", ())]
    answered = {message.get("toolCallId") for message in messages}
    results = [
        {"id": f"result-{call}", "role": "tool", "toolCallId": call, "content": "Rain."}
        for call in calls
        if call not in answered
    ]
    return [{"id": "first", "role": "user", "content": "Where?"}, *messages, *results, NEXT]


def body(name: str, messages: list[Json], keys: KeyRing | None) -> Json:
    """Return the next request."""
    script = load_script(name)
    request = build_request(
        script["api"],
        messages,
        provider=script["provider"],
        model=script.get("model") or "model",
        keys=keys,
        thread_id="thread",
    )
    request.raise_for_loss()
    return json.loads(json.dumps(request.body, default=bytes.hex))  # type: ignore[no-any-return]


def golden(name: str) -> Json:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def test_each_api_has_a_file() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.json")) == first_scripts()


@pytest.mark.parametrize("name", first_scripts())
def test_the_wire_is_as_it_was(name: str) -> None:
    assert run_events(name, None) == golden(name)["wire"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", first_scripts())
def test_what_was_stored_once_gives_the_same_request(name: str, form: str) -> None:
    written = golden(name)
    assert body(name, written[form], FORMS[form]) == written["body"]


def write(path: Path, name: str) -> None:
    """Add what a file lacks."""
    known = golden(name) if path.exists() else {}
    made = {
        "wire": run_events(name, None),
        **{form: stored(name, keys) for form, keys in FORMS.items()},
        "body": body(name, stored(name, None), None),
    }
    path.write_text(json.dumps(made | known, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for script in first_scripts():
        write(FOLDER / f"{script}.json", script)
