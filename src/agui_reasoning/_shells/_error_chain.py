"""Finds the errors of providers among those that led to an error.

Agent frameworks wrap what a vendor's SDK raised, and their tools raise errors that have a status too. So only
the errors of SDKs, and the classes by which frameworks report a provider's failure, count as a provider's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from agui_reasoning.errors import ProviderError

__all__ = ["causes_of", "is_of_provider", "others_behind"]

_SDKS: Final = re.compile(r"(anthropic|cohere|google\.genai|groq|litellm|mistralai|ollama|openai)(\.|$)")
"""The modules of SDKs, all of whose errors concern a model's provider."""

_OF_FRAMEWORKS: Final = frozenset({"ModelAPIError", "ModelHTTPError", "ModelProviderError"})
"""The classes by which Pydantic AI and Agno report a provider's failure."""

_MODEL_OPERATIONS: Final = ("Converse", "InvokeModel")
"""The operations of AWS that ask a model. Tools ask AWS for other things, with the same errors."""

_MOST: Final = 32
"""The maximum number of errors that are looked at; chains can be circular."""


def is_of_provider(error: BaseException) -> bool:
    """Return whether an error is by its class one of a model's provider."""
    operation = getattr(error, "operation_name", None)
    if isinstance(operation, str):
        return operation.startswith(_MODEL_OPERATIONS)
    return isinstance(error, ProviderError) or any(map(_is_of_sdk, type(error).__mro__))


def causes_of(error: BaseException) -> list[BaseException]:
    """Return an error, its ``__cause__``, the cause of that, and so on."""
    found = [error]
    while (cause := found[-1].__cause__) is not None and len(found) < _MOST:
        found.append(cause)
    return found


def others_behind(error: BaseException) -> Iterator[BaseException]:
    """Yield, nearest first, what else led to an error: contexts, members of groups, and their causes."""
    waiting, seen = [error], {id(error)}
    while waiting and len(seen) < _MOST:
        for other in _linked(waiting.pop(0)):
            if id(other) not in seen:
                seen.add(id(other))
                waiting.append(other)
                yield other


def _linked(error: BaseException) -> Iterator[BaseException]:
    if error.__cause__ is not None:
        yield error.__cause__
    elif error.__context__ is not None and not error.__suppress_context__:
        yield error.__context__
    if isinstance(error, BaseExceptionGroup):
        yield from error.exceptions


def _is_of_sdk(kind: type) -> bool:
    return kind.__name__ in _OF_FRAMEWORKS or _SDKS.match(kind.__module__) is not None
