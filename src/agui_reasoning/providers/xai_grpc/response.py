"""Turns the outputs of one response into deltas."""

from __future__ import annotations

from typing import Any, Final

from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
    NativeDelta,
    OpaqueDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
)
from agui_reasoning.parts import Opaque
from agui_reasoning.providers.payload import JSONObject
from agui_reasoning.providers.xai_grpc.outputs import TOOL, Output, OutputCall

__all__ = ["ENCRYPTED", "TOOL_OUTPUT", "XAIResponse"]

ENCRYPTED: Final = "xai.encrypted_content"
TOOL_OUTPUT: Final = "xai.tool_output"

CUT_REASONS: Final = frozenset({"REASON_MAX_LEN", "REASON_MAX_CONTEXT", "REASON_TIME_LIMIT"})


class XAIResponse:
    """Turns the outputs of one response into deltas.

    Every output of the model has a reasoning unit and a text unit, named after its index. The outputs of
    server tools repeat the calls that they answer.

    Attributes:
        id: The provider's ID of the response.
    """

    def __init__(self, response_id: str) -> None:
        self.id = response_id
        self._reason = ""
        self._index = -1
        self._finished = False
        self._open: str | None = None
        self._last: str | None = None
        self._calls: set[str] = set()
        self._results: dict[int, JSONObject] = {}
        self._failures: dict[str, str] = {}
        self._citations: dict[str, list[Any]] = {}

    @property
    def finished(self) -> bool:
        """Whether the newest output of the model has ended."""
        return self._finished

    def receive(self, output: Output) -> list[Delta]:
        """Decode an output, or the next fragment of one."""
        if output.role == TOOL:
            return self._hold(output)
        deltas = self._answer()
        if output.index != self._index:
            self._index, self._finished = output.index, False
        deltas += [*self._think(output), *self._say(output)]
        for call in output.calls:
            deltas += self._call(call)
        if output.reason:
            self._reason, self._finished = output.reason, True
            # A cut unit stays open, because more may follow until the response ends.
            deltas += [] if output.reason in CUT_REASONS else self._turn_to(None)
        return deltas

    def flush(self) -> list[Delta]:
        """Return what was held back."""
        cited, self._citations = self._citations, {}
        sources: list[Delta] = [
            TextDelta("", key=key, ext={"citations": found}) for key, found in cited.items()
        ]
        return [*self._answer(), *sources]

    def end(self) -> list[Delta]:
        """End a response that was received completely."""
        deltas = self.flush()
        if self._reason in CUT_REASONS and self._last is not None:
            deltas.append(CloseDelta(key=self._last, status="incomplete"))
        return [*deltas, FinishDelta(self._reason or None)]

    # -- outputs of the model

    def _think(self, output: Output) -> list[Delta]:
        deltas: list[Delta] = []
        key = f"reasoning:{output.index}"
        if output.reasoning:
            deltas += [*self._turn_to(key), ReasoningDelta(output.reasoning, key=key)]
        if output.encrypted:
            deltas += self._turn_to(key) if self._open is None else []
            deltas.append(OpaqueDelta(Opaque(ENCRYPTED, output.encrypted), key=key, append=True))
        return deltas

    def _say(self, output: Output) -> list[Delta]:
        key = f"text:{output.index}"
        if output.citations:
            self._citations.setdefault(key, []).extend(output.citations)
        return [*self._turn_to(key), TextDelta(output.content, key=key)] if output.content else []

    def _call(self, call: OutputCall) -> list[Delta]:
        if call.id and call.id in self._calls:
            return []
        self._calls.add(call.id)
        ended = self._turn_to(None)
        self._last = call.id
        ext = {"type": call.type} if call.server else None
        made = ToolCallDelta(call.id, call.name, call.arguments, server=call.server, ext=ext)
        return [*ended, made, CloseDelta(key=call.id)]

    def _turn_to(self, key: str | None) -> list[Delta]:
        """Close the open unit when another one follows."""
        before, self._open = self._open, key
        self._last = self._last if key is None else key
        return [] if before in (None, key) else [CloseDelta(key=before)]

    # -- outputs of the provider's tools

    def _hold(self, output: Output) -> list[Delta]:
        """Hold a result, which may be fragmented, until the next output of the model."""
        for call in output.calls:
            self._failures[call.id] = call.error
        deltas = [delta for call in output.calls for delta in self._call(call)]
        held = self._results.setdefault(output.index, {})
        for name, value in output.message.items():
            grows = name != "role" and isinstance(value, str | list) and name in held
            held[name] = held[name] + value if grows else value
        return deltas

    def _answer(self) -> list[Delta]:
        """Return the complete results; the first of several calls keeps the original of a shared result."""
        held, self._results = self._results, {}
        deltas: list[Delta] = self._turn_to(None) if held else []
        for _, message in sorted(held.items()):
            ids = list(dict.fromkeys(call.get("id", "") for call in message.get("tool_calls", ())))
            if not ids:
                deltas.append(NativeDelta(TOOL_OUTPUT, message))
            for number, call_id in enumerate(ids):
                content = message.get("content") or self._failures[call_id]
                native = None if number else message
                deltas.append(ToolResultDelta(call_id, content, native=native))
        return deltas
