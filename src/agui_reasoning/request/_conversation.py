"""A request's conversation as parts, for what has messages of its own: the adapters of frameworks.

The encoder of the API is the judge: every response is encoded alone and decoded again, so that the parts are
what the body contains, with the API's own rules on what belongs together. To leave out a unit may change
others: without the item of its reasoning, OpenAI refuses the ID of a call's item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

from ag_ui.core import TextPart as TextContent
from ag_ui.core import UserMessage
from msgspec import Struct, structs

from agui_reasoning._strict_json import JSONObject
from agui_reasoning._wire_events import stand_in
from agui_reasoning.parts import (
    NativePart,
    Origin,
    Part,
    ReasoningPart,
    RedactedRepr,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from agui_reasoning.providers import decode_response
from agui_reasoning.providers.encoding import (
    UNREADABLE,
    CallAnswer,
    EchoReport,
    EchoUnit,
    Encoder,
    EncodingOptions,
    MessageContent,
    PlainMessage,
    ResponseStep,
)


@dataclass(frozen=True, slots=True, repr=False)
class PreparedResponse(RedactedRepr):
    """A response of the model, as a request repeats it.

    Attributes:
        parts: Its parts in order, without what the target does not accept: reasoning, values and native IDs
            of other producers, incomplete calls. Calls have the IDs that they have in the request. Empty if
            the request contains nothing of the response.
        results: The result of each call of a tool of the client or the agent, in the order of the calls;
            unanswered calls have one that says so.
    """

    parts: tuple[Part, ...]
    results: tuple[ToolResultPart, ...] = ()

    _private: ClassVar[frozenset[str]] = frozenset({"parts", "results"})


PreparedItem: TypeAlias = PreparedResponse | PlainMessage
"""A response with its results, or a user, system or developer message."""


@dataclass(frozen=True, slots=True, repr=False)
class PreparedConversation(RedactedRepr):
    """The conversation of a request, from which the messages of an agent framework can be written.

    Attributes:
        target: The API, provider and model of the request.
        items: The conversation in order. Content has only the media that the API accepts.
    """

    target: Origin
    items: tuple[PreparedItem, ...]

    _private: ClassVar[frozenset[str]] = frozenset({"items"})


def prepared_conversation(
    steps: Sequence[ResponseStep | PlainMessage], encoder: Encoder, options: EncodingOptions, target: Origin
) -> PreparedConversation:
    """Return the conversation of a request, without what the report in the options says was left out."""
    verdicts = options.report.verdicts.items()
    dropped = {key for key, (_, verdict) in verdicts if verdict.outcome == "dropped"}
    reader = _PartsReader(encoder, options, target, dropped)
    return PreparedConversation(target, tuple(map(reader.item, steps)))


_NEXT: Final = UserMessage(id="", content=".")
"""Follows a response that is not the last one, because some APIs require more of the last one."""


class _PartsReader(Struct, frozen=True):
    """Turns the items of one conversation back into parts, without units that the encoder dropped."""

    encoder: Encoder
    options: EncodingOptions
    target: Origin
    dropped: set[tuple[int, int]]

    def item(self, item: ResponseStep | PlainMessage) -> PreparedItem:
        if isinstance(item, ResponseStep):
            return self._response(item)
        if isinstance(item, UserMessage) and not isinstance(item.content, str):
            content = [one for one in item.content if self._accepts(UserMessage(id="", content=[one]))]
            return item.model_copy(update={"content": content or UNREADABLE})
        return item

    def _response(self, step: ResponseStep) -> PreparedResponse:
        parts = [] if step.on_server else self._parts(step)
        results = [self._result(step, answer) for answer in step.answers]
        return PreparedResponse(tuple(_named(parts, step.answers)), tuple(results))

    def _parts(self, step: ResponseStep) -> list[Part]:
        units = [
            structs.replace(unit, refused=unit.refused or "dropped")
            if unit.key in self.dropped and isinstance(unit.part, ReasoningPart)
            else unit
            for unit in step.units
        ]
        api = self.target.api or ""
        alone = structs.replace(step, units=tuple(units), effort="")
        if api not in _AS_RESPONSE:  # a format of the application, whose encoder alone knows its rules
            accepted = (_accepted(unit, dropped=unit.key in self.dropped) for unit in units)
            return [part for part in accepted if part is not None]
        body, _ = self._encoded(alone, *(() if step.last else (_NEXT,)))
        response = _AS_RESPONSE[api](body)
        if response is None:
            return []
        return decode_response(api, response, provider=self.target.provider, model=self.target.model)

    def _result(self, step: ResponseStep, answer: CallAnswer) -> ToolResultPart:
        content = answer.content
        if not isinstance(content, str):
            content = [
                one if self._answers(step, answer, one) else TextContent(text=stand_in(one))
                for one in content
            ]
        return ToolResultPart(answer.call_id, content, _last_text(content) if answer.is_error else None)

    def _answers(self, step: ResponseStep, answer: CallAnswer, part: Any) -> bool:
        """Return whether the API takes a content part in a result."""
        alone = structs.replace(answer, content=[part])
        return self._accepts(structs.replace(step, units=(answer.unit,), answers=(alone,)))

    def _accepts(self, item: ResponseStep | PlainMessage) -> bool:
        """Return whether the encoder writes an item without leaving anything out."""
        return not self._encoded(item)[1].notes

    def _encoded(self, *items: ResponseStep | PlainMessage) -> tuple[JSONObject, EchoReport]:
        report = EchoReport()
        options = structs.replace(self.options, system=None, tools=(), effort="", report=report)
        return self.encoder(items, options), report


def _accepted(unit: EchoUnit, *, dropped: bool) -> Part | None:
    """Return what the target accepts of a unit, as far as its origin tells; ``None`` if that is nothing."""
    part = unit.part
    if unit.incomplete or (dropped and isinstance(part, NativePart | ReasoningPart)):
        return None
    if not unit.same_format and not isinstance(part, TextPart | ToolCallPart):
        return None
    changes: dict[str, Any] = {"seen": ""}
    if not unit.same_format:
        changes["ext"] = None
    if (dropped or unit.refused) and isinstance(part, TextPart | ToolCallPart):
        changes["opaque"] = ()
    if isinstance(part, ToolCallPart):
        changes["id"] = unit.call_id or part.id
    return structs.replace(part, **changes)


def _last_text(content: MessageContent) -> str:
    texts = [content] if isinstance(content, str) else [one.text for one in content if one.type == "text"]
    return "".join(texts[-1:])


def _named(parts: Sequence[Part], answers: Sequence[CallAnswer]) -> Iterator[Part]:
    """Give calls the IDs of their results; some APIs have calls without."""
    ids = iter(answer.call_id for answer in answers)
    for part in parts:
        if isinstance(part, ToolCallPart) and not part.server:
            yield structs.replace(part, id=next(ids, part.id))
        else:
            yield part


# -- bodies with one response, as whole responses

_SPEAKERS: Final = frozenset({"assistant", "model", "ROLE_ASSISTANT"})
_RESULTS: Final = frozenset({"function_call_output", "custom_tool_call_output", "function_result"})

_AsResponse: TypeAlias = Callable[[Mapping[str, Any]], JSONObject | None]


def _from(field: str, wrap: Callable[[list[JSONObject]], JSONObject]) -> _AsResponse:
    """Make a function that wraps what the model said in a field of the body; ``None`` if that is nothing."""

    def respond(body: Mapping[str, Any]) -> JSONObject | None:
        said = [entry for entry in body[field] if _is_said(entry)]
        return wrap(said) if said else None

    return respond


def _is_said(entry: Mapping[str, Any]) -> bool:
    if "role" in entry:
        # xAI's own tools have the role of tools, too.
        return entry["role"] in _SPEAKERS or (entry["role"] == "ROLE_TOOL" and "tool_calls" in entry)
    return entry.get("type") not in (*_RESULTS, "user_input")


def _choices(said: list[JSONObject]) -> JSONObject:
    return {"choices": [{"index": 0, "message": said[0], "finish_reason": "stop"}]}


def _items(said: list[JSONObject]) -> JSONObject:
    return {"output": [_item(entry) for entry in said], "status": "completed"}


def _item(entry: JSONObject) -> JSONObject:
    """Return an item; answers of other providers are written in the short form of input messages."""
    if "type" in entry:
        return entry
    text = {"type": "output_text", "text": entry["content"], "annotations": []}
    return {"type": "message", "role": "assistant", "content": [text]}


def _outputs(said: list[JSONObject]) -> JSONObject:
    """Return xAI's outputs, whose content is a string; in requests it is a list."""
    texts = ["".join(part["text"] for part in one.get("content", ())) for one in said]
    outputs = [{"message": {**one, "content": text}} for one, text in zip(said, texts, strict=True)]
    return {"outputs": [{"index": n, "finishReason": "REASON_STOP", **one} for n, one in enumerate(outputs)]}


_AS_RESPONSE: Final[Mapping[str, _AsResponse]] = {
    "anthropic-messages": _from("messages", lambda said: {"type": "message", **said[0]}),
    "bedrock-converse": _from(
        "messages", lambda said: {"output": {"message": said[0]}, "stopReason": "end_turn"}
    ),
    "cohere-chat": _from("messages", lambda said: {"message": said[0], "finish_reason": "COMPLETE"}),
    "gemini": _from("contents", lambda said: {"candidates": [{"content": said[0], "finishReason": "STOP"}]}),
    "gemini-interactions": _from("input", lambda said: {"steps": said, "status": "completed"}),
    "litellm": _from("messages", _choices),
    "mistral-chat": _from("messages", _choices),
    "ollama": _from("messages", lambda said: {"message": said[0], "done": True, "done_reason": "stop"}),
    "openai-chat": _from("messages", _choices),
    "openai-responses": _from("input", _items),
    "xai-grpc": _from("messages", _outputs),
}
