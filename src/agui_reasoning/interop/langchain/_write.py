"""Writes a request as message dicts of LangChain, and what a graph waits for as interrupts with answers.

`HumanInTheLoopMiddleware` asks about calls, one by one or all at once: each becomes an interrupt of AG-UI
with the ID of its call. Any other interrupt keeps its ID and its value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from ag_ui.core import Interrupt, ResumeEntry
from msgspec import Struct, structs

from agui_reasoning.interop._client import answer_to, approval, decision, imported, question, wrong_answer
from agui_reasoning.interop._messages import Answer, Exchange, Told, exchanges, standard_base64, text_or_media
from agui_reasoning.parts import TextPart, ToolCallPart
from agui_reasoning.providers.payload import JSONObject
from agui_reasoning.request import OpenCall, ProviderRequest
from agui_reasoning.run import Run

FRAMEWORK: Final = ("LangGraph", "langgraph, or langchain")

CALL_SIGNATURES: Final = "__gemini_function_call_thought_signatures__"
"""The member of ``additional_kwargs`` that holds the signatures of Gemini's calls, by their IDs."""

_CALL: Final = "agui_tool_call"
"""The member of the value of an interrupt that holds a call of a tool of the front end."""


def message_dicts(request: ProviderRequest) -> Iterator[JSONObject]:
    """Write a request for an API of `WRITTEN`."""
    api = request.target.api or ""
    return (_message(one, api) for one in exchanges(request))


def _message(one: Exchange, api: str) -> JSONObject:
    contents = _CONTENTS.get(api)
    if isinstance(one, Answer):
        calls = [{"type": "tool_call", **structs.asdict(call)} for call in one.calls]
        return {"role": "assistant", "tool_calls": calls, **_ANSWERS[api](one.content)}
    content = one.content if contents is None else contents(one.content)
    if isinstance(one, Told):
        return {"role": one.role, "content": content}
    status = "error" if one.failed else "success"
    return {"role": "tool", "tool_call_id": one.call_id, "content": content, "status": status}


def _item(item: JSONObject) -> Iterator[JSONObject]:
    """Write an item of a response; texts are blocks that keep the ID of their item."""
    if item.get("role") != "assistant":
        yield item
        return
    content = item["content"]
    texts = [{"text": content}] if isinstance(content, str) else content
    kept = {name: item[name] for name in ("id", "phase") if item.get(name)}
    for text in texts:
        yield {"type": "text", "text": text.get("text", text.get("refusal", "")), **kept}


def _chat(messages: Sequence[JSONObject]) -> JSONObject:
    """Write the only message of a response, whose other fields are the reasoning."""
    (message,) = messages
    kept = {name: value for name, value in message.items() if name not in ("role", "content", "tool_calls")}
    return {"content": message.get("content") or "", "additional_kwargs": kept}


def _typed(content: Any) -> Any:
    """Give text its type; LangChain passes Bedrock's other blocks on as they are."""
    if isinstance(content, str):
        return content
    return [{"type": "text", **block} if "text" in block else block for block in content]


def _parts(parts: Sequence[Any]) -> JSONObject:
    """Write the texts of Gemini; the signatures of calls stand beside the content."""
    calls = [part for part in parts if isinstance(part, ToolCallPart)]
    signed = {call.id: standard_base64(call.opaque[0]) for call in calls if call.opaque}
    texts = [
        {"type": "text", "text": part.text}
        | ({"extras": {"signature": standard_base64(part.opaque[0])}} if part.opaque else {})
        for part in parts
        if isinstance(part, TextPart)
    ]
    return {"content": texts, "additional_kwargs": {CALL_SIGNATURES: signed} if signed else {}}


def _media(content: Any) -> Any:
    """Write AG-UI content for Gemini."""
    if isinstance(content, str):
        return content
    written = []
    for found in map(text_or_media, content):
        if isinstance(found, str):
            written.append({"type": "text", "text": found})
        else:
            member = "data" if found.place == "data" else "file_uri"
            written.append({"type": "media", "mime_type": found.media_type, member: found.value})
    return written


_ANSWERS: Final[Mapping[str, Callable[[Sequence[Any]], JSONObject]]] = {
    "anthropic-messages": lambda blocks: {"content": list(blocks)},
    "bedrock-converse": lambda blocks: {"content": _typed(blocks)},
    "gemini": _parts,
    "openai-chat": _chat,
    "openai-responses": lambda items: {"content": [block for item in items for block in _item(item)]},
}
"""Write the content of an answer, and what stands beside it, by API."""

_CONTENTS: Final[Mapping[str, Callable[[Any], Any]]] = {"bedrock-converse": _typed, "gemini": _media}
"""Write what the model was told, where that is not the API's own content."""

WRITTEN: Final = frozenset(_ANSWERS)
"""The APIs whose reasoning has a place in the messages."""


# -- what a graph waits for

_ALL: Final = frozenset({"approve", "edit", "reject"})
_RESPOND: Final = frozenset({"respond"})
_TEXT: Final = {"type": "string"}


class _Review(Struct, frozen=True):
    """A call that a person is to review, what is shown of it, and the decisions that are allowed."""

    call_id: str
    name: str
    description: str | None
    allowed: Collection[str]


