"""Shows runs of the Claude Agent SDK, and remembers their sessions.

The SDK keeps the conversation in sessions of its own, so `prompt` writes only what is new. The ID of the
session, and where each answer ends in it, go to the client as shared state, which front ends send back.

The SDK is imported by `offer_tools` only: its messages are told apart by the names of their classes.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, cast
from weakref import WeakKeyDictionary

from ag_ui.core import Message, ResumeEntry, StateDeltaEvent, StateSnapshotEvent, ToolMessage, UserMessage
from msgspec import structs

from agui_reasoning._driver import AgentItem, ModelStream, PayloadReader, Reading
from agui_reasoning._wire_events import stand_in, told
from agui_reasoning.deltas import Delta, ToolCallDelta
from agui_reasoning.errors import ConfigurationError, DecryptionError, ProviderError, RemoteProtocolError
from agui_reasoning.interop._client import (
    Decision,
    answer_to,
    approval,
    client_results,
    decision,
    front_end_names,
    front_end_tools,
    imported,
)
from agui_reasoning.interop._messages import result_part, text_or_media
from agui_reasoning.interop._stream import FrameworkReader, Subagents
from agui_reasoning.providers.payload import JSONObject
from agui_reasoning.request import History
from agui_reasoning.run import Run

if TYPE_CHECKING:  # imported with the first key ring
    from agui_reasoning.crypto import Binding

__all__ = ["offer_tools", "prompt", "session_id", "session_options", "stream"]

_API: Final = "anthropic-messages"


def stream(source: Any) -> ModelStream:
    """Read the messages of the SDK inside a run.

    Tool results are those of the SDK's tools. Subagents of the SDK become subagents of the run. The ID of the
    session, and where the answer ends, are added to the shared state; `session_options` reads them in the
    next run.

    Args:
        source: What ``client.receive_response()`` or ``query(…)`` returns, or anything else that
            `ModelStream` accepts. Set ``include_partial_messages=True`` in the options of the SDK: without
            it, messages come whole and redacted thinking is missing.

    Returns:
        A model stream to yield from an agent. The API is ``anthropic-messages`` unless the run names another;
        provider and model are those of the run.

    Raises:
        ProviderError: The SDK reports an error as the result.
        ConfigurationError: ``ask_first`` of `offer_tools` has a name that no tool has (``wrong_option``).

    Source:
        claude-agent-sdk 0.2.187: a message contains one content block; those of partial messages repeat.
    """
    return _QueryReader.stream(source)


def offer_tools(run: Run, options: Any, *, ask_first: Collection[str] = ()) -> Any:
    """Add the tools of the front end to the options of the SDK, and questions before calls.

    A call that waits for the client ends the run of the SDK, when all other calls of the same answer have
    their results. The client answers in its next input, and the session goes on by itself: `prompt` is then
    ``None``. Of several such calls in one answer, the first one waits, and the model is told to repeat the
    others.

    Args:
        run: The run.
        options: ``ClaudeAgentOptions``, with those of `session_options`.
        ask_first: The names of tools that the user has to approve, as the SDK's hooks know them. A call of
            one interrupts the run. `stream` refuses names that no tool of the session has, before any runs.

    Returns:
        The options with an MCP server ``front_end`` and a hook before calls.

    Raises:
        RemoteProtocolError: An answer has not the form that the interrupt asked for (``bad_answer``).
        ConfigurationError: The servers of the options are a file, or ``ask_first`` is a string
            (``wrong_option``); or the SDK is not installed (``missing_framework``).

    Source:
        claude-agent-sdk 0.2.187: a hook before a call can defer it, and resuming the session runs it.
    """
    sdk = imported("claude_agent_sdk", "The Claude Agent SDK", "claude-agent-sdk")
    if not isinstance(options.mcp_servers, Mapping):
        raise ConfigurationError(
            "The MCP servers of the options are a file, to which no tools can be added.",
            code="wrong_option",
            hint="Pass them as a dict.",
        )
    if isinstance(ask_first, str):
        raise ConfigurationError(
            f"`ask_first` is {ask_first!r}, not the names of tools.",
            code="wrong_option",
            hint=f"Pass [{ask_first!r}].",
        )
    _check_answers(run, ask_first)
    if not any(getattr(agent, "mcpServers", None) for agent in (options.agents or {}).values()):
        _ASKED[run] = ask_first  # those of subagents' own servers are not told
    calls = _WaitingCalls(run, ask_first)
    tools = [sdk.SdkMcpTool(**tool, handler=calls.answer) for tool in front_end_tools(run, "input_schema")]
    server = sdk.create_sdk_mcp_server(_SERVER, tools=tools)
    hooks = dict(options.hooks or {})
    hooks["PreToolUse"] = [*hooks.get("PreToolUse", ()), sdk.HookMatcher(hooks=[calls.before])]
    env = {**options.env, **(_NO_RESUME if _new_messages(run) else {})}
    return replace(options, mcp_servers={**options.mcp_servers, _SERVER: server}, hooks=hooks, env=env)


def prompt(run: Run) -> str | AsyncIterator[JSONObject] | None:
    """Write what is new in the input, for ``client.query`` or ``query(prompt=…)``.

    That is what the user said after the last answer: the session has the rest.

    Returns:
        The text; or a message of the SDK, in an asynchronous iterator, if there are images or documents.
        ``None`` if the input has no message of the user, but a result of the front end, or the answer to an
        interrupt: ask nothing then.

    Raises:
        RemoteProtocolError: The input has nothing new (``bad_input``).

    Source:
        claude-agent-sdk 0.2.187: ``query`` accepts a string, or an iterator of messages with content blocks.
    """
    new, last = _new_messages(run), next(reversed(run.input.messages), None)
    if not new and (isinstance(last, ToolMessage) or run.resume):
        return None
    if not new:
        raise RemoteProtocolError(
            "The input has no new message of the user, result of a tool or answer to an interrupt.",
            code="bad_input",
            hint="Send what is new last: the session of the SDK takes nothing else.",
        )
    request = run.request(api=_API, provider="anthropic", tools=(), history=History(tuple(new)))
    blocks = request.body["messages"][0]["content"]
    if all(block["type"] == "text" for block in blocks):
        return "\n\n".join(block["text"] for block in blocks)
    return _message(blocks)


async def _message(blocks: list[JSONObject]) -> AsyncIterator[JSONObject]:
    yield {"type": "user", "message": {"role": "user", "content": blocks}, "parent_tool_use_id": None}


def session_id(run: Run) -> str | None:
    """Return the ID of the session to resume, from the shared state of the run's input.

    With keys, the ID is encrypted for the thread and the tenant of the run. Without keys it is the client's
    word: check that the session belongs to the user.

    Returns:
        The ID for ``ClaudeAgentOptions(resume=…)``; ``None`` to start a session.
    """
    state = run.input.state
    stored = state.get(_STATE) if isinstance(state, dict) else None
    if not isinstance(stored, str):
        return None
    if run.keys is not None:
        try:
            stored = run.keys.decrypt(stored, _binding(run)).decode()
        except DecryptionError:
            return None
    return stored if _UUID.fullmatch(stored) else None


def session_options(run: Run) -> dict[str, str]:
    """Return the options that resume the session where the client's history ends.

    So edited and regenerated messages are followed: what came after them is not resumed. The session keeps
    it as another branch.

    Returns:
        ``resume``, and ``resume_session_at`` if the shared state tells where, for ``ClaudeAgentOptions``;
        empty to start a session.

    Source:
        claude-agent-sdk 0.2.187: a session can be resumed at any message, and keeps the UUIDs of all.
    """
    session, turns, earlier = session_id(run), _turns(run), _earlier_messages(run)
    if session is None or (turns and not earlier):
        return {}
    end = next((turns[message.id] for message in reversed(earlier) if message.id in turns), None)
    return {"resume": session} | ({} if end is None else {"resume_session_at": end})


# -- reading messages


class _QueryReader(FrameworkReader):
    """Reads the messages of one query: those of the agent itself, and those of its subagents."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._session = session_id(run)
        self._agent = _SpeakerReader(run)
        self._subagents: Subagents[str, _SpeakerReader] = Subagents(_SpeakerReader)
        self._callers: dict[str, tuple[Run, str]] = {}
        self._end: str | None = None
        self._of_front_end = front_end_names(run)
        self._told = client_results(run).keys()
        self._handlers: dict[str, Callable[[Any], Sequence[AgentItem]]] = {
            "StreamEvent": self._streamed,
            "AssistantMessage": self._assistant,
            "UserMessage": self._user,
            "ResultMessage": self._result,
            "SystemMessage": self._of_session,
        }

    def receive(self, payload: Any) -> Sequence[AgentItem]:
        handler = self._handlers.get(type(payload).__name__)
        if handler is None and _SILENT.isdisjoint(base.__name__ for base in type(payload).__mro__):
            self._ignored(f"Messages of the type {type(payload).__name__!r}")
        remembered = self._remember(_session_of(payload))
        return [*remembered, *(handler(payload) if handler else ())]

    def close(self) -> Sequence[AgentItem]:
        return [*self._subagents.end(), *self._agent.close()]

    def _remember(self, session: str | None) -> Sequence[AgentItem]:
        """Write the ID into the shared state; a patch needs an object to apply to."""
        if session is None or session == self._session:
            return []
        self._session, run = session, self._run
        value = session if run.keys is None else run.keys.encrypt(session.encode(), _binding(run))
        has_object = isinstance(run.input.state, dict)
        return [_added(_STATE, value) if has_object else StateSnapshotEvent(snapshot={_STATE: value})]

    def _of_session(self, message: Any) -> Sequence[AgentItem]:
        """Check the names of tools that need an approval as soon as the SDK tells which there are."""
        if message.subtype == "init":
            _check_names(_ASKED.get(self._run, ()), message.data)
        return []

    def _streamed(self, message: Any) -> Sequence[AgentItem]:
        return self._in(message, lambda reader: reader.streamed(message.event))

    def _assistant(self, message: Any) -> Sequence[AgentItem]:
        """Read a message, which names the subagents that it starts. One with an error is the CLI's own."""
        if message.error is not None:
            return []
        self._note_end(message)
        items = self._in(message, lambda reader: reader.repeated(message))
        run = self._subagents.run(message.parent_tool_use_id) or self._run
        for block in message.content:
            if _type_of(block) == "ToolUseBlock":
                name = block.input.get("subagent_type")
                self._callers[block.id] = run, name if isinstance(name, str) and name else block.name
        return items

    def _user(self, message: Any) -> Sequence[AgentItem]:
        """Read tool results, but those of the client. That of a call that started a subagent ends it."""
        blocks = message.content if isinstance(message.content, list) else []
        given = [block for block in blocks if _type_of(block) == "ToolResultBlock"]
        results = [block for block in given if block.tool_use_id not in self._told]
        if given:
            self._note_end(message)
        if not results:
            return []
        answered = {block.tool_use_id for block in results}
        ended = self._subagents.end(answered.__contains__)
        parts = [
            result_part(block.tool_use_id, block.content, failed=bool(block.is_error)) for block in results
        ]
        return [*ended, *self._in(message, lambda reader: [*reader.flush(), *parts])]

    def _note_end(self, message: Any) -> None:
        if message.parent_tool_use_id is None:
            self._end = getattr(message, "uuid", None)

    def _result(self, message: Any) -> Sequence[AgentItem]:
        items = list(self._agent.flush())
        if message.is_error:
            raise ProviderError(
                provider_type=message.subtype,
                provider_message="\n".join([message.result or "", *(message.errors or ())]).strip(),
                status_code=getattr(message, "api_error_status", None),
                deltas=cast("Sequence[Delta]", items),
            )
        return [*items, *_ended_turn(self._run, self._end), *self._question(message.deferred_tool_use)]

    def _question(self, deferred: Any) -> Sequence[AgentItem]:
        """Ask the user about a call that waits, unless the front end runs it."""
        if deferred is None or _plain_name(deferred.name) in self._of_front_end:
            return []
        return [approval(deferred.id, deferred.name)]

    def _in(self, message: Any, read: Callable[[_SpeakerReader], Sequence[AgentItem]]) -> Sequence[AgentItem]:
        """Read a message with the reader of its agent."""
        parent = message.parent_tool_use_id
        if parent is None:
            return read(self._agent)
        caller, name = self._callers.get(parent, (self._run, "subagent"))
        return self._subagents.read(parent, caller, name, read)


