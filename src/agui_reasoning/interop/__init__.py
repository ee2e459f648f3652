"""Adapters for agent frameworks: one module per framework, named after it.

``stream`` reads what the framework yields, inside a run. Frameworks are imported only where their own classes
are built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agui_reasoning._lazy import lazy_attributes

if TYPE_CHECKING:
    from agui_reasoning.interop import agno as agno
    from agui_reasoning.interop import claude_agent as claude_agent
    from agui_reasoning.interop import langchain as langchain
    from agui_reasoning.interop import litellm as litellm
    from agui_reasoning.interop import openai_agents as openai_agents
    from agui_reasoning.interop import openhands as openhands
    from agui_reasoning.interop import pydantic_ai as pydantic_ai

__all__ = ["agno", "claude_agent", "langchain", "litellm", "openai_agents", "openhands", "pydantic_ai"]

if not TYPE_CHECKING:  # a type checker would accept any attribute
    __getattr__, __dir__ = lazy_attributes(__name__, {}, __all__)
