"""Values that only their account reads are not sent to another one, and nothing tells its name."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from ag_ui.core import UserMessage
from msgspec.structs import replace

from agui_reasoning import History, KeyRing, ModelStream, Run, build_request, restore, run_agent
from agui_reasoning.consumer import Conversation
from agui_reasoning.deltas import OpaqueDelta, ReasoningDelta, ResponseStart, TextDelta
from agui_reasoning.parts import (
    NativePart,
    Opaque,
    Origin,
    Part,
    ReasoningPart,
    Segment,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Turn,
)
from agui_reasoning.providers import decoder

CLAUDE = Origin("anthropic", "anthropic-messages", "claude-opus-4-5", account="org-first")
GPT = Origin("openai", "openai-responses", "gpt-5.4", account="org-first")
GEMINI = Origin("google", "gemini", "gemini-3-pro", account="org-first")
DEEPSEEK = Origin("deepseek", "openai-chat", "deepseek-v4-flash", account="org-first")

WORDS = (Segment("text", 0, "Hm."),)
SIGNED = ReasoningPart(WORDS, (Opaque("anthropic.signature", "c2ln"),))
CALL = ToolCallPart("call_1", "look", "{}")
SIGNED_CALL = replace(CALL, opaque=(Opaque("gemini.thought_signature", "c2ln", attach="tool_call:call_1"),))
ENCRYPTED = ReasoningPart((), (Opaque("openai.encrypted_content", "ZW5j"),), item_id="rs_1")
STORED = ReasoningPart((Segment("summary", 0, "Hm."),), item_id="rs_1")
SEARCH = ToolCallPart("srvtoolu_1", "web_search", "{}", server=True, ext={"type": "server_tool_use"})
FOUND = ToolResultPart(
    "srvtoolu_1",
    "",
    native={
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [
            {"type": "web_search_result", "url": "https://a", "title": "A", "encrypted_content": "ZW5j"}
        ],
    },
)
COMPACTION = NativePart("openai.compaction", {"type": "compaction", "encrypted_content": "ZW5j"})
PLAIN = ReasoningPart(WORDS, ext={"field": "reasoning_content"})
SECRETS = ("c2ln", "ZW5j", "rs_1", "fc_1")


def of_account(origin: Origin, account: str | None) -> Origin:
    return replace(origin, account=account)


def request(origin: Origin, *parts: Part, account: str | None, policy: Any = (), **more: Any) -> Any:
    turn = Turn((*parts, TextPart("Yes.")), origin=origin)
    history = History((UserMessage(id="1", content="A?"), turn, UserMessage(id="2", content="B?")))
    return build_request(
        None, history, origin=of_account(origin, account), on_warning=lambda _: None, policy=policy, **more
    )


BOUND = [
    pytest.param(CLAUDE, (SIGNED,), id="a signature"),
    pytest.param(GPT, (ENCRYPTED,), id="encrypted reasoning"),
    pytest.param(GPT, (STORED, replace(CALL, ext={"id": "fc_1"})), id="reasoning that the provider stores"),
    pytest.param(GPT, (COMPACTION,), id="a block"),
    pytest.param(GEMINI, (SIGNED_CALL,), id="a signature on a call"),
    pytest.param(CLAUDE, (SEARCH, FOUND), id="encrypted results of a server tool"),
]


@pytest.mark.parametrize(("origin", "parts"), BOUND)
def test_another_account_gets_no_value_and_no_id_of_a_response(
    origin: Origin, parts: tuple[Part, ...]
) -> None:
    asked = request(origin, *parts, account="org-second")
    assert not [secret for secret in SECRETS if secret in str(asked.body)]
    assert {entry.outcome for entry in asked.report} <= {"dropped", "placeholder"}
    # The report has no entry for calls and results without a value, whoever made them.
    assert [entry.reason for entry in asked.report] == ([] if SEARCH in parts else ["other_account"])


@pytest.mark.parametrize("account", ["org-first", None], ids=["the same account", "an unknown account"])
@pytest.mark.parametrize(("origin", "parts"), BOUND)
def test_the_same_account_or_an_unknown_one_gets_what_it_got_before(
    origin: Origin, parts: tuple[Part, ...], account: str | None
) -> None:
    before = request(of_account(origin, None), *parts, account=None)
    asked = request(origin, *parts, account=account)
    assert asked.body == before.body
    assert [secret for secret in SECRETS if secret in str(asked.body)]


def test_reasoning_without_a_value_belongs_to_no_account() -> None:
    tool_loop = (PLAIN, CALL)
    asked = request(DEEPSEEK, *tool_loop, account="org-second")
    assert asked.body == request(DEEPSEEK, *tool_loop, account="org-first").body
    assert "Hm." in str(asked.body)


def test_accounts_of_two_providers_are_not_compared() -> None:
    turn = Turn((SIGNED, TextPart("Yes.")), origin=CLAUDE)
    history = History((UserMessage(id="1", content="A?"), turn, UserMessage(id="2", content="B?")))
    bedrock = Origin("bedrock", "anthropic-messages", "claude-opus-4-5", account="aws-1")
    assert "c2ln" in str(build_request(None, history, origin=bedrock).body)


def test_reasoning_of_another_account_is_passed_on_as_plain_text_if_asked_for() -> None:
    asked = request(CLAUDE, SIGNED, account="org-second", foreign_reasoning="context")
    assert "Hm." in str(asked.body["messages"][-1])


@pytest.mark.parametrize("keys", [None, KeyRing({"k": bytes(32)})], ids=["plain", "encrypted"])
@pytest.mark.parametrize("named", [True, False], ids=["by the decoder", "by the run"])
def test_the_account_survives_the_envelope_and_its_name_is_in_no_event(
    keys: KeyRing | None, named: bool
) -> None:
    conversation = Conversation("thread")
    run = Run(conversation.run_input("A?"), origin=CLAUDE, keys=keys)
    start = ResponseStart(CLAUDE if named else of_account(CLAUDE, None))
    items = (start, ReasoningDelta("Hm."), OpaqueDelta(SIGNED.opaque[0]), TextDelta("Yes."))
    events = run.start()
    for item in items:
        events += run.receive(item)
    for event in events + run.finish():
        assert "org-first" not in event.model_dump_json()
        conversation.receive(event)
    history = restore(conversation.run_input("B?"), keys=keys)
    (turn,) = history.turns
    assert turn.origin == CLAUDE
    asked = build_request(None, history, origin=of_account(CLAUDE, "org-second"), on_warning=lambda _: None)
    assert [entry.reason for entry in asked.report] == ["other_account"]


def test_a_run_asks_with_its_account_and_a_stream_or_a_request_with_its_own() -> None:
    targets: list[Origin] = []

    def source(request: Any) -> list[Any]:
        targets.append(request.target)
        return []

    def agent(run: Run) -> Any:
        yield ModelStream(source)
        yield ModelStream(source, model="claude-opus-5")
        yield ModelStream(source, origin=of_account(CLAUDE, "org-second"))
        yield ModelStream(source, api="anthropic-messages", provider="bedrock")

    list(run_agent(Conversation("t").run_input("A?"), agent, origin=CLAUDE))
    first, second = CLAUDE.account, of_account(CLAUDE, "org-second").account
    assert [target.account for target in targets] == [first, first, second, None]
    assert Run(Conversation("t").run_input("A?"), origin=CLAUDE).request().target == CLAUDE


def test_a_decoder_names_its_account_in_every_origin() -> None:
    read = decoder(origin=GPT)
    created = {
        "type": "response.created",
        "response": {"id": "resp_1", "object": "response", "model": "gpt-5.4-2"},
    }
    (start,) = [delta for delta in read.receive(created) if isinstance(delta, ResponseStart)]
    assert start.origin == replace(GPT, model="gpt-5.4-2")


def test_an_account_is_kept_as_a_hash_that_stands_for_it() -> None:
    assert CLAUDE.account == "sha256:44fcccb2ffba"
    assert of_account(CLAUDE, CLAUDE.account) == CLAUDE
    assert replace(CLAUDE, model="m").account == CLAUDE.account
    assert of_account(CLAUDE, "org-second") != CLAUDE
    assert "org" not in repr(CLAUDE)


def test_a_failed_run_logs_no_account(caplog: pytest.LogCaptureFixture) -> None:
    def agent(run: Run) -> Any:
        yield ModelStream([{"type": "error", "error": {"type": "overloaded_error", "message": "No."}}])

    with caplog.at_level(logging.DEBUG):
        run = Run(Conversation("t").run_input("A?"), origin=CLAUDE)
        list(run_agent(run, agent))
    assert caplog.records
    assert "org-first" not in caplog.text + repr(run)
