"""Compare the sentences of a report with the page that lists the reasons."""

from __future__ import annotations

import re
from pathlib import Path

from agui_reasoning.request._report import _REASONS

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "build-the-next-request.md"


def test_every_documented_reason_has_a_sentence() -> None:
    rows = re.findall(r"^\| (`.*`) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    documented = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert documented - {"policy"} == set(_REASONS)
