"""Run the lines that the gateway's page shows with the official client."""

from __future__ import annotations

import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from agui_reasoning.gateway import create_app, local_server
from tests.differential.judge import VERSIONS
from tests.differential.node import JS_DIR, find_node, packages_installed

STATIC = Path(str(files("agui_reasoning._page"))) / "static"
LINES = """
import { agentLines } from "./static/inspector/gateway-panel.js";
console.log(agentLines(process.argv[1]));
"""


def run(code: str, folder: Path, *arguments: str) -> str:
    command = [str(find_node()), "--input-type=module", "--eval", code, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(
    find_node() is None or not packages_installed(), reason="the official client is missing: `make judges`"
)
def test_the_lines_for_an_agent_read_a_run(tmp_path: Path) -> None:
    shutil.copytree(STATIC, tmp_path / "static")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    with local_server(create_app()) as url:
        lines = run(LINES, tmp_path, f"{url}/agent")
        assert lines.count("@ag-ui/client") == 1
        for version in VERSIONS:
            printed = run(lines.replace("@ag-ui/client", f"ag-ui-client-{version}"), JS_DIR)
            assert "RUN_STARTED" in printed
            assert "RUN_FINISHED" in printed
