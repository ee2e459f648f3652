"""Size limits for inputs, and checks of options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any, Final, Literal, TypeAlias

from agui_reasoning.errors import ConfigurationError, RemoteProtocolError, did_you_mean

LimitName: TypeAlias = Literal["messages", "calls", "bytes", "envelopes", "spans", "nesting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Size limits for an input, checked before it is processed.

    Attributes:
        messages: The number of messages in a history.
        calls: The number of tool calls in a history.
        bytes: The UTF-8 bytes of all strings and names in a history, plus one per value.
        envelopes: The number of encrypted values or plain envelopes in a history.
        spans: The number of text stretches that the envelopes of a history describe.
        nesting: The nesting depth of objects and lists; the message or document itself counts as 1. It also
            limits the state, the forwarded properties, the answers and the schemas of the tools of an input.

    Raises:
        ConfigurationError: A limit is not a positive integer (``bad_limit``).

    Examples:
        >>> Limits(messages=500).messages
        500
    """

    messages: int = 20_000
    calls: int = 20_000
    bytes: int = 64 * 1024 * 1024
    envelopes: int = 40_000
    spans: int = 100_000
    nesting: int = 100

    def __post_init__(self) -> None:
        for field in fields(self):
            limit = getattr(self, field.name)
            if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
                raise ConfigurationError(
                    f"{field.name} is not a positive integer.",
                    code="bad_limit",
                    hint="Omit it to use the default.",
                )

    def check(self, name: LimitName, count: int) -> None:
        """Raise an error if a count exceeds a limit.

        Raises:
            RemoteProtocolError: The count exceeds the limit (``too_large``).
        """
        allowed = getattr(self, name)
        if count > allowed:
            raise RemoteProtocolError(
                f"The input has {_WORDS[name].format(count=count)}, but only {allowed} are allowed.",
                code="too_large",
                hint=f"Send less, or raise the limit with limits=Limits({name}=…).",
            )

    def check_json(self, *documents: Any) -> int:
        """Raise an error if JSON data is too large or nested too deeply. Does not recurse.

        Args:
            documents: Mappings, lists, strings and numbers.

        Returns:
            The bytes of the documents together.

        Raises:
            RemoteProtocolError: A limit is exceeded (``too_large``).
        """
        level: list[Any] = [*documents]
        counted = depth = 0
        while level:
            if depth > self.nesting:
                self.check("nesting", depth)
            texts: list[str] = []
            objects: list[dict[Any, Any]] = []
            below: list[Any] = []
            for value in level:
                kind = type(value)
                if kind is str:
                    texts.append(value)
                elif kind is dict:
                    objects.append(value)
                elif kind is list:
                    below += value
                elif kind not in _SCALARS:
                    texts += [value] if isinstance(value, str) else ()
                    below += _inside(value)
            names = [*chain.from_iterable(objects)]
            below += chain.from_iterable(map(dict.values, objects))
            counted += len(level) + len(names) + _bytes_of(texts) + _bytes_of(names)
            if counted > self.bytes:
                self.check("bytes", counted)
            level = below
            depth += 1
        return counted


_SCALARS: Final = frozenset({bool, float, int, type(None)})

DEFAULT_LIMITS: Final = Limits()
"""The default limits."""


def _inside(value: Any) -> Iterable[Any]:
    """Return the names and values of an object that is no dict, or the items of a list."""
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return value
    return ()


def _bytes_of(texts: list[Any]) -> int:
    """Return the bytes of texts, or of names, which need not be strings."""
    try:
        text = "".join(texts)
    except TypeError:
        text = "".join([text for text in texts if isinstance(text, str)])
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


_WORDS: dict[LimitName, str] = {
    "messages": "{count} messages",
    "calls": "{count} tool calls",
    "bytes": "at least {count} bytes",
    "envelopes": "{count} encrypted values",
    "spans": "{count} spans of text",
    "nesting": "at least {count} levels of nesting",
}


def check_choice(option: str, chosen: str, known: Sequence[str]) -> None:
    """Raise an error unless an option has a known value.

    Raises:
        ConfigurationError: It has not (``wrong_option``).
    """
    if chosen not in known:
        raise ConfigurationError(
            f"{option}={chosen!r} is unknown.",
            code="wrong_option",
            hint=f"{did_you_mean(str(chosen), known)}Use one of: {', '.join(known)}.",
        )


def check_seconds(**limits: float | None) -> None:
    """Raise an error unless all time limits, by the names of their options, are positive or ``None``.

    Raises:
        ConfigurationError: One is not (``bad_limit``).
    """
    for name, seconds in limits.items():
        if seconds is not None and not seconds > 0:
            raise ConfigurationError(
                f"{name} is {seconds}, which is not positive.",
                code="bad_limit",
                hint="Pass a number of seconds above 0.",
            )
