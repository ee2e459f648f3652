"""Test ``check`` and ``reduce``."""

import json

import pytest

from agui_reasoning.replay import load_script, script_names
from agui_reasoning.wire import SSEEncoder
from tests.property.test_own_streams import exchanged
from tests.support.play import FAILED, FINISHED, STARTED, call, ev, text, thought, value

GOOD = [
    STARTED,
    *thought("r1", "Rain?\nMaybe."),
    value("r1", "SEALED"),
    *text("m1", "Take a coat."),
    *call("c1", '{"city": "Oslo"}', parentMessageId="m1"),
    value("c1", "SEALED-CALL", "tool-call"),
    FINISHED,
]
LOSSY = [STARTED, value("r1"), *thought("r1"), FINISHED]
BROKEN = [STARTED, *thought("r1", "Rain?"), text("m1", "x")[1], FINISHED]


@pytest.fixture
def file(tmp_path):
    def write(events, name="events.json"):
        path = tmp_path / name
        path.write_text(json.dumps(events), encoding="utf-8")
        return path

    return write


# -- check


@pytest.mark.parametrize("name", script_names())
def test_a_script_passes(name, tmp_path, cli):
    path = tmp_path / "run.sse"
    path.write_bytes(b"".join(map(SSEEncoder().encode, exchanged(load_script(name)))))
    result = cli("check", path, "--strict")
    assert (result.status, result.stderr) == (0, "")
    assert result.stdout.endswith("no problems found.\n")


@pytest.mark.parametrize(
    ("events", "strict", "status"),
    [
        (GOOD, 0, 0),
        (GOOD, 1, 0),
        (LOSSY, 0, 0),
        (LOSSY, 1, 1),
        (BROKEN, 0, 1),
        (GOOD[:-1], 0, 1),
        ([], 0, 1),
        ([ev("foo")], 0, 1),
        ([ev("foo"), FAILED], 0, 0),
    ],
)
def test_the_status_tells(events, strict, status, file, cli):
    result = cli("check", file(events), *["--strict"] * strict)
    assert (result.status, result.stderr) == (status, "")


def test_a_finding_says_where_what_and_what_to_do(file, cli):
    path = file(BROKEN)
    assert cli("check", path).stdout.splitlines() == [
        f"{path}:1: error not_open TEXT_MESSAGE_CONTENT: no text message 'm1' is open. (event 5)",
        "  hint: Send TEXT_MESSAGE_START first, and nothing after the end.",
        "  see:  agui-reasoning explain not_open",
        "6 events: 1 error.",
    ]
    assert cli("check", file(GOOD[:1])).stdout.splitlines()[0] == (
        f"{path}:1: error truncated_run The stream ended without a terminal event. (end)"
    )


def test_json_is_one_object(file, cli):
    result = cli("check", file(LOSSY), "--json")
    report = json.loads(result.stdout)
    assert result.status == 0
    [finding] = report.pop("findings")
    assert report == {
        "ok": False,
        "files": 1,
        "events": 5,
        "errors": 0,
        "warnings": 1,
        "unreadable": [],
    }
    assert {**finding, "message": "", "remedy": ""} == {
        "code": "value_before_entity",
        "severity": "warning",
        "index": 1,
        "file": str(file(LOSSY)),
        "line": 1,
        "message": "",
        "remedy": "",
        "page": "docs/reference/findings/value_before_entity.md",
    }
    assert json.loads(cli("check", file(GOOD), "--json").stdout)["ok"] is True


def test_each_message_of_a_code_is_shown_once_and_all_findings_in_json(file, cli):
    old = [ev("THINKING_TEXT_MESSAGE_CONTENT", delta="x")] * 25
    path = file(
        [
            STARTED,
            ev("THINKING_TEXT_MESSAGE_START"),
            *old,
            ev("THINKING_TEXT_MESSAGE_END"),
            ev("foo"),
            FINISHED,
        ]
    )
    shown = cli("check", path).stdout
    heads = [line.split() for line in shown.splitlines() if " warning " in line]
    assert [(head[2], head[3], head[-1]) for head in heads] == [
        ("legacy_shape", "THINKING_TEXT_MESSAGE_START", "2)"),
        ("legacy_shape", "THINKING_TEXT_MESSAGE_CONTENT", "3)"),
        ("legacy_shape", "THINKING_TEXT_MESSAGE_END", "28)"),
        ("unknown_event", "foo", "29)"),
    ]
    assert "\n  and 24 more: events 4, 5, 6, 7, 8, 9, 10, 11, ...\n" in shown
    assert shown.count("agui-reasoning explain legacy_shape") == 1
    assert f"with: agui-reasoning upgrade {path}\n" in shown
    assert "30 events: 28 warnings (27 legacy_shape, 1 unknown_event).\n" in shown
    assert len(json.loads(cli("check", path, "--json").stdout)["findings"]) == 28


