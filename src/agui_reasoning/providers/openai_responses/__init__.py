"""OpenAI Responses, and the vendors that use its format."""

from agui_reasoning.providers.api import CallIds, HTTPEndpoint, ProviderAPI

__all__ = ["API"]

API = ProviderAPI(
    id="openai-responses",
    title="OpenAI Responses",
    package=__name__,
    vendor="openai",
    decoder="decode:OpenAIResponsesDecoder",
    encoder="encode:encode",
    transcript="transcript:TRANSCRIPT",
    strategy="strategies:responses_turns",
    example=("openai", "gpt-5.6"),
    call_ids=CallIds(longest=64),
    conversation_fields=frozenset({"input", "instructions", "previous_response_id", "conversation"}),
    echo_fields=("items",),
    native_kinds=("openai.",),
    signature_kinds={
        "openai": "openai.encrypted_content",
        "azure": "openai.encrypted_content",
        "xai": "xai.encrypted_content",
    },
    redacted_kinds=frozenset(),
    group_kinds=("openai.encrypted_content",),
    hosts_models=True,
    stores=True,
    http=HTTPEndpoint(path="/responses", base="/v1", named_events=True),
    scripts=("openai-weather",),
)
