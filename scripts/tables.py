"""Write the tables of the pages on the echo policy and on providers, from the rows of the policy.

``make docs`` runs it before the site is built; the pages include ``build/tables``.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ag_ui.core import ToolMessage, UserMessage

from agui_reasoning.parts import Effort, Origin, Turn
from agui_reasoning.policy import EchoRule, Inside, VendorTraits, matches_any
from agui_reasoning.providers import decode_response, provider_apis
from agui_reasoning.providers.echo import beta_rows, generations, groups, inside_rows, rule_for, rules
from agui_reasoning.providers.vendors import aliases, model_habits, vendors
from agui_reasoning.request import History, build_request

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "tables"
MATRIX = tomllib.loads(Path(__file__).with_name("matrix.toml").read_text(encoding="utf-8"))

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
    """Return text as code."""
    return f"`{text}`"


def providers(rule: EchoRule) -> str:
    """Return the providers of a rule."""
    return ", ".join(map(code, rule.provider))


def models(rule: EchoRule) -> str:
    """Return the models of a rule."""
    return "any" if rule.model == ("*",) else ", ".join(map(code, rule.model))


def row(rule: EchoRule) -> str:
    """Return the row of a rule."""
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
    """Return a vendor's traits."""
    said = {
        name: getattr(found, name) for name in VendorTraits.model_fields if name in found.model_fields_set
    }
    return "<br>".join(code(f"{name}: {spelled(value)}") for name, value in said.items())


def spelled(value: object) -> str:
    """Return the value of a trait."""
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def line(*cells: str) -> str:
    """Return a row of a table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def arriving(api: str) -> str:
    """The vendors of an API, and the models with habits."""
    lines = [VENDOR_HEAD]
    for row in vendors(api):
        who, fields = ", ".join(map(code, row.provider)), ", ".join(map(code, row.arrives)) or "nothing"
        lines.append(line(who, fields, traits(row.traits), row.source, row.evidence, row.checked))
    for habit in model_habits(api):
        named = "any" if habit.provider == ("*",) else ", ".join(map(code, habit.provider))
        who = f"{named}, models " + ", ".join(map(code, habit.model))
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
    """Return the flags that requests need."""
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
    """Return what changes effort and instructions inside a conversation."""
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
    """Return a level of effort, and the value that is sent for it."""
    value = row.values.get(level, level)
    return code(level) if value == level else f"{code(level)}: {code(json.dumps(value))}"


def betas() -> str:
    """Return the headers of betas."""
    lines = ["| API | provider | for | header | evidence | checked |", "|---|---|---|---|---|---|"]
    for row in beta_rows():
        who = ", ".join(map(code, row.provider))
        use = row.use.replace("_", " ")
        lines.append(line(code(row.api), who, use, code(row.header), row.evidence, row.checked))
    return "\n".join(lines)


def names() -> str:
    """Return the other names of providers."""
    lines = ["| provider | other names |", "|---|---|"]
    for provider in sorted(set(aliases().values())):
        others = sorted(alias for alias, usual in aliases().items() if usual == provider)
        lines.append(line(code(provider), ", ".join(map(code, others))))
    return "\n".join(lines)


def of_policy() -> dict[str, str]:
    """Return the tables of the page on the echo policy, by name."""
    found = {
        api: "\n".join([HEAD, *(row(rule) for rule in rules() if rule.api == api)])
        for api in (spec.id for spec in provider_apis())
    }
    found |= {f"vendors-{api}": arriving(api) for api in list(found) if vendors(api)}
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


# -- providers, and the matrix that this page answers

CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city":"Oslo"}'},
}


def by_provider() -> str:
    """Every row of the policy, one line per provider, sorted by provider."""
    head = "| provider | API | models | status | written to | evidence | checked | matrix |\n"
    lines = [head + "|---|---|---|---|---|---|---|---|"]
    names = sorted({name for rule in rules() for name in rule.provider})
    for name in names:
        lines += [provider_line(name, rule) for rule in rules() if name in rule.provider]
    return "\n".join(lines)


def provider_line(name: str, rule: EchoRule) -> str:
    """Return the row of a rule for one of its providers."""
    models = "any" if rule.model == ("*",) else ", ".join(map(code, rule.model))
    fields = (" and " if rule.every else ", ").join(map(code, rule.field)) or "nothing"
    answers = ", ".join(row["name"] for row in MATRIX["row"] if answers_with(row, name, rule))
    return line(code(name), code(rule.api), models, rule.status, fields, rule.evidence, rule.checked, answers)


def answers_with(row: dict[str, Any], provider: str, rule: EchoRule) -> bool:
    """Return whether a row of the matrix is answered by a rule."""
    asked = [origin for origin in origins(row) if matches_any([provider], [str(origin.provider)])]
    return any(rule_for(origin) is rule for origin in asked)


def origins(row: dict[str, Any]) -> Iterator[Origin]:
    """Yield the examples of a row of the matrix."""
    for api, provider, model in row["origins"]:
        yield Origin(provider, api, model)


def matrix() -> str:
    """Return the rows of the matrix, with their answers."""
    lines = ["| matrix | in May 2026 | here | for example |", "|---|---|---|---|"]
    for row in MATRIX["row"]:
        examples = "<br>".join(map(described, origins(row))) or "none"
        lines.append(line(row["name"], row["said"], row["answer"], examples))
    return "\n".join(lines)


def described(origin: Origin) -> str:
    """Return what the policy says of an origin."""
    rule = rule_for(origin)
    fields = (" and " if rule.every else ", ").join(map(code, rule.field))
    where = f" in {fields}" if fields else ""
    return f"{code(str(origin.api))}, {code(str(origin.model))}: {rule.status}{where}"


def gaps() -> str:
    """Return the gaps of the matrix, with their answers."""
    return "\n\n".join(f"### {gap['name']}\n\n{gap['answer']}\n\n{sent(gap)}" for gap in MATRIX["gap"])


def sent(gap: dict[str, Any]) -> str:
    """What the next request holds of a message with reasoning and a call."""
    body = request(gap)
    shown = {"message": body["messages"][1], **body.get("extra_body", {})}
    rows = [f'  "{name}": {json.dumps(value)}' for name, value in shown.items()]
    return "```json\n{\n" + ",\n".join(rows) + "\n}\n```"


def request(gap: dict[str, Any]) -> dict[str, Any]:
    """Return the next request after a message with reasoning and a call."""
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


def tables() -> dict[str, str]:
    """Return each table by its path in `FOLDER`."""
    pages = {
        "echo-policy": of_policy(),
        "providers": {"providers": by_provider(), "matrix": matrix(), "gaps": gaps()},
    }
    return {f"{page}/{name}.md": table for page, found in pages.items() for name, table in found.items()}


def main() -> None:
    """Write every table."""
    for path, table in tables().items():
        file = FOLDER / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{table}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
