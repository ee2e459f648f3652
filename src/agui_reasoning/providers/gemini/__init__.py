"""Gemini's ``generateContent``."""

from agui_reasoning.providers.api import CallIds, Fields, HTTPEndpoint, PlainValues, ProviderAPI

__all__ = ["API"]

_STREAM = "/models/{model}:streamGenerateContent"

API = ProviderAPI(
    id="gemini",
    title="Gemini generateContent",
    package=__name__,
    vendor="google",
    decoder="decode:GeminiDecoder",
    encoder="encode:encode",
    transcript="transcript:TRANSCRIPT",
    strategy="strategies:gemini_turns",
    example=("google", "gemini-3-flash-preview"),
    call_ids=CallIds(),
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
    redacted_kinds=frozenset(),
    group_kinds=(),
    hosts_models=False,
    stores=False,
    http=HTTPEndpoint(path=f"/v1beta{_STREAM}", query="alt=sse", key_header="x-goog-api-key", key_prefix=""),
    # On Vertex AI, the base URL contains the project and location.
    http_of={"google-vertex": HTTPEndpoint(path=_STREAM, query="alt=sse", signing="google")},
    http_body="rest:rest_body",
    scripts=("gemini-weather",),
)
