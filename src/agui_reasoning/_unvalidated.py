"""Create models of ``ag_ui`` from members that are known to be valid.

Validation takes several times as long, and ``model_construct`` even longer. Only this module knows how
pydantic stores a model.
"""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel

__all__ = ["blank", "made"]

_M = TypeVar("_M", bound=BaseModel)

_new = object.__new__
_SLOTS = vars(BaseModel)
_set_members = _SLOTS["__dict__"].__set__
_set_given = _SLOTS["__pydantic_fields_set__"].__set__
_set_extra = _SLOTS["__pydantic_extra__"].__set__
_set_private = _SLOTS["__pydantic_private__"].__set__


def blank(model: type[BaseModel]) -> dict[str, Any]:
    """Return the members of a model with their default values, and required ones as ``None``."""
    fields = model.model_fields.items()
    return {name: None if field.is_required() else field.get_default() for name, field in fields}


def made(
    model: type[_M], members: dict[str, Any], given: set[str], extra: dict[str, Any] | None = None
) -> _M:
    """Create a model that equals its validated twin.

    The model keeps the containers themselves: pass new ones each time.

    Args:
        model: A model without private attributes.
        members: The value of every field, by attribute name and in the order of `blank`.
        given: The names of the members that a caller set, and of ``extra``.
        extra: Members that the model does not declare, by wire name.
    """
    instance = _new(model)
    _set_members(instance, members)
    _set_given(instance, given)
    _set_extra(instance, {} if extra is None else extra)
    _set_private(instance, None)
    return instance
