"""An agent whose tool runs on the server: it asks its model twice in a run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agui_reasoning import Run
from agui_reasoning.aio import ModelStream, run_agent
from agui_reasoning.asgi import AGUIResponse
from agui_reasoning.emitter.stages import Stage
from agui_reasoning.gateway import local_server
from agui_reasoning.parts import ToolResultPart
from agui_reasoning.replay import load_script, payloads

__all__ = ["agent_with_a_tool"]

RESULT = "9 °C, 4.2 mm of rain, gusts of 14 m/s"


@contextmanager
def agent_with_a_tool(
    scripts: Sequence[str], stages: Sequence[Stage] = (), **options: Any
) -> Iterator[tuple[str, list[Any]]]:
    """Serve the agent; its URL, and the bodies of its requests to the model.

    Args:
        scripts: The response that calls the tool, and the one after its result.
        stages: Those that users of the front end must add.
        options: More options of the runs.
    """
    requests: list[Any] = []
    first = load_script(scripts[0])
    target = {name: first[name] for name in ("api", "provider", "model")}

    def ask(run: Run, name: str) -> ModelStream:
        requests.append(run.request().body)
        return ModelStream(list(payloads(load_script(name))))

    async def agent(run: Run) -> AsyncIterator[Any]:
        yield ask(run, scripts[0])
        for call in run.pending_calls:
            yield ToolResultPart(call.id, RESULT)
        yield ask(run, scripts[1])

    async def answer(request: Request) -> Response:
        run = Run(await request.json(), stages=stages, **target, **options)
        return AGUIResponse(run_agent(run, agent))

    cors = Middleware(CORSMiddleware, allow_origins=["*"], allow_methods=["POST"], allow_headers=["*"])
    with local_server(Starlette(routes=[Route("/", answer, methods=["POST"])], middleware=[cors])) as url:
        yield f"{url}/", requests
