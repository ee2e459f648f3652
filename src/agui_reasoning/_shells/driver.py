"""What the shells share: model streams, the clock, and the errors of a run.

`ModelStream` is what an agent yields for "ask this and show what comes"; `Reading` turns its payloads into
events of the run; `sentence_for` decides what a user reads when something fails.
"""

from __future__ import annotations

import logging
import re
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from ag_ui.core import BaseEvent, Event, Interrupt, RunAgentInput

from agui_reasoning.deltas import Delta
from agui_reasoning.errors import AGUIReasoningError, ConfigurationError, DecodeError, ProviderError
from agui_reasoning.parts import Part
from agui_reasoning.providers import decoder
from agui_reasoning.run import Run

__all__ = [
    "FAILED",
    "Item",
    "ModelStream",
    "OnError",
    "Reading",
    "ReportError",
    "bad_agent",
    "failure",
    "last_events",
    "left_over",
    "now_in_ms",
    "report",
    "report_line",
    "run_of",
    "show",
]

_log = logging.getLogger("agui_reasoning")

# A name of an error, not a sentence about it: only this goes where a provider's own words must not.
_NAME: Final = re.compile(r"[\w.:/-]{1,64}", re.ASCII)
_ID_CHARS: Final = 80
_WORDS_CHARS: Final = 2_000

FAILED: Final = "The agent could not finish its answer. Please try again."
"""The sentence a user reads when a run fails and `on_error` chooses none."""

