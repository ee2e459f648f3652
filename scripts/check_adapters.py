"""Records what the AG-UI adapters of other projects stream, and prints what `agui-reasoning check` finds.

    python scripts/check_adapters.py pydantic_ai DIRECTORY

runs with the Python of an environment that has the framework. The provider is a local replay of a script, the
client keeps what it received and sends it back, and the server keeps nothing between the runs. The streams
are written to the directory, one file per run, for `agui-reasoning check FILE`.
"""

import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeAlias

import anyio

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from agui_reasoning import check_events
from agui_reasoning.wire import read_events
from tests.frameworks.threads import QUESTIONS, Thread, replayed

Stream: TypeAlias = Callable[[Any], AsyncIterator[str]]

SCRIPTS = ("anthropic-weather", "openai-weather", "chat-weather")


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
    from ag_ui.encoder import EventEncoder
    from ag_ui_langgraph import LangGraphAgent
    from langgraph.checkpoint.memory import InMemorySaver

    from tests.frameworks.test_langchain import agents, get_forecast, model_at

    async def stream(run_input: Any) -> AsyncIterator[str]:
        model, saver = model_at(url, script, "v0"), InMemorySaver()
        graph = agents.create_agent(model, tools=[get_forecast], checkpointer=saver)
        async for event in LangGraphAgent(name="weather", graph=graph).run(run_input):
            yield EventEncoder().encode(event)

    return stream


ADAPTERS: dict[str, Callable[[str, str], Stream]] = {"pydantic_ai": pydantic_ai, "langgraph": langgraph}


def main(name: str, directory: str = ".") -> None:
    """Plays each script through an adapter."""
    for script in SCRIPTS:
        with replayed(script) as (url, thread):
            where = Path(directory) / f"{name}-{script}"
            error = anyio.run(_play, thread, ADAPTERS[name](url, script), where)
        sys.stdout.write(f"{name} {script}: {_row(thread)}{error}\n")


async def _play(thread: Thread, stream: Stream, where: Path) -> str:
    """Returns the error that ended the thread, if any."""
    for number, question in enumerate(QUESTIONS, 1):
        run_input = thread.conversation.run_input(question)
        body = "".join([frame async for frame in stream(run_input)])
        where.with_suffix(f".{number}.sse").write_text(body, encoding="utf-8")
        thread.runs.append(list(read_events(body.encode())))
        for event in thread.runs[-1]:
            thread.conversation.receive(event)
        if thread.conversation.status != "finished":
            return f"; run {number} {thread.conversation.status}"
    return ""


def _row(thread: Thread) -> str:
    checks = thread.artifacts(len(thread.requests))
    kept = sum(check.unchanged for check in checks)
    found = Counter(finding.code for run in thread.runs for finding in check_events(run))
    codes = ", ".join(f"{code} x{number}" for code, number in sorted(found.items()))
    return f"request {len(thread.requests)} has {kept} of {len(checks)}; {codes or 'no finding'}"


if __name__ == "__main__":
    main(*sys.argv[1:])
