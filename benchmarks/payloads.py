"""Provider payloads to AG-UI bytes, for every API."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from benchmarks.harness import Effort, Figure, Path, at_least, faster
from benchmarks.produce import adapt, serve_payloads
from benchmarks.streams import STREAMS, Payload, ProviderStream, parsed
from benchmarks.texts import pieces

__all__ = ["PATH"]


def _measure(effort: Effort) -> Iterator[Figure]:
    texts = pieces(effort.size(20_000))
    theirs = adapt(texts)
    for api, stream in STREAMS.items():
        ours = partial(_serve, api, stream, parsed(stream.payloads(texts)))
        yield faster(api, ours, theirs, effort, at_least(10))


def _serve(api: str, stream: ProviderStream, source: Callable[[], Iterator[Payload]]) -> int:
    return serve_payloads(api, stream, source())


PATH = Path(
    "Payload dicts, just parsed → AG-UI bytes, a whole run: times as fast as pydantic-ai's adapter alone",
    _measure,
    "Turning a model's payloads into AG-UI bytes is {low} to {high} times as fast as pydantic-ai's adapter.",
)
