"""The Python of the pages passes a strict type checker, as that of a reader would."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.docs.markdown import PAGES, ROOT
from tests.docs.typed import write_modules

# What people write without the library.
UNTYPED = {"docs/explanation/by-hand.md"}

CONFIGURATION = """
[mypy]
strict = true
follow_imports = silent
[mypy-litellm.*,boto3.*]
ignore_missing_imports = true
"""

_ERROR = re.compile(r"^(?P<file>[\w.]+):(?P<rest>\d+: error: .*)$", re.MULTILINE)


@pytest.mark.slow
def test_the_python_of_the_pages_is_typed(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    page_of = {name: page for one in PAGES for name, page in write_modules(one, tmp_path).items()}
    configuration = tmp_path / "mypy.ini"
    configuration.write_text(CONFIGURATION, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", str(configuration), "--no-error-summary"]
    command += ["--cache-dir", str(ROOT / "build" / "mypy-pages"), *sorted(page_of)]
    environment = {"MYPYPATH": str(ROOT / "src"), "PATH": ""}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment, timeout=280)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    errors: defaultdict[str, list[str]] = defaultdict(list)
    for found in _ERROR.finditer(done.stdout):
        page = page_of[found["file"]]
        errors[page].append(f"{page}:{found['rest']}")
    assert [error for page in errors.keys() - UNTYPED for error in errors[page]] == []
    assert errors.keys() >= UNTYPED, "a page is typed now: remove it from UNTYPED"
