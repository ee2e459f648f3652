"""The codes of findings and errors, and what the documentation says of each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal, NamedTuple


class FindingKind(NamedTuple):
    """A kind of finding, with what it means in one sentence."""

    severity: Literal["error", "warning"]
    means: str


_ERRORS: Final = {
    "malformed_event": "A required field is missing, or a field has an invalid value.",
    "run_order": "An event is outside a run, or a run starts inside another.",
    "not_open": "A content or end event refers to something that is not open.",
    "already_open": "A start event refers to something that is already open.",
    "left_open": "`RUN_FINISHED` arrives while something is still open.",
    "owner_mismatch": "An event and the item that it refers to belong to different subagents.",
    "subagent_order": "A subagent starts twice, starts before its parent, or ends without having started.",
    "chunk_without_id": "A chunk starts a message or call without naming it.",
    "chunk_conflict": "A chunk contradicts the first chunk of its message or call.",
    "chunk_ambiguous": "A chunk could continue more than one message or call.",
    "truncated_run": "The stream ends inside a run, or before the first one.",
}
_WARNINGS: Final = {
    "legacy_shape": "An event has a form from before AG-UI 1.0, and was translated.",
    "unknown_event": (
        "An event has an unknown type, or an unknown value in a required field, and was dropped."
    ),
    "unknown_member": "A field, list element or outcome is unknown, and was removed.",
    "newer_version": "The declared protocol version is newer than the supported one, or invalid.",
    "missing_version": "`RUN_STARTED` has no `protocolVersion`.",
    "run_identity": "The IDs of a run change between its start and its end, or a stream changes its thread.",
    "duplicate_interrupt": "Two interrupts of a run have the same ID.",
    "unknown_entity": (
        "An encrypted value belongs to a message or call that the stream does not contain, and is lost."
    ),
    "value_before_entity": "An encrypted value arrives before its message or call, and is lost.",
    "replaced_value": "A second encrypted value replaces the first value of the same message or call.",
    "shared_id": "Two messages with different roles have the same ID.",
    "snapshot_drops_value": "A `MESSAGES_SNAPSHOT` removes encrypted values from the client's messages.",
    "snapshot_after_reasoning": "A `MESSAGES_SNAPSHOT` follows reasoning that was streamed in the same run.",
    "missing_parent": "A tool call has no `parentMessageId`.",
    "empty_chunk": "An empty chunk comes last for an item, and does not end it.",
    "reopened_id": "A message is started again after it has ended.",
    "late_reasoning_end": "A reasoning message ends after text of its response has begun.",
    "stored_on_span": "A reasoning span has metadata or an encrypted value.",
    "raw_beside_hidden": "A run with hidden reasoning contains raw provider data.",
    "credential_in_event": "An event contains something that looks like a credential.",
    "reasoning_in_raw": (
        "An event outside the `REASONING_*` family contains a provider's reasoning, signatures or encrypted "
        "values."
    ),
    "unknown_target": "An event has no effect, because the client does not have the message or activity.",
    "patch_failed": "A patch cannot be applied to the state or activity.",
    "parent_not_assistant": "The parent of a tool call is not an assistant message.",
    "call_renamed": "A tool call is started again under a different name.",
    "missing_value": "A run has reasoning, but no encrypted value.",
    "reasoning_without_text": "A run has signed reasoning, but no text of it.",
    "copied_reasoning": (
        "An event outside the `REASONING_*` family repeats reasoning or an encrypted value of the run."
    ),
    "repeated_reasoning": "A reasoning message after the answer repeats the text of one before it.",
    "result_renamed": "A `MESSAGES_SNAPSHOT` contains a tool result under another ID than the streamed one.",
}
FINDINGS: Final[Mapping[str, FindingKind]] = {
    **{code: FindingKind("error", means) for code, means in _ERRORS.items()},
    **{code: FindingKind("warning", means) for code, means in _WARNINGS.items()},
}
"""The codes, errors first. ``docs/reference/findings/index.md`` has the same table."""


@cache
def explained() -> Mapping[str, Sequence[tuple[str, str]]]:
    """Return what is said of each code, as kinds (``title``, ``heading``, ``text``, ``code``) and texts."""
    found: dict[str, Any] = json.loads(
        files("agui_reasoning").joinpath("_explained.json").read_text(encoding="utf-8")
    )
    return found
