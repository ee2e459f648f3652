"""A FastAPI endpoint for the OpenAI Agents SDK. Without OPENAI_API_KEY, it uses recorded responses."""

from contextlib import asynccontextmanager, nullcontext
from os import getenv

import uvicorn
from ag_ui.core import RunAgentInput
from agents import Agent, ModelSettings, Runner, function_tool, set_default_openai_client
from fastapi import FastAPI
from openai import AsyncOpenAI

from agui_reasoning.aio import run_agent
from agui_reasoning.asgi import AGUIResponse
from agui_reasoning.gateway import local_server, provider_app
from agui_reasoning.interop import openai_agents

ORIGIN = {"api": "openai-responses", "provider": "openai", "model": "gpt-5.6-sol"}
KEEP = ModelSettings(store=False, response_include=["reasoning.encrypted_content"])
REPLAY = provider_app("openai-weather")


@function_tool
def get_forecast(place: str, hours: int) -> str:
    """Weather forecast of a place for the next hours."""
    return f"{place}: 9 °C, 4.2 mm of rain, gusts of 14 m/s."


async def agent(run):
    weather = Agent("Weather", model=ORIGIN["model"], tools=[get_forecast], model_settings=KEEP)
    items = openai_agents.input_items(run)  # the conversation, with the reasoning it needs
    yield openai_agents.stream(Runner.run_streamed(weather, items))


@asynccontextmanager
async def connect(app: FastAPI):
    with nullcontext() if getenv("OPENAI_API_KEY") else local_server(REPLAY) as url:
        async with AsyncOpenAI(base_url=url and f"{url}/v1", api_key=url and "none") as client:
            set_default_openai_client(client, use_for_tracing=not url)
            yield


app = FastAPI(lifespan=connect)


@app.post("/agent")
async def answer(run_input: RunAgentInput) -> AGUIResponse:
    return AGUIResponse(run_agent(run_input, agent, **ORIGIN))


if __name__ == "__main__":
    uvicorn.run(app, port=int(getenv("PORT", "8000")))
