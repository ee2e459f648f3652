"""Test what is sent after a refusal: nothing of what was refused, in a request that the provider takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from agui_reasoning import ModelStream, ProviderError, ProviderRequest, Run, run_agent
from agui_reasoning.parts import Origin, ReasoningPart, Turn
from agui_reasoning.providers.refusals import Remedy, find_refusal, refusals
from agui_reasoning.request import History
from agui_reasoning.testing.strategies import turns
from tests.support.effort import examples
from tests.support.histories import Items, marked, marks, trimmed
from tests.support.strict_providers import PLACEHOLDERS, STRICT, Issued
from tests.unit.providers.test_refusals import KNOWN

Requests = list[ProviderRequest]
REMEDIES: dict[str, Remedy] = {row.id: row.remedy for row in refusals()}


def _is_refusal_of(target: Origin, row: str, status: int, words: str) -> bool:
    found = find_refusal(target, status=status, names=[], message=words)
    return found is not None and found.id == row


REFUSALS = {
    name: [
        (row, status, words)
        for row, _, status, words in KNOWN
        if _is_refusal_of(provider.target, row, status, words)
    ]
    for name, provider in STRICT.items()
}
"""The refusals that a provider may answer with: the row, the status and the words."""


def requested(items: Items, target: Origin, status: int, words: str) -> Requests:
    """The requests to a provider that refuses the first one."""
    made: Requests = []

    def ask(request: ProviderRequest) -> Iterator[Any]:
        made.append(request)
        if len(made) == 1:
            raise ProviderError(provider_message=words, status_code=status)
        return iter([])

    stream = ModelStream(ask, origin=target, history=History(tuple(items)))
    run = Run({"threadId": "t", "runId": "r", "messages": []}, on_warning=lambda text: None)
    assert list(run_agent(run, lambda run: iter([stream])))
    return made


def refused(name: str, items: Items, row: str, made: Requests) -> list[str]:
    """The provider takes every request."""
    issued = Issued()
    for item in items:
        if isinstance(item, Turn):
            issued.add(item)
    return [fault for one in made for fault in STRICT[name].refusals(_without_overrides(one), issued)]


def _without_overrides(request: ProviderRequest) -> dict[str, Any]:
    """The body without the fields that turn thinking off, which the shapes do not have."""
    added = {"extra_body" if flag.extra_body else flag.name.partition(".")[0] for flag in request.overrides}
    return {name: value for name, value in request.body.items() if name not in added}


def returned(name: str, items: Items, row: str, made: Requests) -> list[str]:
    """The last request has no value that was refused, and no reasoning if that was refused."""
    if REMEDIES[row] in ("send_reasoning", "thinking_off", "send_all", "send_unstored", "none"):
        return []
    body = made[-1].body
    values = [one.value for one in STRICT[name].artefacts(body) if one.value not in PLACEHOLDERS]
    texts = [f"[{turn}.{part}]" for turn, part in marks(body) if _is_private(items, row, turn, part)]
    return [*values, *texts]


def _is_private(items: Items, row: str, turn: int, part: int) -> bool:
    """Whether a mark is not that of reasoning which may be sent as text."""
    turns = {item.id: item for item in items if isinstance(item, Turn)}
    of_reasoning = isinstance(turns[f"resp_{turn}"].parts[part], ReasoningPart)
    return REMEDIES[row] == "strip_reasoning" or not of_reasoning


OWN: dict[str, st.SearchStrategy[Turn]] = {
    name: turns(target.api, provider=target.provider, model=target.model)
    for name, target in ((name, provider.target) for name, provider in STRICT.items())
}
"""What a provider has answered itself: the values of others are not sent to it anyway."""


def marked_turn(turn: Turn, number: int) -> Turn:
    parts = tuple(marked(part, (number, index)) for index, part in enumerate(turn.parts))
    return Turn(parts, turn.origin, f"resp_{number}")


def repeated(name: str, items: Items, row: str, made: Requests) -> list[str]:
    """The second request is not the first one again."""
    return ["repeated"] if len(made) == 2 and made[0].body == made[1].body else []


LAWS: tuple[Callable[[str, Items, str, Requests], list[str]], ...] = (refused, returned, repeated)


# One conversation for all providers: drawing it takes long. A failure names its row, so nothing is shrunk.
@settings(max_examples=examples(20), phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(items=trimmed(), data=st.data())
def test_a_second_request_has_nothing_of_what_was_refused(items: Items, data: st.DataObject) -> None:
    broken = {}
    for name, provider in STRICT.items():
        row, status, words = data.draw(st.sampled_from(REFUSALS[name]), label=name)
        thread = [*items, marked_turn(data.draw(OWN[name]), 900)]
        made = requested(thread, provider.target, status, words)
        for law in LAWS:
            if faults := law(name, thread, row, made):
                broken[name, row, law.__name__] = faults
    assert broken == {}


def test_every_row_is_the_answer_of_a_provider() -> None:
    drawn = {row for known in REFUSALS.values() for row, *_ in known}
    assert {row for row, *_ in KNOWN} <= drawn
