"""Reads the messages that a client returned as plain data.

Nothing is trusted. Front ends omit fields, add their own, and change IDs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Never, TypeAlias, get_args

from ag_ui.core import FunctionCall, Message, RunAgentInput, ToolCall
from msgspec import Struct
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from agui_reasoning._envelope import digest
from agui_reasoning._limits import Limits
from agui_reasoning._strict_json import places_of
from agui_reasoning._wire_events import HINT_KEY, hint_of, hint_of_call, without_hint
from agui_reasoning.errors import RemoteProtocolError

HistoryInput: TypeAlias = RunAgentInput | Mapping[str, Any] | Iterable[BaseModel | Mapping[str, Any]]
"""A run input or its messages, as models or JSON."""

_MESSAGES: Final = frozenset(get_args(get_args(Message)[0]))

_NAMES_OF: Final = {
    model: {name: member.alias or name for name, member in model.model_fields.items()}
    for model in (*_MESSAGES, ToolCall, FunctionCall)
}
"""The wire names of the members of messages and calls, by model."""


class ClientCall(Struct, gc=False):
    """A tool call of a message; the ID is ``"None"`` if there is none.

    Attributes:
        value: The encrypted value; anything if the client made it up.
    """

    id: str
    name: str
    arguments: str
    value: Any
    metadata: Any


class ClientMessage(Struct, gc=False):
    """A message with the members that are used.

    Attributes:
        given: The message as it was given: a model, or JSON.
        id: The ID; ``"None"`` if there is none.
        text: The text, without parts that are not text.
        value: The encrypted value; anything if the client made it up.
        answers: The call that a result answers.
        calls: The tool calls, if it is an assistant's.
        digest: The digest of the text, once it is known.
    """

    given: Message | dict[str, Any]
    role: str | None
    id: str
    subagent: str | None
    text: str
    value: Any = None
    metadata: Any = None
    error: Any = None
    answers: str = ""
    calls: Sequence[ClientCall] = ()
    digest: str = ""

    def has_digest(self, sha256: str) -> bool:
        """Return whether the text has a digest, which is computed only once."""
        if not self.digest:
            self.digest = digest(self.text)
        return self.digest == sha256

    def hinted(self, call: ClientCall | None = None) -> str | None:
        """Return the response that the hint of the message, or of one of its calls, names."""
        message = {"metadata": self.metadata}
        if call is None:
            hint = hint_of(message)
        else:
            hint = hint_of_call({"id": call.id, "metadata": call.metadata}, message)
        response = hint.get("response")
        return response if isinstance(response, str) else None

    def with_error(self, error: str) -> Message:
        """Return the model of the message, with an error.

        Raises:
            RemoteProtocolError: The message is malformed (``bad_input``).
        """
        if isinstance(self.given, dict):
            return as_message({**self.given, "error": error})
        return as_message(self.given).model_copy(update={"error": error})


class ClientMessages(Struct, frozen=True):
    """A client's messages, whose size and fields have been checked."""

    read: list[ClientMessage]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.read)


def messages_of(given: HistoryInput, limits: Limits) -> ClientMessages:
    """Read the messages; return those that have been read as they are.

    Raises:
        RemoteProtocolError: The input is not a list of messages, or an ID is not a string (``bad_input``), or
            it exceeds the limits (``too_large``).
    """
    if isinstance(given, ClientMessages):
        return given
    messages: Any = given.messages if isinstance(given, RunAgentInput) else given
    if isinstance(messages, Mapping):
        messages = messages.get("messages")
    if isinstance(messages, str | bytes) or not isinstance(messages, Iterable):
        _refuse(f"{type(messages).__name__} where a list of messages was expected")
    plain: list[dict[str, Any]] = []
    read: list[ClientMessage] = []
    count = 0
    for one in messages:
        message = _plain(one)
        if not isinstance(message, dict):
            _refuse(f"{type(message).__name__} where a message was expected")
        plain.append(message)
        if len(plain) > limits.messages:
            limits.check("messages", len(plain))
        entry = _from_json(message, one if type(one) in _NAMES_OF else message)
        calls = message.get("toolCalls")
        if calls is not None:
            found = _calls_from_json(calls)
            count += len(found)
            limits.check("calls", count)
            if entry.role == "assistant":
                entry.calls = found
        read.append(entry)
    limits.check_json(*plain)
    return ClientMessages(read)