class _SpeakerReader:
    """Reads what one agent says: the events of its model, or its messages if there are none."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._target = ModelStream(None, run.api or _API, run.provider, run.model)
        self._model: PayloadReader = Reading(run, self._target)
        self._streamed: set[str] = set()
        self._message: JSONObject | None = None

    def streamed(self, event: JSONObject) -> Sequence[AgentItem]:
        if event.get("type") == "message_start":
            self._streamed.add(event["message"].get("id"))
        return _with_plain_names(self._model.receive(event))

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
        message, self._message = self._message, None
        if message is None or not message["content"]:
            return []
        return _with_plain_names(Reading(self._run, self._target).whole(message))

    def close(self) -> Sequence[AgentItem]:
        return [*self.flush(), *self._model.close()]


_BLOCKS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "TextBlock": ("text", ("text",)),
    "ThinkingBlock": ("thinking", ("thinking", "signature")),
    "ToolUseBlock": ("tool_use", ("id", "name", "input")),
}
"""The SDK's content blocks, as the type and the fields of those of the API."""


def _with_plain_names(items: Sequence[AgentItem]) -> Sequence[AgentItem]:
    """Name the tools of the front end as the front end does."""
    return [
        structs.replace(one, name=_plain_name(one.name)) if isinstance(one, ToolCallDelta) else one
        for one in items
    ]


