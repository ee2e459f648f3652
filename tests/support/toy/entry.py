"""The toy, as an entry of `agui_reasoning.providers._apis`."""

import re

from agui_reasoning.providers.api import NOTHING_WRITTEN, CallIds, HTTPEndpoint, ProviderAPI

TOY = ProviderAPI(
    id="toy",
    title="Toy Turns",
    vendor="toymaker",
    decoder="tests.support.toy.api:ToyDecoder",
    encoder="tests.support.toy.api:encode",
    example=("toymaker", "toy-1"),
    signs=({"type": re.compile("think|say|call|end")}, {"turns": list}),
    call_ids=CallIds(longest=12),
    conversation_fields=frozenset({"turns"}),
    echo_fields=("blocks",),
    native_kinds=("toy.",),
    plain=NOTHING_WRITTEN,
    json_fields=frozenset(),
    signature_kinds={"toymaker": "toy.seal"},
    http=HTTPEndpoint(path="/turns", key_header="x-toy-key", key_prefix=""),
)
