"""Amazon Bedrock Converse and ConverseStream."""

import re

from agui_reasoning.providers.api import CallIds, ProviderAPI

__all__ = ["API"]

API = ProviderAPI(
    id="bedrock-converse",
    title="Amazon Bedrock Converse",
    package=__name__,
    vendor="bedrock",
    decoder="decode:BedrockConverseDecoder",
    encoder=None,
    transcript="transcript:TRANSCRIPT",
    strategy=None,
    example=("bedrock", "us.anthropic.claude-sonnet-4-6"),
    call_ids=CallIds(re.compile(r"[a-zA-Z0-9_.:-]"), 64),
    conversation_fields=frozenset({"messages", "system", "toolConfig"}),
    native_kinds=("bedrock.",),
    signature_kinds={"bedrock": "anthropic.signature"},
    redacted_kinds=frozenset({"bedrock.redacted_content"}),
    group_kinds=(),
    hosts_models=True,
    stores=False,
    http=None,
    scripts=(),
)
