"""The client's input of a run, checked, and the first and last events of a run or of a subagent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ag_ui.core import AssistantMessage, Interrupt, ResumeEntry, RunAgentInput
from msgspec import Struct
from pydantic import ValidationError

from agui_reasoning._limits import Limits
from agui_reasoning._strict_json import JSONObject, places_of, well_formed
from agui_reasoning._wire_events import hint, wire_event
from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.protocol import PROTOCOL_VERSION

if TYPE_CHECKING:  # only its counts are read
    from agui_reasoning.deltas import UsageDelta

_COUNTS: Final = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "total_tokens": "totalTokens",
    "reasoning_tokens": "reasoningTokens",
    "cached_input_tokens": "cachedInputTokens",
    "cache_write_input_tokens": "cacheWriteInputTokens",
}
"""The counts of a `UsageDelta`, and their wire names."""

_MAX_COUNT = 2**53 - 1
"""The largest count that AG-UI accepts. Negative counts are ignored."""

CANCELLED_SENTENCE = "The run was cancelled."
CANCELLED_CODE = "cancelled"

_CREDENTIALS: Final = frozenset({"fallback_credit_token"})
"""Members of the details that only the server may use."""


class Ending(Struct, frozen=True):
    """The contents of a run's last event."""

    now: int | None
    usage: list[JSONObject] | None
    interrupts: Sequence[Interrupt] = ()
    pending: Sequence[str] = ()
    result: Any = None
    finish_reason: str | None = None
    finish_details: Mapping[str, Any] | None = None

    @property
    def metadata(self) -> dict[str, Any] | None:
        """The finish reason of the last response and what the provider says about it, as metadata."""
        if not self.finish_reason:
            return None
        details = well_formed(dict(self.finish_details or {}))
        told = {name: value for name, value in details.items() if name not in _CREDENTIALS}
        return hint({"finishReason": self.finish_reason} | ({"finishDetails": told} if told else {}))


class RunFrame(Struct, frozen=True):
    """Creates the first and last events of a run, as wire JSON.

    Attributes:
        modern: Whether the client declares a protocol version, and thus supports the outcomes of 1.0.
    """

    thread_id: str
    run_id: str
    modern: bool

    def started(self, now: int | None) -> JSONObject:
        return wire_event(
            "RUN_STARTED", now, threadId=self.thread_id, runId=self.run_id, protocolVersion=PROTOCOL_VERSION
        )

    def finished(self, end: Ending) -> JSONObject:
        outcome: JSONObject | None = None
        if end.interrupts:
            outcome = {"type": "interrupt", "interrupts": list(end.interrupts)}
        elif end.pending and self.modern:
            outcome = {"type": "success", "pendingToolCallIds": list(end.pending)}
        return self._finished(end, outcome)

    def _finished(self, end: Ending, outcome: JSONObject | None) -> JSONObject:
        return wire_event(
            "RUN_FINISHED",
            end.now,
            end.metadata,
            threadId=self.thread_id,
            runId=self.run_id,
            result=end.result,
            outcome=outcome,
            usage=end.usage,
        )

    def cancelled(self, end: Ending, *, begun: bool) -> JSONObject:
        """Return RUN_FINISHED for clients that support the outcome, else RUN_ERROR."""
        if self.modern and begun:
            return self._finished(end, {"type": "cancelled"})
        return self.failed(end, CANCELLED_SENTENCE, CANCELLED_CODE)

    def failed(self, end: Ending, message: str, code: str | None) -> JSONObject:
        return wire_event("RUN_ERROR", end.now, message=message, code=code, usage=end.usage)


