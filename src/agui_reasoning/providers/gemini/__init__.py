"""Gemini's ``generateContent``."""

from agui_reasoning.providers.api import CallIds, ProviderAPI

__all__ = ["API"]

API = ProviderAPI(
    id="gemini",
    title="Gemini generateContent",
    package=__name__,
    vendor="google",
    decoder="decode:GeminiDecoder",
    encoder="encode:encode",
    transcript="transcript:TRANSCRIPT",
    strategy="strategies:gemini_turns",
    example=("google", "gemini-3-flash-preview"),
    call_ids=CallIds(),
    conversation_fields=frozenset({"contents", "config"}),
    native_kinds=("gemini.",),
    signature_kinds={"google": "gemini.thought_signature"},
    redacted_kinds=frozenset(),
    group_kinds=(),
    hosts_models=False,
    stores=False,
    http=None,
    scripts=(),
)