_SILENT: Final = frozenset({"SystemMessage", "RateLimitEvent"})
"""The messages, and their kinds, that report on the session itself."""


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


# -- the session

_STATE: Final = "claudeAgentSession"
"""The member of the shared state that holds the ID of the session."""

_TURNS: Final = "claudeAgentTurns"
"""The member that holds the UUIDs of the last messages of answers, by the IDs of the user's messages."""

_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
"""IDs become arguments of a command line, and the client could have changed them."""


def _turns(run: Run) -> dict[str, str]:
    """Return where answers end in the session, as far as the client's word is well-formed."""
    state = run.input.state
    stored = state.get(_TURNS) if isinstance(state, dict) else None
    pairs = stored.items() if isinstance(stored, dict) else ()
    return {name: end for name, end in pairs if isinstance(end, str) and _UUID.fullmatch(end)}


def _earlier_messages(run: Run) -> Sequence[Message]:
    messages = run.input.messages
    return messages[: len(messages) - len(_new_messages(run))]


def _new_messages(run: Run) -> list[UserMessage]:
    """Return the messages of the user after the last answer, in order."""
    newest = takewhile(lambda message: isinstance(message, UserMessage), reversed(run.input.messages))
    return [message for message in newest if isinstance(message, UserMessage)][::-1]


