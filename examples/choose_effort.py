"""A gateway whose users choose how much the model thinks, and how much of it they see.

Its page at http://127.0.0.1:8000 has a field for each. Without ANTHROPIC_API_KEY, it uses recorded responses.

    curl -N http://127.0.0.1:8000/agent -H "Content-Type: application/json" \
      -d '{"threadId": "t1", "runId": "r1", "state": {}, "tools": [], "context": [],
           "forwardedProps": {"reasoning": {"effort": "high", "display": "none"}},
           "messages": [{"id": "1", "role": "user", "content": "Umbrella or raincoat?"}]}'
"""

from os import getenv

import uvicorn

from agui_reasoning.crypto import KeyRing
from agui_reasoning.gateway import HTTPUpstream, ReplayUpstream, create_app


def upstream():
    if not (api_key := getenv("ANTHROPIC_API_KEY")):
        return ReplayUpstream("anthropic-weather")
    return HTTPUpstream(
        "anthropic-messages",
        base_url=getenv("ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
        model="claude-sonnet-4-6",
        api_key=api_key,
    )


app = create_app(
    upstream(),
    allow_reasoning_request=("low", "high"),  # "max" becomes "high", and "none" becomes "low"
    keys=KeyRing.from_env() if getenv("AGUI_REASONING_KEYS") else KeyRing.generate(),
)

if __name__ == "__main__":
    uvicorn.run(app, port=int(getenv("PORT", "8000")))
