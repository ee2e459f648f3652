"""LiteLLM, which cannot be installed beside the other SDKs, in an environment of its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.differential.peers import UnavailableError, python_of_litellm

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
OPTIONS = ("-p", "no:cacheprovider", "-p", "no:unraisableexception")  # it leaves clients open


@pytest.mark.slow  # the environment takes minutes to make
@pytest.mark.timeout(1200)
def test_litellm_in_its_own_environment() -> None:
    try:
        python = python_of_litellm()
    except UnavailableError as error:
        pytest.skip(f"LiteLLM could not be installed: {error}")
    files = [*sorted(HERE.glob("test_litellm_*.py")), ROOT / "tests" / "frameworks" / "test_litellm.py"]
    command = [python, "-m", "pytest", "-q", *OPTIONS, *files]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    assert " skipped" not in done.stdout
