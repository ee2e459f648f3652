"""Writes a request as the messages of Agno, and what the user answered as the run that it goes on from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from agui_reasoning._wire_events import data_of, text_of
from agui_reasoning.interop._client import UserAnswer, decision, wrong_answer
from agui_reasoning.interop._messages import (
    Answer,
    Exchange,
    FunctionCall,
    Result,
    Told,
    exchanges,
    request_for,
    standard_base64,
    text_or_media,
)
from agui_reasoning.parts import TextPart, ToolCallPart
from agui_reasoning.providers.payload import JSONObject, compact_json
from agui_reasoning.request import History, PreparedResponse, ProviderRequest
from agui_reasoning.run import Run

_ONE_SYSTEM_MESSAGE: Final = frozenset({"bedrock-converse", "gemini"})
"""The APIs for which Agno sends the last system message only."""


def written_ids(run: Run) -> str:
    """Return how the IDs of a run's written messages begin: Agno returns them together with new ones."""
    return f"agui-reasoning:{run.input.run_id}:"


def message_dicts(run: Run, history: History | None = None) -> list[JSONObject]:
    """Write the request of a run; warn of what has no place in the messages."""
    request, warn = request_for(run, _ANSWERS, "Agno", history), run.warn_once
    api = request.target.api or ""
    written: list[JSONObject] = []
    texts = _result_texts(request) if api == "bedrock-converse" else {}
    for one in exchanges(request):
        if isinstance(one, Result) and one.call_id in texts:
            one = replace(one, content=texts[one.call_id])
        if isinstance(one, Told) and one.role != "user" and api in _ONE_SYSTEM_MESSAGE:
            warn(
                ["Instructions of the client are left out: Agno would send them instead of the agent's own."]
            )
            continue
        written.append({"id": f"{written_ids(run)}{len(written)}", **_message(one, api, warn)})
    return written


def _message(one: Exchange, api: str, warn: Callable[[list[str]], None]) -> JSONObject:
    if isinstance(one, Told):
        if one.role != "user":
            return {"role": one.role, "content": _text(one.content)}
        told = _with_media(one.content, warn) if api == "gemini" else {"content": one.content}
        return {"role": "user", **told}
    if isinstance(one, Answer):
        return {"role": "assistant", **_ANSWERS[api](one)}
    told = {"content": one.content, "tool_call_error": one.failed}
    return {"role": "tool", "tool_call_id": one.call_id, "tool_name": one.name, **told}


def _result_texts(request: ProviderRequest) -> dict[str, str]:
    """Return the results as text, by the IDs of the calls: Agno writes those for Bedrock as JSON."""
    answers = [item for item in request.conversation.items if isinstance(item, PreparedResponse)]
    return {one.tool_call_id: text_of(one.content) for answer in answers for one in answer.results}


def _text(content: Any) -> str:
    texts = [content] if isinstance(content, str) else [block.get("text", "") for block in content]
    return "\n".join(filter(None, texts))


# -- answers


def _with_calls(calls: Sequence[FunctionCall], **members: Any) -> JSONObject:
    return {**members, "tool_calls": [_function(call) for call in calls] or None}


def _function(call: FunctionCall) -> JSONObject:
    function = {"name": call.name, "arguments": compact_json(call.args)}
    return {"id": call.id, "type": "function", "function": function}


def _anthropic(answer: Answer) -> JSONObject:
    blocks = list(answer.content)
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    return _with_calls(answer.calls, content=text, provider_data={"content_blocks": blocks})


def _gemini(answer: Answer) -> JSONObject:
    """Write one text with one signature, and the calls with theirs: Agno has no place for more."""
    texts = [part for part in answer.content if isinstance(part, TextPart)]
    signed = [standard_base64(part.opaque[0]) for part in texts if part.opaque]
    calls = [part for part in answer.content if isinstance(part, ToolCallPart) and part.opaque]
    signatures = {part.id: {"thought_signature": standard_base64(part.opaque[0])} for part in calls}
    functions = [_function(call) | signatures.get(call.id, {}) for call in answer.calls]
    return {
        "content": "".join(part.text for part in texts) if texts else None,
        "provider_data": {"thought_signature": signed[-1]} if signed else None,
        "tool_calls": functions or None,
    }


_ANSWERS: Final[Mapping[str, Callable[[Answer], JSONObject]]] = {
    "anthropic-messages": _anthropic,
    # Agno sends a list as it is; the calls in it are not written again.
    "bedrock-converse": lambda answer: _with_calls(answer.calls, content=list(answer.content)),
    "gemini": _gemini,
    "openai-chat": lambda answer: dict(answer.content[0]),
}

