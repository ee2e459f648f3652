"""Test ``upgrade``, ``downgrade`` and ``proxy``: files of any form and size, and a running agent."""

import json
import signal
import stat
import subprocess
import sys
from contextlib import contextmanager

import pytest

from agui_reasoning.gateway import local_server
from agui_reasoning.wire import read_events
from tests.support.effort import thinned
from tests.support.play import FINISHED, STARTED, ev, thought
from tests.unit.cli.command import environment, touched
from tests.unit.compat.test_downgrade import old, phase
from tests.unit.driver.test_thinking_middleware import body_of
from tests.unit.gateway.http_client import call
from tests.unit.gateway.test_proxy import TYPES, agent

SECONDS = 120
OLD = [STARTED, *phase(*old("Hm", "\u2028")), FINISHED]
SPAN = [
    ev("REASONING_START", messageId="s"),
    *thought("r", "Hm", "\u2028"),
    ev("REASONING_END", messageId="s"),
]
NEW = [STARTED, *SPAN, FINISHED]


def as_lines(events):
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def as_array(events):
    return b"[\n  " + b",\n  ".join(json.dumps(event).encode() for event in events) + b"\n]\n"


FORMS = {"sse": body_of, "json_lines": as_lines, "json_array": as_array}


@pytest.fixture(params=FORMS)
def form(request):
    return request.param


@pytest.fixture
def file(tmp_path):
    """Write a file."""

    def write(data):
        path = tmp_path / "run.log"
        path.write_bytes(data)
        return path

    return write


def types(data):
    return [event["type"] for event in read_events(data)]


def test_thinking_is_upgraded_in_every_form_and_the_form_stays(cli, file, form):
    result = cli("upgrade", file(FORMS[form](OLD)))
    assert result.status == 0
    assert types(result.stdout.encode()) == types(body_of(NEW))
    shape = FORMS[form]([{"type": "X"}] * len(OLD))
    assert result.stdout[:1].encode() == shape[:1]
    assert form == "json_array" or result.stdout.count("\n") == shape.count(b"\n")


def test_reasoning_is_downgraded_for_the_peer_that_is_named(cli, file, form):
    path = file(FORMS[form](NEW))
    assert read_events(cli("downgrade", path).stdout.encode()) == OLD
    named = read_events(cli("downgrade", path, "--peer", "0.1.13").stdout.encode())
    assert named == [event | ({"role": "assistant"} if "role" in event else {}) for event in NEW]


def test_what_has_nothing_to_upgrade_comes_out_as_it_was_but_for_white_space_in_an_array(cli, file, form):
    data = FORMS[form](NEW)
    for result in (cli("upgrade", file(data)), cli("upgrade", "-", stdin=data)):
        out = result.stdout.encode()
        assert (result.status, result.stderr, read_events(out)) == (0, "", NEW)
        assert form == "json_array" or out == data


def test_what_is_there_comes_out_before_the_input_ends():
    command = [sys.executable, "-m", "agui_reasoning", "upgrade", "-"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment(), bufsize=0) as running:
        for piece in (b"d", b'ata: {"type": "THINKING_', b'START"}\n\n'):
            running.stdin.write(piece)
        assert b"REASONING_START" in running.stdout.readline()
        running.stdin.close()
        assert running.wait(SECONDS) == 0


@pytest.mark.parametrize("data", [b"", b"\n", b"\xef\xbb\xbf"])
def test_nothing_gives_nothing(cli, file, data):
    assert cli("upgrade", file(data)).stdout == ""


def test_losses_are_told_once_on_standard_error(cli, file):
    result = cli("downgrade", file(as_lines(NEW * 3)))
    assert result.stderr == "warning: The IDs of reasoning are lost: THINKING_* has none.\n"
    titled = [event | ({"title": "Plan"} if event["type"] == "THINKING_START" else {}) for event in OLD]
    result = cli("upgrade", file(as_lines(titled * 3)))
    assert result.stderr == "warning: THINKING_START.title is dropped: REASONING_START has no title.\n"


def test_repairs_and_titles_are_options(cli, file):
    path = file(as_lines([STARTED, ev("THINKING_START", title="Plan"), FINISHED]))
    assert types(cli("upgrade", path).stdout.encode()) == ["RUN_STARTED", "REASONING_START", "RUN_FINISHED"]
    events = read_events(cli("upgrade", path, "--repair", "--keep-title").stdout.encode())
    assert [event["type"] for event in events][2] == "REASONING_END"
    assert events[1]["metadata"] == {"agui-reasoning": {"title": "Plan"}}


# -- in place


def test_a_file_is_replaced_whole_with_its_mode(cli, file, form):
    path = file(FORMS[form](OLD))
    path.chmod(0o640)
    result = cli("upgrade", path, "--in-place")
    assert (result.status, result.stdout) == (0, "")
    assert types(path.read_bytes()) == types(body_of(NEW))
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_file_in_which_something_is_wrong_stays_as_it_was(cli, file, form):
    data = FORMS[form](OLD).replace(json.dumps(FINISHED).encode(), b"{oops}")
    path = file(data)
    result = cli("upgrade", path, "--in-place")
    assert result.status == 2
    assert result.stderr.splitlines()[-1].startswith("error: ")
    assert path.read_bytes() == data
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_file_in_which_nothing_changes_is_not_written(cli, file, form):
    path = file(FORMS[form](NEW))
    before = touched(path)
    assert cli("upgrade", path, "--in-place").status == 0
    assert touched(path) == before


def test_standard_input_has_no_place(cli):
    result = cli("upgrade", "-", "--in-place")
    assert result.status == 2
    assert result.stderr.endswith("[usage]\n")


