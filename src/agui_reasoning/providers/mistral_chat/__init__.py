"""Mistral's Chat Completions."""

import re

from agui_reasoning.providers.api import CallIds, Fields, HTTPEndpoint, PlainValues, ProviderAPI

__all__ = ["API"]

API = ProviderAPI(
    id="mistral-chat",
    title="Mistral Chat",
    package=__name__,
    vendor="mistral",
    decoder="decode:MistralChatDecoder",
    encoder="encode:encode",
    transcript="transcript:TRANSCRIPT",
    strategy="strategies:mistral_turns",
    example=("mistral", "mistral-small-latest"),
    call_ids=CallIds(re.compile(r"[a-zA-Z0-9]"), 9, exact=True),
    conversation_fields=frozenset({"messages"}),
    echo_fields=("blocks",),
    native_kinds=("mistral.",),
    plain=PlainValues(
        natives={
            "reference": Fields("type reference_ids"),
            "tool_reference": Fields("type tool title url favicon description"),
        },
        members={"references": frozenset({"type", "reference_ids"})},
    ),
    json_fields=frozenset({"arguments"}),
    signature_kinds={"mistral": "mistral.signature"},
    redacted_kinds=frozenset(),
    group_kinds=(),
    hosts_models=False,
    stores=False,
    http=HTTPEndpoint(path="/v1/chat/completions"),
    scripts=("mistral-weather",),
)
