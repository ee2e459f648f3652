"""Fake providers that refuse what the real ones refuse, written from the facts about them.

Each module holds the closed shape of one API, and where values stand in it that only their producer can make.
`STRICT` has a row per provider: with it, a request is judged by its shape, by the rules of its API and by the
values that the provider has issued. Nothing of the package is asked.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import TypeAdapter

from agui_reasoning.parts import Origin, ReasoningPart, TextPart, Turn
from tests.support.strict_providers import (
    anthropic_messages,
    bedrock_converse,
    cohere_chat,
    gemini,
    gemini_interactions,
    mistral_chat,
    ollama,
    openai_chat,
    openai_responses,
    xai_grpc,
)
from tests.support.strict_providers.chat_vendors import CHAT_VENDORS, chosen
from tests.support.strict_providers.shapes import Artefact, Body, misshapen
from tests.support.validators import (
    THINKING,
    check_chat,
    check_deepseek,
    check_gemini_chat,
    check_kimi,
    check_openrouter,
)
from tests.support.validators_outputs import check_litellm

__all__ = ["STRICT", "STRICT_CHAT", "STRICT_LOOPS", "Issued", "StrictProvider", "family"]

PLACEHOLDERS = frozenset({"skip_thought_signature_validator"})
"""Google documents that this stands for a signature."""

CLAUDE = ("anthropic", "azure", "bedrock", "bedrock-mantle", "google-vertex")
HOSTS = {"bedrock-converse:bedrock": ".", "openai-chat:openrouter": "/", "openai-chat:vercel-gateway": "/"}
"""Hosts of several vendors' models, and what ends the vendor in the name of one."""


def family(origin: Origin | None) -> str | None:
    """Who reads a producer's values; ``None``: it is not known."""
    if origin is None or origin.api is None:
        return None
    place = f"{origin.api}:{origin.provider}"
    model = origin.model or ""
    if origin.api == "anthropic-messages" and origin.provider in CLAUDE:
        return "claude"
    if place == "bedrock-converse:bedrock" and "anthropic." in model:
        return "claude"
    if place in ("openai-responses:openai", "openai-responses:chatgpt-codex"):
        return "openai"
    if place in HOSTS:
        return f"{place}:{model.removeprefix('us.').partition(HOSTS[place])[0]}"
    return place


@dataclass
class Issued:
    """The values that providers have issued: who reads each, and the text it was issued with."""

    values: dict[str, set[tuple[str | None, str | None]]] = field(default_factory=dict)

    def add(self, turn: Turn) -> None:
        """Remember what a response carried."""
        for part in turn.parts:
            text = part.text if isinstance(part, ReasoningPart | TextPart) else None
            reader = family(part.origin or turn.origin)
            for opaque in getattr(part, "opaque", ()):
                for value in (opaque.value, _as_blob(opaque.value)):
                    self.values.setdefault(value, set()).add((reader, text))
            native = getattr(part, "native", None) or getattr(part, "payload", None)
            for value in _strings(native):
                self.values.setdefault(value, set()).add((reader, None))

    def refuse(self, reader: str | None, artefact: Artefact) -> str:
        """Why a reader does not take a value; empty if it does."""
        if artefact.value in PLACEHOLDERS:
            return ""
        known = [text for who, text in self.values.get(artefact.value, ()) if who == reader]
        if not known:
            return "Invalid signature: the value was not issued here"
        # How the parts of a summary are joined is not for it to compare.
        texts = {text if text is None else "".join(text.split()) for text in known}
        if artefact.text is None or None in texts or "".join(artefact.text.split()) in texts:
            return ""
        return "Invalid signature: the text beside the value cannot be modified"


def _as_blob(value: str) -> str:
    """Anthropic's redacted data as Bedrock has it: the characters are the bytes."""
    return b64encode(value.encode("utf-8", "replace")).decode("ascii")


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


@dataclass(frozen=True)
class StrictProvider:
    """A provider that refuses what it does not know.

    Attributes:
        target: Who it is.
        shape: The closed type of its requests.
        rules: What else it refuses: order, pairs, what must not be missing.
        artefacts: The values in a request that only their producer can make.
    """

    target: Origin
    shape: TypeAdapter[Any]
    rules: Callable[[Body], list[str]]
    artefacts: Callable[[Body], Iterator[Artefact]]

    def refusals(self, body: Body, issued: Issued | None = None) -> list[str]:
        """Everything it has against a request, values only where it is known what it issued."""
        faults = [*misshapen(self.shape, body)]
        if not faults:  # the rules read only what has the shape
            faults = self.rules(body)
        if not faults and issued is not None:
            found = (issued.refuse(family(self.target), artefact) for artefact in self.artefacts(body))
            faults = [fault for fault in found if fault]
        return faults

    def reject(self, body: Body, issued: Issued | None = None) -> str | None:
        """The text of its status 400, or ``None``."""
        return next(iter(self.refusals(body, issued)), None)


