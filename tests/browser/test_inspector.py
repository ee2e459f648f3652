"""The inspector, the right side of the gateway's page."""

from __future__ import annotations

import json
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Page, expect

from agui_reasoning.cli import FINDINGS
from agui_reasoning.crypto import KeyRing
from agui_reasoning.gateway import ReplayUpstream
from tests.browser.axe import violations
from tests.browser.inspected import LOG, QUESTION, Long, ask, load, opened, rows, show
from tests.support.browser import Faults, OpenTab

DROP = """([text]) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([text], "run.jsonl"));
    for (const type of ["dragenter", "dragover", "drop"])
        document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
}"""


@pytest.fixture(autouse=True)
def leaving(faults: Faults) -> None:
    """Pages may be left while they ask the gateway."""
    faults.expect("/_page/(check|losses|request) net::ERR_ABORTED")


# -- events


def test_events_are_rows_with_their_pairs_and_raw_json(tab: Page) -> None:
    with opened(tab) as page:
        ask(page)
        content = rows(page, "REASONING_MESSAGE_CONTENT").first
        expect(content.locator("path[data-pair=reasoning][data-part=inside]")).to_have_count(1)
        expect(content.locator("path[data-pair=run][data-part=through]")).to_have_count(1)
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
        events = page.get_by_role("tree", name="Events")
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
        expect(page.get_by_role("treeitem").first).to_be_visible()
        assert page.get_by_role("treeitem").count() < 100


def test_the_timeline_survives_a_reload(tab: Page) -> None:
    with opened(tab) as page:
        ask(page)
        expect(show(page, "Check")).to_contain_text("no problems found")
        page.reload()
        expect(rows(page, "RUN_FINISHED")).to_have_count(1)


# -- what goes back


def test_after_a_clean_run_every_value_is_marked_and_nothing_is_found(tab: Page) -> None:
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


def test_the_request_says_that_it_is_the_next_one(tab: Page) -> None:
    with opened(tab) as page:
        ask(page)
        heading = show(page, "Request").get_by_role("heading", name="The next request, not sent yet")
        expect(heading).to_be_visible()


def test_what_the_provider_does_without_is_left_out_as_intended(tab: Page) -> None:
    """Gemini shows summaries of its thoughts, and reads only their signatures."""
    with opened(tab, ReplayUpstream("gemini-weather")) as page:
        ask(page)
        outcomes = show(page, "Request").locator(".insp-outcomes li")
        expect(outcomes.filter(has_text="as intended")).to_have_attribute("data-tone", "neutral")
        expect(outcomes.filter(has_text="left out")).to_have_count(1)
        expect(outcomes.filter(has_text="sent unchanged")).to_have_attribute("data-tone", "good")
        assert violations(page) == []


STUB = """#!/bin/sh
for argument in "$@"; do printf '%s\\0' "$argument" >> arguments; done
cat > body
"""


@pytest.mark.parametrize("script", ["anthropic-weather", "gemini-weather"])
def test_the_request_can_be_sent_with_curl(open_tab: OpenTab, tmp_path: Path, script: str) -> None:
    tab = open_tab(permissions=["clipboard-read", "clipboard-write"])
    question = "It's `rm` $HOME \\ \"?\" \\n\nJSON\n'${API_KEY}' é \U0001f327"
    with opened(tab, ReplayUpstream(script)) as page:
        ask(page, question)
        button = show(page, "Request").get_by_role("button", name="Copy as curl")
        button.press("Enter")
        expect(page.get_by_role("button", name="Copied")).to_be_focused()
        command = page.evaluate("() => navigator.clipboard.readText()")
        expect(button).to_be_visible()  # again
        show(page, "Request").get_by_role("button", name="Copy the body").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        body = json.loads(page.evaluate("() => navigator.clipboard.readText()"))
    curl = tmp_path / "curl"
    curl.write_text(STUB)
    curl.chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "BASE_URL": "http://provider.example", "API_KEY": "the key"}
    subprocess.run(["sh"], input=command, env=env, cwd=tmp_path, text=True, check=True, timeout=60)
    arguments = (tmp_path / "arguments").read_text().split("\0")
    headers = dict(value.split(": ", 1) for flag, value in pairwise(arguments) if flag == "-H")
    key, path = {
        "anthropic-weather": ("x-api-key", "/v1/messages"),
        "gemini-weather": (
            "x-goog-api-key",
            "/v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse",
        ),
    }[script]
    assert arguments[1] == f"http://provider.example{path}"
    assert (headers[key], headers["content-type"]) == ("the key", "application/json")
    sent = json.loads((tmp_path / "body").read_text())
    conversation = (
        "messages" if "messages" in body else "contents"
    )  # Gemini's SDK has other names for the rest
    assert sent[conversation] == body[conversation]
    assert question in texts(sent)


