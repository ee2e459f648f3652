"""Plays a script through a gateway and back, and checks the last request that reaches the provider.

Three local programs communicate over HTTP: a front end, the gateway, and a provider that plays the script and
records its requests. A provider whose API has no HTTP form is part of the gateway. `play` returns everything
that happened; `screen` displays it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, count
from typing import TYPE_CHECKING, Final

import anyio
from ag_ui.core import Event

from agui_reasoning._demo.front_end import FrontEnd
from agui_reasoning._scripted._artifacts import Check, compare
from agui_reasoning._scripted._exchange import Exchange
from agui_reasoning._scripted._sequence import sequence
from agui_reasoning._scripted._tool import TOOL, TOOL_RESULT
from agui_reasoning._scripted._transcript import read_answer, read_request
from agui_reasoning._strict_json import JSONObject
from agui_reasoning.errors import RunFailedError
from agui_reasoning.providers import provider_api

# The gateway is imported on first use: the other commands work without the extra `server`.
if TYPE_CHECKING:
    from agui_reasoning.gateway import Upstream

__all__ = ["Check", "Playback", "compare", "play"]

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
        checks: One check per artifact the provider sent before the last request.
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
        """Whether every run succeeded and every artifact came back unchanged."""
        return self.failure is None and all(check.unchanged for check in self.checks)


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
        front_end = FrontEnd(url, f"demo-{name}", [TOOL])
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
        checks=tuple(_checks(exchanges, requests)),
        failure=failure,
    )


@contextmanager
def _gateway(exchanges: Sequence[Exchange], on_request: Callable[[JSONObject], None]) -> Iterator[str]:
    from agui_reasoning.gateway import create_app, local_server

    # Short, deterministic IDs are easier to follow.
    new_id = map("id-{}".format, count(1)).__next__
    with (
        _upstream(exchanges, on_request) as upstream,
        local_server(create_app(upstream, new_id=new_id)) as url,
    ):
        yield f"{url}/agent"


@contextmanager
def _upstream(exchanges: Sequence[Exchange], on_request: Callable[[JSONObject], None]) -> Iterator[Upstream]:
    """Start the provider, unless its API has no HTTP form."""
    from agui_reasoning._demo.provider import ScriptedProvider
    from agui_reasoning.gateway import HTTPUpstream, local_server, provider_app

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


async def _converse(front_end: FrontEnd, inputs: Sequence[str]) -> None:
    question, result, follow_up = inputs
    await front_end.run(question)
    for call in front_end.conversation.pending_calls:
        front_end.conversation.add_tool_result(call.id, result)
    await front_end.run()
    await front_end.run(follow_up)


# -- checks


def _checks(exchanges: Sequence[Exchange], requests: Sequence[JSONObject]) -> Iterator[Check]:
    """Compare the last request with the responses before it."""
    if not requests:
        return
    answered = exchanges[: len(requests) - 1]
    given = chain.from_iterable(read_answer(exchange) for exchange in answered)
    yield from compare(given, read_request(exchanges[0]["api"], requests[-1]))
