"""Provider reasoning in, correct AG-UI events out, and back into the next request, losing nothing.

Start at `agui_reasoning.aio.run_agent` and `stream_run` (their namesakes here are for synchronous code), at
`Run`, or at `agui_reasoning.providers.decoder`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from agui_reasoning._emitter import Emitter
    from agui_reasoning._shells.driver import ModelStream
    from agui_reasoning._shells.sync import run_agent, stream_run
    from agui_reasoning.consumer import Conversation, Finding, check_events, compact, reduce_events
    from agui_reasoning.errors import (
        AGUIReasoningError,
        AGUIReasoningWarning,
        ConfigurationError,
        DecodeError,
        DecryptionError,
        LocalProtocolError,
        MissingExtraError,
        ProtocolError,
        ProviderError,
        ReasoningLostError,
        ReasoningLostWarning,
        RemoteProtocolError,
        RunFailedError,
        TransportError,
        TruncatedRunError,
    )
    from agui_reasoning.limits import Limits
    from agui_reasoning.request import History, ProviderRequest, build_request, erase_reasoning, restore
    from agui_reasoning.run import Run

__all__ = [
    "AGUIReasoningError",
    "AGUIReasoningWarning",
    "ConfigurationError",
    "Conversation",
    "DecodeError",
    "DecryptionError",
    "Emitter",
    "Finding",
    "History",
    "Limits",
    "LocalProtocolError",
    "MissingExtraError",
    "ModelStream",
    "ProtocolError",
    "ProviderError",
    "ProviderRequest",
    "ReasoningLostError",
    "ReasoningLostWarning",
    "RemoteProtocolError",
    "Run",
    "RunFailedError",
    "TransportError",
    "TruncatedRunError",
    "build_request",
    "check_events",
    "compact",
    "erase_reasoning",
    "reduce_events",
    "restore",
    "run_agent",
    "stream_run",
]

_HOMES: Final = {
    "agui_reasoning.consumer": ("Conversation", "Finding", "check_events", "compact", "reduce_events"),
    "agui_reasoning._shells.driver": ("ModelStream",),
    "agui_reasoning._emitter": ("Emitter",),
    "agui_reasoning.errors": (
        "AGUIReasoningError",
        "AGUIReasoningWarning",
        "ConfigurationError",
        "DecodeError",
        "DecryptionError",
        "LocalProtocolError",
        "MissingExtraError",
        "ProtocolError",
        "ProviderError",
        "ReasoningLostError",
        "ReasoningLostWarning",
        "RemoteProtocolError",
        "RunFailedError",
        "TransportError",
        "TruncatedRunError",
    ),
    "agui_reasoning.limits": ("Limits",),
    "agui_reasoning.request": ("History", "ProviderRequest", "build_request", "erase_reasoning", "restore"),
    "agui_reasoning.run": ("Run",),
    "agui_reasoning._shells.sync": ("run_agent", "stream_run"),
}
"""Where each name is defined; its module is imported when the name is first used (PEP 562)."""

_MODULES: Final = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value  # the next access finds it without coming here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
