"""What the front end brings to a run for the framework's agent: its tools."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from agui_reasoning.errors import ConfigurationError
from agui_reasoning.providers.encoding import tools_of
from agui_reasoning.providers.payload import JSONObject
from agui_reasoning.run import Run

__all__ = ["front_end_tools", "imported"]


def front_end_tools(run: Run) -> list[JSONObject]:
    """Return the tools of the input: ``name``, ``description`` and ``parameters``, a JSON Schema, of each."""
    return tools_of(run.input.tools or (), _plain)


def _plain(name: str, description: str, schema: JSONObject) -> JSONObject:
    return {"name": name, "description": description, "parameters": schema}


def imported(module: str, framework: str, packages: str) -> ModuleType:
    """Import a module that needs a framework.

    Args:
        module: The module.
        framework: The name of the framework.
        packages: What to install.

    Raises:
        ConfigurationError: The framework is not installed (``missing_framework``).
    """
    try:
        return import_module(module)
    except ImportError:
        raise ConfigurationError(
            f"{framework} is not installed.", code="missing_framework", hint=f"Install {packages}."
        ) from None
