"""A Starlette endpoint in front of OpenAI's SDK. Without OPENAI_API_KEY a replayed answer comes."""

import os
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

import uvicorn
from ag_ui.core import RunAgentInput
from openai import AsyncOpenAI
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agui_reasoning.aio import stream_run
from agui_reasoning.asgi import AGUIResponse
from agui_reasoning.gateway import local_server, provider_app


@asynccontextmanager
async def connect(app: Starlette) -> AsyncIterator[None]:
    with ExitStack() as stack:
        how = {}
        if not os.environ.get("OPENAI_API_KEY"):
            url = stack.enter_context(local_server(provider_app("openai-weather-2")))
            how = {"base_url": f"{url}/v1", "api_key": "none"}
        async with AsyncOpenAI(**how) as app.state.model:
            yield


async def agent(request: Request) -> Response:
    try:
        run_input = RunAgentInput.model_validate_json(await request.body())
    except ValidationError:
        return Response("This is no RunAgentInput.", 422)
    said = [{"role": "user", "content": m.content} for m in run_input.messages if m.role == "user"]
    ask = {"model": "gpt-5.6", "reasoning": {"effort": "medium", "summary": "auto"}, "input": said}
    answer = request.app.state.model.responses.create(**ask, stream=True)
    return AGUIResponse(stream_run(run_input, answer, api="openai-responses"))


app = Starlette(lifespan=connect, routes=[Route("/agent", agent, methods=["POST"])])

if __name__ == "__main__":
    uvicorn.run(app, port=int(os.environ.get("PORT", "8000")))
