"""Conversion between JSON and the models of ``ag_ui``, which are not used for validation; pending calls."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from ag_ui.core import Message, ToolCall
from pydantic import BaseModel, TypeAdapter
from pydantic_core import to_json

from agui_reasoning._strict_json import JSONObject, well_formed
from agui_reasoning.parts import ToolCallPart

_M = TypeVar("_M", bound=BaseModel)

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_MESSAGE: Final[TypeAdapter[Message]] = TypeAdapter(Message)


def plain_json(value: object) -> Mapping[str, Any] | None:
    """Return the members of a model or mapping under their wire names; ``None`` for other types.

    Uses Python mode, because JSON mode silently turns NaN into null.
    """
    if isinstance(value, BaseModel):
        members = value.model_dump(by_alias=True, warnings=False)
        return members if isinstance(members, dict) else None
    return value if isinstance(value, Mapping) else None


def message_model(message: JSONObject) -> Message:
    """Create the model of a validated message."""
    return _MESSAGE.validate_python(_sound(message))


def model_of(model: type[_M], value: JSONObject) -> _M:
    """Create another model from validated JSON."""
    return model.model_validate(_sound(value))


def whole_text(pieces: Sequence[str]) -> str:
    """Join text, including characters that were split between the pieces."""
    text = "".join(pieces)
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _sound(value: JSONObject) -> JSONObject:
    """Return a value that can be encoded as UTF-8: unchanged, or a repaired copy."""
    try:
        to_json(value)
    except ValueError:
        mended: JSONObject = well_formed(value)
        return mended
    return value


class PendingCall(ToolCall):
    """A tool call of AG-UI that waits for its result, with the names that pending calls of a run have."""

    def __repr__(self) -> str:
        """Show the length of the arguments, which may quote what the user said."""
        return f"PendingCall(id={self.id!r}, name={self.name!r}, arguments=<{len(self.arguments)}>)"

    __str__ = __repr__

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self.function.name

    @property
    def arguments(self) -> str:
        """The arguments as JSON text."""
        return self.function.arguments

    @property
    def args(self) -> dict[str, Any]:
        """The parsed arguments; ``""`` and ``null`` are ``{}``.

        Raises:
            DecodeError: The arguments are not a JSON object (``bad_arguments``).
        """
        return ToolCallPart(self.id, self.name, self.arguments).args
