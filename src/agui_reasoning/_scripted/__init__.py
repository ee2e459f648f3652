"""Invented provider streams for demos and tests without an API key or network access.

Each file has the shape of a recorded exchange: ``id``, ``provider``, ``api``, ``model``, ``stream``,
``request`` and ``events``, a list of ``{"event"?, "data"}``. They come in threes: ``name`` reasons and calls
a tool; ``name-2`` takes the result, reasons and answers; ``name-3`` reasons about a second question and
answers. No content comes from a model, and the opaque values are base64 that decodes to "agui-reasoning
demo …".
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from agui_reasoning._strict_json import load as load_json
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.providers import provider_apis

__all__ = ["load_script", "names"]

_FOLDER = "scripts"
_SUFFIX = ".json"


def names() -> tuple[str, ...]:
    """Return the names of the scripts, sorted."""
    return tuple(sorted(_packages()))


@cache
def _packages() -> dict[str, str]:
    """Map each script name to its package."""
    return {
        entry.name.removesuffix(_SUFFIX): api.package
        for api in provider_apis()
        if api.scripts
        for entry in files(api.package).joinpath(_FOLDER).iterdir()
        if entry.name.endswith(_SUFFIX)
    }


def load_script(name: str) -> dict[str, Any]:
    """Read a script.

    Raises:
        ConfigurationError: The script is unknown (``unknown_script``).

    Examples:
        >>> load_script("anthropic-weather")["api"]
        'anthropic-messages'
    """
    package = _packages().get(name)
    if package is None:
        raise ConfigurationError(
            f"Unknown script {name!r}.",
            code="unknown_script",
            hint=f"Use one of: {', '.join(names())}.",
        )
    script: dict[str, Any] = load_json(
        files(package).joinpath(_FOLDER, f"{name}{_SUFFIX}").read_text(encoding="utf-8")
    )
    return script
