"""Encodes a conversation as ``messages`` for ``litellm.completion``, with the fields for the upstream."""

from __future__ import annotations

from agui_reasoning.parts import Origin
from agui_reasoning.providers.encoding import EncodingOptions, PreparedConversation
from agui_reasoning.providers.openai_chat.encode import encode_for
from agui_reasoning.providers.payload import JSONObject
from agui_reasoning.providers.vendors import vendor_traits

__all__ = ["encode"]


def encode(conversation: PreparedConversation, options: EncodingOptions) -> JSONObject:
    """Write ``messages``, and ``tools`` if there are any."""
    return encode_for(
        conversation, options, vendor_traits(Origin(options.provider, "litellm", options.model))
    )
