"""Stream operations that build parts, and conversion in both directions.

Two lines suffice for reasoning and text without provider IDs::

    ReasoningDelta("Let me think.")
    TextDelta("Here it is.")
"""

from agui_reasoning.deltas._assembler import Assembler as Assembler
from agui_reasoning.deltas._assembler import fold
from agui_reasoning.deltas._operations import DELTA_TYPES as DELTA_TYPES
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
    unfold,
)
from agui_reasoning.deltas._operations import counted as counted
from agui_reasoning.deltas._operations import counts_of as counts_of
from agui_reasoning.deltas._operations import deltas_of as deltas_of
from agui_reasoning.deltas._units import Answered as Answered
from agui_reasoning.deltas._units import Appeared as Appeared
from agui_reasoning.deltas._units import CallUnit as CallUnit
from agui_reasoning.deltas._units import Change as Change
from agui_reasoning.deltas._units import Ended as Ended
from agui_reasoning.deltas._units import Grew as Grew
from agui_reasoning.deltas._units import NativeUnit as NativeUnit
from agui_reasoning.deltas._units import ReasoningUnit as ReasoningUnit
from agui_reasoning.deltas._units import ResponseBuffer as ResponseBuffer
from agui_reasoning.deltas._units import ResponseEnded as ResponseEnded
from agui_reasoning.deltas._units import ResponseOpened as ResponseOpened
from agui_reasoning.deltas._units import ResultUnit as ResultUnit
from agui_reasoning.deltas._units import Resumed as Resumed
from agui_reasoning.deltas._units import SegmentBuffer as SegmentBuffer
from agui_reasoning.deltas._units import TextUnit as TextUnit
from agui_reasoning.deltas._units import UnitBuffer as UnitBuffer
from agui_reasoning.deltas._units import Unshown as Unshown
from agui_reasoning.deltas._units import Valued as Valued

# Names with an alias are for the other packages of the library, not for its users.
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
