"""A FastAPI agent with the LLM of the OpenHands SDK. Without DEEPSEEK_API_KEY, it uses recorded responses."""

from contextlib import asynccontextmanager, nullcontext
from os import getenv

import uvicorn
from ag_ui.core import RunAgentInput
from fastapi import FastAPI
from openhands.sdk.event import ActionEvent, MessageEvent
from openhands.sdk.llm import LLM
from openhands.sdk.tool import Action, ToolDefinition

from agui_reasoning.aio import run_agent
from agui_reasoning.asgi import AGUIResponse
from agui_reasoning.gateway import local_server, provider_app
from agui_reasoning.interop import openhands
from agui_reasoning.parts import ToolResultPart

ORIGIN = {"api": "litellm", "provider": "deepseek", "model": "deepseek/deepseek-v4-flash"}
REPLAY = provider_app("chat-weather")


class Forecast(Action):
    place: str
    hours: int


class GetForecastTool(ToolDefinition):
    @classmethod
    def create(cls, *args, **kwargs):
        return [cls(description="Hourly weather forecast", action_type=Forecast)]


TOOLS = GetForecastTool.create()


def events_of(message, **response):
    said = {"thought": message.content, "reasoning_content": message.reasoning_content}
    for call in message.tool_calls or ():
        called = {"tool_name": call.name, "tool_call_id": call.id, "tool_call": call, "action": None}
        yield ActionEvent(**called, **said, **response)
        said = {"thought": []}  # the first action has it
    if not message.tool_calls:
        yield MessageEvent(source="agent", llm_message=message, **response)


async def agent(run):
    while True:
        messages = openhands.messages(run)  # the conversation, with the reasoning it needs
        answer = await app.state.llm.acompletion(messages, tools=TOOLS, on_token=lambda chunk: None)
        yield openhands.stream(events_of(answer.message, llm_response_id=answer.id))
        if not run.pending_calls:
            return
        for call in run.pending_calls:  # run your tools here
            yield ToolResultPart(call.id, f"{call.args['place']}: 9 °C, 4.2 mm of rain, gusts of 14 m/s.")


@asynccontextmanager
async def connect(app: FastAPI):
    with nullcontext() if getenv("DEEPSEEK_API_KEY") else local_server(REPLAY) as url:
        at = {"base_url": f"{url}/v1", "api_key": "none"} if url else {}
        app.state.llm = LLM(model=ORIGIN["model"], usage_id="agent", stream=True, **at)
        yield


app = FastAPI(lifespan=connect)


@app.post("/agent")
async def answer(run_input: RunAgentInput) -> AGUIResponse:
    return AGUIResponse(run_agent(run_input, agent, **ORIGIN))


if __name__ == "__main__":
    uvicorn.run(app, port=int(getenv("PORT", "8000")))
