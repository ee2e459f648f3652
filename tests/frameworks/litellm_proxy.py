"""LiteLLM's proxy on this machine, and the gateway of this package in front of it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import anyio
from ag_ui.core import Event

from agui_reasoning import Conversation
from agui_reasoning.client import AgentClient
from agui_reasoning.gateway import HTTPUpstream, create_app, local_server
from agui_reasoning.replay import TOOL
from tests.frameworks.processes import serving
from tests.frameworks.threads import FORECAST, QUESTIONS, Thread

__all__ = ["asked_through", "proxy"]

_KEY = "sk-local"


def proxy(models: Mapping[str, Mapping[str, str]], folder: Path) -> AbstractContextManager[str]:
    """Run the proxy, and return its URL.

    Args:
        models: The parameters of each model for LiteLLM, by the name that clients use.
        folder: Where its configuration is written.
    """
    listed = [{"model_name": name, "litellm_params": dict(chosen)} for name, chosen in models.items()]
    config = folder / "config.yaml"
    config.write_text(json.dumps({"model_list": listed}), encoding="utf-8")  # JSON is YAML
    program = Path(sys.executable).with_name("litellm")
    command = [program, "--config", config, "--host", "127.0.0.1", "--port", "0"]
    return serving(command, os.environ | {"LITELLM_MASTER_KEY": _KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True"})


def asked_through(url: str, api: str, model: str, thread: Thread, **options: Any) -> None:
    """Ask both questions through a gateway and the proxy; the front end runs the tool.

    Args:
        url: The URL of the proxy.
        api: The API between the gateway and the proxy.
        model: The model by its name in the proxy.
        thread: Receives the runs.
        **options: Those of `create_app`.
    """
    base = url if api == "anthropic-messages" else f"{url}/v1"
    upstream = HTTPUpstream(api, base_url=base, provider="litellm", model=model, api_key=_KEY)
    with local_server(create_app(upstream, **options)) as gateway:
        thread.runs = anyio.run(_converse, f"{gateway}/agent")


async def _converse(url: str) -> list[list[Event]]:
    conversation = Conversation("thread-1")
    runs: list[list[Event]] = []
    async with AgentClient(url, timeout=60) as client:

        async def ask(content: str | None = None) -> None:
            runs.append([event async for event in client.run(conversation, content, tools=[TOOL])])

        first, second = QUESTIONS
        await ask(first)
        for call in conversation.pending_calls:
            conversation.add_tool_result(call.id, FORECAST)
        await ask()
        await ask(second)
    return runs
