"""Provider reasoning in, correct AG-UI events out, and back into the next request, losing nothing.

Start at `agui_reasoning.aio.run_agent` and `stream_run` (their namesakes here are for synchronous code), at
`Run`, or at `agui_reasoning.providers.decoder`.
"""

from agui_reasoning.consumer import Conversation, Finding, check_events, compact, reduce_events
from agui_reasoning.driver import ModelStream
from agui_reasoning.emitter import Emitter
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
from agui_reasoning.replay import History, ProviderRequest, build_request, erase_reasoning, restore
from agui_reasoning.run import Run
from agui_reasoning.sync import run_agent, stream_run

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
