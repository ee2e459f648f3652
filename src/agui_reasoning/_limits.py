"""How large an input may be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, TypeAlias

from agui_reasoning.errors import ConfigurationError, RemoteProtocolError

__all__ = ["DEFAULT_LIMITS", "LimitName", "Limits"]

LimitName: TypeAlias = Literal["messages", "calls", "bytes", "envelopes", "spans", "nesting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How large an input may be, before any work is spent on it.

    Attributes:
        messages: Messages of one history.
        calls: Tool calls of one history.
        bytes: UTF-8 bytes of all strings and names of one history, and one for each value.
        envelopes: Encrypted values, or plain envelopes, of one history.
        spans: Stretches of text that the envelopes of one history describe.
        nesting: Depth of objects and lists inside one another, the message or document itself being 1.

    Raises:
        ConfigurationError: A limit is not a whole number from 1 up (``bad_limit``).

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
                    f"{field.name} is not a whole number from 1 up.",
                    code="bad_limit",
                    hint="Leave it out for the default.",
                )

    def check(self, name: LimitName, count: int) -> None:
        """Refuse more than a limit allows.

        Raises:
            RemoteProtocolError: There is more (``too_large``).
        """
        allowed = getattr(self, name)
        if count > allowed:
            raise RemoteProtocolError(
                f"The input has {_WORDS[name].format(count=count)}, and {allowed} are allowed.",
                code="too_large",
                hint=f"Send less, or raise it with limits=Limits({name}=…).",
            )

    def check_json(self, document: Any, *, counted: int = 0) -> int:
        """Refuse JSON data that is too large or nested too deeply. Uses no recursion.

        Args:
            document: Mappings, lists, strings and numbers.
            counted: The bytes of other documents that count together with this one.

        Returns:
            ``counted`` and the bytes of this document, as `bytes` counts them.

        Raises:
            RemoteProtocolError: ``too_large``.
        """
        level: list[Any] = [document]
        depth = 0
        while level:
            self.check("nesting", depth)
            counted += len(level) + sum(_utf8_bytes(value) for value in level if isinstance(value, str))
            self.check("bytes", counted)
            level = [inner for value in level for inner in _inside(value)]
            depth += 1
        return counted


DEFAULT_LIMITS: Final = Limits()
"""What holds where nothing else is said."""


def _inside(value: Any) -> Iterator[Any]:
    """The names and values in an object, the values in a list."""
    if isinstance(value, Mapping):
        yield from value.keys()
        yield from value.values()
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        yield from value


def _utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


_WORDS: dict[LimitName, str] = {
    "messages": "{count} messages",
    "calls": "{count} tool calls",
    "bytes": "at least {count} bytes",
    "envelopes": "{count} encrypted values",
    "spans": "{count} spans of text",
    "nesting": "at least {count} levels of nesting",
}
