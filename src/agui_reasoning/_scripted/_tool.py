"""The tool that the models in the scripts call, and a result for it."""

from __future__ import annotations

from typing import Final

from agui_reasoning._strict_json import JSONObject

__all__ = ["TOOL", "TOOL_RESULT"]

TOOL: Final[JSONObject] = {
    "name": "get_forecast",
    "description": "Weather forecast of a place for the next hours",
    "parameters": {
        "type": "object",
        "properties": {"place": {"type": "string"}, "hours": {"type": "integer"}},
        "required": ["place"],
        "additionalProperties": False,
    },
}
"""The tool, as a front end declares it."""

TOOL_RESULT: Final = (
    '{"place": "Bergen", "from": "14:00", "temperature_c": 9, "rain_mm": 4.2, "gusts_ms": 14}'
)
"""A result of the tool that fits the answers of the models."""
