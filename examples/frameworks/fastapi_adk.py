"""A FastAPI agent with a model and a tool of ADK. Without GOOGLE_API_KEY, it uses recorded responses."""

from contextlib import asynccontextmanager, nullcontext
from os import getenv

import uvicorn
from ag_ui.core import RunAgentInput
from fastapi import FastAPI
from google.adk.models.google_llm import Gemini
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.function_tool import FunctionTool

from agui_reasoning.aio import ModelStream, run_agent, tool_loop
from agui_reasoning.asgi import AGUIResponse
from agui_reasoning.gateway import local_server, provider_app

ORIGIN = {"api": "gemini", "provider": "google", "model": "gemini-3-flash-preview"}
THINK = {"thinking_config": {"include_thoughts": True}}
REPLAY = provider_app("gemini-weather")


def get_forecast(place: str, hours: int) -> dict:
    """Weather forecast of a place for the next hours."""
    return {"place": place, "temperature_c": 9, "rain_mm": 4.2, "gusts_ms": 14}


TOOL = FunctionTool(get_forecast)


def asking(contents):
    """What the model is asked."""
    asked = LlmRequest(model=ORIGIN["model"], contents=contents, config=THINK)
    asked.append_tools([TOOL])
    return asked


def payload(event):
    """What an event or response has of a payload of the provider."""
    content = event.content.model_dump(mode="json", by_alias=True, exclude_none=True)
    reason = event.finish_reason.value if event.finish_reason else None
    return {"candidates": [{"content": content, "finishReason": reason}]}


async def turn(run):
    asked = asking(run.request(tools=()).body["contents"])  # with the signatures it needs
    responses = app.state.model.generate_content_async(asked, stream=True)
    yield ModelStream(payload(response) async for response in responses if response.partial)


agent = tool_loop(turn, {"get_forecast": get_forecast})


@asynccontextmanager
async def connect(app: FastAPI):
    with nullcontext() if getenv("GOOGLE_API_KEY") else local_server(REPLAY) as url:
        at = {"base_url": url, "client_kwargs": {"api_key": "none"}} if url else {}
        app.state.model = Gemini(model=ORIGIN["model"], **at)
        yield


app = FastAPI(lifespan=connect)


@app.post("/agent")
async def answer(run_input: RunAgentInput) -> AGUIResponse:
    return AGUIResponse(run_agent(run_input, agent, **ORIGIN))


if __name__ == "__main__":
    uvicorn.run(app, port=int(getenv("PORT", "8000")))
