"""What the client brings to a run for the agent of a framework: its tools, and its answers to interrupts.

Calls that wait for the user are interrupts of AG-UI: an `approval` or a `question`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from types import ModuleType
from typing import ClassVar, Final

from ag_ui.core import DeveloperMessage, Interrupt, ResumeEntry, SystemMessage, ToolMessage, UserMessage

from agui_reasoning.errors import ConfigurationError, RemoteProtocolError
from agui_reasoning.parts import RedactedRepr, ToolCallPart, Turn
from agui_reasoning.providers.encoding import tools_of
from agui_reasoning.providers.payload import JSONObject
from agui_reasoning.request import History, OpenCall
from agui_reasoning.run import Run


def imported(module: str, framework: str, packages: str) -> ModuleType:
    """Import a module of a framework, which is in these packages.

    Raises:
        ConfigurationError: The framework is not installed (``missing_framework``).
    """
    try:
        return import_module(module)
    except ImportError:
        raise ConfigurationError(
            f"{framework} is not installed.", code="missing_framework", hint=f"Install {packages}."
        ) from None


# -- tools


def front_end_tools(run: Run, parameters: str = "parameters") -> list[JSONObject]:
    """Return the name, the description and the JSON Schema of each tool of the input.

    The schema has the name by which the framework knows it.
    """
    names = "name", "description", parameters
    return tools_of(run.input.tools or (), lambda *values: dict(zip(names, values, strict=True)))


def front_end_names(run: Run) -> set[str]:
    return {tool.name for tool in run.input.tools or ()}


def client_results(run: Run) -> dict[str, ToolMessage]:
    """Return the results in the input, by the IDs of the calls: frameworks may report them again."""
    return {one.tool_call_id: one for one in run.input.messages if isinstance(one, ToolMessage)}


# -- interrupts

_CANCELLED: Final = "The user did not decide."
"""What the model is told if the user leaves an interrupt without an answer."""

_QUESTION: Final = "question:"
"""How the IDs of questions begin, before that of the call: their answers must not be taken for decisions."""

_APPROVED: Final = {"type": "boolean"}
_REASON: Final = {"type": "string", "description": "Why not, for the model."}
_EDITED: Final = {"type": "object", "description": "All arguments, in place of those of the model."}


def approval(
    call_id: str,
    name: str,
    *,
    message: str | None = None,
    editable: bool = True,
    metadata: JSONObject | None = None,
) -> Interrupt:
    """Return the interrupt of a call that needs an approval, with the ID of the call.

    Source:
        AG-UI, interrupts: ``editedArgs`` in the schema tells that arguments can be changed.
    """
    properties = {"approved": _APPROVED, "reason": _REASON} | ({"editedArgs": _EDITED} if editable else {})
    return Interrupt(
        id=call_id,
        reason="tool_call",
        message=message or f"Call {name}?",
        tool_call_id=call_id,
        response_schema={"type": "object", "properties": properties, "required": ["approved"]},
        metadata=metadata,
    )


def question(
    call_id: str,
    name: str,
    *,
    message: str | None = None,
    schema: JSONObject | None = None,
    metadata: JSONObject | None = None,
) -> Interrupt:
    """Return the interrupt of a call that needs what only the user knows, an answer of this JSON Schema."""
    return Interrupt(
        id=_QUESTION + call_id,
        reason="input_required",
        message=message or f"What does {name} need?",
        tool_call_id=call_id,
        response_schema=schema,
        metadata=metadata,
    )


@dataclass(frozen=True, slots=True, repr=False)
class UserAnswer(RedactedRepr):
    """What the user said about a call that waits: a decision answers an `approval`, not a `question`."""

    call: OpenCall
    entry: ResumeEntry
    is_decision: bool

    _private: ClassVar[frozenset[str]] = frozenset({"entry"})


@dataclass(frozen=True, slots=True, repr=False)
class Decision(RedactedRepr):
    """What the user decided on a call.

    Attributes:
        approved: Whether the tool may run.
        reason: What the model is told if it may not; ``None`` for the framework's own words.
        edited: The arguments in place of the model's, if the user changed them.
    """

    approved: bool
    reason: str | None = None
    edited: JSONObject | None = None

    _private: ClassVar[frozenset[str]] = frozenset({"reason", "edited"})


def decision(entry: ResumeEntry, *, editable: bool = True) -> Decision:
    """Read the answer to an `approval`. A cancelled interrupt is a refusal.

    An approval that changes arguments that are not editable is an error: the user did not approve what would
    run.

    Raises:
        RemoteProtocolError: The answer has another form (``bad_answer``).
    """
    if entry.status == "cancelled":
        return Decision(False, _CANCELLED)
    given = entry.payload
    if not isinstance(given, Mapping) or not isinstance(given.get("approved"), bool):
        raise wrong_answer(entry, 'an object with "approved": true or false')
    reason, edited = given.get("reason"), given.get("editedArgs")
    if not isinstance(reason, str | None) or not isinstance(edited, dict | None):
        raise wrong_answer(entry, 'text as "reason" and an object as "editedArgs"')
    if given["approved"] and edited is not None and not editable:
        raise wrong_answer(entry, 'a decision without "editedArgs": the arguments of this call stay')
    return Decision(given["approved"], reason or None, edited)


def wrong_answer(entry: ResumeEntry, expected: str) -> RemoteProtocolError:
    """Return the error for an answer that has not the form that the interrupt asked for."""
    return RemoteProtocolError(
        f"The answer to the interrupt {entry.interrupt_id[:80]!r} is not {expected}.",
        code="bad_answer",
        hint="Send a payload that matches the `responseSchema` of the interrupt, or cancel it.",
    )


def answered_calls(run: Run) -> dict[str, UserAnswer]:
    """Return what the user said about calls of the last response, by the IDs of the calls.

    Frameworks continue only where they stopped, so answers to older calls are left out, with a warning. The
    front end runs its own tools, whatever it answers. That the run before asked is not required, because
    assistant-ui loses the value that tells so.
    """
    if not run.resume:
        return {}
    given: dict[str, UserAnswer] = {}
    front_end = front_end_names(run)
    for call in run.open_calls:
        entry = call.resume or (answer_to(run, call.id) if call.interrupt is None else None)
        if entry is not None and call.name not in front_end:
            asked = entry.interrupt_id if call.interrupt is None else call.interrupt.id
            given[call.id] = UserAnswer(call, entry, not asked.startswith(_QUESTION))
    turns = run.history.turns
    last = {part.id for part in turns[-1].parts if isinstance(part, ToolCallPart)} if turns else set()
    if late := given.keys() - last:
        run.warn_once([f"{len(late)} answer(s) to interrupts came after the model went on, and are ignored."])
    return {call_id: answer for call_id, answer in given.items() if call_id in last}


def answer_to(run: Run, call_id: str) -> ResumeEntry | None:
    """Return the answer to the `approval` or `question` of a call."""
    return run.resume.get(call_id) or run.resume.get(_QUESTION + call_id)


def history_with(run: Run, results: Mapping[str, tuple[str, bool]]) -> History:
    """Return the history of a run with results of calls that wait, to continue where the agent stopped.

    The results come last: the text of each, and whether it is an error, by the ID of the call. What the user
    wrote after the calls stands before the response that has them.
    """
    items = run.history.items
    last = max((index for index, item in enumerate(items) if isinstance(item, Turn)), default=0)
    written = [item for item in items[last:] if isinstance(item, _WRITTEN)]
    rest = [item for item in items[last:] if not isinstance(item, _WRITTEN)]
    told = ((call.id, *results[call.id]) for call in run.open_calls if call.id in results)
    given = (
        ToolMessage(id=call_id, tool_call_id=call_id, content=content, error=content if failed else None)
        for call_id, content, failed in told
    )
    return replace(run.history, items=(*items[:last], *written, *rest, *given))


_WRITTEN: Final = (UserMessage, SystemMessage, DeveloperMessage)


def history_without(run: Run, call_ids: Iterable[str]) -> History:
    """Return the history of a run for a request from which the results of these calls are removed.

    They have empty ones in it, so that the model is not told that nobody answered.
    """
    return history_with(run, dict.fromkeys(call_ids, ("", False)))