def _fields(*names: str, results: tuple[type, ...] = (str,)) -> Callable[[Body], list[str]]:
    return lambda body: check_chat(body, fields=names, results=results)


def _chat(
    provider: str,
    model: str,
    *fields: str,
    rules: Callable[[Body], list[str]] | None = None,
    api: str = "openai-chat",
    call: type[openai_chat.Call] = openai_chat.Call,
    result: type[openai_chat.ToolMessage] = openai_chat.ToolMessage,
) -> StrictProvider:
    return StrictProvider(
        Origin(provider, api, model),
        openai_chat.shape(*fields, call=call, result=result),
        rules or _fields(*fields),
        openai_chat.artefacts,
    )


def _of(
    module: Any, api: str, provider: str, model: str, rules: Callable[[Body], list[str]] | None = None
) -> StrictProvider:
    return StrictProvider(Origin(provider, api, model), module.SHAPE, rules or module.rules, module.artefacts)


def _nothing_of_its_own(body: Body) -> Iterator[Artefact]:
    """Of a server without ciphertext: Ollama's ``encrypted_content`` is the text."""
    return iter(())


def _unpaired(body: Body) -> list[str]:
    return openai_responses.rules(body, strict=False)


def _no_reasoning(body: Body) -> list[str]:
    """Of a model that does not reason."""
    reasons = any(item.get("type") == "reasoning" for item in body["input"])
    return [*openai_responses.rules(body), *(["Reasoning input items are not supported"] if reasons else [])]


def _thinking_everywhere(body: Body) -> list[str]:
    """DeepSeek's Anthropic format: every message of the model begins with a thinking block."""
    return [
        "The `content[].thinking` in the thinking mode must be passed back to the API."
        for message in body["messages"]
        if message["role"] == "assistant"
        and all(block["type"] not in THINKING for block in message["content"])
    ]


def _gemini_upstream(body: Body) -> list[str]:
    return check_chat(body, fields=("provider_specific_fields",))


def _complete_loop(check: Callable[[Body], list[str]], *wanted: str) -> Callable[[Body], list[str]]:
    """Of a gateway whose upstream wants the reasoning of its calls back until the user writes again."""

    def rules(body: Body) -> list[str]:
        return check(body) + [
            f"{name} is missing in assistant message at index {number}"
            for number, message in chosen(body["messages"], "loop")
            for name in wanted
            if not message.get(name)
        ]

    return rules


_RESPONSES = (openai_responses, "openai-responses")
_CLAUDE = (anthropic_messages, "anthropic-messages")
_CONVERSE = (bedrock_converse, "bedrock-converse", "bedrock")

