"""Shows runs of the Claude Agent SDK, and remembers their sessions.

The SDK keeps the conversation in sessions of its own, so `prompt` writes only what is new, and the ID of the
session goes to the client as shared state, which front ends send back.

The SDK is not imported: its messages are told apart by the names of their classes.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, cast

from ag_ui.core import StateDeltaEvent, StateSnapshotEvent, UserMessage

from agui_reasoning._shells.driver import AgentItem, ModelStream, PayloadReader, Reading
from agui_reasoning.deltas import Delta
from agui_reasoning.errors import DecryptionError, ProviderError, RemoteProtocolError
from agui_reasoning.interop._content import result_part
from agui_reasoning.interop._stream import framework_stream
from agui_reasoning.interop._subagents import Subagents
from agui_reasoning.parts import ToolResultPart
from agui_reasoning.providers.payload import JSONObject
from agui_reasoning.request import History
from agui_reasoning.run import Run

if TYPE_CHECKING:  # imported with the first key ring
    from agui_reasoning.crypto import Binding, KeyRing

__all__ = ["prompt", "session_id", "stream"]

_API: Final = "anthropic-messages"

_STATE: Final = "claudeAgentSession"
"""The member of the shared state that holds the ID of the session."""

_SESSION_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
"""The ID becomes an argument of a command line, and the client could have changed it."""


def stream(source: Any) -> ModelStream:
    """Read the messages of the SDK inside a run.

    Tool results are those of the SDK's tools. Subagents of the SDK become subagents of the run. The ID of the
    session is added to the shared state; `session_id` reads it in the next run.

    Args:
        source: What ``client.receive_response()`` or ``query(…)`` returns, or anything else that
            `ModelStream` accepts. Set ``include_partial_messages=True`` in the options of the SDK: without
            it, messages come whole and redacted thinking is missing.

    Returns:
        A model stream to yield from an agent. The API is ``anthropic-messages`` unless the run names another;
        provider and model are those of the run.

    Raises:
        ProviderError: The SDK reports an error as the result.

    Source:
        claude-agent-sdk 0.2.187: a message contains one content block; those of partial messages repeat.
    """
    return framework_stream(source, _Reader)


def session_id(run: Run) -> str | None:
    """Return the ID of the session to resume, from the shared state of the run's input.

    With keys, the ID is encrypted for the thread and the tenant of the run. Without keys it is the client's
    word: check that the session belongs to the user.

    Args:
        run: The run.

    Returns:
        The ID for ``ClaudeAgentOptions(resume=…)``; ``None`` to start a session.
    """
    state = run.input.state
    stored = state.get(_STATE) if isinstance(state, dict) else None
    if not isinstance(stored, str):
        return None
    keys, binding = _sealing(run)
    opened = stored if keys is None else _opened(keys, binding, stored)
    return opened if _SESSION_ID.fullmatch(opened) else None


def prompt(run: Run) -> str | AsyncIterator[JSONObject]:
    """Write what is new in the input, for ``client.query`` or ``query(prompt=…)``.

    That is what the user said after the last answer: the session has the rest.

    Args:
        run: The run.

    Returns:
        The text; or a message of the SDK, in an asynchronous iterator, if there are images or documents.

    Raises:
        RemoteProtocolError: The input does not end with a message of the user (``bad_input``).

    Source:
        claude-agent-sdk 0.2.187: ``query`` accepts a string, or an iterator of messages with content blocks.
    """
    history = History(tuple(_new_messages(run)))
    blocks = run.request(api=_API, provider="anthropic", tools=(), history=history).body["messages"][0][
        "content"
    ]
    if all(block["type"] == "text" for block in blocks):
        return "\n\n".join(block["text"] for block in blocks)
    return _message(blocks)


def _new_messages(run: Run) -> list[UserMessage]:
    """Return the messages of the user after the last answer, in order."""
    newest = takewhile(lambda message: isinstance(message, UserMessage), reversed(run.input.messages))
    found = [message for message in newest if isinstance(message, UserMessage)]
    if not found:
        raise RemoteProtocolError(
            "The input does not end with a message of the user.",
            code="bad_input",
            hint="Send the user's message last: the session of the SDK takes nothing else.",
        )
    return found[::-1]


async def _message(blocks: list[JSONObject]) -> AsyncIterator[JSONObject]:
    yield {"type": "user", "message": {"role": "user", "content": blocks}, "parent_tool_use_id": None}


def _sealing(run: Run) -> tuple[KeyRing | None, Binding]:
    from agui_reasoning.crypto import Binding

    return run.keys, Binding(run.input.thread_id, tenant=run.tenant, entity_id=_STATE)


def _opened(keys: KeyRing, binding: Binding, stored: str) -> str:
    try:
        return keys.decrypt(stored, binding).decode()
    except DecryptionError:
        return ""


def _remembered(run: Run, session: str) -> AgentItem:
    """Write the ID into the shared state; a patch needs an object to apply to."""
    keys, binding = _sealing(run)
    value = session if keys is None else keys.encrypt(session.encode(), binding)
    if isinstance(run.input.state, dict):
        return StateDeltaEvent.model_validate(
            {"delta": [{"op": "add", "path": f"/{_STATE}", "value": value}]}
        )
    return StateSnapshotEvent(snapshot={_STATE: value})


class _Reader:
    """Reads the messages of one query: those of the agent itself, and those of its subagents."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._session = session_id(run)
        self._agent = _Lane(run)
        self._subagents: Subagents[str, _Lane] = Subagents(_Lane)
        self._callers: dict[str, tuple[Run, str]] = {}
        self._handlers: dict[str, Callable[[Any], Sequence[AgentItem]]] = {
            "StreamEvent": self._streamed,
            "AssistantMessage": self._assistant,
            "UserMessage": self._user,
            "ResultMessage": self._result,
        }

    def receive(self, payload: Any) -> Sequence[AgentItem]:
        """Read a message; those of the session itself give nothing but its ID."""
        handler = self._handlers.get(type(payload).__name__)
        remembered = self._remember(_session_of(payload))
        return [*remembered, *(handler(payload) if handler else ())]

    def whole(self, response: Any) -> Sequence[AgentItem]:
        """Read a source that is not a stream: one message."""
        return self.receive(response)

    def close(self) -> Sequence[AgentItem]:
        """End the subagents and the run."""
        return [*self._subagents.end(), *self._agent.close()]

    def _remember(self, session: str | None) -> Sequence[AgentItem]:
        if session is None or session == self._session:
            return []
        self._session = session
        return [_remembered(self._run, session)]

    def _streamed(self, message: Any) -> Sequence[AgentItem]:
        return self._in(message, lambda lane: lane.streamed(message.event))

    def _assistant(self, message: Any) -> Sequence[AgentItem]:
        """Read a message, which names the subagents that it starts. One with an error is the CLI's own."""
        if message.error is not None:
            return []
        items = self._in(message, lambda lane: lane.repeated(message))
        run = self._subagents.run(message.parent_tool_use_id) or self._run
        for block in message.content:
            if _type_of(block) == "ToolUseBlock":
                name = block.input.get("subagent_type")
                self._callers[block.id] = run, name if isinstance(name, str) and name else block.name
        return items

    def _user(self, message: Any) -> Sequence[AgentItem]:
        """Read tool results. The result of a call that started a subagent ends it."""
        blocks = message.content if isinstance(message.content, list) else []
        results = [block for block in blocks if _type_of(block) == "ToolResultBlock"]
        if not results:
            return []
        answered = {block.tool_use_id for block in results}
        ended = self._subagents.end(answered.__contains__)
        return [*ended, *self._in(message, lambda lane: [*lane.flush(), *map(_tool_result, results)])]

    def _result(self, message: Any) -> Sequence[AgentItem]:
        items = list(self._agent.flush())
        if message.is_error:
            raise ProviderError(
                provider_type=message.subtype,
                provider_message="\n".join([message.result or "", *(message.errors or ())]).strip(),
                status_code=getattr(message, "api_error_status", None),
                deltas=cast("Sequence[Delta]", items),
            )
        return items

    def _in(self, message: Any, read: Callable[[_Lane], Sequence[AgentItem]]) -> Sequence[AgentItem]:
        """Read a message in the lane of its agent."""
        parent = message.parent_tool_use_id
        if parent is None:
            return read(self._agent)
        caller, name = self._callers.get(parent, (self._run, "subagent"))
        return self._subagents.read(parent, caller, name, read)


