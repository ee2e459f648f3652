"""List the rules of a consumer, and the tests that prove each.

A test says which rules it proves with ``@requirement("C47")``; `test_requirements` checks that every rule has
a test and every such mark names a rule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])

MARK = "__requirements__"

REQUIREMENTS = {
    "C1": "compatibility, enforcement, expansion, verification, reduction: in this order on every path",
    "C2": "a reader judges no more than an object with a type",
    "C3": "what came before a failure is kept",
    "C4": "whole fields that used to be null are absent, each with a warning, and no others",
    "C5": "binary parts become media parts, coming in and going out",
    "C6": "THINKING_* becomes REASONING_*",
    "C7": "an unknown event is dropped with a warning",
    "C8": "an unknown property is stripped with a warning that has its path",
    "C9": "an unknown union member is stripped, and takes with it what cannot be without it",
    "C10": "a malformed value is fatal, never coerced",
    "C11": "an unknown member of a closed set is stripped; a constant is no set",
    "C12": "open objects keep everything",
    "C13": "RAW and CUSTOM are delivered in silence",
    "C14": "a clean stream gives no warning",
    "C15": "what goes out is stripped and checked; reasoning and values stay, activities do not",
    "C16": "chunks are expanded after enforcement, before verification",
    "C17": "one open chunk item per lane",
    "C18": "a chunk finds its lane by id, by tag, or because there is only one",
    "C19": "a first chunk needs its id; nothing is made up",
    "C20": "a continuation may repeat what the opener settled, not change it",
    "C21": "a content event carries delta, rawEvent and metadata of its chunk",
    "C22": "what closes a lane, and which",
    "C23": "what closes no lane",
    "C24": "the same id after a close goes on with the same message",
    "C25": "the end of a stream makes up no end",
    "C26": "run events in order; a new run starts afresh",
    "C27": "only what is open can go on or end, only what is not can start, nothing stays open",
    "C28": "spans and reasoning messages are apart, and share owners",
    "C29": "steps belong to their owner",
    "C30": "nobody speaks for another's message, also after it was closed",
    "C31": "histories tell owners: snapshots always, echoes where nobody has",
    "C32": "subagents start once, after their parent, and end once",
    "C33": "ids of run ends, one thread, and interrupt ids: warned about",
    "C34": "RUN_ERROR is delivered, and no success",
    "C35": "cancelled is neither success nor failure",
    "C36": "text builds a message, verbatim",
    "C37": "reasoning builds a message where it started, also an empty one",
    "C38": "spans build nothing",
    "C39": "where a tool call's message comes from",
    "C40": "a result stands behind its call",
    "C41": "a call that starts again keeps its arguments",
    "C42": "an id shared by two roles is warned about; activities are left alone",
    "C43": "a value lands on its message or call; the last one counts",
    "C44": "its type is stored with it, and deleted with it",
    "C45": "a value for nothing is tolerated with a warning",
    "C46": "a value that is lost is warned about",
    "C47": "snapshots are reconciled by id",
    "C48": "content for a message that a snapshot took away is ignored with a warning",
    "C49": "an echo adds messages, and replaces none",
    "C50": "state: snapshots of any value, patches whole or not at all",
    "C51": "activities: created, replaced, kept, patched",
    "C52": "metadata merges per key into what its event builds",
    "C53": "a message belongs to whoever created it",
    "C54": "runs add up",
    "C55": "calls that wait: named, or those without a result",
    "C56": "a turn answers every interrupt, and expired ones only by cancelling",
    "C57": "a stream that stops is truncated, and what came is kept",
    "C58": "compaction changes no result",
    "T1": "POST, JSON, Accept",
    "T2": "one event per frame of a 200 text/event-stream",
    "T3": "a status is a refusal, RUN_ERROR a failure; 200 proves nothing",
    "T4": "a frame that is not an event fails the stream; UTF-8 may be split",
    "V1": "the version is declared",
    "V2": "a newer or uninterpretable version is warned about, once per run",
    "V3": "a newer client is served, and told our version",
    "V4": "nothing is downgraded: there is no setting for older peers",
    "V5": "encryptedValueType is not dropped on the way out",
    "V6": "ids on THINKING_* are overwritten",
    "V7": "each translation is told",
    "V8": "content without a start gets a generated ID, with a warning, and fails",
    "V9": "text without a span, several texts in one",
    "V10": "nothing else is translated",
    "V11": "the translation comes before enforcement",
    "V12": "subagents and content parts are not taken from newer peers",
}


def requirement(*rules: str) -> Callable[[F], F]:
    """Mark a test as proof of rules."""

    def mark(test: F) -> F:
        setattr(test, MARK, (*getattr(test, MARK, ()), *rules))
        return test

    return mark