def checked_messages(models: Iterable[Message]) -> ClientMessages:
    """Read messages of a run input that has been checked and validated."""
    return ClientMessages([_from_model(model) for model in models])


def _from_json(message: dict[str, Any], given: Any) -> ClientMessage:
    """Check and read the members of a message, without its calls."""
    get = message.get
    message_id, role = get("id", "None"), get("role")
    answers, subagent = get("toolCallId", "None"), get("subagentRunId")
    if type(message_id) is not str:  # a call for each takes longer than the tests
        _check_string(message_id, "id")
    if type(role) is not str:
        _check_string(role, "role")
    if type(answers) is not str:
        _check_string(answers, "toolCallId")
    if subagent is not None:
        _check_string(subagent, "subagentRunId")
    content, value, metadata = get("content"), get("encryptedValue"), get("metadata")
    text = content if type(content) is str else _text_of(content)
    message_id, answers = str(message_id), str(answers)
    return ClientMessage(given, role, message_id, subagent, text, value, metadata, get("error"), answers)


def _calls_from_json(calls: Any) -> list[ClientCall]:
    if not isinstance(calls, list):
        _refuse(f"{type(calls).__name__} at toolCalls, where a list was expected")
    return [_call_from_json(_object(call, "toolCalls")) for call in calls]


def _call_from_json(call: dict[str, Any]) -> ClientCall:
    call_id, function, name, arguments = call.get("id"), call.get("function"), None, None
    _check_string(call_id, "toolCalls/id")
    if function:
        name, arguments = _object(function, "toolCalls/function").get("name"), function.get("arguments")
        _check_string(name, "toolCalls/function/name")
        _check_string(arguments, "toolCalls/function/arguments")
    value, metadata = call.get("encryptedValue"), call.get("metadata")
    return ClientCall(str(call_id), str(name or ""), str(arguments or ""), value, metadata)


def _from_model(model: Message) -> ClientMessage:
    members = model.__dict__  # attributes of models are slow
    role, content = members["role"], members["content"]
    text = content if type(content) is str else _text_of(content)
    value, subagent = members.get("encrypted_value"), members["subagent_run_id"]
    read = ClientMessage(model, role, members["id"], subagent, text, value, members["metadata"])
    if role == "assistant":
        if members["tool_calls"]:
            read.calls = [_call_from_model(call) for call in members["tool_calls"]]
    elif role == "tool":
        read.answers, read.error = members["tool_call_id"], members.get("error")
    return read


def _call_from_model(call: ToolCall) -> ClientCall:
    members, function = call.__dict__, call.function.__dict__
    name, arguments = function["name"], function["arguments"]
    return ClientCall(members["id"], name, arguments, members.get("encrypted_value"), members.get("metadata"))