class _Lane:
    """Reads what one agent says: the events of its model, or its messages if there are none."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._target = ModelStream(None, run.api or _API, run.provider, run.model)
        self._model: PayloadReader = Reading(run, self._target)
        self._streamed: set[str] = set()
        self._message: JSONObject | None = None

    def streamed(self, event: JSONObject) -> Sequence[AgentItem]:
        """Read an event of the API."""
        if event.get("type") == "message_start":
            self._streamed.add(event["message"].get("id"))
        return self._model.receive(event)

    def repeated(self, message: Any) -> Sequence[AgentItem]:
        """Collect the blocks of a message, unless they were streamed; another message ends it."""
        if message.message_id in self._streamed:
            return []
        ended: Sequence[AgentItem] = ()
        if self._message is None or self._message["id"] != message.message_id:
            ended = self.flush()
            self._message = {"id": message.message_id, "type": "message", "role": "assistant"}
            self._message |= {"model": message.model, "content": []}
        self._message["content"] += [_block(block) for block in message.content if _type_of(block) in _BLOCKS]
        return ended

    def flush(self) -> Sequence[AgentItem]:
        """Return the message that was collected."""
        message, self._message = self._message, None
        if message is None or not message["content"]:
            return []
        return Reading(self._run, self._target).whole(message)

    def close(self) -> Sequence[AgentItem]:
        """End the stream."""
        return [*self.flush(), *self._model.close()]


_BLOCKS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "TextBlock": ("text", ("text",)),
    "ThinkingBlock": ("thinking", ("thinking", "signature")),
    "ToolUseBlock": ("tool_use", ("id", "name", "input")),
}
"""The SDK's content blocks, as the type and the fields of those of the API."""


def _type_of(block: Any) -> str:
    return type(block).__name__


def _block(block: Any) -> JSONObject:
    kind, fields = _BLOCKS[_type_of(block)]
    return {"type": kind} | {name: getattr(block, name) for name in fields}


def _session_of(message: Any) -> str | None:
    """Return the session that a message names. Before the first answer, only the SDK's own messages do."""
    named = getattr(message, "session_id", None)
    if named is None and isinstance(data := getattr(message, "data", None), dict):
        named = data.get("session_id")
    return named if isinstance(named, str) and named else None


def _tool_result(block: Any) -> ToolResultPart:
    return result_part(block.tool_use_id, block.content, failed=bool(block.is_error))
