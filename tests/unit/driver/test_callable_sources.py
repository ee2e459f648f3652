"""Test which callables a `ModelStream` calls, and with what."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agui_reasoning import ConfigurationError, ModelStream, ProviderRequest, Run, aio, run_agent
from tests.support.verifier import plain
from tests.unit.driver.test_aio import API, INPUT, PAYLOADS

pytestmark = pytest.mark.anyio

Json = dict[str, Any]


def last_sync(source: Any, seen: list[Exception]) -> Json:
    def agent(run: Run) -> Any:
        yield ModelStream(source, api=API, provider="anthropic", model="claude")

    return plain(run_agent(INPUT, agent, on_error=seen.append))[-1]


async def last(source: Any, seen: list[Exception]) -> Json:
    async def agent(run: Run) -> AsyncIterator[Any]:
        yield ModelStream(source, api=API, provider="anthropic", model="claude")

    return plain([event async for event in aio.run_agent(INPUT, agent, on_error=seen.append)])[-1]


def injected(function: Callable[..., Any]) -> Callable[[], Any]:
    """A decorator that passes all arguments itself."""

    @functools.wraps(function)
    def call() -> Any:
        return function("client", "model")

    return call


def called(made: list[tuple[Any, ...]]) -> dict[str, Callable[..., Any]]:
    """Callables, by what they are called with."""

    def optional(request: Any = None) -> Any:
        made.append(() if request is None else (request,))
        return PAYLOADS

    def variadic(*args: Any, **options: Any) -> Any:
        made.append(args)
        return PAYLOADS

    def one(request: Any, *more: Any, retries: int = 2) -> Any:
        made.append((request, *more))
        return PAYLOADS

    @injected
    def two(client: Any, model: Any) -> Any:
        made.append(())
        return PAYLOADS

    return {"optional": optional, "variadic": variadic, "one": one, "injected": two}


@pytest.mark.parametrize("name", ["optional", "variadic", "one", "injected"])
async def test_a_callable_gets_the_request_only_if_that_is_its_one_required_argument(name: str) -> None:
    made: list[tuple[Any, ...]] = []
    source, seen = called(made)[name], list[Exception]()
    ends = [last_sync(source, seen), await last(source, seen)]
    assert [end["type"] for end in ends] == ["RUN_FINISHED"] * 2, seen
    kinds = [[type(argument) for argument in arguments] for arguments in made]
    assert kinds == [[ProviderRequest] if name == "one" else []] * 2


def two(client: Any, request: Any) -> Any:
    return PAYLOADS


def keyword(*, client: Any) -> Any:
    return PAYLOADS


def both(request: Any, *, client: Any) -> Any:
    return PAYLOADS


async def coroutine(client: Any, request: Any) -> Any:
    return PAYLOADS


@pytest.mark.parametrize("source", [two, keyword, both, coroutine])
async def test_a_callable_that_requires_other_arguments_is_told_the_rule(source: Any) -> None:
    seen: list[Exception] = []
    ends = [last_sync(source, seen), await last(source, seen)]
    assert [(end["type"], end["code"]) for end in ends] == [("RUN_ERROR", "bad_source")] * 2
    for error in seen:
        assert isinstance(error, ConfigurationError)
        assert "client" in str(error)
        assert "only required positional argument" in str(error)
        assert "functools.partial" in str(error.hint)
    assert len(seen) == 2
