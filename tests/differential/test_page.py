"""Compare the client of the gateway's page with the official client 1.0.0, on generated and served streams.

The page keeps what it does not know, and does not convert what is old: its own gateway sends neither.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agui_reasoning.gateway import ReplayUpstream, create_app, local_server
from agui_reasoning.replay import CONVERSATIONS
from tests.differential.judge import Judge
from tests.differential.node import JS_DIR, find_node
from tests.differential.test_consumer import (
    LEVELS,
    Held,
    body,
    consume,
    difference,
    judged,
    levelled,
    many,
    numbered,
    without_novelties,
)
from tests.support.streams import valid_streams
from tests.unit.gateway.http_client import call

Json = dict[str, Any]
STATIC = Path(str(files("agui_reasoning._page"))) / "static"

NOVEL = re.compile('"(?:hologram|binary)"')


class PageClient:
    """The modules of the page in a Node process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, reads: list[bytes], messages: list[Json] | None = None) -> Json:
        job = {"reads": [b64encode(read).decode() for read in reads], "messages": messages or []}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps(job)}\n")
        self._process.stdin.flush()
        answer: Json = json.loads(self._process.stdout.readline())
        return answer


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageClient]:
    node = find_node()
    if node is None:
        pytest.skip("Node 20 or newer is missing; `make test` installs it")
    folder = tmp_path_factory.mktemp("page")
    shutil.copytree(STATIC, folder / "static")
    (folder / "package.json").write_text('{"type": "module"}')
    pipe = subprocess.PIPE
    command = [str(node), str(JS_DIR / "page.mjs"), str(folder / "static")]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        yield PageClient(process)
        assert process.stdin is not None
        process.stdin.close()


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """The data in pieces, cut at places that may be inside a character."""
    ends = sorted({place % (len(data) + 1) for place in places})
    return [data[start:end] for start, end in zip([0, *ends], [*ends, len(data)], strict=True)]


@many
@given(valid_streams(), st.lists(st.integers(0, 10_000), max_size=20))
def test_it_holds_what_the_official_client_holds(
    judge: Judge, page: PageClient, stream: list[Json], places: list[int]
) -> None:
    stream = without_novelties(stream)
    assume(NOVEL.search(json.dumps(stream)) is None)
    ours = consume(stream)
    verdict = judged(judge, stream, ours)
    assert verdict.accepted
    held = page.run(cut(body(stream), places))
    mine: Held = numbered(levelled([held["messages"], held["state"], []]))
    other: Held = numbered(levelled([verdict.messages, verdict.state, []]))
    for take_out in LEVELS.values():
        other = take_out(mine, other, ours, verdict)
    assert difference(mine, other, refused=False) is None


@pytest.mark.parametrize("name", CONVERSATIONS.values())
def test_it_holds_what_the_official_client_holds_of_a_served_run(
    judge: Judge, page: PageClient, name: str
) -> None:
    run_input: Json = {"threadId": "t", "runId": "r", "state": {}, "tools": [], "context": []}
    run_input |= {
        "messages": [{"id": "u1", "role": "user", "content": "Umbrella?"}],
        "protocolVersion": "1.0",
    }
    with local_server(create_app(ReplayUpstream(name))) as url:
        data = call(f"{url}/agent", json.dumps(run_input).encode()).body
    verdict = judge.run(data, run_input=run_input)
    held = page.run([data], run_input["messages"])
    assert verdict.next_input is not None
    assert held["messages"] == verdict.messages == verdict.next_input["messages"]
    assert held["pending"] == [
        call["id"] for message in held["messages"] for call in message.get("toolCalls", [])
    ]
