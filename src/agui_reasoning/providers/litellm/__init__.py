"""LiteLLM's SDK: Chat Completions for every upstream, with additional fields."""

from agui_reasoning.providers.api import CallIds, ProviderAPI
from agui_reasoning.providers.openai_chat import API as OPENAI_CHAT

__all__ = ["API"]

API = ProviderAPI(
    id="litellm",
    title="LiteLLM",
    package=__name__,
    vendor=None,
    decoder="decode:LiteLLMDecoder",
    encoder="encode:encode",
    transcript="transcript:TRANSCRIPT",
    strategy="strategies:litellm_turns",
    example=("anthropic", "anthropic/claude-sonnet-4-6"),
    call_ids=CallIds(),
    conversation_fields=frozenset({"messages"}),
    echo_fields=OPENAI_CHAT.echo_fields,
    native_kinds=("openrouter.",),
    plain=OPENAI_CHAT.plain,
    json_fields=frozenset({"arguments", "input"}),
    signature_kinds={},
    redacted_kinds=frozenset({"openrouter.encrypted"}),
    group_kinds=(),
    hosts_models=False,
    stores=False,
    http=None,
    instead="It is a Python SDK without an endpoint. Serve LiteLLM's proxy: provider litellm, with the API "
    "openai-chat, openai-responses or anthropic-messages.",
    scripts=("litellm-weather",),
)