STRICT: dict[str, StrictProvider] = {
    "anthropic": _of(*_CLAUDE, "anthropic", "claude-opus-5", anthropic_messages.rules_inside),
    "claude on bedrock": _of(*_CLAUDE, "bedrock", "anthropic.claude-opus-5-5"),
    "deepseek as anthropic": _of(*_CLAUDE, "deepseek", "deepseek-v4-pro", _thinking_everywhere),
    "openai": _of(*_RESPONSES, "openai", "gpt-5.6"),
    "gpt-6": _of(*_RESPONSES, "openai", "gpt-6-astra", openai_responses.rules_gpt_6),
    "openai, no reasoning": _of(*_RESPONSES, "openai", "gpt-4o", _no_reasoning),
    "azure": _of(*_RESPONSES, "azure", "gpt-5.6"),
    "codex": _of(*_RESPONSES, "chatgpt-codex", "gpt-5.3-codex", openai_responses.rules_stateless),
    "copilot": _of(*_RESPONSES, "github-copilot", "gpt-5.6", openai_responses.rules_stateless),
    "xai responses": _of(*_RESPONSES, "xai", "grok-4.5", _unpaired),
    "meta": _of(*_RESPONSES, "meta", "muse-spark-1.3", _unpaired),
    **{
        name: replace(
            _of(*_RESPONSES, provider, model, openai_responses.server(refuse)), artefacts=_nothing_of_its_own
        )
        for name, (provider, model, refuse) in openai_responses.SERVERS.items()
    },
    **{
        name: _of(*_RESPONSES, provider, model, openai_responses.gateway(refuse))
        for name, (provider, model, refuse) in openai_responses.GATEWAYS.items()
    },
    **{
        name: _of(*_RESPONSES, provider, model, rules)
        for name, (provider, model, rules) in openai_responses.VENDORS.items()
    },
    "openrouter responses": replace(
        _of(*_RESPONSES, "openrouter", "google/gemini-3-flash-preview", openai_responses.rules_openrouter),
        shape=openai_responses.ROUTED,
    ),
    "openai-chat": _chat("openai", "gpt-5.6"),
    "deepseek": _chat("deepseek", "deepseek-v4-pro", "reasoning_content", rules=check_deepseek),
    "deepseek-r1": _chat("deepseek", "deepseek-r1"),
    "kimi": _chat("moonshot", "kimi-k2.6", "reasoning_content", rules=check_kimi),
    "zai": _chat("zai", "glm-5.2", "reasoning_content"),
    "fireworks": _chat("fireworks", "accounts/fireworks/models/kimi-k2p6", "reasoning_content"),
    "together": _chat("together", "zai-org/GLM-5", "reasoning", "reasoning_content"),
    "google": _chat(
        "google",
        "gemini-3-pro",
        "extra_content",
        rules=check_gemini_chat,
        call=openai_chat.GoogleCall,
    ),
    "google on vertex": _chat(
        "google-vertex",
        "gemini-3-pro",
        "extra_content",
        rules=check_gemini_chat,
        call=openai_chat.VertexCall,
    ),
    "openrouter": _chat(
        "openrouter", "anthropic/claude", "reasoning_details", "reasoning", rules=check_openrouter
    ),
    "groq": _chat("groq", "llama"),
    "groq, reasoning": _chat("groq", "openai/gpt-oss-120b", "reasoning"),
    "cerebras": _chat("cerebras", "gpt-oss-120b", "reasoning"),
    "mistral as openai": _chat("mistral", "mistral-large"),
    "litellm": _chat(
        "anthropic",
        "anthropic/claude-opus-5",
        "thinking_blocks",
        rules=check_litellm,
        api="litellm",
        result=openai_chat.MediaResult,
    ),
    "litellm to gemini": _chat(
        "gemini",
        "gemini/gemini-3-pro",
        "provider_specific_fields",
        rules=_gemini_upstream,
        api="litellm",
        call=openai_chat.LiteLLMCall,
    ),
    "litellm to groq": _chat("groq", "groq/llama", api="litellm"),
    "litellm to gpt-oss": _chat("groq", "groq/openai/gpt-oss-120b", "reasoning", api="litellm"),
    "litellm to openai": _chat("openai", "gpt-5.6", api="litellm"),
    "gemini": _of(gemini, "gemini", "google", "gemini-3-pro"),
    "gemini 2.5": _of(gemini, "gemini", "google", "gemini-2.5-pro", gemini.rules_unenforced),
    "gemini on vertex": _of(gemini, "gemini", "google-vertex", "gemini-3-pro"),
    "interactions": _of(gemini_interactions, "gemini-interactions", "google", "gemini-3-pro"),
    "converse": _of(*_CONVERSE, "us.anthropic.claude-sonnet-4-6"),
    "gpt-oss on bedrock": _of(*_CONVERSE, "openai.gpt-oss-120b-1:0", bedrock_converse.rules_unsigned),
    "mistral": _of(mistral_chat, "mistral-chat", "mistral", "mistral-small-latest"),
    "cohere": _of(cohere_chat, "cohere-chat", "cohere", "command-a-reasoning-08-2025"),
    "cohere, no reasoning": _of(
        cohere_chat, "cohere-chat", "cohere", "command-r-plus", cohere_chat.rules_without_thinking
    ),
    "ollama": _of(ollama, "ollama", "ollama", "qwen3:4b", ollama.rules_by_name),
    "xai": _of(xai_grpc, "xai-grpc", "xai", "grok-4"),
}

STRICT_CHAT: dict[str, StrictProvider] = {
    vendor.name: _chat(vendor.provider, vendor.model, *vendor.takes, rules=vendor.refusals, api=vendor.api)
    for vendor in CHAT_VENDORS
}
"""The vendors of Chat Completions that differ only in a rule: too many for tests that try each provider."""

_VERCEL = ("reasoning_details", "reasoning")
_ITEMS = "reasoning_items"

STRICT_LOOPS: dict[str, StrictProvider] = {
    "claude behind vercel": _chat(
        "vercel-gateway",
        "anthropic/claude-opus-5",
        *_VERCEL,
        rules=_complete_loop(check_openrouter, *_VERCEL),
    ),
    "gpt behind vercel": _chat(
        "vercel-gateway",
        "openai/gpt-5.6",
        *_VERCEL,
        rules=_complete_loop(check_openrouter, "reasoning_details"),
    ),
    "litellm to responses": _chat(
        "openai",
        "openai/responses/gpt-5.6",
        _ITEMS,
        rules=_complete_loop(_fields(_ITEMS, results=(str, list)), _ITEMS),
        api="litellm",
        result=openai_chat.MediaResult,
    ),
}
"""Providers that want the values of a loop of their own, for which nothing can stand in.

They judge no conversation in which others called tools: the real ones would not want the values of those.
"""
