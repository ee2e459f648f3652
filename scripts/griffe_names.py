"""Prepare docstrings for mkdocstrings: name options, link names in single backticks, hide private names.

mkdocs.yml loads it as an extension of Griffe.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TypeGuard

import griffe

sys.path.insert(0, str(Path(__file__).parent))  # Griffe loads this file by its path

from api_pages import public_names

PACKAGE = "agui_reasoning"
NAME = re.compile(r"(?<![`\[])`([A-Za-z_][\w.]*)`(?!`)")
KINDS = {kind.name.lower(): griffe.ParameterKind[kind.name.lower()] for kind in inspect._ParameterKind}


SETTINGS = {
    "RunOptions": ("run._options.RunSettings", "run._run.Run.__init__"),
    "RequestOptions": ("run._options.RequestSettings", "run._run.Run.request"),
}
"""The class that has the types and defaults of options, and the function that describes them.

Other options are among those of a run.
"""


class Names(griffe.Extension):
    """Show what readers of the docstrings in the source can look up."""

    def on_package(self, *, pkg: griffe.Module, **others: object) -> None:
        """Change the docstrings of the whole package."""
        if pkg.name != PACKAGE:
            return
        hide_internal(pkg)
        objects = list(walk(pkg))
        link = Linker(pkg)
        for one in objects:
            if isinstance(one, griffe.Function):
                expand_options(one, pkg)
                hide_private(one)
            elif one.is_attribute:
                hide_private_value(one)
            elif link.shows(one) and "Struct" in {str(base) for base in bases(one)}:
                add_constructor(one)
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


def expand_options(function: griffe.Function, package: griffe.Module) -> None:
    """Replace ``**options: Unpack[…]`` by the options that it stands for."""
    rest = next((one for one in function.parameters if "Unpack[" in str(one.annotation)), None)
    if rest is None:
        return
    named = function.modules_collection[rest.annotation.slice.canonical_path]
    settings, documented = SETTINGS.get(named.name, SETTINGS["RunOptions"])
    about = described(package[documented])
    members = package[settings].all_members
    known = [name for name in members if name in keys(named) and name not in function.parameters]
    names = sorted(known, key=list(about).index)
    del function.parameters[rest.name]
    for name in names:
        member = members[name]
        function.parameters.add(
            griffe.Parameter(
                name,
                annotation=member.annotation,
                kind=griffe.ParameterKind.keyword_only,
                default=str(member.value),
            )
        )
    if function.docstring and function.path != package[documented].path:
        lines = [f"    {name}: {about[name]}" for name in names]
        function.docstring.value = replaced(function.docstring.value, lines)


def keys(typed_dict: griffe.Class) -> set[str]:
    """Return the keys of a typed dict, with those of its bases."""
    bases = [keys(base) for base in typed_dict.resolved_bases if isinstance(base, griffe.Class)]
    return {name for name, one in typed_dict.members.items() if one.is_attribute}.union(*bases)


def described(function: griffe.Function) -> dict[str, str]:
    """Return what a docstring says about each argument."""
    text = "\n".join(inspect.cleandoc(function.docstring.value).splitlines())
    found = re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", text, flags=re.MULTILINE)
    return {name: " ".join(about.split()) for name, about in found}


def replaced(docstring: str, lines: list[str]) -> str:
    """Return a docstring with lines about options instead of the one about ``**options``."""
    if "**options:" not in docstring:
        return docstring + "\n\nArgs:\n" + "\n".join(lines)
    return re.sub(
        r"^ +\*\*options:.*(?:\n {8}.*)*", lambda found: "\n".join(lines), docstring, flags=re.MULTILINE
    )


# -- private names

INTERNAL = {
    "run._run.Run": ("audit", "receiving", "summarizes", "terminal", "warn_once"),
    "emitter._emitter.BaseEmitter": ("receiving", "summarizes"),
}
"""Methods that are for the other packages of the library, not for its users."""


def hide_internal(package: griffe.Module) -> None:
    """Leave out what only the library calls."""
    for name, members in INTERNAL.items():
        for member in members:
            del package[name].members[member]


PRIVATE = re.compile(r"(?<![\w.*])_[A-Za-z]\w*")


def hide_private(function: griffe.Function) -> None:
    """Hide what users cannot name: private parameters, and a constructor that takes private types.

    A private constant that is a default is shown as its value, and a private alias as what it stands for.
    """
    for parameter in list(function.parameters):
        if parameter.name.startswith("_") and parameter.kind is not griffe.ParameterKind.var_keyword:
            del function.parameters[parameter.name]
            continue
        parameter.default = without_private(parameter.default, function)
        parameter.annotation = without_private(parameter.annotation, function)
    function.returns = without_private(function.returns, function)
    shown = " ".join(str(parameter.annotation) for parameter in function.parameters)
    if function.name == "__init__" and PRIVATE.search(shown):
        del function.parent.members["__init__"]


def hide_private_value(attribute: griffe.Attribute) -> None:
    """Hide a private field, of which a dataclass would have a parameter, and values made of private names."""
    if attribute.parent.is_class and PRIVATE.match(attribute.name):
        del attribute.parent.members[attribute.name]
    elif PRIVATE.search(str(attribute.value)):
        attribute.value = None


def without_private(
    expression: griffe.Expr | str | None, function: griffe.Function
) -> griffe.Expr | str | None:
    """Return an expression with the values of its private names, as far as they have any."""
    if expression is None or not PRIVATE.search(str(expression)):
        return expression
    members = function.module.members
    return PRIVATE.sub(
        lambda found: value if (value := constant(members.get(found[0]))) else found[0], str(expression)
    )


def constant(member: griffe.Object | griffe.Alias | None) -> str | None:
    """Return the value of a constant or alias as source; `...` if it is computed."""
    if member is None or not member.is_attribute or member.value is None:
        return None
    value = str(member.value)
    return "..." if PRIVATE.search(value) or value.startswith("re.") else value


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

    def shows(self, one: griffe.Object) -> TypeGuard[griffe.Class]:
        """Return whether a class is on a page of the reference."""
        return isinstance(one, griffe.Class) and one.canonical_path in self._shown

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