"""The APIs whose reasoning has a place in the messages."""


# -- what the user sends to Gemini

_FIELDS: Final = {"image": "images", "audio": "audio", "video": "videos", "document": "files"}


def _with_media(content: Any, warn: Callable[[list[str]], None]) -> JSONObject:
    """Write AG-UI content; media by URL are left out, because Agno would fetch them from the server."""
    if isinstance(content, str):
        return {"content": content}
    texts: list[str] = []
    written: JSONObject = {}
    for part in content:
        found = text_or_media(part)
        if isinstance(found, str):
            texts.append(found)
        elif data := data_of(part):
            medium = {"content": data, "mime_type": found.media_type}
            written.setdefault(_FIELDS[found.type], []).append(medium)
        else:
            warn(["Media by URL are left out: Agno would fetch them from your server, wherever they are."])
    return {"content": "\n".join(texts) or None, **written}


# -- what the user answered

_REFUSED: Final = "The user refused the call."


def settled(answers: Mapping[str, UserAnswer]) -> dict[str, tuple[str, bool]]:
    """Return the text of results that need no tool, and whether it is an error, by the ID of the call.

    These are the results of refused calls, and of questions to the user.
    """
    results: dict[str, tuple[str, bool]] = {}
    for call_id, answer in answers.items():
        if answer.is_decision or answer.entry.status == "cancelled":
            decided = decision(answer.entry)
            if not decided.approved:
                results[call_id] = decided.reason or _REFUSED, True
        elif (told := _TOLD.get(answer.call.name)) is not None:
            results[call_id] = told(answer.call.args, _values(answer)), False
    return results


def _values(answer: UserAnswer) -> JSONObject:
    if not isinstance(answer.entry.payload, dict):
        raise wrong_answer(answer.entry, "an object with the fields that were asked for")
    return answer.entry.payload


def _inputs(_: JSONObject, values: JSONObject) -> str:
    told = [{"name": name, "value": value} for name, value in values.items()]
    return f"User inputs retrieved: {compact_json(told)}"


def _feedback(args: JSONObject, values: JSONObject) -> str:
    asked = [one["question"] for one in args.get("questions", ())]
    told = [{"question": text, "selected": values.get(text, [])} for text in asked]
    return f"User feedback received: {compact_json(told)}"


_TOLD: Final[Mapping[str, Callable[[JSONObject, JSONObject], str]]] = {
    "get_user_input": _inputs,
    "ask_user": _feedback,
}
"""What Agno tells the model of the answers to its own tools that ask the user."""


async def paused_run(run: Run, agent: Any, run_context: Any | None) -> tuple[Any, set[str]]:
    """Return a paused run without its calls, and the names of the tools that pause a run; needs Agno.

    The instructions of the agent are the first message.

    Source:
        agno 3.1.10: a continued run takes its messages with the instructions from the paused one, and the
        instructions of tool kits are known when the tools of the model are determined.
    """
    from agno.agent._tools import determine_tools_for_model
    from agno.run import RunContext, RunStatus
    from agno.run.agent import RunOutput
    from agno.session import AgentSession
    from agno.tools.function import Function

    context = run_context or RunContext(run.input.run_id, run.input.thread_id, session_state={})
    who = {"session_id": context.session_id, "user_id": context.user_id}
    session = AgentSession(**who)
    paused = RunOutput(run_id=context.run_id, status=RunStatus.paused, messages=[], **who)
    agent.initialize_agent()
    given = await agent.aget_tools(paused, context, session, context.user_id)
    made = determine_tools_for_model(agent, agent.model, given, paused, context, session, async_mode=True)
    system = await agent.aget_system_message(session=session, run_context=context, tools=made)
    paused.messages += [] if system is None else [system]
    functions = (tool for tool in made if isinstance(tool, Function))
    return paused, {one.name for one in functions if one.requires_confirmation or one.requires_user_input}


def approved_call(answer: UserAnswer) -> JSONObject:
    """Return the fields of a ``ToolExecution`` that lets a tool run, with what the user changed."""
    if answer.is_decision:
        edited = decision(answer.entry).edited
        args = answer.call.args if edited is None else edited
    else:
        args = {**answer.call.args, **_values(answer)}
    call = {"tool_call_id": answer.call.id, "tool_name": answer.call.name, "tool_args": args}
    return {**call, "requires_confirmation": True, "confirmed": True}
