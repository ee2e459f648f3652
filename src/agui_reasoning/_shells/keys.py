"""Fetches the keys of a run before the provider is asked, without blocking the event loop.

The callable of a key ring is called in a worker thread; what it returns is awaited in the task of the run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

from ag_ui.core import RunAgentInput

from agui_reasoning._shells.sources import in_thread
from agui_reasoning.run import Run

if TYPE_CHECKING:  # imported with the first key ring
    from agui_reasoning.crypto._held import Fetching

__all__ = ["hold_keys", "hold_primary_key"]


async def hold_keys(run: Run) -> None:
    """Fetch the primary key of a run, and those that its input names; the run keeps them.

    Raises:
        TransportError: The primary key cannot be fetched (``key_unavailable``).
        ConfigurationError: It is unknown (``unknown_key``) or invalid (``bad_key``).
    """
    fetching = None if run.keys is None else run.keys._fetching(_key_ids(run.input))
    if fetching is None:
        return
    with closing(fetching):
        awaited = await in_thread(lambda: next(fetching, None))
        while awaited is not None:
            # A callable that is asynchronous does not block, so that this goes on in the event loop.
            awaited = await _next(fetching, awaited)


def hold_primary_key(run: Run) -> None:
    """Fetch the primary key of a run in synchronous code; other keys are fetched as they are needed.

    Raises:
        TransportError: As for `hold_keys`.
        ConfigurationError: As for `hold_keys`, or the callable is asynchronous (``async_keys``).
    """
    fetching = None if run.keys is None else run.keys._fetching(())
    if fetching is not None:
        from agui_reasoning.crypto._held import at_once

        at_once(fetching)


async def _next(fetching: Fetching[None], awaited: Awaitable[Any]) -> Awaitable[Any] | None:
    from agui_reasoning.crypto._secret import Secret

    try:
        try:
            key = Secret(await awaited)  # no variable holds the key, because tracebacks may show it
        except Exception as error:
            return fetching.throw(error)
        return fetching.send(key)
    except StopIteration:
        return None


def _key_ids(run_input: RunAgentInput) -> Iterator[str]:
    """Yield the key IDs of the tokens in an input, in the messages and at the top of the shared state."""
    from agui_reasoning.crypto._jwe import header_of, read_header

    headers = dict.fromkeys(header_of(value) for value in _values(run_input))
    yield from (header.kid for text in headers if (header := read_header(text)) is not None)


def _values(run_input: RunAgentInput) -> Iterator[str]:
    for message in run_input.messages:
        for entity in (message, *(getattr(message, "tool_calls", None) or ())):
            if isinstance(value := getattr(entity, "encrypted_value", None), str):
                yield value
    state = run_input.state if isinstance(run_input.state, dict) else {}
    yield from (value for value in state.values() if isinstance(value, str))
