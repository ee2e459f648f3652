"""Test ``keygen``, ``encrypt`` and ``decrypt``."""

import json

import pytest

from agui_reasoning.crypto import Binding, KeyRing
from tests.unit.crypto.tokens import BOTH, NEW, OLD, TEXT, header_of

ALTERED = (
    "error: The token cannot be decrypted. It was altered, has expired or belongs elsewhere, "
    "or its key is not in the ring. [undecryptable]\n"
)


@pytest.fixture(autouse=True)
def ring(monkeypatch):
    monkeypatch.setenv("AGUI_REASONING_KEYS", BOTH.to_env())


@pytest.fixture
def plain(tmp_path):
    path = tmp_path / "plain.json"
    path.write_bytes(TEXT)
    return path


@pytest.fixture
def token_file(tmp_path):
    def write(token):
        path = tmp_path / "token"
        path.write_text(f"{token}\n")
        return path

    return write


# -- keygen


def test_a_key_is_printed_as_the_environment_takes_it(cli, monkeypatch):
    one, two = cli("keygen", "--kid", "2026-10"), cli("keygen")
    assert (one.status, one.stderr, one.stdout.count("\n")) == (0, "", 1)
    assert one.stdout.startswith("2026-10:")
    assert one.stdout != two.stdout
    monkeypatch.setenv("AGUI_REASONING_KEYS", f"{one.stdout},{two.stdout}")
    assert KeyRing.from_env().primary == "2026-10"


def test_json_has_id_and_key_apart(cli, monkeypatch):
    made = json.loads(cli("keygen", "--kid", "k", "--json").stdout)
    assert made["kid"] == "k"
    monkeypatch.setenv("AGUI_REASONING_KEYS", f"k:{made['key']}")
    assert KeyRing.from_env().kids == ("k",)


def test_an_id_that_cannot_be_one_is_wrong_usage(cli):
    result = cli("keygen", "--kid", "a,b")
    assert (result.status, result.stdout) == (2, "")
    assert "[bad_kid]" in result.stderr


# -- encrypt and decrypt


@pytest.mark.parametrize("options", [[], ["--tenant", "acme"], ["--entity", "c1", "--subtype", "tool-call"]])
def test_what_was_encrypted_is_decrypted_byte_for_byte(options, plain, token_file, cli):
    token = cli("encrypt", plain, "--thread", "t", *options).stdout.strip()
    assert header_of(token)["kid"] == "new"
    result = cli("decrypt", token_file(token), "--thread", "t", *options)
    assert (result.status, result.stdout, result.stderr) == (0, TEXT.decode(), "")


def test_bytes_that_are_no_text_go_through_pipes(cli):
    keys = {"AGUI_REASONING_KEYS": BOTH.to_env()}
    token = cli("encrypt", "-", "--thread", "t", stdin=b"\r\n\0 x", **keys).stdout
    result = cli("decrypt", "-", "--thread", "t", stdin=f"  {token}\n".encode(), **keys)
    assert (result.status, result.stdout) == (0, "\r\n\0 x")


def test_json_is_one_value(plain, token_file, cli):
    token = json.loads(cli("encrypt", plain, "--thread", "t", "--json").stdout)["token"]
    shown = json.loads(cli("decrypt", token_file(token), "--thread", "t", "--json").stdout)
    assert shown == {"plaintext": TEXT.decode()}


def test_time_to_live_and_padding_reach_the_token(plain, cli):
    token = cli("encrypt", plain, "--thread", "t", "--ttl-s", 3600, "--pad-to", 64).stdout.strip()
    assert "exp" in header_of(token)
    assert len(BOTH.decrypt(token, Binding("t"))) == 64


@pytest.mark.parametrize(
    "options",
    [
        ["--thread", "t2"],
        ["--thread", "t", "--tenant", "acme"],
        ["--thread", "t", "--entity", "m"],
        ["--thread", "t", "--keys-env", "OTHER"],
    ],
)
def test_every_cause_ends_with_1_and_the_same_line(options, token_file, cli, monkeypatch):
    monkeypatch.setenv("OTHER", NEW.to_env())
    token = OLD.encrypt(TEXT, Binding("t"))
    result = cli("decrypt", token_file(token), *options)
    assert (result.status, result.stdout, result.stderr) == (1, "", ALTERED)


@pytest.mark.parametrize("text", ["", "hello", "\xff", "a b", "...."])
def test_what_is_no_token_is_no_other_case(text, token_file, cli):
    result = cli("decrypt", token_file(text), "--thread", "t")
    assert (result.status, result.stdout, result.stderr) == (1, "", ALTERED)


def test_keys_come_from_another_variable_or_from_a_file(plain, tmp_path, cli, monkeypatch):
    monkeypatch.setenv("OTHER", OLD.to_env())
    token = cli("encrypt", plain, "--thread", "t", "--keys-env", "OTHER").stdout.strip()
    assert header_of(token)["kid"] == "old"
    keys = tmp_path / "keys"
    keys.touch(mode=0o600)
    keys.write_text(OLD.to_env())
    result = cli("encrypt", plain, "--thread", "t", "--keys-file", keys)
    assert header_of(result.stdout.strip())["kid"] == "old"
    assert result.stderr == ""
    keys.chmod(0o644)
    assert cli("encrypt", plain, "--thread", "t", "--keys-file", keys).stderr.startswith(
        "warning: Every user"
    )


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["--thread", "t", "--keys-env", "NOT_SET"], "no_keys"),
        (["--thread", "t", "--keys-env", "BAD"], "bad_key"),
        (["--thread", "t", "--keys-file", "no-such-file"], "unreadable_keys"),
        (["--thread", ""], "usage"),
        ([], "usage"),
        (["--thread", "t", "--subtype", "step"], "usage"),
        (["--thread", "t", "--ttl-s", "0"], "bad_ttl"),
        (["--thread", "t", "--pad-to", "-1"], "bad_padding"),
    ],
)
def test_wrong_usage_is_one_line_without_a_key_in_it(args, code, plain, cli, monkeypatch):
    monkeypatch.setenv("BAD", OLD.to_env()[:-1])
    result = cli("encrypt", plain, *args)
    assert (result.status, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.endswith(f"[{code}]\n")
    assert OLD.to_env()[6:20] not in result.stderr


@pytest.mark.parametrize("command", ["encrypt", "decrypt"])
def test_a_file_that_cannot_be_read_is_one_line(command, cli):
    result = cli(command, "no-such-file", "--thread", "t")
    assert (result.status, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert "[unreadable_file]" in result.stderr


# -- what errors about keys say


def test_a_variable_that_is_not_set_says_where_keys_can_come_from(token_file, cli):
    result = cli("decrypt", token_file("x"), "--thread", "t", "--keys-env", "NOT_SET")
    assert result.status == 2
    assert "NOT_SET is not set or is empty. Set it, or pass --keys-file. " in result.stderr


def test_a_key_that_is_there_twice_is_to_be_removed(token_file, cli, monkeypatch):
    monkeypatch.setenv("AGUI_REASONING_KEYS", f"{OLD.to_env()},{OLD.to_env()}")
    result = cli("decrypt", token_file("x"), "--thread", "t")
    assert (
        result.stderr == "error: Key old cannot be used: it occurs twice. Remove one of the two. [bad_key]\n"
    )


def test_a_file_without_keys_is_named(tmp_path, token_file, cli):
    path = tmp_path / "empty"
    path.write_text("\n")
    result = cli("decrypt", token_file("x"), "--thread", "t", "--keys-file", path)
    assert result.status == 2
    assert f"There is no key in {path}." in result.stderr
