"""Test that reasoning which Claude was not shown is reported once, and is not sent to that model again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import anthropic
import pytest
from ag_ui.core import UserMessage
from hypothesis import given
from hypothesis import strategies as st

from agui_reasoning import Conversation, ModelStream, Run, build_request, run_agent
from agui_reasoning.audit import AuditRecord
from agui_reasoning.client import AgentClient
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import (
    FinishDelta,
    InputTransformation,
    InputTransformationsDelta,
    ResponseStart,
    TextDelta,
)
from agui_reasoning.gateway import HTTPUpstream, create_app, local_server
from agui_reasoning.parts import Opaque, Origin, ReasoningPart, TextPart, ToolCallPart, Turn, WithheldUnit
from agui_reasoning.providers import decoder
from agui_reasoning.request import History, ProviderRequest, restore
from agui_reasoning.testing import FRONT_ENDS
from tests.internals.envelopes import unit_digest
from tests.support.strict_claude import BETA, StrictClaude, events
from tests.support.verifier import Client, plain

Json = dict[str, Any]
OPUS, FABLE = "claude-opus-5", "claude-fable-5-1"
ORIGINS = {model: Origin("anthropic", "anthropic-messages", model) for model in (OPUS, FABLE)}
KEYS = KeyRing({"k": bytes(32)})
FIRST = "U2lnbmF0dXJl0001"
DROPPED = {"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "prefix_binding_mismatch"}
ways = pytest.mark.parametrize(
    ("visibility", "keys"), [("full", None), ("full", KEYS), ("summary", KEYS), ("hidden", KEYS)]
)


def of(model: str) -> Json:
    return {"api": "anthropic-messages", "provider": "anthropic", "model": model}


def user(number: int) -> UserMessage:
    return UserMessage(id=f"u{number}", content=f"Question {number}.")


def thought(name: str, model: str = FABLE) -> ReasoningPart:
    return ReasoningPart((), (Opaque("anthropic.signature", f"U2ln{name}"),), origin=ORIGINS[model])


def turn(name: str, *withheld: str, model: str = FABLE, asked: str | None = None) -> Turn:
    """A response whose thought has a name, and which reports others as withheld."""
    units = tuple(WithheldUnit(str(unit_digest(thought(one))), asked or model) for one in withheld)
    parts = (thought(name, model), TextPart(name, origin=ORIGINS[model]))
    return Turn(parts, ORIGINS[model], withheld=units)


def history(*turns: Turn) -> History:
    pairs = [item for number, one in enumerate(turns) for item in (user(number), one)]
    return History((*pairs, user(len(turns))))


def request(given: History, model: str = FABLE) -> ProviderRequest:
    return build_request("anthropic-messages", given, provider="anthropic", model=model)


def names_in(sent: ProviderRequest) -> list[str]:
    """The names of the thoughts in a request."""
    blocks = [block for message in sent.body["messages"] for block in message["content"]]
    return [block["signature"].removeprefix("U2ln") for block in blocks if block["type"] == "thinking"]


# -- decoding


def message(*content: Json, **more: Json | list[Json]) -> Json:
    usage = {"input_tokens": 1, "output_tokens": 1}
    return {
        "type": "message",
        "role": "assistant",
        "id": "msg_1",
        "model": FABLE,
        "content": [*content],
        "stop_reason": "end_turn",
        "stop_details": None,
        "usage": usage,
        **more,
    }


TEXT = {"type": "text", "text": "Yes."}
OTHER = {"type": "thinking_mismatch_allowed", "path": "messages.3.content.1", "reason": "x"}


def reports(payloads: Any) -> list[InputTransformationsDelta]:
    reader = decoder("anthropic-messages")
    deltas = [delta for payload in payloads for delta in reader.receive(payload)]
    return [delta for delta in deltas if isinstance(delta, InputTransformationsDelta)]


def test_a_stream_reports_at_its_start() -> None:
    given = message(
        TEXT, input_transformations=[DROPPED, OTHER, {"type": "new"}, "?", {**DROPPED, "path": 1}]
    )
    expected = InputTransformationsDelta(
        (
            InputTransformation("messages.1.content.0", "prefix_binding_mismatch"),
            InputTransformation("messages.3.content.1", "x", dropped=False),
        )
    )
    assert reports(events(given)) == [expected]
    whole = decoder("anthropic-messages").whole(given)
    assert [delta for delta in whole if isinstance(delta, InputTransformationsDelta)] == [expected]


@pytest.mark.parametrize("value", [[], None, "messages.1", {"path": "x"}])
def test_an_empty_or_odd_list_is_no_report(value: Any) -> None:
    assert reports(events(message(TEXT, input_transformations=value))) == []


def test_after_a_change_of_model_the_last_list_is_that_of_the_other_model() -> None:
    change = {
        "type": "fallback",
        "from": {"model": FABLE},
        "to": {"model": OPUS},
        "trigger": {"type": "refusal"},
    }
    start = message(input_transformations=[DROPPED])
    end = {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {},
        "input_transformations": [{**DROPPED, "path": "messages.5.content.0"}],
    }
    payloads = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": TEXT},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": change},
        {"type": "content_block_stop", "index": 1},
        end,
        {"type": "message_stop"},
    ]
    found = [(delta.model, [entry.path for entry in delta.entries]) for delta in reports(payloads)]
    assert found == [(None, ["messages.1.content.0"]), (OPUS, ["messages.5.content.0"])]
    whole = decoder("anthropic-messages").whole(message(TEXT, change, TEXT, input_transformations=[DROPPED]))
    assert [delta.model for delta in whole if isinstance(delta, InputTransformationsDelta)] == [OPUS]


# -- a run


class Asked:
    """A run that builds a request and gets a report."""

    def __init__(self, *entries: InputTransformation, requests: int = 1, own: bool = False) -> None:
        self.warnings: list[str] = []
        self.records: list[AuditRecord] = []
        given = {"threadId": "t", "runId": "r", "messages": []}
        run = Run(given, **of(FABLE), on_warning=self.warnings.append, on_audit=self.records.append)
        self.events = run.start()
        for number in range(requests):
            sent = run.request(history=history(turn("A"), turn("B")), system=f"{number}" if own else None)
        if own and requests > 1:
            run.sends(sent)
        deltas = [ResponseStart(ORIGINS[FABLE]), InputTransformationsDelta(entries), TextDelta("Yes.")]
        for delta in (*deltas, FinishDelta("end_turn")):
            self.events += run.receive(delta)
        self.events += run.finish()
        self.history = run.history
        Client().feed(plain(self.events)).done()

    @property
    def reported(self) -> list[tuple[str, str, str]]:
        return [(r.outcome, r.path, r.reason) for r in self.records if r.action == "reported"]


A, B = (
    InputTransformation("messages.1.content.0", "model_binding_mismatch"),
    InputTransformation("messages.3.content.0", "prefix_binding_mismatch"),
)
PASSED = InputTransformation("messages.3.content.0", "prefix_binding_mismatch", dropped=False)


def test_a_report_is_one_warning_and_a_record_per_path() -> None:
    asked = Asked(A, B)
    assert asked.warnings == [
        "The model was not shown 2 reasoning unit(s) of the request (model_binding_mismatch: another model "
        "produced them; prefix_binding_mismatch: the conversation before them has changed). They are left "
        "out of later requests to it."
    ]
    assert asked.reported == [
        ("withheld", "messages.1.content.0", "model_binding_mismatch"),
        ("withheld", "messages.3.content.0", "prefix_binding_mismatch"),
    ]
    (answer,) = asked.history.turns
    assert answer.withheld == tuple(
        WithheldUnit(str(unit_digest(thought(name))), FABLE, entry.reason)
        for name, entry in (("A", A), ("B", B))
    )


def test_what_was_shown_although_it_failed_a_check_is_sent_again() -> None:
    asked = Asked(PASSED)
    assert asked.warnings == [
        "The model was shown, although they failed a check, 1 reasoning unit(s) of the request "
        "(prefix_binding_mismatch: the conversation before them has changed)."
    ]
    assert asked.reported == [("shown", "messages.3.content.0", "prefix_binding_mismatch")]
    assert asked.history.turns[0].withheld == ()


@pytest.mark.parametrize(
    "path", ["messages.1.content.1", "messages.0.content.0", "messages.9.content.0", "messages.-1.x", "", "²"]
)
def test_a_place_without_reasoning_of_ours_is_reported_and_forgotten(path: str) -> None:
    asked = Asked(InputTransformation(path, "new_mismatch"))
    assert asked.warnings == [
        "The model was not shown 1 reasoning unit(s) of the request "
        "(new_mismatch: a reason of the provider's)."
    ]
    assert asked.reported == [("withheld", path, "new_mismatch")]
    assert asked.history.turns[0].withheld == ()


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("model_binding_mismatch", "another model produced them"),
        ("prefix_binding_mismatch", "the conversation before them has changed"),
        ("organization_mismatch", "another account produced them"),
        ("end_user_mismatch", "they were produced for another end user"),
        ("user_mismatch", "a reason of the provider's"),
    ],
)
def test_the_cause_is_told_in_words(reason: str, cause: str) -> None:
    [warning] = Asked(InputTransformation("messages.1.content.0", reason)).warnings
    assert f"({reason}: {cause})" in warning


@pytest.mark.parametrize("requests", [0, 1])
def test_a_record_names_who_reported_with_and_without_a_known_request(requests: int) -> None:
    records = Asked(A, requests=requests).records
    origin = ORIGINS[FABLE]
    assert [(one.provider, one.api, one.model) for one in records if one.action == "reported"] == [
        (origin.provider, origin.api, FABLE)
    ]


def test_without_a_request_or_with_several_nothing_is_remembered() -> None:
    assert Asked(A, requests=0).history.turns[0].withheld == ()
    assert len(Asked(A, requests=2).history.turns[0].withheld) == 1  # the same request twice
    assert len(Asked(A, requests=2, own=True).history.turns[0].withheld) == 1  # the run was told which one
    run = Run({"threadId": "t", "runId": "r", "messages": []}, **of(FABLE), on_warning=lambda sentence: None)
    run.start()
    for system in ("1", "2"):
        run.request(history=history(turn("A")), system=system)
    given = [ResponseStart(ORIGINS[FABLE]), InputTransformationsDelta((A,)), TextDelta("Yes.")]
    for delta in (*given, FinishDelta("end_turn")):
        run.receive(delta)
    assert run.history.turns[0].withheld == ()


# -- the next request


def test_a_withheld_unit_is_left_out_and_reported() -> None:
    sent = request(history(turn("A"), turn("B", "A")))
    assert names_in(sent) == ["B"]
    assert [(entry.outcome, entry.reason) for entry in sent.report] == [
        ("dropped", "withheld"),
        ("echoed", ""),
    ]
    assert sent.lost == ()
    assert sent.explain().splitlines()[0] == (
        f"answer 1 ({FABLE}): 1 unit left out: "
        "anthropic did not show it to this model when it was sent before."
    )


def test_another_model_still_gets_it() -> None:
    """Fable's thinking is not shown to Opus, but Fable itself reads it."""
    given = history(turn("A"), turn("B", "A", model=OPUS))
    assert names_in(request(given, OPUS)) == ["B"]
    assert "A" in names_in(request(given, FABLE))


