"""LiteLLM's ``ModelResponse`` and its stream: Chat Completions with the upstream's values beside the text.

The provider is the upstream. What LiteLLM adds of its own, gateways that have it inside add, too; the
decoder of Chat Completions reads it: blocks before items before flat strings, and one text once.
"""

from __future__ import annotations

from typing import ClassVar

from agui_reasoning.providers.openai_chat.decode import OpenAIChatDecoder

__all__ = ["LiteLLMDecoder"]


class LiteLLMDecoder(OpenAIChatDecoder):
    """Decodes what ``litellm.completion`` and ``litellm.acompletion`` return."""

    api: ClassVar[str] = "litellm"
