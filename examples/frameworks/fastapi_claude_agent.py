"""A FastAPI endpoint for the Claude Agent SDK. Without ANTHROPIC_API_KEY, it uses recorded responses."""

from contextlib import asynccontextmanager, nullcontext
from os import getenv
from tempfile import TemporaryDirectory

import uvicorn
from ag_ui.core import RunAgentInput
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, create_sdk_mcp_server, tool
from fastapi import FastAPI

from agui_reasoning.aio import run_agent
from agui_reasoning.asgi import AGUIResponse
from agui_reasoning.gateway import local_server, provider_app
from agui_reasoning.interop import claude_agent

ORIGIN = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-sonnet-4-6"}
REPLAY, SESSIONS = provider_app("anthropic-weather"), TemporaryDirectory()
ENV = {"CLAUDE_AGENT_SDK_MCP_NO_PREFIX": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}


@tool("get_forecast", "Weather forecast of a place for the next hours", {"place": str, "hours": int})
async def get_forecast(args):
    text = f"{args['place']}: 9 °C, 4.2 mm of rain, gusts of 14 m/s."
    return {"content": [{"type": "text", "text": text}]}


WEATHER = {"weather": create_sdk_mcp_server("weather", tools=[get_forecast])}


async def agent(run):
    session = claude_agent.session_options(run)  # empty in the first run of a thread
    options = ClaudeAgentOptions(**session, include_partial_messages=True, env=ENV, **SETUP)
    async with ClaudeSDKClient(options) as client:
        await client.query(claude_agent.prompt(run))
        yield claude_agent.stream(client.receive_response())


SETUP = {
    "model": ORIGIN["model"],
    "tools": [],
    "mcp_servers": WEATHER,
    "allowed_tools": ["get_forecast", "mcp__weather__get_forecast"],
    "setting_sources": [],
}


def replay_at(url):
    return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "CLAUDE_CONFIG_DIR": SESSIONS.name}


@asynccontextmanager
async def connect(app: FastAPI):
    with nullcontext() if getenv("ANTHROPIC_API_KEY") else local_server(REPLAY) as url:
        ENV.update(replay_at(url) if url else {})
        yield


app = FastAPI(lifespan=connect)


@app.post("/agent")
async def answer(run_input: RunAgentInput) -> AGUIResponse:
    return AGUIResponse(run_agent(run_input, agent, **ORIGIN))


if __name__ == "__main__":
    uvicorn.run(app, port=int(getenv("PORT", "8000")))
