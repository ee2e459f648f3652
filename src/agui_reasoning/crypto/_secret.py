"""Bytes that must not be seen: key material and plaintext, on their way through this room."""

from __future__ import annotations

from typing import NoReturn, final

__all__ = ["Secret"]


@final
class Secret:
    """Bytes whose ``repr`` is quiet and that no pickle takes along.

    Frames here hold these and never the bytes: a traceback that shows local variables calls ``repr``.
    """

    __slots__ = ("_value",)

    def __init__(self, value: bytes) -> None:
        self._value = value

    def reveal(self) -> bytes:
        """The bytes. Call it inside an expression, so that no local variable holds them."""
        return self._value

    def __repr__(self) -> str:
        return "<secret>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not pickled")
