"""The frameworks whose adapters are tested, each in an environment of its own. Standard library only."""

from dataclasses import dataclass
from pathlib import Path

from tests.support.environments import environment, needed_by_us

__all__ = ["FRAMEWORKS", "IN_CI", "Framework"]

_TESTING = ("pytest", "pytest-timeout", "hypothesis", "fastapi>=0.115", *needed_by_us("server"))


@dataclass(frozen=True)
class Framework:
    """What one environment holds.

    Attributes:
        requirements: The framework's packages.
        minor: The oldest Python 3 that they run on.
    """

    requirements: tuple[str, ...]
    minor: int = 11

    def python(self, name: str) -> Path:
        """The interpreter of its environment.

        Raises:
            UnavailableError: The environment cannot be made.
        """
        return environment(name, *self.requirements, *_TESTING, minor=self.minor)


FRAMEWORKS = {
    "langchain": Framework(
        (
            "langchain>=1.4",
            "langgraph>=1.2",
            "langchain-anthropic>=1.7",
            "langchain-openai>=1.7",
            "langchain-deepseek>=1.1",
            "langchain-aws>=1.9",
            "langchain-google-genai>=4.4",
        )
    ),
    "pydantic_ai": Framework(("pydantic-ai-slim[anthropic,openai,google]>=2.68",)),
    "openai_agents": Framework(("openai-agents>=0.24",)),
    "agent_framework": Framework(("agent-framework-core>=1.23", "agent-framework-openai")),
    "litellm": Framework(("litellm[proxy]>=1.106", "mcp", *needed_by_us("client"))),
    "agno": Framework(("agno[aws-bedrock,google]>=3.1", "anthropic", "openai")),
    "claude_agent": Framework(("claude-agent-sdk>=0.2.187",)),
    "openhands": Framework(("openhands-sdk>=1.58",), minor=12),
    "llamaindex": Framework(("llama-index-core>=0.14.25", "llama-index-llms-openai")),
    "adk": Framework(("google-adk>=2.13",)),
}
"""The tests of each are `test_<name>.py` beside this file."""

IN_CI = ("langchain", "pydantic_ai", "openai_agents", "agent_framework")
