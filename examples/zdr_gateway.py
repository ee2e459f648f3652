"""A gateway that stores nothing: reasoning reaches browsers encrypted, for their tenant only.

Without ANTHROPIC_API_KEY, it uses recorded responses. Without AGUI_REASONING_KEYS, it generates a key, which
ends with the process.

    curl -N http://127.0.0.1:8000/agent -H "Authorization: Bearer alice-token" \
      -H "Content-Type: application/json" \
      -d '{"threadId": "t1", "runId": "r1", "state": {}, "tools": [], "context": [], "forwardedProps": {},
           "messages": [{"id": "1", "role": "user", "content": "Umbrella or raincoat?"}]}'
"""

from os import getenv

import uvicorn

from agui_reasoning.crypto import KeyRing
from agui_reasoning.gateway import HTTPUpstream, ReplayUpstream, create_app

TENANTS = {"alice-token": "acme", "bob-token": "globex"}  # ask your authentication instead


def tenant(request):
    return TENANTS.get(request.headers.get("authorization", "").removeprefix("Bearer "))  # None: 401


def upstream():
    if not (api_key := getenv("ANTHROPIC_API_KEY")):
        return ReplayUpstream("anthropic-weather")
    return HTTPUpstream(
        "anthropic-messages",
        base_url=getenv("ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
        model="claude-sonnet-4-6",
        api_key=api_key,
        parameters={"max_tokens": 4096},
    )


app = create_app(
    upstream(),
    keys=KeyRing.from_env() if getenv("AGUI_REASONING_KEYS") else KeyRing.generate(),
    visibility="hidden",  # "summary" and "full" are encrypted, too
    ttl_s=30 * 24 * 3600,  # a thread that is older continues without its reasoning
    tenant=tenant,
)

if __name__ == "__main__":
    uvicorn.run(app, port=int(getenv("PORT", "8000")))
