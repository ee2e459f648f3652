"""Define a wire format in one folder: everything that a new provider needs.

A stream is ``{"t": "think" | "say" | "call" | "end" | "error", …}``; a request is a list of ``turns``.
"""

from agui_reasoning.providers.api import NOTHING_WRITTEN, CallIds, HTTPEndpoint, ProviderAPI

__all__ = ["API"]

API = ProviderAPI(
    id="toy",
    title="Toy Turns",
    package=__name__,
    vendor="toymaker",
    decoder="decode:ToyDecoder",
    encoder="encode:encode",
    transcript="transcript:TRANSCRIPT",
    strategy=None,
    example=("toymaker", "toy-1"),
    call_ids=CallIds(longest=12),
    conversation_fields=frozenset({"turns"}),
    echo_fields=("blocks",),
    native_kinds=("toy.",),
    plain=NOTHING_WRITTEN,
    json_fields=frozenset(),
    signature_kinds={"toymaker": "toy.seal"},
    redacted_kinds=frozenset(),
    group_kinds=(),
    hosts_models=False,
    stores=False,
    http=HTTPEndpoint(path="/turns", key_header="x-toy-key", key_prefix=""),
    scripts=("toy-weather",),
)
