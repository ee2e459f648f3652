"""A worker or a reader in a process of its own: its role and the address of the store are arguments."""

from __future__ import annotations

import sys

import anyio

from agui_reasoning.durable import Runs
from tests.unit.durable.agents import Thinker, new_run, run_input
from tests.unit.durable.stores import open_store

LEASE_S = 1.0


async def work(address: str) -> None:
    """Start a run that never ends."""
    runs, agent = Runs(open_store(address), lease_s=LEASE_S), Thinker()
    await runs.start(new_run(run_input()), agent)
    await agent.thinking.wait()
    while len((await runs.conversation("thread-1")).messages) < 2:
        await anyio.sleep(0.01)
    sys.stdout.write("thinking\n")
    sys.stdout.flush()
    await anyio.sleep_forever()


async def read(address: str) -> None:
    """Write what a reader of the thread sees."""
    runs = Runs(open_store(address), lease_s=LEASE_S)
    async for chunk in (await runs.join("thread-1")).frames():
        sys.stdout.buffer.write(chunk)
        sys.stdout.flush()
    await runs.aclose()


if __name__ == "__main__":
    anyio.run({"work": work, "read": read}[sys.argv[1]], sys.argv[2])
