"""Compare the signatures of all public names with the committed list, so that no change is an accident.

``python -m tests.meta.test_signatures`` writes the list.
"""

from __future__ import annotations

import enum
import inspect
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.meta.test_public_api import load, modules
from tests.meta.test_surface import is_public

PATH = Path(__file__).with_name("signatures.txt")


def lines() -> list[str]:
    """Describe each public name once, at the first module that has it."""
    found: dict[int, str] = {}
    listed = []
    for module in filter(is_public, modules()):
        names = load(module)
        for name in names.__all__:
            value = getattr(names, name)
            known = found.setdefault(id(value), f"{module}.{name}") if is_defined(value) else None
            at = f"{module}.{name}"
            listed += [f"{at} = {known}"] if known not in (None, at) else describe(at, value)
    return sorted(listed)


def is_defined(value: object) -> bool:
    """Whether an object has an identity of its own, as constants do not."""
    return inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value)


def describe(at: str, value: Any) -> Iterator[str]:
    """Return the lines of a name, and of what a class has."""
    if isinstance(value, ModuleType):
        yield f"{at}: module"
    elif inspect.isclass(value):
        yield from of_class(at, value)
    elif callable(value) and not typing.get_origin(value):
        yield f"{at}{signature(value)}"
    else:
        yield f"{at}: {type(value).__name__}"


def of_class(at: str, cls: type) -> Iterator[str]:
    """Return the lines of a class: how it is made, and its public members."""
    if typing.is_typeddict(cls):
        fields = (f"{name}: {text(kind)}" for name, kind in sorted(cls.__annotations__.items()))
        yield f"{at}{{{', '.join(fields)}}}"
        return
    if issubclass(cls, enum.Enum):
        yield f"{at}: {', '.join(member.name for member in cls)}"
        return
    bases = ", ".join(base.__name__ for base in cls.__bases__ if base is not object)
    yield f"{at}{signature(cls)}" + (f" is a {bases}" if bases else "")
    for name, member in sorted(vars(cls).items()):
        if not name.startswith("_"):
            yield from of_member(f"{at}.{name}", member)


def of_member(at: str, member: Any) -> Iterator[str]:
    """Return the line of a method or property. Attributes are in the signature or the docstring."""
    if isinstance(member, property):
        yield f"{at}: property"
    elif isinstance(member, (classmethod, staticmethod)):
        yield f"{at}{signature(member.__func__)}"
    elif inspect.isroutine(member) and not inspect.ismemberdescriptor(member):
        yield f"{at}{signature(member)}"


def signature(function: Callable[..., Any]) -> str:
    """Return a signature as it is written."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):  # of C
        return "(…)"
    parameters = [
        parameter.replace(annotation=annotation(parameter), default=default(parameter))
        for parameter in found.parameters.values()
    ]
    returned = found.return_annotation
    end = "" if returned is inspect.Signature.empty else f" -> {text(returned)}"
    bare = found.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
    return str(bare) + end


def annotation(parameter: inspect.Parameter) -> Any:
    """Return the annotation of a parameter, without quotes."""
    found = parameter.annotation
    return found if found is parameter.empty else Verbatim(text(found))


def default(parameter: inspect.Parameter) -> Any:
    """Return the default of a parameter in a form that does not change between processes."""
    found = parameter.default
    if isinstance(found, frozenset):
        return sorted(found)
    named = found is not parameter.empty and hasattr(found, "__name__")
    return Verbatim(found.__name__) if named else found


class Verbatim:
    """Text that is shown without quotes."""

    def __init__(self, source: str) -> None:
        self.source = source

    def __repr__(self) -> str:
        return self.source


def text(annotation: object) -> str:
    """Return an annotation as source."""
    if isinstance(annotation, typing.ForwardRef):
        return annotation.__forward_arg__
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def test_signatures_are_those_of_the_list() -> None:
    known = PATH.read_text(encoding="utf-8").splitlines()
    now = lines()
    changes = [f"- {line}" for line in known if line not in now] + [
        f"+ {line}" for line in now if line not in known
    ]
    assert not changes, "\n".join(
        [
            "the public interface has changed:",
            *changes,
            "If this is meant, run `python -m tests.meta.test_signatures`, and say it in CHANGELOG.md.",
        ]
    )


if __name__ == "__main__":
    PATH.write_text("\n".join(lines()) + "\n", encoding="utf-8")
