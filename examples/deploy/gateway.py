"""The gateway of a deployment; `uvicorn gateway:app` serves it. Replace `tenant` by your authentication."""

from os import environ

from starlette.exceptions import HTTPException
from starlette.requests import Request

from agui_reasoning.crypto import KeyRing
from agui_reasoning.gateway import HTTPUpstream, create_app

USERS = dict(pair.split(":", 1) for pair in environ.get("USERS", "").split() if ":" in pair)


def tenant(request: Request) -> str:
    """Return who calls, from a bearer token."""
    token = request.headers.get("authorization", "").removeprefix("Bearer ")
    if token not in USERS:
        raise HTTPException(401, "Send a bearer token.")
    return USERS[token]


upstream = HTTPUpstream(
    "anthropic-messages",
    base_url=environ.get("ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
    model="claude-sonnet-4-6",
    api_key=environ["ANTHROPIC_API_KEY"],
    parameters={"max_tokens": 8192},
)
app = create_app(
    upstream,
    keys=KeyRing.from_env(),
    tenant=tenant,
    client_instructions="drop",
    page=False,
    keep_alive_s=float(environ.get("KEEP_ALIVE_S", "15")),
    allowed_hosts=["agents.example.com"],
)
