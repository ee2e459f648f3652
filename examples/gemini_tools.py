"""A FastAPI agent with Google's SDK and a tool. Without GEMINI_API_KEY, it uses recorded responses.

The request of each `ModelStream` is the conversation, with the thought signatures.

Install: `pip install -e ".[server]" fastapi google-genai`
Run: `python examples/gemini_tools.py`
"""

from contextlib import asynccontextmanager, nullcontext
from os import getenv

import uvicorn
from ag_ui.core import RunAgentInput
from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from google import genai

from agui_reasoning.aio import ModelStream, run_agent
from agui_reasoning.asgi import AGUIResponse
from agui_reasoning.gateway import local_server, provider_app
from agui_reasoning.parts import ToolResultPart

ASK = {"model": "gemini-3-flash-preview", "config": {"thinking_config": {"include_thoughts": True}}}
SCHEMA = {"type": "OBJECT", "properties": {"place": {"type": "STRING"}, "hours": {"type": "INTEGER"}}}
TOOLS = [{"function_declarations": [{"name": "get_forecast", "parameters": SCHEMA}]}]
PAGES = r"http://(localhost|127\.0\.0\.1):\d+"  # on this machine; use your own in production


async def agent(run):
    stream = app.state.client.aio.models.generate_content_stream
    while True:
        yield ModelStream(lambda request: stream(**request.merged(ASK)), tools=TOOLS)
        if not run.pending_calls:
            return
        for call in run.pending_calls:  # run your tools here
            yield ToolResultPart(call.id, f"{call.args['place']}: 9 °C, 4.2 mm of rain, gusts of 14 m/s.")


@asynccontextmanager
async def connect(app: FastAPI):
    with nullcontext() if getenv("GEMINI_API_KEY") else local_server(provider_app("gemini-weather")) as url:
        options = {"api_version": "v1beta"} | ({"base_url": url} if url else {})
        app.state.client = genai.Client(api_key=getenv("GEMINI_API_KEY", "none"), http_options=options)
        yield
        await app.state.client.aio.aclose()


app = FastAPI(lifespan=connect)
app.add_middleware(CORSMiddleware, allow_origin_regex=PAGES, allow_methods=["POST"], allow_headers=["*"])


@app.post("/agent")
async def answer(run_input: RunAgentInput) -> AGUIResponse:
    return AGUIResponse(run_agent(run_input, agent, api="gemini", provider="google", model=ASK["model"]))


if __name__ == "__main__":
    uvicorn.run(app, port=int(getenv("PORT", "8000")))
