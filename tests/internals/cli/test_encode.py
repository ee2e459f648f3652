import json
import os
import shlex
import subprocess
import sys

import pytest

from agui_reasoning import MissingExtraError
from agui_reasoning.providers import API_IDS
from agui_reasoning.replay import load_script, script_names
from tests.support.effort import thinned
from tests.support.verifier import Client
from tests.unit.cli.command import environment

IDS = ("--thread", "t1", "--run", "r1")
ANTHROPIC = ("--api", "anthropic-messages", *IDS)
FAILURE = "The model's answer could not be completed."
TERMINAL = {"RUN_FINISHED", "RUN_ERROR"}
NO_FILE = "Pass the path of a file, or - for standard input."
KNOWN = ", ".join(API_IDS)


def payloads(name):
    return [event["data"] for event in load_script(name)["events"]]


def lines(values):
    return "".join(f"{json.dumps(value)}\n" for value in values)


def sse(values):
    frames = (value if value == "[DONE]" else json.dumps(value) for value in values)
    return "".join(f"event: any\ndata: {frame}\n\n" for frame in frames)


@pytest.fixture
def file(tmp_path):
    def write(text, name="input"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


# -- what goes well


@pytest.mark.parametrize("name", script_names())
def test_every_form_of_input_gives_the_same_finished_run(name, file, cli):
    script = load_script(name)
    values = payloads(name)
    told = ("--api", script["api"], "--provider", script["provider"], "--model", script["model"])
    recording = cli("encode", *IDS, file(json.dumps(script, indent=1)))
    others = [
        cli("encode", *told, *IDS, file(text)) for text in (lines(values), json.dumps(values), sse(values))
    ]
    assert (recording.status, recording.stderr) == (0, "")
    Client().feed(recording.events).done()
    assert (recording.types[0], recording.types[-1]) == ("RUN_STARTED", "RUN_FINISHED")
    assert [other.text for other in others] == [recording.text] * 3
    assert recording.types[-1] == "RUN_FINISHED"


def test_json_prints_the_same_events_as_one_array(file, cli):
    path = file(lines(payloads("anthropic-weather")))
    streamed, array = cli("encode", *ANTHROPIC, path), cli("encode", *ANTHROPIC, "--json", path)
    assert json.loads(array.text) == streamed.events


def test_options_win_over_the_recording(file, cli):
    path = file(json.dumps(load_script("anthropic-weather")))
    result = cli("encode", *IDS, "--provider", "bedrock", path)
    assert result.events[-1]["usage"][0]["provider"] == "bedrock"


WHOLE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "text", "text": "Yes."},
    ],
    "stop_reason": "end_turn",
}


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ({"api": "anthropic-messages", "provider": "anthropic", "response": WHOLE}, ()),
        ({"response": WHOLE}, ("--api", "anthropic-messages")),
        (WHOLE, ("--api", "anthropic-messages")),
    ],
)
def test_a_whole_response_is_encoded_too(content, options, file, cli):
    result = cli("encode", *options, file(json.dumps(content)))
    assert result.status == 0
    assert [event["delta"] for event in result.events if "delta" in event] == ["Hm.", "Yes."]


def test_it_reads_standard_input(process):
    result = process("encode", *ANTHROPIC, "-", stdin=sse(payloads("anthropic-weather-2")).encode())
    assert (result.status, result.stderr, result.types[-1]) == (0, "", "RUN_FINISHED")


# -- what goes wrong in mid-stream


