"""OpenAI Responses, and the vendors that use its format."""

from agui_reasoning.providers.api import CallIds, Fields, HTTPEndpoint, PlainValues, ProviderAPI

__all__ = ["API"]

_ITEM = "type id status created_by agent"
_NATIVES = {
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
_OF_XAI = Fields(f"{_ITEM} call_id", content="action arguments code input name output outputs results")
_RESULTS = {
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
        _OF_XAI,
    ),
}
"""What the vendors' servers return of their own tools. Items with a container name a stored object."""

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
    echo_fields=("items", "tool_calls"),
    native_kinds=("openai.",),
    plain=PlainValues(
        natives=_NATIVES,
        results=_RESULTS,
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
    redacted_kinds=frozenset(),
    group_kinds=("openai.encrypted_content",),
    hosts_models=True,
    stores=True,
    http=HTTPEndpoint(path="/responses", base="/v1", named_events=True),
    scripts=("openai-weather",),
)
