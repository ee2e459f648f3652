"""Anthropic Messages."""

import re

from agui_reasoning.providers.api import CallIds, Fields, HTTPEndpoint, PlainValues, ProviderAPI

__all__ = ["API"]

_RESULTS = (
    *("web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result"),
    *("bash_code_execution_tool_result", "text_editor_code_execution_tool_result"),
    *("tool_search_tool_result", "advisor_tool_result", "mcp_tool_result"),
)

_CITATION = frozenset(
    {
        *("type", "cited_text", "document_index", "document_title", "start_char_index", "end_char_index"),
        *("start_page_number", "end_page_number", "start_block_index", "end_block_index", "url", "title"),
        *("encrypted_index", "search_result_index", "source", "file_id"),
    }
)

_FAMILIES = "claude|deepseek|kimi|minimax|glm|qwen|mimo|gpt|gemini|grok"
_MODEL_VENDOR = re.compile(rf"^(?:.*?(?={_FAMILIES}))?({_FAMILIES}|[^/]*(?=/))")
"""The family in the name of a model, which hosts name in several ways; else what precedes the slash."""

# Every model, platform and compatible endpoint accepts this version. 2026-10-21, which Anthropic's SDK sends
# from 2.0 on, adds nothing to Messages: it refuses sampling parameters, documents in messages of the model,
# and citations in those of the user. Bedrock has it for Claude 4.7 and later only (platform.claude.com, API
# versions, 2026-11-22). What the encoder writes is valid in both.
_VERSION = {"anthropic-version": "2023-06-01"}

API = ProviderAPI(
    id="anthropic-messages",
    title="Anthropic Messages",
    package=__name__,
    vendor="anthropic",
    decoder="decode:AnthropicMessagesDecoder",
    encoder="encode:encode",
    transcript="transcript:TRANSCRIPT",
    strategy="strategies:anthropic_turns",
    example=("anthropic", "claude-sonnet-5"),
    call_ids=CallIds(re.compile(r"[a-zA-Z0-9_-]"), 128),
    conversation_fields=frozenset({"messages", "system"}),
    echo_fields=("blocks", "redacted_thinking"),
    native_kinds=("anthropic.",),
    plain=PlainValues(
        natives={
            "compaction": Fields("type content encrypted_content signature", empty="tool_changes"),
            "fallback": Fields("type from to trigger"),
        },
        results=dict.fromkeys(_RESULTS, Fields("type tool_use_id content caller is_error")),
        members={
            "caller": frozenset({"type", "tool_id"}),
            "citations": _CITATION,
            "server_name": None,
        },
    ),
    json_fields=frozenset({"input"}),
    signature_kinds={"anthropic": "anthropic.signature"},
    redacted_kinds=frozenset({"anthropic.redacted_thinking"}),
    group_kinds=("anthropic.signature",),
    hosts_models=True,
    model_vendor=_MODEL_VENDOR,
    stores=False,
    threads=True,
    http=HTTPEndpoint(
        path="/v1/messages",
        key_header="x-api-key",
        key_prefix="",
        headers=_VERSION,
        # Thoughts and an answer of several pages.
        defaults={"max_tokens": 16_384},
        named_events=True,
    ),
    # The path of Vertex AI contains project and location, which are part of the base URL.
    http_of={
        "google-vertex": HTTPEndpoint(
            path="/models/{model}:streamRawPredict",
            defaults={"anthropic_version": "vertex-2023-10-16", "max_tokens": 16_384, "stream": True},
            named_events=True,
            signing="google",
        ),
        # InvokeModelWithResponseStream.
        "bedrock": HTTPEndpoint(
            path="/model/{model}/invoke-with-response-stream",
            defaults={"anthropic_version": "bedrock-2023-05-31", "max_tokens": 16_384},
            framing="aws-chunks",
            signing="aws-sigv4",
            betas="anthropic_beta",
        ),
        "bedrock-mantle": HTTPEndpoint(
            path="/v1/messages",
            headers=_VERSION,
            defaults={"max_tokens": 16_384},
            named_events=True,
            signing="aws-sigv4",
            aws_service="bedrock-mantle",
        ),
    },
    scripts=("anthropic-weather",),
)
