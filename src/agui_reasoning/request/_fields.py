"""Joins the fields that the policy recommends with the caller's own, which win."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from agui_reasoning.policy import EchoFlag

_HEADERS: Final = "extra_headers"
_BETA: Final = "anthropic-beta"
"""A header that lists features. `client.beta` of Anthropic's SDK takes the list as ``betas``."""


def merge(
    body: Mapping[str, Any],
    flags: Iterable[EchoFlag],
    fields: Mapping[str, Any],
    conversation: Collection[str] = (),
    overrides: Iterable[EchoFlag] = (),
) -> dict[str, Any]:
    """Return a body with recommended fields and the caller's own.

    Args:
        body: The body, with or without the recommended fields.
        flags: The recommended fields.
        fields: The caller's own.
        conversation: The fields that hold the conversation: lists there are replaced, not joined.
        overrides: Fields that win over the caller's own, except those that exclude them.
    """
    flags, overrides = list(flags), list(overrides)
    merged = without_flags(body, [*overrides, *flags])
    write_flags(merged, suitable(flags, fields))
    for name, value in fields.items():
        if value is None:
            merged.pop(name, None)
        elif name == _HEADERS and isinstance(value, Mapping):
            merged[name] = _joined_headers(merged.get(name, {}), value)
        elif name in conversation and isinstance(value, list):
            merged[name] = value
        else:
            merged[name] = joined(merged.get(name), value)
    write_flags(merged, suitable(overrides, fields))
    return _with_betas(merged)


def joined(recommended: Any, own: Any) -> Any:
    """Return what is sent for a field.

    Objects are joined member by member, and lists are appended; other values replace the recommended one, as
    do objects of another ``type``, whose members would not fit.
    """
    if isinstance(recommended, Mapping) and isinstance(own, Mapping):
        if "type" in own and own["type"] != recommended.get("type", own["type"]):
            return own
        shared = {name: joined(value, own[name]) for name, value in recommended.items() if name in own}
        return {**recommended, **own, **shared}
    if isinstance(recommended, list) and isinstance(own, list):
        return recommended + [item for item in own if item not in recommended]
    return own


def joined_flags(flags: Iterable[EchoFlag]) -> tuple[EchoFlag, ...]:
    """Return flags with one per field: later ones win, and every condition holds."""
    found: dict[tuple[str, bool], EchoFlag] = {}
    for flag in flags:
        key = flag.name, flag.extra_body
        found[key] = _joined_flag(found[key], flag) if key in found else flag
    return tuple(found.values())


def _joined_flag(one: EchoFlag, other: EchoFlag) -> EchoFlag:
    join = _joined_headers if one.name == _HEADERS else joined
    changed = {
        "value": join(one.value, other.value),
        "reason": f"{one.reason}; {other.reason}",
        "unless": (*one.unless, *other.unless),
        "at_least": {**one.at_least, **other.at_least},
    }
    return other.model_copy(update=changed)


def suitable(flags: Iterable[EchoFlag], fields: Mapping[str, Any]) -> list[EchoFlag]:
    """Return the flags that go together with the caller's own fields."""
    return [
        flag
        for flag in flags
        if all(value_at(fields, path) is None for path in flag.unless)
        and all(_reaches(value_at(fields, path), least) for path, least in flag.at_least.items())
    ]


def value_at(body: Any, path: str) -> Any:
    """Return what is at the names and indexes that dots separate in a path; ``None`` if there is nothing."""
    for step in path.split("."):
        if isinstance(body, Mapping):
            body = body.get(step)
        elif isinstance(body, list) and step.isascii() and step.isdigit() and int(step) < len(body):
            body = body[int(step)]
        else:
            return None
    return body


def _reaches(value: Any, least: int) -> bool:
    return not isinstance(value, int | float) or value >= least


def write_flags(body: dict[str, Any], flags: Iterable[EchoFlag]) -> None:
    """Write fields into a body, without changing the values it contains. Headers are joined."""
    for flag in flags:
        *path, name = _path(flag)
        place = body
        for step in path:
            step = _spelled(place, step)
            place[step] = place = dict(place.get(step) or {})
        name = _spelled(place, name)
        place[name] = _joined_headers(place.get(name, {}), flag.value) if name == _HEADERS else flag.value


def _spelled(place: Mapping[str, Any], name: str) -> str:
    """Return a name as it is written there: Google's SDK takes ``thinkingConfig`` and ``thinking_config``."""
    if name in place:
        return name
    return next((other for other in place if _bare(other) == _bare(name)), name)


def _bare(name: str) -> str:
    return name.replace("_", "").lower()


def without_flags(body: Mapping[str, Any], flags: Iterable[EchoFlag]) -> dict[str, Any]:
    """Return a body without the fields that flags wrote into it."""
    left = dict(body)
    for flag in flags:
        if value_at(body, ".".join(_path(flag))) == flag.value:
            left = _without(left, _path(flag))
    return left


def _without(body: Mapping[str, Any], path: list[str]) -> dict[str, Any]:
    name, *rest = path
    inner = _without(body[name], rest) if rest else {}
    others = {key: value for key, value in body.items() if key != name}
    return {**others, name: inner} if inner else others


def _path(flag: EchoFlag) -> list[str]:
    """Return where a flag is in a body. Dotted names are paths."""
    return (["extra_body"] if flag.extra_body else []) + flag.name.split(".")


def _joined_headers(recommended: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return both, by names that ignore case; the lists of beta features are joined."""
    given = {name.lower(): value for name, value in own.items()}
    headers = {name.lower(): value for name, value in recommended.items()}
    betas = [features[_BETA] for features in (headers, given) if _BETA in features]
    joined = {_BETA: ",".join(_features(betas))} if betas else {}
    return {**headers, **given, **joined}


def _features(lists: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(feature.strip() for text in lists for feature in text.split(",")))


def _with_betas(body: dict[str, Any]) -> dict[str, Any]:
    """Move beta features into ``betas`` if the caller has that: the SDK lets the header replace the list."""
    headers = body.get(_HEADERS)
    if not isinstance(body.get("betas"), list) or not isinstance(headers, Mapping) or _BETA not in headers:
        return body
    others = {name: value for name, value in headers.items() if name != _BETA}
    moved = {**body, "betas": joined(_features([headers[_BETA]]), body["betas"])}
    del moved[_HEADERS]
    return {**moved, _HEADERS: others} if others else moved
