"""A gateway in front of a server without a reasoning parser, whose model has a name that says nothing.

    vllm serve deepseek-ai/DeepSeek-R1-Distill-Qwen-7B --served-model-name prod

Its prompt template ends with the opening tag, so an answer begins inside reasoning. With VLLM_URL, such as
http://localhost:8001/v1, the gateway asks your server, without it the one below: it streams recorded chunks.

    curl -N http://127.0.0.1:8000/agent -H "Content-Type: application/json" \
      -d '{"threadId": "t1", "runId": "r1", "state": {}, "tools": [], "context": [], "forwardedProps": {},
           "messages": [{"id": "1", "role": "user", "content": "Two and two?"}]}'
"""

import json
from contextlib import nullcontext
from os import getenv

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agui_reasoning.gateway import HTTPUpstream, create_app, local_server

PIECES = ["Two and two", " are four.\n</th", "ink>\n\n", "Four."]


async def recorded(request: Request) -> Response:
    """Answer as the server does."""
    deltas = [({"content": piece}, None) for piece in PIECES] + [({}, "stop")]
    choices = [{"index": 0, "delta": delta, "finish_reason": reason} for delta, reason in deltas]
    chunks = [json.dumps({"model": "prod", "choices": [choice]}) for choice in choices]
    frames = [f"data: {chunk}\n\n" for chunk in [*chunks, "[DONE]"]]
    return Response("".join(frames), media_type="text/event-stream")


server = Starlette(routes=[Route("/chat/completions", recorded, methods=["POST"])])


def gateway(url: str) -> Starlette:
    upstream = HTTPUpstream("openai-chat", base_url=url, provider="vllm", model="prod")
    # Models with marks of their own take tags={"[THINK]": "[/THINK]"} as well.
    return create_app(upstream, starts_in_reasoning=True)


if __name__ == "__main__":
    with nullcontext(getenv("VLLM_URL")) if getenv("VLLM_URL") else local_server(server) as url:
        uvicorn.run(gateway(url), port=int(getenv("PORT", "8000")))
