"""Generate event streams: valid ones with everything in the protocol, and invalid ones.

Few ids, so that they are used again; everything that can be open at once may be.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]

DELTAS = ["", "a", "Hm. ", "\n", "é", "☀", "e\u0301", '{"a":', "1}", "\u2028"]
KEYS = ["a", "b", "acme.k"]
SUBAGENTS = ["s1", "s2"]
VALUES: list[Any] = [None, 0, 1, True, "x", [], [1, 2], {}, {"k": None}, 1.5]
POINTERS = ["", "/a", "/b", "/a/b", "/l/0", "/l/1", "/l/-", "/l", "/a~1b", "/x/y"]
TIMES = [0, 1_700_000_000_000]

# Something of each kind: what a mutation may put in place of a value.
WRONG: list[Any] = [None, 42, "other", True, [], {}, ["x"], {"type": "novelty"}, 1.5]

values = st.sampled_from(VALUES)
objects = st.dictionaries(st.sampled_from(KEYS), values, max_size=2)
deltas = st.sampled_from(DELTAS)


class Producer:
    """A producer that keeps the rules: it closes what it opens, and attributes things to their owners."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.events: list[Json] = []
        self.runs = 0
        self.open: dict[str, dict[str, str | None]] = {}
        self.owners: dict[tuple[str, str], str | None] = {}
        self.steps: list[tuple[str | None, str]] = []
        self.subagents: list[str] = []
        self.used_subagents: set[str] = set()
        self.lanes: dict[str | None, str] = {}

    # -- the frame

    def start(self) -> None:
        self.runs += 1
        self.open = {kind: {} for kind in ("text", "span", "thought", "call")}
        self.owners, self.steps, self.lanes = {}, [], {}
        self.subagents, self.used_subagents = [], set()
        more: Json = self.draw(st.sampled_from([{}, {"protocolVersion": "1.0"}, {"protocolVersion": "1.3"}]))
        if self.draw(st.integers(0, 4)) == 0:
            echo = self.draw(st.lists(messages, max_size=2))
            more = {**more, "input": {"threadId": "t", "runId": f"r{self.runs}", "messages": unique(echo)}}
            self._learn(more["input"]["messages"], replace=False)
        self.put("RUN_STARTED", threadId="t", runId=f"r{self.runs}", **more)

    def finish(self) -> None:
        if self.draw(st.integers(0, 5)) == 0:
            self.put("RUN_ERROR", message="It failed.")
            return
        self.close_everything()
        outcome = self.draw(st.sampled_from(OUTCOMES))
        self.put("RUN_FINISHED", threadId="t", runId=f"r{self.runs}", **outcome)

    def close_everything(self) -> None:
        for kind, end in (("text", "TEXT_MESSAGE_END"), ("thought", "REASONING_MESSAGE_END")):
            for name in list(self.open[kind]):
                self._end(kind, end, "messageId", name)
        for name in list(self.open["call"]):
            self._end("call", "TOOL_CALL_END", "toolCallId", name)
        for name in list(self.open["span"]):
            self._end("span", "REASONING_END", "messageId", name)
        for owner, name in self.steps:
            self.put("STEP_FINISHED", stepName=name, **tag(owner))
        for name in self.subagents:
            self.put("SUBAGENT_FINISHED", subagentRunId=name)
        self.steps, self.subagents = [], []

    def put(self, kind: str, **members: Any) -> None:
        event = {"type": kind, **members}
        extra = self.draw(st.integers(0, 11))
        if extra == 0:
            event["metadata"] = self.draw(objects)
        elif extra == 1:
            event["timestamp"] = self.draw(st.sampled_from(TIMES))
        elif extra == 2:
            event["rawEvent"] = self.draw(values.filter(lambda value: value is not None))
        self.events.append(event)

    # -- items

    def _begin(self, kind: str, start: str, name: str, more: Json) -> None:
        if name in self.open[kind]:
            return
        # Spans and reasoning messages of one id share an owner.
        bucket = "thought" if kind == "span" else kind
        owner = self.owners.setdefault((bucket, name), self.draw(owners))
        self.open[kind][name] = owner
        self.closes(owner)
        self.put(start, **{"messageId": name, **more, **tag(owner)})

    def _more(self, kind: str, content: str, field: str) -> None:
        name = self._pick(self.open[kind])
        if name is not None:
            self.closes(self.open[kind][name])
            self.put(content, **{field: name}, delta=self.draw(deltas), **self._maybe(self.open[kind][name]))

    def _end(self, kind: str, end: str, field: str, name: str | None) -> None:
        if name is not None:
            owner = self.open[kind].pop(name)
            self.closes(owner)
            self.put(end, **{field: name}, **self._maybe(owner))

    def closes(self, owner: str | None) -> None:
        self.lanes.pop(owner, None)

    def _maybe(self, owner: str | None) -> Json:
        """The owner's tag, which a continuation may leave out; then it closes the parent's lane."""
        if owner is not None and self.draw(st.booleans()):
            return tag(owner)
        self.closes(None)
        return {}

    def _pick(self, things: Any) -> Any:
        found = list(things)
        return self.draw(st.sampled_from(found)) if found else None

    # -- actions

    def text_start(self) -> None:
        more: Json = self.draw(st.sampled_from([{}, {"role": "assistant"}, {"role": "user", "name": "Ann"}]))
        self._begin("text", "TEXT_MESSAGE_START", self.draw(text_ids), more)

    def text_content(self) -> None:
        self._more("text", "TEXT_MESSAGE_CONTENT", "messageId")

    def text_end(self) -> None:
        self._end("text", "TEXT_MESSAGE_END", "messageId", self._pick(self.open["text"]))

    def span_start(self) -> None:
        self._begin("span", "REASONING_START", self.draw(span_ids), {})

    def span_end(self) -> None:
        self._end("span", "REASONING_END", "messageId", self._pick(self.open["span"]))

    def thought_start(self) -> None:
        self._begin("thought", "REASONING_MESSAGE_START", self.draw(thought_ids), {"role": "reasoning"})

    def thought_content(self) -> None:
        self._more("thought", "REASONING_MESSAGE_CONTENT", "messageId")

    def thought_end(self) -> None:
        name = self._pick(self.open["thought"])
        self._end("thought", "REASONING_MESSAGE_END", "messageId", name)

    def call_start(self) -> None:
        name = self.draw(call_ids)
        if name in self.open["call"]:
            return
        parent = self.draw(st.sampled_from([None, "m1", "m2", "a1"]))
        known = ("text", parent) in self.owners
        owner = self.owners[("text", parent)] if known and parent else self.draw(owners)
        if self.owners.setdefault(("call", name), owner) != owner:
            return
        self.open["call"][name] = owner
        self.closes(owner)
        more = {} if parent is None else {"parentMessageId": parent}
        self.put("TOOL_CALL_START", toolCallId=name, toolCallName=f"tool_{name}", **more, **tag(owner))

    def call_args(self) -> None:
        self._more("call", "TOOL_CALL_ARGS", "toolCallId")

    def call_end(self) -> None:
        self._end("call", "TOOL_CALL_END", "toolCallId", self._pick(self.open["call"]))

    def call_result(self) -> None:
        name = f"t{len(self.events)}"
        owner = self.draw(owners)
        self.owners[("text", name)] = owner
        self.closes(owner)
        content = self.draw(contents)
        self.put(
            "TOOL_CALL_RESULT", messageId=name, toolCallId=self.draw(call_ids), content=content, **tag(owner)
        )

    def chunk(self) -> None:
        kind, owner = self.draw(st.sampled_from(["text", "thought", "call"])), self.draw(owners)
        field, name = ("toolCallId", self.draw(call_ids)) if kind == "call" else ("messageId", None)
        name = name or self.draw(text_ids if kind == "text" else thought_ids)
        if name in self.open[kind] or self.owners.setdefault((kind, name), owner) != owner:
            return
        if any(held == f"{kind} {name}" for lane, held in self.lanes.items() if lane != owner):
            return
        event: Json = self.draw(st.sampled_from([{}, {"delta": "c"}, {"delta": ""}, {"metadata": {"a": 1}}]))
        if self.lanes.get(owner) != f"{kind} {name}" or self.draw(st.booleans()):
            event = {field: name, **event}
            if kind == "call":
                event["toolCallName"] = f"tool_{name}"
        self.lanes[owner] = f"{kind} {name}"
        types = {
            "text": "TEXT_MESSAGE_CHUNK",
            "thought": "REASONING_MESSAGE_CHUNK",
            "call": "TOOL_CALL_CHUNK",
        }
        self.put(types[kind], **{**event, **tag(owner)})

    def encrypted_value(self) -> None:
        subtype = self.draw(st.sampled_from(["message", "message", "tool-call"]))
        names = call_ids if subtype == "tool-call" else st.sampled_from(["m1", "r1", "r2", "t9", "act1", "x"])
        more: Json = self.draw(st.sampled_from([{}, {}, {"encryptedValueType": "acme.signature"}]))
        value = self.draw(st.sampled_from(["", "QUJD", "REVG"]))
        self.put(
            "REASONING_ENCRYPTED_VALUE",
            subtype=subtype,
            entityId=self.draw(names),
            encryptedValue=value,
            **more,
        )

    def state_snapshot(self) -> None:
        self.lanes.pop(None, None)
        self.put("STATE_SNAPSHOT", snapshot=self.draw(states))

    def state_delta(self) -> None:
        self.lanes.pop(None, None)
        self.put("STATE_DELTA", delta=self.draw(patches))

    def snapshot(self) -> None:
        self.lanes = {}
        told = unique(self.draw(st.lists(messages, max_size=4)))
        self._learn(told, replace=True)
        self.put("MESSAGES_SNAPSHOT", messages=told)

    def _learn(self, told: list[Json], *, replace: bool) -> None:
        for message in told:
            bucket = {"reasoning": "thought", "activity": "activity"}.get(message["role"], "text")
            self._own(bucket, message["id"], message.get("subagentRunId"), replace=replace)
            for call in message.get("toolCalls", ()):
                self._own("call", call["id"], message.get("subagentRunId"), replace=replace)

    def _own(self, bucket: str, name: str, owner: str | None, *, replace: bool) -> None:
        if replace or (bucket, name) not in self.owners:
            self.owners[bucket, name] = owner
            for kind in ("thought", "span") if bucket == "thought" else (bucket,):
                if name in self.open.get(kind, {}):
                    self.open[kind][name] = owner

    def activity_snapshot(self) -> None:
        name, owner = self.draw(activity_ids), self.draw(owners)
        more: Json = self.draw(st.sampled_from([{}, {"replace": True}, {"replace": False}]))
        if more.get("replace", True) or ("activity", name) not in self.owners:
            self.owners["activity", name] = owner
        content = self.draw(contents_of_activities)
        self.put(
            "ACTIVITY_SNAPSHOT", messageId=name, activityType="plan", content=content, **more, **tag(owner)
        )

    def activity_delta(self) -> None:
        patch = self.draw(patches)
        self.put("ACTIVITY_DELTA", messageId=self.draw(activity_ids), activityType="search", patch=patch)

    def aside(self) -> None:
        kind = self.draw(st.sampled_from(["RAW", "CUSTOM", "FUTURE_EVENT"]))
        if kind == "CUSTOM":
            self.lanes.pop(None, None)
        value = self.draw(values)
        members = {"RAW": {"event": value}, "CUSTOM": {"name": "n", "value": value}}.get(kind, {"x": value})
        self.put(kind, **members)

    def step(self) -> None:
        owner, name = self.draw(owners), self.draw(st.sampled_from(["plan", "act"]))
        self.closes(owner)
        if (owner, name) in self.steps:
            self.steps.remove((owner, name))
            self.put("STEP_FINISHED", stepName=name, **tag(owner))
        else:
            self.steps.append((owner, name))
            self.put("STEP_STARTED", stepName=name, **tag(owner))

    def subagent(self) -> None:
        if self.subagents and self.draw(st.booleans()):
            name = self.subagents.pop()
            self.closes(name)
            if self.draw(st.booleans()):
                self.put("SUBAGENT_FINISHED", subagentRunId=name, outcome={"type": "success"})
            else:
                self.put("SUBAGENT_ERROR", subagentRunId=name, message="It broke.")
            return
        fresh = [name for name in SUBAGENTS if name not in self.used_subagents]
        if fresh:
            self.used_subagents.add(fresh[0])
            self.subagents.append(fresh[0])
            self.put("SUBAGENT_STARTED", subagentRunId=fresh[0], name="helper")

    def thinking(self) -> None:
        for kind, more in (
            ("THINKING_START", {"title": "Plan"}),
            ("THINKING_TEXT_MESSAGE_START", {}),
            ("THINKING_TEXT_MESSAGE_CONTENT", {"delta": self.draw(deltas)}),
            ("THINKING_TEXT_MESSAGE_END", {}),
            ("THINKING_END", {}),
        ):
            self.lanes.pop(None, None)
            self.events.append({"type": kind, **more})


