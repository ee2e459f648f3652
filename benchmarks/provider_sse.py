"""Provider bytes to AG-UI bytes: reading the frames included."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Final

from agui_reasoning.providers.registry import provider_api
from agui_reasoning.wire import SSEFrames
from benchmarks.harness import Effort, Figure, Path, at_least, faster
from benchmarks.produce import adapt, serve_payloads
from benchmarks.streams import STREAMS, ProviderStream, sse_frames
from benchmarks.texts import pieces

__all__ = ["PATH"]

_READ: Final = 4096


def _payloads(reads: Sequence[bytes]) -> Iterator[str]:
    """Yield the text of payloads, which decoders parse, as the gateway does."""
    return chain.from_iterable(map(SSEFrames().feed, reads))


def _serve(api: str, stream: ProviderStream, reads: Sequence[bytes]) -> int:
    return serve_payloads(api, stream, _payloads(reads))


def _measure(effort: Effort) -> Iterator[Figure]:
    texts = pieces(effort.size(20_000))
    theirs = adapt(texts)
    for api, stream in STREAMS.items():
        http = provider_api(api).http
        if http is None or http.framing != "sse":
            continue
        reads = sse_frames(stream, stream.payloads(texts))
        joined = b"".join(reads)
        blocks = [joined[start : start + _READ] for start in range(0, len(joined), _READ)]
        yield faster(
            f"{api}, frame by frame", partial(_serve, api, stream, reads), theirs, effort, at_least(5)
        )
        yield faster(f"{api}, 4 KiB reads", partial(_serve, api, stream, blocks), theirs, effort, at_least(7))


PATH = Path(
    "Provider SSE bytes → AG-UI bytes, a whole run: times as fast as pydantic-ai's adapter alone",
    _measure,
)
