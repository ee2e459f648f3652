"""What each vendor of Chat Completions requires and refuses: a row per rule, not a class per vendor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from tests.support.strict_providers.shapes import Body
from tests.support.validators import check_chat

Which: TypeAlias = Literal["nowhere", "loop", "calls", "answers"]
"""The messages of the model: none, those with calls since the last user message, all with calls, or all."""


@dataclass(frozen=True, kw_only=True)
class ChatVendor:
    """A vendor's rule for some model.

    Attributes:
        provider: The vendor.
        model: The model.
        sends: The field in which its reasoning arrives.
        takes: The fields that a message may have; any other is refused.
        wants: The field that must not be missing; ``sends`` by default.
        where: The messages that must have it.
        blank: Whether text without a character counts as missing.
        flags: The request fields that it takes beside OpenAI's; any other is refused.
        echoes: The messages whose reasoning it reads without flags.
        flagged: The same with flags, where they change it.
        api: The API.
    """

    provider: str
    model: str
    sends: str = "reasoning_content"
    takes: tuple[str, ...] = ("reasoning_content",)
    wants: str = ""
    where: Which = "nowhere"
    blank: bool = False
    flags: tuple[str, ...] = ()
    echoes: Which = "loop"
    flagged: Which | None = None
    api: str = "openai-chat"

    @property
    def name(self) -> str:
        """Its key among the strict providers."""
        return f"{self.model} at {self.provider}" + ("" if self.api == "openai-chat" else f" over {self.api}")

    def refusals(self, body: Body) -> list[str]:
        """Everything that it has against a request."""
        faults = check_chat(body, fields=self.takes)
        faults += [
            f"Unrecognized request argument: {name}"
            for name in body.get("extra_body", {})
            if name not in self.flags
        ]
        wanted = self.wants or self.sends
        for number, message in chosen(body["messages"], self.where):
            value = message.get(wanted)
            if value is None or (self.blank and value == ""):
                faults.append(f"{wanted} is missing in assistant message at index {number}")
        return faults


def chosen(messages: list[dict[str, Any]], which: Which) -> Iterator[tuple[int, dict[str, Any]]]:
    """The messages of the model that a rule is about."""
    users = [number for number, message in enumerate(messages) if message["role"] == "user"]
    start = users[-1] if users and which == "loop" else -1
    for number, message in enumerate(messages):
        meant = which == "answers" or (which != "nowhere" and bool(message.get("tool_calls")))
        if message["role"] == "assistant" and number > start and meant:
            yield number, message


_ALL: dict[str, Any] = {"where": "answers", "echoes": "answers"}
_CALLS: dict[str, Any] = {"where": "calls", "blank": True, "echoes": "calls"}
_KIMI: dict[str, Any] = {"where": "calls", "blank": True, "echoes": "answers"}
_STRING: dict[str, Any] = {"sends": "reasoning", "takes": ("reasoning",)}
_ROUTED: dict[str, Any] = {"sends": "reasoning", "takes": ("reasoning", "reasoning_details")}
_TEMPLATE: dict[str, Any] = {"flags": ("chat_template_kwargs",), "flagged": "answers"}
_HISTORY: dict[str, Any] = {"flags": ("reasoning_history",)}

CHAT_VENDORS = [
    ChatVendor(provider="dashscope", model="qwen3.7-plus", flags=("preserve_thinking",), flagged="answers"),
    ChatVendor(provider="alibaba", model="glm-5.1"),
    ChatVendor(provider="moonshot", model="kimi-k3", **_KIMI),
    ChatVendor(provider="moonshot", model="kimi-k2.7-code", **_KIMI),
    ChatVendor(provider="moonshot", model="kimi-k2.5", flags=("thinking",), flagged="answers", **_CALLS),
    ChatVendor(provider="kimi-for-coding", model="kimi-for-coding", **_KIMI),
    ChatVendor(provider="xiaomi", model="mimo-v2.5-pro", **_CALLS),
    ChatVendor(provider="huggingface", model="deepseek-ai/DeepSeek-V4-Pro", **_ALL),
    ChatVendor(provider="huggingface", model="moonshotai/Kimi-K2.6", **_KIMI),
    ChatVendor(provider="huggingface", model="MiniMaxAI/MiniMax-M2.7"),
    ChatVendor(provider="opencode-zen", model="big-pickle", **_ALL),
    ChatVendor(provider="opencode-go", model="glm-5.2", echoes="calls"),
    ChatVendor(provider="opencode-zen", model="mimo-v2.5", **_CALLS),
    ChatVendor(
        provider="novita",
        model="deepseek/deepseek-v4-pro",
        takes=("reasoning_content", "reasoning_details"),
        **_ALL,
    ),
    ChatVendor(provider="novita", model="qwen/qwen3.6", takes=("reasoning_content", "reasoning_details")),
    ChatVendor(provider="lmstudio", model="gpt-oss-20b"),
    ChatVendor(provider="lmstudio", model="qwen/qwen3.6-35b", **_TEMPLATE),
    ChatVendor(provider="sglang", model="Qwen/Qwen3.6-35B", **_TEMPLATE),
    ChatVendor(
        provider="vllm", model="Qwen/Qwen3.6-35B", takes=("reasoning", "reasoning_content"), **_TEMPLATE
    ),
    ChatVendor(provider="google-vertex", model="moonshotai/kimi-k2-thinking-maas", **_KIMI),
    ChatVendor(provider="google-vertex", model="zai-org/glm-5-maas"),
    ChatVendor(provider="vercel-gateway", model="moonshotai/kimi-k2.5", **_ROUTED, echoes="answers"),
    ChatVendor(provider="openrouter", model="qwen/qwen3.7", **_ROUTED, echoes="answers"),
    ChatVendor(
        provider="openrouter",
        model="xiaomi/mimo-v2.5",
        **_ROUTED,
        **_KIMI,
    ),
    ChatVendor(provider="fireworks", model="accounts/fireworks/models/kimi-k3", **_HISTORY, echoes="answers"),
    ChatVendor(
        provider="fireworks", model="accounts/fireworks/models/glm-5p2", **_HISTORY, flagged="answers"
    ),
    ChatVendor(provider="together", model="moonshotai/Kimi-K3", **_STRING, echoes="answers"),
    ChatVendor(provider="nvidia", model="deepseek-ai/deepseek-v4", **_KIMI),
    ChatVendor(provider="nvidia", model="minimaxai/minimax-m3", echoes="answers"),
    ChatVendor(provider="azure", model="kimi-k2.6"),
    ChatVendor(provider="deepinfra", model="XiaomiMiMo/MiMo-V2.5"),
    ChatVendor(provider="aihubmix", model="alicloud-glm-5.1"),
    ChatVendor(provider="baseten", model="zai-org/GLM-5"),
    ChatVendor(provider="siliconflow", model="zai-org/GLM-5"),
    ChatVendor(provider="sambanova", model="DeepSeek-V4", takes=(), echoes="nowhere"),
    ChatVendor(provider="bedrock", model="moonshotai.kimi-k3", echoes="answers"),
    ChatVendor(provider="xiaomi", model="mimo-v2.5", api="litellm", **_CALLS),
    ChatVendor(provider="nvidia_nim", model="nvidia_nim/z-ai/glm-5", api="litellm", **_KIMI),
    ChatVendor(provider="xai", model="xai/grok-4", api="litellm", takes=(), echoes="nowhere"),
    ChatVendor(provider="cerebras", model="cerebras/gpt-oss-120b", api="litellm", **_STRING),
    ChatVendor(provider="together_ai", model="together_ai/zai-org/GLM-5", api="litellm"),
    ChatVendor(provider="hosted_vllm", model="hosted_vllm/qwen3", api="litellm"),
    ChatVendor(provider="dashscope", model="dashscope/qwen3-max", api="litellm"),
    ChatVendor(provider="google-vertex", model="deepseek-ai/deepseek-v4-maas", **_ALL),
    ChatVendor(provider="moonshot", model="kimi-k2-thinking", where="calls", echoes="answers"),
    ChatVendor(provider="zai-coding-plan", model="glm-5.2", echoes="answers"),
    ChatVendor(provider="nvidia", model="z-ai/glm-5", flags=("chat_template_kwargs",), **_KIMI),
    ChatVendor(provider="openrouter", model="deepseek/deepseek-v4-pro", **_ROUTED, **_ALL),
    ChatVendor(provider="openrouter", model="moonshotai/kimi-k2.6", **_ROUTED, **_KIMI),
    ChatVendor(provider="opencode-zen", model="kimi-k2.6", **_KIMI),
    ChatVendor(provider="aihubmix", model="deepseek-v4-pro", **_ALL),
    ChatVendor(provider="aihubmix", model="kimi-k2.6", **_KIMI),
    ChatVendor(
        provider="novita",
        model="moonshotai/kimi-k2.6",
        takes=("reasoning_content", "reasoning_details"),
        **_KIMI,
    ),
    ChatVendor(provider="litellm", model="deepseek/deepseek-v4-pro", **_ALL),
    ChatVendor(provider="litellm", model="moonshot/kimi-k2.6", **_KIMI),
    ChatVendor(provider="litellm", model="xiaomi_mimo/mimo-v2.5", **_CALLS),
    ChatVendor(provider="deepseek", model="deepseek/deepseek-v4-pro", api="litellm", **_ALL),
    ChatVendor(provider="moonshot", model="moonshot/kimi-k3", api="litellm", **_KIMI),
    ChatVendor(provider="moonshot", model="moonshot/kimi-k2.6", api="litellm", **_CALLS),
    ChatVendor(provider="huggingface", model="huggingface/deepseek-ai/deepseek-v4", api="litellm", **_ALL),
    ChatVendor(provider="huggingface", model="huggingface/moonshotai/kimi-k2.6", api="litellm", **_KIMI),
]
