"""Ollama's own API."""

from agui_reasoning.providers.api import CallIds, ProviderAPI

__all__ = ["API"]

API = ProviderAPI(
    id="ollama",
    title="Ollama",
    package=__name__,
    vendor="ollama",
    decoder="decode:OllamaDecoder",
    encoder=None,
    transcript="transcript:TRANSCRIPT",
    strategy=None,
    example=("ollama", "qwen3:4b"),
    call_ids=CallIds(),
    conversation_fields=frozenset({"messages"}),
    native_kinds=(),
    signature_kinds={},
    redacted_kinds=frozenset(),
    group_kinds=(),
    hosts_models=False,
    stores=False,
    http=None,
    scripts=(),
)
