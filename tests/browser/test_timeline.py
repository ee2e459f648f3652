"""The tab of events: the headings of runs, the filter, the bars, and rows on narrow screens."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.axe import violations
from tests.browser.inspected import LOG, load, opened, rows, show
from tests.browser.test_keyboard import press_until_focused
from tests.browser.tracing import LONGEST_MS, tasks_of
from tests.support.browser import Faults, OpenTab

USAGE = [
    {"provider": "p", "model": "m-1", "inputTokens": 1000, "outputTokens": 300, "reasoningTokens": 100},
    {"provider": "p", "model": "m-2", "inputTokens": 200, "outputTokens": 34},
]


@pytest.fixture(autouse=True)
def leaving(faults: Faults) -> None:
    faults.expect("/_page/(check|losses|request) net::ERR_ABORTED")


def timed(*events: dict[str, Any], run: str = "r1", start: int = 1_000) -> list[dict[str, Any]]:
    """A run whose events tell when they came: 100 ms one after the other."""
    ids = {"threadId": "t1", "runId": run}
    first = {"type": "RUN_STARTED", "protocolVersion": "1.0", **ids}
    whole = [first, *events, *([] if events[-1]["type"].startswith("RUN") else [ended(run)])]
    return [{**event, "timestamp": start + 100 * number} for number, event in enumerate(whole)]


def ended(run: str = "r1", reason: str = "end_turn", **members: Any) -> dict[str, Any]:
    hint = {"metadata": {"agui-reasoning": {"finishReason": reason}}}
    return {"type": "RUN_FINISHED", "threadId": "t1", "runId": run, **hint, **members}


def said(message: str, *texts: str) -> list[dict[str, Any]]:
    return [
        {"type": "TEXT_MESSAGE_START", "messageId": message, "role": "assistant"},
        *({"type": "TEXT_MESSAGE_CONTENT", "messageId": message, "delta": text} for text in texts),
        {"type": "TEXT_MESSAGE_END", "messageId": message},
    ]


def called(call: str, name: str) -> list[dict[str, Any]]:
    return [
        {"type": "TOOL_CALL_START", "toolCallId": call, "toolCallName": name, "parentMessageId": "m1"},
        {"type": "TOOL_CALL_END", "toolCallId": call},
    ]


TWO_RUNS = [
    *timed(*said("m1", "Let me ", "look."), *called("c1", "get_forecast"), ended(usage=USAGE)),
    *timed(*said("m2", "The rain", "coat."), ended("r2", "max_tokens"), run="r2", start=9_000),
]


def heads(page: Page) -> Locator:
    return page.locator(".insp-run")


# -- the heading of a run


def test_a_run_has_a_heading_with_its_totals(tab: Page) -> None:
    with opened(tab) as page:
        load(page, json.dumps(TWO_RUNS))
        expect(heads(page)).to_have_count(2)
        first, second = heads(page).all()
        expect(first.locator(".insp-summary")).to_have_text("Run 1 · m-1 · m-2")
        expect(first.locator(".insp-took")).to_have_text("took 700 ms")
        expect(first.locator(".insp-run-facts > *")).to_have_text(
            ["end_turn", "first token 200 ms", "1,200 tokens in, 334 out (100 reasoning)"]
        )
        chip = second.locator(".insp-chip")
        expect(chip).to_have_text("max_tokens")
        expect(chip).to_have_attribute("data-tone", "warn")  # the answer is not whole


def test_a_live_run_names_its_api(tab: Page) -> None:
    with opened(tab) as page:
        page.locator("#composer-input").fill("Umbrella?")
        page.keyboard.press("Enter")
        expect(heads(page)).to_contain_text("anthropic-messages")
        expect(heads(page)).to_contain_text("claude-sonnet-4-6")
        expect(heads(page)).to_contain_text("431 tokens in, 148 out (71 reasoning)")
        expect(heads(page)).to_contain_text("tool_use")


# -- the filter


def test_a_click_shows_one_family_and_another_with_a_key_adds_it(tab: Page) -> None:
    with opened(tab) as page:
        load(page, json.dumps(TWO_RUNS))
        chips = page.get_by_role("group", name="Show events of")
        pressed, total = chips.locator("[aria-pressed=true]"), page.locator(".insp-total")
        expect(pressed).to_have_text(["All"])
        chips.get_by_role("button", name="Tools").click()
        expect(pressed).to_have_text(["Tools"])
        # The heading of a run stays if one of its events is shown.
        tools = ["TOOL_CALL_START", "TOOL_CALL_END"]
        expect(page.locator(".insp-type")).to_have_text(["RUN_STARTED", *tools])
        expect(total).to_have_text("2 of 14 events")
        chips.get_by_role("button", name="Text").click(modifiers=["Control"])
        expect(pressed).to_have_text(["Text", "Tools"])
        text = ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]
        expect(page.locator(".insp-type")).to_have_text(["RUN_STARTED", *text, *tools, "RUN_STARTED", *text])
        chips.get_by_role("button", name="Text").press("Control+Enter")
        expect(pressed).to_have_text(["Tools"])
        chips.get_by_role("button", name="All").click()
        expect(pressed).to_have_text(["All"])
        expect(total).to_have_text("14 events")


def test_words_are_found_in_types_in_ids_and_across_deltas(tab: Page) -> None:
    with opened(tab) as page:
        load(page, json.dumps(TWO_RUNS))
        field = page.get_by_role("searchbox", name="Filter events by type or text")
        for words, found in (
            ("raincoat", ["RUN_STARTED", "TEXT_MESSAGE_CONTENT"]),
            ("tool_call", ["RUN_STARTED", "TOOL_CALL_START", "TOOL_CALL_END"]),
            ("get_forecast", ["RUN_STARTED", "TOOL_CALL_START"]),
            ("(", []),
        ):
            field.fill(words)
            expect(page.locator(".insp-type")).to_have_text(found)
        expect(page.locator(".insp-toolbar [role=status]")).to_have_text("0 of 14 events")
        field.press("Escape")
        expect(field).to_have_value("")
        expect(rows(page, "TEXT_MESSAGE_END")).to_have_count(2)


def test_a_finding_in_a_filtered_list_is_shown_all_the_same(tab: Page) -> None:
    orphan = {"type": "TEXT_MESSAGE_END", "messageId": "nowhere"}
    with opened(tab) as page:
        load(page, json.dumps([*LOG[:-1], orphan, LOG[-1]]))
        page.get_by_role("button", name="Tools", exact=True).click()
        expect(page.locator(".insp-row")).to_have_count(0)
        show(page, "Check").get_by_role("button", name="Show event 6").click()
        expect(page.get_by_role("treeitem", selected=True)).to_contain_text("TEXT_MESSAGE_END")
        expect(page.get_by_role("button", name="All")).to_have_attribute("aria-pressed", "true")


# -- time


BAR = """(row) => {
    const boxOf = (part) => row.querySelector(part).getBoundingClientRect();
    const [bar, whole] = [boxOf(".insp-bar > span"), boxOf(".insp-bar")];
    const shares = [(bar.left - whole.left) / whole.width, bar.width / whole.width];
    return shares.map((share) => Math.round(share * 100));
}"""
EDGES = """(rows) => rows.map((row) => row.getBoundingClientRect()).map(({ top, bottom }) => [top, bottom])
    .sort((one, other) => one[0] - other[0])"""


def test_bars_show_when_and_how_long_in_two_columns(tab: Page) -> None:
    open_end = {"type": "TEXT_MESSAGE_START", "messageId": "m9", "role": "assistant"}
    events = timed(*said("m1", "a", "b", "c"), open_end, open_end | {"messageId": "m10"}, said("m10")[-1])
    with opened(tab) as page:
        load(page, json.dumps(events))
        start = rows(page, "TEXT_MESSAGE_START").first
        expect(start.locator(".insp-at")).to_have_text("+100 ms")
        expect(start.locator(".insp-took")).to_have_text("took 400 ms")
        assert start.evaluate(BAR) == [11, 44]
        content = rows(page, "TEXT_MESSAGE_CONTENT")
        expect(content.locator(".insp-took")).to_have_text("took 200 ms")
        assert content.evaluate(BAR) == [22, 22]
        left_open = rows(page, "TEXT_MESSAGE_START").nth(1)
        expect(left_open.locator(".insp-bar")).to_have_attribute("data-cut", "")
        expect(left_open.locator(".insp-took")).to_have_text("")
        edges = page.locator(".insp-at").evaluate_all(
            "(all) => all.map((at) => at.getBoundingClientRect().right)"
        )
        assert len(set(edges)) == 1
        assert (
            start.locator(".insp-at").evaluate("(at) => getComputedStyle(at).fontVariantNumeric")
            == "tabular-nums"
        )


def test_a_log_without_times_shows_none(tab: Page) -> None:
    with opened(tab) as page:
        load(page, json.dumps(LOG))
        expect(rows(page, "TEXT_MESSAGE_START")).to_be_visible()
        for part in (".insp-at", ".insp-took", ".insp-bar"):
            expect(page.locator(part).first).to_be_hidden()


# -- bursts


@pytest.mark.parametrize("family", ["TEXT_MESSAGE", "REASONING_MESSAGE"])
def test_a_burst_of_twenty_thousand_deltas_leaves_time_for_the_user(
    tab: Page, chromium: Browser, family: str
) -> None:
    """All of them in one response, which no server of ours is fast enough for."""
    role = {"TEXT_MESSAGE": "assistant", "REASONING_MESSAGE": "reasoning"}[family]
    deltas = ({"type": f"{family}_CONTENT", "messageId": "m", "delta": f"word{n} "} for n in range(20_000))
    start = {"type": f"{family}_START", "messageId": "m", "role": role}
    events = timed(start, *deltas, {"type": f"{family}_END", "messageId": "m"})
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    with opened(tab) as page:
        page.route("**/agent", lambda route: route.fulfill(content_type="text/event-stream", body=body))
        page.locator("#composer-input").fill("Umbrella?")
        with tasks_of(chromium, page) as tasks:
            page.keyboard.press("Enter")
            expect(page.locator(".insp-total")).to_have_text("20,004 events")
            expect(rows(page, "RUN_FINISHED")).to_have_count(1)
        assert 0 < max(tasks) < LONGEST_MS


# -- the keyboard


def test_the_keyboard_reaches_all_controls(tab: Page) -> None:
    with opened(tab) as page:
        load(page, json.dumps(TWO_RUNS))
        keys = page.keyboard
        page.get_by_role("tab", name="Events").focus()
        press_until_focused(page, "Tab", page.get_by_role("searchbox"))
        keys.type("raincoat")
        expect(page.locator(".insp-total")).to_have_text("2 of 14 events")
        keys.press("Escape")
        press_until_focused(page, "Tab", page.get_by_role("button", name="Tools", exact=True))
        keys.press("Enter")
        expect(page.locator(".insp-row")).to_have_count(3)
        press_until_focused(page, "Tab", page.get_by_role("checkbox", name="Follow"))
        keys.press("Space")
        expect(page.get_by_role("checkbox", name="Follow")).not_to_be_checked()
        press_until_focused(page, "Tab", page.get_by_role("tree", name="Events"))
        keys.press("End")
        selected = page.get_by_role("treeitem", selected=True)
        expect(selected).to_contain_text("TOOL_CALL_END")
        keys.press("ArrowLeft")  # to what it is in
        expect(selected).to_contain_text("RUN_STARTED")
        expect(selected).to_have_attribute("aria-level", "1")
        keys.press("ArrowRight")
        expect(selected).to_contain_text("TOOL_CALL_START")
        expect(selected).to_have_attribute("aria-level", "2")
        keys.press("Enter")
        expect(page.get_by_role("region", name="Selected event")).to_be_focused()
        press_until_focused(page, "Tab", page.get_by_role("button", name="Copy JSON"))
        keys.press("Escape")
        expect(page.get_by_role("tree", name="Events")).to_be_focused()


# -- narrow, low and large


def test_on_a_phone_rows_have_two_lines_and_chips_scroll(open_tab: OpenTab) -> None:
    phone = open_tab(viewport={"width": 390, "height": 800})
    with opened(phone) as page:
        page.get_by_role("button", name="Inspector").click()
        load(page, json.dumps(TWO_RUNS))
        content = rows(page, "TEXT_MESSAGE_CONTENT").first
        kind, words = (content.locator(part).bounding_box() for part in (".insp-type", ".insp-summary"))
        assert kind
        assert words
        assert words["y"] >= kind["y"] + kind["height"] / 2
        expect(content.locator(".insp-summary")).to_have_text("Let me look.")
        assert page.locator(".insp-row").nth(1).evaluate("(row) => row.clientHeight") == 42
        chips = page.get_by_role("group", name="Show events of")
        assert chips.evaluate("(chips) => chips.scrollWidth > chips.clientWidth && chips.clientHeight < 32")
        assert page.evaluate("() => document.documentElement.scrollWidth") == 390
        for name in ("Events", "History", "Request", "Check", "Gateway"):
            expect(page.get_by_role("tab", name=name)).to_be_in_viewport(ratio=1)
        assert violations(page) == []


def test_at_twice_the_size_most_of_the_screen_is_events(open_tab: OpenTab) -> None:
    """1280 by 720 pixels at 200 %."""
    with opened(open_tab(viewport={"width": 640, "height": 360})) as page:
        page.get_by_role("button", name="Inspector").click()
        load(page, json.dumps(TWO_RUNS))
        expect(heads(page).first).to_be_visible()
        expect(page.locator(".composer-hint")).to_be_hidden()
        box = page.get_by_role("tree", name="Events").bounding_box()
        assert box
        assert box["height"] > 360 * 0.5  # with the line that says that it is a log


def test_text_of_twice_the_size_fits_into_its_rows(tab: Page) -> None:
    with opened(tab) as page:
        page.evaluate("() => { document.documentElement.style.fontSize = '32px'; }")
        load(page, json.dumps(TWO_RUNS))
        expect(rows(page, "TOOL_CALL_START")).to_be_visible()
        boxes = page.locator(".insp-row").evaluate_all(EDGES)
        assert all(lower[0] >= upper[1] - 1 for upper, lower in pairwise(boxes))
