"""A FastAPI endpoint in front of Anthropic's SDK. Without ANTHROPIC_API_KEY a replayed answer comes."""

import os
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

import uvicorn
from ag_ui.core import RunAgentInput
from anthropic import AsyncAnthropic
from fastapi import FastAPI

from agui_reasoning.aio import stream_run
from agui_reasoning.asgi import AGUIResponse
from agui_reasoning.gateway import local_server, provider_app


@asynccontextmanager
async def connect(app: FastAPI) -> AsyncIterator[None]:
    with ExitStack() as stack:
        how = {}
        if not os.environ.get("ANTHROPIC_API_KEY"):
            url = stack.enter_context(local_server(provider_app("anthropic-weather-2")))
            how = {"base_url": url, "api_key": "none"}
        async with AsyncAnthropic(**how) as app.state.model:
            yield


app = FastAPI(lifespan=connect)


@app.post("/agent")
async def agent(run_input: RunAgentInput) -> AGUIResponse:
    said = [{"role": m.role, "content": m.content} for m in run_input.messages if m.role == "user"]
    ask = {"model": "claude-sonnet-4-6", "max_tokens": 4096, "messages": said}
    answer = app.state.model.messages.create(**ask, thinking={"type": "adaptive"}, stream=True)
    return AGUIResponse(stream_run(run_input, answer, api="anthropic-messages"))


if __name__ == "__main__":
    uvicorn.run(app, port=int(os.environ.get("PORT", "8000")))
