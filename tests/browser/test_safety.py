"""Nothing that comes from a model becomes part of the page, and the page loads nothing but its own."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from urllib.parse import urlsplit

from playwright.sync_api import Page, expect

from agui_reasoning.deltas import CloseDelta, ReasoningDelta, TextDelta, ToolCallDelta
from tests.browser.conftest import OpenChat
from tests.browser.inspected import load, opened
from tests.browser.upstreams import Told, serving
from tests.support.browser import Faults

HOSTILE = """<img src=x onerror="pwned=1"><script>pwned=1</script><a href="javascript:pwned=1">x</a>
</p></article><style>*{display:none}</style> ${pwned=1} &lt;b&gt; \u202e"""

TAGS = "() => [...document.querySelectorAll('img, script, a, style, iframe')].map((one) => one.outerHTML)"


def test_hostile_words_are_shown_as_words(open_chat: OpenChat) -> None:
    items = [
        ReasoningDelta(HOSTILE, key="0"),
        CloseDelta(key="0"),
        TextDelta(HOSTILE),
        ToolCallDelta('c1"><img src=x>', "get_<img src=x onerror=pwned=1>", '{"<img src=x>": "<img src=y>"}'),
        CloseDelta(),
    ]
    chat = open_chat(Told(items))
    before = chat.page.evaluate(TAGS)
    chat.ask(HOSTILE)
    chat.expect_rest()
    expect(chat.answers).to_contain_text(['<img src=x onerror="pwned=1">'])
    closed = chat.page.locator("#chat [aria-expanded=false]")
    while closed.count():
        closed.first.click()
    for name in ("Events", "History", "Request", "Check"):
        chat.page.get_by_role("tab", name=name).click()
        assert chat.page.evaluate(TAGS) == before
    assert chat.page.evaluate("typeof pwned") == "undefined"


def test_a_stored_log_is_shown_as_words(tab: Page) -> None:
    frame = {"threadId": HOSTILE, "runId": HOSTILE}
    message = {"messageId": HOSTILE}
    log = [
        {"type": "RUN_STARTED", **frame},
        {"type": "TEXT_MESSAGE_START", **message, "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", **message, "delta": HOSTILE},
        {"type": "TEXT_MESSAGE_END", **message},
        {"type": "CUSTOM", "name": HOSTILE, "value": {HOSTILE: HOSTILE}},
        {"type": HOSTILE, HOSTILE: HOSTILE},
        {"type": "RUN_ERROR", "message": HOSTILE, "code": HOSTILE},
    ]
    with opened(tab) as page:
        expect(page.locator("a", has_text="Capabilities of this gateway")).to_be_attached()
        before = page.evaluate(TAGS)
        load(page, json.dumps(log), f"{HOSTILE}.log")
        expect(page.locator("#chat")).to_contain_text('<img src=x onerror="pwned=1">')
        for name in ("Events", "History", "Request", "Check"):
            page.get_by_role("tab", name=name).click()
            assert page.evaluate(TAGS) == before
        assert page.evaluate("typeof pwned") == "undefined"


def test_a_script_that_got_into_the_page_does_not_run(replayed: str, tab: Page, faults: Faults) -> None:
    tab.goto(replayed)
    faults.expect("Content Security Policy")
    faults.expect("lost: .* csp")
    tab.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "pwned = 1";
            document.body.append(script);
            document.body.insertAdjacentHTML("beforeend", '<img src="x:" onerror="pwned = 1">');
        }"""
    )
    said = tab.evaluate("() => fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'blocked')")
    assert (said, tab.evaluate("typeof pwned")) == ("blocked", "undefined")


def test_a_gateway_without_a_page_has_none() -> None:
    with serving(page=False) as url:
        address = urlsplit(url)
        connection = HTTPConnection(address.hostname or "", address.port)
        connection.request("GET", "/")
        with connection.getresponse() as response:
            assert response.status == 404
        connection.close()
