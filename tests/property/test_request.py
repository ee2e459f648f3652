"""Test the law *pairing out*: no history leads to a request that breaks a rule of its provider."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from ag_ui.core import SystemMessage, ToolMessage, UserMessage
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agui_reasoning.parts import (
    CUT_CALL_RESULT,
    NativePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    Turn,
)
from agui_reasoning.request import History, ProviderRequest, build_request
from tests.laws import law
from tests.support.effort import examples
from tests.support.histories import Items, changing, conversations, marks, trimmed
from tests.support.sdk_types import check_types
from tests.support.strict_providers import STRICT, Issued, family
from tests.support.validators import check_end, check_responses


def build(items: Items, target: str, **options: Any) -> ProviderRequest:
    provider = STRICT[target].target
    return build_request(
        provider.api or "",
        History(tuple(items)),
        provider=provider.provider,
        model=provider.model,
        on_warning=lambda text: None,
        **options,
    )


def turns_in(items: Items) -> list[Turn]:
    return [item for item in items if isinstance(item, Turn)]


def refused(target: str, items: Items, made: ProviderRequest) -> list[str]:
    """No history makes a request that the provider refuses."""
    issued = Issued()
    for turn in turns_in(items):
        issued.add(turn)
    # A changed effort is a field of the request for models that do not take it inside the conversation.
    added = {"extra_body" if flag.extra_body else flag.name.partition(".")[0] for flag in made.overrides}
    body = {name: value for name, value in made.body.items() if name not in added - {"extra_headers"}}
    return STRICT[target].refusals(body, issued)


def misreported(target: str, items: Items, made: ProviderRequest) -> list[str]:
    """Every unit that must go back is in the report once, and so is every call that was cut."""
    report = made.report
    units = [part for turn in turns_in(items) for part in turn.parts]
    reported = sum(_is_reported(part) for part in units)
    # Whether such a call was cut depends on whether it was answered.
    perhaps = sum(isinstance(part, ToolCallPart) and not _is_reported(part) for part in units)
    unexplained = [entry for entry in report if entry.outcome != "echoed" and not entry.reason]
    return [*map(repr, unexplained), *([] if reported <= len(report) <= reported + perhaps else ["count"])]


def _is_reported(part: Part) -> bool:
    cut = isinstance(part, ToolCallPart) and part.status == "incomplete"
    return cut or isinstance(part, ReasoningPart | NativePart) or bool(getattr(part, "opaque", ()))


def unfaithful(target: str, items: Items, made: ProviderRequest) -> list[str]:
    """The report says of each unit whether it is in the body, and nothing foreign is."""
    reader = family(STRICT[target].target)
    sent = set(marks(made.body))
    outcomes = {(entry.answer, entry.unit): entry.outcome for entry in made.report}
    faults = []
    for number, turn in enumerate(turns_in(items), 1):
        for index, part in enumerate(turn.parts):
            place = int(str(turn.id).removeprefix("resp_")), index
            name = getattr(part, "seen", "") or getattr(part, "id", "") or f"{turn.id}:{index}"
            told = outcomes.get((number, name)) == "echoed"
            if place in sent and family(part.origin or turn.origin) != reader:
                faults.append(f"{place} is foreign")
            # An item may be sent for its ID alone.
            visible = bool(set(marks(_written(part)))) and not getattr(part, "item_id", None)
            if (place in sent and not told) or (told and visible and place not in sent):
                faults.append(f"{place} is sent: {place in sent}, echoed: {told}")
    return faults


def _written(part: Part) -> list[str]:
    """The texts of reasoning and the values of a part."""
    segments = part.segments if isinstance(part, ReasoningPart) else ()
    return [*(one.text for one in segments), *(one.value for one in getattr(part, "opaque", ()))]


def rewritten(target: str, items: Items, made: ProviderRequest) -> list[str]:
    """What is sent of the past does not change when the conversation goes on.

    Prefix caches and prefix-bound signatures depend on it.
    """
    fields = {"openai-responses": "input", "gemini-interactions": "input", "gemini": "contents"}
    field = fields.get(str(STRICT[target].target.api), "messages")
    whole = [item for item in items if not isinstance(item, SystemMessage)]
    ends = [n for n, item in enumerate(whole) if isinstance(item, UserMessage) and item.content == "Hi."]
    pasts = [past for past in (whole[: end + 1] for end in ends) if _settled(past, whole)]
    after = build(whole, target).body[field] if pasts else []
    befores = [list(_unfinished(build(past, target).body[field])) for past in pasts]
    return [repr(before) for before in befores if after[: len(before)] != before]


def _unfinished(sent: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the messages before the user's last one, to which another may be added if no response follows."""
    changes = ("system", "configuration_update")
    said = [number for number, item in enumerate(sent) if item.get("role", item.get("type")) not in changes]
    yield from sent[: max(said, default=0)]


