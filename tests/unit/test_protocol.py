"""Test the protocol module: models under their own names, and the field of 1.1."""

from __future__ import annotations

import ag_ui.core
from pydantic import TypeAdapter

from agui_reasoning import protocol
from agui_reasoning.protocol import (
    Event,
    ReasoningEncryptedValueEvent,
    ReasoningMessage,
    encrypted_value_type,
    with_encrypted_value_type,
)


def test_every_reasoning_model_of_the_protocol_is_here_and_is_the_protocols_own() -> None:
    theirs = {
        name
        for name in dir(ag_ui.core)
        if name.startswith("Reasoning") and name.endswith(("Event", "Message"))
    }
    assert theirs <= set(protocol.__all__)
    assert all(getattr(protocol, name) is getattr(ag_ui.core, name) for name in theirs)


def test_the_type_of_an_encrypted_value_is_read_and_set_on_what_came_from_the_wire() -> None:
    wire = {
        "type": "REASONING_ENCRYPTED_VALUE",
        "subtype": "message",
        "entityId": "m",
        "encryptedValue": "v",
        "encryptedValueType": "anthropic.signature",
    }
    event = TypeAdapter(Event).validate_python(wire)
    assert encrypted_value_type(event) == "anthropic.signature"
    bare = with_encrypted_value_type(event, None)
    assert encrypted_value_type(bare) is None
    assert "encryptedValueType" not in bare.model_dump(by_alias=True)
    assert (
        with_encrypted_value_type(bare, "anthropic.signature").model_dump(mode="json", by_alias=True) == wire
    )
    assert encrypted_value_type(event) == "anthropic.signature"


def test_a_message_takes_the_type_too() -> None:
    message = ReasoningMessage(id="m", role="reasoning", content="", encrypted_value="v")
    typed = with_encrypted_value_type(message, "openai.encrypted_content")
    assert typed.model_dump(by_alias=True)["encryptedValueType"] == "openai.encrypted_content"
    assert encrypted_value_type(message) is None


def test_an_event_of_ours_never_has_the_type() -> None:
    event = ReasoningEncryptedValueEvent(subtype="message", entity_id="m", encrypted_value="v")
    assert encrypted_value_type(event) is None