def test_a_unit_that_a_fallback_model_was_not_shown_is_sent_to_the_requested_one() -> None:
    assert names_in(request(history(turn("A"), turn("B", "A", asked=OPUS)))) == ["A", "B"]


def test_between_units_that_are_sent_it_stays_where_the_model_checks_their_order() -> None:
    given = history(turn("A"), turn("B"), turn("C", "B"))
    assert names_in(request(given, FABLE)) == ["A", "B", "C"]
    opus = history(turn("A", model=OPUS), turn("B", model=OPUS), turn("C", "B", model=OPUS))
    assert names_in(request(opus, OPUS)) == ["A", "C"]


def test_in_a_tool_loop_it_stays_because_the_model_requires_it() -> None:
    call = ToolCallPart("c1", "get", "{}", origin=ORIGINS[OPUS])
    loop = Turn((thought("A", OPUS), call), ORIGINS[OPUS])
    last = turn("B", "A", model=OPUS)
    assert names_in(request(History((user(0), loop, last)), OPUS)) == ["A", "B"]
    assert names_in(request(History((user(0), loop, last, user(1))), OPUS)) == ["B"]


@given(st.data())
def test_no_other_unit_is_ever_left_out(data: st.DataObject) -> None:
    names = [chr(65 + number) for number in range(data.draw(st.integers(1, 6)))]
    model = data.draw(st.sampled_from([OPUS, FABLE]))
    turns, withheld = [], set[str]()
    for number, name in enumerate(names):
        known = data.draw(st.sets(st.sampled_from(names[:number] or ["?"])))
        withheld |= known
        turns.append(turn(name, *sorted(known), model=model))
    sent = names_in(request(history(*turns), model))
    assert [name for name in names if name not in withheld] == [name for name in sent if name not in withheld]
    if model == OPUS:
        assert not withheld & set(sent)
    else:  # nothing is missing between two that are sent
        assert sent == names[len(names) - len(sent) :]


