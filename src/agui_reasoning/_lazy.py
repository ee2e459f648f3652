"""Import package attributes on first use (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, TypeAlias

Homes: TypeAlias = Mapping[str, str]
"""Maps the dotted name of a module to the names that a package takes from it, separated by spaces."""


def lazy_attributes(
    package: str, homes: Homes, submodules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Create the ``__getattr__`` and ``__dir__`` of a package.

    Args:
        package: The ``__name__`` of the package.
        homes: The modules that define its names.
        submodules: Submodules that are attributes even before they are imported.

    Examples:
        >>> getattr_, dir_ = lazy_attributes("agui_reasoning", {"agui_reasoning.wire": "SSEDecoder"})
        >>> getattr_("SSEDecoder").__name__
        'SSEDecoder'
    """
    modules = {name: module for module, names in homes.items() for name in names.split()}
    known = {*modules, *submodules}

    def load(name: str) -> Any:
        if name not in known:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if name not in modules:
            return import_module(f"{package}.{name}")
        value = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)  # later accesses bypass this function
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *known})

    return load, names
