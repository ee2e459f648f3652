"""Test the pure modules of the page's inspector in Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from agui_reasoning import Emitter
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import OpaqueDelta, ReasoningDelta, ResponseStart
from agui_reasoning.parts import Opaque, Origin
from tests.differential.node import find_node

TESTS = Path(__file__).parent / "js"
STATIC = Path(str(files("agui_reasoning._page"))) / "static"
SECOND = 4_102_444_800


def value(**options: object) -> str:
    """What the library sends for a signed unit."""
    emitter = Emitter(thread_id="t1", **options)  # type: ignore[arg-type]
    events = [
        *emitter.receive(ResponseStart(Origin("anthropic", "anthropic-messages", "claude-example"))),
        *emitter.receive(ReasoningDelta("It will rain.")),
        *emitter.receive(OpaqueDelta(Opaque("anthropic.signature", "U0lHTkVE"))),
        *emitter.close(),
    ]
    return next(event.encrypted_value for event in events if hasattr(event, "encrypted_value"))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The modules and their tests, declared as modules, which browsers need no declaration for."""
    folder = tmp_path_factory.mktemp("page")
    shutil.copytree(STATIC, folder / "static")
    shutil.copytree(TESTS, folder / "tests")
    (folder / "package.json").write_text('{"type": "module"}')
    keys = KeyRing.generate("key-1", now=lambda: SECOND - 60)
    values = {
        "token": value(keys=keys),
        "expiring": value(keys=keys, ttl_s=60),
        "envelope": value(),
    }
    (folder / "tests" / "values.json").write_text(json.dumps(values))
    return folder


@pytest.mark.parametrize("name", sorted(test.name for test in TESTS.glob("*.test.mjs")))
def test_a_module(folder: Path, name: str) -> None:
    node = find_node()
    if node is None:
        pytest.skip("Node 20 or newer is missing; `make test` installs it")
    command = [str(node), "--test", "--test-reporter=tap", str(folder / "tests" / name)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