def test_an_upgrade_with_repairs_is_suggested_where_it_mends(file, cli):
    broken = file([STARTED, ev("THINKING_TEXT_MESSAGE_CONTENT", delta="x"), FINISHED])
    assert f"with: agui-reasoning upgrade --repair {broken}\n" in cli("check", broken).stdout
    other = file([STARTED, ev("THINKING_START"), ev("THINKING_END"), ev("TEXT_MESSAGE_START"), FINISHED])
    assert f"with: agui-reasoning upgrade {other}\n" in cli("check", other).stdout


def test_an_upgrade_with_repairs_is_suggested_without_thinking_events_too(file, cli):
    role = {"type": "REASONING_MESSAGE_START", "messageId": "m", "role": "assistant"}
    events = [STARTED, role, ev("REASONING_MESSAGE_END", messageId="m"), FINISHED]
    broken = file(events, "my log.jsonl")
    shown = cli("check", broken).stdout
    assert (
        f"Errors of this stream can be repaired with: agui-reasoning upgrade --repair '{broken}'\n" in shown
    )
    repaired = cli("upgrade", "--repair", broken).stdout
    assert cli("check", "-", stdin=repaired.encode()).status == 0
    other = file([STARTED, ev("TEXT_MESSAGE_START"), FINISHED])
    assert "agui-reasoning upgrade" not in cli("check", other).stdout


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ("".join(f"data: {json.dumps(event)}\n\n" for event in BROKEN), 9),
        (": hello\r\n" + "".join(f"id: 1\r\ndata: {json.dumps(event)}\r\n\r\n" for event in BROKEN), 15),
        ("\ufeff" + "".join(f"{json.dumps(event)}\n" for event in BROKEN), 5),
        ("\n\n" + "".join(f"{json.dumps(event)}\n\n" for event in BROKEN), 11),
        ("[\n" + ",\n".join(map(json.dumps, BROKEN)) + "\n]", 6),
        (json.dumps(BROKEN), 1),
    ],
)
def test_a_finding_names_the_line_that_its_event_begins_on(data, line, tmp_path, cli):
    path = tmp_path / "events"
    path.write_bytes(data.encode())
    assert cli("check", path).stdout.startswith(f"{path}:{line}: error not_open ")
    assert json.loads(cli("check", path, "--json").stdout)["findings"][0]["line"] == line


@pytest.mark.parametrize("end", ["", '{"type": "RUN_FIN'])
def test_the_end_has_the_line_of_the_last_event_in_every_format(end, tmp_path, cli):
    path = tmp_path / "events.jsonl"
    path.write_text(f"\n{json.dumps(STARTED)}\n{end}", encoding="utf-8")
    assert cli("check", path).stdout.startswith(f"{path}:2: error truncated_run ")
    assert ",line=2,title=truncated_run::" in cli("check", path, "--format", "github").stdout
    [finding] = json.loads(cli("check", path, "--json").stdout)["findings"]
    assert (finding["index"], finding["line"]) == (1, 2)
    [result] = json.loads(cli("check", path, "--format", "sarif").stdout)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 2}
    assert "properties" not in result  # it is about no event


# -- streams that end too early

FRAMES = {
    "sse": b"".join(map(SSEEncoder().encode, GOOD)),
    "lines": "".join(f"{json.dumps(event)}\n" for event in GOOD).encode(),
    "array": json.dumps(GOOD).encode(),
    "indented": json.dumps(GOOD, indent=1).encode(),
}


@pytest.mark.parametrize("form", FRAMES)
@pytest.mark.parametrize("at", [b"coat", b"RUN_FINISHED"])
def test_a_cut_inside_an_event_still_gives_what_came_before(form, at, tmp_path, cli):
    path = tmp_path / "input"
    path.write_bytes(FRAMES[form][: FRAMES[form].index(at) + 2])
    reduced, checked = cli("reduce", path), cli("check", path)
    assert (reduced.status, checked.status, checked.stderr) == (1, 1, "")
    assert "Maybe." in reduced.stdout
    assert reduced.stderr.endswith("[truncated_run]\n")
    assert checked.stdout.count(" error truncated_run ") == 1


