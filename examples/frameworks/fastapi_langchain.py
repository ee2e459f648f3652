"""A FastAPI endpoint for a LangChain agent. Without ANTHROPIC_API_KEY, it uses recorded responses."""

from contextlib import asynccontextmanager, nullcontext
from os import getenv

import uvicorn
from ag_ui.core import RunAgentInput
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.tools import tool

from agui_reasoning import build_request
from agui_reasoning.aio import run_agent
from agui_reasoning.asgi import AGUIResponse
from agui_reasoning.gateway import local_server, provider_app
from agui_reasoning.interop import langchain

ORIGIN = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-sonnet-4-6"}
# What makes this model think, and show it: the echo policy knows it for every generation of Claude.
THINK = {
    flag.name: flag.value for flag in build_request("anthropic-messages", [], model=ORIGIN["model"]).flags
}
REPLAY = provider_app("anthropic-weather")


@tool
def get_forecast(place: str, hours: int) -> str:
    """Weather forecast of a place for the next hours."""
    return f"{place}: 9 °C, 4.2 mm of rain, gusts of 14 m/s."


async def agent(run):
    messages = langchain.messages(run)  # the conversation, with the reasoning it needs
    yield langchain.stream(app.state.graph.astream({"messages": messages}, stream_mode="messages"))


@asynccontextmanager
async def connect(app: FastAPI):
    with nullcontext() if getenv("ANTHROPIC_API_KEY") else local_server(REPLAY) as url:
        place = {"base_url": url, "api_key": "none"} if url else {}
        headers = THINK.get("extra_headers")
        model = ChatAnthropic(
            model=ORIGIN["model"], thinking=THINK["thinking"], default_headers=headers, **place
        )
        app.state.graph = create_agent(model, tools=[get_forecast])
        yield


app = FastAPI(lifespan=connect)


@app.post("/agent")
async def answer(run_input: RunAgentInput) -> AGUIResponse:
    return AGUIResponse(run_agent(run_input, agent, **ORIGIN))


if __name__ == "__main__":
    uvicorn.run(app, port=int(getenv("PORT", "8000")))
