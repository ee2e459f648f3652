"""Every exception and warning of the package.

Each exception has ``code``, a stable string for programs, and ``hint``, which says what to do next. Messages,
``repr`` and attributes never contain reasoning text, opaque values, keys or tokens, except for
`ProviderError.provider_message`, which is for logs and never part of ``str()``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from agui_reasoning._escaping import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ag_ui.core import RunErrorEvent

    from agui_reasoning.deltas import Delta

__all__ = [
    "AGUIReasoningError",
    "AGUIReasoningWarning",
    "ConfigurationError",
    "DecodeError",
    "DecryptionError",
    "LocalProtocolError",
    "MissingExtraError",
    "ProtocolError",
    "ProviderError",
    "ReasoningLostError",
    "ReasoningLostWarning",
    "RemoteProtocolError",
    "RunFailedError",
    "TransportError",
    "TruncatedRunError",
]


class AGUIReasoningError(Exception):
    """Base class of every error of this package.

    Attributes:
        code: Stable identifier, for example ``"truncated_stream"``.
        hint: What to do next, one sentence.
    """

    code: str
    hint: str

    def __init__(self, message: str, *, code: str, hint: str) -> None:
        # Both may quote names that a provider or a client chose, and go to logs and terminals.
        super().__init__(one_line(message))
        self.code = code
        self.hint = one_line(hint)

    def __str__(self) -> str:
        return f"{super().__str__()} {self.hint}".strip()


class AGUIReasoningWarning(UserWarning):
    """Warn that data is lost. Shown by default, or passed to ``on_warning``."""

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(message))


class ReasoningLostWarning(AGUIReasoningWarning):
    """Warn that reasoning that the provider requires cannot be sent back: it can reject the request."""


class ReasoningLostError(AGUIReasoningError):
    """Raised by `ProviderRequest.raise_for_loss` if required reasoning is not in the request.

    Attributes:
        lost: Pairs of unit and reason.
    """

    def __init__(self, lost: Sequence[tuple[str, str]]) -> None:
        reasons = ", ".join(sorted({reason for _, reason in lost}))
        super().__init__(
            f"{len(lost)} reasoning unit(s) that the provider requires are not in the request ({reasons}).",
            code="reasoning_lost",
            hint="Check the report: the history lost them, or another provider produced them.",
        )
        self.lost = tuple(lost)


class ConfigurationError(AGUIReasoningError):
    """Raised if options cannot work with any input."""


class MissingExtraError(ConfigurationError, ImportError):
    """Raised if a module needs an extra that is not installed."""

    def __init__(self, module: str, extra: str) -> None:
        super().__init__(
            f"{module} needs packages that are not installed.",
            code="missing_extra",
            hint=f"Install the packages of the extra {extra!r}: pip install {_requirements(extra)}.",
        )


def _requirements(extra: str) -> str:
    """Return the packages of an extra as arguments of pip, because this package may not be on an index."""
    from importlib.metadata import PackageNotFoundError, requires  # slow to import, rarely needed

    try:
        lines = requires("agui-reasoning") or []
    except PackageNotFoundError:
        lines = []
    found = [line.partition(";") for line in lines]
    wanted = [
        name.strip() for name, _, when in found if when.replace("'", '"').strip() == f'extra == "{extra}"'
    ]
    return " ".join(f'"{name}"' for name in wanted) or f'"agui-reasoning[{extra}]"'


class ProtocolError(AGUIReasoningError):
    """Base class of protocol violations.

    Attributes:
        event_type: The rejected AG-UI event type or delta, if any.
        message_id: The message, call or span it refers to, if any.
        state: The state in which it arrived.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        hint: str,
        event_type: str | None = None,
        message_id: str | None = None,
        state: str | None = None,
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.event_type = event_type
        self.message_id = message_id
        self.state = state


class LocalProtocolError(ProtocolError):
    """Raised if your code makes an illegal call. The object is unchanged."""


class RemoteProtocolError(ProtocolError):
    """Raised if received bytes or events are illegal."""


