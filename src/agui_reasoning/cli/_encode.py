"""``encode``: convert provider payloads to AG-UI events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Final

import typer
from ag_ui.core import Event

from agui_reasoning._ids import new_uuid
from agui_reasoning.cli._completion import complete_api, complete_provider
from agui_reasoning.cli._output import EscapedBytes
from agui_reasoning.cli._report import warn
from agui_reasoning.cli._source import read_file, read_source
from agui_reasoning.deltas import Delta, UsageDelta
from agui_reasoning.errors import AGUIReasoningError, ConfigurationError, DecodeError
from agui_reasoning.providers import API_IDS, Decoder, decoder
from agui_reasoning.run import Run
from agui_reasoning.wire import SSEEncoder

__all__ = ["FAILURE", "encode", "encode_payloads"]

OPENHANDS: Final = "openhands"
"""Not an API: the events of an agent framework."""

FAILURE = "The model's answer could not be completed."
"""The message of RUN_ERROR when a stream fails; it never contains the provider's error text."""


def encode(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A path, or - for standard input.")],
    api: Annotated[
        str | None,
        typer.Option(
            help=f"One of: {', '.join(API_IDS)}; or {OPENHANDS}, for a log of its events.",
            metavar="API",
            autocompletion=complete_api,
        ),
    ] = None,
    provider: Annotated[
        str | None,
        typer.Option(
            autocompletion=complete_provider, help="The provider that serves the model, such as openrouter."
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model, if the payloads do not name it.")] = None,
    thread: Annotated[str | None, typer.Option(help="The thread ID; random by default.")] = None,
    run: Annotated[str | None, typer.Option(help="The run ID; random by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array of events.")] = False,
) -> None:
    """Convert a provider's stream to AG-UI events (SSE).

    FILE holds the provider's payloads as JSON lines, server-sent events or a JSON array, or a whole response.
    A recording (an object with "api" and "events" or "response") supplies --api, --provider and --model.
    """
    source = read_source(read_file(file))
    if api == OPENHANDS:
        _FORMS[as_json](_of_openhands(source.payloads, _run_input(thread, run)), EscapedBytes())
        return
    provider, model = provider or source.provider, model or source.model
    decode = decoder(_api(api or source.api), provider=provider, model=model)
    frame = Run(
        _run_input(thread, run), api=decode.api, provider=decode.provider, model=model, on_warning=warn
    )
    batches = encode_payloads(source.payloads, decode, frame, whole=source.whole)
    _FORMS[as_json](batches, EscapedBytes())


def _of_openhands(payloads: Iterable[Any], run_input: dict[str, Any]) -> Iterator[list[Event]]:
    from agui_reasoning.interop.openhands import read_events

    yield read_events(payloads, run_input=run_input, on_warning=warn)


def encode_payloads(
    payloads: Iterable[Any], decode: Decoder, run: Run, *, whole: bool = False
) -> Iterator[list[Event]]:
    """Encode provider payloads as one run, from RUN_STARTED to its terminal event.

    Args:
        payloads: Parsed payloads, in order; iterating may raise.
        decode: A new decoder.
        run: A run that has not started.
        whole: Whether each payload is a whole response instead of a piece of a stream.

    Yields:
        Lists of events, as soon as they are known. The AG-UI stream is complete even if an error follows.

    Raises:
        AGUIReasoningError: The error that broke the stream, raised after the run has ended as failed.
    """
    yield run.start()
    try:
        for deltas in _decoded(payloads, decode, whole=whole):
            run.warn_once(decode.warnings)
            yield from _emitted(run, deltas)
    except AGUIReasoningError as error:
        yield from _emitted(run, [*getattr(error, "deltas", ()), *_closing(decode)])
        yield run.fail(FAILURE, code=error.code)
        raise
    yield run.finish()


def _decoded(payloads: Iterable[Any], decode: Decoder, *, whole: bool) -> Iterator[list[Delta]]:
    read = decode.whole if whole else decode.receive
    count, responded = 0, False
    for count, payload in enumerate(payloads, 1):  # noqa: B007 -- reported in the error below
        deltas = read(payload)
        responded = responded or any(not isinstance(delta, UsageDelta) for delta in deltas)
        yield deltas
    yield decode.close()
    if not responded:
        raise _no_response(count, decode.api)


def _emitted(run: Run, deltas: Iterable[Delta]) -> Iterator[list[Event]]:
    for delta in deltas:
        events = run.receive(delta)
        if events:
            yield events


def _closing(decode: Decoder) -> Sequence[Delta]:
    """Return the deltas the decoder still holds after the stream broke."""
    try:
        return decode.close()
    except DecodeError as error:
        return error.deltas


def _no_response(count: int, api: str) -> DecodeError:
    if not count:
        return DecodeError(
            "The stream contains no payloads.",
            code="truncated_stream",
            hint="Check that the provider was reached and that its response was saved.",
        )
    return DecodeError(
        f"None of the {count} payloads belongs to a response of {api}.",
        code="no_response",
        hint=f"Check --api. Known APIs: {', '.join(API_IDS)}.",
    )


def _api(api: str | None) -> str:
    if api is None:
        raise ConfigurationError(
            "The input does not name its API.",
            code="missing_api",
            hint=f"Pass --api with one of: {', '.join(API_IDS)}.",
        )
    return api


def _run_input(thread: str | None, run: str | None) -> dict[str, Any]:
    return {
        "threadId": thread or new_uuid(),
        "runId": run or new_uuid(),
        "state": {},
        "messages": [],
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }


# -- output formats


def _write_sse(batches: Iterable[list[Event]], out: EscapedBytes) -> None:
    frame = SSEEncoder().encode
    for events in batches:
        out.write(b"".join(map(frame, events)))
        out.flush()


def _write_json(batches: Iterable[list[Event]], out: EscapedBytes) -> None:
    """Write one array, complete even if the stream breaks."""
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