def asked(run: Run, given: Any) -> Iterator[Interrupt]:
    """Yield what an interrupt of the graph asks; the calls of the front end's tools are pending, instead."""
    value = given.value
    if isinstance(value, Mapping) and _CALL in value:
        return
    reviews = _reviews(given, lambda: run.pending_calls)
    if not reviews:
        yield _interrupt(given)
    for review in reviews:
        if review.allowed == _RESPOND:
            yield question(review.call_id, review.name, message=review.description, schema=_TEXT)
        else:
            editable = "edit" in review.allowed
            yield approval(review.call_id, review.name, message=review.description, editable=editable)


def _interrupt(given: Any) -> Interrupt:
    """Write an interrupt whose value is text, or data for the front end."""
    told = {"message": given.value} if isinstance(given.value, str) else {"metadata": {"value": given.value}}
    schema = getattr(given, "response_schema", None)
    schema = schema if isinstance(schema, dict) else None
    return Interrupt(id=given.id, reason="interrupt", response_schema=schema, **told)


def resumed(run: Run, pending: Iterable[Any]) -> dict[str, Any]:
    """Return the values that the interrupts of a graph are resumed with, by their IDs.

    Those without an answer are left out. Calls that are reviewed together need a decision each, so one
    without an answer is refused.
    """
    values: dict[str, Any] = {}
    for given in pending:
        reviews = _reviews(given, lambda: run.open_calls)
        entries = [answer_to(run, review.call_id) for review in reviews] or [run.resume.get(given.id)]
        if not any(entries):
            continue
        if not reviews:
            values[given.id] = entries[0].payload if entries[0] else None
            continue
        decisions = list(map(_decision, reviews, entries))
        values[given.id] = {"decisions": decisions} if "action_requests" in given.value else decisions[0]
    return values


def _reviews(given: Any, calls: Callable[[], Sequence[ToolCallPart | OpenCall]]) -> list[_Review]:
    """Return the calls that an interrupt asks about; none if it is not that of the middleware.

    Source:
        langchain 1.4, `HumanInTheLoopMiddleware`: the value of one call has its ID. That of several has names
        and arguments, in the order of the calls.
    """
    value = given.value
    if not isinstance(value, Mapping):
        return []
    if value.get("type") == "tool_approval":
        allowed = _allowed(given.response_schema)
        return [_Review(value["tool_call_id"], value["name"], value.get("description"), allowed)]
    actions = value.get("action_requests") or ()
    left, found = list(calls()) if actions else [], []
    for action, config in zip(actions, value.get("review_configs", ()), strict=False):
        call = next((one for one in left if (one.name, one.args) == (action["name"], action["args"])), None)
        if call is None:
            return []
        left.remove(call)
        allowed = frozenset(config["allowed_decisions"])
        found.append(_Review(call.id, call.name, action.get("description"), allowed))
    return found


def _allowed(schema: Any) -> Collection[str]:
    """Return the decisions that the schema of an answer allows."""
    if not isinstance(schema, Mapping):
        return _ALL
    mapping = schema.get("discriminator", {}).get("mapping")
    return frozenset(mapping or {schema.get("properties", {}).get("type", {}).get("const")})


def _decision(review: _Review, entry: ResumeEntry | None) -> JSONObject:
    """Write the answer as a decision of the middleware.

    Raises:
        RemoteProtocolError: It has another form, or decides what is not allowed (``bad_answer``).
    """
    entry = entry or ResumeEntry(interrupt_id=review.call_id, status="cancelled")
    if review.allowed == _RESPOND and entry.status != "cancelled":
        if not isinstance(entry.payload, str):
            raise wrong_answer(entry, "text")
        return {"type": "respond", "message": entry.payload}
    decided = decision(entry, editable="edit" in review.allowed)
    if review.allowed == _RESPOND:
        made: JSONObject = {"type": "respond", "message": decided.reason}
    elif not decided.approved:
        made = {"type": "reject"} | ({"message": decided.reason} if decided.reason else {})
    elif decided.edited is None:
        made = {"type": "approve"}
    else:
        made = {"type": "edit", "edited_action": {"name": review.name, "args": decided.edited}}
    if made["type"] not in review.allowed:
        raise wrong_answer(entry, f"a decision that the graph allows: {', '.join(sorted(review.allowed))}")
    return made


@cache
def front_end_tool() -> Any:
    """Return the class of tools that interrupt the graph, unless the front end has sent the result.

    ``result_of`` returns that result; without one, the graph can be resumed with it.
    """
    types = imported("langgraph.types", *FRAMEWORK)
    base: Any = imported("langchain_core.tools", *FRAMEWORK).BaseTool
    message = imported("langchain_core.messages", *FRAMEWORK).ToolMessage

    class FrontEndTool(base):  # type: ignore[misc]
        result_of: Callable[[str], Any]

        def invoke(self, input: Mapping[str, Any], config: Any = None, **kwargs: Any) -> Any:  # noqa: A002
            result = self.result_of(input["id"])
            if result is None:
                result = types.interrupt({_CALL: {name: input[name] for name in ("id", "name", "args")}})
            return message(result, tool_call_id=input["id"], name=self.name)

        async def ainvoke(self, input: Mapping[str, Any], config: Any = None, **kwargs: Any) -> Any:  # noqa: A002
            return self.invoke(input)

        def _run(self, **arguments: Any) -> Any:
            raise NotImplementedError("The front end runs this tool.")

    return FrontEndTool
