"""Checks what the application and its storage pass in: messages, state, inputs and conversations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from pydantic import BaseModel

from agui_reasoning._strict_json import JSONObject, Malformed, load
from agui_reasoning._wire_events import is_expired
from agui_reasoning.consumer._faults import Notice, NoticeSink, cut
from agui_reasoning.consumer._models import plain_json
from agui_reasoning.consumer._pipeline import upgrade_message
from agui_reasoning.consumer._schema import MESSAGE, RUN_AGENT_INPUT
from agui_reasoning.consumer._schema_types import ANY, DROP, MalformedValue, SchemaType, inspect
from agui_reasoning.errors import LocalProtocolError

UserContent: TypeAlias = str | Sequence[BaseModel | Mapping[str, Any]]

_Checked: TypeAlias = Literal["message", "run input"]
_REMEDY = "Omit it, because the agent would not know it."


def clean_message(message: object, warn: NoticeSink) -> JSONObject | None:
    """Validate a message of the client, and remove unknown material.

    Returns:
        The known members of the message; ``None``, with a notice, if its role is unknown.

    Raises:
        LocalProtocolError: The message is malformed (``bad_message``).

    Source:
        AG-UI 1.1: C5 (binary parts are upgraded outbound too), C15.
    """
    members = plain_json(message)
    if members is None:
        raise _malformed("message", MalformedValue("a message or its JSON"))
    return _clean(MESSAGE, upgrade_message(members)[0], "message", warn)


def clean_state(state: Any) -> Any:
    """Copy a state as JSON. Models are converted.

    Raises:
        LocalProtocolError: The state cannot be represented as JSON (``bad_state``).
    """
    value = state.model_dump(by_alias=True, warnings=False) if isinstance(state, BaseModel) else state
    known, _, fault = inspect(ANY, value)
    if fault is not None:
        raise LocalProtocolError(
            f"The state cannot be sent: expected {fault.expected}.",
            code="bad_state",
            hint="Use objects, arrays, strings, finite numbers, booleans and null, without deep nesting.",
        )
    return known


def clean_input(run_input: JSONObject, warn: NoticeSink) -> JSONObject:
    """Validate the input of a run before it is sent.

    Raises:
        LocalProtocolError: The input is malformed (``bad_input``).

    Source:
        AG-UI 1.1, C15.
    """
    cleaned = _clean(RUN_AGENT_INPUT, run_input, "run input", warn)
    assert cleaned is not None, "an object without a tag is not of an unknown kind"
    return cleaned


def outgoing_members(values: Iterable[BaseModel | Mapping[str, Any]]) -> list[Any]:
    """Convert models to JSON; values that are neither models nor mappings are kept, and rejected later."""
    return [value if (members := plain_json(value)) is None else dict(members) for value in values]


def check_interrupts(interrupts: Iterable[JSONObject], resume: Iterable[Any], now: float | None) -> None:
    """Check that every interrupt has an answer, and in time.

    Raises:
        LocalProtocolError: An interrupt has no answer (``open_interrupt``) or two (``bad_input``), or has
            expired (``expired_interrupt``).

    Source:
        AG-UI 1.1, C56.
    """
    answers: dict[Any, Any] = {}
    for entry in resume:
        if answers.setdefault(entry["interruptId"], entry) != entry:
            raise LocalProtocolError(
                f"Two entries of `resume` answer the interrupt {entry['interruptId']!r} differently.",
                code="bad_input",
                hint="Pass one entry for each interrupt.",
                message_id=entry["interruptId"],
            )
    for interrupt in interrupts:
        answer = answers.get(interrupt["id"])
        if answer is None:
            raise LocalProtocolError(
                f"The interrupt {interrupt['id']!r} has no answer.",
                code="open_interrupt",
                hint="Pass a resume entry for each of `Conversation.interrupts`, resolved or cancelled.",
                message_id=interrupt["id"],
                state="interrupted",
            )
        expired = now is not None and is_expired(interrupt.get("expiresAt"), now)
        if expired and answer.get("status") != "cancelled":
            raise LocalProtocolError(
                f"The interrupt {interrupt['id']!r} has expired.",
                code="expired_interrupt",
                hint="It can only be cancelled now.",
                message_id=interrupt["id"],
                state="interrupted",
            )


def _clean(kind: SchemaType, value: Mapping[str, Any], what: _Checked, warn: NoticeSink) -> JSONObject | None:
    known, removed, fault = inspect(kind, value)
    if fault is not None:
        raise _malformed(what, fault)
    subject = "A message" if what == "message" else "The run input"
    if known is DROP:
        warn(Notice("unknown_member", f"{subject} is of an unknown kind and is removed.", _REMEDY))
        return None
    for path in removed:
        problem = f"{subject} has an unknown member at {cut(path)}, which is removed."
        warn(Notice("unknown_member", problem, _REMEDY))
    members: JSONObject = known
    return members


def _malformed(what: _Checked, fault: MalformedValue) -> LocalProtocolError:
    return LocalProtocolError(
        f"The {what} is malformed at {cut(fault.path) or '/'}: expected {fault.expected}.",
        code="bad_message" if what == "message" else "bad_input",
        hint="Pass it as the protocol describes it; omit optional fields instead of passing null.",
    )


_ENDED: Final = ("idle", "finished", "interrupted", "cancelled", "failed", "truncated")


def read_stored(text: str) -> JSONObject:
    """Read a stored conversation. A RunAgentInput is read too: it has a thread, messages and a state.

    Raises:
        LocalProtocolError: The text is not a stored conversation (``bad_conversation``).
    """
    stored = load(text)
    if isinstance(stored, Malformed) or not isinstance(stored, dict):
        raise _bad("expected a JSON object")
    for name, (is_valid, expected) in _MEMBERS.items():
        if stored.get(name) is not None and not is_valid(stored[name]):
            raise _bad(f"expected {expected} as `{name}`")
    return stored


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are(is_valid: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda values: isinstance(values, list) and all(map(is_valid, values))


def _is_interrupt(value: Any) -> bool:
    return isinstance(value, dict) and _is_text(value.get("id")) and _is_text(value.get("reason"))


_MEMBERS: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "threadId": (_is_text, "a string"),
    "messages": (_are(lambda value: isinstance(value, dict)), "an array of messages"),
    "status": (_ENDED.__contains__, f"one of {', '.join(_ENDED)}"),
    "pendingToolCallIds": (_are(_is_text), "an array of strings"),
    "interrupts": (_are(_is_interrupt), "an array of interrupts"),
}


def _bad(problem: str) -> LocalProtocolError:
    return LocalProtocolError(
        f"This is not a stored conversation: {problem}.",
        code="bad_conversation",
        hint="Pass what `Conversation.to_json` returned.",
    )
