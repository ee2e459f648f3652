"""Explains why a run failed, from what the errors of SDKs and HTTP libraries say, and logs it.

The libraries are not imported: their errors are read by attributes and class names. The words of an error
serve only to recognize it; explanations never contain them. An error that says nothing itself is explained by
those that led to it, if they are a provider's. The log has names and positions, and messages only if
reasoning is visible.
"""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import indent
from typing import Any, Final, Literal, TypeAlias

from agui_reasoning._driver._sdk_errors import (
    GRPCFailure,
    causes_of,
    google_reason,
    grpc_failure,
    is_of_provider,
    others_behind,
    retry_after,
)
from agui_reasoning._escaping import escaped, one_line
from agui_reasoning._strict_json import Malformed, load
from agui_reasoning.errors import AGUIReasoningError, ProviderError, TransportError
from agui_reasoning.parts import Origin
from agui_reasoning.providers.refusals import Refusal, find_refusal
from agui_reasoning.run import Run

_REFUSED: Final = "reasoning_refused"
_WORDS_CHARS: Final = 20_000


@dataclass(frozen=True, slots=True)
class ProviderFailure:
    """What an error says.

    Attributes:
        status: The HTTP status of 400 or more, if any.
        code: The provider's code for it, if any.
        type: The provider's type of it, if any.
        names: Its codes and types.
        words: Its message and body.
        retry_after_s: The seconds after which the provider wants to be asked again.
        link: How the connection failed, if it did.
    """

    status: int | None = None
    code: str | None = None
    type: str | None = None
    names: frozenset[str] = frozenset()
    words: str = field(default="", repr=False)
    retry_after_s: float | None = None
    link: Literal["timeout", "unreachable"] | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a model stream failed.

    Attributes:
        code: The code of RUN_ERROR.
        sentence: What users read.
        failure: What the error said.
    """

    code: str
    sentence: str
    failure: ProviderFailure


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a provider fails.

    Attributes:
        code: The code of RUN_ERROR.
        sentence: What users read; ``{when}`` is when to try again.
        statuses: The HTTP statuses.
        names: The codes and types of errors.
    """

    code: str
    sentence: str
    statuses: tuple[int, ...] = ()
    names: tuple[str, ...] = ()

    def explains(self, failure: ProviderFailure) -> bool:
        """Return whether this is the cause of a failure."""
        return failure.status in self.statuses or not failure.names.isdisjoint(self.names)


_NO_CREDENTIALS: Final = frozenset({"NoCredentialsError", "PartialCredentialsError"})
"""The classes by which botocore says that it has no credentials to sign a request with."""

_CAUSES: Final = (
    Cause(
        "quota_exhausted",
        "The quota at the model's provider is used up. Please tell the operator of this agent.",
        (402,),
        (
            "insufficient_quota",
            "billing_error",
            "exceeded_current_quota_error",
            "ServiceQuotaExceededException",
        ),
    ),
    Cause(
        "credentials_refused",
        "The model's provider refused the credentials. Please tell the operator of this agent.",
        (401, 403),
        (
            *("authentication_error", "permission_error", "invalid_api_key", "UNAUTHENTICATED"),
            "API_KEY_INVALID",  # Gemini's, with the status 400
            *_NO_CREDENTIALS,
        ),
    ),
    Cause(
        "rate_limited",
        "The model's provider limits the number of requests. Please try again {when}.",
        (429,),
        ("rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED", "ThrottlingException"),
    ),
    Cause(
        "overloaded",
        "The model's provider is overloaded. Please try again {when}.",
        (503, 529),
        (
            *("overloaded_error", "UNAVAILABLE", "ServiceUnavailableException", "ModelNotReadyException"),
            *("server_is_overloaded", "slow_down"),  # OpenAI's, inside a stream
        ),
    ),
    Cause(
        "unknown_model",
        "The model's provider does not know this model or address. Please tell the operator of this agent.",
        (404,),
        ("not_found_error", "model_not_found", "NOT_FOUND", "ResourceNotFoundException"),
    ),
    Cause(
        "timeout",
        "The model's provider did not answer in time. Please try again.",
        (408, 504),
        ("timeout_error", "DEADLINE_EXCEEDED", "ModelTimeoutException"),
    ),
    Cause(
        "request_refused",
        "The model's provider refused the request.",
        (400, 405, 409, 413, 415, 422),
        ("invalid_request_error", "request_too_large", "INVALID_ARGUMENT", "ValidationException"),
    ),
)
"""The causes of errors with a status or a name; the first that matches applies."""

