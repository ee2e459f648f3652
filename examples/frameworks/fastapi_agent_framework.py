"""A FastAPI agent with Microsoft's Agent Framework. Without OPENAI_API_KEY, it uses recorded responses."""

from contextlib import asynccontextmanager, nullcontext
from os import getenv

import uvicorn
from ag_ui.core import RunAgentInput
from agent_framework import Agent, tool
from agent_framework.openai import OpenAIChatClient
from fastapi import FastAPI

from agui_reasoning.aio import ModelStream, run_agent, tool_loop
from agui_reasoning.asgi import AGUIResponse
from agui_reasoning.gateway import local_server, provider_app

ORIGIN = {"api": "openai-responses", "provider": "openai", "model": "gpt-5.6-sol"}
KEEP = {"store": False, "include": ["reasoning.encrypted_content"]}
ONE_REQUEST = {"enabled": False}  # the framework's own loop would run the tools and lose reasoning
REPLAY = provider_app("openai-weather")


@tool
def get_forecast(place: str, hours: int) -> str:
    """Weather forecast of a place for the next hours."""
    return f"{place}: 9 °C, 4.2 mm of rain, gusts of 14 m/s."


async def turn(run):
    body = {"input": run.request(tools=()).body["input"]}  # with the reasoning it needs
    async with app.state.agent.run("", stream=True, options={"extra_body": body}) as updates:
        yield ModelStream(update.raw_representation.raw_representation async for update in updates)


agent = tool_loop(turn, {"get_forecast": get_forecast.func})


@asynccontextmanager
async def connect(app: FastAPI):
    with nullcontext() if getenv("OPENAI_API_KEY") else local_server(REPLAY) as url:
        at = {"base_url": f"{url}/v1", "api_key": "none"} if url else {}
        client = OpenAIChatClient(ORIGIN["model"], function_invocation_configuration=ONE_REQUEST, **at)
        app.state.agent = Agent(client, tools=[get_forecast], default_options=KEEP)
        yield


app = FastAPI(lifespan=connect)


@app.post("/agent")
async def answer(run_input: RunAgentInput) -> AGUIResponse:
    return AGUIResponse(run_agent(run_input, agent, **ORIGIN))


if __name__ == "__main__":
    uvicorn.run(app, port=int(getenv("PORT", "8000")))
