"""A wrapper for key material and plaintext."""

from __future__ import annotations

from typing import NoReturn, final

__all__ = ["Secret"]


@final
class Secret:
    """Bytes that are not shown by ``repr`` and cannot be pickled.

    Local variables of this package contain secrets instead of bytes, because tracebacks can show their
    ``repr``.
    """

    __slots__ = ("_value",)

    def __init__(self, value: bytes) -> None:
        self._value = value

    def reveal(self) -> bytes:
        """Return the bytes. Call it inside an expression, so that they are not stored in a local variable."""
        return self._value

    def __repr__(self) -> str:
        return "<secret>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret cannot be pickled")
