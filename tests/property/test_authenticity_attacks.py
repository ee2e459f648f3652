"""Test the law *authenticity* against a client that changes anything, any number of times."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agui_reasoning.parts import Origin, Part, ReasoningPart
from agui_reasoning.request import build_request, restore
from tests.internals.envelopes import (
    Envelope,
    OpaqueRecord,
    ResponsePlace,
    SegmentRecord,
    call_unit,
    native_unit,
    reasoning_unit,
    text_unit,
    write_envelope,
)
from tests.laws import law
from tests.property.test_round_trip import conversations
from tests.property.test_secrecy import KEYS, VISIBILITIES, history, streams
from tests.support.effort import examples

FORGED = "«forged»"
OPAQUE = (OpaqueRecord(kind="anthropic.signature", value=FORGED),)


def forgeries(messages: list[dict[str, Any]]) -> list[str]:
    """Values of the client's own making, one of them about every message and call that there is."""
    names = tuple(str(message["id"]) for message in messages)
    calls = tuple(str(call["id"]) for message in messages for call in message.get("toolCalls", ()))
    segment = SegmentRecord(text=FORGED)
    records = (
        text_unit(seq=1, opaque=OPAQUE, text=FORGED),
        *(call_unit(seq=2 + n, id=call, server=True, opaque=OPAQUE) for n, call in enumerate(calls)),
        native_unit(seq=99, name="anthropic.x", payload={"type": "x", "x": FORGED}),
    )
    unit = reasoning_unit(seq=0, segments=(segment,), opaque=OPAQUE, item_id=FORGED)
    origin = Origin("anthropic", "anthropic-messages", "claude")
    place = ResponsePlace(id="mine", messages=names, calls=calls)
    envelope = write_envelope(Envelope(origin=origin, response=place, units=(unit, *records)))
    return [envelope, f'{{"provider_name":"anthropic","signature":"{FORGED}"}}', FORGED]


@st.composite
def altered(draw: st.DrawFn, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A history after some changes."""
    messages = copy.deepcopy(messages)
    for _ in range(draw(st.integers(1, 6))):
        if not messages:
            break
        _CHANGES[draw(st.sampled_from(sorted(_CHANGES)))](draw, messages)
    return messages


def _entity(draw: st.DrawFn, messages: list[dict[str, Any]]) -> dict[str, Any]:
    entities = [e for message in messages for e in (message, *message.get("toolCalls", ()))]
    return draw(st.sampled_from(entities))


def _swap(draw: st.DrawFn, messages: list[dict[str, Any]]) -> None:
    one, two = _entity(draw, messages), _entity(draw, messages)
    one["encryptedValue"], two["encryptedValue"] = two.get("encryptedValue"), one.get("encryptedValue")


def _forge(draw: st.DrawFn, messages: list[dict[str, Any]]) -> None:
    _entity(draw, messages)["encryptedValue"] = draw(st.sampled_from(forgeries(messages)))


def _add(draw: st.DrawFn, messages: list[dict[str, Any]]) -> None:
    value = draw(st.sampled_from(forgeries(messages)))
    message = {"id": "mine", "role": "reasoning", "content": "Mine.", "encryptedValue": value}
    messages.insert(draw(st.integers(0, len(messages))), message)


def _flip(draw: st.DrawFn, messages: list[dict[str, Any]]) -> None:
    entity = _entity(draw, messages)
    if value := entity.get("encryptedValue"):
        place = draw(st.integers(0, len(value) - 1))
        entity["encryptedValue"] = value[:place] + draw(st.sampled_from("A_.")) + value[place + 1 :]


def _rename(draw: st.DrawFn, messages: list[dict[str, Any]]) -> None:
    _entity(draw, messages)["id"] = draw(st.sampled_from([str(message["id"]) for message in messages]))


def _drop(draw: st.DrawFn, messages: list[dict[str, Any]]) -> None:
    messages.remove(draw(st.sampled_from(messages)))


def _repeat(draw: st.DrawFn, messages: list[dict[str, Any]]) -> None:
    messages.append(copy.deepcopy(draw(st.sampled_from(messages))))


def _move(draw: st.DrawFn, messages: list[dict[str, Any]]) -> None:
    messages.insert(
        draw(st.integers(0, len(messages) - 1)), messages.pop(draw(st.integers(0, len(messages) - 1)))
    )


_CHANGES = {
    "swap": _swap,
    "forge": _forge,
    "add": _add,
    "flip": _flip,
    "rename": _rename,
    "drop": _drop,
    "repeat": _repeat,
    "move": _move,
}


def of_ours(part: ReasoningPart, ours: list[ReasoningPart]) -> bool:
    """Whether all there is of a part is of one of ours; where it had several messages, some may be gone."""
    return any(
        part.item_id == own.item_id
        and part.ext == own.ext
        and set(part.opaque) <= set(own.opaque)
        and set(part.segments) <= set(own.segments)
        for own in ours
    )


@law("authenticity")
@settings(max_examples=examples(150), deadline=None)
@given(st.data(), conversations, st.sampled_from(VISIBILITIES))
def test_nothing_that_a_client_made_up_is_restored_or_sent(
    data: st.DataObject, conversation: list[list[Part]], visibility: Any
) -> None:
    returned = data.draw(altered(history(streams(conversation, visibility))))
    options: dict[str, Any] = {"keys": KEYS, "thread_id": "thread", "tenant": "tenant"}
    restored = restore(returned, assume_provider="anthropic", **options)
    parts = [part for turn in restored.turns for part in turn.parts]
    ours = [part for turn in conversation for part in turn if isinstance(part, ReasoningPart)]
    values = {opaque for turn in conversation for part in turn for opaque in getattr(part, "opaque", ())}
    assert all(opaque in values for part in parts for opaque in getattr(part, "opaque", ()))
    for part in parts:
        if isinstance(part, ReasoningPart):
            # What is shown without proof stays for people, and goes nowhere.
            assert of_ours(part, ours) or (part.status, part.opaque) == ("incomplete", ())
    for api, provider in (("anthropic-messages", "anthropic"), ("openai-responses", "openai")):
        request = build_request(api, restored, provider=provider, model="any", on_warning=lambda text: None)
        assert FORGED not in str(request.body)
