"""LiteLLM asks the provider in a loop of ours, and the provider gets everything back."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from typing import Any

import anyio
import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it looks for prices on the network
vendor: Any = pytest.importorskip("litellm", reason="LiteLLM has its own environment")

from agui_reasoning import Run, reduce_events  # noqa: E402
from agui_reasoning.aio import run_agent  # noqa: E402
from agui_reasoning.crypto import KeyRing  # noqa: E402
from agui_reasoning.interop import litellm  # noqa: E402
from agui_reasoning.parts import ToolResultPart  # noqa: E402
from tests.frameworks import pages  # noqa: E402
from tests.frameworks.litellm_proxy import asked_through, proxy  # noqa: E402
from tests.frameworks.threads import FORECAST, Agent, Thread, played, replayed  # noqa: E402

CLAUDE, DEEPSEEK, GPT = "anthropic-weather", "chat-weather", "openai-weather"
MODELS = {
    CLAUDE: ("anthropic/claude-sonnet-4-6", ""),
    DEEPSEEK: ("deepseek/deepseek-v4-flash", "/v1"),
    GPT: ("openai/responses/gpt-5.6-sol", "/v1"),
}
"""The model by LiteLLM's name, and what follows the URL of the provider."""

PROPERTIES = {"place": {"type": "string"}, "hours": {"type": "integer"}}
FUNCTION = {"name": "get_forecast", "parameters": {"type": "object", "properties": PROPERTIES}}
TOOLS = [{"type": "function", "function": FUNCTION}]


def asking(script: str, url: str) -> dict[str, Any]:
    model, path = MODELS[script]
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 1024}} if script == CLAUDE else {}
    return {"model": model, "api_base": f"{url}{path}", "api_key": "none", "max_retries": 0, **thinking}


async def loop(run: Run, ask: Any, result: Any = FORECAST) -> AsyncIterator[Any]:
    """Asks until no call is left."""
    while True:
        yield litellm.stream(ask(messages=litellm.messages(run), tools=TOOLS, stream=True))
        if not run.pending_calls:
            return
        for call in run.pending_calls:
            yield ToolResultPart(call.id, result)


def direct(script: str, url: str) -> Agent:
    async def agent(run: Run) -> AsyncIterator[Any]:
        def ask(**asked: Any) -> Any:
            return vendor.acompletion(**asking(script, url), **asked)

        async for item in loop(run, ask):
            yield item

    return agent


def routed(script: str, url: str) -> Agent:
    router = vendor.Router([{"model_name": "weather", "litellm_params": asking(script, url)}], num_retries=0)

    async def agent(run: Run) -> AsyncIterator[Any]:
        def ask(**asked: Any) -> Any:
            return router.acompletion(model="weather", **asked)

        async for item in loop(run, ask):
            yield item

    return agent


def options(script: str, **more: Any) -> dict[str, Any]:
    model = MODELS[script][0]
    return {"api": "litellm", "provider": model.partition("/")[0], "model": model, **more}


@pytest.mark.parametrize("way", [direct, routed])
@pytest.mark.parametrize(("script", "counts"), [(CLAUDE, [0, 4, 6]), (DEEPSEEK, [0, 2, 3])])
def test_the_provider_gets_everything_back(script: str, counts: list[int], way: Any) -> None:
    thread = played(script, lambda url: way(script, url), **options(script))
    assert [len(thread.values(number)) for number in (1, 2, 3)] == counts
    assert (thread.missing(2), thread.missing(3), thread.findings) == ([], [], [])


