"""A FastAPI agent with LlamaIndex's LLM and tool. Without OPENAI_API_KEY, it uses recorded responses."""

from contextlib import asynccontextmanager, nullcontext
from os import getenv

import uvicorn
from ag_ui.core import RunAgentInput
from fastapi import FastAPI
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai import OpenAIResponses

from agui_reasoning.aio import ModelStream, run_agent, tool_loop
from agui_reasoning.asgi import AGUIResponse
from agui_reasoning.gateway import local_server, provider_app

ORIGIN = {"api": "openai-responses", "provider": "openai", "model": "gpt-5.6-sol"}
KEEP = {"store": False, "include": ["reasoning.encrypted_content"], "context_window": 400_000}
REPLAY = provider_app("openai-weather")


def get_forecast(place: str, hours: int) -> str:
    """Weather forecast of a place for the next hours."""
    return f"{place}: 9 °C, 4.2 mm of rain, gusts of 14 m/s."


TOOL = FunctionTool.from_defaults(get_forecast)


async def turn(run):
    body = {"input": run.request(tools=()).body["input"]}  # with the reasoning it needs
    chunks = await app.state.llm.astream_chat_with_tools([TOOL], extra_body=body)
    yield ModelStream(chunk.raw async for chunk in chunks)


agent = tool_loop(turn, {"get_forecast": get_forecast})


@asynccontextmanager
async def connect(app: FastAPI):
    with nullcontext() if getenv("OPENAI_API_KEY") else local_server(REPLAY) as url:
        at = {"api_base": f"{url}/v1", "api_key": "none"} if url else {}
        app.state.llm = OpenAIResponses(model=ORIGIN["model"], **KEEP, **at)
        yield


app = FastAPI(lifespan=connect)


@app.post("/agent")
async def answer(run_input: RunAgentInput) -> AGUIResponse:
    return AGUIResponse(run_agent(run_input, agent, **ORIGIN))


if __name__ == "__main__":
    uvicorn.run(app, port=int(getenv("PORT", "8000")))
