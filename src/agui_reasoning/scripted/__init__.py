"""Provider streams of our own invention, for demos and tests that need no key and no network.

Each file has the shape of a recorded exchange: ``id``, ``provider``, ``api``, ``model``, ``stream``,
``request`` and ``events``, a list of ``{"event"?, "data"}``. They come in threes: ``name`` thinks and calls a
tool; ``name-2`` takes the result, thinks and answers; ``name-3`` thinks about another question and answers.
Nothing in them was ever said by a model, and the opaque values are base64 that decodes to "agui-reasoning
demo …".
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from agui_reasoning.errors import ConfigurationError
from agui_reasoning.strict_json import load as load_json

__all__ = ["load", "names"]

_SUFFIX = ".json"


def names() -> tuple[str, ...]:
    """The names of the scripts, sorted."""
    found = (entry.name for entry in files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in found if name.endswith(_SUFFIX)))


def load(name: str) -> dict[str, Any]:
    """Read a script.

    Raises:
        ConfigurationError: There is no script of that name (``unknown_script``).

    Examples:
        >>> load("anthropic-weather")["api"]
        'anthropic-messages'
    """
    if name not in names():
        raise ConfigurationError(
            f"There is no script {name!r}.",
            code="unknown_script",
            hint=f"Use one of: {', '.join(names())}.",
        )
    script: dict[str, Any] = load_json((files(__name__) / f"{name}{_SUFFIX}").read_text(encoding="utf-8"))
    return script
