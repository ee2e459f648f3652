"""Provider reasoning in, correct AG-UI events out, and back into the next request, losing nothing.

Start at `agui_reasoning.aio.run_agent` and `stream_run` (their namesakes here are for synchronous code), at
`Run`, or at `agui_reasoning.providers.decoder`.
"""

from typing import TYPE_CHECKING, Final

from agui_reasoning._lazy import lazy_attributes

if TYPE_CHECKING:
    from agui_reasoning import aio as aio
    from agui_reasoning import asgi as asgi
    from agui_reasoning import attribution as attribution
    from agui_reasoning import audit as audit
    from agui_reasoning import client as client
    from agui_reasoning import compat as compat
    from agui_reasoning import consumer as consumer
    from agui_reasoning import crypto as crypto
    from agui_reasoning import deltas as deltas
    from agui_reasoning import emitter as emitter
    from agui_reasoning import errors as errors
    from agui_reasoning import gateway as gateway
    from agui_reasoning import interop as interop
    from agui_reasoning import parts as parts
    from agui_reasoning import protocol as protocol
    from agui_reasoning import providers as providers
    from agui_reasoning import request as request
    from agui_reasoning import run as run
    from agui_reasoning import telemetry as telemetry
    from agui_reasoning import testing as testing
    from agui_reasoning import wire as wire
    from agui_reasoning._driver import ModelStream, PayloadReader
    from agui_reasoning._limits import Limits
    from agui_reasoning._sync import run_agent, stream_run
    from agui_reasoning.asgi import AGUIResponse as AGUIResponse
    from agui_reasoning.consumer import Conversation, Finding, check_events, compact, reduce_events
    from agui_reasoning.crypto import KeyRing
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
    from agui_reasoning.parts import Origin, ToolResultPart
    from agui_reasoning.request import (
        History,
        OpenCall,
        ProviderRequest,
        build_request,
        erase_reasoning,
        restore,
    )
    from agui_reasoning.run import Emitter, ReasoningRequest, RequestOptions, Run, RunOptions

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
    "KeyRing",
    "Limits",
    "LocalProtocolError",
    "MissingExtraError",
    "ModelStream",
    "OpenCall",
    "Origin",
    "PayloadReader",
    "ProtocolError",
    "ProviderError",
    "ProviderRequest",
    "ReasoningLostError",
    "ReasoningLostWarning",
    "ReasoningRequest",
    "RemoteProtocolError",
    "RequestOptions",
    "Run",
    "RunFailedError",
    "RunOptions",
    "ToolResultPart",
    "TransportError",
    "TruncatedRunError",
    "__version__",
    "build_request",
    "check_events",
    "compact",
    "erase_reasoning",
    "reduce_events",
    "restore",
    "run_agent",
    "stream_run",
]

__version__ = "0.1.0"

_HOMES: Final = {
    "agui_reasoning.consumer": "Conversation Finding check_events compact reduce_events",
    "agui_reasoning.crypto": "KeyRing",
    "agui_reasoning.parts": "Origin ToolResultPart",
    "agui_reasoning._driver": "ModelStream PayloadReader",
    "agui_reasoning.errors": " ".join(name for name in __all__ if name.endswith(("Error", "Warning"))),
    "agui_reasoning._limits": "Limits",
    "agui_reasoning.request": "History OpenCall ProviderRequest build_request erase_reasoning restore",
    "agui_reasoning.run": "Emitter ReasoningRequest RequestOptions Run RunOptions",
    "agui_reasoning._sync": "run_agent stream_run",
}

_NEEDS_AN_EXTRA: Final = {"agui_reasoning.asgi": "AGUIResponse"}
"""Not in ``__all__``, so that ``import *`` works without the extra ``server``."""

_SUBMODULES: Final = (
    "aio asgi attribution audit bulk client compat consumer copilotkit crypto deltas durable emitter errors "
    "gateway interop parts policy protocol providers request run telemetry testing wire"
)
"""`agui_reasoning.wire` works after ``import agui_reasoning``; the module is imported on first use."""

if not TYPE_CHECKING:  # a type checker would accept any attribute
    __getattr__, __dir__ = lazy_attributes(__name__, _HOMES | _NEEDS_AN_EXTRA, _SUBMODULES.split())
