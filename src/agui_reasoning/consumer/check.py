"""What is wrong with a stream, and what is valid in it and still gets lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ag_ui.core import Event
from pydantic import BaseModel

from agui_reasoning.consumer import faults
from agui_reasoning.consumer.lints import Lints
from agui_reasoning.consumer.models import plain
from agui_reasoning.consumer.notices import Notice
from agui_reasoning.consumer.pipeline import Pipeline
from agui_reasoning.consumer.reduce import Reducer
from agui_reasoning.consumer.verify import Phase
from agui_reasoning.errors import RemoteProtocolError

__all__ = ["Finding", "check_events"]

# Told better by the lints, which know what comes later.
_LEFT_TO_LINTS = frozenset({"unknown_entity"})


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about a stream that its producer should change.

    Attributes:
        code: Stable identifier; ``docs/reference/findings`` has a page for each.
        severity: ``"error"``: it breaks the protocol, and a client fails the run. ``"warning"``: it is
            valid, and some client loses or misreads something.
        index: Which event, from 0; the number of events where the end of the stream is meant.
        message: What is wrong, one sentence. Never reasoning text, never a value.
        remedy: What to do, one sentence.
    """

    code: str
    severity: Literal["error", "warning"]
    index: int
    message: str
    remedy: str


def check_events(events: Iterable[Event | BaseModel | Mapping[str, Any]]) -> list[Finding]:
    """Verify a stream, and lint what is valid.

    After a violation the rest of that run is skipped: what follows would only be its consequence.

    Args:
        events: The whole stream, in order.

    Returns:
        What was found, by index.

    Raises:
        LocalProtocolError: One of them is no event at all (``not_an_event``).

    Examples:
        >>> run = {"threadId": "t", "runId": "r"}
        >>> [finding.code for finding in check_events([{"type": "RUN_STARTED", **run}])]
        ['missing_version', 'truncated_run']
    """
    checker = _Checker()
    for event in events:
        checker.receive(event)
    return checker.close()


class _Checker:
    def __init__(self) -> None:
        self._findings: list[Finding] = []
        self._index = 0
        self._skipping = False
        self._chunk = False
        self._pipeline = Pipeline(self._notice)
        self._reducer = Reducer(self._notice, {})
        self._lints = Lints(self._reducer, self._found)

    def receive(self, event: object) -> None:
        """Take the next event."""
        kind = (plain(event) or {}).get("type")
        starts, self._chunk = kind == "RUN_STARTED", isinstance(kind, str) and kind.endswith("_CHUNK")
        if starts or not self._skipping:
            code = self._take(event)
            if starts and code == "run_order":  # refused for the run it came in, not for itself
                self._take(event)
        self._index += 1

    def close(self) -> list[Finding]:
        """Say that the stream ended."""
        begun = self._pipeline.phase is Phase.OPEN
        if not self._pipeline.close():
            self._error(faults.truncated(begun))
        self._lints.close()
        return sorted(self._findings, key=lambda finding: finding.index)

    def _take(self, event: object) -> str | None:
        """Take an event, and give the code of what it was refused for."""
        try:
            delivered = self._pipeline.receive(event)
        except RemoteProtocolError as error:
            if not self._skipping:
                self._error(error)
            self._skipping = True
            return error.code
        self._skipping = False
        for one in delivered:
            self._lints.look(one, self._index, chunk=self._chunk)
            self._reducer.apply(one)
        return None

    def _error(self, error: RemoteProtocolError) -> None:
        finding = Finding(error.code, "error", self._index, str(error.args[0]), error.hint)
        self._findings.append(finding)

    def _notice(self, notice: Notice) -> None:
        if notice.code not in _LEFT_TO_LINTS:
            self._found(self._index, notice)

    def _found(self, index: int, notice: Notice) -> None:
        self._findings.append(Finding(notice.code, "warning", index, notice.message, notice.remedy))
