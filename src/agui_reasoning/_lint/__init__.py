"""Finds violations of the protocol, and valid constructs that real clients mishandle."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, Literal

from ag_ui.core import Event
from pydantic import BaseModel

from agui_reasoning._lint._leaks import has_credential, leaks
from agui_reasoning._lint._repair import Repair
from agui_reasoning._lint._rules import Lints
from agui_reasoning._strict_json import JSONObject
from agui_reasoning.consumer import (
    EVENTS,
    Notice,
    Phase,
    Pipeline,
    Reducer,
    Repeats,
    faults,
    places_of,
    plain_json,
    unknown_member,
    without_malformed_options,
)
from agui_reasoning.errors import RemoteProtocolError

__all__ = ["Finding", "check_events"]


# The lints report these more precisely, because they see later events.
_LEFT_TO_LINTS: Final = frozenset({"unknown_entity"})

# Reported by an event that repair may have inserted, about events before it.
_NEVER_MUTED: Final = frozenset({"raw_beside_hidden", "copied_reasoning", "repeated_reasoning"})

# What one code says about an event, the other need not say again.
_SAID_BY: Final = {"copied_reasoning": "reasoning_in_raw"}


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem of a stream that its producer should fix.

    Attributes:
        code: A stable identifier; ``docs/reference/findings`` has a page for each.
        severity: ``"error"`` if it breaks the protocol, so that clients fail the run; ``"warning"`` if it is
            valid, but some client loses or misreads data.
        index: The index of the event, from 0; the number of events for the end of the stream.
        message: The problem in one sentence, without reasoning text or encrypted values.
        remedy: The solution in one sentence.
    """

    code: str
    severity: Literal["error", "warning"]
    index: int
    message: str
    remedy: str


def check_events(events: Iterable[Event | BaseModel | Mapping[str, Any]]) -> list[Finding]:
    """Verify and lint a stream.

    After a violation, continues as if the producer had sent what it most likely meant. Consequences of a
    violation are not reported.

    Args:
        events: The complete stream, in order.

    Returns:
        The findings, ordered by index.

    Raises:
        LocalProtocolError: An item is not an event (``not_an_event``).

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
        self._muted = False
        self._kind: tuple[str, str] | None = None
        self._invented = _Invented()
        self._pipeline = Pipeline(self._notice, new_id=self._invented.new_id)
        self._reducer = Reducer(self._notice, {})
        self._delivered: list[JSONObject] = []
        self._fast = Repeats()
        self._lints = Lints(self._reducer, self._lint)
        self._repair = Repair(self._take_quietly, self._take)

    def receive(self, event: object) -> None:
        """Check the next event."""
        delta = self._fast.grow(event)
        if not delta:  # an empty one may be meant to end its item
            self._fast.close()
            self._receive_other(event)
        elif has_credential(delta):
            self._report_leaks(plain_json(event) or {})
        self._index += 1

    def _receive_other(self, event: object) -> None:
        """Check an event that does not repeat the last."""
        received = plain_json(event) or {}
        upgraded = dict(self._pipeline.upgrade(event))
        names = received.get("type"), upgraded.get("type")
        self._kind = names if names[0] != names[1] else None  # type: ignore[assignment]
        self._report_leaks(received)
        self._repair.prepare(upgraded)
        error = self._take(upgraded)
        if error is None:
            self._repair.passed(upgraded)
            self._fast.open(event, self._delivered, self._reducer.growth)
        elif error.code == "malformed_event":
            self._receive_malformed(upgraded, error)
        else:
            self._mend(upgraded, error)

    def _mend(self, event: JSONObject, error: RemoteProtocolError) -> None:
        if self._repair.mend(event, error):
            self._error(error)

    def _receive_malformed(self, event: JSONObject, error: RemoteProtocolError) -> None:
        """Report every malformed place of an event, and check what is left without those it may omit."""
        kind = EVENTS.get(event["type"]) if isinstance(event.get("type"), str) else None
        if kind is None:
            self._mend(event, error)
            return
        places = places_of(kind, event)
        for path, expected in places.malformed:
            self._error(faults.malformed(event, path, expected, error.state or ""))
        left = without_malformed_options(kind, event, places)
        if left is None:
            for path in places.unknown:
                self._notice(unknown_member(event, path))
            self._repair.mend(event, error)
        elif (violation := self._take(left)) is None:
            self._repair.passed(left)
        else:
            self._mend(left, violation)

    def _report_leaks(self, received: Mapping[str, Any]) -> None:
        for notice in leaks(received):
            self._found(self._index, notice)

    def close(self) -> list[Finding]:
        """Signal the end of the stream; return the findings."""
        begun, self._kind = self._pipeline.phase is Phase.OPEN, None
        if not self._pipeline.close() and not self._repair.implied:
            self._error(faults.truncated(begun))
        self._lints.close()
        said = {(finding.code, finding.index) for finding in self._findings}
        left = [one for one in self._findings if (_SAID_BY.get(one.code), one.index) not in said]
        return sorted(left, key=lambda finding: finding.index)

    def _take(self, event: JSONObject) -> RemoteProtocolError | None:
        """Process an event; return its violation, if any."""
        try:
            self._delivered = self._pipeline.stages(event)
        except RemoteProtocolError as error:
            return error
        is_chunk = faults.type_of(event).endswith("_CHUNK")
        if is_chunk and event.get("delta") == "":
            self._fast.block()
        for one in self._delivered:
            self._lints.look(one, self._index, chunk=is_chunk)
            self._reducer.apply(one)
        return None

    def _take_quietly(self, event: JSONObject) -> RemoteProtocolError | None:
        """Process an event that repair inserted or changed, without reporting anything."""
        self._muted = True
        try:
            return self._take(event)
        finally:
            self._muted = False

    def _error(self, error: RemoteProtocolError) -> None:
        message = self._invented.left_out(str(error.args[0]), self._kind)
        self._findings.append(Finding(error.code, "error", self._index, message, error.hint))

    def _notice(self, notice: Notice) -> None:
        is_made_up = notice.code == "run_identity" and self._repair.implied
        if not (self._muted or is_made_up or notice.code in _LEFT_TO_LINTS):
            self._found(self._index, notice)

    def _lint(self, index: int, notice: Notice) -> None:
        if not self._muted or notice.code in _NEVER_MUTED:
            self._found(index, notice)

    def _found(self, index: int, notice: Notice) -> None:
        self._fast.block()
        message = self._invented.left_out(notice.message, self._kind)
        self._findings.append(Finding(notice.code, "warning", index, message, notice.remedy))


class _Invented:
    """IDs that are not in the stream, generated because THINKING_* events have none."""

    def __init__(self) -> None:
        self._mark = f"unnamed-{uuid.uuid4().hex}-"
        self._numbers = count(1)
        self._pattern = re.compile(rf" '{self._mark}\d+'")

    def new_id(self) -> str:
        """Generate an ID."""
        return f"{self._mark}{next(self._numbers)}"

    def left_out(self, message: str, kind: tuple[str, str] | None) -> str:
        """Return a message without generated IDs, and with the event's type in the stream."""
        message = self._pattern.sub("", message)
        return message if kind is None else message.replace(f"{kind[1]}:", f"{kind[0]}:", 1)
