"""A FastAPI agent with any MODEL that LiteLLM knows. Without MODEL, it uses recorded responses.

Install: `pip install -e ".[server]" fastapi litellm mcp`
Run: `python examples/litellm_any.py`
"""

from contextlib import asynccontextmanager, nullcontext
from os import getenv

import litellm
import uvicorn
from ag_ui.core import RunAgentInput
from fastapi import FastAPI

from agui_reasoning.aio import run_agent
from agui_reasoning.asgi import AGUIResponse
from agui_reasoning.gateway import local_server, provider_app
from agui_reasoning.interop import litellm as adapter
from agui_reasoning.parts import ToolResultPart

MODEL = getenv("MODEL", "anthropic/claude-sonnet-4-6")
VENDOR = litellm.get_llm_provider(MODEL)[1]
PROVIDER = {"gemini": "google", "vertex_ai": "google-vertex"}.get(VENDOR, VENDOR)  # where the names differ
ASK = {"model": MODEL, "reasoning_effort": "medium", "max_tokens": 8192, "stream": True}
SCHEMA = {"type": "object", "properties": {"place": {"type": "string"}, "hours": {"type": "integer"}}}
FUNCTION = {"name": "get_forecast", "description": "Hourly weather forecast", "parameters": SCHEMA}
TOOLS = [{"type": "function", "function": FUNCTION}]


async def agent(run):
    while True:
        messages = adapter.messages(run)  # the conversation, with the reasoning that this provider needs
        yield adapter.stream(litellm.acompletion(messages=messages, tools=TOOLS, **ASK, **app.state.replay))
        if not run.pending_calls:
            return
        for call in run.pending_calls:  # run your tools here
            yield ToolResultPart(call.id, f"{call.args['place']}: 9 °C, 4.2 mm of rain, gusts of 14 m/s.")


@asynccontextmanager
async def connect(app: FastAPI):
    with nullcontext() if getenv("MODEL") else local_server(provider_app("anthropic-weather")) as url:
        app.state.replay = {"api_base": url, "api_key": "none"} if url else {}
        yield


app = FastAPI(lifespan=connect)


@app.post("/agent")
async def answer(run_input: RunAgentInput) -> AGUIResponse:
    return AGUIResponse(run_agent(run_input, agent, api="litellm", provider=PROVIDER, model=MODEL))


if __name__ == "__main__":
    uvicorn.run(app, port=int(getenv("PORT", "8000")))
