"""LiteLLM's SDK: Chat Completions for every upstream, with additional fields and values of the upstream.

The provider is the upstream. The decoder of Chat Completions reads the fields that LiteLLM adds, because
gateways based on LiteLLM add them too. It prefers blocks to items, and items to flat strings.
"""

from __future__ import annotations

from typing import ClassVar

from agui_reasoning.parts import Origin
from agui_reasoning.providers._apis.openai_chat.encode import encode_for
from agui_reasoning.providers._apis.openai_chat.response import OpenAIChatDecoder
from agui_reasoning.providers.encoding import EncodingOptions, PreparedConversation
from agui_reasoning.providers.payload import JSONObject
from agui_reasoning.providers.vendors import vendor_traits


class LiteLLMDecoder(OpenAIChatDecoder):
    """Decodes what ``litellm.completion`` and ``litellm.acompletion`` return."""

    api: ClassVar[str] = "litellm"


# -- requests


def encode(conversation: PreparedConversation, options: EncodingOptions) -> JSONObject:
    """Write ``messages``, and ``tools`` if there are any."""
    return encode_for(
        conversation, options, vendor_traits(Origin(options.provider, "litellm", options.model))
    )
