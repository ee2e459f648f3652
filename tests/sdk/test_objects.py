"""What a vendor's SDK gives, streamed and whole, goes in as it comes and means what its wire JSON means.

Every SDK talks to a server on this machine that plays scripts of the package, and recordings.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import anyio
import pytest

from agui_reasoning.deltas import Delta
from agui_reasoning.errors import DecodeError, ProviderError
from agui_reasoning.providers import decoder
from tests.internals.sources import WholeResponse, open_source, open_source_sync
from tests.sdk.conftest import Vendors
from tests.support.effort import thinned
from tests.support.full_reading import reading
from tests.support.vendor_sdks import SDKS, THEIR_WARNINGS, VendorSDK, exchanges, greeting, sdk_of

Json = dict[str, Any]

pytestmark = THEIR_WARNINGS


EXCHANGES = thinned(exchanges(), 2)
ASYNC = thinned([one for one in EXCHANGES if SDKS[one.values[0]].async_client], 2)


class Decoded:
    """The deltas of what was fed, and whether it failed."""

    def __init__(self, exchange: Json) -> None:
        self._decoder = decoder(exchange["api"], provider=exchange["provider"], model=exchange["model"])
        self.deltas: list[Delta] = []
        self.failed = False

    def read_all(self) -> None:
        """Read text that continues in full, too."""
        reading(self._decoder)

    def feed(self, payloads: Iterable[Any] | WholeResponse) -> None:
        if isinstance(payloads, WholeResponse):
            self.deltas += self._decoder.whole(payloads.response)
            return
        for payload in payloads:
            self.deltas += self._decoder.receive(payload)
        self.deltas += self._decoder.close()

    async def feed_async(self, payloads: AsyncIterator[Any] | WholeResponse) -> None:
        if isinstance(payloads, WholeResponse):
            self.feed(payloads)
            return
        async for payload in payloads:
            self.deltas += self._decoder.receive(payload)
        self.deltas += self._decoder.close()


def of_wire(sdk: VendorSDK, exchange: Json) -> Decoded:
    """What the JSON gives when every payload is read, as far as the SDK keeps it.

    A stream may be cut, or end with an error.
    """
    made = Decoded(exchange)
    made.read_all()
    try:
        if exchange["stream"]:
            made.feed(sdk.keeps(event["data"]) for event in exchange["events"])
        else:
            made.feed(WholeResponse(sdk.keeps(exchange["response"])))
    except (DecodeError, ProviderError):
        made.failed = True
    return made


def check(read: Callable[[], None], found: Decoded, expected: Decoded) -> None:
    """Reading fails where the wire fails: the SDK raises the provider's error itself."""
    try:
        read()
    except Exception:
        if not expected.failed:
            raise
    else:
        assert not expected.failed
    assert found.deltas == expected.deltas


def chosen(api: str, given: Callable[[], Json], vendors: Vendors) -> tuple[VendorSDK, Json]:
    """The SDK, and the exchange that its server plays from now on."""
    SDKS[api].require()
    exchange = given()
    sdk = sdk_of(exchange)
    if reason := sdk.unreadable(exchange):
        pytest.skip(reason)
    vendors.server(api).exchange = exchange
    return sdk, exchange


@pytest.mark.parametrize(("api", "given"), EXCHANGES)
def test_objects_give_the_deltas_of_their_wire_json(
    api: str, given: Callable[[], Json], vendors: Vendors
) -> None:
    sdk, exchange = chosen(api, given, vendors)
    found = Decoded(exchange)
    client = vendors.client(sdk)

    def read() -> None:
        ask = lambda: sdk.ask(client, greeting(api), streamed=exchange["stream"])  # noqa: E731
        with open_source_sync(ask) as payloads:
            found.feed(payloads)

    check(read, found, of_wire(sdk, exchange))


@pytest.mark.parametrize(("api", "given"), ASYNC)
def test_asynchronous_clients_give_the_same(api: str, given: Callable[[], Json], vendors: Vendors) -> None:
    sdk, exchange = chosen(api, given, vendors)
    found = Decoded(exchange)
    url = vendors.server(api).url

    async def read() -> None:
        async with sdk.async_client(url) as client:
            source = sdk.ask_async(client, greeting(api), streamed=exchange["stream"])
            async with open_source(source) as payloads:
                await found.feed_async(payloads)

    check(lambda: anyio.run(read), found, of_wire(sdk, exchange))


DUMPS: dict[str, dict[str, Any]] = {
    "python": {},
    "json": {"mode": "json"},
    "json without nulls": {"mode": "json", "exclude_none": True},
    "by alias": {"by_alias": True, "exclude_none": True},
}
"""How programs store what the SDK of Google gives."""


@pytest.mark.parametrize("dump", DUMPS)
@pytest.mark.parametrize(
    ("api", "given"), [one for one in EXCHANGES if one.values[0] in ("gemini", "gemini-interactions")]
)
def test_dumps_of_google_give_the_deltas_of_their_wire_json(
    api: str, given: Callable[[], Json], dump: str, vendors: Vendors
) -> None:
    sdk, exchange = chosen(api, given, vendors)
    found = Decoded(exchange)
    client = vendors.client(sdk)

    def read() -> None:
        ask = lambda: sdk.ask(client, greeting(api), streamed=exchange["stream"])  # noqa: E731
        with open_source_sync(ask) as payloads:
            if isinstance(payloads, WholeResponse):
                found.feed(WholeResponse(payloads.response.model_dump(**DUMPS[dump])))
            else:
                found.feed(payload.model_dump(**DUMPS[dump]) for payload in payloads)

    check(read, found, of_wire(sdk, exchange))
