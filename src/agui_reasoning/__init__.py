"""Provider reasoning in, correct AG-UI events out, and back into the next request, losing nothing.

Start at `Run` (or `Emitter`, the same without the run frame), `agui_reasoning.providers.decoder`, and
`agui_reasoning.wire`.
"""

from agui_reasoning.emitter import Emitter
from agui_reasoning.errors import (
    AGUIReasoningError,
    AGUIReasoningWarning,
    ConfigurationError,
    DecodeError,
    LocalProtocolError,
    ProtocolError,
    ProviderError,
    RemoteProtocolError,
)
from agui_reasoning.run import Run

__all__ = [
    "AGUIReasoningError",
    "AGUIReasoningWarning",
    "ConfigurationError",
    "DecodeError",
    "Emitter",
    "LocalProtocolError",
    "ProtocolError",
    "ProviderError",
    "RemoteProtocolError",
    "Run",
]
