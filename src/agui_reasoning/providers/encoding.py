"""The input and output of encoders: a prepared conversation, a request body and a report.

Encoders are pure functions. Policy, origin and scope decide beforehand which units may be sent, and each unit
has that verdict. The encoder applies the API's own rules: which items belong together, and what the format
cannot express.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, Literal, TypeAlias, cast

from ag_ui.core import DeveloperMessage, SystemMessage, TextPart, Tool, UserMessage
from msgspec import Struct, field

from agui_reasoning._strict_json import dump, well_formed
from agui_reasoning._wire_events import data_of, from_base64, media_type, source_of, stand_in
from agui_reasoning.errors import DecodeError
from agui_reasoning.parts import NativePart, Opaque, Part, ReasoningPart, ToolCallPart, Turn
from agui_reasoning.policy import BetaUse, EchoRule, InsideItem, Kinship, Scope
from agui_reasoning.providers.payload import JSONObject

__all__ = [
    "GO_ON",
    "PICTURES",
    "RESULT",
    "UNREADABLE",
    "CallAnswer",
    "EchoReport",
    "EchoUnit",
    "Encoder",
    "EncodingOptions",
    "MessageContent",
    "PartSpelling",
    "PlainMessage",
    "PreparedConversation",
    "ResponseStep",
    "Verdict",
    "as_json",
    "as_object",
    "chat_body",
    "data_of",
    "data_uri",
    "file_name",
    "from_base64",
    "function_call",
    "function_tool",
    "image_url",
    "in_scope",
    "is_accepted",
    "is_readable",
    "leftovers",
    "media_type",
    "native_id",
    "reasoning_units",
    "source_of",
    "spelled",
    "text_of",
    "text_or_parts",
    "tool_message",
    "tools_of",
    "type_of",
    "typed_text",
    "values",
]

PlainMessage: TypeAlias = UserMessage | SystemMessage | DeveloperMessage
"""A user, system or developer message."""

MessageContent: TypeAlias = str | list[Any]
"""The content of a message: a string, or AG-UI content parts."""

PartSpelling: TypeAlias = Mapping[str, Callable[[Any], JSONObject | None]]
"""Functions that write content parts, by AG-UI type; they return ``None`` for parts the API cannot take."""

GO_ON: Final = "(Something was cut off here. Please continue.)"
"""The user message added if a request would otherwise end with the model's turn because of omissions."""

RESULT: Final = "tool result"
"""The holder of content parts that a tool returned, as notes name it."""

UNREADABLE: Final = "(An attachment was left out: this model cannot read it.)"
"""The user's words if nothing of a message can be sent."""

PARAGRAPH: Final = "\n\n"
"""What separates the texts of several units in one string."""

PICTURES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The media types of images that most APIs accept."""


HOME: Final = frozenset({"same", "group"})
"""The kinships of producers whose native IDs and additional fields the target understands."""


class EchoUnit(Struct, frozen=True, gc=False):
    """A part of a response, and the decision about it.

    Attributes:
        part: The part.
        key: The number of its turn, and its own number in the turn.
        name: Its name in the report.
        kinship: The relation of its producer to the target.
        refused: The reason why its reasoning or values may not be sent; empty if they may.
        required: Whether the provider requires them here.
        incomplete: Whether it is an incomplete call, which is here only because reasoning may have led to it.
        altered: Whether its native block had a lone surrogate; the part no longer has the block.
        unread: Whether the model cannot read it, so that the provider leaves it out without an error.
        call_id: The ID of a call in this request.
    """

    part: Part
    key: tuple[int, int]
    name: str
    kinship: Kinship
    refused: str = ""
    required: bool = False
    incomplete: bool = False
    altered: bool = False
    unread: bool = False
    call_id: str = ""

    @property
    def same_format(self) -> bool:
        """Whether the target understands the unit's native IDs and additional fields."""
        return self.kinship in HOME

    @property
    def reported_alone(self) -> bool:
        """Whether it has an entry in the report that does not depend on reasoning."""
        return self.incomplete or self.altered or type(self.part) is NativePart


class CallAnswer(Struct, frozen=True, gc=False):
    """The result of a client's or the agent's tool, and its call."""

    unit: EchoUnit
    content: MessageContent
    is_error: bool = False

    @property
    def call_id(self) -> str:
        """The ID of the call in this request."""
        return self.unit.call_id

    @property
    def call(self) -> ToolCallPart:
        """The call."""
        return cast("ToolCallPart", self.unit.part)


