"""Foreign and damaged units, of every API and every kind of part: never sent, always reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from ag_ui.core import Message, ToolMessage, UserMessage
from msgspec.structs import replace

from agui_reasoning import Run, build_request, reduce_events, restore
from agui_reasoning.deltas import Delta, fold, unfold
from agui_reasoning.parts import (
    NativePart,
    Opaque,
    Origin,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Turn,
)
from agui_reasoning.policy import EchoRule
from agui_reasoning.providers import decoder, provider_api, provider_apis
from agui_reasoning.providers.echo import rule_for
from agui_reasoning.replay import CONVERSATIONS, load_script
from agui_reasoning.request import History, ProviderRequest
from tests.property.test_echoed import readable, secrets

APIS = [api.id for api in provider_apis()]
FAR = Origin("elsewhere", "other-api", "other-1")


@cache
def spoken(api: str) -> Turn:
    """The first response of an API's own script: reasoning, then a call."""
    script = load_script(CONVERSATIONS[api])
    reader = decoder(api, provider=script["provider"], model=script["model"])
    deltas: list[Delta] = [delta for event in script["events"] for delta in reader.receive(event["data"])]
    parts = fold([*deltas, *reader.close()])
    return Turn(tuple(parts), parts[0].origin, "turn-1")


def changed(turn: Turn, change: Callable[[Part], Part]) -> Turn:
    return replace(turn, parts=tuple(map(change, turn.parts)))


@dataclass(frozen=True)
class Case:
    """A damaged history.

    Attributes:
        turns: Its turns, each of which is answered.
        victims: What may not be sent.
        options: The options of the request.
    """

    turns: tuple[Turn, ...]
    victims: tuple[Part, ...]
    options: dict[str, Any]

    def request(self, target: Origin) -> ProviderRequest:
        items: list[Turn | Message] = []
        for number, turn in enumerate(self.turns):
            items += [UserMessage(id=f"u{number}", content="And?"), turn]
            items += [
                ToolMessage(id=f"r-{part.id}", tool_call_id=part.id, content="4C")
                for part in turn.parts
                if isinstance(part, ToolCallPart) and not part.server
            ]
        if not items or isinstance(items[-1], Turn) or self.options.pop("later", False):
            items.append(UserMessage(id="last", content="And now?"))
        return build_request(
            str(target.api),
            History(tuple(items)),
            provider=target.provider,
            model=target.model,
            on_warning=lambda text: None,
            **self.options,
        )


def with_values(turn: Turn) -> tuple[Part, ...]:
    """The units of a turn that have an entry in the report."""
    return tuple(
        part for part in turn.parts if isinstance(part, ReasoningPart) or getattr(part, "opaque", ())
    )


def reasoning(turn: Turn) -> tuple[Part, ...]:
    return tuple(part for part in turn.parts if isinstance(part, ReasoningPart))


def own_row(turn: Turn, **columns: Any) -> list[EchoRule]:
    assert turn.origin is not None
    return [rule_for(turn.origin).model_copy(update={"flags": (), **columns})]


# -- the damages


def of_another_provider(turn: Turn) -> Case:
    far = replace(changed(turn, lambda part: replace(part, origin=FAR)), origin=FAR)
    return Case((far,), with_values(far), {})


def of_another_provider_of_the_same_api(turn: Turn) -> Case:
    assert turn.origin is not None
    near = replace(turn.origin, provider="elsewhere")
    far = replace(changed(turn, lambda part: replace(part, origin=near)), origin=near)
    return Case((far,), with_values(far), {})


def of_nobody(turn: Turn) -> Case:
    lost = replace(changed(turn, lambda part: replace(part, origin=None)), origin=None)
    return Case((lost,), with_values(lost), {})


def cut_reasoning(turn: Turn) -> Case:
    cut = changed(turn, lambda p: replace(p, status="incomplete") if isinstance(p, ReasoningPart) else p)
    return Case((cut,), reasoning(cut), {})


def cut_call(turn: Turn) -> Case:
    cut = changed(turn, lambda p: replace(p, status="incomplete") if isinstance(p, ToolCallPart) else p)
    return Case((cut,), tuple(part for part in cut.parts if isinstance(part, ToolCallPart)), {})


def reasoning_alone(turn: Turn) -> Case:
    alone = replace(turn, parts=reasoning(turn))
    return Case((alone,), alone.parts, {})


def of_an_earlier_turn(turn: Turn) -> Case:
    row = own_row(turn, scope="tool_loop", needed=None, scope_with_flags=None)
    return Case((turn,), with_values(turn), {"policy": row, "later": True})


def against_the_policy(turn: Turn) -> Case:
    assert turn.origin is not None
    row = EchoRule(api=str(turn.origin.api), status="rejected")
    return Case((turn,), with_values(turn), {"policy": [row]})


def without_values(turn: Turn) -> Case:
    bare = changed(turn, lambda p: replace(p, opaque=()) if hasattr(p, "opaque") else p)
    stores = provider_api(str(turn.origin and turn.origin.api)).stores
    return Case((bare,), reasoning(bare), {"store": False} if stores else {})


def foreign_block(turn: Turn) -> Case:
    block = NativePart("other.block", {"encrypted_content": "FOREIGN"}, origin=FAR)
    return Case((replace(turn, parts=(block, *turn.parts)),), (block,), {})


