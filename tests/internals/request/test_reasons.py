"""Compare the sentences of a report with the page that lists the reasons."""

from __future__ import annotations

import re
from pathlib import Path

from agui_reasoning.parts import Origin
from agui_reasoning.request._report import _REASONS, why

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "build-the-next-request.md"
ROWS = re.findall(r"^\| (`.*`) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
DOCUMENTED = {name for row in ROWS for name in re.findall(r"`(\w+)`", row)}


def test_every_documented_reason_has_a_sentence() -> None:
    assert DOCUMENTED - {"policy"} == set(_REASONS)


def test_every_documented_reason_is_told() -> None:
    assert all(why(name, None, Origin("acme")) for name in DOCUMENTED)
