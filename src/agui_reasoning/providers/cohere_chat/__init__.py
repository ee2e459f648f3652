"""Cohere's Chat API, version 2."""

from agui_reasoning.providers.api import CallIds, ProviderAPI

__all__ = ["API"]

API = ProviderAPI(
    id="cohere-chat",
    title="Cohere Chat v2",
    package=__name__,
    vendor="cohere",
    decoder="decode:CohereChatDecoder",
    encoder=None,
    transcript="transcript:TRANSCRIPT",
    strategy=None,
    example=("cohere", "command-a-reasoning-08-2025"),
    call_ids=CallIds(),
    conversation_fields=frozenset({"messages"}),
    native_kinds=("cohere.",),
    signature_kinds={},
    redacted_kinds=frozenset(),
    group_kinds=(),
    hosts_models=False,
    stores=False,
    http=None,
    scripts=(),
)
