"""The wire formats of this package, in display order. Their modules are imported on first use."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from agui_reasoning.providers.api import (
    NOTHING_WRITTEN,
    CallIds,
    Fields,
    HTTPEndpoint,
    PlainValues,
    ProviderAPI,
)

_HERE: Final = __name__

_CLAUDE_RESULTS = (
    *("web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result"),
    *("bash_code_execution_tool_result", "text_editor_code_execution_tool_result"),
    *("tool_search_tool_result", "advisor_tool_result", "mcp_tool_result"),
)

_CLAUDE_CITATION = frozenset(
    {
        *("type", "cited_text", "document_index", "document_title", "start_char_index", "end_char_index"),
        *("start_page_number", "end_page_number", "start_block_index", "end_block_index", "url", "title"),
        *("encrypted_index", "search_result_index", "source", "file_id"),
    }
)

_MODEL_FAMILIES = "claude|deepseek|kimi|minimax|glm|qwen|mimo|gpt|gemini|grok"
_HOSTED_VENDOR = re.compile(rf"^(?:.*?(?={_MODEL_FAMILIES}))?({_MODEL_FAMILIES}|[^/]*(?=/))")
"""The family in the name of a model, which hosts name in several ways; else what precedes the slash."""

# Every model, platform and compatible endpoint accepts this version. 2026-10-21, which Anthropic's SDK sends
# from 2.0 on, adds nothing to Messages: it refuses sampling parameters, documents in messages of the model,
# and citations in those of the user. Bedrock has it for Claude 4.7 and later only (platform.claude.com, API
# versions, 2026-11-22). What the encoder writes is valid in both.
_CLAUDE_VERSION = {"anthropic-version": "2023-06-01"}

ANTHROPIC_MESSAGES: Final = ProviderAPI(
    id="anthropic-messages",
    title="Anthropic Messages",
    vendor="anthropic",
    decoder=f"{_HERE}.anthropic_messages.decode:AnthropicMessagesDecoder",
    encoder=f"{_HERE}.anthropic_messages.encode:encode",
    example=("anthropic", "claude-sonnet-5"),
    signs=(
        {"type": re.compile(r"message_(start|delta|stop)|content_block_(start|delta|stop)")},
        {"type": re.compile("message"), "content": list},
        {"content": list, "stop_reason": object},
        {"content": list, "role": re.compile("assistant")},
    ),
    call_ids=CallIds(re.compile(r"[a-zA-Z0-9_-]"), 128),
    conversation_fields=frozenset({"messages", "system"}),
    echo_fields=("blocks", "redacted_thinking"),
    native_kinds=("anthropic.",),
    plain=PlainValues(
        natives={
            "compaction": Fields("type content encrypted_content signature", empty="tool_changes"),
            "fallback": Fields("type from to trigger"),
        },
        results=dict.fromkeys(_CLAUDE_RESULTS, Fields("type tool_use_id content caller is_error")),
        members={
            "caller": frozenset({"type", "tool_id"}),
            "citations": _CLAUDE_CITATION,
            "server_name": None,
        },
    ),
    json_fields=frozenset({"input"}),
    signature_kinds={"anthropic": "anthropic.signature"},
    redacted_kinds=frozenset({"anthropic.redacted_thinking"}),
    group_kinds=("anthropic.signature",),
    hosts_models=True,
    model_vendor=_HOSTED_VENDOR,
    threads=True,
    http=HTTPEndpoint(
        path="/v1/messages",
        key_header="x-api-key",
        key_prefix="",
        headers=_CLAUDE_VERSION,
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
            headers=_CLAUDE_VERSION,
            defaults={"max_tokens": 16_384},
            named_events=True,
            signing="aws-sigv4",
            aws_service="bedrock-mantle",
        ),
    },
)

_ITEM = "type id status created_by agent"
_ITEMS = {
    "compaction": Fields(_ITEM, content="encrypted_content"),
    "message": Fields(f"{_ITEM} role phase", content="content"),
    "reasoning": Fields(f"{_ITEM} summary content", content="summary content encrypted_content"),
    "agent_message": Fields(f"{_ITEM} author recipient", content="content"),
    "multi_agent_call": Fields(f"{_ITEM} call_id", content="action arguments"),
    "multi_agent_call_output": Fields(f"{_ITEM} call_id", content="action output"),
    "mcp_list_tools": Fields(f"{_ITEM} server_label", content="tools error"),
    "mcp_approval_request": Fields(f"{_ITEM} server_label", content="name arguments"),
    "program": Fields(f"{_ITEM} call_id fingerprint", content="code"),
    "program_output": Fields(f"{_ITEM} call_id", content="result"),
    "tool_search_output": Fields(f"{_ITEM} call_id execution", content="tools"),
}
_ITEMS_OF_SERVERS = {
    "web_search_call": Fields(f"{_ITEM} results", content="action"),
    "file_search_call": Fields(_ITEM, content="queries results"),
    "code_interpreter_call": Fields(f"{_ITEM} container_id", content="code outputs"),
    "image_generation_call": Fields(
        f"{_ITEM} action background error output_format quality revised_prompt size svg_usage",
        content="result",
    ),
    "mcp_call": Fields(f"{_ITEM} arguments output error server_label approval_request_id", content="name"),
    "tool_search_call": Fields(f"{_ITEM} call_id", content="arguments execution"),
    "shell_call_output": Fields(f"{_ITEM} call_id caller max_output_length", content="output"),
    **dict.fromkeys(
        ("custom_tool_call", "x_search_call", "code_execution_call", "view_image_call", "view_x_video_call"),
        Fields(f"{_ITEM} call_id", content="action arguments code input name output outputs results"),
    ),
}
"""What the vendors' servers return of their own tools. Items with a container name a stored object."""

