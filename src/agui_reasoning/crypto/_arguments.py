"""What `KeyRing` is asked with: checked, and told from what it cannot be."""

from __future__ import annotations

from collections.abc import Callable

from agui_reasoning.crypto._binding import Binding
from agui_reasoning.crypto._jwe import MAX_EXPIRY, MAX_PLAINTEXT_BYTES
from agui_reasoning.crypto._secret import Secret
from agui_reasoning.errors import ConfigurationError

__all__ = ["bound", "check_encrypt_options", "expiry", "padded"]


def bound(binding: object) -> Binding:
    """The binding, if it is one."""
    if isinstance(binding, Binding):
        return binding
    raise ConfigurationError(
        f"The binding is {type(binding).__name__}, not Binding.",
        code="bad_binding",
        hint="Pass Binding(thread_id, tenant=...).",
    )


def padded(plaintext: object, pad_to: object) -> Secret | ConfigurationError:
    """The plaintext with spaces behind it; or an error, not raised yet: this frame has the plaintext."""
    if not isinstance(plaintext, bytes | bytearray):
        return ConfigurationError(
            f"The plaintext is {type(plaintext).__name__}, not bytes.",
            code="bad_plaintext",
            hint="Encode text as UTF-8.",
        )
    if not isinstance(pad_to, int) or not _is_whole(pad_to, 0):
        return ConfigurationError(
            "pad_to is not a whole number of bytes from 0 up.", code="bad_padding", hint="0 adds no padding."
        )
    spaces = -len(plaintext) % pad_to if pad_to else 0
    if len(plaintext) + spaces > MAX_PLAINTEXT_BYTES:
        return ConfigurationError(
            f"{len(plaintext) + spaces} bytes do not fit into a token, which takes {MAX_PLAINTEXT_BYTES}.",
            code="bad_plaintext",
            hint="Keep what is that large elsewhere, or pad less.",
        )
    return Secret(bytes(plaintext) + b" " * spaces)


def check_encrypt_options(ttl_s: object, pad_to: object) -> None:
    """Refuse options that `KeyRing.encrypt` would refuse.

    Raises:
        ConfigurationError: One cannot be used (``bad_ttl``, ``bad_padding``).
    """
    expiry(ttl_s, lambda: 0.0)
    wrong = padded(b"", pad_to)
    if isinstance(wrong, ConfigurationError):
        raise wrong


def expiry(ttl_s: object, now: Callable[[], float]) -> int | None:
    """The second from which on a token is no longer accepted."""
    if ttl_s is None:
        return None
    # Rounded down: never accepted for longer than asked.
    exp = int(now()) + ttl_s if isinstance(ttl_s, int) and _is_whole(ttl_s, 1) else -1
    if not 0 <= exp <= MAX_EXPIRY:
        raise ConfigurationError(
            "ttl_s is not a whole number of seconds from 1 up.",
            code="bad_ttl",
            hint="Leave it out for a token that does not expire.",
        )
    return exp


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
