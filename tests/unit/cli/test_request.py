"""Test ``request``: from a client's history to the provider's request."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agui_reasoning import reduce_events, stream_run
from agui_reasoning.crypto import KeyRing
from agui_reasoning.parts import Origin
from agui_reasoning.replay import load_script
from tests.unit.cli.command import Result

INPUT: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": [], "protocolVersion": "1.0"}


@pytest.fixture
def ask(cli: Callable[..., Result]) -> Callable[..., Result]:
    """Run the command ``request``."""
    return lambda *args, given="": cli("request", *args, stdin=given.encode())


def history(script: str, **options: Any) -> list[dict[str, Any]]:
    """The messages a client holds after a script, between a question and a tool's result."""
    exchange = load_script(script)
    payloads = [event["data"] for event in exchange["events"]]
    where = {"api": exchange["api"], "provider": exchange["provider"]}
    messages = reduce_events(stream_run(INPUT, payloads, **where, **options))
    held = [message.model_dump(mode="json", by_alias=True) for message in messages]
    call = next(call["id"] for message in held for call in message.get("toolCalls", ()))
    asked = {"id": "u", "role": "user", "content": "Umbrella?"}
    return [asked, *held, {"id": "x", "role": "tool", "toolCallId": call, "content": "rain"}]


ARGS = ("--api", "anthropic-messages", "--provider", "anthropic", "--model", "claude-sonnet-4-6")


@pytest.mark.parametrize("form", ["array", "run input"])
def test_the_body_of_the_next_request_is_printed(
    ask: Callable[..., Result], tmp_path: Path, form: str
) -> None:
    messages = history("anthropic-weather")
    file = tmp_path / "history.json"
    file.write_text(json.dumps(messages if form == "array" else INPUT | {"messages": messages}))
    result = ask(*ARGS, "--report", str(file))
    assert result.status == 0
    body = json.loads(result.stdout)
    assert [block["type"] for block in body["messages"][1]["content"]] == [
        "thinking",
        "redacted_thinking",
        "text",
        "tool_use",
    ]
    assert result.stderr.count("echoed: ") == 2


def test_bytes_are_printed_as_base64(ask: Callable[..., Result]) -> None:
    source = {"type": "data", "value": "aGVsbG8=", "mimeType": "image/png"}
    seen = {"id": "u", "role": "user", "content": [{"type": "image", "source": source}]}
    target = ("--api", "bedrock-converse", "--provider", "bedrock", "--model", "c")
    result = ask("-", *target, given=json.dumps([seen]))
    assert result.status == 0
    (block,) = json.loads(result.stdout)["messages"][0]["content"]
    assert block["image"]["source"] == {"bytes": "aGVsbG8="}


def test_json_has_the_report_beside_the_body(ask: Callable[..., Result]) -> None:
    result = ask(*ARGS, "--json", "-", given=json.dumps(history("anthropic-weather")))
    told = json.loads(result.stdout)
    assert [entry["outcome"] for entry in told["report"]] == ["echoed", "echoed"]
    assert told["body"]["messages"][0]["role"] == "user"


def test_another_account_gets_no_values_that_it_cannot_read(ask: Callable[..., Result]) -> None:
    exchange = load_script("anthropic-weather")
    made_by = Origin("anthropic", "anthropic-messages", account="org-first")
    payloads = [event["data"] for event in exchange["events"]]
    messages = reduce_events(stream_run(INPUT, payloads, origin=made_by))
    given = json.dumps([message.model_dump(mode="json", by_alias=True) for message in messages])
    own = ask(*ARGS, "--account", "org-first", "--report", "-", given=given)
    other = ask(*ARGS, "--account", "org-second", "--report", "-", given=given)
    assert own.stderr.count("echoed: ") == 2
    assert other.stderr.count("dropped (other_account): ") == 2


def test_another_provider_gets_no_foreign_values(ask: Callable[..., Result]) -> None:
    result = ask(
        "--api", "openai-responses", "--provider", "openai", "--model", "gpt-5", "--report", "-",
        given=json.dumps(history("anthropic-weather")),
    )  # fmt: skip
    assert result.status == 0
    assert "dropped" in result.stderr
    assert "thinking" not in result.stdout


@pytest.mark.parametrize(
    ("args", "given", "code"),
    [
        ((*ARGS, "-"), "not json", "bad_input"),
        ((*ARGS, "-"), "7", "bad_input"),
        (("--api", "telepathy", "-"), "[]", "unknown_api"),
    ],
)
def test_what_cannot_be_read_is_one_line(
    ask: Callable[..., Result], args: tuple[str, ...], given: str, code: str
) -> None:
    result = ask(*args, given=given)
    assert result.status in (1, 2)
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert f"[{code}]" in result.stderr


def test_an_encrypted_history_opens_with_keys_thread_and_tenant(
    ask: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = KeyRing.generate()
    monkeypatch.delenv("AGUI_REASONING_KEYS", raising=False)
    given = json.dumps(history("anthropic-weather", keys=ring, tenant="acme", visibility="hidden"))
    refused = ask(*ARGS, "--thread", "t", "-", given=given)
    assert (refused.status, refused.stdout) == (2, "")
    assert "[keys_missing]" in refused.stderr
    monkeypatch.setenv("AGUI_REASONING_KEYS", ring.to_env())
    result = ask(*ARGS, "--thread", "t", "--tenant", "acme", "-", given=given)
    assert result.status == 0
    content = json.loads(result.stdout)["messages"][1]["content"]
    assert [block["type"] for block in content] == ["thinking", "redacted_thinking", "text", "tool_use"]
    strange = ask(*ARGS, "--thread", "t", "--report", "-", given=given)
    assert "dropped (undecryptable)" in strange.stderr
    assert "thinking" not in strange.stdout


def test_with_keys_plain_values_count_only_when_asked_for(
    ask: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGUI_REASONING_KEYS", KeyRing.generate().to_env())
    given = json.dumps(history("anthropic-weather"))
    assert "thinking" not in ask(*ARGS, "--thread", "t", "-", given=given).stdout
    assert "thinking" in ask(*ARGS, "--thread", "t", "--accept-plain", "-", given=given).stdout
