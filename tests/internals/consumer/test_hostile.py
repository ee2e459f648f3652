"""Read a hostile agent's stream: bounded patches, nesting and errors, and linear work."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_reasoning import Conversation, LocalProtocolError, RemoteProtocolError, check_events, compact
from agui_reasoning._lint._leaks import leaks
from agui_reasoning.consumer._patch import MAX_BYTES, MAX_COPIED_BYTES, Document, PatchError
from tests.internals.schema import NESTING
from tests.laws import law
from tests.support.growth import assert_linear, steps
from tests.support.play import FINISHED, STARTED, Json, Played, call, ev, play, text, thought, value


def op(name: str, path: str, *value: Any, **more: Any) -> Json:
    return {"op": name, "path": path, **({"value": value[0]} if value else {}), **more}


def copied(path: str, source: str) -> Json:
    return op("copy", path, **{"from": source})


def moved(path: str, source: str) -> Json:
    return op("move", path, **{"from": source})


def delta(*operations: Json) -> Json:
    return ev("STATE_DELTA", delta=list(operations))


def nested(levels: int) -> Any:
    made: Any = 1
    for level in range(levels):
        made = {"a": made} if level % 2 else [made]
    return made


# -- what a patch may leave behind


@pytest.mark.parametrize("start", [{"a": 1}, ["x" * 100], {"a": {"b": []}}])
def test_a_patch_that_doubles_the_state_is_refused_and_undone(start: Any) -> None:
    step = copied("/twin", "/s") if isinstance(start, dict) else copied("/s/-", "/s")
    double = [copied("/s/z", "/s"), copied("/s/y", "/s")] if isinstance(start, dict) else [step]
    played = play(delta(*double * 40), state={"s": start})
    assert (played.code, played.conversation.state) == (None, {"s": start})
    assert played.warned("Failed to apply state patch", f"more than {MAX_COPIED_BYTES} bytes")


def test_doubling_is_refused_before_it_costs_anything() -> None:
    def attack(operations: list[Json]) -> None:
        with pytest.raises(PatchError):
            Document({"s": ["x" * 1000]}).patch(operations)

    double = [copied("/s/-", "/s")]
    assert steps(partial(attack, double * 1_000)) == steps(partial(attack, double * 26))


@pytest.mark.parametrize("number", [10**4000, -(10**4000)], ids=["positive", "negative"])
def test_an_integer_counts_with_all_its_digits(number: int) -> None:
    document = Document({"n": number, "l": []})
    document.patch([copied("/l/-", "/n")] * 200)
    with pytest.raises(PatchError, match=f"more than {MAX_COPIED_BYTES} bytes"):
        document.patch([copied("/l/-", "/n")] * 300)
    assert len(document.value["l"]) == 200


def test_a_float_counts_with_all_its_digits() -> None:
    document = Document({"f": [1 / 3] * 1000, "l": []})
    with pytest.raises(PatchError, match=f"more than {MAX_COPIED_BYTES} bytes"):
        document.patch([copied("/l/-", "/f")] * 60)
    document.patch([copied("/l/-", "/f")] * 50)
    assert len(document.value["l"]) == 50


def test_what_many_patches_leave_is_bounded_too() -> None:
    text = "x" * (MAX_COPIED_BYTES - 100)
    played = Played(STARTED, state={"t": text, "l": []}, stop=False)
    for _ in range(20):
        played.conversation.receive(delta(copied("/l/-", "/t")))
    assert played.warned(f"larger than {MAX_BYTES} bytes")
    held = played.conversation.state
    assert 10 < len(held["l"]) < 17
    played.conversation.receive(delta(op("replace", "/l", []), copied("/l/-", "/t")))
    assert played.conversation.state == {"t": text, "l": [text]}


def test_a_state_that_is_larger_than_patches_make_one_may_be_patched_and_not_grow() -> None:
    document = Document({"t": "x" * MAX_BYTES, "n": "one"})
    document.patch([op("replace", "/n", "two")])
    with pytest.raises(PatchError, match="larger than"):
        document.patch([op("replace", "/n", "three")])
    document.patch([op("replace", "/t", ""), op("replace", "/n", "three")])
    assert document.value == {"t": "", "n": "three"}


@pytest.mark.parametrize(
    "step",
    [
        [moved("/tmp", "/n"), op("add", "/n", {}), moved("/n/n", "/tmp")],
        [copied("/tmp", "/n"), op("replace", "/n", {"n": 1}), moved("/n/n", "/tmp")],
        [op("add", "/tmp", []), moved("/tmp/-", "/n"), moved("/n", "/tmp")],
    ],
)
def test_a_patch_that_nests_without_end_is_refused_and_undone(step: list[Json]) -> None:
    played = play(delta(*step * 1_500), state={"n": {}})
    assert (played.code, played.conversation.state) == (None, {"n": {}})
    assert played.warned("Failed to apply state patch", f"more than {NESTING} levels of nesting")


def test_patches_one_after_the_other_nest_no_deeper_either() -> None:
    played = Played(STARTED, FINISHED, state={"n": {}})
    for _ in range(200):
        played.conversation.receive(STARTED)
        played.conversation.receive(delta(moved("/tmp", "/n"), op("add", "/n", {}), moved("/n/n", "/tmp")))
        played.conversation.receive(FINISHED)
        played.conversation.run_input().model_dump_json()
    assert played.warned("levels of nesting")


def test_what_was_deep_once_may_be_filled_again() -> None:
    deep, document = nested(NESTING - 1), Document({"a": 1, "b": {}})
    for _ in range(3):
        document.patch([op("replace", "/a", deep)])
        document.patch([op("replace", "/a", 1), op("add", "/b/c", {"d": 1}), op("remove", "/b/c")])
        with pytest.raises(PatchError):
            document.patch([op("add", "/b/deep", deep)])
    assert document.value == {"a": 1, "b": {}}


def test_any_exception_undoes_a_patch() -> None:
    document = Document({"l": [1, 2], "d": {"x": {"y": 1}}, "s": "t"})
    before = document.value

    def operations() -> Iterator[Json]:
        yield from (
            op("add", "/l/0", 0),
            op("remove", "/l/2"),
            op("replace", "/s", "u"),
            op("remove", "/d/x"),
        )
        yield from (
            copied("/e", "/l"),
            moved("/d/l", "/l"),
            op("add", "/d/l/-", {"z": 1}),
            op("add", "/d/l/2/q", 1),
        )
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        document.patch(operations())
    assert document.value == before == {"l": [1, 2], "d": {"x": {"y": 1}}, "s": "t"}
    document.patch([op("add", "/l/-", 3), op("test", "/d", {"x": {"y": 1}})])
    assert (document.value["l"], before["l"]) == ([1, 2, 3], [1, 2])


# -- what is read stays as it is


PATHS = st.sampled_from(["", "/a", "/a/b", "/a/0", "/a/-", "/l", "/l/0", "/l/1", "/l/0/a", "/l/-"])
OPERATIONS = st.one_of(
    st.builds(
        op, st.sampled_from(["add", "replace"]), PATHS, st.sampled_from([1, {}, [], {"a": {"b": 1}}, [[0]]])
    ),
    st.builds(op, st.just("remove"), PATHS),
    st.builds(moved, PATHS, PATHS),
    st.builds(copied, PATHS, PATHS),
)


@given(st.lists(st.lists(OPERATIONS, max_size=4), max_size=8))
def test_a_value_that_was_read_never_changes_and_equals_one_that_was_built_anew(
    patches: list[list[Json]],
) -> None:
    document, read = Document({"a": {"b": [1]}, "l": [{"a": 1}, 2]}), []
    for patch in patches:
        fresh = Document(json.loads(json.dumps(document.value)))
        read.append((document.value, json.dumps(document.value)))
        outcomes = []
        for one in (document, fresh):
            try:
                one.patch(patch)
                outcomes.append("")
            except PatchError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]
        assert document.value == fresh.value
    assert [json.dumps(value) for value, _ in read] == [written for _, written in read]


# -- nesting, where it enters

ENTRANCES: dict[str, Callable[[Any], list[Json]]] = {
    "state": lambda deep: [ev("STATE_SNAPSHOT", snapshot=deep)],
    "patch": lambda deep: [delta(op("add", "/n", deep))],
    "custom": lambda deep: [ev("CUSTOM", name="n", value=deep)],
    "raw": lambda deep: [ev("RAW", event=deep)],
    "raw event": lambda deep: [{**text("m")[0], "rawEvent": deep}, text("m")[-1]],
    "metadata": lambda deep: text("m", metadata={"k": deep}),
    "thought": lambda deep: thought("r", metadata={"k": deep}),
    "call": lambda deep: call("c", metadata={"k": deep}),
    "activity": lambda deep: [ev("ACTIVITY_SNAPSHOT", messageId="a", activityType="t", content={"k": deep})],
    "activity patch": lambda deep: [
        ev("ACTIVITY_SNAPSHOT", messageId="a", activityType="t", content={}),
        ev("ACTIVITY_DELTA", messageId="a", activityType="t", patch=[op("add", "/k", deep)]),
    ],
    "snapshot": lambda deep: [
        ev(
            "MESSAGES_SNAPSHOT",
            messages=[
                {
                    "id": "m",
                    "role": "assistant",
                    "toolCalls": [
                        {
                            "id": "c",
                            "type": "function",
                            "function": {"name": "f", "arguments": "{}"},
                            "metadata": {"k": deep},
                        }
                    ],
                },
                {
                    "id": "u",
                    "role": "user",
                    "content": [{"type": "text", "text": "Hi", "metadata": {"k": deep}}],
                },
            ],
        )
    ],
    "interrupt": lambda deep: [
        {
            **FINISHED,
            "outcome": {
                "type": "interrupt",
                "interrupts": [{"id": "i", "reason": "r", "responseSchema": {"k": deep}}],
            },
        }
    ],
    "result": lambda deep: [{**FINISHED, "result": deep}],
}


def received(entrance: str, levels: int) -> tuple[Conversation, str]:
    conversation = Conversation("t", on_warning=lambda warning: None)
    try:
        for event in (STARTED, *ENTRANCES[entrance](nested(levels))):
            for delivered in conversation.receive(event):
                delivered.model_dump_json(by_alias=True)
    except RemoteProtocolError as error:
        return conversation, str(error)
    return conversation, ""


@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize("levels", [NESTING - 2, NESTING - 1, NESTING, NESTING + 1, 400, 3_000])
def test_what_is_accepted_can_be_sent_and_what_is_too_deep_is_malformed(entrance: str, levels: int) -> None:
    conversation, refused = received(entrance, levels)
    assert bool(refused) == (levels > NESTING) or levels in (NESTING - 1, NESTING)
    assert refused == "" or f"at most {NESTING} levels of nesting" in refused
    if conversation.status == "running":
        conversation.receive(FINISHED)
    resume = [{"interruptId": one.id, "status": "cancelled"} for one in conversation.interrupts]
    conversation.run_input("Hi", resume=resume).model_dump_json(by_alias=True)
    assert all(message.model_dump_json() for message in conversation.messages)


@pytest.mark.parametrize("levels", [NESTING + 1, 3_000])
def test_what_the_client_itself_gives_is_held_to_the_same(levels: int) -> None:
    message = {"id": "m", "role": "user", "content": "Hi", "metadata": {"k": nested(levels)}}
    with pytest.raises(LocalProtocolError, match="levels of nesting") as caught:
        Conversation(messages=[message])
    assert caught.value.code == "bad_message"
    with pytest.raises(LocalProtocolError, match="levels of nesting") as caught:
        Conversation(state=nested(levels))
    assert caught.value.code == "bad_state"
    with pytest.raises(LocalProtocolError, match="levels of nesting") as caught:
        Conversation().run_input("Hi", forwarded_props=nested(levels))
    assert caught.value.code == "bad_input"


def test_a_cycle_is_nested_without_end() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert play(ev("CUSTOM", name="n", value=endless)).code == "malformed_event"


# -- what errors and warnings say

LONG = "x" * 100_000


@pytest.mark.parametrize(
    "events",
    [
        [event for number in range(5_000) for event in text(f"message-{number}")[:1]],
        text(LONG)[:1],
        text(LONG)[1:],
        [*text(LONG)[:1], *text(LONG)[:1]],
        [ev("STEP_STARTED", stepName=LONG)],
        [{**text("m")[0], LONG: 1}, *text("m")[1:]],
        [{**text("m")[0], "metadata": None}],
        [ev(LONG)],
        [delta(op("remove", f"/{LONG}"))],
        [value(LONG)],
        [ev("SUBAGENT_FINISHED", subagentRunId=LONG)],
        [ev("ACTIVITY_DELTA", messageId=LONG, activityType="t", patch=[])],
        [{**thought("r")[0], "messageId": LONG}, *text(LONG)],
        call("c", parentMessageId=LONG, subagentRunId=LONG),
    ],
)
def test_errors_warnings_and_findings_are_short(events: list[Json]) -> None:
    played = play(*events)
    said = [*played.warnings, *([] if played.error is None else [str(played.error)])]
    said += [finding.message for finding in check_events([STARTED, *events, FINISHED])]
    assert all(len(sentence) < 700 for sentence in said)


def test_the_first_of_what_is_left_open_are_named_and_the_others_counted() -> None:
    played = play(*[text(f"m{number}")[0] for number in range(100)])
    assert played.code == "left_open"
    assert "text message 'm0', text message 'm1'," in str(played.error)
    assert "text message 'm9' and 90 more." in str(played.error)


# -- work in proportion


def fed(events: list[Json], read: Callable[[Conversation], object] = lambda conversation: None) -> int:
    """The steps that a stream takes, and reading after each of its events."""
    conversation = Conversation("t", on_warning=lambda warning: None, state={"l": [], "d": {}})
    conversation.receive(STARTED)

    def work() -> None:
        for event in events:
            conversation.receive(event)
            read(conversation)

    return steps(work)


def repeated_result(size: int) -> list[Json]:
    calls = [*call("again", parentMessageId="m"), *call("new", parentMessageId="m")]
    again = ev("TOOL_CALL_RESULT", messageId="t", toolCallId="again", content="")
    new = [
        ev("TOOL_CALL_RESULT", messageId=f"t{number}", toolCallId="new", content="") for number in range(size)
    ]
    return [*calls, *[event for one in new for event in (again, one)]]


def taken_results(size: int) -> list[Json]:
    calls, events = call("new", parentMessageId="m"), []
    for number in range(size):
        events.append(ev("TOOL_CALL_RESULT", messageId=f"t{number}", toolCallId="new", content=""))
        if number % 2:
            events.append(ev("ACTIVITY_SNAPSHOT", messageId=f"t{number}", activityType="t", content={}))
    return [*calls, *events]


def inserts(size: int) -> list[Json]:
    return [delta(op("add", "/l/0", number)) for number in range(size)]


def inserts_at_once(size: int) -> list[Json]:
    return [delta(*[op("add", "/l/0", {"n": number}) for number in range(size)])]


def changes(size: int) -> list[Json]:
    made = {str(number): {"n": {"m": [0]}} for number in range(size)}
    return [
        ev("STATE_SNAPSHOT", snapshot={"d": made}),
        *[delta(op("replace", f"/d/{number}/n/m/0", 1)) for number in range(size)],
    ]


def rising_and_falling(size: int) -> list[Json]:
    up_and_down = delta(moved("/d/l", "/l"), moved("/l", "/d/l"))
    return [ev("STATE_SNAPSHOT", snapshot={"d": {}, "l": [[n] for n in range(size)]}), *[up_and_down] * size]


def failing(size: int) -> list[Json]:
    fails = delta(op("remove", "/l"), op("test", "/d", 1))
    return [ev("STATE_SNAPSHOT", snapshot={"d": {}, "l": [[n] for n in range(size)]}), *[fails] * size]


@pytest.mark.parametrize(
    "stream",
    [repeated_result, taken_results, inserts, inserts_at_once, changes, rising_and_falling, failing],
)
def test_four_times_the_events_take_four_times_the_steps(stream: Callable[[int], list[Json]]) -> None:
    assert fed(stream(800)) < 5 * fed(stream(200))


@pytest.mark.parametrize("stream", [inserts, changes])
def test_reading_the_state_after_every_change_costs_what_has_changed(
    stream: Callable[[int], list[Json]],
) -> None:
    def read(conversation: Conversation) -> object:
        return conversation.state

    assert fed(stream(1600), read) < 5 * fed(stream(400), read)


@law("linear")
@pytest.mark.growth
@pytest.mark.parametrize("read", [False, True], ids=["at the end", "after every patch"])
def test_patching_a_document_takes_time_in_proportion_to_the_patches(read: bool) -> None:
    def patches(size: int) -> list[list[Json]]:
        return [[op("add", f"/{number % 64}/-", {"n": [number]})] for number in range(size)]

    def work(patches: list[list[Json]]) -> None:
        document = Document([[{"n": [0]}] for _ in range(64)])
        for patch in patches:
            document.patch(patch)
            assert not read or document.value

    assert_linear(patches, work, 4_000)


def test_reading_an_activity_after_every_change_costs_what_has_changed() -> None:
    def stream(size: int) -> list[Json]:
        made = ev(
            "ACTIVITY_SNAPSHOT", messageId="a", activityType="t", content={"d": [[n] for n in range(size)]}
        )
        changed = [op("replace", "/d/0/0", 1)]
        return [made, *[ev("ACTIVITY_DELTA", messageId="a", activityType="t", patch=changed)] * size]

    def read(conversation: Conversation) -> object:
        return conversation.message("a")

    assert fed(stream(800), read) < 5 * fed(stream(200), read)


def test_a_stream_of_state_changes_is_compacted_in_proportion() -> None:
    def work(size: int) -> int:
        events = [STARTED, ev("STATE_SNAPSHOT", snapshot={"l": []}), *inserts(size), FINISHED]
        return steps(partial(compact, events))

    assert work(800) < 5 * work(200)


def test_snapshots_beside_reasoning_are_checked_in_proportion() -> None:
    def work(size: int) -> int:
        told = ev("MESSAGES_SNAPSHOT", messages=[])
        events = [event for number in range(size) for event in (*thought(f"r{number}"), told)]
        return steps(partial(check_events, [STARTED, *events, FINISHED]))

    assert work(800) < 5 * work(200)


def test_violations_before_many_messages_are_checked_in_proportion() -> None:
    def work(size: int) -> int:
        stray = [ev("TEXT_MESSAGE_END", messageId=f"stray-{number}") for number in range(size)]
        good = [event for number in range(size) for event in text(f"m{number}")]
        return steps(partial(check_events, [STARTED, *stray, *good, FINISHED]))

    assert work(400) < 5 * work(100)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "kind", [10**5000, [10**5000], {"type": -(10**5000)}], ids=["number", "list", "object"]
)
def test_a_type_that_cannot_be_written_is_a_violation(kind: Any) -> None:
    findings = check_events([STARTED, {"type": kind}, FINISHED])
    assert [finding.code for finding in findings] == ["malformed_event"]


def test_a_type_nested_deeply_is_a_violation() -> None:
    kind: Any = "deep"
    for _ in range(3000):
        kind = [kind]
    findings = check_events([STARTED, {"type": kind}, FINISHED])
    assert [finding.code for finding in findings] == ["malformed_event"]


def test_the_search_for_leaks_ends_in_data_that_contains_itself() -> None:
    event: dict[str, Any] = {"other": "plain"}
    event["event"] = [event, event]
    assert list(leaks({"type": "RAW", "event": event})) == []
    event["reasoning_content"] = "Hm."
    assert [notice.code for notice in leaks({"type": "RAW", "event": event})] == ["reasoning_in_raw"]


@pytest.mark.parametrize("response", [{}, [], 5, {"a": []}])
def test_the_response_in_a_hint_may_be_anything(response: Any) -> None:
    hint = {"metadata": {"agui-reasoning": {"response": response}}}
    begun, *rest = thought("r", "Hm.")
    said, *more = text("m", "So.")
    findings = check_events([STARTED, {**begun, **hint}, *rest, {**said, **hint}, *more, FINISHED])
    assert [finding.code for finding in findings if finding.severity == "error"] == []
    marked = [{**event, **hint} for event in (begun, *rest, said, *more)]
    assert [one.code for one in check_events([STARTED, *marked, FINISHED]) if one.severity == "error"] == []
