"""Package attributes that are imported when they are first used (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, TypeAlias

__all__ = ["Homes", "lazy_attributes"]

Homes: TypeAlias = Mapping[str, Iterable[str]]
"""For each module, as a dotted name, the names that a package takes from it."""


def lazy_attributes(
    package: str, homes: Homes, submodules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the ``__getattr__`` and ``__dir__`` of a package.

    Args:
        package: The ``__name__`` of the package.
        homes: The modules that define its names.
        submodules: Modules of the package that are attributes without having been imported.

    Examples:
        >>> getattr_, dir_ = lazy_attributes("agui_reasoning", {"agui_reasoning.wire": ["SSEDecoder"]})
        >>> getattr_("SSEDecoder").__name__
        'SSEDecoder'
    """
    modules = {name: module for module, names in homes.items() for name in names}
    known = {*modules, *submodules}

    def load(name: str) -> Any:
        if name not in known:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if name not in modules:
            return import_module(f"{package}.{name}")
        value = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)  # the next access does not come here
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *known})

    return load, names