# -- what is wrong


def test_what_was_good_before_an_invalid_element_is_written(cli, file, form):
    data = FORMS[form](OLD).replace(json.dumps(FINISHED).encode(), b"{oops}")
    result = cli("upgrade", file(data))
    assert result.status == 2
    assert result.stdout.count("REASONING_") == len(SPAN)
    assert result.stderr.splitlines()[-1].endswith("[bad_json]")


def test_a_file_that_is_cut_gives_its_beginning(cli, file):
    result = cli("upgrade", file(as_array(OLD)[:-20]))
    assert result.status == 2
    assert result.stdout.count("REASONING_") == len(SPAN)
    assert "The stream ended inside" in result.stderr


def test_a_stream_that_breaks_the_protocol_ends_with_1(cli, file):
    result = cli("downgrade", file(as_lines([ev("REASONING_MESSAGE_CHUNK", delta="x")])))
    assert result.status == 1
    assert result.stderr.endswith("[chunk_without_id]\n")


@pytest.mark.parametrize("peer", ["0.1.4", "novelty"])
def test_a_peer_that_nobody_knows_ends_with_2(cli, file, peer):
    result = cli("downgrade", file(as_lines(NEW)), "--peer", peer)
    assert (result.status, result.stdout) == (2, "")
    assert result.stderr.endswith("[unknown_peer]\n")


@pytest.mark.parametrize("name", ["no-such-file", "."])
def test_a_file_that_cannot_be_read_ends_with_2(cli, tmp_path, name):
    result = cli("upgrade", tmp_path / name)
    assert (result.status, result.stdout) == (2, "")
    assert result.stderr.endswith("[unreadable_file]\n")


# -- JSON


def test_json_is_one_object_with_the_events(cli, file, form):
    told = json.loads(cli("downgrade", file(FORMS[form](NEW)), "--json").stdout)
    assert told == {
        "events": OLD,
        "format": form,
        "events_in": len(NEW),
        "events_out": len(OLD),
        "changed": len(SPAN),
        "warnings": ["The IDs of reasoning are lost: THINKING_* has none."],
        "complete": True,
    }


def test_json_beside_a_file_that_is_replaced_holds_no_events(cli, file):
    told = json.loads(cli("downgrade", file(as_lines(NEW)), "--json", "--in-place").stdout)
    assert "events" not in told
    assert (told["changed"], told["complete"]) == (len(SPAN), True)


def test_json_is_whole_also_where_the_file_is_not(cli, file):
    result = cli("upgrade", file(as_lines([STARTED]) + b"{oops}"), "--json")
    told = json.loads(result.stdout)
    assert (result.status, told["events"], told["complete"]) == (2, [STARTED], False)
    assert json.loads(cli("upgrade", file(b""), "--json").stdout)["events"] == []


# -- large files

PEAK = """
import resource, sys
from agui_reasoning.cli import main
status = main(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
sys.exit(status)
"""
SMALL, LARGE = 1, 50
"""Megabytes."""
ROOM_KB = 16 * 1024


def log_of(form, megabytes, path):
    """A log of complete runs; written piece by piece, as it is read."""
    run = [STARTED, *phase(*old(*["words and words, " * 100] * 10)), FINISHED]
    piece = {"sse": body_of, "json_lines": as_lines}.get(form, lambda events: as_array(events)[2:-2])(run)
    with path.open("wb") as file:
        file.write(b"[" * (form == "json_array"))
        for number in range(megabytes * 1024 * 1024 // len(piece)):
            file.write(b"," * (form == "json_array" and number > 0) + piece)
        file.write(b"]" * (form == "json_array"))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["--in-place"], ["--json"]], ids=" ".join)
def test_memory_does_not_grow_with_the_file(tmp_path, form, more):
    peaks = []
    for megabytes in (SMALL, LARGE):
        path = log_of(form, megabytes, tmp_path / f"{megabytes}.log")
        command = [sys.executable, "-c", PEAK, "upgrade", str(path), *more]
        done = subprocess.run(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(), timeout=100
        )
        assert done.returncode == 0, done.stderr
        peaks.append(int(done.stderr.splitlines()[-1]))
        path.unlink()
    assert peaks[1] - peaks[0] < ROOM_KB


# -- the proxy


@contextmanager
def proxying(*args, stop=signal.SIGINT):
    command = [sys.executable, "-W", "error", "-m", "agui_reasoning", "proxy", "--port", "0", *args]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, env=environment(), text=True) as server:
        try:
            line = server.stdout.readline()
            assert line.startswith("agui-reasoning proxy in front of http://"), server.stderr.read()
            yield line
            server.send_signal(stop)
            rest, complaints = server.communicate(timeout=SECONDS)
            assert (server.returncode, rest, complaints) == (0, "", "")
        finally:
            server.kill()


@pytest.mark.parametrize("stop", thinned([signal.SIGTERM, signal.SIGINT], 2))
def test_a_running_agent_is_upgraded_from_outside(stop):
    with local_server(agent) as upstream, proxying("--upstream", upstream, stop=stop) as line:
        assert f"in front of {upstream} at " in line
        assert types(call(f"{line.split()[-1]}/agent").body) == TYPES


def test_the_line_shows_no_password():
    with proxying("--upstream", "http://user:secret@127.0.0.1:9/agent") as line:
        assert "in front of http://127.0.0.1:9/agent at" in line
        assert "secret" not in line


def test_an_upstream_that_is_no_url_ends_with_2(cli):
    result = cli("proxy", "--upstream", "localhost:8000")
    assert result.status == 2
    assert result.stderr.endswith("[bad_url]\n")
    assert cli("proxy").stderr.endswith("[usage]\n")
