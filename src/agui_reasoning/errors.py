"""Every exception and warning of the package.

Each exception has ``code``, a stable string for programs, and ``hint``, a sentence that says what to do
next. No message, ``repr`` or attribute of theirs holds reasoning text, an opaque value, a key or a token;
the one exception is `ProviderError.provider_message`, which is for logs and never part of ``str()``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    """Base of every error this package raises on purpose.

    Attributes:
        code: Stable identifier, for example ``"truncated_stream"``.
        hint: What to do next, one sentence.
    """

    code: str
    hint: str

    def __init__(self, message: str, *, code: str, hint: str) -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint

    def __str__(self) -> str:
        return f"{super().__str__()} {self.hint}".strip()


class AGUIReasoningWarning(UserWarning):
    """Something is lost or will be; shown by default, or handed to ``on_warning``."""


class ReasoningLostWarning(AGUIReasoningWarning):
    """Reasoning that the provider requires cannot be sent back: it may refuse the request."""


class ReasoningLostError(AGUIReasoningError):
    """Reasoning that the provider requires is not in the request, and the caller asked to hear of it.

    Attributes:
        lost: The unit and the reason of each.
    """

    def __init__(self, lost: Sequence[tuple[str, str]]) -> None:
        reasons = ", ".join(sorted({reason for _, reason in lost}))
        super().__init__(
            f"{len(lost)} reasoning unit(s) that the provider requires are not in the request ({reasons}).",
            code="reasoning_lost",
            hint="Look at the report; the history lost them, or another provider produced them.",
        )
        self.lost = tuple(lost)


class ConfigurationError(AGUIReasoningError):
    """What was asked for cannot work, whatever the input."""


class MissingExtraError(ConfigurationError, ImportError):
    """A module of this package needs something that an extra installs."""

    def __init__(self, module: str, extra: str) -> None:
        super().__init__(
            f"{module} needs packages that are not installed.",
            code="missing_extra",
            hint=f"Install what the extra {extra!r} names: pip install {_requirements(extra)}.",
        )


def _requirements(extra: str) -> str:
    """The packages of an extra as arguments of pip; the package itself may not be on an index."""
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
    """A step the protocol forbids.

    Attributes:
        event_type: The AG-UI event type or delta that was refused, if there is one.
        message_id: The entity it named, if it named one.
        state: The state in which it came.
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
    """You asked for an illegal step. The machine is as it was before."""


class RemoteProtocolError(ProtocolError):
    """The bytes or events that came from the other side are illegal."""


class TruncatedRunError(RemoteProtocolError):
    """The stream stopped inside a run, or before one: the run has no outcome.

    What was delivered before stays. Nothing is made up in place of what is missing.
    """


class RunFailedError(AGUIReasoningError):
    """The agent ended its run with RUN_ERROR.

    Attributes:
        event: The RUN_ERROR event: its message was written for the user, and is not part of ``str()``.
    """

    def __init__(self, event: RunErrorEvent) -> None:
        super().__init__(
            f"The agent ended the run with RUN_ERROR ({event.code or 'no code'}).",
            code="run_failed",
            hint="`event.message` is for the user; what was delivered before it is kept.",
        )
        self.event = event


class TransportError(AGUIReasoningError):
    """The agent could not be reached, or did not answer with an event stream.

    Attributes:
        status_code: The HTTP status, ``None`` when there was no answer.
        error_code: The code in the JSON error that came instead of a stream, ``None`` when there was none.
        error_message: The sentence in it. It is the other side's own, and not part of ``str()``.
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
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.status_code = status_code
        self.error_code = error_code
        self.error_message = error_message


class DecodeError(AGUIReasoningError):
    """A provider payload cannot be read, or the provider's stream stopped in the middle.

    Attributes:
        path: Where in the payload, as a JSON pointer; empty for the whole payload.
        provider: The provider the decoder was made for, if one was named.
        deltas: What the payload, or the end of the stream, still gave. Feed these before ending the run:
            they close what was cut, so that nothing good is lost.
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
    """A token does not open.

    One message for every cause: whoever could tell them apart could ask for more than they may know.
    """

    def __init__(self) -> None:
        super().__init__(
            "The token cannot be decrypted.",
            code="undecryptable",
            hint="It was altered, has expired or belongs elsewhere, or its key is not in the ring.",
        )


class ProviderError(AGUIReasoningError):
    """The provider said no, in its stream or in place of one.

    Attributes:
        provider_code: The provider's own code, ``None`` when it sent none.
        provider_type: The provider's own error type, ``None`` when it sent none.
        provider_message: The provider's words. They may quote the prompt: log them, never show them to a
            user. They are not part of ``str()`` or ``repr()``.
        status_code: The HTTP status of a refusal, ``None`` when the error came inside a stream.
        deltas: What the payload gave beside the error. Feed these before ending the run.
    """

    def __init__(
        self,
        *,
        provider_code: str | None = None,
        provider_type: str | None = None,
        provider_message: str = "",
        status_code: int | None = None,
        deltas: Sequence[Delta] = (),
    ) -> None:
        names = ", ".join(name for name in (provider_type, provider_code) if name)
        super().__init__(
            f"The provider reported an error ({names})." if names else "The provider reported an error.",
            code="provider_error",
            hint="The provider's own words are in `provider_message`.",
        )
        self.provider_code = provider_code
        self.provider_type = provider_type
        self.provider_message = provider_message
        self.status_code = status_code
        self.deltas = tuple(deltas)


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """The beginning of a hint: the name that a misspelt one is nearest to; empty when none is near.

    Examples:
        >>> did_you_mean("deepsek", ["anthropic", "deepseek"])
        "Did you mean 'deepseek'? "
    """
    from difflib import get_close_matches  # slow to import, rarely needed

    nearest = get_close_matches(given.lower(), list(known), n=1)
    return f"Did you mean {nearest[0]!r}? " if nearest else ""
