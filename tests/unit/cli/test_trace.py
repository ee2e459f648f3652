"""Test ``trace``: the reasoning that led to each call, as far as the client saw it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agui_reasoning import stream_run
from agui_reasoning.crypto import KeyRing
from agui_reasoning.replay import load_script
from agui_reasoning.wire import SSEEncoder
from tests.unit.cli.command import Result
from tests.unit.cli.test_request import INPUT, history

CALL = "toolu_demo_01BergenForecast"


def stream(**options: Any) -> bytes:
    payloads = [event["data"] for event in load_script("anthropic-weather")["events"]]
    encode = SSEEncoder().encode
    return b"".join(map(encode, stream_run(INPUT, payloads, api="anthropic-messages", **options)))


@pytest.mark.parametrize("form", ["stream", "messages", "run input"])
def test_every_call_is_listed_with_its_reasoning(cli: Callable[..., Result], form: str) -> None:
    messages = history("anthropic-weather")
    given = {
        "stream": stream(),
        "messages": json.dumps(messages).encode(),
        "run input": json.dumps(INPUT | {"messages": messages}).encode(),
    }
    result = cli("trace", "-", "--json", stdin=given[form])
    assert (result.status, result.stderr) == (0, "")
    (record,) = json.loads(result.stdout)
    assert (record["call_id"], record["name"], record["how"]) == (CALL, "get_forecast", "owned")
    assert record["reasoning"].startswith("Umbrella or raincoat")
    assert record["reasoning"].endswith("[REDACTED]")
    people = cli("trace", "-", stdin=given[form]).stdout
    assert people.startswith(f"get_forecast  {CALL}\n  arguments  {{")
    assert "reasoning  Umbrella" in people


@pytest.mark.parametrize("visibility", ["hidden", "summary"])
def test_what_was_not_shown_is_not_printed(cli: Callable[..., Result], visibility: str) -> None:
    given = stream(visibility=visibility, keys=KeyRing.generate())
    result = cli("trace", "-", "--json", stdin=given)
    assert result.status == 0
    assert "Umbrella" not in result.stdout
    assert [record["call_id"] for record in json.loads(result.stdout)] == [CALL]


@pytest.mark.parametrize("given", [b"", b"{}", b"[1]", b"nonsense"])
def test_a_file_of_something_else_is_one_line(cli: Callable[..., Result], given: bytes) -> None:
    result = cli("trace", "-", stdin=given)
    assert result.status in (1, 2)
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
