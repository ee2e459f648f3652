"""``encode``: a provider's response as AG-UI events. ``request``: a client's messages as the next request."""

from __future__ import annotations

import sys
from base64 import b64encode
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, Final

import typer
from ag_ui.core import Event
from msgspec import to_builtins

from agui_reasoning._strict_json import Malformed, load
from agui_reasoning._wire_events import new_uuid
from agui_reasoning.cli._app import (
    File,
    KeysEnv,
    KeysFile,
    PolicyFile,
    ProviderName,
    TenantOption,
    complete_api,
    key_ring_if_any,
    not_empty,
)
from agui_reasoning.cli._files import read_file
from agui_reasoning.cli._output import EscapedBytes, put, put_json, warn
from agui_reasoning.crypto import DEFAULT_VARIABLE
from agui_reasoning.deltas import Delta, UsageDelta
from agui_reasoning.errors import AGUIReasoningError, ConfigurationError, DecodeError, RemoteProtocolError
from agui_reasoning.parts import Origin
from agui_reasoning.providers import API_IDS, Decoder, decoder
from agui_reasoning.replay import exchange_api, is_whole, payloads
from agui_reasoning.request import ProviderRequest, build_request
from agui_reasoning.run import Run
from agui_reasoning.wire import SSEEncoder, iter_payloads

OPENHANDS: Final = "openhands"
"""Not an API: the events of an agent framework."""

FAILURE = "The model's answer could not be completed."
"""The message of RUN_ERROR when a stream fails; it never contains the provider's error text."""

# Members that identify a whole response if it is the only value in a file.
_WHOLE = (("type", "message"), ("object", "response"), ("object", "chat.completion"))


