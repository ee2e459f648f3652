"""Cohere's Chat API, version 2."""

from agui_reasoning.providers.api import NOTHING_WRITTEN, CallIds, HTTPEndpoint, ProviderAPI

__all__ = ["API"]

API = ProviderAPI(
    id="cohere-chat",
    title="Cohere Chat v2",
    package=__name__,
    vendor="cohere",
    decoder="decode:CohereChatDecoder",
    encoder="encode:encode",
    transcript="transcript:TRANSCRIPT",
    strategy="strategies:cohere_turns",
    example=("cohere", "command-a-reasoning-08-2025"),
    call_ids=CallIds(),
    conversation_fields=frozenset({"messages"}),
    echo_fields=("blocks", "tool_plan"),
    native_kinds=("cohere.",),
    plain=NOTHING_WRITTEN,
    json_fields=frozenset({"arguments"}),
    signature_kinds={},
    redacted_kinds=frozenset(),
    group_kinds=(),
    hosts_models=False,
    stores=False,
    http=HTTPEndpoint(path="/v2/chat", named_events=True),
    scripts=("cohere-weather",),
)