_OTHER: Final = Cause("provider_error", "The model's provider reported an error. Please try again {when}.")
_LINKS: Final = {
    "timeout": next(cause for cause in _CAUSES if cause.code == "timeout"),
    "unreachable": Cause(
        "unreachable", "The connection to the model's provider failed. Please try again {when}."
    ),
}
_OWN_LINKS: Final = {
    "timeout": ProviderFailure(link="timeout"),
    "unreachable": ProviderFailure(link="unreachable"),
}
_Read: TypeAlias = Callable[[BaseException], ProviderFailure | None]

_UNREACHABLE: Final = frozenset(
    {
        "APIConnectionError",
        "ConnectError",
        "NetworkError",
        "ProtocolError",
        "RemoteProtocolError",
        "EndpointConnectionError",
        "ConnectionClosedError",
        "ClientConnectionError",
    }
)
"""The classes by which libraries say that a connection failed."""


def causes() -> tuple[Cause, ...]:
    """Return every cause, in order of precedence; the last one is that of errors without another."""
    return (*_CAUSES, _LINKS["unreachable"], _OTHER)


def explain(error: BaseException, target: Origin) -> Explanation | None:
    """Explain an error of a model stream; ``None`` if it does not say that the provider failed."""
    return _explained(read_failure(error), target)


def explain_elsewhere(error: BaseException, target: Origin) -> Explanation | None:
    """Explain an error that was raised elsewhere in a run: by its agent, by a framework or in a tool.

    There, other servers fail as well. So only what is a provider's by its class is explained.
    """
    return _explained(_behind(error, _of_provider), target)


def _explained(failure: ProviderFailure | None, target: Origin) -> Explanation | None:
    if failure is None:
        return None
    if (refusal := refusal_of(failure, target)) is not None:
        return Explanation(_REFUSED, f"The model's provider refused the request. {refusal.means}", failure)
    cause = _cause_of(failure)
    return Explanation(cause.code, cause.sentence.format(when=_when(failure.retry_after_s)), failure)


def refusal_of(failure: ProviderFailure, target: Origin) -> Refusal | None:
    """Return the known refusal that a failure is, if any."""
    if failure.link is not None:
        return None
    return find_refusal(target, status=failure.status, names=failure.names, message=failure.words)


def _cause_of(failure: ProviderFailure) -> Cause:
    if failure.link is not None:
        return _LINKS[failure.link]
    return next((cause for cause in _CAUSES if cause.explains(failure)), _OTHER)


def _when(seconds: float | None) -> str:
    return "shortly" if seconds is None else f"in {max(round(seconds), 1)} s"


def read_failure(error: BaseException) -> ProviderFailure | None:
    """Return what an error, or one that led to it, says about a provider; ``None`` if it says nothing."""
    return _behind(error, _read)


def _behind(error: BaseException, read: _Read) -> ProviderFailure | None:
    """Read an error and those that led to it.

    Of an error and its causes, the last one that says something decides: others only wrap it. Contexts decide
    if none of them does, the nearest first: an error that was being handled need not be the reason.
    """
    if is_own_error(error):
        return read(error)
    causes = causes_of(error)
    wrapped = (_of_provider(cause) for cause in reversed(causes[1:]))
    failure = next(filter(None, wrapped), None) or read(error)
    return failure or next(filter(None, map(_of_provider, others_behind(error))), None)


def _of_provider(error: BaseException) -> ProviderFailure | None:
    return _read(error) if is_of_provider(error) else None


def _read(error: BaseException) -> ProviderFailure | None:
    """Return what an error itself says about a provider; ``None`` if it says nothing."""
    if isinstance(error, TransportError):
        return _OWN_LINKS.get(error.code)
    if (call := grpc_failure(error)) is not None:
        return _of_call(call)
    if unsigned := _NO_CREDENTIALS & _classes(error):
        return ProviderFailure(names=unsigned)
    response = getattr(error, "response", None)
    body, status = _body(error, response), _status(error, response)
    if isinstance(error, ProviderError) or status is not None or _is_error_body(body):
        code, kind = _named(error, body, "code"), _named(error, body, "type")
        names, words = frozenset(_names(error, body)), _words(error, body)
        return ProviderFailure(status, code, kind, names, words, _delay(error, response, body))
    link = _link(error)
    return None if link is None else ProviderFailure(link=link)