def _binding(run: Run) -> Binding:
    from agui_reasoning.crypto import Binding

    return Binding(run.input.thread_id, tenant=run.tenant, entity_id=_STATE)


def _added(member: str, value: Any) -> AgentItem:
    change = {"op": "add", "path": f"/{member}", "value": value}
    return StateDeltaEvent.model_validate({"delta": [change]})


def _ended_turn(run: Run, end: str | None) -> Sequence[AgentItem]:
    """Tell which message ends an answer, beside the earlier answers that the client has."""
    asked = next((one for one in reversed(run.input.messages) if isinstance(one, UserMessage)), None)
    if end is None or asked is None:
        return []
    earlier = {message.id for message in _earlier_messages(run)}
    kept = {name: place for name, place in _turns(run).items() if name in earlier}
    return [_added(_TURNS, {**kept, asked.id: end})]


# -- calls that wait for the client

_SERVER: Final = "front_end"
_PREFIX: Final = f"mcp__{_SERVER}__"

_ONE: Final = "Only one call can wait at a time. Call this one again when the other has its result."
_REFUSED: Final = "The user refused."

_NO_RESUME: Final = {"CLAUDE_CODE_DISABLE_DEFERRED_TOOL_RESUME": "1"}
"""For runs in which the user says something instead of answering a call: the SDK would answer twice."""