ACTIONS: list[Callable[[Producer], None]] = [
    *[Producer.text_start, Producer.text_content, Producer.text_content, Producer.text_end],
    *[Producer.thought_start, Producer.thought_content, Producer.thought_content, Producer.thought_end],
    *[Producer.span_start, Producer.span_end],
    *[Producer.call_start, Producer.call_args, Producer.call_end, Producer.call_result],
    *[Producer.chunk, Producer.chunk, Producer.chunk],
    *[Producer.encrypted_value, Producer.encrypted_value],
    *[Producer.state_snapshot, Producer.state_delta, Producer.snapshot],
    *[Producer.activity_snapshot, Producer.activity_delta, Producer.aside],
    *[Producer.step, Producer.subagent, Producer.thinking],
]

OUTCOMES: list[Json] = [
    {},
    {"outcome": {"type": "success"}},
    {"outcome": {"type": "success", "pendingToolCallIds": ["c1"]}},
    {"outcome": {"type": "interrupt", "interrupts": [{"id": "i1", "reason": "approval"}]}},
    {"outcome": {"type": "cancelled"}},
    {"outcome": {"type": "paused"}},
    {"result": {"a": 1}, "usage": [{"inputTokens": 1, "reasoningTokens": 0}]},
]

owners = st.sampled_from([None, None, None, *SUBAGENTS])
text_ids = st.sampled_from(["m1", "m2", "m3"])
thought_ids = st.sampled_from(["r1", "r2"])
span_ids = st.sampled_from(["sp1", "sp2", "r1"])
call_ids = st.sampled_from(["c1", "c2", "c3"])
activity_ids = st.sampled_from(["act1", "act2"])


