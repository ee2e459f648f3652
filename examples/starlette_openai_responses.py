"""A Starlette agent with OpenAI's SDK and a tool. Without OPENAI_API_KEY, it uses recorded responses.

OpenAI stores nothing: the request of each `ModelStream` is the conversation, with the encrypted reasoning.

Install: `pip install -e ".[server]" openai`
Run: `python examples/starlette_openai_responses.py`
"""

from contextlib import asynccontextmanager, nullcontext
from os import getenv

import uvicorn
from ag_ui.core import RunAgentInput
from openai import AsyncOpenAI
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.routing import Route

from agui_reasoning.aio import ModelStream, run_agent
from agui_reasoning.asgi import AGUIResponse
from agui_reasoning.gateway import local_server, provider_app
from agui_reasoning.parts import ToolResultPart

ASK = {"model": "gpt-5.6", "reasoning": {"effort": "medium", "summary": "auto"}, "stream": True}
PAGES = r"http://(localhost|127\.0\.0\.1):\d+"  # on this machine; use your own in production
SCHEMA = {"type": "object", "properties": {"place": {"type": "string"}, "hours": {"type": "integer"}}}
TOOLS = [{"type": "function", "name": "get_forecast", "parameters": SCHEMA, "strict": False}]


async def agent(run):
    create = app.state.client.responses.create
    while True:
        yield ModelStream(lambda request: create(**request.merged(ASK)), tools=TOOLS, store=False)
        if not run.pending_calls:
            return
        for call in run.pending_calls:  # run your tools here
            yield ToolResultPart(call.id, f"{call.args['place']}: 9 °C, 4.2 mm of rain, gusts of 14 m/s.")


@asynccontextmanager
async def connect(app: Starlette):
    with nullcontext() if getenv("OPENAI_API_KEY") else local_server(provider_app("openai-weather")) as url:
        async with AsyncOpenAI(base_url=url and f"{url}/v1", api_key=url and "none") as app.state.client:
            yield


async def answer(request) -> Response:
    try:
        run_input = RunAgentInput.model_validate_json(await request.body())
    except ValueError:
        return Response("The body is not a RunAgentInput.", 422)
    return AGUIResponse(run_agent(run_input, agent, api="openai-responses", model=ASK["model"]))


cors = Middleware(CORSMiddleware, allow_origin_regex=PAGES, allow_methods=["POST"], allow_headers=["*"])
app = Starlette(lifespan=connect, middleware=[cors], routes=[Route("/agent", answer, methods=["POST"])])
if __name__ == "__main__":
    uvicorn.run(app, port=int(getenv("PORT", "8000")))
