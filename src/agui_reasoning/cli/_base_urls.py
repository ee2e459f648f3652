"""Base URLs to suggest for ``serve --base-url``, in the form that the vendor's SDK takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from agui_reasoning.providers.registry import vendor_of
from agui_reasoning.providers.vendors import canonical

__all__ = ["BASE_URLS", "base_url_of"]

_GOOGLE: Final = "https://aiplatform.googleapis.com/v1/projects/P/locations/global"
_BEDROCK: Final = "https://bedrock-runtime.us-east-1.amazonaws.com"

# Those of openai-chat are what pydantic-ai 2.68 uses; the others are in the how-to of the gateway.
BASE_URLS: Final[Mapping[tuple[str, str], str]] = {
    ("anthropic-messages", "anthropic"): "https://api.anthropic.com",
    ("anthropic-messages", "bedrock"): _BEDROCK,
    ("anthropic-messages", "bedrock-mantle"): "https://bedrock-mantle.us-east-1.api.aws/anthropic",
    ("anthropic-messages", "google-vertex"): f"{_GOOGLE}/publishers/anthropic",
    ("bedrock-converse", "bedrock"): _BEDROCK,
    ("cohere-chat", "cohere"): "https://api.cohere.com",
    ("gemini", "google"): "https://generativelanguage.googleapis.com",
    ("gemini", "google-vertex"): f"{_GOOGLE}/publishers/google",
    ("gemini-interactions", "google"): "https://generativelanguage.googleapis.com",
    ("mistral-chat", "mistral"): "https://api.mistral.ai",
    ("ollama", "ollama"): "http://localhost:11434",
    ("openai-chat", "cerebras"): "https://api.cerebras.ai/v1",
    ("openai-chat", "deepseek"): "https://api.deepseek.com",
    ("openai-chat", "fireworks"): "https://api.fireworks.ai/inference/v1",
    ("openai-chat", "google-vertex"): f"{_GOOGLE}/endpoints/openapi",
    ("openai-chat", "groq"): "https://api.groq.com/openai/v1",
    ("openai-chat", "moonshot"): "https://api.moonshot.ai/v1",
    ("openai-chat", "ollama"): "http://localhost:11434/v1",
    ("openai-chat", "openai"): "https://api.openai.com/v1",
    ("openai-chat", "openrouter"): "https://openrouter.ai/api/v1",
    ("openai-chat", "together"): "https://api.together.xyz/v1",
    ("openai-chat", "vercel-gateway"): "https://ai-gateway.vercel.sh/v1",
    ("openai-chat", "zai"): "https://api.z.ai/api/paas/v4",
    ("openai-chat", "zai-coding-plan"): "https://api.z.ai/api/coding/paas/v4",
    ("openai-responses", "openai"): "https://api.openai.com/v1",
}


def base_url_of(api: str, provider: str | None) -> str:
    """Return the base URL of a provider, or ``URL`` if it is not known here."""
    return BASE_URLS.get((api, canonical(provider or vendor_of(api) or "")), "URL")
