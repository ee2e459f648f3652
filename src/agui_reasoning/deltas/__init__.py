"""Stream operations that build parts, and the way between the two.

A framework author who has none of the provider's ids needs two lines for some reasoning and some text::

    ReasoningDelta("Let me think.")
    TextDelta("Here it is.")
"""

from agui_reasoning.deltas._fold import fold, unfold
from agui_reasoning.deltas._operations import (
    CloseDelta,
    Delta,
    FinishDelta,
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
