"""Markdown in answers and reasoning becomes elements, while it streams and afterwards; nothing else does."""

from __future__ import annotations

import threading
from typing import Any

from playwright.sync_api import Browser, Page, expect

from agui_reasoning.deltas import ReasoningDelta, TextDelta
from tests.browser.axe import violations
from tests.browser.conftest import OpenChat
from tests.browser.tracing import LONGEST_MS, tasks_of
from tests.browser.upstreams import Told, answered, thought

EVERYTHING = """# Raincoat
Take the **raincoat**, not the *umbrella*, ~~nor~~ `both`: see https://example.org/a and [this](https://example.org/b).

- One
  1. Two

> Three

| Hour | Rain |
|:--|--:|
| 14:00 | 4.2 |

```python
print("rain")
```

---
#### Small
![A picture](https://example.org/p.png)
"""
ELEMENTS = {
    *("h3", "h4", "p", "strong", "em", "del", "code", "a", "ul", "ol", "li", "blockquote", "hr"),
    *("table", "thead", "tbody", "tr", "th", "td", "figure", "figcaption", "pre", "span", "div", "button"),
    *("svg", "path"),
}
_ELEMENTS = """(root) => [...root.querySelectorAll("*")].map(({ localName }) => localName)"""
_ANSWER_TAGS = "() => [...document.querySelectorAll('.answer-text *')].map(({ localName }) => localName)"


def test_each_kind_of_markdown_is_an_element(open_chat: OpenChat) -> None:
    chat = open_chat(Told([*thought(EVERYTHING), *answered(EVERYTHING)]))
    chat.ask("Show **everything**.")
    chat.expect_rest()
    assert set(chat.page.evaluate(_ANSWER_TAGS)) == ELEMENTS
    chat.thoughts.locator("button.thought-toggle").click()
    assert chat.thoughts.locator(".markdown").evaluate(_ELEMENTS) == chat.page.evaluate(_ANSWER_TAGS)
    links = chat.answers.get_by_role("link")
    expect(links).to_have_text(["https://example.org/a", "this", "A picture"])
    for link in links.all():
        expect(link).to_have_attribute("rel", "noopener noreferrer")
        expect(link).to_have_attribute("target", "_blank")
    expect(chat.questions.locator(".bubble")).to_have_text(["Show **everything**."])
    chat.page.wait_for_load_state("networkidle")
    assert violations(chat.page) == []


def test_code_has_a_label_and_is_copied(open_chat: OpenChat) -> None:
    tab = {"permissions": ["clipboard-read", "clipboard-write"]}
    chat = open_chat(Told(answered(EVERYTHING)), tab=tab)
    chat.ask("Show everything.")
    chat.expect_rest()
    code = chat.answers.locator(".code")
    expect(code.locator(".code-language")).to_have_text("python")
    chat.button("Copy", code).click()
    expect(chat.button("Copied", code)).to_be_visible()
    assert chat.page.evaluate("() => navigator.clipboard.readText()") == 'print("rain")\n'


def test_what_is_complete_is_not_touched_again(open_chat: OpenChat) -> None:
    more = threading.Event()
    chat = open_chat(Told([TextDelta("One *two*.\n\n- Three\n- Four **fi"), more, TextDelta("ve**\n\nSix.")]))
    chat.ask("Count.")
    expect(chat.answers.locator("strong")).to_have_text(["fi"])  # what it will be
    chat.page.evaluate(
        "() => { globalThis.kept = [...document.querySelectorAll('.answer-text :is(p, em, li)')]; }"
    )
    more.set()
    chat.expect_rest()
    expect(chat.answers.locator("strong")).to_have_text(["five"])
    assert chat.page.evaluate("() => kept.every((element) => element.isConnected)")
    expect(chat.answers.locator("p")).to_have_text(["One two.", "Three", "Four five", "Six."])


ATTACKS = """<img src=x onerror="pwned=1"> <script>pwned=1</script> <svg/onload=pwned=1>
[a](javascript:pwned=1) [b](JaVaScRiPt:pwned=1) [c](\tjavascript:pwned=1)
[d](data:text/html,<script>pwned=1</script>)
[e](vbscript:x) <javascript:pwned=1> [f](https://x.org" onmouseover="pwned=1) ![g](javascript:pwned=1)
![h](x" onerror="pwned=1) [i](https://x.org 'a" onclick="pwned=1') https://x.org/"onclick="pwned=1
[j](//evil.org) [k](https://good.org@evil.org/) [l](file:///etc/passwd) [m](&#106;avascript:pwned=1) [n][o]
[o]: javascript:pwned=1

| <img src=x onerror=pwned=1> |
|---|
| [p](javascript:pwned=1) |

``` "><img src=x onerror=pwned=1>
</code></pre><img src=x onerror=pwned=1>
```
# <a href="javascript:pwned=1">q</a>
<style>*{display:none}</style><iframe src=javascript:pwned=1></iframe><base href=//evil.org>
<form action=//evil.org>
"""
_LINKS = """(root) => [...root.querySelectorAll("a")].map((link) => [
    link.protocol, link.username, link.getAttributeNames().sort().join(" "),
])"""
_ATTRIBUTES = (
    "(root) => [...new Set([...root.querySelectorAll('*')].flatMap((one) => one.getAttributeNames()))]"
)


