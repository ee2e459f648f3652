"""Compare the pages of the echo policy and of providers with the tables that are written for them."""

from __future__ import annotations

import re

import pytest

from agui_reasoning.policy import EchoRule, VendorTraits
from agui_reasoning.providers import provider_apis
from agui_reasoning.providers.echo import rules
from scripts.tables import code, tables
from tests.docs.markdown import ROOT

PAGE = ROOT / "docs" / "reference" / "echo-policy.md"


@pytest.mark.parametrize("name", ["echo-policy", "providers"])
def test_the_page_includes_each_of_its_tables_once(name: str) -> None:
    page = (ROOT / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8")
    included = re.findall(r'^--8<-- "build/tables/(.*)"$', page, re.MULTILINE)
    assert sorted(included) == sorted(path for path in tables() if path.startswith(f"{name}/"))


def test_no_row_is_left_out() -> None:
    written = tables()
    assert {rule.api for rule in rules()} == {api.id for api in provider_apis()}
    for rule in rules():
        assert rule.evidence.replace("|", "\\|") in written[f"echo-policy/{rule.api}.md"]
        for name in rule.provider:
            assert f"| {code(name)} | {code(rule.api)} |" in written["providers/providers.md"]


def test_every_trait_and_every_column_is_described() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for heading, model in (("## Traits", VendorTraits), ("## Columns of a rule", EchoRule)):
        section = page.partition(f"\n{heading}\n")[2].partition("\n## ")[0]
        cells = [row.split(" | ")[0] for row in section.splitlines() if row.startswith("| `")]
        assert {name for cell in cells for name in re.findall(r"`(\w+)`", cell)} == set(model.model_fields)
