"""An agent that asks the user before it runs its tool, and the page on which the user decides.

Open http://127.0.0.1:8000 and ask. Without ANTHROPIC_API_KEY, it uses recorded responses.
Install: `pip install -e ".[server]" anthropic`
"""

from contextlib import nullcontext
from os import getenv

import uvicorn
from ag_ui.core import Interrupt
from anthropic import AsyncAnthropic

from agui_reasoning.aio import ModelStream
from agui_reasoning.crypto import KeyRing
from agui_reasoning.gateway import Upstream, create_app, local_server, provider_app
from agui_reasoning.parts import ToolResultPart

ASK = {"model": "claude-sonnet-4-6", "max_tokens": 4096, "stream": True}
ARGUMENTS = {"type": "object", "properties": {"place": {"type": "string"}, "hours": {"type": "integer"}}}
TOOLS = [{"name": "get_forecast", "description": "Hourly weather forecast", "input_schema": ARGUMENTS}]
ANSWERS = {"approved": {"type": "boolean"}, "editedArgs": ARGUMENTS, "reason": {"type": "string"}}
SCHEMA = {"type": "object", "properties": ANSWERS, "required": ["approved"]}


def result_of(call):
    """Run the tool if the user approved that. Whatever else came back approves nothing."""
    answer = call.resume.payload if call.resume and call.resume.status == "resolved" else None
    if not isinstance(answer, dict):
        return ToolResultPart(call.id, "", error="The user did not decide.")
    if answer.get("approved") is not True:
        return ToolResultPart(call.id, "", error=f"The user refused: {answer.get('reason') or 'no reason.'}")
    arguments = answer.get("editedArgs") or call.args  # run your tool here
    return ToolResultPart(call.id, f"{arguments['place']}: 9 °C, 4.2 mm of rain, gusts of 14 m/s.")


class Approving(Upstream):
    name, api, model, live = "approve", "anthropic-messages", ASK["model"], True

    def __init__(self, client):
        self.client = client

    async def agent(self, run):
        for call in run.open_calls:  # of the run that asked
            yield result_of(call)
        # The request is the conversation, with the reasoning it needs.
        yield ModelStream(lambda request: self.client.messages.create(**request.merged(ASK)), tools=TOOLS)
        for call in run.pending_calls:
            about = {"reason": "tool_call", "tool_call_id": call.id, "response_schema": SCHEMA}
            yield Interrupt(id=call.id, message=f"May the agent call {call.name}?", **about)

    async def aclose(self):
        await self.client.close()


if __name__ == "__main__":
    replay = provider_app("anthropic-weather")
    with nullcontext() if getenv("ANTHROPIC_API_KEY") else local_server(replay) as url:
        upstream = Approving(AsyncAnthropic(base_url=url, api_key=url and "none"))
        uvicorn.run(create_app(upstream, keys=KeyRing.generate()), port=int(getenv("PORT", "8000")))
