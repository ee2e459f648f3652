"""Plays a script through a gateway and back, and checks the last request that reaches the provider.

Three local programs communicate over HTTP: a front end, the gateway, and a provider that plays the script and
records its requests. A provider whose API has no HTTP form is part of the gateway. `play` returns everything
that happened; `Screen` displays it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Final

import anyio
from ag_ui.core import Event

from agui_reasoning._strict_json import JSONObject
from agui_reasoning.consumer import Conversation
from agui_reasoning.errors import RunFailedError
from agui_reasoning.providers import provider_api
from agui_reasoning.replay import (
    TOOL,
    TOOL_RESULT,
    Check,
    Exchange,
    compare,
    read_answer,
    read_request,
    sequence,
)

# The gateway is imported on first use: the other commands work without the extra `server`.
if TYPE_CHECKING:
    from agui_reasoning.gateway import Upstream

_TIMEOUT_S: Final = 60.0
_NOT_PARAMETERS: Final = frozenset({"model", "stream", "tools"})


@dataclass(frozen=True, slots=True)
class Playback:
    """A conversation of two turns: a question, a tool call and an answer; then a second question.

    Attributes:
        name: The name of the script.
        api: Its API ID.
        provider: Its provider.
        model: Its model.
        inputs: The front end's input before each run: the user's message, or the tool result.
        runs: The events of each run, as delivered to the front end.
        requests: The requests that reached the provider, in order.
        checks: One check per value the provider sent before the last request.
        failure: The error message shown to the user if a run failed.
    """

    name: str
    api: str
    provider: str
    model: str
    inputs: tuple[tuple[str, str], ...]
    runs: tuple[tuple[Event, ...], ...]
    requests: tuple[JSONObject, ...]
    checks: tuple[Check, ...]
    failure: str | None = None

    @property
    def events(self) -> tuple[Event, ...]:
        """The events of all runs."""
        return tuple(chain.from_iterable(self.runs))

    @property
    def ok(self) -> bool:
        """Whether every run succeeded and every value came back unchanged."""
        return self.failure is None and all(check.unchanged for check in self.checks)


class DemoFrontEnd:
    """The package's own client on one thread: it stores messages and sends them back, whatever the provider.

    Attributes:
        conversation: The client's conversation.
        runs: The events of each run, as delivered.
    """

    def __init__(self, url: str, thread_id: str, tools: Sequence[Mapping[str, Any]] = ()) -> None:
        """Create the front end without sending anything.

        Args:
            url: The URL of the endpoint.
            thread_id: The thread ID.
            tools: The tools that run in the front end.
        """
        # Short, deterministic IDs are easier to follow.
        self.conversation = Conversation(thread_id, new_id=map("ui-{}".format, count(1)).__next__)
        self.runs: list[list[Event]] = []
        self._url = url
        self._tools = tools

    async def run(self, content: str | None = None) -> None:
        """Start a run with the conversation and an optional user message, and read it to the end.

        Raises:
            MissingExtraError: The extra ``client`` is not installed.
            RunFailedError: The run ended with RUN_ERROR.
            TransportError: The endpoint is unreachable or rejected the request.
        """
        from agui_reasoning.client import AgentClient

        events: list[Event] = []
        self.runs.append(events)
        async with AgentClient(self._url, timeout=_TIMEOUT_S) as client:
            async for event in client.run(self.conversation, content, tools=self._tools):
                events.append(event)  # noqa: PERF401, one by one because a run may fail midway


def play(name: str) -> Playback:
    """Play a script and its follow-ups with a local provider and gateway.

    Raises:
        MissingExtraError: The extra ``server`` or ``client`` is not installed.
    """
    exchanges = sequence(name)
    first, *_, last = exchanges
    inputs = (("you", first["question"]), ("result", TOOL_RESULT), ("you", last["question"]))
    requests: list[JSONObject] = []
    failure = None
    with _gateway(exchanges, requests.append) as url:
        front_end = DemoFrontEnd(url, f"demo-{name}", [TOOL])
        try:
            anyio.run(_converse, front_end, [words for _, words in inputs])
        except RunFailedError as error:
            failure = error.event.message
    return Playback(
        name=name,
        api=first["api"],
        provider=first["provider"],
        model=first["model"],
        inputs=inputs,
        runs=tuple(map(tuple, front_end.runs)),
        requests=tuple(requests),
        checks=tuple(checks(exchanges, requests)),
        failure=failure,
    )


@contextmanager
def _gateway(exchanges: Sequence[Exchange], on_request: Callable[[JSONObject], None]) -> Iterator[str]:
    from agui_reasoning.gateway import create_app, local_server

    # Short, deterministic IDs are easier to follow.
    new_id = map("id-{}".format, count(1)).__next__
    with (
        scripted_upstream(exchanges, on_request) as upstream,
        local_server(create_app(upstream, new_id=new_id)) as url,
    ):
        yield f"{url}/agent"


@contextmanager
def scripted_upstream(
    exchanges: Sequence[Exchange], on_request: Callable[[JSONObject], None]
) -> Iterator[Upstream]:
    """Start the provider, unless its API has no HTTP form."""
    from agui_reasoning.gateway import HTTPUpstream, ScriptedProvider, local_server, provider_app

    first = exchanges[0]
    api = provider_api(first["api"])
    excluded = _NOT_PARAMETERS | api.conversation_fields
    parameters = {field: value for field, value in first["request"].items() if field not in excluded}
    if api.http is None:
        yield ScriptedProvider(exchanges, parameters=parameters, on_request=on_request)
        return
    with local_server(provider_app(first["id"], on_request=on_request)) as url:
        yield HTTPUpstream(
            first["api"],
            base_url=url + api.http.base,
            provider=first["provider"],
            model=first["model"],
            api_key="demo",  # never credentials of this machine
            parameters=parameters,
        )


async def _converse(front_end: DemoFrontEnd, inputs: Sequence[str]) -> None:
    question, result, follow_up = inputs
    await front_end.run(question)
    for call in front_end.conversation.pending_calls:
        front_end.conversation.add_tool_result(call.id, result)
    await front_end.run()
    await front_end.run(follow_up)


# -- checks


def checks(exchanges: Sequence[Exchange], requests: Sequence[JSONObject]) -> Iterator[Check]:
    """Compare the last request with the responses before it."""
    if not requests:
        return
    answered = exchanges[: len(requests) - 1]
    given = chain.from_iterable(read_answer(exchange) for exchange in answered)
    yield from compare(given, read_request(exchanges[0]["api"], requests[-1]))
