"""Endpoints that are compatible with Anthropic Messages: what each sends and what it refuses, one row each.

The words are those of the real endpoints, except where a comment says otherwise. Every endpoint also refuses
requests that are not in the form of the API. Nothing of the package is asked.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from tests.support.strict_providers import anthropic_messages as claude
from tests.support.strict_providers.shapes import Body, NonBlank, NonEmpty, Strict, misshapen
from tests.support.validators import THINKING, check_anthropic

__all__ = ["ENDPOINTS", "Check", "Endpoint", "Memory"]

Block = dict[str, Any]


class UnsignedThinking(claude.Thinking):
    signature: str = ""


class Message(Strict):
    role: NonEmpty
    content: Annotated[
        list[
            Annotated[
                claude.Text | UnsignedThinking | claude.RedactedThinking | claude.ToolUse | claude.ToolResult,
                Field(discriminator="type"),
            ]
        ],
        Field(min_length=1),
    ]


class Request(Strict):
    messages: list[Message]
    system: NonBlank | list[claude.Text] | None = None
    tools: list[claude.Tool] | None = None
    model: NonEmpty
    max_tokens: int
    stream: bool
    thinking: dict[str, Any] | None = None


SHAPE: TypeAdapter[Any] = TypeAdapter(Request)


def _is_of_the_form(body: Body) -> list[str]:
    faults = misshapen(SHAPE, body)
    return faults or [fault for fault in check_anthropic(body) if "signature: Field required" not in fault]


@dataclass
class Memory:
    """The thinking that an endpoint has sent: its signature, and the messages before it."""

    sent: dict[str, tuple[str, list[Any]]] = field(default_factory=dict)

    def add(self, text: str, signature: str, before: list[Any]) -> None:
        """Remember a block."""
        self.sent[text] = signature, copy.deepcopy(before)


@dataclass(frozen=True)
class Check:
    """Why an endpoint refuses a request.

    Attributes:
        words: The words of its status 400.
        finds: Whether a request is to be refused.
        spoil: Makes a request that it takes one that it refuses.
        param: The field of the error that has the words; its message is then ``Param Incorrect``.
    """

    words: str
    finds: Callable[[Body, Memory], bool]
    spoil: Callable[[Body], Body]
    param: bool = False


# -- what the checks look at


def _answers(body: Body) -> Iterator[tuple[int, list[Block]]]:
    for number, message in enumerate(body["messages"]):
        if message["role"] == "assistant":
            yield number, message["content"]


def _thinking(body: Body) -> Iterator[tuple[int, Block]]:
    for number, blocks in _answers(body):
        yield from ((number, block) for block in blocks if block["type"] == "thinking")


def _calls(blocks: list[Block]) -> bool:
    return any(block["type"] == "tool_use" for block in blocks)


def _thinks(body: Body) -> bool:
    return (body.get("thinking") or {}).get("type") != "disabled"


def _begins_without(body: Body, _: Memory) -> bool:
    """The current tool loop has a response that does not begin with thinking."""
    asked = [
        number
        for number, message in enumerate(body["messages"])
        if message["role"] == "user" and message["content"][0]["type"] != "tool_result"
    ]
    loop = [blocks for number, blocks in _answers(body) if number > max(asked)]
    return _thinks(body) and any(blocks[0]["type"] not in THINKING for blocks in loop if _calls(blocks))


def _any_without(body: Body, memory: Memory) -> bool:
    """A response has no thinking, or thinking without the signature that was sent."""
    without = any(all(block["type"] not in THINKING for block in blocks) for _, blocks in _answers(body))
    signatures = ((memory.sent.get(block["thinking"]), block) for _, block in _thinking(body))
    stripped = any(sent and sent[0] != block.get("signature") for sent, block in signatures)
    return _thinks(body) and (without or stripped)


def _calls_without(body: Body, _: Memory) -> bool:
    """A response with calls has no thinking."""
    return _thinks(body) and any(
        _calls(blocks) and not any(block.get("thinking") for block in blocks) for _, blocks in _answers(body)
    )


def _unverified(body: Body, memory: Memory) -> bool:
    return any(
        memory.sent.get(block["thinking"], ("", []))[0] != block.get("signature") or not block["signature"]
        for _, block in _thinking(body)
    )


def _moved(body: Body, memory: Memory) -> bool:
    """A signed block follows other messages than those it was the response to."""
    known = ((number, memory.sent.get(block["thinking"])) for number, block in _thinking(body))
    return any(sent and sent[0] and sent[1] != body["messages"][:number] for number, sent in known)


def _keyless(body: Body, _: Memory) -> bool:
    return any("signature" not in block for _, block in _thinking(body))


def _empty(body: Body, _: Memory) -> bool:
    return any(not block["thinking"] for _, block in _thinking(body))


def _redacted(body: Body, _: Memory) -> bool:
    return any(block["type"] == "redacted_thinking" for _, blocks in _answers(body) for block in blocks)


# -- how a request is spoiled


def _without_thinking(body: Body) -> Body:
    body = copy.deepcopy(body)
    for _, blocks in _answers(body):
        blocks[:] = [block for block in blocks if block["type"] not in THINKING]
    return body


def _with(**fields: Any) -> Callable[[Body], Body]:
    def spoil(body: Body) -> Body:
        body = copy.deepcopy(body)
        for _, block in _thinking(body):
            block.update(fields)
        return body

    return spoil


def _without_signature(body: Body) -> Body:
    body = copy.deepcopy(body)
    for _, block in _thinking(body):
        block.pop("signature", None)
    return body


def _with_redacted(body: Body) -> Body:
    body = copy.deepcopy(body)
    next(_answers(body))[1].insert(0, {"type": "redacted_thinking", "data": "REDACTED"})
    return body


def _with_another_question(body: Body) -> Body:
    body = copy.deepcopy(body)
    body["messages"][0]["content"] = [{"type": "text", "text": "Something else."}]
    return body


# -- the rows

STARTS = Check(
    "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`",
    _begins_without,
    _without_thinking,
)
SIGNED = Check(
    "messages.1.content.0: Invalid `signature` in `thinking` block", _unverified, _with(signature="OTHER")
)
ZENMUX = Check("Invalid `signature` in `thinking`", _unverified, _with(signature="OTHER"))
BOUND = Check(
    "Invalid `signature` in `thinking` block. The block is bound to a different conversation.",
    _moved,
    _with_another_question,
)
HAS_TEXT = Check("each thinking block must contain thinking", _empty, _with(thinking=""))
EVERY = Check(
    "The `content[].thinking` in the thinking mode must be passed back to the API.",
    _any_without,
    _without_thinking,
)
SIGNED_EVERY = Check(EVERY.words, _any_without, _without_signature)
KIMI = Check(
    "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1",
    _calls_without,
    _without_thinking,
)
MIMO = Check(
    "The reasoning_content in the thinking mode must be passed back to the API.",
    _calls_without,
    _without_thinking,
    param=True,
)
KEY = Check(
    "Failed to deserialize the JSON body: data did not match any variant of untagged enum InputContent",
    _keyless,
    _without_signature,
)
NOT_REDACTED = Check("Anthropic redacted_thinking history is not supported", _redacted, _with_redacted)

ORIGINAL, NUMBERED, EMPTY, NONE = "original", "numbered", "empty", "none"
"""How thinking is signed: verifiably, with a mere number, with an empty value, or without the field."""


@dataclass(frozen=True)
class Endpoint:
    """An endpoint.

    Attributes:
        provider: The ID of the provider.
        model: One of its models.
        signs: How it signs thinking.
        checks: What it refuses.
        last_only: Whether the model reads only the last thinking block of a response.
    """

    provider: str
    model: str
    signs: str
    checks: tuple[Check, ...] = ()
    last_only: bool = False

    def refusal(self, body: Body, memory: Memory) -> tuple[str, str | None] | None:
        """The message and the parameter of its status 400; ``None`` if it takes the request."""
        if faults := _is_of_the_form(body):
            return faults[0], None
        found = next((check for check in self.checks if check.finds(body, memory)), None)
        if found is None:
            return None
        return ("Param Incorrect", found.words) if found.param else (found.words, None)

    def read(self, body: Body) -> list[str]:
        """The thinking of the whole history that reaches the model, by response."""
        texts = [
            [block["thinking"] for block in blocks if block["type"] == "thinking"]
            for _, blocks in _answers(body)
        ]
        return ["".join(found[-1:] if self.last_only else found) for found in texts]

    def signature(self, numbers: count[int]) -> str | None:
        """The signature of the next block; ``None`` if there is no such field."""
        number = next(numbers)
        signed = {ORIGINAL: f"SIGNATURE-{number}", NUMBERED: f"{number:032x}", EMPTY: ""}
        return signed.get(self.signs)


_CLAUDE = (ORIGINAL, (SIGNED, STARTS))
_BOUND = (ORIGINAL, (BOUND, SIGNED, STARTS))

_ALL = (
    Endpoint("anthropic", "claude-opus-5-5", *_BOUND),
    Endpoint("bedrock", "anthropic.claude-sonnet-4-6", *_CLAUDE),
    Endpoint("bedrock-mantle", "anthropic.claude-sonnet-4-6", *_CLAUDE),
    Endpoint("azure", "claude-sonnet-4-6", *_CLAUDE),
    Endpoint("azure", "claude-opus-5-5", *_BOUND),
    Endpoint("google-vertex", "claude-sonnet-4-6", *_CLAUDE),
    Endpoint("cloudflare", "claude-sonnet-4-6", *_CLAUDE),
    Endpoint("cloudflare", "claude-opus-5-5", *_BOUND),
    Endpoint("zenmux", "anthropic/claude-sonnet-4.6", ORIGINAL, (ZENMUX, STARTS)),
    Endpoint("github-copilot", "claude-sonnet-4.6", ORIGINAL, (HAS_TEXT, SIGNED, STARTS)),
    Endpoint("github-copilot", "claude-opus-5.5", ORIGINAL, (HAS_TEXT, BOUND, SIGNED, STARTS)),
    Endpoint("snowflake", "claude-sonnet-4-6", *_CLAUDE),
    Endpoint("snowflake", "claude-opus-5-5", *_BOUND),
    Endpoint("vercel-gateway", "anthropic/claude-sonnet-4.6", *_CLAUDE),
    Endpoint("vercel-gateway", "anthropic/claude-opus-5.5", *_BOUND),
    Endpoint("vercel-gateway", "zai/glm-5", EMPTY),
    Endpoint("openrouter", "anthropic/claude-opus-5.5", *_BOUND),
    Endpoint("openrouter", "anthropic/claude-sonnet-4.6", *_CLAUDE),
    Endpoint("openrouter", "deepseek/deepseek-v4-pro", NONE, (EVERY,)),
    Endpoint("openrouter", "moonshotai/kimi-k2.6", NONE, (KIMI,)),
    Endpoint("openrouter", "qwen/qwen3.5", NONE),
    Endpoint("opencode-zen", "claude-opus-5-5", *_BOUND),
    Endpoint("opencode-zen", "claude-sonnet-4-6", *_CLAUDE),
    Endpoint("opencode-zen", "kimi-k2.6", NONE),
    Endpoint("opencode-go", "minimax-m3", NONE),
    Endpoint("litellm", "anthropic/claude-opus-5-5", *_BOUND),
    Endpoint("litellm", "anthropic/claude-sonnet-4-6", *_CLAUDE),
    Endpoint("litellm", "deepseek/deepseek-v4-pro", NUMBERED, (EVERY, SIGNED_EVERY)),
    Endpoint("litellm", "moonshot/kimi-k2.6", EMPTY, (KIMI,)),
    Endpoint("litellm", "minimax/MiniMax-M3", ORIGINAL, (BOUND,)),
    Endpoint("litellm", "zai/glm-5", EMPTY),
    Endpoint("deepseek", "deepseek-v4-pro", NUMBERED, (EVERY, SIGNED_EVERY)),
    Endpoint("moonshot", "kimi-k2.6", NONE, (KIMI,)),
    Endpoint("kimi-coding", "kimi-for-coding", NUMBERED, (KIMI,)),
    Endpoint("xiaomi", "mimo-v2.5-pro", EMPTY, (MIMO,)),
    # It refuses signed blocks in another context; its words are not known, so these are Claude's.
    Endpoint("minimax", "MiniMax-M3", ORIGINAL, (BOUND,)),
    Endpoint("zai", "glm-5.2", EMPTY),
    Endpoint("zai-coding-plan", "glm-5.2", EMPTY),
    Endpoint("dashscope", "qwen3.5-plus", NUMBERED),
    Endpoint("fireworks", "accounts/fireworks/models/glm-5", EMPTY),
    Endpoint("ollama", "qwen3.5", NONE, last_only=True),
    Endpoint("ollama-cloud", "glm-5", NONE, last_only=True),
    Endpoint("vllm", "Qwen/Qwen3.5", NUMBERED),
    Endpoint("sglang", "Qwen/Qwen3.5", NONE, (NOT_REDACTED,)),
    Endpoint("sglang-gateway", "Qwen/Qwen3.5", NONE, (KEY,)),
    Endpoint("lmdeploy", "Qwen/Qwen3.5", NUMBERED),
    Endpoint("llamacpp", "gpt-oss", EMPTY),
    Endpoint("lmstudio", "gpt-oss", EMPTY),
    Endpoint("huawei", "deepseek-v4", NUMBERED),
    Endpoint("volcengine", "glm-5", EMPTY),
    Endpoint("longcat", "longcat-flash", EMPTY),
    Endpoint("databricks", "some-model", EMPTY),
    Endpoint("xai", "grok-4", EMPTY),
)

ENDPOINTS: dict[str, Endpoint] = {f"{one.provider} {one.model}": one for one in _ALL}
