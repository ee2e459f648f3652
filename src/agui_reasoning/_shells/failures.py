"""Logs failed runs: names and positions, and messages only if reasoning is visible."""

from __future__ import annotations

import logging
import re
import traceback
from typing import Any, Final

from agui_reasoning._shells.provider_failures import Explanation
from agui_reasoning.errors import AGUIReasoningError, ProviderError
from agui_reasoning.run import Run

__all__ = ["BriefFailureLog", "FailureLog", "is_own_error"]

_log = logging.getLogger("agui_reasoning")

# A name of an error, not a sentence about it: only this goes where a provider's own words must not.
_NAME: Final = re.compile(r"[\w.:/-]{1,64}", re.ASCII)
_ID_CHARS: Final = 80
_WORDS_CHARS: Final = 2_000


class FailureLog:
    """Logs what ended a run: an error of this package in one line, any other with its traceback.

    If reasoning must not be visible, no messages of exceptions are logged, because they may
    quote it; names and positions are.
    """

    def __init__(self, run: Run) -> None:
        self._run = run

    def report(self, error: Exception, explanation: Explanation | None = None) -> None:
        """Log a failure, with its explanation if the provider is its cause."""
        if is_own_error(error):
            self.report_line(error, explanation)
        elif self._run.visibility == "full":
            _log.error("%s", self._line(error, explanation), exc_info=error)
        else:
            _log.error("%s\n%s", self._line(error, explanation), _places(error))

    def report_line(self, error: Exception, explanation: Explanation | None = None) -> None:
        """Log a failure in one line, and its traceback at the level DEBUG."""
        _log.error("%s", self._line(error, explanation))
        if self._run.visibility == "full":
            _log.debug("Where the run failed:", exc_info=error)
        else:
            _log.debug("Where the run failed:\n%s", _places(error))

    def note(self, sentence: str) -> None:
        """Log a single sentence."""
        _log.error("%s", sentence)

    def _line(self, error: BaseException, explanation: Explanation | None = None) -> str:
        """Return the log line: the run, the failure and, with full visibility, its message."""
        names = ", ".join(f"{name} {value}" for name, value in self._names(error, explanation) if value)
        return f"The run failed: {type(error).__name__} ({names}).{self._words(error)}"

    def _names(self, error: BaseException, explanation: Explanation | None) -> list[tuple[str, Any]]:
        """Return the names that identify a failure, such as its code and run, without any message text."""
        run, status = self._run, getattr(error, "status_code", None)
        code, wait = getattr(error, "code", None) if is_own_error(error) else None, None
        if explanation is not None:
            failure = explanation.failure
            code, status, wait = explanation.code, failure.status, failure.retry_after_s
        return [
            ("code", code),
            ("provider", _name(run.provider or run.api)),
            ("status", status if isinstance(status, int) else None),
            ("retry after", None if wait is None else f"{wait:g} s"),
            ("provider code", _name(getattr(error, "provider_code", None))),
            ("provider type", _name(getattr(error, "provider_type", None))),
            ("thread", _quoted(run.input.thread_id)),
            ("run", _quoted(run.input.run_id)),
        ]

    def _words(self, error: BaseException) -> str:
        if self._run.visibility != "full":
            return ""
        message = error.provider_message if isinstance(error, ProviderError) else ""
        words = f"The provider says: {message}" if message else str(error)
        return " " + " ".join(words.split())[:_WORDS_CHARS] if words else ""


class BriefFailureLog(FailureLog):
    """Logs every failure in one line."""

    def report(self, error: Exception, explanation: Explanation | None = None) -> None:
        """Log a failure."""
        self.report_line(error, explanation)


def is_own_error(error: BaseException) -> bool:
    """Return whether an error belongs to this package."""
    return type(error).__module__.startswith("agui_reasoning.")


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) and _NAME.fullmatch(value) else None


def _quoted(chosen_by_client: str) -> str:
    """Return an ID on one line, shortened if necessary."""
    return repr(chosen_by_client[:_ID_CHARS])


def _places(error: BaseException) -> str:
    """Return the traceback of an exception, with its type and code."""
    code = f" ({error.code})" if isinstance(error, AGUIReasoningError) else ""
    place = f"{''.join(traceback.format_tb(error.__traceback__))}{type(error).__name__}{code}"
    members = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return "\n".join([place, *map(_places, members)])
