"""The schema of AG-UI 1.1 as a table, which tests compare with the published schema.

Names of optional fields end in ``?``. Version 1.0, which this package declares, lacks only
``encryptedValueType``; the field is kept anyway (C44).
"""

from __future__ import annotations

from typing import Final

from agui_reasoning.consumer._schema_types import (
    ANY,
    FLAG,
    OPEN,
    PRESENT,
    TEXT,
    Choice,
    Const,
    Either,
    Obj,
    SchemaType,
    Sequence,
    Tagged,
    Text,
    WholeNumber,
)

_SAFE = 2**53 - 1
_COUNT = WholeNumber(0, _SAFE)


def _obj(fields: dict[str, SchemaType], *, open: bool = False) -> Obj:  # noqa: A002 -- the name of the field
    required = frozenset(name for name in fields if not name.endswith("?"))
    return Obj({name.removesuffix("?"): kind for name, kind in fields.items()}, required, open)


def _tagged(by: str, **members: SchemaType) -> Tagged:
    return Tagged(by, members)


# -- common fields

_ATTRIBUTED: dict[str, SchemaType] = {"subagentRunId?": TEXT}
_METADATA: dict[str, SchemaType] = {"metadata?": OPEN}
_SEALED: dict[str, SchemaType] = {"encryptedValue?": TEXT, "encryptedValueType?": TEXT}
TIMESTAMP: Final = WholeNumber(-_SAFE, _SAFE)
_EVENT: dict[str, SchemaType] = {"timestamp?": TIMESTAMP, "rawEvent?": PRESENT, **_METADATA}

# -- content

_SOURCE = _tagged(
    "type",
    data=_obj({"type": Const("data"), "value": TEXT, "mimeType": TEXT}),
    url=_obj({"type": Const("url"), "value": TEXT, "mimeType?": TEXT}),
    file=_obj({"type": Const("file"), "value": TEXT, "provider?": TEXT, "mimeType?": TEXT}),
)


MEDIA_KINDS: Final = frozenset({"image", "audio", "video", "document"})
_MEDIA: dict[str, SchemaType] = {
    kind: _obj({"type": Const(kind), "id?": TEXT, "source": _SOURCE, "metadata?": PRESENT})
    for kind in MEDIA_KINDS
}
_TEXT_PART = _obj({"type": Const("text"), "id?": TEXT, "text": TEXT, "metadata?": PRESENT})
_PART = _tagged("type", text=_TEXT_PART, **_MEDIA)
_CONTENT = Either(Sequence(_PART))

# -- messages

_FUNCTION = _obj({"name": TEXT, "arguments": TEXT})
TOOL_CALL: Final = _obj(
    {"id": TEXT, "type": Const("function"), "function": _FUNCTION, **_SEALED, **_METADATA}
)


def _message(role: str, fields: dict[str, SchemaType], *, sealed: bool = True) -> Obj:
    shared: dict[str, SchemaType] = {"id": TEXT, "role": Const(role), **_METADATA, **_ATTRIBUTED}
    return _obj(shared | (_SEALED if sealed else {}) | fields)


MESSAGE: Final = _tagged(
    "role",
    developer=_message("developer", {"name?": TEXT, "content": TEXT}),
    system=_message("system", {"name?": TEXT, "content": TEXT}),
    assistant=_message("assistant", {"name?": TEXT, "content?": TEXT, "toolCalls?": Sequence(TOOL_CALL)}),
    user=_message("user", {"name?": TEXT, "content": _CONTENT}),
    tool=_message("tool", {"content": _CONTENT, "toolCallId": TEXT, "error?": TEXT}),
    activity=_message("activity", {"activityType": TEXT, "content": OPEN}, sealed=False),
    reasoning=_message("reasoning", {"content": TEXT}),
)

# -- JSON Patch

_POINTER = Text(r"(/([^/~]|~[01])*)*")


def _operation(op: str, **fields: SchemaType) -> Obj:
    return _obj({"op": Const(op), "path": _POINTER, **fields}, open=True)


_PATCH = Sequence(
    _tagged(
        "op",
        add=_operation("add", value=ANY),
        remove=_operation("remove"),
        replace=_operation("replace", value=ANY),
        move=_operation("move", **{"from": _POINTER}),
        copy=_operation("copy", **{"from": _POINTER}),
        test=_operation("test", value=ANY),
    )
)

# -- a run's request

_TOOL = _obj({"name": TEXT, "description": TEXT, "parameters?": PRESENT, **_METADATA})
_CONTEXT = _obj({"description": TEXT, "value": TEXT})
_STATUS = Choice(frozenset({"resolved", "cancelled"}))
_RESUME = _obj({"interruptId": TEXT, "status": _STATUS, "payload?": PRESENT, **_METADATA})
RUN_AGENT_INPUT: Final = _obj(
    {
        "threadId": TEXT,
        "runId": TEXT,
        "protocolVersion?": TEXT,
        "parentRunId?": TEXT,
        "state?": PRESENT,
        "messages": Sequence(MESSAGE),
        "tools?": Sequence(_TOOL),
        "context?": Sequence(_CONTEXT),
        "forwardedProps?": PRESENT,
        "resume?": Sequence(_RESUME),
    }
)

# -- a run's end

