"""Serve payloads in a run, as bytes and as events, and note which of them decoders are given."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from itertools import count
from typing import Any

import pytest

from agui_reasoning import stream_run
from agui_reasoning.deltas import Delta
from agui_reasoning.providers.base import Decoder
from agui_reasoning.wire import SSEEncoder

__all__ = ["RUN_INPUT", "as_events", "as_frames", "decoded", "encoded", "options"]


RUN_INPUT: dict[str, Any] = {
    "threadId": "t",
    "runId": "r",
    "messages": [],
    "tools": [],
    "context": [],
    "state": {},
    "forwardedProps": {},
}


def options() -> dict[str, Any]:
    numbers = count()
    return {
        "new_id": lambda: f"id{next(numbers)}",
        "now_ms": lambda: 1_700_000_000_000,
        "on_warning": lambda message: None,
    }


def as_frames(payloads: Iterable[Any], **named: Any) -> bytes:
    """The bytes of a run."""
    source = copy.deepcopy(list(payloads))
    return b"".join(stream_run(RUN_INPUT, source, **options(), **named).frames())


def as_events(payloads: Iterable[Any], **named: Any) -> bytes:
    """The encoded events of a run, which are made one by one."""
    source = copy.deepcopy(list(payloads))
    return encoded(stream_run(RUN_INPUT, source, **options(), **named))


def encoded(events: Iterable[Any]) -> bytes:
    return b"".join(map(SSEEncoder().encode, events))


def decoded(patch: pytest.MonkeyPatch) -> list[Any]:
    """The payloads that decoders turn into deltas, from now on; others become frames at once."""
    given: list[Any] = []
    receive = Decoder.receive

    def noting(decoder: Decoder, payload: Any) -> list[Delta]:
        given.append(payload)
        return receive(decoder, payload)

    patch.setattr(Decoder, "receive", noting)
    return given
