"""Encryption of one value."""

from __future__ import annotations

import os
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from typing import Any, Final

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from agui_reasoning.crypto import Binding, KeyRing
from benchmarks.harness import Effort, Figure, Path, UnavailableError, at_least, at_most, faster, ratios

__all__ = ["PATH"]

_PLAINTEXT: Final = os.urandom(3072).hex().encode()[:4096]
_BINDING: Final = Binding("thread-1", tenant="acme")


def _repeated(work: Callable[[], object], count: int) -> Callable[[], None]:
    def run() -> None:
        for _ in range(count):
            work()

    return run


def _raw() -> bytes:
    nonce = os.urandom(12)
    sealed = _CIPHER.encrypt(nonce, _PLAINTEXT, b"header")
    return b".".join(urlsafe_b64encode(part).rstrip(b"=") for part in (nonce, sealed[:-16], sealed[-16:]))


_CIPHER = AESGCM(os.urandom(32))


def _joserfc() -> Callable[[], object]:
    try:
        from joserfc import jwe
        from joserfc.jwk import OctKey
    except ImportError:
        raise UnavailableError("joserfc is not installed") from None
    key: Any = OctKey.import_key(os.urandom(32))
    header = {"alg": "dir", "enc": "A256GCM", "kid": "k1", "typ": "agui-reasoning+jwe"}
    return lambda: jwe.encrypt_compact(dict(header), _PLAINTEXT, key)


def _measure(effort: Effort) -> Iterator[Figure]:
    count = effort.size(5_000)
    ring = KeyRing.generate("k1")
    token = ring.encrypt(_PLAINTEXT, _BINDING)
    ours = _repeated(lambda: ring.encrypt(_PLAINTEXT, _BINDING), count)
    raw = _repeated(_raw, count)
    yield Figure("encrypt 4 KiB, in the time of raw AES-GCM", "×", ratios(ours, raw, effort), at_most(1.8))
    opened = _repeated(lambda: ring.decrypt(token, _BINDING), count)
    yield Figure("decrypt 4 KiB, in the time of raw encryption", "×", ratios(opened, raw, effort))
    theirs = _repeated(_joserfc(), count)
    yield faster("encrypt 4 KiB, times as fast as joserfc", ours, theirs, effort, at_least(3))


PATH = Path("`KeyRing` against raw AES-GCM with base64url, and against joserfc", _measure)
