"""Read the conformance streams and fixtures in place, and list where we differ on purpose."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.support.recordings import SHARED

AGUI = SHARED / "agui"
STREAMS = AGUI / "conformance"
FIXTURES = AGUI / "fixtures"
SCHEMA = AGUI / "schema-1.1.json"
DIVERGENCES = Path(__file__).with_name("divergences.toml")
VERSIONS = ("1.1", "1.0", "draft")

# The corpus speaks 1.1; whoever declares 1.0 meets it one minor lower. What exists in 1.0 only is as it is.
_LOWER = {"1.1": "1.0", "1.2": "1.1"}

Json = dict[str, Any]


@dataclass(frozen=True)
class Stream:
    """One stream of the corpus.

    Attributes:
        name: The file's name.
        version: The version of the protocol it belongs to.
        events: What comes.
        messages: The history before.
        expect: What must be seen.
        code: The code of our error where it must fail; the corpus quotes another client's words.
        divergence: Why we expect something else than the corpus, if we do.
    """

    name: str
    version: str
    events: list[Json]
    messages: list[Json]
    expect: Json
    code: str | None
    divergence: Json | None


@cache
def divergences() -> Json:
    """Our table of differences and error codes."""
    return tomllib.loads(DIVERGENCES.read_text(encoding="utf-8"))


def names() -> list[str]:
    """The names of all streams; none where the corpus is absent."""
    return sorted(path.stem for path in STREAMS.glob("*.json"))


def version_of(name: str) -> str:
    """The version a stream belongs to."""
    prefix, mark, _ = name.partition("__")
    return prefix if mark else "1.1"


@cache
def stream(name: str) -> Stream:
    """Read a stream."""
    raw = json.loads((STREAMS / f"{name}.json").read_text(encoding="utf-8"))
    override = raw.get("expectOverrides", {}).get("typescript", {})
    raw["expect"] |= {key: value for key, value in override.items() if key != "intentional"}
    version = version_of(name)
    lowered = raw if version == "1.0" else _lower(raw)
    table = divergences()
    divergence = table["streams"].get(name)
    return Stream(
        name,
        version,
        lowered["stream"],
        lowered.get("input", {}).get("messages", []),
        lowered["expect"] if divergence is None else divergence["expect"],
        table["codes"].get(name),
        divergence,
    )


def _lower(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _lower(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_lower(element) for element in value]
    return _LOWER.get(value, value) if isinstance(value, str) else value


def parameters(found: list[Any], what: Path) -> list[Any]:
    """Values as pytest parameters, or one that is skipped because the corpus is absent."""
    if found:
        return found
    skip = pytest.mark.skip(reason=f"nothing at {what}; set AGUI_REASONING_SHARED")
    return [pytest.param(None, id="absent", marks=skip)]
