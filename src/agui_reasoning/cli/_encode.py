"""``encode``: provider payloads to AG-UI events."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, BinaryIO

import typer
from ag_ui.core import Event

from agui_reasoning.cli._report import warn
from agui_reasoning.cli._source import read_file, read_source
from agui_reasoning.deltas import Delta, UsageDelta
from agui_reasoning.errors import AGUIReasoningError, ConfigurationError, DecodeError
from agui_reasoning.providers import API_IDS, Decoder, decoder
from agui_reasoning.run import Run
from agui_reasoning.wire import SSEEncoder

__all__ = ["FAILURE", "encode", "encode_payloads"]

FAILURE = "The model's answer could not be completed."
"""What the user reads when a stream breaks; the provider's own words never go there."""


def encode(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A path, or - for standard input.")],
    api: Annotated[str | None, typer.Option(help=f"One of: {', '.join(API_IDS)}.", metavar="API")] = None,
    provider: Annotated[str | None, typer.Option(help="Who serves it, such as openrouter.")] = None,
    model: Annotated[str | None, typer.Option(help="The model, where the payloads do not tell.")] = None,
    thread: Annotated[str | None, typer.Option(help="Thread id; default is a random one.")] = None,
    run: Annotated[str | None, typer.Option(help="Run id; default is a random one.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array of events.")] = False,
) -> None:
    """Turn a provider's stream into AG-UI events (SSE).

    FILE holds the provider's payloads as JSON lines, server-sent events or a JSON array, or a whole response.
    A recording (an object with "api" and "events" or "response") tells --api, --provider and --model itself.
    """
    source = read_source(read_file(file))
    provider, model = provider or source.provider, model or source.model
    decode = decoder(_api(api or source.api), provider=provider, model=model)
    frame = Run(
        _run_input(thread, run), api=decode.api, provider=decode.provider, model=model, on_warning=warn
    )
    batches = encode_payloads(source.payloads, decode, frame, whole=source.whole)
    _FORMS[as_json](batches, sys.stdout.buffer)


def encode_payloads(
    payloads: Iterable[Any], decode: Decoder, run: Run, *, whole: bool = False
) -> Iterator[list[Event]]:
    """Encode provider payloads as one run, from RUN_STARTED to its terminal event.

    Args:
        payloads: Parsed payloads, in order; iterating may raise.
        decode: A fresh decoder.
        run: A run that has not started.
        whole: Each payload is a whole response, not a piece of a stream.

    Yields:
        Lists of events, as soon as they are known: a complete AG-UI stream also when an error follows.

    Raises:
        AGUIReasoningError: Whatever broke the stream, after the run has been ended as failed.
    """
    yield run.start()
    try:
        for deltas in _decoded(payloads, decode, whole=whole):
            run.tell(decode.warnings)
            yield from _fed(run, deltas)
    except AGUIReasoningError as error:
        yield from _fed(run, [*getattr(error, "deltas", ()), *_closing(decode)])
        yield run.fail(FAILURE, code=error.code)
        raise
    yield run.finish()


def _decoded(payloads: Iterable[Any], decode: Decoder, *, whole: bool) -> Iterator[list[Delta]]:
    read = decode.whole if whole else decode.receive
    count, said = 0, False
    for count, payload in enumerate(payloads, 1):  # noqa: B007 -- counted for the error below
        deltas = read(payload)
        said = said or any(not isinstance(delta, UsageDelta) for delta in deltas)
        yield deltas
    yield decode.close()
    if not said:
        raise _nothing_said(count, decode.api)


def _fed(run: Run, deltas: Iterable[Delta]) -> Iterator[list[Event]]:
    for delta in deltas:
        events = run.receive(delta)
        if events:
            yield events


def _closing(decode: Decoder) -> Sequence[Delta]:
    """What the decoder still holds when something else has broken the stream."""
    try:
        return decode.close()
    except DecodeError as error:
        return error.deltas


def _nothing_said(count: int, api: str) -> DecodeError:
    if not count:
        return DecodeError(
            "The stream ended before it began: there is no payload in it.",
            code="truncated_stream",
            hint="Check that the provider was reached and that its answer was kept.",
        )
    return DecodeError(
        f"None of the {count} payloads belongs to a response of {api}.",
        code="no_response",
        hint=f"Check --api; it is one of: {', '.join(API_IDS)}.",
    )


def _api(api: str | None) -> str:
    if api is None:
        raise ConfigurationError(
            "The input does not tell its API.",
            code="missing_api",
            hint=f"Give --api, one of: {', '.join(API_IDS)}.",
        )
    return api


def _run_input(thread: str | None, run: str | None) -> dict[str, Any]:
    return {
        "threadId": thread or str(uuid.uuid4()),
        "runId": run or str(uuid.uuid4()),
        "state": {},
        "messages": [],
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }


# -- how events are written


def _write_sse(batches: Iterable[list[Event]], out: BinaryIO) -> None:
    frame = SSEEncoder().encode
    for events in batches:
        out.write(b"".join(map(frame, events)))
        out.flush()


def _write_json(batches: Iterable[list[Event]], out: BinaryIO) -> None:
    """Write one array, which is complete also when the stream is not."""
    events: list[Event] = []
    failure: AGUIReasoningError | None = None
    try:
        for batch in batches:
            events += batch
    except AGUIReasoningError as error:
        failure = error
    out.write(b"[%b]\n" % b",\n ".join(map(_json, events)))
    out.flush()
    if failure is not None:
        raise failure


def _json(event: Event) -> bytes:
    return SSEEncoder().encode(event).removeprefix(b"data: ").rstrip(b"\n")


_FORMS = {False: _write_sse, True: _write_json}