class ResponseStep(Struct, frozen=True, gc=False):
    """One response, with the results of its calls.

    Attributes:
        turn: The unmodified response.
        units: Its parts, without the results of the agent's own tools.
        answers: One per call of the client's or the agent's tools, in the order of the calls.
        current: Whether it follows the last user message.
        on_server: Whether the server has it, so that only its answers are new.
        last: Whether nothing follows it.
        effort: The effort that changes with it; empty if it does not, or not inside the conversation.
    """

    turn: Turn
    units: tuple[EchoUnit, ...]
    answers: tuple[CallAnswer, ...] = ()
    current: bool = False
    on_server: bool = False
    last: bool = False
    effort: str = ""

    def within(self, scope: Scope) -> bool:
        """Return whether the response is in a scope."""
        return in_scope(scope, calls=bool(self.answers), current=self.current)


def in_scope(scope: Scope, *, calls: bool, current: bool) -> bool:
    """Return whether a scope includes a response, by its calls and its position."""
    return scope == "all" or (calls and (scope == "tool_turns_all" or (scope == "tool_loop" and current)))


PreparedConversation: TypeAlias = "Sequence[ResponseStep | PlainMessage]"


class Verdict(Struct, frozen=True, gc=False):
    """The outcome for a unit."""

    outcome: Literal["echoed", "placeholder", "dropped"]
    reason: str = ""


_ECHOED: Final = Verdict("echoed")


class EchoReport(Struct):
    """The verdicts on units, and notes for the caller.

    Attributes:
        verdicts: The name and last verdict of each unit, by its key.
        lost: The keys of units that the provider requires but that are not in the body.
        notes: Warnings about data other than reasoning that could not be sent.
        moved: For each system message that was moved to the beginning of the request, the number of turns
            that it follows.
    """

    verdicts: dict[tuple[int, int], tuple[str, Verdict]] = field(default_factory=dict)
    lost: set[tuple[int, int]] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    moved: list[int] = field(default_factory=list)

    def echo(self, unit: EchoUnit) -> None:
        """Note that a unit is in the body.

        One that the model cannot read is in the body, too: what follows it is bound to the conversation with
        it. But it counts as dropped, because the provider leaves it out.
        """
        if unit.unread:
            self.drop(unit, "model_binding")
            return
        self.verdicts[unit.key] = unit.name, _ECHOED
        if self.lost:
            self.lost.discard(unit.key)

    def drop(self, unit: EchoUnit, reason: str, *, harmless: bool = False) -> None:
        """Note that a unit is not in the body; ``harmless`` if the provider does not miss it."""
        self.verdicts[unit.key] = unit.name, Verdict("dropped", reason)
        if unit.required and not harmless:
            self.lost.add(unit.key)
        elif self.lost:
            self.lost.discard(unit.key)

    def drop_step(self, step: ResponseStep) -> None:
        """Drop the reasoning of a response that is not in the body at all, which is harmless."""
        for unit in step.units:
            if unit.key in self.verdicts and not unit.reported_alone:
                self.drop(unit, unit.refused or "orphan", harmless=True)

    def stand_in(self, units: Iterable[EchoUnit]) -> None:
        """Note that a placeholder replaces units."""
        for unit in units:
            name, before = self.verdicts.get(unit.key, ("", None))
            if before is not None and before.outcome == "dropped" and not unit.reported_alone:
                self.verdicts[unit.key] = name, Verdict("placeholder", before.reason)
                self.lost.discard(unit.key)

    def note(self, sentence: str) -> None:
        """Add a warning for the caller, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)


class EncodingOptions(Struct, frozen=True):
    """The options of an encoder.

    Attributes:
        rule: The target's echo rule.
        provider: The provider that receives the request.
        model: The model that receives the request.
        system: The caller's system instructions.
        tools: AG-UI tools, and tools in the API's own format.
        store: The request's ``store`` field, for APIs that store responses.
        report: Collects the verdicts.
        inside: What the target accepts inside a conversation.
        effort: The effort that changes with the next response, as in `ResponseStep`.
        betas: The beta features that the request may name.
        previous_response_id: The response that the server has, with everything before it; empty if none.
    """

    rule: EchoRule
    provider: str | None
    model: str | None
    system: str | None
    tools: Sequence[Tool | Mapping[str, Any]]
    store: bool | None
    report: EchoReport
    inside: Collection[InsideItem] = ()
    effort: str = ""
    betas: Collection[BetaUse] = ()
    previous_response_id: str = ""

    @property
    def stateless(self) -> bool:
        """Whether the server stores no earlier responses."""
        return self.store is False or self.rule.stateless


Encoder: TypeAlias = Callable[["Sequence[ResponseStep | PlainMessage]", EncodingOptions], JSONObject]
"""Turns a conversation into the fields of a request body."""


# -- shared by encoders

INTERNAL = frozenset(
    {
        *("explicit_empty", "native_id", "field", "tag", "details", "signature_field", "extra_content"),
        *("summary_parts", "content_parts", "content_types"),
    }
)
"""Names in ``ext`` that decoders use for notes, unlike the provider's own fields."""


