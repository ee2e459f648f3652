"""Logs that are not what a worker has stored give an error of the library, or a stream with an end."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agui_reasoning.durable import Runs, SQLiteRuns
from agui_reasoning.errors import TransportError
from agui_reasoning.wire import read_events
from tests.unit.durable.agents import new_run, quick

pytestmark = pytest.mark.anyio

DAMAGE = {
    "an entry that is no JSON": "UPDATE entries SET data = x'646174613a207b0a0a' WHERE place = 0",
    "an entry that is no UTF-8": "UPDATE entries SET data = x'646174613a2022ff220a0a' WHERE place = 0",
    "an entry that is no event": "UPDATE entries SET data = x'646174613a207b7d0a0a' WHERE place = 0",
    "an event of another place": "UPDATE entries SET data = replace(data, 'RUN_STARTED', 'STEP_FINISHED')",
    "an ID that is none": "UPDATE entries SET data = replace(data, 'messageId\":', 'messageId\":5,\"x\":')",
    "an entry that is missing": "UPDATE entries SET place = 7 WHERE place = 0",
    "a head that is missing": "DELETE FROM entries WHERE place = -1",
    "a head that is no JSON": "UPDATE entries SET data = x'7b' WHERE place = -1",
    "a head that is no UTF-8": "UPDATE entries SET data = x'22ff22' WHERE place = -1",
    "a head without a thread": "UPDATE entries SET data = x'7b7d' WHERE place = -1",
    "a head without messages": "UPDATE entries SET data = replace(data, 'messages', 'm') WHERE place = -1",
}


async def damaged(file: Path, statement: str) -> Runs:
    """The runs of another process, after something else has written to the database."""
    runs = Runs(SQLiteRuns(file))
    async for _ in (await runs.start(new_run(), quick)).frames():
        pass
    await runs.aclose()
    with closing(sqlite3.connect(file)) as database, database:
        kept = database.execute("SELECT run, place, CAST(data AS TEXT) FROM entries").fetchall()
        database.executemany("UPDATE entries SET data = ?3 WHERE run = ?1 AND place = ?2", kept)
        assert database.execute(statement).rowcount
        database.execute("UPDATE entries SET data = CAST(data AS BLOB)")
    return Runs(SQLiteRuns(file))


@pytest.mark.parametrize("name", DAMAGE)
async def test_a_damaged_log_is_an_error_of_the_library(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    runs = await damaged(tmp_path / "runs.db", DAMAGE[name])
    with pytest.raises(TransportError) as caught:
        await runs.conversation("thread-1")
    assert caught.value.code == "store_unavailable"
    if "head" in name:
        with pytest.raises(TransportError):
            await runs.join("thread-1")
    else:
        joined = [chunk async for chunk in (await runs.join("thread-1")).frames()]
        [event] = read_events(b"".join(joined))
        assert (event["type"], event["code"]) == ("RUN_ERROR", "store_unavailable")
        assert str(caught.value).partition("\n")[0] in caplog.text
    await runs.aclose()


@pytest.mark.parametrize("label", [b"{", b"{}", json.dumps({"threadId": 5, "runId": "r"}).encode()])
async def test_a_damaged_label_is_one_too(tmp_path: Path, label: bytes) -> None:
    runs = await damaged(tmp_path / "runs.db", f"UPDATE runs SET label = x'{label.hex()}'")
    with pytest.raises(TransportError) as caught:
        await runs.threads()
    assert caught.value.code == "store_unavailable"
    await runs.aclose()


async def test_a_lone_surrogate_in_a_name_does_not_keep_a_run_from_being_stored(tmp_path: Path) -> None:
    runs = Runs(SQLiteRuns(tmp_path / "runs.db"))
    run = new_run()
    run.input.state = {"\ud800": "\ud83d"}
    deep: dict[str, object] = {}
    for _ in range(900):  # members that AG-UI does not know are not stored
        deep = {"in": deep}
    run.input.__pydantic_extra__ = {"more": deep}
    async for _ in (await runs.start(run, quick)).frames():
        pass
    assert (await runs.conversation("thread-1")).state == {"\ufffd": "\ufffd"}
    await runs.aclose()
