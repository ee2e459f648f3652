"""A gateway in front of a model server whose wire format this package does not know; `acme.py` describes it.

With ACME_URL the gateway asks your server, without it the one below, which streams recorded lines and refuses
a thought without its seal.

    curl -N http://127.0.0.1:8000/agent -H "Content-Type: application/json" \
      -d '{"threadId": "t1", "runId": "r1", "state": {}, "tools": [], "context": [], "forwardedProps": {},
           "messages": [{"id": "1", "role": "user", "content": "Umbrella or raincoat?"}]}'
"""

import json
from contextlib import nullcontext
from os import getenv

import uvicorn
from acme import ACME, POLICY
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agui_reasoning.gateway import HTTPUpstream, create_app, local_server

LINES = [{"think": "Gusts decide it."}, {"seal": "U0lHTkVE"}, {"say": "Take the raincoat."}, {"end": "stop"}]


async def recorded(request: Request) -> Response:
    """Answer as the model server does."""
    dialog = (await request.json())["dialog"]
    thoughts = [thought for message in dialog for thought in message.get("thoughts", ())]
    if any(thought["seals"] != ["U0lHTkVE"] for thought in thoughts):
        return Response("A thought has lost its seal.", 400)
    return Response("".join(f"{json.dumps(line)}\n" for line in LINES), media_type="application/jsonl")


server = Starlette(routes=[Route("/dialog", recorded, methods=["POST"])])


def gateway(url: str) -> Starlette:
    return create_app(HTTPUpstream(ACME, base_url=url, model="acme-1"), policy=POLICY)


if __name__ == "__main__":
    with nullcontext(getenv("ACME_URL")) if getenv("ACME_URL") else local_server(server) as url:
        uvicorn.run(gateway(url), port=int(getenv("PORT", "8000")))
