"""A FastAPI agent with Anthropic's SDK and a tool. Without ANTHROPIC_API_KEY, it uses recorded responses.

Install: `pip install -e ".[server]" fastapi anthropic`
Run: `python examples/fastapi_anthropic.py`
"""

from contextlib import asynccontextmanager, nullcontext
from os import getenv

import uvicorn
from ag_ui.core import RunAgentInput
from anthropic import AsyncAnthropic
from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware

from agui_reasoning.aio import ModelStream, run_agent
from agui_reasoning.asgi import AGUIResponse
from agui_reasoning.gateway import local_server, provider_app
from agui_reasoning.parts import ToolResultPart

ASK = {"model": "claude-sonnet-4-6", "max_tokens": 4096, "stream": True}
SCHEMA = {"type": "object", "properties": {"place": {"type": "string"}, "hours": {"type": "integer"}}}
TOOLS = [{"name": "get_forecast", "description": "Hourly weather forecast", "input_schema": SCHEMA}]
REPLAY = provider_app("anthropic-weather")
PAGES = r"http://(localhost|127\.0\.0\.1):\d+"  # on this machine; use your own in production


async def agent(run):
    create = app.state.client.messages.create
    while True:
        # The request is the conversation, with the reasoning it needs, and what makes this model think.
        yield ModelStream(lambda request: create(**request.merged(ASK)), tools=TOOLS)
        if not run.pending_calls:
            return
        for call in run.pending_calls:  # run your tools here
            yield ToolResultPart(call.id, f"{call.args['place']}: 9 °C, 4.2 mm of rain, gusts of 14 m/s.")


@asynccontextmanager
async def connect(app: FastAPI):
    with nullcontext() if getenv("ANTHROPIC_API_KEY") else local_server(REPLAY) as url:
        async with AsyncAnthropic(base_url=url, api_key=url and "none") as app.state.client:
            yield


app = FastAPI(lifespan=connect)
app.add_middleware(CORSMiddleware, allow_origin_regex=PAGES, allow_methods=["POST"], allow_headers=["*"])


@app.post("/agent")
async def answer(run_input: RunAgentInput) -> AGUIResponse:
    return AGUIResponse(run_agent(run_input, agent, api="anthropic-messages", model=ASK["model"]))


if __name__ == "__main__":
    uvicorn.run(app, port=int(getenv("PORT", "8000")))