@ways
@pytest.mark.parametrize("front_end", [None, *FRONT_ENDS])
def test_the_report_comes_back_through_every_front_end(
    front_end: str | None, visibility: str, keys: KeyRing | None
) -> None:
    """Even from an answer that is only text, which needs no value otherwise."""
    thread = Conversation("t")
    sent = thread.run_input("Hello.")
    run = Run(sent, **of(FABLE), visibility=visibility, keys=keys, on_warning=lambda sentence: None)
    found = [*run.start()]
    run.request(history=history(turn("A")))
    for delta in (ResponseStart(ORIGINS[FABLE]), InputTransformationsDelta((A,)), TextDelta("Yes.")):
        found += run.receive(delta)
    for event in [*found, *run.finish()]:
        thread.receive(event)
    messages = plain(thread.messages)
    messages = messages if front_end is None else FRONT_ENDS[front_end](messages)
    restored = restore(messages, keys=keys, thread_id="t")
    digest = str(unit_digest(thought("A")))
    assert [one.withheld for one in restored.turns] == [(WithheldUnit(digest, FABLE, A.reason),)]


def test_with_keys_the_report_is_encrypted() -> None:
    run = Run(
        {"threadId": "t", "runId": "r", "messages": []}, **of(FABLE), keys=KEYS, on_warning=lambda s: None
    )
    run.start()
    run.request(history=history(turn("A")))
    given = [ResponseStart(ORIGINS[FABLE]), InputTransformationsDelta((A,)), TextDelta("Yes.")]
    found = [event for delta in given for event in run.receive(delta)]
    text = json.dumps(plain([*found, *run.finish()]))
    assert str(unit_digest(thought("A"))) not in text
    assert "binding" not in text


