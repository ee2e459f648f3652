"""Every rule has a test, and every rule that a test names exists."""

from __future__ import annotations

import importlib
from pathlib import Path

from tests.conformance.requirements import MARK, REQUIREMENTS

ROOT = Path(__file__).parents[2]
PLACES = (
    "tests/conformance",
    "tests/unit/consumer",
    "tests/unit/shells",
    "tests/unit/wire",
    "tests/differential",
)


def proofs() -> dict[str, set[str]]:
    """The tests that claim each rule."""
    found: dict[str, set[str]] = {}
    for place in PLACES:
        for path in sorted((ROOT / place).glob("test_*.py")):
            if MARK not in path.read_text(encoding="utf-8") and "requirement" not in path.read_text("utf-8"):
                continue
            module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
            for name, test in vars(module).items():
                for rule in getattr(test, MARK, ()) if name.startswith("test_") else ():
                    found.setdefault(rule, set()).add(f"{path.stem}::{name}")
    return found


def test_every_rule_has_a_proof() -> None:
    assert [rule for rule in REQUIREMENTS if rule not in proofs()] == []


def test_every_proof_names_a_rule() -> None:
    assert {rule: tests for rule, tests in proofs().items() if rule not in REQUIREMENTS} == {}


def test_the_rules_are_all_there() -> None:
    wanted = (
        [f"C{n}" for n in range(1, 59)] + [f"T{n}" for n in range(1, 5)] + [f"V{n}" for n in range(1, 13)]
    )
    assert list(REQUIREMENTS) == wanted