@pytest.mark.parametrize("name", script_names())
def test_a_cut_stream_is_a_complete_run(name, file, cli):
    script, values = load_script(name), payloads(name)
    told = ("--api", script["api"], "--provider", script["provider"], "--model", script["model"])
    for length in sorted({0, 1, len(values) // 2, len(values) - 1}):
        result = cli("encode", *told, *IDS, file(lines(values[:length])))
        Client().feed(result.events).done()
        assert sum(kind in TERMINAL for kind in result.types) == 1
        # The last payload is only a goodbye where an earlier one has told the reason for the end.
        expected = "truncated_stream"
        if length == len(values) - 1 and not name.startswith(("openai", "ollama", "xai", "gemini")):
            expected = None
        assert (length, result.events[-1].get("code")) == (length, expected)
        assert (expected is None) == (result.status == 0) == (result.stderr == "")


def test_a_cut_stream_ends_with_status_1(file, cli):
    result = cli("encode", *ANTHROPIC, file(lines(payloads("anthropic-weather")[:7])))
    assert (result.status, result.types[-1]) == (1, "RUN_ERROR")
    assert result.stderr == (
        "error: The anthropic-messages stream ended inside a response. The connection was cut: pass on the "
        "error's `.deltas`, then end the run as failed. [truncated_stream]\n"
    )


def test_a_payload_that_cannot_be_read_keeps_what_was_before(file, cli):
    values = payloads("anthropic-weather")
    bad = {"type": "content_block_delta", "index": "zero", "delta": {}}
    result = cli("encode", *ANTHROPIC, file(lines([*values[:6], bad, *values[6:]])))
    assert result.types == cli("encode", *ANTHROPIC, file(lines(values[:6]))).types
    assert result.events[-1] == {"type": "RUN_ERROR", "message": FAILURE, "code": "bad_payload"} | (
        {"usage": result.events[-1]["usage"]}
    )
    assert (result.status, result.stderr) == (
        2,
        "error: The payload has str at /index, where a whole number was expected. Check that the API ID "
        "matches the endpoint; everything before this payload was delivered. [bad_payload]\n",
    )


@pytest.mark.parametrize("form", [lines, sse, json.dumps])
def test_broken_json_keeps_what_was_before(form, file, cli):
    text = form(payloads("anthropic-weather")[:6])
    result = cli("encode", *ANTHROPIC, file(text[:-20]))
    Client().feed(result.events).done()
    assert (result.status, result.types[-1]) == (2, "RUN_ERROR")
    assert "REASONING_MESSAGE_CONTENT" in result.types
    assert result.stderr.endswith("[bad_json]\n")


def test_json_is_one_array_also_after_an_error(file, cli):
    result = cli("encode", *ANTHROPIC, "--json", file(lines(payloads("anthropic-weather")[:6]) + "{"))
    assert result.status == 2
    assert json.loads(result.stdout)[-1]["type"] == "RUN_ERROR"


def test_the_providers_words_go_nowhere(file, cli):
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "about SECRET"}}
    result = cli("encode", *ANTHROPIC, file(sse([*payloads("anthropic-weather")[:6], error])))
    Client().feed(result.events).done()
    last = result.events[-1]
    assert (result.status, last["message"], last["code"]) == (1, FAILURE, "provider_error")
    assert "SECRET" not in result.stdout + result.stderr
    assert result.stderr == (
        "error: The provider reported an error (overloaded_error). Read the provider's message from "
        "`provider_message`. [provider_error]\n"
    )


def test_what_comes_with_an_error_is_shown(file, cli):
    failed = {
        "type": "response.failed",
        "response": {
            "status": "failed",
            "error": {"code": "server_error", "message": "SECRET"},
            "output": [{"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Half"}]}],
        },
    }
    result = cli("encode", "--api", "openai-responses", file(lines([failed])))
    assert result.status == 1
    assert [event["delta"] for event in result.events if "delta" in event] == ["Half"]
    assert result.types[-1] == "RUN_ERROR"


def test_terminal_codes_in_a_providers_error_are_not_printed(file, cli):
    error = {"type": "error", "error": {"type": "bad\x1b[31m\nline", "message": ""}}
    result = cli("encode", *ANTHROPIC, file(lines([error])))
    assert "\x1b" not in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_event_of_a_recording_without_data_is_named(file, cli):
    script = load_script("anthropic-weather")
    script["events"][3] = {"event": "x"}
    result = cli("encode", file(json.dumps(script)))
    assert (result.status, result.types[-1]) == (2, "RUN_ERROR")
    assert result.stderr == (
        'error: Event 4 of the recording has no data. A recording has "api", and "response" or "events": '
        'each of these is an object with "data". [bad_recording]\n'
    )


# -- what cannot be used at all


def test_an_empty_input_is_a_stream_that_never_began(file, cli):
    result = cli("encode", *ANTHROPIC, file(""))
    assert (result.status, result.types) == (1, ["RUN_STARTED", "RUN_ERROR"])
    assert result.stderr.endswith("[truncated_stream]\n")


