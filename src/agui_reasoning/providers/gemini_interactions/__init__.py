"""Gemini Interactions."""

from agui_reasoning.providers.api import CallIds, Fields, HTTPEndpoint, PlainValues, ProviderAPI

__all__ = ["API"]

_RESULTS = (
    *("google_search_result", "url_context_result", "code_execution_result"),
    *("file_search_result", "google_maps_result", "mcp_server_tool_result"),
)

API = ProviderAPI(
    id="gemini-interactions",
    title="Gemini Interactions",
    package=__name__,
    vendor="google",
    decoder="decode:GeminiInteractionsDecoder",
    encoder="encode:encode",
    transcript="transcript:TRANSCRIPT",
    strategy="strategies:interactions_turns",
    example=("google", "gemini-3-flash-preview"),
    call_ids=CallIds(),
    conversation_fields=frozenset({"input", "system_instruction", "previous_interaction_id"}),
    echo_fields=("blocks",),
    native_kinds=("gemini.",),
    plain=PlainValues(
        natives=dict.fromkeys(
            ("image", "audio", "video", "document"), Fields("type data uri mime_type resolution")
        ),
        results=dict.fromkeys(_RESULTS, Fields("type call_id result signature is_error name server_name")),
        members={
            "annotations": frozenset({"type", "url", "title", "start_index", "end_index"}),
            **dict.fromkeys(("name", "search_type", "server_name")),
        },
    ),
    json_fields=frozenset({"arguments"}),
    signature_kinds={},
    redacted_kinds=frozenset(),
    group_kinds=(),
    hosts_models=False,
    stores=True,
    previous_id="previous_interaction_id",
    http=HTTPEndpoint(
        path="/v1beta/interactions", key_header="x-goog-api-key", key_prefix="", named_events=True
    ),
    scripts=("interactions-weather",),
)