@pytest.mark.parametrize("form", FRAMES)
def test_a_cut_after_a_run_is_told_too(form, tmp_path, cli):
    path = tmp_path / "input"
    whole = FRAMES[form]
    more = {"sse": b'data: {"ty', "lines": b'{"ty', "array": b', {"ty', "indented": b', {"ty'}[form]
    path.write_bytes((whole.rstrip(b"\n]") if form in ("array", "indented") else whole) + more)
    reduced, checked = cli("reduce", path), cli("check", path)
    assert (reduced.status, checked.status) == (1, 1)
    assert "Take a coat." in reduced.stdout
    assert reduced.stderr.endswith("[truncated_stream]\n")
    assert " error truncated_run The stream ended in the middle of an event. (end)" in checked.stdout


@pytest.mark.parametrize(
    "data",
    [
        FRAMES["sse"].replace(
            b'data: {"type":"TEXT_MESSAGE_START"', b'data: oops{"type":"TEXT_MESSAGE_START"'
        ),
        FRAMES["lines"].replace(b'{"type": "TEXT_MESSAGE_START"', b'oops{"type": "TEXT_MESSAGE_START"'),
        FRAMES["array"].replace(b'{"type": "TEXT_MESSAGE_START"', b'oops{"type": "TEXT_MESSAGE_START"'),
    ],
)
def test_what_comes_before_something_unreadable_is_kept_and_the_status_is_2(data, tmp_path, cli):
    path = tmp_path / "input"
    path.write_bytes(data)
    assert b"oops" in data
    for command in ("reduce", "check"):
        result = cli(command, path)
        assert (result.status, result.stderr.count("\n")) == (2, 1)
        assert result.stderr.endswith("[bad_json]\n")
    assert "Maybe." in cli("reduce", path).stdout
    assert "truncated" not in cli("check", path).stdout
    assert cli("check", path).stdout.endswith(" no problems found; 1 file cannot be read to the end.\n")
    assert json.loads(cli("check", path, "--json").stdout)["ok"] is False


@pytest.mark.parametrize("command", ["check", "reduce"])
def test_every_form_of_input_is_read(command, tmp_path, cli):
    forms = {
        "sse": b"".join(map(SSEEncoder().encode, GOOD)),
        "lines": "".join(f"{json.dumps(event)}\n" for event in GOOD).encode(),
        "array": json.dumps(GOOD).encode(),
    }
    outputs = set()
    for name, data in forms.items():
        path = tmp_path / name
        path.write_bytes(data)
        outputs.add((cli(command, path).status, cli(command, path).stdout))
    outputs.add((0, cli(command, "-", stdin=forms["sse"]).stdout))
    assert len(outputs) == 1


@pytest.mark.parametrize("command", ["check", "reduce"])
@pytest.mark.parametrize("data", [b"{", b"[1]", b"\xff", b'{"type": ""}'])
def test_what_cannot_be_read_is_one_line_and_2(command, data, tmp_path, cli):
    path = tmp_path / "input"
    path.write_bytes(data)
    result = cli(command, path)
    assert (result.status, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert cli(command, tmp_path / "none").status == 2


# -- reduce


def test_the_messages_are_printed(file, cli):
    result = cli("reduce", file(GOOD))
    assert (result.status, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "reasoning  r1",
        "  Rain?",
        "  Maybe.",
        "  [encrypted value: 6 characters]",
        "assistant  m1",
        "  Take a coat.",
        '  get({"city": "Oslo"})  c1',
        "  [encrypted value: 11 characters]",
    ]


def test_json_is_one_array_with_everything(file, cli):
    messages = json.loads(cli("reduce", file(GOOD), "--json").stdout)
    assert messages[0]["encryptedValue"] == "SEALED"
    assert messages[1]["toolCalls"][0]["encryptedValue"] == "SEALED-CALL"


@pytest.mark.parametrize(("events", "code"), [(BROKEN, "not_open"), (GOOD[:4], "truncated_run")])
def test_what_came_before_is_still_printed(events, code, file, cli):
    for options in ([], ["--json"]):
        result = cli("reduce", file(events), *options)
        assert result.status == 1
        assert "Rain?" in result.stdout
        assert result.stderr.rstrip().endswith(f"[{code}]")


def test_warnings_go_to_stderr_and_an_error_of_the_run_is_no_error_here(file, cli):
    parts = {"id": "u", "role": "user", "content": [{"type": "text", "text": "Hi"}]}
    events = [STARTED, ev("FUTURE_EVENT"), ev("MESSAGES_SNAPSHOT", messages=[parts]), FAILED]
    result = cli("reduce", file(events))
    assert result.status == 0
    assert result.stderr.startswith("warning: FUTURE_EVENT")
    assert result.stdout == 'user  u\n  [{"type": "text", "text": "Hi"}]\n'
