"""Gemini Interactions."""

from agui_reasoning.providers.api import CallIds, ProviderAPI

__all__ = ["API"]

API = ProviderAPI(
    id="gemini-interactions",
    title="Gemini Interactions",
    package=__name__,
    vendor="google",
    decoder="decode:GeminiInteractionsDecoder",
    encoder=None,
    transcript="transcript:TRANSCRIPT",
    strategy=None,
    example=("google", "gemini-3-flash-preview"),
    call_ids=CallIds(),
    conversation_fields=frozenset({"input", "system_instruction", "previous_interaction_id"}),
    native_kinds=("gemini.",),
    signature_kinds={},
    redacted_kinds=frozenset(),
    group_kinds=(),
    hosts_models=False,
    stores=False,
    http=None,
    scripts=(),
)
