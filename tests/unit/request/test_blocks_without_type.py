"""Blocks without a type: some APIs read an ID alone as a reference, so they are never sent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ag_ui.core import UserMessage

from agui_reasoning import History, build_request
from agui_reasoning.crypto import Binding, KeyRing
from agui_reasoning.parts import NativePart, Origin, TextPart, ToolCallPart, ToolResultPart, Turn
from agui_reasoning.providers import provider_api
from tests.internals.envelopes import Envelope, EnvelopeWriter, ResponsePlace, native_unit

KEYS = KeyRing({"k": bytes(32)})
MARK = "msg_of_somebody_else"
PREFIXES = {
    "anthropic-messages": "anthropic",
    "openai-responses": "openai",
    "mistral-chat": "mistral",
    "gemini-interactions": "gemini",
}
TYPES = {
    "missing": {},
    "null": {"type": None},
    "empty": {"type": ""},
    "a list": {"type": ["x"]},
    "a number": {"type": 7},
}


def target(api: str) -> Origin:
    provider, model = provider_api(api).example
    return Origin(provider, api, model)


def body(origin: Origin, history: Any, **options: Any) -> str:
    request = build_request(
        str(origin.api),
        history,
        provider=origin.provider,
        model=origin.model,
        on_warning=lambda warning: None,
        **options,
    )
    return json.dumps(request.body)


@pytest.mark.parametrize("api", PREFIXES)
@pytest.mark.parametrize("how", TYPES)
def test_a_block_without_a_type_is_not_sent_even_if_its_value_was_encrypted(api: str, how: str) -> None:
    origin, payload = target(api), {**TYPES[how], "id": MARK}
    for kind in dict.fromkeys(
        (f"{PREFIXES[api]}.{payload.get('type')}", f"{PREFIXES[api]}.None", f"{PREFIXES[api]}.")
    ):
        envelope = Envelope(
            origin=origin,
            response=ResponsePlace(id="r", messages=("a",)),
            units=(native_unit(0, name=kind, payload=payload),),
        )
        value = EnvelopeWriter(KEYS, Binding("thread")).write(envelope)
        messages = [
            {"id": "u", "role": "user", "content": "Hi."},
            {"id": "t", "role": "reasoning", "content": "", "encryptedValue": value},
            {"id": "a", "role": "assistant", "content": "Yes."},
            {"id": "v", "role": "user", "content": "And now?"},
        ]
        assert MARK not in body(origin, messages, keys=KEYS, thread_id="thread")
        turn = Turn((NativePart(kind, payload, origin), TextPart("Yes.", origin=origin)), origin)
        items = (UserMessage(id="u", content="Hi."), turn, UserMessage(id="v", content="And now?"))
        assert MARK not in body(origin, History(items))


def test_arguments_of_an_action_are_only_its_fields() -> None:
    """The client sees arguments and sends them back: they must not turn into other fields of the item."""
    origin = target("openai-responses")
    arguments = {"action": {"type": "click"}, "type": "item_reference", "id": MARK, "file_id": MARK}
    for server in (True, False):
        call = ToolCallPart(
            "c", "computer", json.dumps(arguments), server, origin=origin, ext={"type": "computer_call"}
        )
        turn = Turn((call, ToolResultPart("c", "done"), TextPart("Yes.", origin=origin)), origin)
        sent = body(
            origin, History((UserMessage(id="u", content="Hi."), turn, UserMessage(id="v", content="?")))
        )
        assert MARK not in sent
        assert '"type": "computer_call"' in sent
