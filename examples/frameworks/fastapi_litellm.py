"""A FastAPI agent with LiteLLM and a tool. Without ANTHROPIC_API_KEY, it uses recorded responses."""

from contextlib import asynccontextmanager, nullcontext
from os import getenv

import litellm
import uvicorn
from ag_ui.core import RunAgentInput
from fastapi import FastAPI

from agui_reasoning import build_request
from agui_reasoning.aio import run_agent
from agui_reasoning.asgi import AGUIResponse
from agui_reasoning.gateway import local_server, provider_app
from agui_reasoning.interop import litellm as adapter
from agui_reasoning.parts import ToolResultPart

ORIGIN = {"api": "litellm", "provider": "anthropic", "model": "anthropic/claude-sonnet-4-6"}
# What makes this model think, and show it: the echo policy knows it for every generation of Claude.
FLAGS = build_request("litellm", [], provider="anthropic", model=ORIGIN["model"]).flags
THINK = {flag.name: flag.value for flag in FLAGS} | {"max_tokens": 4096}
SCHEMA = {"type": "object", "properties": {"place": {"type": "string"}, "hours": {"type": "integer"}}}
FUNCTION = {"name": "get_forecast", "description": "Hourly weather forecast", "parameters": SCHEMA}
ASK = {"model": ORIGIN["model"], "tools": [{"type": "function", "function": FUNCTION}], "stream": True}
REPLAY = provider_app("anthropic-weather")


async def agent(run):
    while True:
        messages = adapter.messages(run)  # the conversation, with the reasoning it needs
        yield adapter.stream(litellm.acompletion(messages=messages, **ASK, **THINK, **app.state.provider))
        if not run.pending_calls:
            return
        for call in run.pending_calls:  # run your tools here
            yield ToolResultPart(call.id, f"{call.args['place']}: 9 °C, 4.2 mm of rain, gusts of 14 m/s.")


@asynccontextmanager
async def connect(app: FastAPI):
    with nullcontext() if getenv("ANTHROPIC_API_KEY") else local_server(REPLAY) as url:
        app.state.provider = {"api_base": url, "api_key": "none"} if url else {}
        yield


app = FastAPI(lifespan=connect)


@app.post("/agent")
async def answer(run_input: RunAgentInput) -> AGUIResponse:
    return AGUIResponse(run_agent(run_input, agent, **ORIGIN))


if __name__ == "__main__":
    uvicorn.run(app, port=int(getenv("PORT", "8000")))
