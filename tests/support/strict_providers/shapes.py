"""What the shapes of requests have in common: pydantic models that take no field they do not name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, StringConstraints, TypeAdapter, ValidationError

Body: TypeAlias = dict[str, Any]

NonEmpty = Annotated[str, StringConstraints(min_length=1)]
NonBlank = Annotated[str, StringConstraints(pattern=r"\S")]


class Strict(BaseModel):
    """An object that a server parses into a closed type."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Open(BaseModel):
    """An object of which a server reads some fields and takes any."""

    model_config = ConfigDict(extra="allow", strict=True)


class Function(Strict):
    name: NonEmpty
    arguments: NonEmpty


class DeclaredFunction(Strict):
    name: NonEmpty
    description: str = ""
    parameters: dict[str, Any]


class FunctionTool(Strict):
    type: str
    function: DeclaredFunction


def misshapen(shape: TypeAdapter[Any], body: Body) -> list[str]:
    """What a server with this shape has against a body, in pydantic's words."""
    try:
        shape.validate_python(body)
    except ValidationError as error:
        found = error.errors(include_input=False, include_url=False)
        return [f"{'.'.join(str(step) for step in one['loc'])}: {one['msg']}" for one in found]
    return []


@dataclass(frozen=True)
class Artefact:
    """A value in a request that only its producer can make.

    Attributes:
        value: The value, blobs in base64.
        text: The text that it stands beside and that its producer compares; ``None``: it compares none.
    """

    value: str
    text: str | None = None


def named(value: Any, *names: str) -> Iterator[Artefact]:
    """The strings under some keys, anywhere inside."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in names and isinstance(inner, str) and inner:
                yield Artefact(inner)
            else:
                yield from named(inner, *names)
    elif isinstance(value, list):
        for inner in value:
            yield from named(inner, *names)