OPENAI_RESPONSES: Final = ProviderAPI(
    id="openai-responses",
    title="OpenAI Responses",
    vendor="openai",
    decoder=f"{_HERE}.openai_responses.decode:OpenAIResponsesDecoder",
    encoder=f"{_HERE}.openai_responses.encode:encode",
    example=("openai", "gpt-5.6"),
    signs=(
        {"type": re.compile(r"response\..*")},
        {"object": re.compile(r"response(\..*)?")},
        {"output": list},
    ),
    call_ids=CallIds(longest=64),
    conversation_fields=frozenset({"input", "instructions", "previous_response_id", "conversation"}),
    echo_fields=("items", "tool_calls"),
    native_kinds=("openai.",),
    plain=PlainValues(
        natives=_ITEMS,
        results=_ITEMS_OF_SERVERS,
        members={
            **dict.fromkeys(("created_by", "execution", "format", "max_output_length", "namespace")),
            "annotations": frozenset(
                {
                    *("type", "url", "title", "start_index", "end_index"),
                    *("container_id", "file_id", "filename", "index"),
                }
            ),
            "agent": frozenset({"agent_name"}),
            "caller": frozenset({"type", "caller_id"}),
            "content_types": frozenset({"type"}),
            "environment": frozenset({"type"}),
            "pending_safety_checks": frozenset({"id", "code", "message"}),
        },
    ),
    json_fields=frozenset({"arguments", "input_schema", "parameters", "env"}),
    signature_kinds={
        "openai": "openai.encrypted_content",
        "azure": "openai.encrypted_content",
        "xai": "xai.encrypted_content",
    },
    group_kinds=("openai.encrypted_content",),
    hosts_models=True,
    stores=True,
    http=HTTPEndpoint(path="/responses", base="/v1", named_events=True),
)

OPENAI_CHAT: Final = ProviderAPI(
    id="openai-chat",
    title="Chat Completions",
    vendor=None,
    decoder=f"{_HERE}.openai_chat.response:OpenAIChatDecoder",
    encoder=f"{_HERE}.openai_chat.encode:encode",
    example=("deepseek", "deepseek-v4-pro"),
    signs=(
        {"choices": list},
        {"object": re.compile(r"chat\.completion.*")},
        {"type": re.compile("chunk"), "chunk": dict},
    ),
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
    redacted_kinds=frozenset({"openrouter.encrypted"}),
    hosts_models=True,
    http=HTTPEndpoint(path="/chat/completions", base="/v1"),
    http_of={"google-vertex": HTTPEndpoint(path="/chat/completions", base="/v1", signing="google")},
)

_BEDROCK_EVENTS = (
    *("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop"),
    *("internalServerException", "modelStreamErrorException", "serviceUnavailableException"),
    *("throttlingException", "validationException"),
)
_AWS_REGIONS = "us|us-gov|eu|apac|ap|jp|au|ca|sa|me|af|global"

