"""The page's own client gives the same messages as `agui_reasoning.Conversation`."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page

from agui_reasoning.consumer import Conversation
from tests.conformance import corpus
from tests.support.verifier import plain

_RECEIVE = """async ([events, messages]) => {
    const { Conversation } = await import("/_page/conversation.js");
    const conversation = new Conversation("t", { messages });
    for (const event of events) conversation.receive(event);
    const { state } = conversation;
    return { messages: conversation.messages, state, next: conversation.runInput({ runId: "r" }).messages };
}"""
_MADE_UP = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|thinking-[0-9a-f]{32}-\d+")
_UNKNOWN = "hologram"
_NOVEL = {
    "era-0-0-47-upgrades-binary-content",
    "era-current-peer-keeps-modern-content",
    "state-delta-unknown-op-dropped",
    "unknown-enum-value-role-fatal",
    "unknown-part-in-message-list",
}
"""The page keeps members that it does not know, and knows no older content: its gateway sends neither."""


def of_the_page(page: Page, events: list[Any], messages: list[Any]) -> Any:
    return levelled(page.evaluate(_RECEIVE, [events, messages]))


def of_the_library(events: list[Any], messages: list[Any]) -> Any:
    conversation = Conversation("t", messages=messages, state={}, on_warning=lambda text: None)
    for event in events:
        conversation.receive(event)
    kept = plain(conversation.messages)
    following = [message for message in kept if message["role"] != "activity"]
    return levelled({"messages": kept, "state": conversation.state, "next": following})


def levelled(value: Any) -> Any:
    """Without what only the library strips, and with ids that were made up numbered."""
    seen: dict[str, str] = {}
    text = _MADE_UP.sub(
        lambda match: seen.setdefault(match[0], f"made-up-{len(seen)}"), json.dumps(_stripped(value))
    )
    return json.loads(text)


def _stripped(value: Any) -> Any:
    if isinstance(value, list):
        return [_stripped(element) for element in value if not _is_stripped(element)]
    return {name: _stripped(member) for name, member in value.items()} if isinstance(value, dict) else value


def _is_stripped(value: Any) -> bool:
    source = value.get("source") if isinstance(value, dict) else None
    return isinstance(source, dict) and source.get("type") == _UNKNOWN


@pytest.mark.skipif(not corpus.names(), reason=f"nothing at {corpus.STREAMS}; set AGUI_REASONING_SHARED")
def test_the_official_streams(modules: Page) -> None:
    """Those that are valid: what is not, the page need not notice."""
    streams = [corpus.stream(name) for name in corpus.names() if name not in _NOVEL]
    valid = [stream for stream in streams if stream.expect["outcome"] == "completed"]
    of = {stream.name: (stream.events, stream.messages) for stream in valid}
    theirs = {name: of_the_page(modules, *given) for name, given in of.items()}
    assert theirs == {name: of_the_library(*given) for name, given in of.items()}