def test_payloads_of_another_api_are_not_a_silent_success(file, cli):
    result = cli("encode", "--api", "openai-chat", file(lines(payloads("anthropic-weather-2"))))
    assert (result.status, result.types[-1]) == (2, "RUN_ERROR")
    assert result.stderr == (
        "error: The payload is not openai-chat: it looks like anthropic-messages. "
        "Decode it with the API ID 'anthropic-messages'. [wrong_api]\n"
    )


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (
            ["encode", "--api", "anthropic-messages", "missing.json"],
            f"missing.json cannot be read: No such file or directory. {NO_FILE} [unreadable_file]",
        ),
        (["encode", "--api", "nope", "FILE"], f"Unknown API 'nope'. Use one of: {KNOWN}. [unknown_api]"),
        (
            ["encode", "FILE"],
            f"The input does not name its API. Pass --api with one of: {KNOWN}. [missing_api]",
        ),
        (["encode"], "Missing argument 'FILE'. See 'agui-reasoning encode --help'. [usage]"),
        (["nope"], "No such command 'nope'. See 'agui-reasoning --help'. [usage]"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(args, line, file, cli, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    file(lines(payloads("anthropic-weather")), name="FILE")
    result = cli(*args)
    assert (result.status, result.stdout, result.stderr) == (2, "", f"error: {line}\n")


def test_an_unknown_option_is_one_line_and_status_2(cli):
    result = cli("encode", "--colour")
    assert (result.status, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.startswith("error: No such option: --colour")


@pytest.mark.parametrize("path", [".", "a\0b", "x" * 5000])
def test_a_name_that_is_no_file_is_one_line_and_status_2(path, cli):
    result = cli("encode", *ANTHROPIC, path)
    assert (result.status, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.endswith("[unreadable_file]\n")


def test_a_reader_that_leaves_ends_it_quietly(tmp_path):
    command = [sys.executable, "-m", "agui_reasoning", "encode", *ANTHROPIC, "-"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment()) as running:
        running.stdout.close()
        running.stdin.write(lines(payloads("anthropic-weather")).encode())
        running.stdin.close()
        assert running.stderr.read() == b""
        assert running.wait(120) == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("redirect", [">/dev/full", ">&-"])
@pytest.mark.parametrize("args", thinned([["encode", "FILE"], ["demo", "--json"]], 2))
def test_an_output_that_takes_nothing_is_one_line_and_status_2(redirect, args, file):
    path = file(json.dumps(load_script("anthropic-weather")))
    words = [sys.executable, "-m", "agui_reasoning", *(path if arg == "FILE" else arg for arg in args)]
    command = f"{shlex.join(map(str, words))} {redirect}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, env=environment(), check=False)
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert done.stderr.startswith(b"error: The output cannot be written: ")


def test_the_extra_is_named_when_it_is_missing(process):
    for module in ("typer", "rich"):
        code = (
            f"import sys; sys.modules[{module!r}] = None\n"
            "from agui_reasoning.cli import main; sys.exit(main(['demo']))"
        )
        result = process(code=code)
        assert (result.status, result.stdout, result.stderr) == (
            2,
            "",
            f"error: {MissingExtraError('The command line', 'cli')} [missing_extra]\n",
        )


def test_the_package_itself_needs_no_extra(process):
    code = "import sys, agui_reasoning; sys.exit(bool({'typer', 'rich', 'click'} & set(sys.modules)))"
    assert process(code=code).status == 0


@pytest.mark.parametrize("args", [[], ["--help"], ["--version"], ["encode", "--help"]])
def test_help_and_version_are_on_stdout(args, cli):
    result = cli(*args)
    assert (result.status, result.stderr) == (0, "")
    assert "agui-reasoning" in result.stdout


def test_a_log_of_openhands_is_encoded(file, cli):
    action = {
        "id": 1,
        "action": "run",
        "args": {"command": "ls", "thought": "Look.", "reasoning_content": "Hm?"},
    }
    log = file(lines([action]))
    done = cli("encode", "--api", "openhands", *IDS, "--json", log)
    kinds = [event["type"] for event in json.loads(done.stdout)]
    assert (done.status, kinds[0], kinds[-1]) == (0, "RUN_STARTED", "RUN_FINISHED")
    assert "REASONING_MESSAGE_CONTENT" in kinds
