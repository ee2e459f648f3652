"""Every law, rule and requirement has a test, and every mark of a test names one."""

from __future__ import annotations

import pytest

from tests.conformance.requirements import REQUIREMENTS
from tests.laws import EMITTER, LAWS
from tests.support.manifest import proofs

MANIFESTS = {"law": LAWS | EMITTER, "requirement": REQUIREMENTS}
manifests = pytest.mark.parametrize("mark", MANIFESTS)


@manifests
def test_every_entry_has_a_proof(mark: str) -> None:
    assert [entry for entry in MANIFESTS[mark] if entry not in proofs(mark)] == []


@manifests
def test_every_mark_names_an_entry(mark: str) -> None:
    unknown = {entry: tests for entry, tests in proofs(mark).items() if entry not in MANIFESTS[mark]}
    assert unknown == {}


def test_the_rules_of_the_protocol_and_of_the_emitter_are_all_there() -> None:
    counts = {"C": 58, "T": 4, "V": 12}
    assert list(REQUIREMENTS) == [f"{letter}{n}" for letter in counts for n in range(1, counts[letter] + 1)]
    assert list(EMITTER) == [f"E{n}" for n in range(1, 17)]
