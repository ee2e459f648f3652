"""Refuse what Anthropic refuses of its beta features: blocks and fields whose header is missing.

The words are those of the API where they are known (senpi#1212; anthropic SDK, types of ``error.details``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.support.strict_providers.shapes import Body
from tests.support.validators import check_anthropic

__all__ = ["Threads", "named_betas", "refuse"]

NEEDED = {
    "fallback": ("server-side-fallback-2026-06-01", "server-side-fallback-2026-07-01"),
    "compaction": ("compact-2026-01-12",),
    "signed": ("compact-2026-09-04",),
}


def named_betas(body: Body) -> set[str]:
    """The features that the SDK's arguments name."""
    headers = (body.get("extra_headers") or {}).get("anthropic-beta", "")
    return {name.strip() for name in headers.split(",") if name} | set(body.get("betas") or ())


def refuse(body: Body) -> str | None:
    """The words of the status 400; ``None`` if the request is taken."""
    plain = {name: value for name, value in body.items() if name not in ("extra_headers", "betas")}
    return next(iter([*_unnamed(body), *check_anthropic(plain)]), None)


def _unnamed(body: Body) -> Iterator[str]:
    named = named_betas(body)
    for number, message in enumerate(body["messages"]):
        for place, block in enumerate(message["content"]):
            kind = "signed" if block.get("type") == "compaction" and block.get("signature") else block["type"]
            if kind in NEEDED and not named & {*NEEDED[kind]}:
                yield (
                    f"messages.{number}.content.{place}: Input tag '{block['type']}' found using 'type' does "
                    "not match any of the expected tags: 'text', 'tool_use'"
                )


@dataclass
class Threads:
    """The conversations that the API holds, by the ID of the last response.

    Attributes:
        held: The messages up to each response.
        unsupported: Whether the organization has no threads.
    """

    held: dict[str, list[Any]] = field(default_factory=dict)
    unsupported: bool = False

    def refuse(self, body: Body) -> tuple[int, str, str | None] | None:
        """The status, the words and the code with which a request is refused; ``None`` if it is taken."""
        thread = body.get("thread")
        if thread is None:
            words = refuse(body)
            return None if words is None else (400, words, None)
        if "message-threads-2026-08-12" not in named_betas(body):
            return 400, "thread: Extra inputs are not permitted", None
        if self.unsupported:
            return 400, "This request cannot be threaded", "thread_unsupported_request"
        before: list[Any] = []
        if thread["type"] == "continue":
            if kept := {"system", "tools"} & set(body):
                return 400, f"{min(kept)}: not allowed with `thread.type: continue`", None
            # Each response can be continued once.
            found = self.held.pop(thread["previous_message_id"], None)
            if found is None:
                return 404, "No thread state was found for `previous_message_id`", "thread_not_found"
            before = found
        words = refuse(self._whole(body, before))
        return None if words is None else (400, words, None)

    def hold(self, body: Body, before: list[Any], name: str, reply: list[Any]) -> None:
        """Hold the conversation under the ID of a response."""
        messages = self._whole(body, before)["messages"]
        self.held[name] = [*messages, {"role": "assistant", "content": reply}]

    def _whole(self, body: Body, before: list[Any]) -> Body:
        plain = {name: value for name, value in body.items() if name != "thread"}
        return {**plain, "messages": [*before, *body["messages"]]}
