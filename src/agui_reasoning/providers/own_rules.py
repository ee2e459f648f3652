"""Rows of the user's own, which are tried before those of the package.

They come as `EchoRule` values, or from a TOML file with a ``[[rule]]`` table for each row.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from pydantic import ValidationError

from agui_reasoning.errors import ConfigurationError, did_you_mean
from agui_reasoning.policy import RECEIVED, EchoRule
from agui_reasoning.providers.registry import provider_api

__all__ = ["OwnRules", "own_rules"]

OwnRules: TypeAlias = "str | os.PathLike[str] | Sequence[EchoRule]"
"""The path of a TOML file with rows, or the rows; or ``"received"``, which stands for `RECEIVED`."""

_HINT: Final = 'See "Add rows of your own" on the page of the echo policy.'
_SHOWN_FAULTS: Final = 5


def own_rules(policy: OwnRules = ()) -> tuple[EchoRule, ...]:
    """Return rows of the user's own, after checking them.

    Args:
        policy: The rows, or the path of a TOML file with them, or ``"received"``: what providers of Chat
            Completions of which nothing is known sent goes back to them in tool loops.

    Raises:
        ConfigurationError: The file cannot be read, or a row is invalid (``bad_policy``), or its API is
            unknown (``unknown_api``).

    Examples:
        >>> row = EchoRule(api="ollama", status="accepted", field=("thinking",), scope="all")
        >>> own_rules([row]) == (row,)
        True
    """
    if policy == "received":
        return (RECEIVED,)
    if isinstance(policy, str | os.PathLike):
        name = f"the policy file {str(policy)!r}"
        rules = _read(Path(policy), name)
    else:
        rules, name = tuple(policy), "the policy"
        strangers = [type(rule).__name__ for rule in rules if not isinstance(rule, EchoRule)]
        _reject(name, [f"{stranger} is not an EchoRule" for stranger in dict.fromkeys(strangers)])
    faults = [fault for number, rule in enumerate(rules, 1) for fault in _misfits(rule, number)]
    _reject(name, faults)
    return rules


def _read(path: Path, name: str) -> tuple[EchoRule, ...]:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _bad(f"{name} cannot be read ({error.strerror})") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _bad(f"{name} is not TOML: {error}") from error
    rows = table.pop("rule", [])
    faults = [f"`{key}` is not `rule`" for key in table]
    if not isinstance(rows, list):
        faults.append("`rule` is not a list of tables: write [[rule]]")
    _reject(name, faults)
    rules: list[EchoRule] = []
    for number, row in enumerate(rows, 1):
        try:
            rules.append(EchoRule.model_validate(_tuples(row)))
        except ValidationError as error:
            faults += [f"row {number}{fault}" for fault in _described(error)]
    _reject(name, faults)
    return tuple(rules)


def _tuples(row: Any) -> Any:
    """Return a row with tuples, which the strict models have where TOML has lists."""
    if not isinstance(row, dict):
        return row
    return {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}


def _described(error: ValidationError) -> Iterator[str]:
    for fault in error.errors(include_url=False):
        where = ".".join(str(place) for place in fault["loc"])
        message = fault["msg"].removeprefix("Value error, ")
        if fault["type"] == "extra_forbidden":
            columns = ", ".join(f"`{name}`" for name in sorted(EchoRule.model_fields))
            message = did_you_mean(str(fault["loc"][-1]), EchoRule.model_fields) or f"columns are {columns}"
            message = f"unknown column. {message}".rstrip(" .")
        elif fault["type"] == "tuple_type":
            message = "write a list"
        yield f", `{where}`: {message}" if where else f": {message}"


def _misfits(rule: EchoRule, number: int) -> Iterator[str]:
    """Describe the fields of a row that its API does not have."""
    known = provider_api(rule.api).echo_fields
    columns = [("field", name) for name in rule.field] + [("forbidden", name) for name in rule.forbidden]
    for column, name in columns:
        if known and name not in known:
            yield f"row {number}, `{column}`: {name!r} does not exist in {rule.api}; use {' or '.join(known)}"


def _reject(name: str, faults: Sequence[str]) -> None:
    if faults:
        more = len(faults) - _SHOWN_FAULTS
        shown = "; ".join(faults[:_SHOWN_FAULTS]) + (f"; and {more} more" if more > 0 else "")
        raise _bad(f"{name} is invalid: {shown}")


def _bad(what: str) -> ConfigurationError:
    return ConfigurationError(f"{what[0].upper()}{what[1:]}.", code="bad_policy", hint=_HINT)
