"""Logs of events: saved, opened, shown as what they are, and what is said when some are missing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.inspected import LOG, Long, ask, load, opened, rows
from tests.support.browser import Faults, OpenTab


@pytest.fixture(autouse=True)
def leaving(faults: Faults) -> None:
    faults.expect("/_page/(check|losses|request) net::ERR_ABORTED")


def save(page: Page, path: Path) -> Path:
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Save the log").click()
    assert downloading.value.suggested_filename.endswith(".jsonl")
    downloading.value.save_as(path)
    return path


def command(name: str, path: Path) -> str:
    run = [sys.executable, "-m", "agui_reasoning", name, str(path)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def shown(page: Page) -> Locator:
    """What each row shows but its times: those of a live run are when its events arrived."""
    return page.locator(".insp-row .insp-name, .insp-row .insp-summary")


def test_a_saved_log_is_read_by_check_and_trace_and_opens_as_it_was(tab: Page, tmp_path: Path) -> None:
    with opened(tab) as page:
        ask(page)
        before = shown(page).all_text_contents()
        path = save(page, tmp_path / "run.jsonl")
        expect(page.get_by_role("status").filter(has_text="saved as")).to_be_visible()
        events = [json.loads(line) for line in path.read_text().splitlines()]
        assert [event["type"] for event in events][:: len(events) - 1] == ["RUN_STARTED", "RUN_FINISHED"]
        assert "no problems found" in command("check", path)
        assert "get_forecast" in command("trace", path)
        page.locator("input[type=file]").set_input_files(path)
        expect(page.get_by_role("status").filter(has_text="Read only · run.jsonl")).to_be_visible()
        expect(rows(page, "RUN_FINISHED")).to_have_count(1)
        expect(shown(page)).to_have_text(before)
        again = save(page, tmp_path / "again.jsonl")
        assert [json.loads(line) for line in again.read_text().splitlines()] == events


def test_an_opened_log_is_read_only_until_it_is_left(tab: Page) -> None:
    question = {"id": "u1", "role": "user", "content": "Stored?"}
    call = {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "f", "parentMessageId": "m1"}
    cut = {"metadata": {"agui-reasoning": {"finishReason": "max_tokens"}}}
    log = [
        {**LOG[0], "runId": "r0", "input": {"messages": [{**question, "id": "u0"}]}},
        {**LOG[-1], "runId": "r0", **cut},
        {**LOG[0], "input": {"messages": [question]}},
        *LOG[1:-1],
        call,
        {"type": "TOOL_CALL_END", "toolCallId": "c1"},
        LOG[-1],
    ]
    with opened(tab) as page:
        ask(page)
        load(page, json.dumps(log), "other.json")
        expect(page.locator(".insp-banner")).to_contain_text("Read only · other.json · 10 events")
        chat = page.locator("#chat")
        expect(chat).to_contain_text("The answer was cut off")
        expect(chat).to_contain_text("It is stored.")
        expect(chat.get_by_role("textbox")).to_have_count(0)
        for name in ("Send", "Edit", "Regenerate", "Retry", "Try again", "Send the result"):
            expect(chat.get_by_role("button", name=name)).to_have_count(0)
        page.get_by_role("button", name="Back to the chat").click()
        expect(page.locator(".insp-banner")).to_be_hidden()
        expect(page.get_by_role("textbox", name="Message", exact=True)).to_be_focused()
        expect(chat).not_to_contain_text("It is stored.")
        expect(rows(page, "REASONING_START")).to_have_count(1)
        load(page, json.dumps(log))
        page.reload()
        expect(rows(page, "REASONING_START")).to_have_count(1)  # the log was never stored


def test_a_log_that_the_browser_cannot_keep_is_missed_aloud(tab: Page) -> None:
    with opened(tab, Long("x" * 250)) as page:
        ask(page)
        page.reload()
        missing = page.locator(".insp-missing")
        expect(missing).to_contain_text("5,010 earlier events did not fit into the browser's storage")
        expect(page.locator(".insp-total")).to_have_text("0 events")
        expect(page.locator("#chat")).to_contain_text("Yes.")
        expect(page.get_by_role("button", name="Save the log")).to_be_disabled()
        page.get_by_role("button", name="New chat").click()
        expect(missing).to_be_hidden()


def test_a_log_is_opened_and_saved_with_the_keyboard(open_tab: OpenTab) -> None:
    with opened(open_tab()) as page:
        ask(page)
        page.get_by_role("tab", name="Events").focus()
        with page.expect_file_chooser() as choosing:
            page.keyboard.press("Tab")
            expect(page.get_by_role("button", name="Open a log")).to_be_focused()
            page.keyboard.press("Enter")
        choosing.value.set_files(
            {"name": "a.json", "mimeType": "application/json", "buffer": json.dumps(LOG).encode()}
        )
        expect(page.locator(".insp-banner")).to_be_visible()
        expect(page.get_by_role("button", name="Open a log")).to_be_focused()
        page.keyboard.press("Tab")
        with page.expect_download():
            page.keyboard.press("Enter")
