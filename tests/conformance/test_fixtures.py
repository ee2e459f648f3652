"""Accept or reject every official fixture as it is marked, at the path it names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agui_reasoning.consumer import Notice
from tests.conformance.corpus import FIXTURES, divergences, parameters
from tests.internals.schema import DROP, Boundary, inspect, kind_of

# A consumer strips where the processing rules say so; held to the schema, what is stripped is rejected.
FORGIVEN = divergences()["fixtures"]


def fixtures(verdict: str) -> list[Path]:
    found = sorted(FIXTURES.glob(f"*/{verdict}/*.json"))
    return [path for path in found if not path.name.endswith(".expect.json")]


def label(path: Path | None) -> str:
    return "absent" if path is None else f"{path.parts[-3]}/{path.stem}"


@pytest.mark.parametrize("path", parameters(fixtures("valid"), FIXTURES), ids=label)
def test_valid(path: Path) -> None:
    value = json.loads(path.read_text(encoding="utf-8"))
    notices: list[Notice] = []
    upgraded = Boundary(notices.append).receive(value)
    known, removed, fault = inspect(kind_of(path.parts[-3]), upgraded)
    assert (fault, removed, known) == (None, [], upgraded)
    # Held to the schema alone, without the compatibility boundary, it says the same.
    assert (inspect(kind_of(path.parts[-3]), value)[2] is not None) == (label(path) in FORGIVEN)
    assert bool(notices) == (label(path) in FORGIVEN)


@pytest.mark.parametrize("path", parameters(fixtures("invalid"), FIXTURES), ids=label)
def test_invalid(path: Path) -> None:
    known, removed, fault = inspect(kind_of(path.parts[-3]), json.loads(path.read_text(encoding="utf-8")))
    where = json.loads(path.with_suffix(".expect.json").read_text(encoding="utf-8"))["instanceLocation"]
    if fault is not None:
        assert fault.path == where
    elif known is not DROP:
        assert [place for place in removed if place.startswith(where) or where.startswith(place)]


@pytest.mark.skipif(not fixtures("valid"), reason=f"nothing at {FIXTURES}; set AGUI_REASONING_SHARED")
def test_the_fixtures_are_all_there() -> None:
    assert (len(fixtures("valid")), len(fixtures("invalid"))) == (116, 63)
