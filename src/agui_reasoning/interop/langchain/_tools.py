"""Tools that the front end runs; needs LangChain and LangGraph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.types import interrupt

from agui_reasoning.interop.langchain._read import CALL

__all__ = ["FrontEndTool"]


class FrontEndTool(BaseTool):  # type: ignore[misc]
    """A tool that interrupts the graph, which can be resumed with its result."""

    def invoke(self, input: Mapping[str, Any], config: Any = None, **kwargs: Any) -> Any:  # noqa: A002
        """Interrupt the graph; when it is resumed, return the result."""
        result = interrupt({CALL: {name: input[name] for name in ("id", "name", "args")}})
        return ToolMessage(result, tool_call_id=input["id"], name=self.name)

    async def ainvoke(self, input: Mapping[str, Any], config: Any = None, **kwargs: Any) -> Any:  # noqa: A002
        """Interrupt the graph; when it is resumed, return the result."""
        return self.invoke(input)

    def _run(self, **arguments: Any) -> Any:
        raise NotImplementedError("The front end runs this tool.")
