"""Compare the page of the echo policy with the table.

``python -m tests.docs.test_echo_policy_page`` writes it.
"""

from __future__ import annotations

import json
import re

from agui_reasoning.parts import Effort
from agui_reasoning.policy import EchoRule, Inside, VendorTraits
from agui_reasoning.providers import provider_apis
from agui_reasoning.providers._betas import beta_rows
from agui_reasoning.providers.echo import generations, groups, inside_rows, rules
from agui_reasoning.providers.vendors import aliases, model_habits, vendors
from tests.docs.markdown import ROOT

PAGE = ROOT / "docs" / "reference" / "echo-policy.md"
HEAD = (
    "| provider | model | status | written to | responses | if missing | evidence | checked |\n"
    "|---|---|---|---|---|---|---|---|"
)
VENDOR_HEAD = (
    "| provider | reasoning arrives in | traits | source | evidence | checked |\n|---|---|---|---|---|---|"
)
SCOPES = {
    "none": "none",
    "tool_loop": "tool loop",
    "tool_turns_all": "all with calls",
    "all": "all",
}


def code(text: str) -> str:
    return f"`{text}`"


def providers(rule: EchoRule) -> str:
    return ", ".join(map(code, rule.provider))


def models(rule: EchoRule) -> str:
    return "any" if rule.model == ("*",) else ", ".join(map(code, rule.model))


def row(rule: EchoRule) -> str:
    scope = SCOPES[rule.scope]
    if rule.scope_with_flags:
        scope += f"; {SCOPES[rule.scope_with_flags]} with flags"
    joined = " and " if rule.every else ", "
    cells = [
        providers(rule),
        models(rule),
        rule.status,
        joined.join(map(code, rule.field)) or "nothing",
        scope,
        "" if rule.placeholder is None else code(f'"{rule.placeholder}"'),
        rule.evidence,
        rule.checked,
    ]
    return line(*cells)


def traits(found: VendorTraits) -> str:
    said = {
        name: getattr(found, name) for name in VendorTraits.model_fields if name in found.model_fields_set
    }
    return "<br>".join(code(f"{name}: {spelled(value)}") for name, value in said.items())


