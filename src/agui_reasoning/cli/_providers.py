"""``providers``: which providers require, accept or reject returned reasoning, with evidence."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Final

import typer

from agui_reasoning.cli._app import PolicyFile, complete_api, complete_provider
from agui_reasoning.cli._console import new_console
from agui_reasoning.cli._output import put_json
from agui_reasoning.errors import ConfigurationError, did_you_mean
from agui_reasoning.parts import Origin
from agui_reasoning.policy import EchoFlag, EchoRule, Scope, matches_any
from agui_reasoning.providers import API_IDS, provider_api
from agui_reasoning.providers.echo import rule_for, rules
from agui_reasoning.providers.own_rules import own_rules
from agui_reasoning.providers.vendors import canonical, known_providers

_WILDCARDS: Final = frozenset("*?[")
_SCOPES: Final[dict[Scope, str]] = {
    "none": "none",
    "tool_loop": "tool loop",
    "tool_turns_all": "all with calls",
    "all": "all",
}
_NEEDS: Final = {"signature": "a signature", "encrypted": "encrypted content, if the server stores nothing"}


def providers(
    provider: Annotated[
        str | None,
        typer.Argument(
            metavar="PATTERN",
            autocompletion=complete_provider,
            help="Show only this provider, or those that match a pattern such as z*.",
        ),
    ] = None,
    api: Annotated[str | None, typer.Option(autocompletion=complete_api, help="Show only this API.")] = None,
    model: Annotated[str | None, typer.Option(help="Show only the row that applies to this model.")] = None,
    policy: PolicyFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array with every column.")] = False,
) -> None:
    """Show the echo policy: what each provider does with reasoning that is sent back.

    For a provider and an API, the first row that matches the model applies. If no row matches, reasoning is
    not sent back.
    """
    if api is not None:
        provider_api(api)  # raises if unknown
    own = own_rules(policy or ())
    found = list(_matching(own, _named(own, provider, api), api, model))
    # A row for any provider does not make the name a known one.
    if all(provider is not None and rule.provider == ("*",) for rule in found):
        raise _unknown(own, provider, api)
    if as_json:
        put_json([rule.model_dump(mode="json") for rule in found])
    else:
        for rule in found:
            _show(rule)


def _matching(
    own: Sequence[EchoRule], named: Collection[str] | None, api: str | None, model: str | None
) -> Iterator[EchoRule]:
    """Yield the matching rows in order of precedence."""
    for rule in (*own, *rules()):
        covers = named is None or matches_any(rule.provider, named)
        if api in (None, rule.api) and covers and _applies(rule, own, named, model):
            yield rule


def _named(own: Sequence[EchoRule], provider: str | None, api: str | None) -> Collection[str] | None:
    """Return the providers that a name or pattern stands for; ``None`` for all."""
    if provider is None:
        return None
    if not _WILDCARDS.intersection(provider):
        return {provider.lower(), canonical(provider)}
    return [name for name in _known(own, api) if fnmatchcase(name, provider.lower())]


def _applies(
    rule: EchoRule, own: Sequence[EchoRule], named: Collection[str] | None, model: str | None
) -> bool:
    """Return whether this is the first row that matches the model, for one of its providers."""
    if model is None:
        return True
    names = rule.provider if named is None else named
    return any(rule_for(Origin(name, rule.api, model), own) is rule for name in names)


def _known(own: Sequence[EchoRule], api: str | None) -> list[str]:
    names = {name for one in ([api] if api else API_IDS) for name in known_providers(one)}
    return sorted(names | {name for rule in own if api in (None, rule.api) for name in rule.provider})


def _show(rule: EchoRule) -> None:
    console = new_console()
    head = f"{rule.api} · {', '.join(rule.provider)}"
    console.print(f"{head}  {rule.status}", style="bold", soft_wrap=True)
    lines = [
        ("models", "" if rule.model == ("*",) else ", ".join(rule.model)),
        ("goes to", _place(rule) if rule.echoes else ""),
        ("needed in", _SCOPES[rule.needed] if rule.needed else ""),
        ("forbidden", ", ".join(rule.forbidden)),
        ("needs", _NEEDS[rule.needs] if rule.needs else ""),
        ("if missing", "" if rule.placeholder is None else f"the placeholder {rule.placeholder!r}"),
        ("joins", "the thinking blocks of a response, of which only one is read" if rule.joined else ""),
        ("bound to", "the conversation before it, which must not change" if rule.prefix_bound else ""),
        *(("flag", _said(flag)) for flag in rule.flags),
        ("evidence", f"{rule.evidence} (checked {rule.checked})" if rule.checked else rule.evidence),
    ]
    for name, text in lines:
        if text:
            console.print(f"  {name:<10}  {text}", soft_wrap=True)


def _place(rule: EchoRule) -> str:
    fields = (" and " if rule.every else " or ").join(rule.field)
    flagged = f"; {_SCOPES[rule.scope_with_flags]} with flags" if rule.scope_with_flags else ""
    return f"{fields}, {_SCOPES[rule.scope]}{flagged}"


def _said(flag: EchoFlag) -> str:
    name = f"extra_body.{flag.name}" if flag.extra_body else flag.name
    return f"{name} = {json.dumps(flag.value)}: {flag.reason}"


def _unknown(own: Sequence[EchoRule], provider: str | None, api: str | None) -> ConfigurationError:
    known = _known(own, api)
    if provider is None or not {*known}.isdisjoint(_named(own, provider, api) or ()):
        return ConfigurationError(
            "The echo policy has no row for this model.",
            code="unknown_model",
            hint="Omit --model to see all rows.",
        )
    return ConfigurationError(
        f"The echo policy has no row for {provider!r}.",
        code="unknown_provider",
        hint=f"{did_you_mean(provider.strip('*?'), known)}Known providers: {', '.join(known)}.",
    )
