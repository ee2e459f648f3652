"""What real front ends do to a history: it lives in the package."""

from agui_reasoning.testing import FRONT_ENDS, assistant_ui, copilotkit, tanstack

__all__ = ["FRONT_ENDS", "assistant_ui", "copilotkit", "tanstack"]