def leftovers(unit: EchoUnit, *apart: str) -> JSONObject:
    """Return the provider's own fields of a unit, for the provider that sent them."""
    ext = getattr(unit.part, "ext", None)
    if not ext or not unit.same_format:
        return {}
    return {name: value for name, value in ext.items() if name not in INTERNAL and name not in apart}


def type_of(block: Any) -> str:
    """Return the type of a block; empty if it has none, which some APIs take for a reference by ID."""
    kind = block.get("type") if isinstance(block, dict) else None
    return kind if isinstance(kind, str) else ""


def values(unit: EchoUnit, *kinds: str) -> list[Opaque]:
    """Return the values of some kinds that a unit may send back; empty or ill-formed ones never may."""
    opaque: tuple[Opaque, ...] = getattr(unit.part, "opaque", ())
    found: list[Opaque] = []
    for one in () if unit.refused else opaque:
        value = one.value
        if one.kind in kinds and value and (value.isascii() or well_formed(value) == value):
            found.append(one)
    return found


def reasoning_units(step: ResponseStep) -> list[EchoUnit]:
    """Return the reasoning units of a response that may be sent."""
    return [unit for unit in step.units if isinstance(unit.part, ReasoningPart) and not unit.refused]


def is_readable(call: ToolCallPart) -> bool:
    """Return whether the arguments of a call are a JSON object or absent."""
    try:
        call.args  # noqa: B018
    except DecodeError:
        return False
    return True


def native_id(call: ToolCallPart) -> str:
    """Return the provider's own ID of a call, which can be empty; else the ID that the client knows."""
    native = (call.ext or {}).get("native_id")
    return native if isinstance(native, str) else call.id


def as_object(call: ToolCallPart) -> JSONObject:
    """Return arguments as an object; anything else becomes its only member, ``arguments``."""
    try:
        return call.args
    except DecodeError:
        return {"arguments": call.arguments}


def as_json(call: ToolCallPart) -> str:
    """Return arguments as the JSON text of an object, unchanged if possible."""
    if not is_readable(call):
        return dump(as_object(call))
    return "{}" if call.arguments.strip() in ("", "null") else call.arguments


def text_of(content: MessageContent, report: EchoReport, where: str) -> str:
    """Return the text of content, where the API accepts only text."""
    if isinstance(content, str):
        return content
    texts = (part.text if part.type == "text" else _left_out(part, report, where) for part in content)
    return "\n".join(text for text in texts if text is not None)


def spelled(
    content: Iterable[Any], spell: PartSpelling, report: EchoReport, where: str = "user message"
) -> list[JSONObject]:
    """Write content parts in the API's spelling.

    Args:
        content: AG-UI content parts.
        spell: Writes the parts that the API accepts, by type; returns ``None`` for parts it cannot take.
        report: Notes every part that is left out, except blank text.
        where: The holder of the parts, for the note.
    """
    written: list[JSONObject] = []
    for part in content:
        block = spell[part.type](part) if part.type in spell and _is_whole(part) else None
        if block is not None:
            written.append(block)
        elif part.type != "text" and (sentence := _left_out(part, report, where)) is not None:
            written += filter(None, [spell["text"](TextPart(text=sentence))])
    return written


def text_or_parts(content: MessageContent, spell: PartSpelling, report: EchoReport) -> str | list[JSONObject]:
    """Write a user's content as a string if it is only text: text-only models take nothing else."""
    if isinstance(content, str) or all(part.type == "text" for part in content):
        return text_of(content, report, "user message")
    return spelled(content, spell, report) or UNREADABLE


def _is_whole(part: Any) -> bool:
    """Return whether the data of a part is base64; clients may send anything."""
    return part.type == "text" or part.source.type != "data" or bool(data_of(part))


def is_accepted(part: Any, default: str, *patterns: str) -> bool:
    """Return whether data has an accepted media type; that of URLs and files is for the provider to judge."""
    media = media_type(part, default)
    return source_of(part)[0] != "data" or any(fnmatchcase(media, pattern) for pattern in patterns)


def _left_out(part: Any, report: EchoReport, where: str) -> str | None:
    """Note media that cannot be sent; in a tool result, return a sentence that stands in its place."""
    report.note(f"The {part.type} in a {where} cannot be sent to this API; it was left out.")
    return stand_in(part) if where == RESULT else None


