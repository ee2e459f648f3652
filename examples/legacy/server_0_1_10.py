"""Serve the 0.1.10 agent with FastAPI, and show at the start of each run that the agent is thinking."""

from collections.abc import AsyncIterator

import uvicorn
from ag_ui import core
from ag_ui.encoder import EventEncoder
from agent_0_1_10 import run
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

app = FastAPI()


@app.post("/agent")
async def agent(run_input: core.RunAgentInput) -> StreamingResponse:
    encoder = EventEncoder()

    async def events() -> AsyncIterator[str]:
        started, *rest = run(run_input)
        yield started
        yield encoder.encode(core.ThinkingStartEvent())
        yield encoder.encode(core.ThinkingEndEvent())
        for frame in rest:
            yield frame

    return StreamingResponse(events(), media_type=encoder.get_content_type())


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=8000)
