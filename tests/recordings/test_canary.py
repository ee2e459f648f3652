"""Test the law *secrecy* over every recording: in `summary` and `hidden` no output holds hidden text."""

from __future__ import annotations

import json
import logging
import re
import traceback
import warnings
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from agui_reasoning import (
    AGUIReasoningError,
    Conversation,
    Run,
    build_request,
    check_events,
    reduce_events,
    restore,
)
from agui_reasoning.audit import AuditRecord
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import Delta, fold
from agui_reasoning.parts import Part, Turn
from agui_reasoning.providers.registry import provider_api
from agui_reasoning.replay import load_script
from agui_reasoning.wire import SSEEncoder, read_events
from tests.laws import law
from tests.recordings.test_recordings import ALL, decode
from tests.support.canary import Canary, strings
from tests.support.recordings import load

KEYS = KeyRing({"k": bytes(32)})
INPUT = {"threadId": "thread", "runId": "run", "messages": [{"id": "u", "role": "user", "content": "Hi."}]}
EVERY = [
    pytest.param(
        visibility,
        *param.values,
        id=f"{visibility}-{param.id}",
        # A quick run asks each recording once, in one of both.
        marks=(*param.marks, *([pytest.mark.slow] if (number + place) % 2 else [])),
    )
    for place, visibility in enumerate(("summary", "hidden"))
    for number, param in enumerate(ALL)
]


class CallbackError(Exception):
    """A callback of the caller's that fails."""


def failing_after(calls: int) -> Callable[[], str]:
    numbers = count()

    def new_id() -> str:
        number = next(numbers)
        if number >= calls:
            raise CallbackError
        return f"id{number}"

    return new_id


def make(visibility: Any, **options: Any) -> Run:
    numbers = count()
    options = {"new_id": lambda: f"id{next(numbers)}", "now_ms": lambda: next(numbers)} | options
    return Run(INPUT, visibility=visibility, **options)


def outputs(run: Run, deltas: list[Delta], heard: list[Any]) -> Iterator[tuple[str, str]]:
    """Everything that comes out of a run, and of what reads its stream."""
    sse, conversation = SSEEncoder(), Conversation("thread", messages=run.input.messages)
    events = run.start() + [event for delta in deltas for event in run.receive(delta)]
    yield "the repr of a run under way", repr(run) + repr(vars(run))
    events += run.finish()
    for event in events:
        conversation.receive(event)
    yield "events", repr(events)
    yield "bytes", "\0".join(strings(read_events(b"".join(map(sse.encode, events)))))
    yield "the repr of the conversation", repr(conversation) + repr(conversation.messages)
    yield "findings", repr(check_events(events))
    yield "warnings and audit records", repr(heard)
    history = run.history
    yield "the repr of the history", repr(history)
    messages = [m.model_dump(mode="json", by_alias=True, exclude_none=True) for m in conversation.messages]
    yield "the client's history", "\0".join(strings(messages))
    yield from _back(messages)