def typed_text(part: Any) -> JSONObject:
    """Write a text part as ``{"type": "text", "text": …}``."""
    return {"type": "text", "text": part.text}


def image_url(part: Any) -> JSONObject | None:
    """Write an image as ``image_url``; ``None`` for other formats, and for an image stored at a provider."""
    if source_of(part)[0] == "file" or not is_accepted(part, "image/png", *PICTURES):
        return None
    return {"type": "image_url", "image_url": {"url": data_uri(part, "image/png")}}


def data_uri(part: Any, default: str) -> str:
    """Return the data of a content part as a data URI, or its URL or file ID."""
    kind, value = source_of(part)
    return f"data:{media_type(part, default)};base64,{value}" if kind == "data" else value


def file_name(part: Any) -> str:
    """Return the name of a document; empty if the client did not send one."""
    metadata = part.metadata if isinstance(part.metadata, dict) else {}
    named = (metadata.get(name) for name in ("filename", "name"))
    return next((name for name in named if isinstance(name, str)), "")


_TOOL_FIELDS = {"name", "description", "parameters", "metadata"}


def tools_of(
    tools: Iterable[Tool | Mapping[str, Any]], spell: Callable[[str, str, JSONObject], JSONObject]
) -> list[JSONObject]:
    """Write tools in the API's format.

    Args:
        tools: AG-UI tools are converted, other mappings are sent verbatim and override AG-UI tools of the
            same name.
        spell: Writes name, description and JSON schema of the parameters.
    """
    read = [(tool, _agui_tool(tool)) for tool in tools]
    verbatim = {name for tool, own in read if own is None and (name := _tool_name(tool))}
    written: list[JSONObject] = []
    for tool, own in read:
        if own is None:
            written.append(dict(tool))
        elif own.name not in verbatim:
            schema = own.parameters if isinstance(own.parameters, dict) else None
            written.append(spell(own.name, own.description, schema or {"type": "object", "properties": {}}))
            verbatim.add(own.name)
    return written


def function_tool(name: str, description: str, schema: JSONObject) -> JSONObject:
    """Write a tool in OpenAI's format, which most APIs use."""
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


def function_call(unit: EchoUnit) -> JSONObject:
    """Write a call in OpenAI's format, with its arguments as JSON text."""
    call = cast("ToolCallPart", unit.part)
    function = {"name": call.name, "arguments": as_json(call)}
    return {"id": unit.call_id, "type": "function", "function": function}


def tool_message(answer: CallAnswer, options: EncodingOptions) -> JSONObject:
    """Write a result as a message of text in OpenAI's format."""
    text = text_of(answer.content, options.report, RESULT)
    return {"role": "tool", "tool_call_id": answer.call_id, "content": text}


def chat_body(
    conversation: PreparedConversation,
    options: EncodingOptions,
    respond: Callable[[ResponseStep, EncodingOptions], Iterable[JSONObject]],
    speak: PartSpelling | Callable[[PlainMessage, EncodingOptions], JSONObject],
    result: Callable[[CallAnswer, EncodingOptions], JSONObject] = tool_message,
) -> JSONObject:
    """Write ``messages`` and ``tools`` in the style of Chat Completions.

    Args:
        conversation: The conversation.
        options: How to write the request.
        respond: Writes the message of a response, or none.
        speak: The spelling of a user's content parts, or what writes a user's or a system message.
        result: Writes the message of a result.
    """
    messages: list[JSONObject] = [{"role": "system", "content": options.system}] if options.system else []
    for item in conversation:
        if isinstance(item, ResponseStep):
            messages += respond(item, options)
            messages += [result(answer, options) for answer in item.answers]
        elif callable(speak):
            messages.append(speak(item, options))
        elif isinstance(item, UserMessage):
            content = text_or_parts(item.content, speak, options.report)
            messages.append({"role": "user", "content": content})
        else:
            messages.append({"role": "system", "content": item.content})
    tools = tools_of(options.tools, function_tool)
    return {"messages": messages, **({"tools": tools} if tools else {})}


def _agui_tool(tool: Tool | Mapping[str, Any]) -> Tool | None:
    if isinstance(tool, Tool):
        return tool
    # No API has tools with only these fields, so it is an AG-UI tool as JSON.
    if {"name", "description"} <= set(tool) <= _TOOL_FIELDS:
        return Tool.model_validate(tool)
    return None


def _tool_name(tool: Tool | Mapping[str, Any]) -> str | None:
    fields: Mapping[str, Any] = tool if isinstance(tool, Mapping) else {}
    function = fields.get("function") or fields.get("toolSpec")
    name = fields.get("name") or (function.get("name") if isinstance(function, Mapping) else None)
    return name if isinstance(name, str) else None
