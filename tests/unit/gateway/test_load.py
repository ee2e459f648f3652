"""A gateway with many runs at once, in a process of its own: what `scripts/load.py` measures, in small."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.load import AVAILABLE, Gateway, Level, gateway

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not AVAILABLE, reason="the system does not say what a process has"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[Gateway]:
    with gateway(hidden=True) as server:
        assert not server.run(40, deltas=10, pace=0).faults  # imports, caches and threads stay
        yield server
        assert server.log == ""


def check_back(before: Level, after: Level) -> None:
    """Check that nothing is left of runs."""
    assert after.files <= before.files
    assert after.tasks <= before.tasks
    # Some caches are still filling, and a busy machine starts more workers. A run has hundreds of objects.
    workers = max(after.threads - before.threads, 0)
    assert after.objects <= before.objects + 200 + 60 * workers


def test_runs_at_once_are_whole_and_leave_nothing(server: Gateway) -> None:
    before = server.settled()
    streams = server.run(100, deltas=50, pace=0.02)
    assert not streams.faults
    assert len(streams.seconds) == 100
    check_back(before, server.settled())


def test_short_runs_are_whole_and_leave_nothing(server: Gateway) -> None:
    before = server.settled()
    streams = server.run(500, deltas=4, pace=0, at_once=16)
    assert not streams.faults
    assert len(streams.seconds) == 500
    check_back(before, server.settled())


def test_slow_clients_leave_nothing(server: Gateway) -> None:
    before = server.settled()
    with server.slow(20, deltas=5_000) as clients:
        assert not server.run(5, deltas=50, pace=0).faults
        assert server.level().files >= before.files + 40  # those of the clients, and those to the provider
        assert clients.leave() == 20
    check_back(before, server.settled())
