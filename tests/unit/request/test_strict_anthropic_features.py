"""Prove that the strict Claude refuses what the real one refuses of compactions, fallbacks and threads."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.strict_providers.anthropic_features import Threads, refuse
from tests.unit.request.test_anthropic_boundaries import FALLBACK, SIGNED, SUMMARY, calling, said, thinking

Json = dict[str, Any]
ASKED: Json = {"role": "user", "content": [said("Weather?")]}
RESULT: Json = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "4C"}
BETAS = ["server-side-fallback-2026-07-01", "compact-2026-01-12", "compact-2026-09-04"]


def body(*blocks: Json, first: bool = False, betas: list[str] = BETAS, then: Json = ASKED) -> Json:
    """A request with these blocks of the model, after a question or first."""
    model = {"role": "assistant", "content": list(blocks)}
    return {"messages": [model, then] if first else [ASKED, model, then], "betas": betas}


@pytest.mark.parametrize(
    "good",
    [
        body(said("Let me."), FALLBACK, thinking("Hm.", "SIG"), said("Rain.")),
        body(SIGNED, said("Rain."), first=True),
        body(SUMMARY, said("Rain.")),
    ],
)
def test_what_the_api_takes(good: Json) -> None:
    assert refuse(good) is None


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (body(said("a"), FALLBACK, said("b"), betas=[]), "Input tag 'fallback' found"),
        (body(SUMMARY, said("b"), betas=["compact-2026-09-04"]), "Input tag 'compaction' found"),
        (body(SIGNED, first=True, betas=["compact-2026-01-12"]), "Input tag 'compaction' found"),
        (body(SIGNED, said("b")), "compaction_block_misplaced"),
        (body(SIGNED, said("b"), SUMMARY, first=True), "compaction_block_ambiguous"),
        (body({**SUMMARY, "content": ""}, said("b")), "at least 1 character"),
        (body(thinking("Hm.", "SIG"), FALLBACK, said("b")), "a block of the model that declined"),
        (
            body(calling("toolu_1"), FALLBACK, said("b"), then={"role": "user", "content": [RESULT]}),
            "a block of the model that declined",
        ),
        (body(said("a"), then={"role": "user", "content": [RESULT]}), "tool_use"),
        (body(FALLBACK), "content is empty"),
        (body(said("a"), first=True), "first message must use the user role"),
    ],
)
def test_what_the_api_refuses(bad: Json, words: str) -> None:
    assert words in str(refuse(bad))


CONTINUED: Json = {
    "messages": [ASKED],
    "thread": {"type": "continue", "previous_message_id": "msg_1"},
    "betas": ["message-threads-2026-08-12"],
}


def threads() -> Threads:
    held = Threads()
    held.hold({"messages": [ASKED]}, [], "msg_1", [said("Rain.")])
    return held


def test_a_thread_is_continued_once() -> None:
    held = threads()
    assert held.refuse(CONTINUED) is None
    assert held.refuse(CONTINUED) == (
        404,
        "No thread state was found for `previous_message_id`",
        "thread_not_found",
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"system": "Be brief."}, "system: not allowed"),
        ({"tools": []}, "tools: not allowed"),
        ({"betas": []}, "thread: Extra inputs are not permitted"),
        ({"messages": [{"role": "user", "content": [RESULT]}]}, "tool_use"),
    ],
)
def test_what_a_thread_refuses(change: Json, words: str) -> None:
    refused = threads().refuse({**CONTINUED, **change})
    assert refused is not None
    assert words in refused[1]