def _back(messages: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """What the next turn prints, though it holds everything."""
    history = restore(messages, keys=KEYS, thread_id="thread")
    yield "the repr of what was restored", repr(history)
    origin = next((turn.origin for turn in history.turns if turn.origin), None)
    if origin is not None and origin.api is not None and provider_api(origin.api).encoder is not None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            request = build_request(origin.api, history, provider=origin.provider, model=origin.model)
        yield "the repr of the request", repr(request)
        yield "its warnings", repr([str(warning.message) for warning in caught])


@law("secrecy")
@pytest.mark.parametrize(("visibility", "api", "file"), EVERY)
def test_no_output_holds_hidden_text(
    visibility: str, api: str, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    deltas = decode(load(file))
    parts: list[Part] = fold(deltas)
    canary = Canary(parts, visibility)
    heard: list[str | AuditRecord] = []
    run = make(visibility, keys=KEYS, on_warning=heard.append, on_audit=heard.append)
    for what, output in outputs(run, deltas, heard):
        canary.look(what, output)
    canary.look("the log", caplog.text)
    canary.look("the repr of parts", repr(parts) + repr(Turn(tuple(parts))) + repr(deltas))


@law("secrecy")
@pytest.mark.parametrize(("visibility", "api", "file"), EVERY)
def test_no_traceback_with_locals_holds_hidden_text(visibility: str, api: str, file: Path) -> None:
    """Fail in a callback, while the library's frames hold unfinished text."""
    deltas = decode(load(file))
    parts = fold(deltas)
    canary = Canary(parts, visibility)
    for calls in (1, 2, 3, 5, 8):
        run = make(visibility, keys=KEYS, new_id=failing_after(calls), on_warning=lambda text: None)
        told = _traceback(run, iter(deltas))
        # The first ids are made for every response: there is a traceback to look at.
        assert told or calls > 1 or not parts
        canary.look("a traceback", told)
    if visibility == "hidden":
        run = make(visibility, on_warning=lambda text: None)
        canary.look("a traceback without keys", _traceback(run, iter(deltas)))


def _traceback(run: Run, deltas: Iterator[Delta]) -> str:
    try:
        run.start()
        for delta in deltas:
            run.receive(delta)
        run.finish()
    except (CallbackError, AGUIReasoningError) as error:
        told = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
        return re.sub(r"^    \w+ = ", "\0", told, flags=re.MULTILINE)  # the names of the locals
    return ""


SAMPLE = [param for param in EVERY if param.values[2] is not None][::97]


@law("secrecy")
@pytest.mark.parametrize(("visibility", "api", "file"), SAMPLE)
def test_no_command_shows_hidden_text_of_a_stream(
    visibility: str, api: str, file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Only the provider's request, which holds everything, is left out."""
    pytest.importorskip("typer", reason="the extra `cli` is not installed")
    from agui_reasoning.cli import main

    deltas = decode(load(file))
    canary = Canary(fold(deltas), visibility)
    run = make(visibility, keys=KEYS, on_warning=lambda text: None)
    events = run.start() + [event for delta in deltas for event in run.receive(delta)] + run.finish()
    stream, keys = tmp_path / "stream.sse", tmp_path / "keys"
    stream.write_bytes(b"".join(map(SSEEncoder().encode, events)))
    keys.write_text(KEYS.to_env())
    keys.chmod(0o600)
    history = tmp_path / "history.json"
    history.write_text(json.dumps([m.model_dump(mode="json", by_alias=True) for m in reduce_events(events)]))
    commands = [
        ("check", stream),
        ("check", "--json", stream),
        ("reduce", stream),
        ("reduce", "--json", stream),
        ("downgrade", stream),
        ("upgrade", "--json", stream),
        ("rekey", "--dry-run", "--thread", "thread", "--keys-file", keys, history),
    ]
    for command in commands:
        main(list(map(str, command)))
        out, err = capfd.readouterr()
        assert out + err
        canary.look(str(command[0]), _strings_of(out) + err)
    main(["request", "--api", api, "--thread", "thread", "--keys-file", str(keys), "--report", str(history)])
    canary.look("what request says", capfd.readouterr().err)


def _strings_of(out: str) -> str:
    """The strings of JSON and of streams, where deltas stand in pieces; text without its indentation."""
    try:
        return "\0".join(strings(read_events(out.encode())))
    except (AGUIReasoningError, ValueError):
        return re.sub("^ +", "", out, flags=re.MULTILINE)


def test_the_search_finds_what_full_visibility_shows() -> None:
    """Prove that the search can fail: it finds what `full` shows."""
    deltas = _scripted()
    canary = Canary(fold(deltas), "hidden")
    assert canary.secrets
    heard: list[Any] = []
    caught = []
    for what, output in outputs(make("full", keys=KEYS), deltas, heard):
        try:
            canary.look(what, output)
        except AssertionError:
            caught.append(what)
    assert caught == ["events", "bytes", "the repr of the conversation", "the client's history"]


def _scripted() -> list[Delta]:
    return decode(dict(load_script("anthropic-weather-2")) | {"stream": True})