BEDROCK_CONVERSE: Final = ProviderAPI(
    id="bedrock-converse",
    title="Amazon Bedrock Converse",
    vendor="bedrock",
    decoder=f"{_HERE}.bedrock_converse:BedrockConverseDecoder",
    encoder=f"{_HERE}.bedrock_converse:encode",
    example=("bedrock", "us.anthropic.claude-sonnet-4-6"),
    signs=(
        *({name: dict} for name in _BEDROCK_EVENTS),
        {"contentBlockIndex": int},
        {"stopReason": str},
        {"output": dict, "stopReason": str},
        {"metrics": dict, "usage": dict},
    ),
    call_ids=CallIds(re.compile(r"[a-zA-Z0-9_.:-]"), 64),
    conversation_fields=frozenset({"messages", "system", "toolConfig"}),
    echo_fields=("blocks", "content_tags"),
    native_kinds=("bedrock.",),
    plain=PlainValues(natives={"image": Fields("image")}, results={"toolResult": Fields("toolResult")}),
    json_fields=frozenset({"input", "json", "toolConfig"}),
    signature_kinds={"bedrock": "anthropic.signature"},
    redacted_kinds=frozenset({"bedrock.redacted_content"}),
    hosts_models=True,
    model_vendor=re.compile(rf"(?:^|[/:])(?:(?:{_AWS_REGIONS})\.)?([a-z0-9]+)\."),
    http=HTTPEndpoint(path="/model/{model}/converse-stream", framing="aws-event-stream", signing="aws-sigv4"),
)

MISTRAL_CHAT: Final = ProviderAPI(
    id="mistral-chat",
    title="Mistral Chat",
    vendor="mistral",
    decoder=f"{_HERE}.mistral_chat:MistralChatDecoder",
    encoder=f"{_HERE}.mistral_chat:encode",
    example=("mistral", "mistral-small-latest"),
    signs=(
        {"choices": list, "p": str},
        {"choices": list},
        {"object": re.compile(r"chat\.completion.*")},
        {"object": re.compile("error")},
    ),
    call_ids=CallIds(re.compile(r"[a-zA-Z0-9]"), 9, exact=True),
    conversation_fields=frozenset({"messages"}),
    echo_fields=("blocks",),
    native_kinds=("mistral.",),
    plain=PlainValues(
        natives={
            "reference": Fields("type reference_ids"),
            "tool_reference": Fields("type tool title url favicon description"),
        },
        members={"references": frozenset({"type", "reference_ids"})},
    ),
    signature_kinds={"mistral": "mistral.signature"},
    http=HTTPEndpoint(path="/v1/chat/completions"),
)

COHERE_CHAT: Final = ProviderAPI(
    id="cohere-chat",
    title="Cohere Chat v2",
    vendor="cohere",
    decoder=f"{_HERE}.cohere_chat:CohereChatDecoder",
    encoder=f"{_HERE}.cohere_chat:encode",
    example=("cohere", "command-a-reasoning-08-2025"),
    signs=(
        {"type": re.compile(r"(message|content|tool-call|citation)-(start|delta|end)|tool-plan-delta")},
        {"message": dict, "finish_reason": str},
    ),
    conversation_fields=frozenset({"messages"}),
    echo_fields=("blocks", "tool_plan"),
    native_kinds=("cohere.",),
    plain=NOTHING_WRITTEN,
    http=HTTPEndpoint(path="/v2/chat", named_events=True),
)

OLLAMA: Final = ProviderAPI(
    id="ollama",
    title="Ollama",
    vendor="ollama",
    decoder=f"{_HERE}.ollama:OllamaDecoder",
    encoder=f"{_HERE}.ollama:encode",
    example=("ollama", "qwen3:4b"),
    signs=({"done": bool, "message": dict}, {"done": bool, "response": str}),
    conversation_fields=frozenset({"messages"}),
    echo_fields=("thinking",),
    plain=NOTHING_WRITTEN,
    http=HTTPEndpoint(path="/api/chat", framing="json-lines"),
)

_GEMINI_STREAM = "/models/{model}:streamGenerateContent"

