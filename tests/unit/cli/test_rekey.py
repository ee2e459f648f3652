"""Test ``rekey``: stored histories, and what happens to the file."""

import json
import os
import stat
import tracemalloc

import pytest

from agui_reasoning.crypto import Binding, KeyRing
from tests.unit.cli.command import touched
from tests.unit.crypto.tokens import BOTH, NEW, OLD, header_of

PLAIN = '{"k":"agui-reasoning","v":2}'
LIMITED = """
import resource, signal, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
signal.signal(signal.SIGXFSZ, signal.SIG_{action})
from agui_reasoning.cli import main
sys.exit(main())
"""


@pytest.fixture(autouse=True)
def ring(monkeypatch):
    monkeypatch.setenv("AGUI_REASONING_KEYS", BOTH.to_env())


@pytest.fixture
def file(tmp_path):
    def write(content, name="history.json"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    return write


def token(thread="t", text=b"{}", ring=OLD, **binding):
    return ring.encrypt(text, Binding(thread, **binding))


def reasoning(value, name="r1"):
    return {"id": name, "role": "reasoning", "content": "Rain? \U0001f327", "encryptedValue": value}


def history(thread="t", *values):
    found = [reasoning(value, f"r{number}") for number, value in enumerate(values or [token(thread)])]
    return {"threadId": thread, "runId": "r", "messages": found, "state": {"float": 1.10, "big": 2**70}}


def lines(*values, end="\n"):
    return "".join(json.dumps(value) + end for value in values).encode()


def kids(path):
    """Which key each value in a file is under, in order."""
    text = path.read_bytes().decode()
    return [header_of(part)["kid"] for part in text.split('"') if part.startswith("eyJ")]


def report(result):
    told = json.loads(result.stdout)
    return {
        name: told[name] for name in ("histories", "tokens", "rekeyed", "current", "undecryptable", "other")
    }


def counts(histories, tokens, rekeyed, current=0, undecryptable=0, other=0):
    return {
        "histories": histories,
        "tokens": tokens,
        "rekeyed": rekeyed,
        "current": current,
        "undecryptable": undecryptable,
        "other": other,
    }


# -- the forms a history is stored in


CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
SNAKE = {
    "thread_id": "t",
    "messages": [
        {"id": "r", "role": "reasoning", "content": "", "encrypted_value": token()},
        {"id": "a", "role": "assistant", "tool_calls": [CALL | {"encrypted_value": token()}]},
    ],
}
FORMS = {
    "messages": (json.dumps([reasoning(token()), reasoning(token())]).encode(), ["--thread", "t"], 1, 2),
    "one object": (json.dumps(history("t")).encode(), [], 1, 1),
    "indented": (json.dumps(history("t"), indent=2).encode(), [], 1, 1),
    "an array of objects": (json.dumps([history("t"), history("u"), history("t")]).encode(), [], 3, 3),
    "lines of objects": (lines(history("t"), history("u")), [], 2, 2),
    "lines of messages": (lines(reasoning(token()), reasoning(token())), ["--thread", "t"], 2, 2),
    "lines of arrays": (lines([reasoning(token())], [], [history("u")]), ["--thread", "t"], 2, 2),
    "without the last line break": (lines(history("t"), history("u"))[:-1], [], 2, 2),
    "with other line breaks": (lines(history("t"), history("u"), end="\r\n"), [], 2, 2),
    "with blank lines": (b"\n \n" + lines(history("t"), history("u"), end="\n\n\n"), [], 2, 2),
    "with a byte order mark": (b"\xef\xbb\xbf" + lines(history("t"), history("u")), [], 2, 2),
    "python names": (json.dumps(SNAKE).encode(), [], 1, 2),
    "a thread of its own beside --thread": (json.dumps(history("u")).encode(), ["--thread", "t"], 1, 1),
    "a tenant": (
        json.dumps(history("t", token("t", tenant="acme"))).encode(),
        ["--tenant", "acme"],
        1,
        1,
    ),
    "nothing": (b"", [], 0, 0),
    "blank": (b"\n\n", [], 0, 0),
    "empty": (b"[]", [], 0, 0),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_read_and_nothing_but_the_tokens_changes(form, file, cli):
    content, options, histories, tokens = FORMS[form]
    path = file(content)
    assert report(cli("rekey", path, "--json", *options)) == counts(histories, tokens, tokens)
    now = path.read_bytes()
    assert kids(path) == ["new"] * tokens
    assert masked(now) == masked(content)


def masked(data):
    """A file with its tokens made alike."""
    return b'"'.join(b"TOKEN" if part.startswith(b"eyJ") else part for part in data.split(b'"'))


def test_the_new_tokens_open_with_the_new_key_alone(file, cli):
    path = file([history("t", token("t", b"1")), history("u", token("u", b"2"))])
    cli("rekey", path)
    found = [
        (entry["threadId"], entry["messages"][0]["encryptedValue"]) for entry in json.loads(path.read_bytes())
    ]
    assert [NEW.decrypt(value, Binding(thread)) for thread, value in found] == [b"1", b"2"]


def test_values_on_calls_and_those_bound_to_an_entity_are_found(file, cli):
    bound = Binding("t", entity_id="c1", subtype="tool-call")
    call = CALL | {"encryptedValue": OLD.encrypt(b"c", bound)}
    path = file({"threadId": "t", "messages": [{"id": "a", "role": "assistant", "toolCalls": [call]}]})
    assert report(cli("rekey", path, "--json")) == counts(1, 1, 1)
    [message] = json.loads(path.read_bytes())["messages"]
    assert NEW.decrypt(message["toolCalls"][0]["encryptedValue"], bound) == b"c"


def test_plain_values_and_those_of_others_are_counted_and_stay(file, cli):
    path = file(history("t", PLAIN, "EqoBCkgIARABGAIiQL8", token()))
    assert report(cli("rekey", path, "--json")) == counts(1, 1, 1, other=2)


def test_a_line_without_a_token_is_copied_to_the_byte(file, cli):
    odd = b'  {"threadId":"x","messages":[ {"role":"user","id":"u","content":"\\u00e9\\/","n":1.50} ]}\t\n'
    path = file(odd + lines(history("t")) + odd)
    cli("rekey", path)
    assert path.read_bytes().startswith(odd)
    assert path.read_bytes().endswith(odd)
    assert kids(path) == ["new"]


def test_an_escaped_token_is_replaced_too_and_a_string_that_only_ends_with_it_stays(file, cli):
    value = token()
    content = lines(history("t", value)).replace(value.encode(), b"\\u0065" + value[1:].encode())
    quoted = json.dumps({"threadId": "t", "messages": [{"role": "user", "id": "u", "content": f'"{value}'}]})
    path = file(content + quoted.encode() + b"\n")
    cli("rekey", path)
    first, second = path.read_bytes().splitlines()
    assert header_of(json.loads(first)["messages"][0]["encryptedValue"])["kid"] == "new"
    assert second.decode() == quoted


# -- again, and in part


def test_a_second_time_nothing_is_done_and_the_file_is_not_touched(file, cli):
    path = file(lines(history("t"), history("u")))
    cli("rekey", path)
    before = touched(path)
    assert report(cli("rekey", path, "--json")) == counts(2, 2, 0, current=2)
    assert touched(path) == before


def test_what_is_done_already_is_not_done_again(file, cli):
    done = token("t", ring=NEW)
    path = file(lines(history("t", done), history("u"), history("t", done, token())))
    assert report(cli("rekey", path, "--json")) == counts(3, 4, 2, current=2)
    assert path.read_text().count(done) == 2


def test_a_dry_run_says_what_would_be_done(file, cli):
    path = file(lines(history("t"), history("u", token("t"))))
    before = path.read_bytes(), touched(path)
    result = cli("rekey", path, "--dry-run")
    assert result.status == 1
    told = "2 tokens in 2 histories: 1 would be rekeyed to new, 0 already current, 1 not decryptable."
    assert told in result.stdout
    assert (path.read_bytes(), touched(path)) == before


def test_what_does_not_open_is_named_and_stays_and_the_rest_is_done(file, cli):
    late = KeyRing({"old": b"KEYMATERIAL-OLD-" * 2}, now=lambda: 0)
    bad = [
        token("elsewhere"),
        token()[:-5],
        late.encrypt(b"{}", Binding("t"), ttl_s=1),
        token(ring=KeyRing.generate()),
    ]
    path = file(lines(history("t"), history("t", *bad, token())))
    result = cli("rekey", path, "--json")
    told = json.loads(result.stdout)
    assert result.status == 1
    assert report(result) == counts(2, 6, 2, undecryptable=4)
    assert told["unopened"] == [
        {"line": 2, "thread_id": "t", "message_id": f"r{number}", "kid": kid}
        for number, kid in enumerate(["old", "old", "old", header_of(bad[3])["kid"]])
    ]
    assert [path.read_text().count(value) for value in bad] == [1, 1, 1, 1]
    again = cli("rekey", path)
    assert again.status == 1
    assert again.stderr.count("cannot be decrypted and was kept.\n") == 4
    assert again.stderr.startswith("warning: line 2, thread t, message r0: the token of key old ")
    for stderr in (result.stderr, again.stderr):
        last = stderr.splitlines()[-1]
        assert "--tenant and --thread they were encrypted for, and add the keys they name" in last
        assert f"to the ring ({told['unopened'][3]['kid']});" in last
        assert last.endswith("[undecryptable]")
    assert all(value not in again.stderr + again.stdout for value in bad)


def test_of_many_that_do_not_open_some_are_named(file, cli):
    path = file(history("t", *[token("u")] * 50))
    more, error = cli("rekey", path).stderr.splitlines()[20:]
    assert more == "warning: and 30 more."
    assert error.startswith("error: Tokens that cannot be decrypted: 50. ")
    assert "the keys they name" not in error


def test_a_file_of_several_tenants_takes_a_pass_for_each(file, cli):
    path = file(lines(*[history("t", token("t", tenant=name)) for name in ("acme", "zeta")]))
    assert [cli("rekey", path, "--tenant", name).status for name in ("acme", "zeta")] == [1, 0]
    assert kids(path) == ["new", "new"]


# -- what cannot be done


@pytest.mark.parametrize(
    ("content", "options", "code"),
    [
        (b"hello", [], "bad_json"),
        (lines(history("t")) + b'{"threadId": "t", "mess', [], "bad_json"),
        (lines(history("t")) + b'{"a": "\xff"}\n', [], "bad_json"),
        (b'"text"', [], "not_a_history"),
        (b"7\n8\n", [], "not_a_history"),
        (lines(history("t"), {"threadId": "t"}), [], "not_a_history"),
        (lines(history("t"), {"messages": ["text"]}), [], "not_a_history"),
        (lines([history("t"), 7]), [], "not_a_history"),
        (lines([reasoning(token())]), [], "no_thread"),
        (lines(history("t"), {"messages": [reasoning(token())]}), [], "no_thread"),
        (lines(history("t")), ["--thread", ""], "usage"),
        (lines(history("t")), ["--keys-env", "NOT_SET"], "no_keys"),
    ],
)
def test_what_cannot_be_read_is_one_line_and_the_file_stays(content, options, code, file, cli):
    path = file(content)
    result = cli("rekey", path, *options)
    assert (result.status, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.endswith(f"[{code}]\n")
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == [path.name]


def test_the_line_that_is_wrong_is_named(file, cli):
    assert "line 3" in cli("rekey", file(lines(history("t"), history("t")) + b"{\n")).stderr


@pytest.mark.parametrize("name", ["no-such-file", "."])
def test_what_is_no_file_is_one_line(name, tmp_path, cli):
    result = cli("rekey", tmp_path / name)
    assert (result.status, result.stderr.count("\n")) == (2, 1)
    assert "[unreadable_file]" in result.stderr


# -- the file


def test_a_full_disk_leaves_the_file_and_nothing_else(file, process):
    pytest.importorskip("resource", reason="there are no limits to set here")
    content = lines(*[history("t")] * 50)
    path = file(content)
    keys = {"AGUI_REASONING_KEYS": BOTH.to_env()}
    result = process("rekey", path, code=LIMITED.format(action="IGN"), **keys)
    assert (result.status, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert result.stderr.endswith("[unwritable_file]\n")
    assert "It was left unchanged." in result.stderr
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == [path.name]


def test_a_crash_in_the_middle_leaves_the_file_and_the_next_run_does_it_all(file, process, cli):
    pytest.importorskip("resource", reason="there are no limits to set here")
    content = lines(*[history("t")] * 50)
    path = file(content)
    keys = {"AGUI_REASONING_KEYS": BOTH.to_env()}
    # Killed by the system while it writes, with no chance to clean up.
    assert process("rekey", path, code=LIMITED.format(action="DFL"), **keys).status < 0
    assert path.read_bytes() == content
    assert report(cli("rekey", path, "--json")) == counts(50, 50, 50)


def test_a_folder_that_cannot_be_written_is_one_line(file, cli):
    if os.name != "posix" or os.geteuid() == 0:
        pytest.skip("this user may write everywhere")
    path = file(lines(history("t")))
    path.parent.chmod(0o500)
    result = cli("rekey", path, AGUI_REASONING_KEYS=BOTH.to_env())
    path.parent.chmod(0o700)
    assert result.status == 2
    assert "[unwritable_file]" in result.stderr


@pytest.mark.skipif(os.name != "posix", reason="files have other permissions here")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
def test_mode_and_owner_stay(mode, file, cli):
    path = file(lines(history("t")))
    path.chmod(mode)
    before = path.stat()
    cli("rekey", path)
    after = path.stat()
    assert kids(path) == ["new"]
    assert stat.S_IMODE(after.st_mode) == mode
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)


@pytest.mark.skipif(os.name != "posix", reason="links are something else here")
def test_a_link_stays_a_link(file, tmp_path, cli):
    path = file(lines(history("t")))
    link = tmp_path / "link"
    link.symlink_to(path.name)
    cli("rekey", link)
    assert link.is_symlink()
    assert kids(path) == ["new"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_device_is_not_rewritten(cli):
    result = cli("rekey", os.devnull)
    assert result.status == 2
    assert "/dev/null is a device, not a file" in result.stderr


def test_a_file_that_somebody_writes_meanwhile_stays_theirs(file, cli, monkeypatch):
    path = file(lines(history("t"), history("u")))
    theirs = lines(history("t"), history("u"), history("v"))
    rekey = KeyRing.rekey

    def rekeying(*given, **options):
        path.write_bytes(theirs)
        return rekey(*given, **options)

    monkeypatch.setattr(KeyRing, "rekey", rekeying)
    result = cli("rekey", path)
    assert result.status == 2
    assert "[changed_file]" in result.stderr
    assert path.read_bytes() == theirs
    assert os.listdir(path.parent) == [path.name]


def test_standard_input_goes_to_standard_output_and_the_report_beside_it(cli):
    content = lines(history("t"), history("u"))
    result = cli("rekey", "-", stdin=content, AGUI_REASONING_KEYS=BOTH.to_env())
    assert result.status == 0
    assert masked(result.stdout.encode()) == masked(content)
    assert "2 rekeyed to new" in result.stderr


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(file, cli):
    line = lines(history("t", token("t", b"x" * 3000)))
    small, large = file(line * 20, "small"), file(line * 1000, "large")
    cli("rekey", small)
    tracemalloc.start()
    try:
        peaks = []
        for path in (file(line * 20, "small"), large):
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            assert cli("rekey", path).status == 0
            peaks.append(tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 300_000 < large.stat().st_size


def test_long_work_shows_on_a_terminal_how_far_it_is(file, cli, at_once):
    path = file(lines(*[history("t")] * 20))
    result = cli("rekey", path, AGUI_REASONING_KEYS=BOTH.to_env(), FORCE_COLOR="1", TERM="xterm")
    assert "100%" in result.stderr
    assert result.stdout.startswith(f"{path}: 20 tokens in 20 histories: ")


def test_no_terminal_shows_nothing_but_the_report(file, cli):
    path = file(lines(history("t")))
    result = cli("rekey", path, AGUI_REASONING_KEYS=BOTH.to_env())
    assert result.stderr == ""
    told = "1 token in 1 history: 1 rekeyed to new, 0 already current, 0 not decryptable."
    assert result.stdout == f"{path}: {told}\n"