# -- over HTTP


@contextmanager
def official_sdk(claude: StrictClaude) -> Iterator[Any]:
    with local_server(claude) as url, anthropic.Anthropic(base_url=url, api_key="k", max_retries=0) as client:
        yield client


@pytest.mark.parametrize(("visibility", "keys"), [("full", None), ("hidden", KEYS)])
@pytest.mark.parametrize("streamed", [True, False])
def test_claude_gets_a_withheld_block_once(streamed: bool, visibility: str, keys: KeyRing | None) -> None:
    claude = StrictClaude()
    thread, warnings, records = Conversation("t"), list[str](), list[AuditRecord]()
    with official_sdk(claude) as client:

        def ask(sent: ProviderRequest) -> Any:
            return client.beta.messages.create(
                model=FABLE, max_tokens=2048, stream=streamed, betas=[BETA], **sent.body
            )

        options: Json = {**of(FABLE), "visibility": visibility, "keys": keys}
        for question in ("1", "2", "3", "4"):
            claude.unreadable = {FIRST: "prefix_binding_mismatch"} if question == "3" else claude.unreadable
            for event in run_agent(
                thread.run_input(question),
                lambda run: iter([ModelStream(ask)]),
                on_warning=warnings.append,
                on_audit=records.append,
                **options,
            ):
                thread.receive(event)
    assert claude.outcomes == ["answer"] * 4
    assert claude.withheld == [[], [], [DROPPED], []]
    assert [FIRST in json.dumps(body["messages"]) for body in claude.asked] == [False, True, True, False]
    assert len(warnings) == 1
    assert [(r.outcome, r.path) for r in records if r.action == "reported"] == [("withheld", DROPPED["path"])]


@pytest.mark.anyio
async def test_the_gateway_sends_a_withheld_block_once() -> None:
    claude = StrictClaude(unreadable={FIRST: "model_binding_mismatch"})
    with ExitStack() as stack:
        url = stack.enter_context(local_server(claude))
        upstream = HTTPUpstream(
            "anthropic-messages",
            base_url=url,
            provider="anthropic",
            model=OPUS,
            api_key="k",
            headers={"anthropic-beta": BETA},
        )
        served = stack.enter_context(local_server(create_app(upstream, keys=KEYS)))
        thread = Conversation("t")
        async with AgentClient(f"{served}/agent") as client:
            for question in ("1", "2", "3"):
                async for _ in client.run(thread, question):
                    pass
    assert claude.outcomes == ["answer"] * 3
    assert [len(entries) for entries in claude.withheld] == [0, 1, 0]