def _plain_name(name: str) -> str:
    """Return the name of a tool as the front end knows it; the SDK puts that of the server before."""
    return name.removeprefix(_PREFIX)


_ASKED: Final[WeakKeyDictionary[Run, Collection[str]]] = WeakKeyDictionary()
"""The names of the tools that the user has to approve, until the SDK tells which tools there are."""

_RENAMED: Final = {"Agent": "Task"}
"""Tools that hooks know by another name than that in the list of tools."""


def _check_names(ask_first: Collection[str], session: Mapping[str, Any]) -> None:
    """Refuse names that no tool has: the tool that was meant would run without an approval.

    Source:
        claude-agent-sdk 0.2.187: the first message of a session names all tools, also those that the model
        has to search for, but not those of servers that are still to connect.
    """
    tools = session.get("tools")
    if not isinstance(tools, list) or any(one.get("status") == "pending" for one in session["mcp_servers"]):
        return
    wrong = sorted(name for name in ask_first if _RENAMED.get(name, name) not in tools)
    if wrong:
        raise ConfigurationError(
            f"`ask_first` names {', '.join(map(repr, wrong))}, which no tool of the session has.",
            code="wrong_option",
            hint=f"The names of its tools are: {', '.join(map(str, tools))}.",
        )


def _check_answers(run: Run, ask_first: Collection[str]) -> None:
    """Read the answers before the SDK starts, where an error still ends the run."""
    for call in run.open_calls if run.resume else ():
        entry = answer_to(run, call.id) if _plain_name(call.name) in ask_first else None
        if entry is not None:
            decision(entry)


class _WaitingCalls:
    """The calls in one run of the SDK that wait, or have waited, for the client."""

    def __init__(self, run: Run, ask_first: Collection[str]) -> None:
        self._run = run
        self._of_front_end, self._ask_first = front_end_names(run), ask_first
        self._results = client_results(run)
        self._answered: deque[str] = deque()
        self._deferred = False

    async def before(self, call: Mapping[str, Any], call_id: str | None, _: Any) -> dict[str, Any]:
        """Decide whether a call goes on, as the hook before calls of tools."""
        name = _plain_name(call["tool_name"])
        if name in self._of_front_end:
            if call_id in self._results:
                self._answered.append(call_id)
                return _decision("allow")
        elif name in self._ask_first:
            entry = answer_to(self._run, call_id or "")
            if entry is not None:
                return _decided(_read(entry))
        else:
            return {}
        if self._deferred:
            return _decision("deny", permissionDecisionReason=_ONE)
        self._deferred = True
        return _decision("defer")

    async def answer(self, _: Any) -> JSONObject:
        """Return what the front end answered, as the tool."""
        result = self._results[self._answered.popleft()]
        content = told(result.content, result.error or None)
        is_text = isinstance(content, str)
        blocks = [{"type": "text", "text": content}] if is_text else list(map(_result_block, content))
        return {"content": blocks, "is_error": bool(result.error)}


def _read(entry: ResumeEntry) -> Decision:
    """Read an answer in a hook. If it raised, the SDK would run the tool."""
    try:
        return decision(entry)
    except RemoteProtocolError as error:
        return Decision(False, str(error))


def _decided(given: Decision) -> dict[str, Any]:
    if not given.approved:
        return _decision("deny", permissionDecisionReason=given.reason or _REFUSED)
    return _decision("allow", **({} if given.edited is None else {"updatedInput": given.edited}))


def _decision(made: str, **more: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": made, **more}}


def _result_block(part: Any) -> JSONObject:
    found = text_or_media(part)
    if isinstance(found, str):
        return {"type": "text", "text": found}
    if (found.type, found.place) != ("image", "data"):
        return {"type": "text", "text": stand_in(part)}
    return {"type": "image", "data": found.value, "mimeType": found.media_type}