def tag(owner: str | None) -> Json:
    return {} if owner is None else {"subagentRunId": owner}


def unique(found: list[Json]) -> list[Json]:
    """Messages with one of each id, and calls likewise."""
    kept = list({message["id"]: message for message in found}.values())
    seen: set[str] = set()
    for message in kept:
        calls = [call for call in message.get("toolCalls", ()) if call["id"] not in seen]
        seen |= {call["id"] for call in calls}
        if "toolCalls" in message:
            message["toolCalls"] = calls
    return kept


parts = st.sampled_from(
    [
        {"type": "text", "text": "part"},
        {"type": "image", "source": {"type": "url", "value": "https://example.org/a.png"}},
        {"type": "document", "source": {"type": "file", "value": "f1"}, "metadata": {"filename": "a"}},
        {"type": "image", "source": {"type": "hologram", "value": "x"}},
        {"type": "binary", "mimeType": "image/png", "url": "https://example.org/b.png"},
        {"type": "hologram"},
    ]
)
contents = st.one_of(deltas, st.lists(parts, max_size=2))
sealed = st.sampled_from([{}, {"encryptedValue": "U0VBTA=="}, {"metadata": {"a": 1}}])


@st.composite
def _messages(draw: st.DrawFn) -> Json:
    role = draw(
        st.sampled_from(["user", "assistant", "assistant", "tool", "activity", "reasoning", "system"])
    )
    shared = {**tag(draw(owners)), **draw(sealed)}
    if role == "reasoning":
        return {"id": draw(thought_ids), "role": role, "content": draw(deltas), **shared}
    if role == "activity":
        shared.pop("encryptedValue", None)
        content = draw(contents_of_activities)
        return {"id": draw(activity_ids), "role": role, "activityType": "plan", "content": content, **shared}
    if role == "tool":
        call = draw(call_ids)
        return {"id": f"t-{call}", "role": role, "toolCallId": call, "content": draw(contents), **shared}
    if role == "assistant":
        name = draw(st.sampled_from(["m1", "m2", "m3", "a1"]))
        return {"id": name, "role": role, **draw(assistants), **shared}
    name = draw(st.sampled_from(["u1", "m3"]))
    return {"id": name, "role": role, "content": draw(contents if role == "user" else deltas), **shared}