def foreign_result(turn: Turn) -> Case:
    call = ToolCallPart("srv", "search", "{}", server=True, origin=FAR)
    result = ToolResultPart("srv", "found", native={"encrypted_content": "FOREIGN"}, origin=FAR)
    return Case((replace(turn, parts=(call, result, *turn.parts)),), (result,), {})


def foreign_text(turn: Turn) -> Case:
    text = TextPart("Hello.", (Opaque("other.value", "FOREIGN", attach="text"),), origin=FAR)
    return Case((replace(turn, parts=(*turn.parts, text)),), (text,), {})


def said_twice(turn: Turn) -> Case:
    call = next(part for part in turn.parts if isinstance(part, ToolCallPart))
    again = changed(turn, lambda part: replace(part, id="again") if part is call else part)
    return Case((turn, replace(again, id="turn-2")), (), {})


DAMAGES: dict[Callable[[Turn], Case], tuple[str, set[str]]] = {
    of_another_provider: ("foreign_origin", {*APIS}),
    of_another_provider_of_the_same_api: ("foreign_origin", {*APIS}),
    of_nobody: ("unknown_origin", {*APIS}),
    cut_reasoning: ("incomplete", {*APIS}),
    cut_call: ("incomplete", {*APIS}),
    reasoning_alone: ("orphan", {*APIS}),
    of_an_earlier_turn: ("out_of_scope", {*APIS}),
    against_the_policy: ("policy", {*APIS}),
    without_values: ("missing_signature", {"anthropic-messages", "bedrock-converse", "gemini-interactions"}),
    foreign_block: ("native_foreign", {*APIS}),
    foreign_text: ("foreign_origin", {*APIS}),
}
"""The damages, the reason in the report, and the APIs whose units are lost by it."""

ROWS = [(damage, reason, api) for damage, (reason, apis) in DAMAGES.items() for api in sorted(apis)]


@pytest.mark.parametrize(
    ("damage", "reason", "api"), [*ROWS, (without_values, "missing_encrypted", "openai-responses")]
)
def test_a_damaged_unit_is_not_sent_and_is_reported(
    damage: Callable[[Turn], Case], reason: str, api: str
) -> None:
    turn = spoken(api)
    case = damage(turn)
    assert turn.origin is not None
    request = case.request(turn.origin)
    body = json.dumps(request.body, ensure_ascii=False, default=readable)
    damaged = [entry for entry in request.report if entry.reason == reason]
    assert len(damaged) == len(case.victims) > 0
    assert {entry.outcome for entry in damaged} <= {"dropped", "placeholder"}
    assert [secret for part in case.victims for secret in secrets(part) if secret in body] == []
    assert len(request.explain().splitlines()) == len({(e.outcome, e.reason) for e in request.report})


def test_every_reason_of_a_damage_is_in_the_table() -> None:
    """An API that reads bare text does not miss a value; what else can be damaged is damaged everywhere."""
    assert {reason for reason, _ in DAMAGES.values()} == {
        *("foreign_origin", "unknown_origin", "incomplete", "orphan", "out_of_scope", "policy"),
        *("missing_signature", "native_foreign"),
    }
    needy = {api for api in APIS if rule_for(spoken(api).origin or Origin()).needs == "signature"}
    assert needy == DAMAGES[without_values][1]


@pytest.mark.parametrize("api", APIS)
def test_the_block_of_a_foreign_server_tool_is_not_sent(api: str) -> None:
    turn = spoken(api)
    assert turn.origin is not None
    request = foreign_result(turn).request(turn.origin)
    assert "FOREIGN" not in json.dumps(request.body, ensure_ascii=False, default=readable)


@pytest.mark.parametrize("api", APIS)
def test_an_item_id_stands_once(api: str) -> None:
    """The same response twice: only items with IDs can clash, and the second one is reported."""
    turn = spoken(api)
    assert turn.origin is not None
    reasons = [entry.reason for entry in said_twice(turn).request(turn.origin).report]
    assert ("duplicate_id" in reasons) == (api == "openai-responses")


@pytest.mark.parametrize("api", APIS)
def test_reasoning_whose_text_was_changed_loses_its_value(api: str) -> None:
    turn = spoken(api)
    assert turn.origin is not None
    given = {"threadId": "t", "runId": "r", "state": {}, "tools": [], "context": [], "forwardedProps": {}}
    run = Run({**given, "messages": []}, api=turn.origin.api, provider=turn.origin.provider)
    events = [*run.start(), *(event for delta in unfold(list(turn.parts)) for event in run.receive(delta))]
    messages = [
        message.model_dump(mode="json", by_alias=True, exclude_none=True)
        for message in reduce_events([*events, *run.finish()])
    ]
    shown = next(message for message in messages if message["role"] == "reasoning")
    shown["content"] += " And more."
    history = restore([*messages, {"id": "u", "role": "user", "content": "And now?"}])
    request = build_request(
        str(turn.origin.api),
        history,
        provider=turn.origin.provider,
        model=turn.origin.model,
        on_warning=lambda text: None,
    )
    first = next(part for part in turn.parts if isinstance(part, ReasoningPart))
    body = json.dumps(request.body, ensure_ascii=False, default=readable)
    assert "And more." not in body
    assert [value.value for value in first.opaque if value.value in body] == []
    changed_unit = [entry for entry in request.report if entry.reason == "text_modified"]
    assert [entry.outcome for entry in changed_unit] in (["dropped"], ["placeholder"])
