"""Test that errors give advice that can be followed."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path

import pytest

from agui_reasoning import MissingExtraError
from agui_reasoning.errors import did_you_mean

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def unordered(requirement: str) -> tuple[str, ...]:
    """A requirement, whatever the order of its bounds: the metadata sorts them."""
    name = requirement.partition(">")[0].partition("<")[0]
    return (name, *sorted(requirement.removeprefix(name).split(",")))


@pytest.mark.parametrize("extra", sorted(PROJECT["optional-dependencies"]))
def test_a_missing_extra_is_installed_without_an_index_that_has_this_package(extra: str) -> None:
    error = MissingExtraError("a module", extra)
    told, _, command = error.hint.rstrip(".").partition(": ")
    assert told == f"Install the packages of the extra {extra!r}"
    pip, install, *given = shlex.split(command)
    assert (pip, install) == ("pip", "install")
    wanted = PROJECT["optional-dependencies"][extra]
    assert sorted(map(unordered, given)) == sorted(map(unordered, wanted))


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("Anthropic", "Did you mean 'anthropic'? "),
        ("openruter", "Did you mean 'openrouter'? "),
        ("", ""),
        ("something else", ""),
    ],
)
def test_the_nearest_name_is_suggested_if_one_is_near(given: str, hint: str) -> None:
    assert did_you_mean(given, ["anthropic", "openrouter"]) == hint