OnError: TypeAlias = Callable[[BaseException], str | None]
"""Chooses the sentence a user reads; ``None`` is the default sentence."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelStream:
    """A model's answer for a run to open, read and close.

    Attributes:
        source: The SDK's stream, an awaitable of it, a context manager that gives it, or a callable without
            arguments that returns any of these; also an iterable of payloads, and a whole response. A
            callable that is not ``async`` is called in a worker thread by asynchronous runs.
        api: The API id; default is the run's.
        provider: Provider id; default is the run's.
        model: The model's name; default is the run's.
    """

    source: Any
    api: str | None = None
    provider: str | None = None
    model: str | None = None

    def __repr__(self) -> str:
        return f"ModelStream({type(self.source).__name__}, api={self.api!r})"


Item: TypeAlias = ModelStream | Delta | Part | BaseEvent | Interrupt
"""What an agent yields."""


class Reading:
    """One model stream on its way into a run: payloads in, deltas for the run out."""

    def __init__(self, run: Run, stream: ModelStream) -> None:
        """Choose the decoder.

        Raises:
            ConfigurationError: Neither the stream nor the run names an API (``no_api``), or there is no such
                API (``unknown_api``).
        """
        api = stream.api or run.api
        if api is None:
            raise ConfigurationError(
                "Neither the model stream nor its run names an API.",
                code="no_api",
                hint='Pass api=, for example ModelStream(source, api="openai-responses").',
            )
        same = api == run.api
        provider = stream.provider or (run.provider if same else None)
        model = stream.model or (run.model if same else None)
        self._decoder = decoder(api, provider=provider, model=model)
        self._run = run

    def receive(self, payload: Any) -> list[Delta]:
        """What one payload of the stream gives."""
        return self._told(self._decoder.receive(_unwrapped(payload)))

    def whole(self, response: Any) -> list[Delta]:
        """What a whole response gives."""
        return self._told(self._decoder.whole(response))

    def _told(self, deltas: list[Delta]) -> list[Delta]:
        self._run.tell(self._decoder.warnings)
        return deltas

    def close(self) -> list[Delta]:
        """The stream ended.

        Raises:
            DecodeError: It ended inside a response (``truncated_stream``).
        """
        return self._decoder.close()


def _unwrapped(payload: Any) -> Any:
    """Take the payload out of a pair: ``(chunk, metadata)`` of LangGraph, ``(response, chunk)`` of xAI."""
    while isinstance(payload, tuple) and len(payload) == 2:
        payload = payload[0] if isinstance(payload[1], Mapping) else payload[1]
    return payload


def show(run: Run, item: Any) -> list[Event]:
    """The events of an item that is no model stream.

    An agent may end the run itself: what `Run.cancel` and `Run.fail` gave it passes as it is.
    """
    if run.terminal is not None and isinstance(item, BaseEvent):
        return [cast("Event", item)]
    return run.receive(item)


def last_events(run: Run, interrupts: list[Interrupt], *, ended: bool) -> list[Event]:
    """The events that end a run whose agent is done; ``ended`` tells that the last one went out already."""
    if run.terminal is None:
        return run.finish(interrupts=interrupts)
    return [] if ended else [run.terminal]


def run_of(run_input: RunAgentInput | Mapping[str, Any] | Run, options: Mapping[str, Any]) -> Run:
    """The run that a shell drives: the caller's own, or one made with these options and the clock.

    Raises:
        ConfigurationError: There are options beside a run that is made already (``wrong_option``).
        TypeError: There is no such option.
    """
    if not isinstance(run_input, Run):
        return Run(run_input, **{"now_ms": now_in_ms, **options})
    if options:
        raise ConfigurationError(
            f"Options came with a run that is already made: {', '.join(sorted(options))}.",
            code="wrong_option",
            hint="Pass them to Run.",
        )
    return run_input


def now_in_ms() -> int:
    """Unix time in milliseconds."""
    return time.time_ns() // 1_000_000


def bad_agent(given: Any, wanted: str) -> ConfigurationError:
    """The error for an agent that is not what a shell can iterate over."""
    kind = type(given).__name__
    return ConfigurationError(
        f"The agent returned {'nothing' if given is None else f'a {kind}'}.",
        code="bad_agent",
        hint=f"Write it as {wanted}.",
    )


ReportError: TypeAlias = Callable[[Run, Exception], None]
"""Logs what ended a run."""


def report(run: Run, error: Exception) -> None:
    """Log a failure: an error of this package in one line, any other with its traceback.

    Where reasoning is not to be seen, neither words nor messages of exceptions are logged, because they may
    quote it: names and places are.
    """
    if _is_ours(error):
        report_line(run, error)
    elif run.visibility == "full":
        _log.error("%s", _line(run, error), exc_info=error)
    else:
        _log.error("%s\n%s", _line(run, error), _places(error))


def report_line(run: Run, error: Exception) -> None:
    """Log a failure in one line, whatever failed; its traceback is for the level DEBUG."""
    _log.error("%s", _line(run, error))
    if run.visibility == "full":
        _log.debug("Where the run failed:", exc_info=error)
    else:
        _log.debug("Where the run failed:\n%s", _places(error))


def _line(run: Run, error: BaseException) -> str:
    """What failed, in which run, and in ``full`` in what words."""
    names = ", ".join(f"{name} {value}" for name, value in _names(run, error) if value)
    return f"The run failed: {type(error).__name__} ({names}).{_words(run, error)}"


def _names(run: Run, error: BaseException) -> list[tuple[str, Any]]:
    """What programs and people look for: names alone, for this goes where no words may."""
    status = getattr(error, "status_code", None)
    return [
        ("code", getattr(error, "code", None) if _is_ours(error) else None),
        ("provider", _name(run.provider or run.api)),
        ("status", status if isinstance(status, int) else None),
        ("provider code", _name(getattr(error, "provider_code", None))),
        ("provider type", _name(getattr(error, "provider_type", None))),
        ("thread", _quoted(run.input.thread_id)),
        ("run", _quoted(run.input.run_id)),
    ]


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) and _NAME.fullmatch(value) else None


def _quoted(chosen_by_client: str) -> str:
    """An id on one line, and not too much of it."""
    return repr(chosen_by_client[:_ID_CHARS])


def _words(run: Run, error: BaseException) -> str:
    if run.visibility != "full":
        return ""
    said = error.provider_message if isinstance(error, ProviderError) else ""
    words = f"The provider says: {said}" if said else str(error)
    return " " + " ".join(words.split())[:_WORDS_CHARS] if words else ""


def _places(error: BaseException) -> str:
    """Where an exception came from, and its type and code."""
    code = f" ({error.code})" if isinstance(error, AGUIReasoningError) else ""
    place = f"{''.join(traceback.format_tb(error.__traceback__))}{type(error).__name__}{code}"
    members = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return "\n".join([place, *map(_places, members)])


def left_over(run: Run, error: BaseException) -> Sequence[Delta]:
    """What an error still gave, for the run to take before it ends."""
    if isinstance(error, DecodeError | ProviderError) and run.terminal is None:
        return error.deltas
    return ()


def failure(
    run: Run, error: BaseException, on_error: OnError | None, report: ReportError = report
) -> list[Event]:
    """The events that end a run in an error: what is open closed, RUN_ERROR.

    The error's own text never reaches the client; its ``code`` does, when it is one of ours. Call it where
    the error is not being handled any more: what is raised here would carry it along, words and all.
    """
    if run.terminal is not None:
        return []
    code = getattr(error, "code", None) if _is_ours(error) else None
    sentence = _sentence(run, error, on_error, report)
    try:
        return run.fail(sentence, code=code)
    except Exception as second:
        report(run, second)
    # A callback failed while things were being closed. That must not keep the run from ending.
    return run.fail(sentence, code=code)


def _sentence(run: Run, error: BaseException, on_error: OnError | None, report: ReportError) -> str:
    try:
        return (on_error(error) if on_error else None) or FAILED
    except Exception as second:
        _log.error("`on_error` failed; the default sentence is used.")
        report(run, second)
        return FAILED


def _is_ours(error: BaseException) -> bool:
    return type(error).__module__.startswith("agui_reasoning.")
