"""OpenAI Chat Completions, and compatible APIs."""

from agui_reasoning.providers.api import NOTHING_WRITTEN, CallIds, HTTPEndpoint, ProviderAPI

__all__ = ["API"]

API = ProviderAPI(
    id="openai-chat",
    title="Chat Completions",
    package=__name__,
    vendor=None,
    decoder="decode:OpenAIChatDecoder",
    encoder="encode:encode",
    transcript="transcript:TRANSCRIPT",
    strategy="strategies:chat_turns",
    example=("deepseek", "deepseek-v4-pro"),
    call_ids=CallIds(),
    conversation_fields=frozenset({"messages"}),
    echo_fields=(
        "reasoning_content",
        "reasoning",
        "reasoning_text",
        "received",
        "reasoning_details",
        "content_tags",
        "content_blocks",
        "thinking_blocks",
        "signed_blocks",
        "reasoning_items",
        "tool_calls",
    ),
    native_kinds=("openrouter.",),
    plain=NOTHING_WRITTEN,
    json_fields=frozenset({"arguments", "input"}),
    signature_kinds={},
    redacted_kinds=frozenset({"openrouter.encrypted"}),
    group_kinds=(),
    hosts_models=True,
    stores=False,
    http=HTTPEndpoint(path="/chat/completions", base="/v1"),
    http_of={"google-vertex": HTTPEndpoint(path="/chat/completions", base="/v1", signing="google")},
    scripts=("chat-weather",),
)