def _text_of(content: Any) -> str:
    """Return the text of content, without parts that are not text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (part.get("text") if isinstance(part, dict) else getattr(part, "text", None) for part in content)
    return "".join(text for text in texts if isinstance(text, str))


def thread_of(given: HistoryInput) -> str | None:
    """Return the thread of a run input; ``None`` for a list of messages."""
    if isinstance(given, RunAgentInput):
        return given.thread_id
    thread = given.get("threadId", given.get("thread_id")) if isinstance(given, Mapping) else None
    return thread if isinstance(thread, str) else None


def _plain(value: Any) -> Any:
    if type(value) is dict:  # the test for models is slow
        return value
    names = _NAMES_OF.get(type(value))
    if names is None and not isinstance(value, BaseModel):
        return dict(value) if isinstance(value, Mapping) else value
    try:
        if names is not None:
            return _members(value, names)
        return value.model_dump(mode="json", by_alias=True, warnings=False)
    except (PydanticSerializationError, ValueError, RecursionError):
        pass  # not raised here: their text may quote the message
    return _refuse(f"a {type(value).__name__} that JSON cannot represent")


def _members(model: BaseModel, names: Mapping[str, str]) -> dict[str, Any]:
    """Return a model of the SDK as ``model_dump`` does, which calls Python for each and takes longer."""
    read: dict[str, Any] = {}
    for name, value in model.__dict__.items():
        if value is None:
            continue
        if type(value) is str:
            read[names[name]] = value
        elif type(value) is list:
            read[names[name]] = [_plain(inner) for inner in value]
        else:
            read[names[name]] = _plain(value) if type(value) in _NAMES_OF else to_jsonable_python(value)
    if model.__pydantic_extra__:
        for name, value in model.__pydantic_extra__.items():
            read[name] = to_jsonable_python(value)
    return read


def _object(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        _refuse(f"{type(value).__name__} at {place}, where an object was expected")
    return value


def _check_string(value: object, place: str) -> None:
    if value is not None and not isinstance(value, str):
        _refuse(f"{type(value).__name__} at {place}, where a string was expected")


def _refuse(what: str) -> Never:
    raise RemoteProtocolError(
        f"The history contains {what}.",
        code="bad_input",
        hint="Pass a RunAgentInput, its JSON, or its messages.",
    )


_READ: Final[Callable[[Any], Message]] = TypeAdapter[Message](Message).validator.validate_python
"""The validator itself: a history has many messages, and `TypeAdapter.validate_python` does no more."""


def as_message(given: Message | Mapping[str, Any]) -> Message:
    """Return the model of a message.

    Raises:
        RemoteProtocolError: The message is malformed (``bad_input``).
    """
    if type(given) in _MESSAGES:
        return given  # type: ignore[return-value]
    try:
        return _READ(given)
    except ValidationError as error:
        # Pydantic's own text quotes the conversation, so only the positions are reported.
        places = places_of(error, given)
    raise RemoteProtocolError(
        f"A message of the history is malformed at {places}.",
        code="bad_input",
        hint="Send messages as AG-UI 1.0 describes them.",
    )


def erase_reasoning(messages: Iterable[Message | Mapping[str, Any]]) -> list[Message]:
    """Return a copy of the messages without reasoning, for places that must not contain any.

    Reasoning messages are removed. Answers and calls lose their encrypted values, this package's hints in
    metadata, and fields unknown to AG-UI. Everything that users wrote and read as an answer stays. Reasoning
    cannot be restored from the result; other copies are not affected.

    Args:
        messages: Messages as models or JSON; they are not modified.

    Raises:
        RemoteProtocolError: A message is malformed (``bad_input``).

    Examples:
        >>> thought = {"id": "r", "role": "reasoning", "content": "Hm.", "encryptedValue": "…"}
        >>> answer = {"id": "a", "role": "assistant", "content": "Yes.", "encryptedValue": "…"}
        >>> [(message.id, message.encrypted_value) for message in erase_reasoning([thought, answer])]
        [('a', None)]
    """
    return [_without_traces(message) for message in map(as_message, messages) if message.role != "reasoning"]


def _without_traces(entity: Any) -> Any:
    """Return a message or call, and its calls, without values and hints."""
    update: dict[str, Any] = {}
    if getattr(entity, "encrypted_value", None) is not None:
        update["encrypted_value"] = None
    metadata = getattr(entity, "metadata", None)
    if metadata and HINT_KEY in metadata:
        update["metadata"] = without_hint(metadata)
    if getattr(entity, "tool_calls", None):
        update["tool_calls"] = [_without_traces(call) for call in entity.tool_calls]
    copy = entity.model_copy(update=update)
    if copy.model_extra:
        copy.model_extra.clear()  # some producers put reasoning into fields of their own
    return copy
