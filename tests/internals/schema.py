"""Read values by the consumer's own table, as a consumer reads the parts of an event."""

from __future__ import annotations

from typing import Final

from agui_reasoning.consumer import _schema as schema
from agui_reasoning.consumer import _schema_types as kinds
from agui_reasoning.consumer._pipeline import Boundary

__all__ = ["DEFINITIONS", "DROP", "NESTING", "Boundary", "inspect", "kind_of", "kinds"]

DROP, NESTING, inspect = kinds.DROP, kinds.NESTING, kinds.inspect

DEFINITIONS: Final[dict[str, kinds.SchemaType]] = {
    **{kind.title().replace("_", "") + "Event": event for kind, event in schema.EVENTS.items()},
    "Message": schema.MESSAGE,
    "ContentPart": schema._PART,
    "PartSource": schema._SOURCE,
    "ToolCall": schema.TOOL_CALL,
    "FunctionCall": schema._FUNCTION,
    "JsonPatch": schema._PATCH,
    "RunAgentInput": schema.RUN_AGENT_INPUT,
    "Tool": schema._TOOL,
    "Context": schema._CONTEXT,
    "ResumeEntry": schema._RESUME,
    "Interrupt": schema._INTERRUPT,
    "RunFinishedOutcome": schema._RUN_OUTCOME,
    "SubagentFinishedOutcome": schema._SUBAGENT_OUTCOME,
    "TokenUsage": schema._USAGE,
}
"""The objects of the consumer's table under their names in the published schema."""


def kind_of(name: str) -> kinds.SchemaType:
    """The type of a definition of the schema, or of a message by the name of its class."""
    if name in DEFINITIONS:
        return DEFINITIONS[name]
    assert isinstance(schema.MESSAGE, kinds.Tagged)
    return schema.MESSAGE.members[name.removesuffix("Message").lower()]
