"""xAI's gRPC chat, in the JSON form of its messages."""

from agui_reasoning.providers.api import CallIds, Fields, PlainValues, ProviderAPI

__all__ = ["API"]

_OUTPUT = Fields("role content encrypted_content tool_calls citations")

API = ProviderAPI(
    id="xai-grpc",
    title="xAI gRPC chat",
    package=__name__,
    vendor="xai",
    decoder="decode:XAIDecoder",
    encoder="encode:encode",
    transcript="transcript:TRANSCRIPT",
    strategy="strategies:xai_turns",
    example=("xai", "grok-4-fast-reasoning"),
    call_ids=CallIds(),
    conversation_fields=frozenset({"messages"}),
    echo_fields=("messages",),
    native_kinds=("xai.",),
    plain=PlainValues(natives={"tool_output": _OUTPUT}, results={"role": _OUTPUT}),
    json_fields=frozenset(),
    signature_kinds={},
    redacted_kinds=frozenset(),
    group_kinds=(),
    hosts_models=False,
    stores=False,
    http=None,
    upstream="XAIUpstream",
    instead="Use `XAIUpstream`, which asks through xai-sdk.",
    scripts=("xai-weather",),
)
