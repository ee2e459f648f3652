"""Ollama's own API."""

from agui_reasoning.providers.api import NOTHING_WRITTEN, CallIds, HTTPEndpoint, ProviderAPI

__all__ = ["API"]

API = ProviderAPI(
    id="ollama",
    title="Ollama",
    package=__name__,
    vendor="ollama",
    decoder="decode:OllamaDecoder",
    encoder="encode:encode",
    transcript="transcript:TRANSCRIPT",
    strategy="strategies:ollama_turns",
    example=("ollama", "qwen3:4b"),
    call_ids=CallIds(),
    conversation_fields=frozenset({"messages"}),
    echo_fields=("thinking",),
    native_kinds=(),
    plain=NOTHING_WRITTEN,
    json_fields=frozenset({"arguments"}),
    signature_kinds={},
    redacted_kinds=frozenset(),
    group_kinds=(),
    hosts_models=False,
    stores=False,
    http=HTTPEndpoint(path="/api/chat", framing="json-lines"),
    scripts=("ollama-weather",),
)