def _call(name: str) -> Json:
    return {"id": name, "type": "function", "function": {"name": f"tool_{name}", "arguments": "{}"}}


assistants = st.one_of(
    st.builds(lambda text: {"content": text}, deltas),
    st.builds(lambda name: {"toolCalls": [_call(name)]}, call_ids),
    st.just({"content": "x", "toolCalls": []}),
)
contents_of_activities = st.sampled_from([{}, {"a": 1}, {"a": {"b": 1}, "l": [1, 2]}, {"a/b": None}])
states = st.one_of(values, contents_of_activities).map(copy.deepcopy)
messages = _messages()


@st.composite
def _operations(draw: st.DrawFn) -> Json:
    op = draw(st.sampled_from(["add", "add", "replace", "remove", "move", "copy", "test", "increment"]))
    operation: Json = {"op": op, "path": draw(st.sampled_from(POINTERS))}
    if op in ("add", "replace", "test", "increment"):
        operation["value"] = draw(values)
    if op in ("move", "copy"):
        # A value that is moved into itself makes the official client's document circular.
        path = operation["path"]
        sources = [pointer for pointer in POINTERS if not path.startswith(f"{pointer}/")]
        operation["from"] = draw(st.sampled_from(sources))
    return operation


patches = st.lists(_operations(), max_size=3).map(copy.deepcopy)


