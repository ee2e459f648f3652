"""Logs failed runs: names and positions, and messages only if reasoning is visible."""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Sequence
from textwrap import indent
from typing import Any, Final

from agui_reasoning._escaping import escaped, one_line
from agui_reasoning._shells.provider_failures import Explanation
from agui_reasoning.errors import AGUIReasoningError, ProviderError, TransportError
from agui_reasoning.run import Run

__all__ = ["BriefFailureLog", "FailureLog", "is_own_error"]

_log = logging.getLogger("agui_reasoning")

# A name of an error, not a sentence about it: only this goes where a provider's own words must not.
_NAME: Final = re.compile(r"[\w.:/-]{1,64}", re.ASCII)
_ID_CHARS: Final = 80
_WORDS_CHARS: Final = 2_000


class FailureLog:
    """Logs what ended a run.

    A failure of the provider is one line without anything that the provider said; it has the same line
    whichever SDK or framework reports it. An error of this package is one line, any other has its traceback.
    If reasoning must not be visible, no messages of exceptions are logged, because they may quote it; names
    and positions are.
    """

    def __init__(self, run: Run) -> None:
        self._run = run

    def report(self, error: Exception, explanation: Explanation | None = None) -> None:
        """Log a failure, with its explanation if the provider is its cause."""
        if explanation is not None and not isinstance(error, TransportError):
            self._report_provider(error, explanation)
        elif is_own_error(error):
            self._report_line(error)
        else:
            self._report_mistake(error)

    def note(self, sentence: str) -> None:
        """Log a single sentence."""
        _log.error("%s", sentence)

    def _report_provider(self, error: Exception, explanation: Explanation) -> None:
        """Log a failure of the provider in one line.

        Its traceback quotes what the provider said, which can quote the prompt and its reasoning.
        """
        kind = ProviderError if explanation.failure.link is None else TransportError
        _log.error("%s", self._named(kind.__name__, self._names_of_provider(explanation)))
        if self._run.visibility == "full":
            said = error.provider_message if isinstance(error, ProviderError) else ""
            words = f" The provider says: {one_line(repr(said))}" if said else ""
            _log.debug("Where the run failed.%s\n%s", words, _traceback(error))

    def _report_line(self, error: Exception) -> None:
        """Log another failure in one line, and its traceback at the level DEBUG."""
        level = logging.WARNING if getattr(error, "code", None) == "shutdown" else logging.ERROR
        _log.log(level, "%s", self._line(error))
        if self._run.visibility == "full":
            _log.debug("Where the run failed:", exc_info=error)
        else:
            _log.debug("Where the run failed:\n%s", _places(error))

    def _report_mistake(self, error: Exception) -> None:
        """Log the failure of other code, with its traceback."""
        if self._run.visibility == "full":
            _log.error("%s", self._line(error), exc_info=error)
        else:
            _log.error("%s\n%s", self._line(error), _places(error))

    def _line(self, error: BaseException) -> str:
        """Return the log line: the run, the failure and, with full visibility, its message."""
        code = getattr(error, "code", None) if is_own_error(error) else None
        status = getattr(error, "status_code", None)
        names = [
            ("code", code),
            ("provider", _name(self._run.provider or self._run.api)),
            ("status", status if isinstance(status, int) else None),
        ]
        line = self._named(type(error).__name__, names)
        words = " ".join(str(error).split()) if self._run.visibility == "full" else ""
        return f"{line} {one_line(words[:_WORDS_CHARS])}" if words else line

    def _named(self, kind: str, names: Sequence[tuple[str, Any]]) -> str:
        """Return what identifies a failure and its run, without any message."""
        run = self._run.input
        ids = [("thread", _quoted(run.thread_id)), ("run", _quoted(run.run_id))]
        told = ", ".join(f"{name} {value}" for name, value in [*names, *ids] if value)
        return one_line(f"The run failed: {kind} ({told}).")

    def _names_of_provider(self, explanation: Explanation) -> list[tuple[str, Any]]:
        failure, wait = explanation.failure, explanation.failure.retry_after_s
        code = None if failure.code == str(failure.status) else _name(failure.code)
        return [
            ("code", explanation.code),
            ("provider", _name(self._run.provider or self._run.api)),
            ("status", failure.status),
            ("retry after", None if wait is None else f"{wait:g} s"),
            ("provider code", code),
            ("provider type", _name(failure.type)),
        ]


class BriefFailureLog(FailureLog):
    """Logs every failure in one line."""

    def _report_mistake(self, error: Exception) -> None:
        self._report_line(error)


def is_own_error(error: BaseException) -> bool:
    """Return whether an error belongs to this package."""
    return type(error).__module__.startswith("agui_reasoning.")


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) and _NAME.fullmatch(value) else None


def _quoted(chosen_by_client: str) -> str:
    """Return an ID on one line, shortened if necessary."""
    return repr(chosen_by_client[:_ID_CHARS])


def _traceback(error: BaseException) -> str:
    """Return the traceback of an exception, indented and escaped: its text is that of a provider."""
    return indent(escaped("".join(traceback.format_exception(error)).rstrip()), "  ")


def _places(error: BaseException) -> str:
    """Return the traceback of an exception, with its type and code."""
    code = f" ({error.code})" if isinstance(error, AGUIReasoningError) else ""
    place = f"{''.join(traceback.format_tb(error.__traceback__))}{type(error).__name__}{code}"
    members = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return "\n".join([place, *map(_places, members)])