def texts(value: Any) -> list[str]:
    """All strings in a JSON value."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in texts(one)]


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
        expect(page.get_by_role("region", name="Rules").get_by_role("listitem")).to_have_count(len(FINDINGS))


# -- findings


def test_findings_lead_to_their_events(tab: Page) -> None:
    orphan = {"type": "TEXT_MESSAGE_END", "messageId": "nowhere"}
    with opened(tab) as page:
        load(page, json.dumps([*LOG[:-1], orphan, LOG[-1]]))
        expect(page.get_by_role("tab", name="Check 1 problem")).to_be_visible()
        panel = show(page, "Check")
        expect(panel).to_contain_text("not_open")
        panel.get_by_text("Why it matters, with an example").click()
        expect(panel.locator(".insp-finding .insp-page")).to_contain_text("Send the start event first")
        panel.get_by_role("button", name="Show event 6").click()
        selected = page.get_by_role("treeitem", selected=True)
        expect(selected).to_contain_text("TEXT_MESSAGE_END")
        expect(selected).to_contain_text("error")


def test_a_run_that_was_stopped_is_no_finding(tab: Page, faults: Faults) -> None:
    faults.expect("/agent net::ERR_ABORTED")
    with opened(tab, ReplayUpstream("anthropic-weather", delay_s=1.0)) as page:
        page.locator("#composer-input").fill(QUESTION)
        page.get_by_role("button", name="Send").click()
        rows(page, "REASONING_MESSAGE_CONTENT").wait_for()
        page.get_by_role("button", name="Stop").click()
        page.get_by_role("button", name="Try again").wait_for()
        expect(show(page, "Check")).to_contain_text("no problems found")
        expect(page.locator(".insp-finding")).to_have_count(0)


def test_the_rules_are_listed_with_ticks_and_their_pages(tab: Page) -> None:
    orphan = {"type": "TEXT_MESSAGE_END", "messageId": "nowhere"}
    with opened(tab) as page:
        panel = show(page, "Check")
        rules = panel.get_by_role("region", name="Rules").get_by_role("listitem")
        expect(rules).to_have_count(len(FINDINGS))
        expect(rules.filter(has_text="Not checked:")).to_have_count(len(FINDINGS))
        load(page, json.dumps([*LOG[:-1], orphan, LOG[-1]]))
        expect(rules.filter(has_text="Holds:")).to_have_count(len(FINDINGS) - 1)
        broken = rules.filter(has_text="Found 1 time:")
        expect(broken).to_contain_text("not_open")
        broken.locator("summary").press("Enter")
        expect(broken.get_by_role("heading", name="What to do")).to_be_visible()
        expect(broken.locator("pre").first).to_contain_text("from agui_reasoning import check_events")
        assert violations(page) == []


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
            banner = page.get_by_role("status").filter(has_text="Read only")
            expect(banner).to_have_text(f"Read only · {number}.log · 6 events")
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
        code = panel.get_by_label("Three lines of JavaScript")
        assert code.evaluate("(code) => code.clientHeight < 100")  # no line of it is broken
        lines = page.evaluate("() => navigator.clipboard.readText()").splitlines()
        assert len(lines) == 3
        assert f'new HttpAgent({{ url: "{page.url}agent" }})' in lines[1]
        panel.get_by_role("button", name="What is checked in streams").press("Enter")
        expect(page.get_by_role("tab", name="Check")).to_be_focused()
        expect(page.get_by_role("region", name="Rules")).to_be_visible()


def test_what_front_ends_did_not_return_is_shown_by_thread(tab: Page) -> None:
    thought = {"id": "r", "role": "reasoning", "content": "SECRET"}
    question = {"id": "u", "role": "user", "content": QUESTION}
    with opened(tab) as page:
        ask(page)
        expect(show(page, "Gateway")).to_contain_text("Use it from an application")
        expect(page.get_by_text("Reasoning that did not come back")).to_have_count(0)
        body = {
            "messages": [question, thought],
            "tools": [],
            "context": [],
            "state": {},
            "forwardedProps": {},
        }
        for run in ("r1", "r2"):
            answer = httpx2.post(
                f"{page.url}agent", json={"threadId": "of-another-client", "runId": run, **body}
            )
            assert answer.status_code == 200
        page.reload()
        expect(page.get_by_role("tab", name="Gateway 1 lossy thread")).to_be_visible()
        lost = show(page, "Gateway").get_by_role("region", name="Reasoning that did not come back")
        expect(lost).to_contain_text("of-ano…lient")
        expect(lost).to_contain_text("1 unit: the front end returned it without its value (no_value).")
        assert "SECRET" not in page.content()
        assert violations(page) == []


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
