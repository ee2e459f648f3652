"""Play items through the emitter with and without its fast path, and keep everything that can be observed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from ag_ui.core import Event

from agui_reasoning import Emitter, Run
from agui_reasoning.emitter import _emitter, _fast
from agui_reasoning.errors import AGUIReasoningError
from agui_reasoning.wire import SSEEncoder

RUN_INPUT: dict[str, Any] = {
    "threadId": "t",
    "runId": "r",
    "messages": [],
    "tools": [],
    "context": [],
    "state": {},
    "forwardedProps": {},
}

Options = Callable[[], dict[str, Any]]
"""Creates the options of an emitter; stages have state."""


@dataclass
class Observed:
    """What comes out of items.

    Attributes:
        steps: The frames of each item, or the code of its error.
        events: The events, unless only frames were asked for.
        opened: How many fast paths were opened.
    """

    steps: list[bytes | str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    produced: list[Any] = field(default_factory=list)
    pending: list[Any] = field(default_factory=list)
    records: list[Any] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    opened: int = 0


@contextmanager
def _world(observed: Observed, *, fast: bool) -> Iterator[dict[str, Any]]:
    """Make everything random repeatable, and yield the options that observe."""
    ids, nonces = count(), count(1)

    def fast_path(*given: Any, staged: bool) -> Any:
        path = full(*given, staged=staged) if fast else None
        observed.opened += path is not None
        return path

    full = _fast.fast_path
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "urandom", lambda size: next(nonces).to_bytes(size, "big"))
        patch.setattr(_emitter, "fast_path", fast_path)
        yield {
            "new_id": lambda: f"id{next(ids)}",
            "on_warning": observed.warnings.append,
            "on_audit": observed.records.append,
        }


def emit(
    items: list[Any], options: Options = dict, *, fast: bool, frames: bool = False, cut: int | None = None
) -> Observed:
    """Send items through an emitter; ``cut`` aborts it after so many."""
    observed = Observed()
    with _world(observed, fast=fast) as watched:
        emitter = Emitter(thread_id="t", **watched, **options())
        for item in items[:cut]:
            _step(observed, emitter, item, frames=frames)
            observed.pending.append(emitter.pending_calls)
        _note(observed, emitter.close() if cut is None else emitter.abort(), frames=frames)
        observed.produced = list(emitter.produced)
    return observed


def run(
    items: list[Any],
    options: Options = dict,
    *,
    fast: bool,
    frames: bool = False,
    subagent: bool = False,
) -> Observed:
    """Send items through a run; with ``subagent``, every other ten through a nested one."""
    observed = Observed()
    with _world(observed, fast=fast) as watched:
        parent = Run(RUN_INPUT, **watched, **options())
        _note(observed, parent.start(), frames=frames)
        child = parent.subagent("helper", id="sub") if subagent else None
        for event in child.start() if child else ():
            _step(observed, parent, event, frames=frames)
        for number, item in enumerate(items):
            inner = child if child and number // 10 % 2 else parent
            _step(observed, inner, item, frames=frames)
        for event in child.finish() if child else ():
            _step(observed, parent, event, frames=frames)
        _note(observed, parent.finish(), frames=frames)
        observed.produced = list(parent.history.items)
    return observed


def _step(observed: Observed, machine: Emitter | Run, item: Any, *, frames: bool) -> None:
    try:
        if frames:
            observed.steps.append(machine.frames(item))
        else:
            _note(observed, machine.receive(item), frames=False)
    except AGUIReasoningError as error:
        observed.steps.append(error.code)


def _note(observed: Observed, events: list[Event], *, frames: bool) -> None:
    observed.steps.append(b"".join(map(SSEEncoder().encode, events)))
    if not frames:
        observed.events += [event.model_copy(deep=True) for event in events]
