"""Conversations for APIs whose own blocks have no known place in the messages of a framework."""

from __future__ import annotations

from agui_reasoning.request import ProviderRequest
from agui_reasoning.run import Run

__all__ = ["plain_request"]


def plain_request(run: Run, framework: str) -> ProviderRequest:
    """Return a request in the format of Chat Completions, which has no reasoning.

    Args:
        run: The run.
        framework: The name of the framework.

    Raises:
        ConfigurationError: The run has no API (``no_api``).

    Warns:
        AGUIReasoningWarning: Reasoning that the provider accepts is left out.
    """
    lost = sum(entry.outcome != "dropped" for entry in run.request(tools=()).report)
    if lost:
        left_out = (
            f"{lost} reasoning unit(s) are left out: messages of {framework} have no known place for those"
        )
        run.warn_once([f"{left_out} of {run.api}."])
    return run.request(api="openai-chat", provider="openai", tools=())