class TruncatedRunError(RemoteProtocolError):
    """Raised if a stream stops inside a run, or before one: the run has no outcome.

    Events delivered before are kept. Missing events are never invented.
    """


class RunFailedError(AGUIReasoningError):
    """Raised if the agent ends its run with RUN_ERROR.

    Attributes:
        event: The RUN_ERROR event. Its message is for the user, and not part of ``str()``.
    """

    def __init__(self, event: RunErrorEvent) -> None:
        super().__init__(
            f"The agent ended the run with RUN_ERROR ({event.code or 'no code'}).",
            code="run_failed",
            hint="Show `event.message` to the user; earlier events are kept.",
        )
        self.event = event


class TransportError(AGUIReasoningError):
    """Raised if the agent, provider or key service cannot be reached, or does not return an event stream.

    ``on_error`` receives it with the code ``shutdown`` if the server stops during a run.

    Attributes:
        status_code: The HTTP status, ``None`` without a response.
        error_code: The code in the JSON error that came instead of a stream, if any.
        error_message: The message in that error. It is not part of ``str()``.
        reason: Why there was no connection, if known: ``"dns"``, ``"tls"`` or ``"refused"``.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        hint: str,
        status_code: int | None = None,
        error_code: str | None = None,
        error_message: str = "",
        reason: Literal["dns", "tls", "refused"] | None = None,
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.reason = reason
        self.status_code = status_code
        self.error_code = error_code
        self.error_message = error_message


class DecodeError(AGUIReasoningError):
    """Raised if a provider payload cannot be read, or the provider's stream was cut.

    Attributes:
        path: The position in the payload, as a JSON pointer; empty for the whole payload.
        provider: The provider of the decoder, if named.
        deltas: The deltas decoded before the error. Pass them to the run before you end it: they contain the
            data that was still good, and close what was cut.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        hint: str,
        path: str = "",
        provider: str | None = None,
        deltas: Sequence[Delta] = (),
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.path = path
        self.provider = provider
        self.deltas = tuple(deltas)


class DecryptionError(AGUIReasoningError):
    """Raised if a token cannot be decrypted.

    Every cause gives the same message, so that errors reveal nothing about tokens.
    """

    def __init__(self) -> None:
        super().__init__(
            "The token cannot be decrypted.",
            code="undecryptable",
            hint="It was altered, has expired or belongs elsewhere, or its key is not in the ring.",
        )


class ProviderError(AGUIReasoningError):
    """Raised if the provider returns an error, in its stream or instead of one.

    Attributes:
        provider_code: The provider's error code, if any.
        provider_type: The provider's error type, if any.
        provider_message: The provider's message. It can quote the prompt: log it, but never show it to users.
            It is not part of ``str()`` or ``repr()``.
        status_code: The HTTP status, ``None`` for an error inside a stream.
        retry_after: The seconds after which the provider wants to be asked again, if it says so.
        deltas: The deltas decoded before the error. Pass them to the run before you end it.
    """

    def __init__(
        self,
        *,
        provider_code: str | None = None,
        provider_type: str | None = None,
        provider_message: str = "",
        status_code: int | None = None,
        retry_after: float | None = None,
        deltas: Sequence[Delta] = (),
    ) -> None:
        names = ", ".join(name for name in (provider_type, provider_code) if name)
        super().__init__(
            f"The provider reported an error ({names})." if names else "The provider reported an error.",
            code="provider_error",
            hint="Read the provider's message from `provider_message`.",
        )
        self.provider_code = provider_code
        self.provider_type = provider_type
        self.provider_message = provider_message
        self.status_code = status_code
        self.retry_after = retry_after
        self.deltas = tuple(deltas)


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Suggest the known name that is closest to an unknown one, as the start of a hint.

    Examples:
        >>> did_you_mean("deepsek", ["anthropic", "deepseek"])
        "Did you mean 'deepseek'? "
    """
    from difflib import get_close_matches  # slow to import, rarely needed

    names = {name.lower(): name for name in known}
    nearest = get_close_matches(given.lower(), list(names), n=1)
    return f"Did you mean {names[nearest[0]]!r}? " if nearest else ""