def encode(
    file: File,
    api: Annotated[
        str | None,
        typer.Option(
            help=f"One of: {', '.join(API_IDS)}; or {OPENHANDS}, for a log of its events.",
            metavar="API",
            autocompletion=complete_api,
        ),
    ] = None,
    provider: ProviderName = None,
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
    empty: dict[str, Any] = {"state": {}, "messages": [], "tools": [], "context": [], "forwardedProps": {}}
    run_input = {"threadId": thread or new_uuid(), "runId": run or new_uuid(), **empty}
    if api == OPENHANDS:
        batches = _of_openhands(source.payloads, run_input)
    else:
        provider, model = provider or source.provider, model or source.model
        if (known := api or source.api) is None:
            raise ConfigurationError(
                "The input does not name its API.",
                code="missing_api",
                hint=f"Pass --api with one of: {', '.join(API_IDS)}.",
            )
        decode = decoder(known, provider=provider, model=model)
        frame = Run(run_input, api=decode.api, provider=decode.provider, model=model, on_warning=warn)
        batches = encode_payloads(source.payloads, decode, frame, whole=source.whole)
    (_write_json if as_json else _write_sse)(batches, EscapedBytes())


def _of_openhands(payloads: Iterable[Any], run_input: dict[str, Any]) -> Iterator[list[Event]]:
    from agui_reasoning.interop.openhands import read_events

    yield read_events(payloads, run_input=run_input, on_warning=warn)


def encode_payloads(
    payloads: Iterable[Any], decode: Decoder, run: Run, *, whole: bool = False
) -> Iterator[list[Event]]:
    """Encode provider payloads, whose iteration may raise, as a new run, from RUN_STARTED to its end.

    If ``whole``, each payload is a whole response instead of a piece of a stream.

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
        try:
            held = decode.close()
        except DecodeError as broken:
            held = list(broken.deltas)
        yield from _emitted(run, [*getattr(error, "deltas", ()), *held])
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
    if not count:
        raise DecodeError(
            "The stream contains no payloads.",
            code="truncated_stream",
            hint="Check that the provider was reached and that its response was saved.",
        )
    if not responded:
        raise DecodeError(
            f"None of the {count} payloads belongs to a response of {decode.api}.",
            code="no_response",
            hint=f"Check --api. Known APIs: {', '.join(API_IDS)}.",
        )


def _emitted(run: Run, deltas: Iterable[Delta]) -> Iterator[list[Event]]:
    for delta in deltas:
        events = run.receive(delta)
        if events:
            yield events


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


# -- input


@dataclass(frozen=True, slots=True)
class Source:
    """A provider exchange.

    Attributes:
        payloads: The parsed payloads; iterating may raise.
        whole: Whether each payload is a whole response.
        api: The API ID, if the input names it, as for provider and model.
    """

    payloads: Iterable[Any]
    whole: bool = False
    api: str | None = None
    provider: str | None = None
    model: str | None = None


def read_source(data: bytes) -> Source:
    """Detect the input: payloads of a stream, a whole response, or a recording of either."""
    single = _single_object(data)
    if single is None:
        return Source(iter_payloads(data))
    whole = is_whole(single)
    if "type" in single or (whole and "response" not in single):
        return Source([single], whole=any(single.get(key) == value for key, value in _WHOLE))
    given = [single["response"]] if whole else payloads(single)
    names = (name if isinstance(name := single.get(key), str) else None for key in ("provider", "model"))
    return Source(given, whole, exchange_api(single), *names)


def _single_object(data: bytes) -> dict[str, Any] | None:
    """Return the object if the input is a single one; invalid input raises later, when it is read."""
    with suppress(RemoteProtocolError):
        values = list(islice(iter_payloads(data), 2))
        if len(values) == 1 and isinstance(values[0], dict):
            return values[0]
    return None


def request(
    file: File,
    api: Annotated[str, typer.Option(autocompletion=complete_api, help="The API of the request.")],
    provider: ProviderName = None,
    model: Annotated[str | None, typer.Option(help="The model of the request.")] = None,
    account: Annotated[
        str | None, typer.Option(help="The account at the provider; what only another one reads is left out.")
    ] = None,
    system: Annotated[str | None, typer.Option(help="The system instructions.")] = None,
    thread: Annotated[
        str | None,
        typer.Option(
            "--thread", metavar="ID", help="The thread of messages that do not name one.", callback=not_empty
        ),
    ] = None,
    tenant: TenantOption = "",
    policy: PolicyFile = None,
    keys_env: KeysEnv = DEFAULT_VARIABLE,
    keys_file: KeysFile = None,
    accept_plain: Annotated[
        bool, typer.Option("--accept-plain", help="Accept unencrypted values even though keys are given.")
    ] = False,
    report: Annotated[
        bool, typer.Option("--report", help="Report the outcome of each reasoning unit on stderr.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object with body, flags and report.")
    ] = False,
) -> None:
    """Build the provider's next request from a client's messages, and print its body.

    FILE holds a RunAgentInput, or an array of messages, as a client sends them. Reasoning is restored from
    their encrypted values, with the keys if any are given. What cannot be sent is left out; --report shows
    why.
    """
    built = build_request(
        None,
        _read(file),
        origin=Origin(provider, api, model, account=account),
        system=system,
        policy=policy or (),
        keys=key_ring_if_any(keys_env, keys_file),
        thread_id=thread,
        tenant=tenant,
        accept_plain=accept_plain,
        on_warning=warn,
    )
    put_json(_as_json(built) if as_json else built.body, default=_base64)
    for entry in built.report if report else ():
        reason = f" ({entry.reason})" if entry.reason else ""
        put(f"{entry.outcome}{reason}: {entry.unit}", file=sys.stderr)


def _read(file: str) -> Any:
    messages = load(read_file(file).decode(errors="replace"))
    if isinstance(messages, Malformed) or not isinstance(messages, dict | list):
        raise RemoteProtocolError(
            "The file is neither a JSON object nor a JSON array.",
            code="bad_input",
            hint="Pass a RunAgentInput, or an array of its messages.",
        )
    return messages


def _base64(value: bytes) -> str:
    """Write bytes as the API itself writes them in JSON; SDKs take them as they are."""
    return b64encode(value).decode()


def _as_json(built: ProviderRequest) -> dict[str, Any]:
    return {
        "body": built.body,
        "flags": [flag.model_dump(mode="json") for flag in built.flags],
        "report": to_builtins(built.report),
    }
