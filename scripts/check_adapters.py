"""Records what the AG-UI adapters of other projects stream, and prints what `agui-reasoning check` finds.

    python scripts/check_adapters.py pydantic_ai DIRECTORY [--keep]

runs with the Python of an environment that has the framework. The provider is a local replay of a script, the
client keeps what it received and sends it back, and the server keeps nothing between the runs, unless
``--keep`` is given. The streams are written to the directory, one file per run, for
`agui-reasoning check FILE`.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import anyio

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from agui_reasoning import check_events
from agui_reasoning.wire import read_events
from tests.frameworks.threads import FORECAST, QUESTIONS, Thread, replayed

Stream: TypeAlias = Callable[[Any], AsyncIterator[str]]

ANTHROPIC, RESPONSES, CHAT, GEMINI = "anthropic-weather", "openai-weather", "chat-weather", "gemini-weather"


def pydantic_ai(url: str, script: str) -> Stream:
    """Returns what streams a run of Pydantic AI's `AGUIAdapter` (pydantic-ai-slim with ag-ui-protocol)."""
    from pydantic_ai.ui.ag_ui import AGUIAdapter

    from tests.frameworks.test_pydantic_ai import framework_agent

    agent = framework_agent(url, script)

    async def stream(run_input: Any) -> AsyncIterator[str]:
        adapter = AGUIAdapter(agent=agent, run_input=run_input, ag_ui_version="1.0.0")
        async for frame in adapter.encode_stream(adapter.run_stream()):
            yield frame

    return stream


def langgraph(url: str, script: str) -> Stream:
    """Returns what streams a run of ag-ui-langgraph (beside langchain)."""
    from ag_ui_langgraph import LangGraphAgent
    from langgraph.checkpoint.memory import InMemorySaver

    from tests.frameworks.test_langchain import agents, get_forecast, model_at

    saver = InMemorySaver()

    def run(run_input: Any) -> AsyncIterator[Any]:
        graph = agents.create_agent(model_at(url, script, "v0"), tools=[get_forecast], checkpointer=saver)
        return LangGraphAgent(name="weather", graph=graph).run(run_input)

    return _encoded(run)


def claude_agent(url: str, script: str) -> Stream:
    """Returns what streams a run of ag-ui-claude-sdk."""
    from ag_ui_claude_sdk import ClaudeAgentAdapter

    from tests.frameworks.test_claude_agent import options

    return _encoded(ClaudeAgentAdapter("weather", options(url, tempfile.mkdtemp(), None)).run)


def agno(url: str, script: str) -> Stream:
    """Returns what streams a run of Agno's AGUI interface (agno with ag-ui-protocol)."""
    from agno.agent import Agent
    from agno.db.in_memory import InMemoryDb
    from agno.models.openai import OpenAIResponses
    from agno.os.interfaces.agui.router import run_entity
    from openai import AsyncOpenAI

    from tests.frameworks.test_agno import get_forecast, model_at

    if script == RESPONSES:
        client = AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
        model = OpenAIResponses(
            id="gpt-5.6-sol", async_client=client, store=False, include=["reasoning.encrypted_content"]
        )
    else:
        model = model_at(url, script)
    tools = {"tools": [get_forecast], "telemetry": False}
    weather = Agent(model=model, db=InMemoryDb(), add_history_to_context=True, **tools)
    return _encoded(lambda run_input: run_entity(weather, run_input))


def adk(url: str, script: str) -> Stream:
    """Returns what streams a run of ag-ui-adk."""
    from ag_ui_adk import ADKAgent
    from google.adk.sessions import InMemorySessionService

    from tests.frameworks.test_adk import adk, gemini, get_forecast

    model = gemini.Gemini(model="gemini-3-flash-preview", base_url=url, client_kwargs={"api_key": "none"})
    weather = adk.Agent(name="weather", model=model, tools=[get_forecast])
    # Without a service of its own, it finds the sessions of others in the same process.
    own = {"session_service": InMemorySessionService(), "app_name": "weather", "user_id": "u"}
    return _encoded(ADKAgent(weather, **own).run)


