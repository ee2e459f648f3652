"""Decodes LiteLLM's ``ModelResponse`` and its stream: Chat Completions with values of the upstream.

The provider is the upstream. The decoder of Chat Completions reads the fields that LiteLLM adds, because
gateways based on LiteLLM add them too. It prefers blocks to items, and items to flat strings.
"""

from __future__ import annotations

from typing import ClassVar

from agui_reasoning.providers.openai_chat.decode import OpenAIChatDecoder

__all__ = ["LiteLLMDecoder"]


class LiteLLMDecoder(OpenAIChatDecoder):
    """Decodes what ``litellm.completion`` and ``litellm.acompletion`` return."""

    api: ClassVar[str] = "litellm"
