"""Gemini Interactions."""

from agui_reasoning.providers.api import CallIds, HTTPEndpoint, ProviderAPI

__all__ = ["API"]

API = ProviderAPI(
    id="gemini-interactions",
    title="Gemini Interactions",
    package=__name__,
    vendor="google",
    decoder="decode:GeminiInteractionsDecoder",
    encoder="encode:encode",
    transcript="transcript:TRANSCRIPT",
    strategy="strategies:interactions_turns",
    example=("google", "gemini-3-flash-preview"),
    call_ids=CallIds(),
    conversation_fields=frozenset({"input", "system_instruction", "previous_interaction_id"}),
    echo_fields=("blocks",),
    native_kinds=("gemini.",),
    signature_kinds={},
    redacted_kinds=frozenset(),
    group_kinds=(),
    hosts_models=False,
    stores=True,
    previous_id="previous_interaction_id",
    http=HTTPEndpoint(
        path="/v1beta/interactions", key_header="x-goog-api-key", key_prefix="", named_events=True
    ),
    scripts=("interactions-weather",),
)
