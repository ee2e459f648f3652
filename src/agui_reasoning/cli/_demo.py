"""``demo``: the full round trip from provider stream to front end to next request, offline.

Three local programs communicate over HTTP: a front end, the gateway, and a provider that plays a script and
records its requests. A provider whose API has no HTTP form is part of the gateway. `play` returns everything
that happened, with a check per value that has to come back; `Screen` displays it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import chain, count
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import anyio
import typer
from ag_ui.core import Event

from agui_reasoning._strict_json import JSONObject
from agui_reasoning.cli._app import complete_api
from agui_reasoning.cli._console import new_console
from agui_reasoning.cli._output import put, put_json, warn
from agui_reasoning.cli._screen import Screen
from agui_reasoning.consumer import Conversation
from agui_reasoning.crypto import KeyRing
from agui_reasoning.errors import ConfigurationError, RunFailedError
from agui_reasoning.providers import provider_api
from agui_reasoning.replay import (
    CONVERSATIONS,
    TOOL,
    TOOL_RESULT,
    Check,
    Exchange,
    compare,
    load_script,
    read_answer,
    read_request,
    sequence,
)
from agui_reasoning.run import ApplicationOptions

# The gateway is imported on first use: the help works without the extra `server`.
if TYPE_CHECKING:
    from starlette.applications import Starlette

    from agui_reasoning.gateway import Upstream


_TIMEOUT_S: Final = 60.0
_NOT_PARAMETERS: Final = frozenset({"model", "stream", "tools"})


@dataclass(frozen=True, slots=True)
class Playback:
    """A conversation of two turns: a question, a tool call and an answer; then a second question.

    Attributes:
        name: The name of the script, which names the API, provider and model.
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
        return tuple(chain.from_iterable(self.runs))

    @property
    def ok(self) -> bool:
        """Whether every run succeeded and every value came back unchanged."""
        return self.failure is None and all(check.unchanged for check in self.checks)


class DemoFrontEnd:
    """The package's own client on one thread: it stores messages and sends them back, whatever the provider.

    ``runs`` has the events of each run, as delivered.
    """

    def __init__(self, url: str, thread_id: str, tools: Sequence[Mapping[str, Any]] = ()) -> None:
        """Create the front end of an endpoint, with the tools that run in it, without sending anything."""
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
    from agui_reasoning.gateway import create_app, local_server

    exchanges = sequence(name)
    first, *_, last = exchanges
    inputs = (("you", first["question"]), ("result", TOOL_RESULT), ("you", last["question"]))
    requests: list[JSONObject] = []
    failure = None
    # Short, deterministic IDs are easier to follow.
    new_id = map("id-{}".format, count(1)).__next__
    with (
        scripted_upstream(exchanges, requests.append) as upstream,
        local_server(create_app(upstream, new_id=new_id)) as url,
    ):
        front_end = DemoFrontEnd(f"{url}/agent", f"demo-{name}", [TOOL])
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


def checks(exchanges: Sequence[Exchange], requests: Sequence[JSONObject]) -> Iterator[Check]:
    """Compare the last request with the responses before it."""
    if not requests:
        return
    answered = exchanges[: len(requests) - 1]
    given = chain.from_iterable(read_answer(exchange) for exchange in answered)
    yield from compare(given, read_request(exchanges[0]["api"], requests[-1]))


_DEFAULT_APIS = ("anthropic-messages", "openai-responses", "openai-chat", "gemini")
"""The APIs whose conversations are shown by default."""

_PAUSE_S = 0.04
"""The delay after each streamed piece on a terminal."""


def demo(
    api: Annotated[
        str | None, typer.Option(autocompletion=complete_api, help="Play the conversation of this API only.")
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print one JSON object with the checks and the last requests in full."),
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", help="Show every conversation, the events of one, and the last requests in full."
        ),
    ] = False,
    web: Annotated[
        bool, typer.Option("--web", help="Serve the conversations to a browser instead. Stops on Ctrl-C.")
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="The port for --web; 0, the default, picks a free one."),
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="With --web, open the page in the default browser.")
    ] = False,
) -> None:
    """Play two turns through the gateway, and show what the user sees and what the provider receives back.

    The provider is scripted: no API key or network is needed.
    """
    if web:
        return _serve(api, port or 0, as_json, open_page)
    for option, given in (("--port", port is not None), ("--open", open_page)):
        if given:
            raise ConfigurationError(
                f"{option} is for --web only.", code="wrong_option", hint=f"Add --web, or omit {option}."
            )
    playbacks = map(play, _chosen(api))
    played = list(playbacks) if as_json else _show(playbacks, verbose)
    if as_json:
        put_json(_report(played))
    if not all(playback.ok for playback in played):
        raise typer.Exit(1)
    return None


