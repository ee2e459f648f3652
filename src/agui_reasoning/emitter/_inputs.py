"""What providers report about the reasoning in a request: units that the model was not shown.

The report names places in the request, so it is resolved while the request is known. The units themselves are
noted in the response, whose values carry the note to the client and back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from msgspec.structs import replace

from agui_reasoning._envelope import unit_digest
from agui_reasoning.audit import AuditRecord, OnAudit
from agui_reasoning.deltas import InputTransformation, InputTransformationsDelta
from agui_reasoning.parts import Origin, ReasoningPart, WithheldUnit

__all__ = ["InputReports", "SentRequest"]

_CAUSES: Final = {
    "model": "another model produced them",
    "prefix": "the conversation before them has changed",
    "organization": "another account produced them",
    "end_user": "they were produced for another end user",
}
"""What the codes of Anthropic and OpenAI mean, by how they begin."""


class SentRequest(Protocol):
    """A request that was built."""

    @property
    def target(self) -> Origin:
        """The receiver."""

    @property
    def body(self) -> object:
        """The fields of the request."""

    def reasoning_at(self, path: str) -> ReasoningPart | None:
        """Return the reasoning at a place of the request."""


class InputReports:
    """Resolves reports with the request that the response answers, warns once, and audits every entry."""

    def __init__(self, warn: Callable[[str], None], on_audit: OnAudit | None) -> None:
        self._warn, self._on_audit = warn, on_audit
        self._warned: set[str] = set()
        self._built: list[SentRequest] = []
        self._answered: list[SentRequest] = []

    def sent(self, request: SentRequest, *, alone: bool = False) -> None:
        """Note a request that was built, or with ``alone`` the one of several that is sent."""
        self._built = [request] if alone else [*self._built, request]

    def responds(self) -> None:
        """Note that a response has begun: it answers what was built since the last one."""
        self._answered, self._built = self._built, []

    def resolve(self, delta: InputTransformationsDelta, response: Origin | None) -> InputTransformationsDelta:
        """Return the report with the units that it is about."""
        request = self._request()
        found = [(entry, request.reasoning_at(entry.path) if request else None) for entry in delta.entries]
        target = request.target if request else response or Origin()
        model = delta.model or target.model
        units = [
            WithheldUnit(digest, model, entry.reason)
            for entry, part in found
            if entry.dropped and part is not None and (digest := unit_digest(part))
        ]
        for entry, part in found:
            self._audit(entry, part, target, model)
        self._warn_of(delta.entries, remembered=len(units) == sum(entry.dropped for entry in delta.entries))
        return replace(delta, units=tuple(units))

    def _request(self) -> SentRequest | None:
        """Return the request that the response answers; ``None`` if that is not known."""
        if not self._answered:
            return None
        first, *others = self._answered
        return first if all(other.body == first.body for other in others) else None

    def _audit(
        self, entry: InputTransformation, part: ReasoningPart | None, target: Origin, model: str | None
    ) -> None:
        if self._on_audit is not None:
            self._on_audit(
                AuditRecord(
                    "reported",
                    "withheld" if entry.dropped else "shown",
                    "" if part is None else part.seen,
                    entry.reason,
                    path=entry.path,
                    provider=target.provider,
                    api=target.api,
                    model=model,
                )
            )

    def _warn_of(self, entries: Iterable[InputTransformation], *, remembered: bool) -> None:
        dropped = Counter(entry.reason for entry in entries if entry.dropped)
        passed = Counter(entry.reason for entry in entries if not entry.dropped)
        sentences = []
        if dropped:
            end = " They are left out of later requests to it." if remembered else ""
            sentences.append(f"The model was not shown {_listed(dropped)}.{end}")
        if passed:
            sentences.append(f"The model was shown, although they failed a check, {_listed(passed)}.")
        sentence = " ".join(sentences)
        if sentence not in self._warned:
            self._warned.add(sentence)
            self._warn(sentence)


def _listed(reasons: Counter[str]) -> str:
    causes = (f"{reason}: {_cause(reason)}" for reason in sorted(reasons))
    return f"{reasons.total()} reasoning unit(s) of the request ({'; '.join(causes)})"


def _cause(reason: str) -> str:
    known = (cause for start, cause in _CAUSES.items() if reason.startswith(start))
    return next(known, "a reason of the provider's")
