"""The modules that need what may not be installed."""

from __future__ import annotations

import pytest

__all__ = ["require_extras"]

_NEEDED = {
    "agui_reasoning.cli": ("typer", "rich"),
}


def require_extras(module: str) -> None:
    """Skip the test unless the module can be imported."""
    for name, packages in _NEEDED.items():
        if module == name or module.startswith(f"{name}."):
            for package in packages:
                pytest.importorskip(package, reason=f"{name} needs {package}, which is not installed")
