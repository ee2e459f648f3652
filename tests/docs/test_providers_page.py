"""Compare the page of providers with the echo policy, and the matrix behind it with the one that it answers.

``python -m tests.docs.test_providers_page`` writes the page.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from ag_ui.core import ToolMessage, UserMessage

from agui_reasoning.parts import Origin, Turn
from agui_reasoning.policy import EchoRule, matches_any
from agui_reasoning.providers import decode_response
from agui_reasoning.providers.echo import rule_for, rules
from agui_reasoning.request import History, build_request
from tests.docs.markdown import ROOT
from tests.docs.test_echo_policy_page import code, line
from tests.support.recordings import SHARED

PAGE = ROOT / "docs" / "reference" / "providers.md"
MATRIX = tomllib.loads((ROOT / "tests" / "docs" / "matrix.toml").read_text(encoding="utf-8"))
CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city":"Oslo"}'},
}


# -- the tables


def by_provider() -> str:
    """Every row of the policy, one line per provider, sorted by provider."""
    head = "| provider | API | models | status | written to | evidence | checked | matrix |\n"
    lines = [head + "|---|---|---|---|---|---|---|---|"]
    names = sorted({name for rule in rules() for name in rule.provider})
    for name in names:
        lines += [provider_line(name, rule) for rule in rules() if name in rule.provider]
    return "\n".join(lines)


def provider_line(name: str, rule: EchoRule) -> str:
    models = "any" if rule.model == ("*",) else ", ".join(map(code, rule.model))
    fields = (" and " if rule.every else ", ").join(map(code, rule.field)) or "nothing"
    answers = ", ".join(row["name"] for row in MATRIX["row"] if answers_with(row, name, rule))
    return line(code(name), code(rule.api), models, rule.status, fields, rule.evidence, rule.checked, answers)


def answers_with(row: dict[str, Any], provider: str, rule: EchoRule) -> bool:
    asked = [origin for origin in origins(row) if matches_any([provider], [str(origin.provider)])]
    return any(rule_for(origin) is rule for origin in asked)


def origins(row: dict[str, Any]) -> Iterator[Origin]:
    for api, provider, model in row["origins"]:
        yield Origin(provider, api, model)


def matrix() -> str:
    lines = ["| matrix | in May 2026 | here | for example |", "|---|---|---|---|"]
    for row in MATRIX["row"]:
        examples = "<br>".join(map(described, origins(row))) or "none"
        lines.append(line(row["name"], row["said"], row["answer"], examples))
    return "\n".join(lines)


def described(origin: Origin) -> str:
    rule = rule_for(origin)
    fields = (" and " if rule.every else ", ").join(map(code, rule.field))
    where = f" in {fields}" if fields else ""
    return f"{code(str(origin.api))}, {code(str(origin.model))}: {rule.status}{where}"


def gaps() -> str:
    return "\n\n".join(f"### {gap['name']}\n\n{gap['answer']}\n\n{sent(gap)}" for gap in MATRIX["gap"])


def sent(gap: dict[str, Any]) -> str:
    """What the next request holds of a message with reasoning and a call."""
    body = request(gap)
    shown = {"message": body["messages"][1], **body.get("extra_body", {})}
    rows = [f'  "{name}": {json.dumps(value)}' for name, value in shown.items()]
    return "```json\n{\n" + ",\n".join(rows) + "\n}\n```"


def request(gap: dict[str, Any]) -> dict[str, Any]:
    api, provider, model = gap["origin"]
    message = {"role": "assistant", **json.loads(gap["message"], strict=False), "tool_calls": [CALL]}
    response = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    parts = decode_response(api, response, provider=provider, model=model)
    history = History(
        (
            UserMessage(id="u", content="Weather in Oslo?"),
            Turn(tuple(parts), Origin(provider, api, model)),
            ToolMessage(id="t", tool_call_id="call_1", content="4C"),
        )
    )
    return build_request(api, history, provider=provider, model=model, apply_flags=True).body


def written(page: str) -> str:
    """The page with its tables as they should be."""
    for name, table in {"providers": by_provider(), "matrix": matrix(), "gaps": gaps()}.items():
        start, end = f"<!-- table {name} -->\n", "<!-- end -->"
        before, _, rest = page.partition(start)
        page = f"{before}{start}\n{table}\n\n{end}{rest.partition(end)[2]}"
    return page


def test_the_page_is_that_of_the_policy() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert written(page) == page


def test_every_provider_and_api_of_the_policy_is_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for rule in rules():
        for name in rule.provider:
            assert f"| {code(name)} | {code(rule.api)} |" in page


# -- the matrix


SEED = next((SHARED / "seeds").glob("004_*"), None)
needs_seed = pytest.mark.skipif(SEED is None, reason="the matrix is not here; set AGUI_REASONING_SHARED")


def seed_text() -> str:
    assert SEED is not None
    return SEED.read_text(encoding="utf-8")


def providers_of_the_matrix() -> list[str]:
    table = seed_text().partition("| Provider | Status |")[2].partition("What Kai does today")[0]
    first = [row.split("|")[1] for row in table.splitlines() if row.startswith("| ") and row.count("|") > 2]
    return [name.strip() for cell in first for name in cell.split(",")]


def known_gaps() -> list[str]:
    section = seed_text().partition("Known gaps\n")[2].partition("\nKey Files")[0]
    joined = section.replace("\n", " ")
    return [re.split(" — |—", gap)[0].strip() for gap in joined.split("- ")[1:] if gap.strip()]


@needs_seed
def test_every_row_of_the_matrix_has_an_answer() -> None:
    assert [row["name"] for row in MATRIX["row"]] == providers_of_the_matrix()
    assert all(row["answer"] and row["said"] for row in MATRIX["row"])
    assert [row["name"] for row in MATRIX["row"] if not row["origins"]] == ["LiteRT"]


@needs_seed
def test_every_known_gap_has_an_answer() -> None:
    def letters(name: str) -> str:
        return "".join(re.findall(r"\w", name.lower()))

    assert [letters(gap["name"]) for gap in MATRIX["gap"]] == [letters(name) for name in known_gaps()]
    assert len(MATRIX["gap"]) == 7


@needs_seed
def test_no_sentence_is_the_matrixs_own() -> None:
    seed = " ".join(seed_text().split())
    ours = [
        entry[key]
        for kind in ("row", "gap")
        for entry in MATRIX[kind]
        for key in ("said", "answer")
        if key in entry
    ]
    sentences = [part for text in ours for part in re.split(r"(?<=[.;])\s", text) if len(part.split()) > 4]
    assert [sentence for sentence in sentences if sentence in seed] == []


@pytest.mark.parametrize(
    ("gap", "expected", "flags"),
    [
        (0, {"reasoning_details": json.loads(MATRIX["gap"][0]["message"])["reasoning_details"]}, {}),
        (1, {"content": "<think>\nLook it up.\n</think>\n\n"}, {}),
        (
            2,
            {"reasoning_details": json.loads(MATRIX["gap"][2]["message"])["reasoning_details"]},
            {"reasoning_split": True},
        ),
        (
            3,
            {"reasoning_content": "Look it up."},
            {"thinking": {"type": "enabled", "clear_thinking": False}},
        ),
        (4, {"reasoning_content": "Look it up."}, {"reasoning_history": "preserved"}),
        (5, {"reasoning": "Look it up."}, {"clear_thinking": False}),
        (6, {"reasoning_content": "Look it up."}, {"thinking": {"type": "enabled", "keep": "all"}}),
    ],
)
def test_a_gap_is_closed(gap: int, expected: dict[str, Any], flags: dict[str, Any]) -> None:
    body = request(MATRIX["gap"][gap])
    message = body["messages"][1]
    assert message["tool_calls"] == [CALL]
    assert {name: message.get(name) for name in expected} == expected
    assert body.get("extra_body", {}) == flags


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
