"""Stream operations that build parts, and conversion in both directions.

Two lines suffice for reasoning and text without provider IDs::

    ReasoningDelta("Let me think.")
    TextDelta("Here it is.")
"""

from agui_reasoning.deltas._fold import fold, unfold
from agui_reasoning.deltas._operations import (
    CloseDelta,
    Delta,
    FinishDelta,
    InputTransformation,
    InputTransformationsDelta,
    NativeDelta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
    UsageDelta,
)

__all__ = [
    "CloseDelta",
    "Delta",
    "FinishDelta",
    "InputTransformation",
    "InputTransformationsDelta",
    "NativeDelta",
    "OpaqueDelta",
    "ReasoningDelta",
    "ResponseStart",
    "TextDelta",
    "ToolCallDelta",
    "ToolResultDelta",
    "UsageDelta",
    "fold",
    "unfold",
]
