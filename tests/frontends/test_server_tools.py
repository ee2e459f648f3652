"""Tools that run on the server: what both responses of a run must send back comes back, in their order."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page, expect

from agui_reasoning.deltas import fold
from agui_reasoning.parts import TextPart
from agui_reasoning.replay import compare, load_script, read_answer, read_request
from tests.frontends.agent import agent_with_a_tool
from tests.frontends.front_ends import FRONT_ENDS
from tests.frontends.harness import FrontEnd
from tests.support.server_tools import deltas_of

if TYPE_CHECKING:
    from tests.support.browser import Faults

SCRIPTS = ("openai-weather", "gemini-weather", "mistral-weather", "chat-weather", "anthropic-weather")
UMBRELLA, BICYCLE = "Umbrella or raincoat?", "And if I go by bicycle?"

every = pytest.mark.parametrize("front_end", FRONT_ENDS, ids=repr)


@every
@pytest.mark.parametrize("script", SCRIPTS)
def test_the_next_request_has_both_responses(
    tab: Page, faults: Faults, pages: str, front_end: FrontEnd, script: str
) -> None:
    for pattern in front_end.faults:
        faults.expect(pattern)
    scripts = script, f"{script}-2"
    answer = next(
        part.text for part in fold(deltas_of(load_script(scripts[1]))) if isinstance(part, TextPart)
    )
    last_words = " ".join(answer.split()[-3:])
    with agent_with_a_tool(scripts, front_end.stages) as (url, requests):
        tab.goto(f"{pages}/{front_end.name}/?agent={url}&thread=thread-1")
        for number, question in enumerate([UMBRELLA, BICYCLE], start=1):
            front_end.ask(tab, question)
            expect(tab.get_by_text(last_words)).to_have_count(number)
            front_end.wait_until_idle(tab)
    exchanges = [load_script(name) for name in scripts]
    sent = read_request(exchanges[0]["api"], requests[2])
    checks = compare(chain.from_iterable(map(read_answer, exchanges)), sent)
    assert [check.kind for check in checks if not check.unchanged] == []