def strands(url: str, script: str) -> Stream:
    """Returns what streams a run of ag-ui-strands (with strands-agents[anthropic,openai])."""
    from ag_ui_strands import StrandsAgent
    from strands import Agent, tool
    from strands.models.anthropic import AnthropicModel
    from strands.models.openai_responses import OpenAIResponsesModel

    @tool
    def get_forecast(place: str, hours: int) -> str:
        """Weather forecast of a place for the next hours."""
        return FORECAST

    if script == ANTHROPIC:
        place = {"base_url": url, "api_key": "none", "max_retries": 0}
        thinking = {"thinking": {"type": "adaptive"}}
        model: Any = AnthropicModel(
            client_args=place, model_id="claude-sonnet-4-6", max_tokens=4096, params=thinking
        )
    else:
        place = {"base_url": f"{url}/v1", "api_key": "none", "max_retries": 0}
        keep = {"store": False, "include": ["reasoning.encrypted_content"]}
        model = OpenAIResponsesModel(client_args=place, model_id="gpt-5.6-sol", params=keep)
    return _encoded(StrandsAgent(Agent(model=model, tools=[get_forecast]), "weather").run)


def _encoded(run: Callable[[Any], AsyncIterator[Any]]) -> Stream:
    from ag_ui.encoder import EventEncoder

    async def stream(run_input: Any) -> AsyncIterator[str]:
        async for event in run(run_input):
            yield EventEncoder().encode(event)

    return stream


ADAPTERS: dict[str, tuple[Callable[[str, str], Stream], tuple[str, ...]]] = {
    "pydantic_ai": (pydantic_ai, (ANTHROPIC, RESPONSES, CHAT)),
    "langgraph": (langgraph, (ANTHROPIC, RESPONSES, CHAT)),
    "claude_agent": (claude_agent, (ANTHROPIC,)),
    "agno": (agno, (ANTHROPIC, RESPONSES, CHAT)),
    "adk": (adk, (GEMINI,)),
    "strands": (strands, (ANTHROPIC, RESPONSES)),
}
"""What makes the stream of each adapter, and the scripts that its framework speaks."""

_COMPARED = 3
"""The request for the second question; a server that forgot the first one asks more often."""


def main(name: str, directory: str = ".", option: str = "") -> None:
    """Plays each script through an adapter."""
    made, scripts = ADAPTERS[name]
    for script in scripts:
        with replayed(script) as (url, thread):
            where = Path(directory) / f"{name}-{script}"
            error = anyio.run(_play, thread, partial(made, url, script), where, bool(option))
        sys.stdout.write(f"{name} {script}: {_row(thread)}{error}\n")


async def _play(thread: Thread, made: Callable[[], Stream], where: Path, keep: bool) -> str:
    """Returns the error that ended the thread, if any."""
    stream = made()
    for number, question in enumerate(QUESTIONS, 1):
        run_input = thread.conversation.run_input(question)
        stream = stream if keep else made()
        body = "".join([frame async for frame in stream(run_input)])
        where.with_suffix(f".{number}.sse").write_text(body, encoding="utf-8")
        thread.runs.append(list(read_events(body.encode())))
        for event in thread.runs[-1]:
            thread.conversation.receive(event)
        if thread.conversation.status != "finished":
            return f"; run {number} {thread.conversation.status}"
    return ""


def _row(thread: Thread) -> str:
    last = min(len(thread.requests), _COMPARED)
    counts = [_count(thread, number) for number in range(2, last + 1)]
    lost = ", ".join(dict.fromkeys(thread.missing(last)))
    found = Counter(finding.code for run in thread.runs for finding in check_events(run))
    codes = ", ".join(f"{code} x{number}" for code, number in sorted(found.items()))
    return f"{'; '.join(counts)}; lost: {lost or 'nothing'}; {codes or 'no finding'}"


def _count(thread: Thread, number: int) -> str:
    checks = thread.values(number)
    kept = sum(check.unchanged for check in checks)
    other = sum(check.path is not None and not check.unchanged for check in checks)
    more = f" and {other} others" if other else ""
    return f"request {number} has {kept} of {len(checks) - other}{more}"


if __name__ == "__main__":
    main(*sys.argv[1:])