@pytest.mark.parametrize("visibility", ["full", "hidden"])
def test_it_gets_everything_back_from_sealed_values(visibility: str) -> None:
    sealed = options(CLAUDE, keys=KeyRing.generate(), visibility=visibility)
    thread = played(CLAUDE, lambda url: direct(CLAUDE, url), **sealed)
    assert (thread.missing(2), thread.missing(3), thread.findings) == ([], [], [])


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
MAP = {"type": "image", "source": {"type": "data", "value": PNG, "mimeType": "image/png"}}
REPORT = {
    "type": "document",
    "source": {"type": "data", "value": "JVBERi0xLjQK", "mimeType": "application/pdf"},
}
SEEN = [{"type": "text", "text": "A map."}, MAP]
AWS = {"aws_access_key_id": "none", "aws_secret_access_key": "none", "aws_region_name": "eu-north-1"}
BEDROCK = "bedrock/converse/us.anthropic.claude-sonnet-4-6"
OF_ANTHROPIC = [
    {"type": "text", "text": "A map."},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
    {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQK"},
    },
]
OF_RESPONSES = [
    {"type": "input_text", "text": "A map."},
    {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"},
]
OF_BEDROCK = [{"text": "A map."}, {"image": {"format": "png", "source": {"bytes": PNG}}}]


def found_in(body: Any, member: str) -> list[Any]:
    """All values of a member, however deep."""
    inner = body.values() if isinstance(body, dict) else body if isinstance(body, list) else ()
    own = [body[member]] if isinstance(body, dict) and member in body else []
    return own + [value for one in inner for value in found_in(one, member)]


@pytest.mark.parametrize(
    ("script", "asked", "content", "written"),
    [
        (CLAUDE, None, [*SEEN, REPORT], OF_ANTHROPIC),
        (GPT, None, SEEN, OF_RESPONSES),
        ("bedrock-weather", {"model": BEDROCK, **AWS}, SEEN, OF_BEDROCK),
        (DEEPSEEK, None, SEEN, "A map.\n(Not sent in a tool result: image/png, 70 bytes.)"),
    ],
)
def test_media_in_a_result_reach_the_providers_that_take_them(
    script: str, asked: dict[str, Any] | None, content: list[Any], written: Any
) -> None:
    model = asked["model"] if asked else MODELS[script][0]
    named = {"api": "litellm", "provider": model.partition("/")[0], "model": model}

    async def run_at(url: str) -> None:
        place = {"aws_bedrock_runtime_endpoint": url, **asked} if asked else asking(script, url)

        async def agent(run: Run) -> AsyncIterator[Any]:
            def ask(**more: Any) -> Any:
                return vendor.acompletion(**place, **more)

            async for item in loop(run, ask, content):
                yield item

        run_input = thread.conversation.run_input("Do I need an umbrella?")
        _ = [event async for event in run_agent(run_input, agent, **named)]

    with replayed(script) as (url, thread):
        anyio.run(run_at, url)
    body = thread.requests[1]
    assert written in [*found_in(body, "content"), *found_in(body, "output")]


def test_results_stand_between_the_responses() -> None:
    thread = played(DEEPSEEK, lambda url: direct(DEEPSEEK, url), **options(DEEPSEEK))
    roles = [message.role for message in reduce_events(thread.runs[0])]
    assert roles == ["reasoning", "assistant", "tool", "reasoning", "assistant"]


def test_a_reader_that_leaves_stops_the_loop() -> None:
    async def leave(url: str) -> None:
        run_input = thread.conversation.run_input("Do I need an umbrella?")
        events = run_agent(run_input, direct(CLAUDE, url), **options(CLAUDE))
        async for event in events:
            if event.type == "REASONING_MESSAGE_CONTENT":
                break
        await events.aclose()
        await anyio.sleep(0.2)  # a loop that went on would ask again

    with replayed(CLAUDE) as (url, thread):
        anyio.run(leave, url)
    assert len(thread.requests) == 1


Proxied = tuple[str, dict[str, Thread]]


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    """The proxy with a model for each script: its URL, and what the providers behind it are asked."""
    with ExitStack() as stack:
        providers = {script: stack.enter_context(replayed(script)) for script in MODELS}
        models = {
            name: {"model": name, "api_base": f"{providers[script][0]}{path}", "api_key": "none"}
            for script, (name, path) in MODELS.items()
        }
        url = stack.enter_context(proxy(models, tmp_path_factory.mktemp("litellm")))
        yield url, {script: thread for script, (_, thread) in providers.items()}


CHAT, MESSAGES, RESPONSES = "openai-chat", "anthropic-messages", "openai-responses"


def through(proxied: Proxied, api: str, script: str, **options: Any) -> Thread:
    url, threads = proxied
    thread = threads[script]
    thread.requests.clear()
    asked_through(url, api, MODELS[script][0], thread, **options)
    assert (len(thread.requests), thread.findings) == (3, [])
    return thread


@pytest.mark.parametrize("options", [{}, {"keys": True, "visibility": "hidden"}], ids=str)
@pytest.mark.parametrize(
    ("api", "script", "counts"),
    [
        (CHAT, CLAUDE, [4, 6]),
        (CHAT, DEEPSEEK, [2, 3]),
        (MESSAGES, CLAUDE, [4, 6]),
        (RESPONSES, CLAUDE, [4, 6]),
        (RESPONSES, DEEPSEEK, [2, 3]),
        (RESPONSES, GPT, [6, 10]),
    ],
)
def test_the_proxy_sends_everything_back(
    proxied: Proxied, api: str, script: str, counts: list[int], options: dict[str, Any]
) -> None:
    keys = KeyRing.generate() if options.get("keys") else None
    thread = through(proxied, api, script, **{**options, "keys": keys})
    assert [len(thread.values(number)) for number in (2, 3)] == counts
    assert (thread.missing(2), thread.missing(3)) == ([], [])


@pytest.mark.filterwarnings("ignore::agui_reasoning.ReasoningLostWarning")
@pytest.mark.parametrize(
    ("api", "kept"),
    [
        (CHAT, {"call id"}),
        (MESSAGES, {"call id", "encrypted content"}),
    ],
)
def test_what_the_proxy_keeps_of_gpt_in_other_apis(proxied: Proxied, api: str, kept: set[str]) -> None:
    thread = through(proxied, api, GPT)
    assert {check.kind for check in thread.values(3) if check.unchanged} == kept


def test_the_example_serves_without_a_key() -> None:
    pages.check_example("litellm")


def test_the_example_for_any_model_serves_without_a_key() -> None:
    pages.check_example("litellm", file=pages.ROOT / "examples" / "litellm_any.py")