def test_attacks_are_words(open_chat: OpenChat) -> None:
    """No element but the known ones, no address but those of the web, no other attribute, no request."""
    chat = open_chat(Told([ReasoningDelta(ATTACKS, key="0"), *thought(""), *answered(ATTACKS)]))
    chat.ask(ATTACKS)
    chat.expect_rest()
    chat.thoughts.locator("button.thought-toggle").click()
    for text in chat.page.locator(".markdown").all():
        expect(text).to_contain_text("<script>pwned=1</script>")
        assert set(text.evaluate(_ELEMENTS)) <= ELEMENTS
        links = text.evaluate(_LINKS)
        assert links
        assert {tuple(link) for link in links} <= {("https:", "", "href rel target")}
        assert not [
            name for name in text.evaluate(_ATTRIBUTES) if name.startswith("on") or name in {"src", "style"}
        ]
    for element in chat.page.locator(".markdown :is(a, img, p, td, code)").all():
        element.dispatch_event("mouseover")
        element.dispatch_event("error")
    chat.page.wait_for_load_state("networkidle")
    assert chat.page.evaluate("typeof pwned") == "undefined"


_FUZZ = """async ([seeds, allowed]) => {
    const { MarkdownText } = await import("/_page/markdown/view.js");
    const pieces = [
        "*", "**", "_", "`", "```", "~~", "[", "]", "(", ")", "](http://a.b)", "](javascript:a)", "![", "<",
        ">", "<b>", "http://x.y", "\\n", "\\n\\n", "- ", "1. ", "> ", "# ", "|", " ", "    ", "word ", "\\\\",
        "\\n| a | b |\\n|---|---|\\n", "é", "中",
    ];
    const wrong = [];
    for (const seed of seeds) {
        let state = seed;
        const next = (limit) => (state = (state * 1103515245 + 12345) % 2 ** 31) % limit;
        const grown = new MarkdownText("x");
        let text = "";
        for (let count = 5 + next(60); count > 0; count -= 1) {
            grown.update((text += pieces[next(pieces.length)]), true);
        }
        grown.update(text);
        const whole = new MarkdownText("x");
        whole.update(text);
        grown.element.normalize();
        whole.element.normalize();
        const isKnown = ({ localName }) => allowed.includes(localName);
        const isWeb = ({ protocol }) => ["http:", "https:"].includes(protocol);
        if (grown.element.outerHTML !== whole.element.outerHTML) wrong.push(["grown otherwise", text]);
        if (![...whole.element.querySelectorAll("*")].every(isKnown)) wrong.push(["an element", text]);
        if (![...whole.element.querySelectorAll("a")].every(isWeb)) wrong.push(["an address", text]);
    }
    return wrong;
}"""


def test_any_text_is_shown_with_known_elements_and_in_any_pieces_alike(modules: Page) -> None:
    allowed = [*ELEMENTS, "h5", "h6"]
    assert modules.evaluate(_FUZZ, [[seed * 7919 for seed in range(1, 400)], allowed]) == []


_BURST = 20_000


def _words() -> list[str]:
    kinds = {50: "\n\n- item ", 11: "`code` ", 7: "**bold** "}
    return [
        next((text for step, text in kinds.items() if number % step == 0), f"word{number} ")
        for number in range(_BURST)
    ]


def test_a_burst_leaves_the_page_responsive(open_chat: OpenChat, chromium: Browser) -> None:
    """No task takes long, so that keys and clicks are answered meanwhile."""
    words = _words()
    half = _BURST // 2
    reasoning: list[Any] = [ReasoningDelta(word, key="0") for word in words[:half]]
    text = [*(TextDelta(word) for word in words[half:]), TextDelta("\n\nThe end.")]
    chat = open_chat(Told([*reasoning, *thought("."), *text]))
    with tasks_of(chromium, chat.page) as tasks:
        chat.ask("Count.")
        chat.expect_rest()
    expect(chat.answers.get_by_text("The end.")).to_be_visible()
    assert 0 < max(tasks) < LONGEST_MS
