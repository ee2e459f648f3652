"""The servers that vendors' SDKs talk to, and their clients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.support.replay_server import ReplayServer, replaying
from tests.support.vendor_sdks import VendorSDK


class Vendors:
    """The servers and synchronous clients of a module, made on first use: some take seconds to make."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._servers: dict[str, ReplayServer] = {}
        self._clients: dict[Any, Any] = {}

    def server(self, api: str) -> ReplayServer:
        if api not in self._servers:
            self._servers[api] = self._stack.enter_context(replaying(api))
        return self._servers[api]

    def client(self, sdk: VendorSDK) -> Any:
        key = sdk.api, sdk.client
        if key not in self._clients:
            made = sdk.client(self.server(sdk.api).url)
            self._clients[key] = self._stack.enter_context(made)
        return self._clients[key]


@pytest.fixture(scope="module")
def vendors() -> Iterator[Vendors]:
    with ExitStack() as stack:
        yield Vendors(stack)