def spelled(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def line(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def arriving(api: str) -> str:
    """The vendors of an API, and the models with habits."""
    lines = [VENDOR_HEAD]
    for row in vendors(api):
        who, fields = ", ".join(map(code, row.provider)), ", ".join(map(code, row.arrives)) or "nothing"
        lines.append(line(who, fields, traits(row.traits), row.source, row.evidence, row.checked))
    for habit in model_habits(api):
        who = "any, models " + ", ".join(map(code, habit.model))
        lines.append(line(who, "", traits(habit.traits), "", habit.evidence, habit.checked))
    return "\n".join(lines)


def generation_table() -> str:
    """What each generation of models needs to think, and to show it."""
    lines = [
        "| API | provider | models | field | value | not beside | evidence | checked |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in generations():
        who, models = ", ".join(map(code, one.provider)), ", ".join(map(code, one.model))
        for flag in one.flags or (None,):
            name, value = (code(flag.name), code(repr(flag.value))) if flag else ("nothing", "")
            others = [f"{name}` below `{least}" for name, least in flag.at_least.items()] if flag else []
            beside = ", ".join(map(code, (*flag.unless, *others))) if flag else ""
            lines.append(line(code(one.api), who, models, name, value, beside, one.evidence, one.checked))
    return "\n".join(lines)


def reader_table() -> str:
    """Which models read whose values."""
    lines = ["| values of | at | read by | not by | evidence | checked |", "|---|---|---|---|---|---|"]
    for row in (row for group in groups() for row in group.readers):
        names = (row.model, row.provider, row.read_by, row.unread_by)
        cells = ["any" if one == ("*",) else ", ".join(map(code, one)) for one in names]
        lines.append(line(*cells, row.evidence, row.checked))
    return "\n".join(lines)


def flags() -> str:
    lines = [
        "| API | provider | model | field | value | reason | evidence | checked |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for rule in rules():
        for flag in rule.flags:
            name = f"extra_body.{flag.name}" if flag.extra_body else flag.name
            sent = [code(name), code(repr(flag.value)), flag.reason]
            lines.append(
                line(code(rule.api), providers(rule), models(rule), *sent, rule.evidence, rule.checked)
            )
    return "\n".join(lines)


def inside() -> str:
    lines = [
        "| API | provider | models | what | where | levels | beta | evidence | checked |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in inside_rows():
        who, models = ", ".join(map(code, row.provider)), ", ".join(map(code, row.model))
        but = f" except {', '.join(map(code, row.except_model))}" if row.except_model else ""
        where = code(f"extra_body.{row.field}" if row.extra_body else row.field) if row.field else "inside"
        levels = ", ".join(said_as(row, level) for level in row.levels) if row.accepts == "effort" else ""
        levels += ", `none`: thinking off" if row.off else ""
        beta = code(row.beta) if row.beta else ""
        lines.append(
            line(
                code(row.api), who, models + but, row.accepts, where, levels, beta, row.evidence, row.checked
            )
        )
    return "\n".join(lines)


def said_as(row: Inside, level: Effort) -> str:
    value = row.values.get(level, level)
    return code(level) if value == level else f"{code(level)}: {code(json.dumps(value))}"


def betas() -> str:
    lines = ["| API | provider | for | header | evidence | checked |", "|---|---|---|---|---|---|"]
    for row in beta_rows():
        who = ", ".join(map(code, row.provider))
        use = row.use.replace("_", " ")
        lines.append(line(code(row.api), who, use, code(row.header), row.evidence, row.checked))
    return "\n".join(lines)


def names() -> str:
    lines = ["| provider | other names |", "|---|---|"]
    for provider in sorted(set(aliases().values())):
        others = sorted(alias for alias, usual in aliases().items() if usual == provider)
        lines.append(line(code(provider), ", ".join(map(code, others))))
    return "\n".join(lines)


def tables() -> dict[str, str]:
    """Each generated table by its name on the page."""
    found = {
        api: "\n".join([HEAD, *(row(rule) for rule in rules() if rule.api == api)])
        for api in (spec.id for spec in provider_apis())
    }
    found |= {f"vendors {api}": arriving(api) for api in list(found) if vendors(api)}
    lines = ["| group | values | members |", "|---|---|---|"]
    for group in groups():
        kinds, members = (", ".join(map(code, names)) for names in (group.kinds, group.members))
        lines.append(f"| {group.name} | {kinds} | {members} |")
    return {
        **found,
        "groups": "\n".join(lines),
        "flags": flags(),
        "inside": inside(),
        "betas": betas(),
        "generations": generation_table(),
        "readers": reader_table(),
        "names": names(),
    }


def written(page: str) -> str:
    """The page with its tables as they should be."""
    for name, table in tables().items():
        start, end = f"<!-- table {name} -->\n", "<!-- end -->"
        assert start in page, f"give the table {name!r} a place on the page: {start}"
        before, _, rest = page.partition(start)
        page = f"{before}{start}\n{table}\n\n{end}{rest.partition(end)[2]}"
    return page


def test_the_tables_are_those_of_the_policy() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert written(page) == page


def test_every_table_is_on_the_page_and_no_row_is_left_out() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in tables() if f"<!-- table {name} -->" not in page] == []
    assert {rule.api for rule in rules()} == {api.id for api in provider_apis()}


def test_every_trait_and_every_column_is_described() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for heading, model in (("## Traits", VendorTraits), ("## Columns of a rule", EchoRule)):
        section = page.partition(f"\n{heading}\n")[2].partition("\n## ")[0]
        cells = [row.split(" | ")[0] for row in section.splitlines() if row.startswith("| `")]
        assert {name for cell in cells for name in re.findall(r"`(\w+)`", cell)} == set(model.model_fields)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
