"""Validation of the arguments of `KeyRing`."""

from __future__ import annotations

from collections.abc import Callable

from agui_reasoning.crypto._binding import Binding
from agui_reasoning.crypto._jwe import MAX_EXPIRY, MAX_PLAINTEXT_BYTES
from agui_reasoning.crypto._secret import Secret
from agui_reasoning.errors import ConfigurationError

__all__ = ["bound", "check_encrypt_options", "checked_age", "expiry", "padded"]


def bound(binding: object) -> Binding:
    """Return a binding, or raise an error for another type."""
    if isinstance(binding, Binding):
        return binding
    raise ConfigurationError(
        f"The binding is {type(binding).__name__}, not Binding.",
        code="bad_binding",
        hint="Pass Binding(thread_id, tenant=...).",
    )


def checked_age(max_age_s: object) -> float:
    """Return the maximum age of cached keys, or raise an error."""
    if isinstance(max_age_s, int | float) and not isinstance(max_age_s, bool) and max_age_s >= 0:
        return max_age_s
    raise ConfigurationError(
        "max_age_s is not a number of seconds.",
        code="bad_limit",
        hint="Pass 0 to cache nothing, or omit it for 5 minutes.",
    )


def padded(plaintext: object, pad_to: object) -> Secret | ConfigurationError:
    """Return the padded plaintext, or an error, which is not raised because this frame has the plaintext."""
    if not isinstance(plaintext, bytes | bytearray):
        return ConfigurationError(
            f"The plaintext is {type(plaintext).__name__}, not bytes.",
            code="bad_plaintext",
            hint="Encode text as UTF-8.",
        )
    if not isinstance(pad_to, int) or not _is_whole(pad_to, 0):
        return ConfigurationError(
            "pad_to is not a non-negative integer.", code="bad_padding", hint="Pass 0 for no padding."
        )
    spaces = -len(plaintext) % pad_to if pad_to else 0
    if len(plaintext) + spaces > MAX_PLAINTEXT_BYTES:
        return ConfigurationError(
            f"The padded plaintext has {len(plaintext) + spaces} bytes, more than {MAX_PLAINTEXT_BYTES}.",
            code="bad_plaintext",
            hint="Store large values elsewhere, or use less padding.",
        )
    return Secret(bytes(plaintext) + b" " * spaces)


def check_encrypt_options(ttl_s: object, pad_to: object) -> None:
    """Check options of `KeyRing.encrypt`.

    Raises:
        ConfigurationError: An option is invalid (``bad_ttl``, ``bad_padding``).
    """
    expiry(ttl_s, lambda: 0.0)
    wrong = padded(b"", pad_to)
    if isinstance(wrong, ConfigurationError):
        raise wrong


def expiry(ttl_s: object, now: Callable[[], float]) -> int | None:
    """Return the Unix time at which a token expires."""
    if ttl_s is None:
        return None
    # Rounded down, so that a token is not accepted for longer than requested.
    exp = int(now()) + ttl_s if isinstance(ttl_s, int) and _is_whole(ttl_s, 1) else -1
    if not 0 <= exp <= MAX_EXPIRY:
        raise ConfigurationError(
            "ttl_s is not a positive integer, or too large.",
            code="bad_ttl",
            hint="Pass whole seconds, or omit it for a token that does not expire.",
        )
    return exp


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