LAWS = (refused, misreported, unfaithful, rewritten)


# One conversation for all targets and laws: drawing it takes about as long as sixty requests.
@law("pairing out")
@settings(max_examples=examples(100))
@given(items=trimmed().flatmap(changing))
def test_a_request_keeps_every_law_whatever_the_history(items: Items) -> None:
    broken = {
        (target, law.__name__): faults
        for target in STRICT
        for made in [build(items, target)]
        for law in LAWS
        if (faults := law(target, items, made))
    }
    assert broken == {}


ONE_OF_EACH = {one.target.api: name for name, one in reversed(STRICT.items())}
"""One target of each API, for what does not depend on the provider."""


@law("pairing out")
@settings(max_examples=examples(40))
@given(items=trimmed())
def test_the_types_of_the_sdk_take_a_request_whatever_the_history(items: Items) -> None:
    found = {api: check_types(str(api), build(items, name).body) for api, name in ONE_OF_EACH.items()}
    assert {api: fault for api, fault in found.items() if fault} == {}


CUT = ToolCallPart("cut", "get", '{"torn place": "Ber', status="incomplete")
TORN: dict[str, Items] = {
    "an envelope says so": [Turn((CUT,))],
    "answered all the same": [Turn((CUT,)), ToolMessage(id="r", tool_call_id="cut", content="found")],
    "stopped": [Turn((TextPart("Hm."), replace(CUT, status="complete")))],
    "answered by its run": [
        Turn((TextPart("Hm."), replace(CUT, arguments="{}", status="complete"))),
        ToolMessage(id="r", tool_call_id="cut", content=CUT_CALL_RESULT),
    ],
    "no call": [Turn((TextPart("Hm."),)), ToolMessage(id="r", tool_call_id="other", content="found")],
    "no words": [Turn((TextPart("Hm."),)), UserMessage(id="u", content=" ")],
}


@pytest.mark.parametrize("tail", TORN.values(), ids=TORN)
@given(items=conversations(), asked=st.booleans(), target=st.sampled_from(sorted(STRICT)))
def test_no_request_ends_with_the_models_turn_because_of_what_was_left_out(
    tail: Items, items: Items, asked: bool, target: str
) -> None:
    question: Items = [UserMessage(id="q", content="Hi.")] if asked else []
    whole = [*items, *question, *tail]
    provider = STRICT[target]
    body = build(whole, target).body
    assert [*check_end(provider.target.api or "", body), *provider.refusals(body)] == []
    assert "torn place" not in str(body)


@given(items=conversations())
def test_nothing_that_a_stateless_server_cannot_know_is_sent(items: Items) -> None:
    assert check_responses(build(items, "openai", store=False).body) == []


@given(items=conversations())
def test_reasoning_stands_directly_before_something_of_the_models_own(items: Items) -> None:
    sent = build(items, "openai").body["input"]
    for number, item in enumerate(sent):
        if item.get("type") == "reasoning":
            follower = sent[number + 1]
            assert follower.get("role", "assistant") == "assistant"
            assert not str(follower.get("type")).endswith("_output")


def _is_compacted(item: Any) -> bool:
    """Whether a block of a response takes the place of everything before it."""
    parts = item.parts if isinstance(item, Turn) else ()
    return any(isinstance(part, NativePart) and part.kind == "anthropic.compaction" for part in parts)


def _settled(part: Items, whole: Items) -> bool:
    """No result came later for a call of the past, no scope moved on with the user's words, nor a summary."""
    known = _call_ids(part)
    rest = whole[len(part) :]
    if any(_is_compacted(item) for item in rest):
        return False
    late = any(isinstance(item, ToolMessage) and item.tool_call_id in known for item in rest)
    return not late and len(_call_ids(whole)) == len(set(_call_ids(whole)))


def _call_ids(items: Items) -> list[str]:
    parts = [part for item in items if isinstance(item, Turn) for part in item.parts]
    return [part.id for part in parts if isinstance(part, ToolCallPart)]