def _of_call(call: GRPCFailure) -> ProviderFailure:
    if call.link is not None:
        return ProviderFailure(link=call.link)
    names, words = frozenset({call.status}), call.details[:_WORDS_CHARS]
    return ProviderFailure(call.http_status, call.status, names=names, words=words)


def _status(error: BaseException, response: Any) -> int | None:
    """Return the HTTP status; SDKs report errors inside a stream with the status 200 of the stream."""
    metadata = response.get("ResponseMetadata") if isinstance(response, Mapping) else None
    candidates = [getattr(error, name, None) for name in ("status_code", "code", "status")]
    candidates += [getattr(response, "status_code", None)]
    candidates += [metadata.get("HTTPStatusCode")] if isinstance(metadata, Mapping) else []
    return next((n for n in candidates if isinstance(n, int) and 400 <= n <= 599), None)


def _body(error: BaseException, response: Any) -> Any:
    """Return the JSON of the response, as far as the error has it."""
    if isinstance(response, Mapping):
        return response.get("Error")  # botocore
    for name in ("body", "details"):
        held = getattr(error, name, None)
        if isinstance(held, str | bytes):
            text = held.decode(errors="replace") if isinstance(held, bytes) else held
            parsed = load(text[:_WORDS_CHARS])
            held = text if isinstance(parsed, Malformed) else parsed
        if isinstance(held, Mapping | list | str) and held:
            return held
    return None


def _is_error_body(body: Any) -> bool:
    """Return whether a body is that of an error inside a stream."""
    return isinstance(body, Mapping) and bool({"error", "message", "code", "type", "Code"} & set(body))


def _inner(body: Any) -> Mapping[str, Any]:
    """Return the error in a body."""
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    return inner if isinstance(inner, Mapping) else {}


def _named(error: BaseException, body: Any, name: Literal["code", "type"]) -> str | None:
    """Return the code or type that a provider gave."""
    if isinstance(error, ProviderError):
        return error.provider_code if name == "code" else error.provider_type
    inner = _inner(body)
    given = inner.get(name) or inner.get(name.title())
    return str(given) if isinstance(given, str | int) else None


def _names(error: BaseException, body: Any) -> Iterator[str]:
    """Yield the codes and types of an error."""
    inner = _inner(body)
    yield from (str(inner[name]) for name in ("code", "type", "status", "Code") if inner.get(name))
    if (reason := google_reason(body)) is not None:
        yield reason
    details = inner.get("details")
    if isinstance(details, Mapping) and isinstance(details.get("error_code"), str):
        yield details["error_code"]  # Anthropic
    for name in ("provider_code", "provider_type", "code", "type", "status"):
        value = getattr(error, name, None)
        if isinstance(value, str) and not (name == "code" and isinstance(error, ProviderError)):
            yield value


def _words(error: BaseException, body: Any) -> str:
    own = error.provider_message if isinstance(error, ProviderError) else str(error)
    return f"{own} {'' if body is None else body}"[:_WORDS_CHARS]


def _delay(error: BaseException, response: Any, body: Any) -> float | None:
    if isinstance(error, ProviderError):
        return error.retry_after
    metadata = response.get("ResponseMetadata") if isinstance(response, Mapping) else None
    headers = metadata.get("HTTPHeaders") if isinstance(metadata, Mapping) else None
    headers = headers or getattr(response, "headers", None) or getattr(error, "headers", None)
    named = {str(name).lower(): str(value) for name, value in dict(headers or {}).items()}
    return retry_after(named, body)


def _link(error: BaseException) -> Literal["timeout", "unreachable"] | None:
    """Return how a connection failed, by the classes of an error."""
    names = _classes(error)
    if isinstance(error, TimeoutError) or any("Timeout" in name for name in names):
        return "timeout"
    if isinstance(error, ConnectionError) or (names & _UNREACHABLE and not is_own_error(error)):
        return "unreachable"
    return None


def _classes(error: BaseException) -> frozenset[str]:
    return frozenset(kind.__name__ for kind in type(error).__mro__)


# -- the log

_log = logging.getLogger("agui_reasoning")

# A name of an error, not a sentence about it: only this goes where a provider's own words must not.
_NAME: Final = re.compile(r"[\w.:/-]{1,64}", re.ASCII)
_ID_CHARS: Final = 80
_LOGGED_CHARS: Final = 2_000


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
        return f"{line} {one_line(words[:_LOGGED_CHARS])}" if words else line

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
