"""The inspector, the right side of the gateway's page."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from agui_reasoning import Run
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import ReasoningDelta, TextDelta
from agui_reasoning.gateway import ReplayUpstream, Upstream, create_app, local_server
from tests.browser.axe import violations
from tests.support.browser import Faults, OpenTab

QUESTION = "Umbrella or raincoat?"
RUN = {"threadId": "t1", "runId": "r1"}
LOG = [
    {"type": "RUN_STARTED", "protocolVersion": "1.0", **RUN},
    {"type": "TEXT_MESSAGE_START", "messageId": "m1", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "It is "},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "stored."},
    {"type": "TEXT_MESSAGE_END", "messageId": "m1"},
    {"type": "RUN_FINISHED", **RUN},
]
DROP = """([text]) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([text], "run.jsonl"));
    for (const type of ["dragenter", "dragover", "drop"])
        document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
}"""


class Long(Upstream):
    """Thinks in many small deltas."""

    name = "long"

    async def agent(self, run: Run) -> AsyncIterator[Any]:
        for number in range(5_000):
            yield ReasoningDelta(f"word{number} ")
        yield TextDelta("Yes.")


@pytest.fixture(autouse=True)
def leaving(faults: Faults) -> None:
    """Pages may be left while they ask the gateway."""
    faults.expect("/_page/(check|request) net::ERR_ABORTED")


@contextmanager
def opened(tab: Page, upstream: Upstream | None = None, **options: Any) -> Iterator[Page]:
    with local_server(create_app(upstream, **options)) as url:
        tab.goto(url)
        yield tab
        tab.close()  # before the gateway, which the page still asks


def ask(page: Page) -> None:
    """Ask, and wait for the end of the run."""
    page.locator("#composer-input").fill(QUESTION)
    page.get_by_role("button", name="Send").click()
    expect(rows(page, "RUN_FINISHED")).to_have_count(1)


def rows(page: Page, kind: str) -> Locator:
    return page.get_by_role("option").filter(has_text=kind)


def show(page: Page, tab: str) -> Locator:
    """Select a tab by its name; return its panel."""
    page.get_by_role("tab", name=tab).click()
    return page.get_by_role("tabpanel")


def load(page: Page, content: str, name: str = "run.json") -> None:
    file = {"name": name, "mimeType": "application/json", "buffer": content.encode()}
    page.locator("input[type=file]").set_input_files(file)  # type: ignore[arg-type]


# -- events


def test_events_are_rows_with_their_pairs_and_raw_json(tab: Page) -> None:
    with opened(tab) as page:
        ask(page)
        content = rows(page, "REASONING_MESSAGE_CONTENT").first
        assert content.locator("path[data-pair=reasoning][data-part=inside]").count() == 1
        assert content.locator("path[data-pair=run][data-part=through]").count() == 1
        content.click()
        detail = page.get_by_role("region", name="Selected event")
        expect(detail).to_contain_text("gusts decide it")
        expect(detail).to_contain_text('"type": "REASONING_MESSAGE_CONTENT"')
        detail.get_by_role("button", name="Next").click()
        expect(detail).to_contain_text("Delta 2 of")


def test_the_keyboard_is_enough(tab: Page) -> None:
    with opened(tab) as page:
        ask(page)
        page.get_by_role("tab", name="Events").focus()
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tab", name="History")).to_be_focused()
        page.keyboard.press("Home")
        expect(page.get_by_role("tab", name="Events")).to_be_focused()
        events = page.get_by_role("listbox", name="Events")
        events.focus()
        page.keyboard.press("Home")
        expect(rows(page, "RUN_STARTED")).to_have_attribute("aria-selected", "true")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        detail = page.get_by_role("region", name="Selected event")
        expect(detail).to_be_focused()
        page.keyboard.press("Escape")
        expect(events).to_be_focused()
        expect(detail).to_be_hidden()


def test_families_can_be_hidden(tab: Page) -> None:
    with opened(tab) as page:
        ask(page)
        page.get_by_role("button", name="Reasoning", exact=True).click()
        expect(rows(page, "REASONING_")).to_have_count(0)
        expect(rows(page, "TOOL_CALL_START")).to_have_count(1)
        page.get_by_role("button", name="Reasoning", exact=True).click()
        expect(rows(page, "REASONING_START")).to_have_count(1)


def test_five_thousand_deltas_are_one_row(tab: Page) -> None:
    with opened(tab, Long()) as page:
        ask(page)
        expect(rows(page, "REASONING_MESSAGE_CONTENT")).to_contain_text("5,000")
        expect(page.locator(".insp-total")).to_have_text("5,010 events")


def test_of_five_thousand_rows_only_those_in_view_have_elements(tab: Page) -> None:
    log = [LOG[0], *({"type": "CUSTOM", "name": f"n{n}", "value": n} for n in range(5_000)), LOG[-1]]
    with opened(tab) as page:
        load(page, json.dumps(log))
        expect(page.locator(".insp-total")).to_have_text("5,002 events")
        assert page.get_by_role("option").count() < 100


def test_the_timeline_survives_a_reload(tab: Page) -> None:
    with opened(tab) as page:
        ask(page)
        expect(show(page, "Check")).to_contain_text("no problems found")
        page.reload()
        expect(rows(page, "RUN_FINISHED")).to_have_count(1)


# -- what goes back


def test_after_a_clean_run_every_artifact_is_marked_and_nothing_is_found(tab: Page) -> None:
    with opened(tab) as page:
        ask(page)
        panel = show(page, "Request")
        expect(panel).to_contain_text("4 of 4 values that the provider requires back came back unchanged")
        marks = panel.locator(".insp-json-mark").all_inner_texts()
        assert [mark.partition(" · ")[0] for mark in marks] == [
            *("thinking", "signature", "redacted thinking", "call id")
        ]
        assert all(mark.endswith("unchanged") for mark in marks)
        expect(show(page, "Check")).to_contain_text("no problems found")


def test_a_hidden_thread_shows_its_key_id_and_no_reasoning(tab: Page) -> None:
    keys = KeyRing.generate("key-2026")
    with opened(tab, ReplayUpstream("anthropic-weather"), visibility="hidden", keys=keys) as page:
        ask(page)
        history = show(page, "History")
        expect(history).to_contain_text("key key-2026")
        expect(history).to_contain_text("only the gateway can read it")
        assert "that depends on wind" not in page.content()
        expect(show(page, "Gateway")).to_contain_text("key-2026")
        secret = keys.to_env().rpartition(":")[2]
        assert secret not in page.content()
        expect(show(page, "Request")).to_contain_text("that depends on wind")


def test_in_front_of_another_upstream_the_page_says_what_is_missing(tab: Page) -> None:
    with opened(tab, Long()) as page:
        expect(show(page, "Request")).to_contain_text("does not offer the preview")
        expect(show(page, "Check")).to_contain_text("only if it replays responses")


# -- findings


def test_findings_lead_to_their_events(tab: Page) -> None:
    orphan = {"type": "TEXT_MESSAGE_END", "messageId": "nowhere"}
    with opened(tab) as page:
        load(page, json.dumps([*LOG[:-1], orphan, LOG[-1]]))
        expect(page.get_by_role("tab", name="Check 1 problem")).to_be_visible()
        panel = show(page, "Check")
        expect(panel).to_contain_text("not_open")
        expect(panel).to_contain_text("docs/reference/findings/not_open.md")
        panel.get_by_role("button", name="Show event 6").click()
        selected = page.get_by_role("option", selected=True)
        expect(selected).to_contain_text("TEXT_MESSAGE_END")
        expect(selected).to_contain_text("error")


def test_a_run_that_was_stopped_is_no_finding(tab: Page, faults: Faults) -> None:
    faults.expect("/agent net::ERR_ABORTED")
    with opened(tab, ReplayUpstream("anthropic-weather", delay_s=0.05)) as page:
        page.locator("#composer-input").fill(QUESTION)
        page.get_by_role("button", name="Send").click()
        rows(page, "REASONING_MESSAGE_CONTENT").wait_for()
        page.get_by_role("button", name="Stop").click()
        page.get_by_role("button", name="Try again").wait_for()
        expect(show(page, "Check")).to_contain_text("no problems found")
        expect(show(page, "Check")).not_to_contain_text("truncated_run")


# -- stored logs


def test_a_stored_log_is_shown_in_both_halves_whatever_its_form(tab: Page) -> None:
    forms = [
        json.dumps(LOG),
        "\n".join(map(json.dumps, LOG)),
        "".join(f"data: {json.dumps(event)}\n\n" for event in LOG),
    ]
    with opened(tab) as page:
        for number, content in enumerate(forms):
            load(page, content, f"{number}.log")
            expect(page.get_by_role("status").filter(has_text=f"{number}.log is open")).to_be_visible()
            expect(page.locator("#chat")).to_contain_text("It is stored.")
            expect(rows(page, "TEXT_MESSAGE_CONTENT").locator(".insp-summary")).to_have_text("It is stored.")
            expect(page.locator(".insp-total")).to_have_text("6 events")


def test_a_log_can_be_dropped(open_tab: OpenTab) -> None:
    with opened(open_tab(bypass_csp=True)) as page:
        expect(page.get_by_role("tab", name="Events")).to_be_visible()
        page.evaluate(DROP, ["\n".join(map(json.dumps, LOG))])
        expect(page.locator("#chat")).to_contain_text("It is stored.")


def test_what_is_no_log_gets_a_sentence_and_changes_nothing(tab: Page) -> None:
    with opened(tab) as page:
        ask(page)
        load(page, "Dear diary", "notes.txt")
        expect(page.get_by_text("notes.txt is not a log of AG-UI events")).to_be_visible()
        expect(rows(page, "RUN_FINISHED")).to_have_count(1)


# -- the gateway


def test_the_settings_and_the_lines_for_an_agent_are_shown(open_tab: OpenTab) -> None:
    tab = open_tab(permissions=["clipboard-read", "clipboard-write"], bypass_csp=True)
    with opened(
        tab, allowed_origins=["http://localhost:3000"], keys=KeyRing.generate("key-1"), visibility="summary"
    ) as page:
        panel = show(page, "Gateway")
        for words in ("replay:anthropic-weather", "http://localhost:3000", "summary", "import { HttpAgent }"):
            expect(panel).to_contain_text(words)
        panel.get_by_role("button", name="Copy").click()
        expect(panel.get_by_role("button", name="Copied")).to_be_visible()
        lines = page.evaluate("() => navigator.clipboard.readText()").splitlines()
        assert len(lines) == 3
        assert f'new HttpAgent({{ url: "{page.url}agent" }})' in lines[1]


# -- accessibility


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_any_tab(open_tab: OpenTab, scheme: str) -> None:
    orphan = {"type": "TEXT_MESSAGE_END", "messageId": "nowhere"}
    with opened(open_tab(color_scheme=scheme)) as page:
        expect(page.get_by_role("tab", name="Events")).to_be_visible()
        assert violations(page) == []
        load(page, json.dumps([*LOG[:-1], orphan, LOG[-1]]))
        expect(page.get_by_role("tab", name="Check 1 problem")).to_be_visible()
        rows(page, "TEXT_MESSAGE_CONTENT").click()
        for name in ("Events", "History", "Request", "Check", "Gateway"):
            expect(show(page, name)).not_to_be_empty()
            assert violations(page) == []