GEMINI: Final = ProviderAPI(
    id="gemini",
    title="Gemini generateContent",
    vendor="google",
    decoder=f"{_HERE}.gemini.decode:GeminiDecoder",
    encoder=f"{_HERE}.gemini.encode:encode",
    example=("google", "gemini-3-flash-preview"),
    signs=({"candidates": list}, {"promptFeedback": dict}, {"usageMetadata": dict}),
    conversation_fields=frozenset({"contents", "config", "systemInstruction"}),
    echo_fields=("blocks",),
    native_kinds=("gemini.",),
    plain=PlainValues(
        natives={"inlineData": Fields("inlineData thoughtSignature")},
        results={
            name: Fields(f"{name} thoughtSignature") for name in ("codeExecutionResult", "toolResponse")
        },
    ),
    json_fields=frozenset({"args", "response", "config"}),
    signature_kinds={"google": "gemini.thought_signature"},
    http=HTTPEndpoint(
        path=f"/v1beta{_GEMINI_STREAM}", query="alt=sse", key_header="x-goog-api-key", key_prefix=""
    ),
    # On Vertex AI, the base URL contains the project and location.
    http_of={"google-vertex": HTTPEndpoint(path=_GEMINI_STREAM, query="alt=sse", signing="google")},
    http_body=f"{_HERE}.gemini.encode:rest_body",
)

_XAI_OUTPUT = Fields("role content encrypted_content tool_calls citations")

XAI_GRPC: Final = ProviderAPI(
    id="xai-grpc",
    title="xAI gRPC chat",
    vendor="xai",
    decoder=f"{_HERE}.xai_grpc:XAIDecoder",
    encoder=f"{_HERE}.xai_grpc:encode",
    example=("xai", "grok-4-fast-reasoning"),
    signs=({"outputs": list},),
    conversation_fields=frozenset({"messages"}),
    echo_fields=("messages",),
    native_kinds=("xai.",),
    plain=PlainValues(natives={"tool_output": _XAI_OUTPUT}, results={"role": _XAI_OUTPUT}),
    json_fields=frozenset(),
    upstream="XAIUpstream",
    instead="Use `XAIUpstream`, which asks through xai-sdk.",
)

LITELLM: Final = replace(
    OPENAI_CHAT,
    id="litellm",
    title="LiteLLM",
    decoder=f"{_HERE}.openai_chat.response:LiteLLMDecoder",
    encoder=f"{_HERE}.openai_chat.encode:encode_litellm",
    example=("anthropic", "anthropic/claude-sonnet-4-6"),
    hosts_models=False,
    http=None,
    http_of={},
    instead="It is a Python SDK without an endpoint. Serve LiteLLM's proxy: provider litellm, with the API "
    "openai-chat, openai-responses or anthropic-messages.",
)

_INTERACTIONS_RESULTS = (
    *("google_search_result", "url_context_result", "code_execution_result"),
    *("file_search_result", "google_maps_result", "mcp_server_tool_result"),
)

GEMINI_INTERACTIONS: Final = ProviderAPI(
    id="gemini-interactions",
    title="Gemini Interactions",
    vendor="google",
    decoder=f"{_HERE}.gemini_interactions:GeminiInteractionsDecoder",
    encoder=f"{_HERE}.gemini_interactions:encode",
    example=("google", "gemini-3-flash-preview"),
    signs=(
        {"event_type": re.compile(r"(interaction|step)\..*")},
        {"steps": list},
        {"object": re.compile("interaction")},
    ),
    conversation_fields=frozenset({"input", "system_instruction", "previous_interaction_id"}),
    echo_fields=("blocks",),
    native_kinds=("gemini.",),
    plain=PlainValues(
        natives=dict.fromkeys(
            ("image", "audio", "video", "document"), Fields("type data uri mime_type resolution")
        ),
        results=dict.fromkeys(
            _INTERACTIONS_RESULTS, Fields("type call_id result signature is_error name server_name")
        ),
        members={
            "annotations": frozenset({"type", "url", "title", "start_index", "end_index"}),
            **dict.fromkeys(("name", "search_type", "server_name")),
        },
    ),
    stores=True,
    previous_id="previous_interaction_id",
    http=HTTPEndpoint(
        path="/v1beta/interactions", key_header="x-goog-api-key", key_prefix="", named_events=True
    ),
)

APIS: Final[dict[str, ProviderAPI]] = {
    api.id: api
    for api in (
        ANTHROPIC_MESSAGES,
        OPENAI_RESPONSES,
        OPENAI_CHAT,
        BEDROCK_CONVERSE,
        MISTRAL_CHAT,
        COHERE_CHAT,
        OLLAMA,
        GEMINI,
        XAI_GRPC,
        LITELLM,
        GEMINI_INTERACTIONS,
    )
}