def _serve(api: str | None, port: int, as_json: bool, open_page: bool) -> None:
    """Serve the pages of all APIs, starting with one."""
    from agui_reasoning.gateway import listen, serve, url_of

    if as_json:
        raise ConfigurationError(
            "--web and --json exclude each other.", code="wrong_option", hint="Use one of them."
        )
    app = web_app(*_chosen(api)[:1])
    listening = listen(port=port)
    serve(app, listening, on_ready=lambda: _announce(f"{url_of(listening)}/", open_page))


def _announce(url: str, open_page: bool) -> None:
    put(f"agui-reasoning demo at {url}")
    put("Ctrl-C stops it.")
    if open_page:  # in a thread: a browser of the terminal runs until it is left
        Thread(target=_open, args=[url], daemon=True).start()


def _open(url: str) -> None:
    import webbrowser

    if not webbrowser.open(url):
        warn("No browser can be opened from here. Open the address by hand.")


def _chosen(api: str | None) -> list[str]:
    """Return the scripts of one API, or those shown by default."""
    if api is not None:
        return [script] if (script := CONVERSATIONS.get(provider_api(api).id)) else []
    return [CONVERSATIONS[known] for known in _DEFAULT_APIS]


def _show(playbacks: Iterable[Playback], verbose: bool) -> list[Playback]:
    """Show each conversation as soon as it has been played: in full, or what a screen holds."""
    screen = Screen(new_console(), lambda: time.sleep(_PAUSE_S))
    played: list[Playback] = []
    for playback in playbacks:
        if not played:
            screen.intro()
        # The events of every API are alike, and so are the conversations: one is enough.
        if verbose:
            screen.play(playback, list_events=not played)
        else:
            screen.glance(playback, first=not played)
        played.append(playback)
    screen.outro(played, verbose=verbose)
    return played


def _report(playbacks: Sequence[Playback]) -> dict[str, Any]:
    return {
        "ok": all(playback.ok for playback in playbacks),
        "scripts": [
            {
                "name": playback.name,
                "api": playback.api,
                "provider": playback.provider,
                "model": playback.model,
                "runs": len(playback.runs),
                "events": len(playback.events),
                "failure": playback.failure,
                "checks": [asdict(check) for check in playback.checks],
                "request": playback.requests[-1] if playback.requests else None,
            }
            for playback in playbacks
        ],
    }


_DELAY_S: Final = 0.08
"""The delay before each payload: about the pace of a model."""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A gateway of the demo.

    Attributes:
        name: Its name, which is its path.
        group: What it shows that others do not.
    """

    name: str
    label: str
    script: str
    group: str
    options: ApplicationOptions = field(default_factory=ApplicationOptions)


_SIGNED: Final = "Reasoning signed or encrypted"
_AS_TEXT: Final = "Reasoning as plain text"
_NOT_SHOWN: Final = "Reasoning not shown in full"
_TEXT_APIS: Final = frozenset({"cohere-chat", "mistral-chat", "ollama", "openai-chat"})


def exhibits() -> list[Exhibit]:
    """Return the gateways: one for each API with a script, and two that do not show all reasoning."""
    shown = [Exhibit(script, _title(script), script, _group(script)) for script in CONVERSATIONS.values()]
    return [
        *sorted(shown, key=lambda exhibit: exhibit.group == _AS_TEXT),
        _hiding("anthropic-weather", "hidden", "hidden reasoning"),
        _hiding("openai-weather", "summary", "summaries only"),
    ]


def web_app(start: str, *, delay_s: float = _DELAY_S) -> Starlette:
    """Create the application; the page of the gateway named ``start`` opens at ``/``.

    Raises:
        MissingExtraError: The extra ``server`` is not installed.
    """
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import RedirectResponse
    from starlette.routing import BaseRoute, Mount, Route

    from agui_reasoning.gateway import ReplayUpstream, create_app

    async def open_start(request: Request) -> RedirectResponse:
        return RedirectResponse(f"{start}/")

    shown = exhibits()
    links: dict[str, dict[str, str]] = {}
    for exhibit in shown:
        links.setdefault(exhibit.group, {})[exhibit.label] = f"../{exhibit.name}/"
    routes: list[BaseRoute] = [Route("/", open_start)]
    for exhibit in shown:
        upstream = ReplayUpstream(exhibit.script, delay_s=delay_s)
        routes.append(Mount(f"/{exhibit.name}", create_app(upstream, page_links=links, **exhibit.options)))
    return Starlette(routes=routes)


def _group(script: str) -> str:
    return _AS_TEXT if load_script(script)["api"] in _TEXT_APIS else _SIGNED


def _title(script: str) -> str:
    return provider_api(load_script(script)["api"]).title


def _hiding(script: str, visibility: Literal["summary", "hidden"], label: str) -> Exhibit:
    options = ApplicationOptions(visibility=visibility, keys=KeyRing.generate())
    return Exhibit(f"{script}-{visibility}", f"{_title(script)}: {label}", script, _NOT_SHOWN, options)
