"""Claude by generation: which `thinking` and headers each takes, and what it shows; from Anthropic's pages.

`Claude.refusal` says what the real API would, in its words where they are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from tests.support.strict_providers.anthropic_messages import SHAPE
from tests.support.strict_providers.shapes import misshapen
from tests.support.validators import check_anthropic

__all__ = ["CLAUDES", "Claude"]

Body = dict[str, Any]
INTERLEAVED, BINDING = "interleaved-thinking-2025-05-14", "thinking-binding-controls-2026-08-01"
CONVERSATION = ("messages", "system", "tools")
SAMPLING = {"temperature": 1, "top_p": 0.99, "top_k": None}
KINDS = ("enabled", "adaptive", "disabled")
MEMBERS = {
    "enabled": {"type", "budget_tokens", "display", "block_binding"},
    "adaptive": {"type", "display", "block_binding"},
    "disabled": {"type"},
}
FIELDS = {
    *CONVERSATION,
    *SAMPLING,
    "model",
    "max_tokens",
    "thinking",
    "stream",
    "tool_choice",
    "output_config",
}
UNSUPPORTED = (
    '"thinking.type.{}" is not supported for this model. Use "thinking.type.adaptive" and '
    '"output_config.effort" to control thinking behavior.'
)


@dataclass(frozen=True)
class Claude:
    """One model.

    Attributes:
        model: Its name.
        takes: The types of `thinking` that it takes.
        thinks: Whether it thinks without the field.
        shows: Whether it shows what it thinks if `display` is not set.
        interleaves: Whether a header makes it think between calls; later models always do.
        binds: Whether a block must stay behind the conversation that it was made in.
        samples: Whether it takes sampling parameters while it does not think.
        unread: The models whose blocks it does not read, which are dropped without an error.
    """

    model: str
    takes: tuple[str, ...]
    thinks: bool = False
    shows: bool = True
    interleaves: bool = False
    binds: bool = False
    samples: bool = True
    unread: tuple[str, ...] = field(default=())

    def refusal(self, body: Body, headers: Mapping[str, str]) -> str | None:
        """Say what is wrong with a request; ``None`` if it is accepted."""
        return next(self._faults(body, headers), None)

    def _faults(self, body: Body, headers: Mapping[str, str]) -> Iterator[str]:
        yield from (f"{name}: Extra inputs are not permitted" for name in body.keys() - FIELDS)
        yield from self._thinking_faults(body, betas(headers))
        thinks = self.on(body)
        sampling = {name for name, usual in SAMPLING.items() if name in body and body[name] != usual}
        if headers.get("anthropic-version") == "2026-10-21" and SAMPLING.keys() & body.keys():
            yield "temperature, top_p and top_k were removed in this API version"
        if sampling and (thinks or not self.samples):
            yield f"`{min(sampling)}` may only be set to its default when thinking is enabled"
        if thinks and body.get("tool_choice", {}).get("type") in ("any", "tool"):
            yield "Thinking may not be enabled when tool_choice forces tool use."
        conversation = {name: body[name] for name in CONVERSATION if name in body}
        yield from misshapen(SHAPE, conversation)
        if thinks:
            yield from check_anthropic(conversation)

    def _thinking_faults(self, body: Body, features: set[str]) -> Iterator[str]:
        thinking = body.get("thinking")
        if thinking is None:
            return
        kind = thinking.get("type")
        if kind not in KINDS:
            yield f"thinking: Input tag {kind!r} found using 'type' does not match any of the expected tags"
        elif kind not in self.takes:
            old = "adaptive thinking is not supported on this model"
            yield old if kind == "adaptive" else UNSUPPORTED.format(kind)
        else:
            known = MEMBERS[kind] - (set() if BINDING in features else {"block_binding"})
            for name in thinking.keys() - known:
                yield f"thinking.{kind}.{name}: Extra inputs are not permitted"
        budget = thinking.get("budget_tokens", 0)
        if kind == "enabled" and budget < 1024:
            yield "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
        if kind == "enabled" and INTERLEAVED not in features and budget >= body["max_tokens"]:
            yield "`max_tokens` must be greater than `thinking.budget_tokens`"

    def on(self, body: Body) -> bool:
        """Whether it thinks."""
        kind = body.get("thinking", {}).get("type")
        return self.thinks if kind is None else kind != "disabled"

    def shown(self, body: Body) -> bool:
        """Whether the response contains the text of what it thinks."""
        display = body.get("thinking", {}).get("display")
        return self.shows if display is None else display == "summarized"

    def thinks_between_calls(self, headers: Mapping[str, str]) -> bool:
        """Whether it also thinks after a result."""
        return "adaptive" in self.takes or (self.interleaves and INTERLEAVED in betas(headers))

    def read(self, body: Body, makers: Mapping[str, str]) -> list[str]:
        """Return the signatures that it reads, given the model that made each."""
        found = [
            block["signature"]
            for message in body["messages"]
            for block in message["content"]
            if block["type"] == "thinking"
        ]
        return [one for one in found if not any(fnmatchcase(makers[one], name) for name in self.unread)]


def betas(headers: Mapping[str, str]) -> set[str]:
    """Return the beta features that a request names."""
    return {name.strip() for name in headers.get("anthropic-beta", "").split(",")}


_MANUAL = ("enabled", "disabled")
_BOTH = ("enabled", "adaptive", "disabled")
_ADAPTIVE = ("adaptive", "disabled")
_ALWAYS = ("adaptive",)
_FABLES = ("claude-fable-*", "claude-mythos-*")
_LATER = ("claude-fable-5-1", "claude-mythos-5-1", "claude-*-5-2", "claude-opus-5-5", "claude-sonnet-5-5")

CLAUDES: dict[str, Claude] = {
    claude.model: claude
    for claude in (
        Claude("claude-3-7-sonnet-20250219", _MANUAL, unread=_LATER),
        Claude("claude-opus-4-20250514", _MANUAL, interleaves=True, unread=_LATER),
        Claude("claude-haiku-4-5", _MANUAL, unread=_LATER),
        Claude("claude-sonnet-4-5", _MANUAL, interleaves=True, unread=_LATER),
        Claude("claude-sonnet-4-6", _BOTH, unread=_LATER),
        Claude("claude-opus-4-7", _ADAPTIVE, shows=False, samples=False, unread=_LATER),
        Claude("claude-opus-5", _ADAPTIVE, thinks=True, shows=False, samples=False, unread=_LATER),
        Claude("claude-fable-5", _ALWAYS, thinks=True, shows=False, samples=False, unread=_LATER),
        Claude(
            "claude-opus-5-5",
            _ALWAYS,
            thinks=True,
            shows=False,
            binds=True,
            samples=False,
            unread=(*_FABLES, "claude-sonnet-5-5"),
        ),
        Claude(
            "claude-sonnet-5-5",
            _ALWAYS,
            thinks=True,
            shows=False,
            binds=True,
            samples=False,
            unread=(*_FABLES, "claude-opus-5", "claude-opus-5-5"),
        ),
        Claude(
            "claude-fable-5-1",
            _ALWAYS,
            thinks=True,
            shows=False,
            binds=True,
            samples=False,
            unread=("claude-*-5-2", "claude-sonnet-5-5"),
        ),
    )
}