_INTERRUPT = _obj(
    {
        "id": TEXT,
        "reason": TEXT,
        "message?": TEXT,
        "toolCallId?": TEXT,
        "responseSchema?": OPEN,
        "expiresAt?": TEXT,
        **_METADATA,
        **_ATTRIBUTED,
    }
)
_RUN_OUTCOME = _tagged(
    "type",
    success=_obj({"type": Const("success"), "pendingToolCallIds?": Sequence(TEXT)}),
    interrupt=_obj({"type": Const("interrupt"), "interrupts": Sequence(_INTERRUPT, least=1)}),
    cancelled=_obj({"type": Const("cancelled")}),
)
_SUBAGENT_OUTCOME = _tagged(
    "type",
    success=_obj({"type": Const("success")}),
    suspended=_obj({"type": Const("suspended"), "interruptIds?": Sequence(TEXT)}),
)
_TOKENS = (
    *("inputTokens?", "outputTokens?", "totalTokens?"),
    *("reasoningTokens?", "cachedInputTokens?", "cacheWriteInputTokens?"),
)
_USAGE = _obj({"provider?": TEXT, "model?": TEXT, **dict.fromkeys(_TOKENS, _COUNT)})

# -- events

_TEXT_ROLE = Choice(frozenset({"developer", "system", "assistant", "user"}))


_OF_MESSAGE: dict[str, SchemaType] = {"messageId": TEXT}
_OF_CALL: dict[str, SchemaType] = {"toolCallId": TEXT}
_OF_RUN: dict[str, SchemaType] = {"threadId": TEXT, "runId": TEXT}
_OF_SUBAGENT: dict[str, SchemaType] = {"subagentRunId": TEXT}
_DELTA: dict[str, SchemaType] = {"delta": TEXT}

_TABLE: dict[str, dict[str, SchemaType]] = {
    "TEXT_MESSAGE_START": {**_OF_MESSAGE, "role?": _TEXT_ROLE, "name?": TEXT},
    "TEXT_MESSAGE_CONTENT": {**_OF_MESSAGE, **_DELTA},
    "TEXT_MESSAGE_END": _OF_MESSAGE,
    "TEXT_MESSAGE_CHUNK": {"messageId?": TEXT, "role?": _TEXT_ROLE, "delta?": TEXT, "name?": TEXT},
    "TOOL_CALL_START": {**_OF_CALL, "toolCallName": TEXT, "parentMessageId?": TEXT},
    "TOOL_CALL_ARGS": {**_OF_CALL, **_DELTA},
    "TOOL_CALL_END": _OF_CALL,
    "TOOL_CALL_CHUNK": dict.fromkeys(("toolCallId?", "toolCallName?", "parentMessageId?", "delta?"), TEXT),
    "TOOL_CALL_RESULT": {**_OF_MESSAGE, **_OF_CALL, "content": _CONTENT, "role?": Const("tool")},
    "STATE_SNAPSHOT": {"snapshot": ANY},
    "STATE_DELTA": {"delta": _PATCH},
    "MESSAGES_SNAPSHOT": {"messages": Sequence(MESSAGE)},
    "ACTIVITY_SNAPSHOT": {**_OF_MESSAGE, "activityType": TEXT, "content": OPEN, "replace?": FLAG},
    "ACTIVITY_DELTA": {**_OF_MESSAGE, "activityType": TEXT, "patch": _PATCH},
    "RAW": {"event": ANY, "source?": TEXT},
    "CUSTOM": {"name": TEXT, "value": ANY},
    "RUN_STARTED": {**_OF_RUN, "protocolVersion?": TEXT, "parentRunId?": TEXT, "input?": RUN_AGENT_INPUT},
    "RUN_FINISHED": {**_OF_RUN, "result?": PRESENT, "outcome?": _RUN_OUTCOME, "usage?": Sequence(_USAGE)},
    "RUN_ERROR": {"message": TEXT, "code?": TEXT, "usage?": Sequence(_USAGE)},
    "STEP_STARTED": {"stepName": TEXT},
    "STEP_FINISHED": {"stepName": TEXT},
    "REASONING_START": _OF_MESSAGE,
    "REASONING_MESSAGE_START": {**_OF_MESSAGE, "role": Const("reasoning")},
    "REASONING_MESSAGE_CONTENT": {**_OF_MESSAGE, **_DELTA},
    "REASONING_MESSAGE_END": _OF_MESSAGE,
    "REASONING_MESSAGE_CHUNK": {"messageId?": TEXT, "delta?": TEXT},
    "REASONING_END": _OF_MESSAGE,
    "REASONING_ENCRYPTED_VALUE": {
        "subtype": Choice(frozenset({"tool-call", "message"})),
        "entityId": TEXT,
        "encryptedValue": TEXT,
        "encryptedValueType?": TEXT,
    },
    "SUBAGENT_STARTED": {
        **_OF_SUBAGENT,
        "name": TEXT,
        "description?": TEXT,
        "parentSubagentRunId?": TEXT,
        "parentToolCallId?": TEXT,
        "parentMessageId?": TEXT,
    },
    "SUBAGENT_FINISHED": {**_OF_SUBAGENT, "result?": PRESENT, "outcome?": _SUBAGENT_OUTCOME},
    "SUBAGENT_ERROR": {**_OF_SUBAGENT, "message": TEXT, "code?": TEXT},
}
_UNATTRIBUTED: Final = frozenset({"MESSAGES_SNAPSHOT", "RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"})
"""The events that belong to no subagent."""

EVENTS: Final[dict[str, Obj]] = {
    kind: _obj({"type": Const(kind), **_EVENT, **({} if kind in _UNATTRIBUTED else _ATTRIBUTED), **fields})
    for kind, fields in _TABLE.items()
}
"""The schema of each event type."""
