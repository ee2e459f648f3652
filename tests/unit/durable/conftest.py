"""Both stores, and what runs in them."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from agui_reasoning.durable import RunStore
from tests.support.redis import SERVER, redis_server
from tests.unit.durable.stores import open_store


@pytest.fixture
def anyio_backend() -> str:
    """Redis is reached under asyncio alone."""
    return "asyncio"


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """The address of a Redis that runs for the whole session."""
    if shutil.which(SERVER) is None:
        pytest.skip("no Redis here: run `make test` as root on Debian, or install redis-server")
    with redis_server() as (url, _):
        yield url


@pytest.fixture(params=["sqlite", "redis"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store that is empty."""
    if request.param == "sqlite":
        return f"sqlite:{tmp_path / 'runs.db'}"
    url: str = request.getfixturevalue("redis_url")
    return f"{url}#{tmp_path.name}"


@pytest.fixture
async def opened(address: str) -> AsyncIterator[Callable[[], RunStore]]:
    """Opens the store once more; all are closed in the end."""
    stores: list[RunStore] = []

    def another() -> RunStore:
        stores.append(open_store(address))
        return stores[-1]

    yield another
    for one in stores:
        await one.aclose()


@pytest.fixture
async def store(opened: Callable[[], RunStore]) -> RunStore:
    """A store that is empty."""
    return opened()