class SubagentFrame(Struct, frozen=True):
    """Creates those of a subagent inside a run."""

    id: str
    name: str
    parent_id: str | None = None

    def started(self, now: int | None) -> JSONObject:
        return self._event("STARTED", now, name=self.name, parentSubagentRunId=self.parent_id)

    def finished(self, end: Ending) -> JSONObject:
        ids = [interrupt.id for interrupt in end.interrupts]
        outcome = {"type": "suspended", "interruptIds": ids} if ids else None
        return self._event("FINISHED", end.now, result=end.result, outcome=outcome)

    def cancelled(self, end: Ending, *, begun: bool) -> JSONObject:
        return self.failed(end, CANCELLED_SENTENCE, CANCELLED_CODE)

    def failed(self, end: Ending, message: str, code: str | None) -> JSONObject:
        return self._event("ERROR", end.now, message=message, code=code)

    def _event(self, step: str, now: int | None, **members: Any) -> JSONObject:
        return wire_event(f"SUBAGENT_{step}", now, None, self.id, **members)


Frame: TypeAlias = RunFrame | SubagentFrame


def usage_of(counts: Sequence[UsageDelta]) -> list[JSONObject] | None:
    """Return one entry per provider and model; ``None`` if nothing was reported."""
    if not counts:
        return None
    entries: dict[tuple[str | None, str | None], dict[str, int]] = {}
    for count in counts:
        entry = entries.setdefault((count.provider, count.model), {})
        for name in _COUNTS:
            value = getattr(count, name)
            if value is not None and value >= 0:
                entry[name] = min(entry.get(name, 0) + value, _MAX_COUNT)
    return [_usage(*who, sums) for who, sums in entries.items() if sums] or None


def _usage(provider: str | None, model: str | None, sums: Mapping[str, int]) -> JSONObject:
    named = {"provider": provider, "model": model}
    usage: JSONObject = {name: value for name, value in named.items() if value is not None}
    return usage | {wire_name: sums[name] for name, wire_name in _COUNTS.items() if name in sums}


# -- the input


def parse_input(
    run_input: RunAgentInput | Mapping[str, Any], limits: Limits
) -> tuple[RunAgentInput, list[str], bool]:
    """Check the limits of the input, then validate it.

    Returns:
        The input, the IDs of its tool calls, in order, and whether its messages were validated just now.

    Raises:
        RemoteProtocolError: It is malformed (``bad_input``) or exceeds the limits (``too_large``).
    """
    messages = run_input.get("messages") if isinstance(run_input, Mapping) else None
    is_json = isinstance(messages, list)
    if messages and is_json:
        limits.check_json(*messages)
    parsed = _validated(run_input)
    schemas = [tool.parameters for tool in parsed.tools or ()]
    answers = [one.payload for one in parsed.resume or ()]
    if parsed.state or parsed.forwarded_props or schemas or answers:
        limits.check_json(parsed.state, parsed.forwarded_props, schemas, answers)
    if parsed.resume:
        _check_answers(parsed.resume)
    limits.check("messages", len(parsed.messages))
    call_ids = _call_ids(parsed)
    limits.check("calls", len(call_ids))
    return parsed, call_ids, is_json


_validate: Final[Callable[[Any], RunAgentInput]] = RunAgentInput.__pydantic_validator__.validate_python


def _validated(run_input: RunAgentInput | Mapping[str, Any]) -> RunAgentInput:
    try:
        return _validate(run_input)
    except ValidationError as error:
        # Pydantic's own text quotes the conversation, so only positions are named.
        places = places_of(error, run_input)
    raise RemoteProtocolError(
        f"The run input is malformed at {places}.",
        code="bad_input",
        hint="Send a RunAgentInput as AG-UI 1.0 describes it.",
    )


def _check_answers(resume: Iterable[ResumeEntry]) -> None:
    """Reject two different answers to one interrupt: which of them counts is not for us to choose."""
    answers: dict[str, ResumeEntry] = {}
    for number, entry in enumerate(resume):
        if answers.setdefault(entry.interrupt_id, entry) != entry:
            raise RemoteProtocolError(
                f"The run input is malformed at /resume/{number}: expected the answer that an earlier entry "
                "gives to the same interrupt.",
                code="bad_input",
                hint="Send one entry of `resume` for each interrupt.",
            )


def _call_ids(run_input: RunAgentInput) -> list[str]:
    answers = [message for message in run_input.messages if type(message) is AssistantMessage]
    return [call.id for message in answers for call in message.tool_calls or ()]
