"""Test `rekey_messages`: a stored history under a new key."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import ActivityMessage, AssistantMessage, ReasoningMessage, UserMessage

from agui_reasoning.crypto import Binding, KeyRing, rekey_messages
from agui_reasoning.errors import ConfigurationError, DecryptionError, LocalProtocolError
from tests.unit.crypto.tokens import BOTH, HOME, NEW, OLD, OLD_KEY, TEXT, altered, header_of, with_header

PLAIN = '{"k":"agui-reasoning","v":2}'
FOREIGN = "EqoBCkgIARABGAIiQL8"


def old(text: bytes = TEXT, binding: Binding = HOME, **options: Any) -> str:
    return OLD.encrypt(text, binding, **options)


def reasoning(value: str | None, **more: Any) -> dict[str, Any]:
    return {"id": "r1", "role": "reasoning", "content": "Rain?", "encryptedValue": value} | more


def call(value: str | None, name: str = "c1") -> dict[str, Any]:
    function = {"name": "forecast", "arguments": "{}"}
    return {"id": name, "type": "function", "function": function, "encryptedValue": value}


def rekeyed(*messages: Any, keys: KeyRing = BOTH, **options: Any) -> list[Any]:
    return rekey_messages(messages, keys, thread_id="thread-1", tenant="acme", **options)


def test_values_on_messages_of_every_role_and_on_calls_get_the_new_key() -> None:
    history = [
        {"id": "u", "role": "user", "content": "Umbrella?", "encryptedValue": old(b"u")},
        reasoning(old(b"r"), id="r"),
        {"id": "a", "role": "assistant", "encryptedValue": old(b"a"), "toolCalls": [call(old(b"c"))]},
        {"id": "t", "role": "tool", "toolCallId": "c1", "content": "rain", "encryptedValue": old(b"t")},
        {"id": "s", "role": "system", "content": "Be brief.", "encryptedValue": old(b"s")},
        {"id": "d", "role": "developer", "content": "Be kind.", "encryptedValue": old(b"d")},
    ]
    messages = rekeyed(*history)
    found = {message.id: message.encrypted_value for message in messages}
    found["c"] = messages[2].tool_calls[0].encrypted_value
    assert {name: NEW.decrypt(value, HOME) for name, value in found.items()} == {
        name: name.encode() for name in "uratsdc"
    }


def test_nothing_else_in_a_history_changes() -> None:
    history = [
        reasoning(old(), metadata={"agui-reasoning": {"seq": 0}}, subagentRunId="s", extra=[1]),
        {
            "id": "a",
            "role": "assistant",
            "content": "Take one.",
            "toolCalls": [call(old()), call(None, "c2")],
        },
        {"id": "v", "role": "activity", "activityType": "plan", "content": {}, "encryptedValue": old()},
    ]
    before = [dump(message) for message in rekeyed(*history, keys=OLD)]
    after = [dump(message) for message in rekeyed(*history)]
    assert after[0].pop("encryptedValue") != before[0].pop("encryptedValue")
    calls = [message[1]["toolCalls"][0] for message in (before, after)]
    assert calls[0].pop("encryptedValue") != calls[1].pop("encryptedValue")
    assert after == before


@pytest.mark.parametrize("value", [None, "", PLAIN, FOREIGN, "eyJhbGciOiJIUzI1NiJ9.e30.AAAA"])
def test_values_that_are_not_ours_and_plain_ones_stay(value: str | None) -> None:
    [message] = rekeyed(reasoning(value))
    assert message.encrypted_value == value


def test_a_token_under_the_primary_key_stays_to_the_letter() -> None:
    token = BOTH.encrypt(TEXT, HOME)
    assert rekeyed(reasoning(token))[0].encrypted_value == token
    once = rekeyed(reasoning(old()))
    assert rekeyed(*once) == once


def test_models_are_accepted_and_not_changed() -> None:
    token = old()
    message = ReasoningMessage(id="r1", content="Rain?", encrypted_value=token)
    assistant = AssistantMessage.model_validate({"id": "a", "role": "assistant", "toolCalls": [call(token)]})
    others = [UserMessage(id="u", content="hi"), ActivityMessage(id="v", activity_type="plan", content={})]
    found = rekeyed(message, assistant, *others)
    assert [type(found_one) for found_one in found] == [
        ReasoningMessage, AssistantMessage, UserMessage, ActivityMessage,
    ]  # fmt: skip
    assert header_of(found[0].encrypted_value)["kid"] == "new"
    assert (message.encrypted_value, assistant.tool_calls[0].encrypted_value) == (token, token)
    assert found[2:] == others


def test_any_iterable_is_a_history_and_an_empty_one_is_empty() -> None:
    assert rekey_messages(iter([]), BOTH, thread_id="t") == []
    assert len(rekey_messages((m for m in [reasoning(None)]), BOTH, thread_id="t")) == 1


def test_a_token_that_is_bound_to_its_message_or_call_stays_bound() -> None:
    bound = [Binding("thread-1", tenant="acme", entity_id=name) for name in ("r1", "a")]
    of_call = Binding("thread-1", tenant="acme", entity_id="c1", subtype="tool-call")
    values = [old(b"1", bound[0]), old(b"2", bound[1]), old(b"3", of_call)]
    messages = rekeyed(
        reasoning(values[0]),
        {"id": "a", "role": "assistant", "encryptedValue": values[1], "toolCalls": [call(values[2])]},
    )
    assert NEW.decrypt(messages[0].encrypted_value, bound[0]) == b"1"
    assert NEW.decrypt(messages[1].encrypted_value, bound[1]) == b"2"
    assert NEW.decrypt(messages[1].tool_calls[0].encrypted_value, of_call) == b"3"
    with pytest.raises(DecryptionError):
        rekeyed(reasoning(values[0], id="r2"))


def test_expiry_is_kept() -> None:
    token = old(ttl_s=3600)
    [message] = rekeyed(reasoning(token))
    assert header_of(message.encrypted_value)["exp"] == header_of(token)["exp"]


def bad() -> dict[str, str]:
    late = KeyRing({"old": OLD_KEY}, now=lambda: 0)
    return {
        "altered": altered(old()),
        "cut": old()[:-9],
        "other header": with_header(old(), {"typ": "agui-reasoning+jwe"}),
        "another thread": old(TEXT, Binding("thread-2", tenant="acme")),
        "expired": late.encrypt(TEXT, HOME, ttl_s=1),
        "unknown key": KeyRing.generate("lost").encrypt(TEXT, HOME),
    }


@pytest.mark.parametrize("cause", bad())
def test_a_token_that_does_not_open_raises_and_there_is_no_result(cause: str) -> None:
    history = [reasoning(old()), reasoning(bad()[cause], id="r2")]
    with pytest.raises(DecryptionError) as caught:
        rekeyed(*history)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("cause", bad())
def test_a_token_that_does_not_open_is_kept_when_that_is_asked_for(cause: str) -> None:
    value = bad()[cause]
    messages = rekeyed(reasoning(old()), reasoning(value, id="r2"), on_undecryptable="keep")
    assert header_of(messages[0].encrypted_value)["kid"] == "new"
    assert messages[1].encrypted_value == value


@pytest.mark.parametrize(
    "message", [{"id": "r", "role": "reasoning"}, {"role": "poet"}, {}, None, "text", ["PLAINTEXT-MARKER"]]
)
def test_what_is_no_message_is_refused_without_being_repeated(message: Any) -> None:
    with pytest.raises(LocalProtocolError) as caught:
        rekeyed(reasoning(None), message)
    assert caught.value.code == "bad_message"
    assert caught.value.__context__ is None
    assert "PLAINTEXT" not in str(caught.value)


def test_a_misspelt_choice_is_refused() -> None:
    with pytest.raises(ConfigurationError) as caught:
        rekeyed(on_undecryptable="skip")
    assert caught.value.code == "wrong_option"


def dump(message: Any) -> dict[str, Any]:
    return message.model_dump(by_alias=True, exclude_none=True)
