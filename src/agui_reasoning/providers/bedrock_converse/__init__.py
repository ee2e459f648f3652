"""Amazon Bedrock Converse and ConverseStream."""

import re

from agui_reasoning.providers.api import CallIds, Fields, HTTPEndpoint, PlainValues, ProviderAPI

__all__ = ["API"]

_REGIONS = "us|us-gov|eu|apac|ap|jp|au|ca|sa|me|af|global"

API = ProviderAPI(
    id="bedrock-converse",
    title="Amazon Bedrock Converse",
    package=__name__,
    vendor="bedrock",
    decoder="decode:BedrockConverseDecoder",
    encoder="encode:encode",
    transcript="transcript:TRANSCRIPT",
    strategy="strategies:bedrock_turns",
    example=("bedrock", "us.anthropic.claude-sonnet-4-6"),
    call_ids=CallIds(re.compile(r"[a-zA-Z0-9_.:-]"), 64),
    conversation_fields=frozenset({"messages", "system", "toolConfig"}),
    echo_fields=("blocks", "content_tags"),
    native_kinds=("bedrock.",),
    plain=PlainValues(natives={"image": Fields("image")}, results={"toolResult": Fields("toolResult")}),
    json_fields=frozenset({"input", "json", "toolConfig"}),
    signature_kinds={"bedrock": "anthropic.signature"},
    redacted_kinds=frozenset({"bedrock.redacted_content"}),
    group_kinds=(),
    hosts_models=True,
    model_vendor=re.compile(rf"(?:^|[/:])(?:(?:{_REGIONS})\.)?([a-z0-9]+)\."),
    stores=False,
    http=HTTPEndpoint(path="/model/{model}/converse-stream", framing="aws-event-stream", signing="aws-sigv4"),
    scripts=("bedrock-weather",),
)
