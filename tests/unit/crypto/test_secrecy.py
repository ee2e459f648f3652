"""Look for keys and plaintext in messages, logs and tracebacks, even with local variables."""

from __future__ import annotations

import ast
import logging
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import agui_reasoning.crypto
from agui_reasoning.crypto import Binding, KeyRing, Secret, rekey_messages
from agui_reasoning.errors import AGUIReasoningError
from tests.unit.crypto.tokens import BOTH, HOME, NEW_KEY, OLD, OLD_KEY, TEXT, altered, base64url, frames

ROOM = Path(agui_reasoning.crypto.__file__).parent
SECRETS = [
    *("KEYMATERIAL", "PLAINTEXT"),
    *(encoded(value)[3:] for value in (OLD_KEY, NEW_KEY, TEXT) for encoded in (base64url, bytes.hex)),
]
TOKEN = OLD.encrypt(TEXT, HOME)
BOUND = OLD.encrypt(TEXT, Binding("t", entity_id="m"), ttl_s=10**9)


def outage(*_: object) -> Any:
    raise TimeoutError("no route")


def clockless(keys: dict[str, bytes]) -> KeyRing:
    return KeyRing(keys, now=outage)


FAILURES: dict[str, Callable[[], object]] = {
    "key too long": lambda: KeyRing({"old": OLD_KEY + b"x"}),
    "key is text": lambda: KeyRing({"old": OLD_KEY.decode()}),  # type: ignore[dict-item]
    "second key too short": lambda: KeyRing({"old": OLD_KEY, "new": NEW_KEY[:31]}),
    "bad id": lambda: KeyRing({"a b": OLD_KEY}),
    "key in place of its id": lambda: KeyRing({"KEYMATERIAL OLD": OLD_KEY}),
    "primary is none of them": lambda: KeyRing({"old": OLD_KEY}, primary="new"),
    "a key and no mapping": lambda: KeyRing(OLD_KEY),  # type: ignore[arg-type]
    "environment": lambda: KeyRing.from_env("RING"),
    "callable gives too much": lambda: KeyRing(lambda _: OLD_KEY * 2, primary="old").encrypt(TEXT, HOME),
    "outage while encrypting": lambda: KeyRing(outage, primary="old").encrypt(TEXT, HOME),
    "outage while decrypting": lambda: KeyRing(outage, primary="old").decrypt(TOKEN, HOME),
    "no clock while encrypting": lambda: clockless({"old": OLD_KEY}).encrypt(TEXT, HOME, ttl_s=60),
    "no clock after decrypting": lambda: clockless({"old": OLD_KEY}).decrypt(
        BOUND, Binding("t", entity_id="m")
    ),
    "no clock while rekeying": lambda: clockless({"old": OLD_KEY}).rekey(BOUND, Binding("t", entity_id="m")),
    "primary key gone while rekeying": lambda: KeyRing({"old": OLD_KEY}.__getitem__, primary="new").rekey(
        TOKEN, HOME
    ),
    "bad binding": lambda: OLD.encrypt(TEXT, "thread-1"),  # type: ignore[arg-type]
    "bad ttl": lambda: OLD.encrypt(TEXT, HOME, ttl_s=0),
    "bad padding": lambda: OLD.encrypt(TEXT, HOME, pad_to=-1),
    "plaintext is text": lambda: OLD.encrypt(TEXT.decode(), HOME),  # type: ignore[arg-type]
    "plaintext too long": lambda: OLD.encrypt(TEXT * 1_000_000, HOME),
    "altered": lambda: OLD.decrypt(altered(TOKEN), HOME),
    "another place": lambda: OLD.decrypt(TOKEN, Binding("thread-2")),
    "another entity": lambda: OLD.decrypt(BOUND, Binding("t", entity_id="x")),
    "rekey altered": lambda: BOTH.rekey(altered(TOKEN), HOME),
    "unknown key": lambda: OLD.content_key("new", "t"),
    "a history that does not open": lambda: rekey_messages(
        [{"id": "r", "role": "reasoning", "content": "", "encryptedValue": TOKEN}], BOTH, thread_id="x"
    ),
    "pickle": lambda: pickle.dumps(BOTH),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_no_frame_of_ours_shows_a_secret(failure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RING", f"old:{base64url(OLD_KEY)},new:{base64url(NEW_KEY)}A")
    shown = frames(FAILURES[failure])
    assert "File" in shown or failure == "pickle"
    assert [secret for secret in SECRETS if secret in shown] == []


@pytest.mark.parametrize("failure", FAILURES)
def test_no_error_of_ours_holds_a_secret(failure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RING", f"old:{base64url(OLD_KEY)},new:{base64url(NEW_KEY)}A")
    with pytest.raises((AGUIReasoningError, TimeoutError, TypeError)) as caught:
        FAILURES[failure]()
    error = caught.value
    told = " ".join(
        map(str, (error, repr(error), error.args, vars(error), error.__cause__, error.__context__))
    )
    assert [secret for secret in SECRETS if secret in told] == []


def test_a_token_is_in_no_frame_that_says_that_it_does_not_open() -> None:
    assert TOKEN[:40] not in frames(lambda: OLD.decrypt(TOKEN, Binding("thread-2")))


def test_a_frame_that_holds_a_secret_does_not_show_it() -> None:
    secret = Secret(OLD_KEY)

    def fail(held: Secret[bytes]) -> None:
        raise ValueError(held)

    shown = frames(lambda: fail(secret))
    assert "held = <secret>" in shown
    assert "KEYMATERIAL" not in shown
    assert repr(secret) == str(secret) == f"{secret}" == "<secret>"
    with pytest.raises(TypeError):
        pickle.dumps(secret)


def test_nothing_in_a_ring_shows_a_secret() -> None:
    BOTH.decrypt(TOKEN, HOME)
    shown = " ".join(repr(getattr(BOTH, name)) for name in KeyRing.__slots__ if name != "__weakref__") + repr(
        BOTH._keys._keys
    )
    assert [secret for secret in SECRETS if secret in shown] == []


def test_nothing_is_logged(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    with caplog.at_level(logging.DEBUG):
        for failure in FAILURES.values():
            with pytest.raises((AGUIReasoningError, TimeoutError, TypeError)):
                failure()
        BOTH.decrypt(BOTH.rekey(TOKEN, HOME), HOME)
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")


def test_randomness_comes_from_the_operating_system_in_one_function() -> None:
    called = [
        (path.name, ast.unparse(node.func))
        for path in sorted(ROOM.glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and "urandom" in ast.unparse(node.func)
    ]
    assert called == [("_jwe.py", "os.urandom")]
    assert not any(
        name.split(".")[0] in ("random", "secrets", "uuid")
        for path in ROOM.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [getattr(node, "module", None) or node.names[0].name]
    )
