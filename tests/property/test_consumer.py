"""Conversation, check and replay agree about any stream."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from agui_reasoning import Conversation, RemoteProtocolError, check_events
from agui_reasoning.wire import SSEEncoder, read_events
from tests.support.effort import examples
from tests.support.play import Json, Played
from tests.support.streams import mutated_streams, valid_streams
from tests.support.verifier import plain

streams = st.one_of(valid_streams(), mutated_streams())


@settings(max_examples=examples(300))
@given(streams)
def test_a_check_finds_the_violation_that_a_conversation_raises(stream: list[Json]) -> None:
    conversation = Conversation(on_warning=lambda warning: None)
    code, index = None, 0
    try:
        for index, event in enumerate(stream):  # noqa: B007 -- used after the loop
            conversation.receive(event)
        index = len(stream)
        conversation.end_of_stream()
    except RemoteProtocolError as error:
        code = error.code
    errors = [finding for finding in check_events(stream) if finding.severity == "error"]
    assert [(finding.code, finding.index) for finding in errors[:1]] == ([(code, index)] if code else [])


@given(valid_streams())
def test_what_was_delivered_can_be_sent_on(stream: list[Json]) -> None:
    first = Played(*stream)
    body = b"".join(map(SSEEncoder().encode, first.events))
    second = Played(*read_events(body))
    assert second.events == first.events
    assert (second.messages, second.conversation.state) == (first.messages, first.conversation.state)


@given(streams)
def test_a_conversation_that_was_stored_goes_on_as_if_it_had_not_been(stream: list[Json]) -> None:
    conversation = Played(*stream).conversation
    messages, state = plain(conversation.messages), conversation.state
    again = Conversation("t", messages=messages, state=state, on_warning=lambda warning: None)
    assert plain(again.messages) == messages
    if not conversation.interrupts and conversation.status != "running":
        one, two = (plain([held.run_input(run_id="next")])[0] for held in (conversation, again))
        assert one["messages"] == two["messages"]


@given(streams, st.integers(0, 30))
def test_reading_in_between_changes_nothing(stream: list[Json], at: int) -> None:
    read = Played(stop=False)
    for number, event in enumerate(stream):
        if number >= at:
            _ = (read.conversation.messages, read.conversation.state, read.conversation.pending_calls)
        try:
            read.conversation.receive(event)
        except RemoteProtocolError:
            break
    unread = Played(*stream, stop=False)
    assert plain(read.conversation.messages) == unread.messages
    assert read.conversation.state == unread.conversation.state