@st.composite
def valid_streams(draw: st.DrawFn, max_actions: int = 16) -> list[Json]:
    """One or two runs that keep the rules."""
    producer = Producer(draw)
    for _ in range(draw(st.sampled_from([1, 1, 1, 2]))):
        producer.start()
        for _ in range(draw(st.integers(0, max_actions))):
            draw(st.sampled_from(ACTIONS))(producer)
        producer.finish()
    return copy.deepcopy(producer.events)


@st.composite
def mutated_streams(draw: st.DrawFn, max_actions: int = 16) -> list[Json]:
    """A stream that kept the rules, until something was done to it."""
    events = draw(valid_streams(max_actions))
    for _ in range(draw(st.integers(1, 2))):
        if events:
            draw(st.sampled_from(MUTATIONS))(draw, events)
    return events


def _drop(draw: st.DrawFn, events: list[Json]) -> None:
    del events[draw(st.integers(0, len(events) - 1))]


def _repeat(draw: st.DrawFn, events: list[Json]) -> None:
    at = draw(st.integers(0, len(events) - 1))
    events.insert(at, copy.deepcopy(events[at]))


def _swap(draw: st.DrawFn, events: list[Json]) -> None:
    at = draw(st.integers(0, len(events) - 1))
    events[at - 1], events[at] = events[at], events[at - 1]


def _cut(draw: st.DrawFn, events: list[Json]) -> None:
    del events[draw(st.integers(0, len(events))) :]


def _members(draw: st.DrawFn, events: list[Json]) -> tuple[Json, str]:
    """Any object of any event, and one of its members."""
    found = [(event, name) for event in events for name in event if name != "type"]
    for event in events:
        found += [pair for value in event.values() for pair in _inside(value)]
    return draw(st.sampled_from(found)) if found else ({}, "")


def _inside(value: Any) -> list[tuple[Json, str]]:
    if isinstance(value, dict):
        return [(value, name) for name in value] + [
            pair for inner in value.values() for pair in _inside(inner)
        ]
    return [pair for inner in value for pair in _inside(inner)] if isinstance(value, list) else []


def _break(draw: st.DrawFn, events: list[Json]) -> None:
    holder, name = _members(draw, events)
    if name:
        holder[name] = copy.deepcopy(draw(st.sampled_from(WRONG)))


def _leave_out(draw: st.DrawFn, events: list[Json]) -> None:
    holder, name = _members(draw, events)
    holder.pop(name, None)


def _extend(draw: st.DrawFn, events: list[Json]) -> None:
    holder, _ = _members(draw, events)
    holder["futureProp"] = copy.deepcopy(draw(values))


def _rename(draw: st.DrawFn, events: list[Json]) -> None:
    """Use another id, of the same kind or another."""
    fields = ("messageId", "toolCallId", "entityId", "parentMessageId")
    found = [(event, name) for event in events for name in fields if name in event]
    if found:
        event, name = draw(st.sampled_from(found))
        event[name] = draw(st.sampled_from(["m1", "m2", "r1", "sp1", "c1", "act1", "t3", "new"]))


def _attribute(draw: st.DrawFn, events: list[Json]) -> None:
    event = draw(st.sampled_from(events))
    event["subagentRunId"] = draw(st.sampled_from([*SUBAGENTS, None]))


def _choose(draw: st.DrawFn, events: list[Json]) -> None:
    """An unknown member of a closed set."""
    found = [(event, name) for event in events for name in ("role", "subtype") if name in event]
    if found:
        event, name = draw(st.sampled_from(found))
        event[name] = "novelty"


MUTATIONS = [_drop, _drop, _repeat, _swap, _cut, _break, _break, _leave_out, _extend, _rename, _rename]
MUTATIONS += [_attribute, _choose]
