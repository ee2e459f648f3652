"""Counts the providers that accept two turns with a tool, as strict fakes of them judge it.

    .venv/bin/python scripts/two_turns.py

The tests do the work: each leads a client through two turns, and names its model, which counts if none of its
tests failed. The last lines name the rows of the echo policy that require reasoning and have no such test.
"""

import sys
from collections import defaultdict
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from agui_reasoning.parts import Origin
from agui_reasoning.policy import EchoRule
from agui_reasoning.providers.echo import rule_for, rules
from tests.support.two_turns import PROPERTY

TESTS = Path(__file__).resolve().parent.parent / "tests" / "unit" / "request"


class Tally:
    """Whether each provider accepted everything, by its origin."""

    def __init__(self) -> None:
        self.accepted: dict[Origin, bool] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the result of a test that names its provider."""
        for name, value in report.user_properties:
            if name == PROPERTY and report.when == "call":
                api, provider, model = value
                origin = Origin(provider, api, model)
                self.accepted[origin] = report.passed and self.accepted.get(origin, True)


def main() -> int:
    """Run the tests, and print the counts."""
    tally = Tally()
    code = pytest.main(["-q", "-n0", "--no-header", "-k", "two_turns", str(TESTS)], plugins=[tally])
    by_provider: dict[tuple[str, str], list[tuple[Origin, bool]]] = defaultdict(list)
    for origin, accepted in tally.accepted.items():
        by_provider[origin.api or "", origin.provider or ""].append((origin, accepted))
    for (api, provider), found in sorted(by_provider.items()):
        statuses = ", ".join(sorted({rule_for(origin).status for origin, _ in found}))
        good = sum(accepted for _, accepted in found)
        say(f"{api:<20} {provider:<20} {statuses:<24} {good} of {len(found)}")
    required = [(rule, results(rule, tally)) for rule in rules() if rule.status == "required"]
    proved = [rule for rule, found in required if found and all(found)]
    say(f"\naccepted: {sum(tally.accepted.values())} of {len(tally.accepted)} models")
    say(f"rows that require reasoning: {len(proved)} of {len(required)} tested and accepted")
    for rule, found in required:
        if not found:
            say(f"  no test: {rule.api} {', '.join(rule.provider)}: {', '.join(rule.model)}")
    return int(code)


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{line}\n")


def results(rule: EchoRule, tally: Tally) -> list[bool]:
    """Whether the models to which a row applies accepted everything."""
    return [accepted for origin, accepted in tally.accepted.items() if rule_for(origin) is rule]


if __name__ == "__main__":
    sys.exit(main())
