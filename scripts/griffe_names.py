"""Prepare docstrings for mkdocstrings: name the options, and link the names in single backticks.

mkdocs.yml loads it as an extension of Griffe.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import griffe

sys.path.insert(0, str(Path(__file__).parent))  # Griffe loads this file by its path

from api_pages import public_names

PACKAGE = "agui_reasoning"
NAME = re.compile(r"(?<![`\[])`([A-Za-z_][\w.]*)`(?!`)")
KINDS = {kind.name.lower(): griffe.ParameterKind[kind.name.lower()] for kind in inspect._ParameterKind}


class Names(griffe.Extension):
    """Show what readers of the docstrings in the source can look up."""

    def on_package(self, *, pkg: griffe.Module, **others: object) -> None:
        """Change the docstrings of the whole package."""
        if pkg.name != PACKAGE:
            return
        run = pkg["run.Run.__init__"]
        objects = list(walk(pkg))
        for one in objects:
            if isinstance(one, griffe.Function):
                expand_options(one, run)
            elif isinstance(one, griffe.Class) and "Struct" in {str(base) for base in bases(one)}:
                add_constructor(one)
        link = Linker(pkg)
        for one in objects:
            if one.docstring:
                one.docstring.value = link.linked(one)


def walk(parent: griffe.Object) -> Iterator[griffe.Object]:
    """Yield everything that is defined below an object, itself included."""
    yield parent
    for member in parent.members.values():
        if not member.is_alias:
            yield from walk(member)


def bases(cls: griffe.Class) -> Iterator[griffe.Expr | str]:
    """Yield the bases of a class, and theirs."""
    yield from cls.bases
    for base in cls.resolved_bases:
        yield from bases(base)


# -- constructors and options


def add_constructor(cls: griffe.Class) -> None:
    """Give a Struct the signature that msgspec makes for it."""
    real = getattr(import_module(cls.module.path), cls.name)
    own = griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)
    members = cls.all_members
    parameters = [
        griffe.Parameter(
            parameter.name,
            annotation=members[parameter.name].annotation,
            kind=KINDS[parameter.kind.name.lower()],
            default=None if parameter.default is parameter.empty else repr(parameter.default),
        )
        for parameter in inspect.signature(real).parameters.values()
    ]
    cls.set_member("__init__", griffe.Function("__init__", parameters=griffe.Parameters(own, *parameters)))


def expand_options(function: griffe.Function, run: griffe.Function) -> None:
    """Replace ``**options: Unpack[…]`` by the parameters of `Run` that it stands for."""
    rest = next((one for one in function.parameters if "Unpack[" in str(one.annotation)), None)
    if rest is None:
        return
    known = fields(function.modules_collection[rest.annotation.slice.canonical_path])
    options = [option(one, known) for one in run.parameters if one.name in known]
    options = [one for one in options if one.name not in function.parameters]
    del function.parameters[rest.name]
    for one in options:
        function.parameters.add(one)
    if function.docstring:
        lines = described(run, [one.name for one in options])
        function.docstring.value = replaced(function.docstring.value, lines)


def option(parameter: griffe.Parameter, known: dict[str, str]) -> griffe.Parameter:
    """Return a parameter of `Run` as an option, which may be required."""
    default = None if known[parameter.name].startswith("Required[") else parameter.default
    return griffe.Parameter(
        parameter.name, annotation=parameter.annotation, kind=parameter.kind, default=default
    )


def fields(typed_dict: griffe.Class) -> dict[str, str]:
    """Return the keys of a typed dict and their types, with those of its bases."""
    inherited = [fields(base) for base in typed_dict.resolved_bases if isinstance(base, griffe.Class)]
    own = {name: str(one.annotation) for name, one in typed_dict.members.items() if one.is_attribute}
    return {name: known for one in [*inherited, own] for name, known in one.items()}


def described(run: griffe.Function, names: list[str]) -> list[str]:
    """Return the lines about some arguments of a docstring."""
    [section] = (one for one in run.docstring.parse("google") if one.kind.value == "parameters")
    about = {parameter.name: " ".join(parameter.description.split()) for parameter in section.value}
    return [f"    {name}: {about[name]}" for name in names]


def replaced(docstring: str, lines: list[str]) -> str:
    """Return a docstring with lines about options instead of the one about ``**options``."""
    if "**options:" not in docstring:
        return docstring + "\n\nArgs:\n" + "\n".join(lines)
    return re.sub(
        r"^ +\*\*options:.*(?:\n {8}.*)*", lambda found: "\n".join(lines), docstring, flags=re.MULTILINE
    )


# -- links


class Linker:
    """Find the public objects that docstrings name."""

    def __init__(self, package: griffe.Module) -> None:
        self._package = package
        self._shown: dict[str, str] = {}
        """The dotted name on a page of the reference, by the dotted name of the definition."""
        self._short: dict[str, str] = {}
        """The same, by the names of the top level."""
        for module, names in public_names().items():
            self._shown[module] = module
            for name in names:
                self._shown[self._find(f"{module}.{name}").canonical_path] = f"{module}.{name}"
                self._short.setdefault(name, f"{module}.{name}")

    def linked(self, one: griffe.Object) -> str:
        """Return a docstring with links."""
        return "\n".join(self._line(one, line) for line in one.docstring.value.splitlines())

    def _line(self, one: griffe.Object, line: str) -> str:
        if ">>>" in line:
            return line
        linked = NAME.sub(lambda found: self._link(one, found[1]), line)
        return linked.removesuffix(":") if linked.endswith("::") else linked

    def _link(self, one: griffe.Object, name: str) -> str:
        target = self._target(one, name)
        return f"[`{name}`][{target}]" if target else f"`{name}`"

    def _target(self, one: griffe.Object, name: str) -> str | None:
        cls = one if one.is_class else one.parent
        if cls is not None and cls.is_class and cls.canonical_path in self._shown and name in cls.members:
            return self._documented(f"{self._shown[cls.canonical_path]}.{name}")
        if (here := f"{one.module.path}.{name}") in self._shown:
            return self._shown[here]
        first, _, rest = name.partition(".")
        if first in self._short:
            return self._documented(".".join(filter(None, (self._short[first], rest))))
        return self._documented(name) if name.startswith(PACKAGE) else None

    def _documented(self, name: str) -> str | None:
        """Return the name, or that of its class if the reference does not show it, if any does."""
        shown = set(self._shown.values())
        while name and name not in shown and not self._is_member(name, shown):
            name = name.rpartition(".")[0]
        return name or None

    def _is_member(self, name: str, shown: set[str]) -> bool:
        cls, _, member = name.rpartition(".")
        if cls not in shown or not self._find(cls).is_class:
            return False
        return (found := self._find(cls).members.get(member)) is not None and bool(found.docstring)

    def _find(self, name: str) -> griffe.Object | griffe.Alias:
        return self._package[name.removeprefix(f"{PACKAGE}.")] if name != PACKAGE else self._package
