"""The decoders of all APIs, and the readers of bytes: fast paths and full ones, whole input and pieces."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any

from agui_reasoning import (
    AGUIReasoningError,
    DecodeError,
    ProviderError,
    check_events,
    reduce_events,
    stream_run,
)
from agui_reasoning.compat import ThinkingDowngrader, ThinkingUpgrader, translate
from agui_reasoning.gateway import FRAMINGS
from agui_reasoning.parts import Part
from agui_reasoning.providers import decode_response, decoder, provider_api, provider_apis
from agui_reasoning.providers.base import Decoder
from agui_reasoning.wire import SSEDecoder, SSEEncoder, SSEFrames, iter_events, read_events, read_payloads
from tests.internals import fast_path
from tests.support.consumed import assert_same_without_fast_path
from tests.support.full_reading import reading
from tests.support.fuzz.clients import requested
from tests.support.fuzz.inputs import KEYS, Exchange, emitted, exchanges, ignore, recorded, threads
from tests.support.fuzz.mutator import Json, Mutator
from tests.support.fuzz.target import Case, DifferenceError, Target, chosen
from tests.support.served import RUN_INPUT, encoded, options

__all__ = ["TARGETS"]

STOP, TEXT, WHOLE = 1, 2, 4
"""Stop at the first error; payloads are JSON text; a whole response."""

VISIBILITIES = ("full", "summary", "hidden", "full")

# -- decoders


@cache
def _streams(api: str) -> Sequence[Exchange]:
    return [one for one in _exchanges(api) if one.payloads]


@cache
def _wholes(api: str) -> Sequence[Exchange]:
    return [one for one in _exchanges(api) if one.whole is not None]


def _exchanges(api: str) -> Iterator[Exchange]:
    yield from (one for one in exchanges() if one.api == api)
    yield from recorded(api)


def _draw(chance: random.Random, mutator: Mutator, *, api: str, around: int = 4) -> Case:
    options = chance.randrange(4)
    if chance.random() < 0.25 and _wholes(api):
        exchange = chance.choice(_wholes(api))
        return Case(mutator.some(exchange.whole), options | WHOLE, _sender(exchange))
    exchange = chance.choice(_streams(api))
    return Case(_stretch(chance, mutator, exchange.payloads, around), options, _sender(exchange))


def _sender(exchange: Exchange) -> Json:
    return {"api": exchange.api, **exchange.sender}


def _stretch(chance: random.Random, mutator: Mutator, payloads: Sequence[Any], around: int) -> list[Any]:
    """The beginning of a stream and a few payloads of it, some changed, in their place or after it."""
    place = chance.randrange(len(payloads))
    begins = min(place, around - 1)
    stretch = [*payloads[:begins], *payloads[max(begins, place - 1) : place + around]]
    for _ in range(chance.choice((1, 1, 2))):
        at = chance.randrange(len(stretch))
        stretch[at : at + chance.randrange(2)] = [mutator.some(stretch[at])]
    return stretch


def _read(case: Case) -> None:
    """Decode payloads with and without the fast path."""
    if case.has(WHOLE):
        _decoded_whole(case)
        return
    payloads = list(map(_text_of, case.given)) if case.has(TEXT) else case.given
    fast = _deltas(decoder(**case.of), payloads, stop=case.has(STOP))
    full = _deltas(reading(decoder(**case.of)), payloads, stop=case.has(STOP))
    if fast != full and repr(fast) != repr(full):
        raise DifferenceError(f"fast {fast!r}, full {full!r}")


def _decoded_whole(case: Case) -> list[Part]:
    return decode_response(response=case.given, **case.of)


def _text_of(payload: Any) -> Any:
    try:
        return json.dumps(payload)
    except (TypeError, ValueError, RecursionError):
        return payload


def _deltas(machine: Decoder, payloads: Sequence[Any], *, stop: bool) -> list[Any]:
    """What a decoder says: deltas, codes of errors, warnings."""
    said: list[Any] = []
    for step in (*(partial(machine.receive, payload) for payload in payloads), machine.close):
        try:
            said += step()
        except (DecodeError, ProviderError) as error:
            said += [error.code, *error.deltas]
            if stop:
                break
    return [*said, *machine.warnings]


# -- decoded, and on through the loop


def _draw_loop(chance: random.Random, mutator: Mutator) -> Case:
    case = _draw(chance, mutator, api=chance.choice(list(APIS)), around=12)
    return Case(case.given, case.options | chance.randrange(64) << 3, case.of)


def _loop(case: Case) -> None:
    """Go on with what is decoded: to the client, and back to the provider."""
    rest = case.options >> 3
    if rest % 4 == 0 and not case.has(WHOLE):
        _served(case)
        return
    exchange = Exchange(case.of["api"], case.of["provider"], case.of["model"], (), None)
    items = _decoded_whole(case) if case.has(WHOLE) else _only_deltas(case)
    how: Json = {"keys": KEYS if rest & 4 else None, "visibility": VISIBILITIES[rest >> 3 & 3]}
    if rest % 4 == 1:
        _emitted(items, how)
        return
    events = emitted(exchange, items, **how)
    if rest % 4 == 2:
        assert_same_without_fast_path(events)
        return
    check_events(events)
    requested(rest, reduce_events(events), keys=how["keys"], thread_id="t")


def _only_deltas(case: Case) -> list[Any]:
    found = _deltas(decoder(**case.of), case.given, stop=case.has(STOP))
    return [one for one in found if not isinstance(one, str)]


def _served(case: Case) -> None:
    """Payloads become frames at once, or events that are encoded one by one: the same bytes."""
    frames = stream_run(RUN_INPUT, case.given, **options(), **case.of).frames()
    events = stream_run(RUN_INPUT, case.given, **options(), **case.of)
    if b"".join(frames) != encoded(events):
        raise DifferenceError("the frames of a run are not its events")


def _emitted(items: list[Any], how: Json) -> None:
    """Emit with the fast path, without it, and as frames."""
    make = partial(dict, how)
    full = fast_path.emit(items, make, fast=False)
    fast = fast_path.emit(items, make, fast=True)
    framed = fast_path.emit(items, make, fast=True, frames=True)
    for one in (fast, framed):
        if (one.steps, one.produced, one.records) != (full.steps, full.produced, full.records):
            raise DifferenceError("the fast path of the emitter is not its full path")


# -- readers of bytes


def _draw_bytes(chance: random.Random, mutator: Mutator, *, streams: Callable[[], Sequence[bytes]]) -> Case:
    return Case(mutator.bytes(chance.choice(streams())), chance.randrange(1 << 16))


@cache
def _of_events() -> Sequence[bytes]:
    """The beginnings of runs, as Server-Sent Events."""
    return [b"".join(map(SSEEncoder().encode, thread.events[:8])) for thread in threads()]


@cache
def _of_log() -> Sequence[bytes]:
    """The same as JSON lines, as an array, and as Server-Sent Events with other ends of lines."""
    dumped = [[json.dumps(event).encode() for event in thread.events[:8]] for thread in threads()]
    lines = [b"\n".join(events) for events in dumped]
    arrays = [b"[%b]" % b",\n".join(events) for events in dumped]
    return [*lines, *arrays, *_of_events(), *(data.replace(b"\n", b"\r\n") for data in _of_events())]


@cache
def _of_framing(name: Any) -> Sequence[bytes]:
    """Own streams of every API with a framing."""
    written: list[bytes] = []
    for exchange in exchanges():
        http = provider_api(exchange.api).http
        if http is not None and exchange.payloads:
            events = [{"data": payload} for payload in exchange.payloads[:6]]
            if name == "aws-event-stream":
                events = [event for event in events if len(event["data"]) == 1]
            written.append(b"".join(FRAMINGS[name].write(http, event) for event in events))
    return [one for one in written if one]


def _pieces(case: Case) -> list[bytes]:
    """The bytes in a few pieces, or in single bytes."""
    data: bytes = case.given
    if case.options % 8 == 0 and len(data) < 2000:
        return [data[at : at + 1] for at in range(len(data))]
    chance = random.Random(case.options)
    places = sorted(chance.randrange(len(data) + 1) for _ in range(5))
    return [data[at:end] for at, end in zip([0, *places], [*places, len(data)], strict=True)]


def _split(case: Case, *, reader: Callable[[], Any]) -> None:
    """Read bytes in one piece and in several: both give the same."""
    whole, pieces = _fed(reader(), [case.given]), _fed(reader(), _pieces(case))
    if whole != pieces:
        raise DifferenceError(f"whole {whole!r}, in pieces {pieces!r}")


def _fed(reader: Any, pieces: Sequence[bytes]) -> tuple[list[Any], str | None]:
    """What a reader gives before it fails, and why it does."""
    found: list[Any] = []
    try:
        for piece in pieces:
            found += reader.feed(piece)
        found += reader.close()
    except AGUIReasoningError as error:
        return found, error.code
    return found, None


def _sse(case: Case) -> None:
    _split(case, reader=partial(SSEFrames, 200) if case.options % 5 == 0 else SSEDecoder)


def _log(case: Case) -> None:
    """Read what a file holds."""
    chosen(
        case,
        lambda: read_events(case.given),
        lambda: read_payloads(case.given),
        lambda: list(iter_events(case.given)),
        lambda: list(translate(read_events(case.given), ThinkingUpgrader(ignore))),
        lambda: list(translate(read_events(case.given), ThinkingDowngrader(on_warning=ignore))),
    )


def _frames(case: Case, *, name: Any) -> None:
    _split(case, reader=FRAMINGS[name].reader)


APIS = tuple(api.id for api in provider_apis())


def _readers() -> Iterator[Target]:
    yield Target("sse", partial(_draw_bytes, streams=_of_events), _sse, is_binary=True)
    yield Target("log", partial(_draw_bytes, streams=_of_log), _log, is_binary=True)
    for name in FRAMINGS:
        streams = partial(_of_framing, name)
        run = partial(_frames, name=name)
        yield Target(f"framing-{name}", partial(_draw_bytes, streams=streams), run, is_binary=True)


TARGETS = (
    *(Target(api, partial(_draw, api=api), _read) for api in APIS),
    *_readers(),
    Target("loop", _draw_loop, _loop, pace=10),
)
