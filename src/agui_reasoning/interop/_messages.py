"""The conversation of a request, as adapters cut it into the messages of a framework, and their content."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from mimetypes import guess_type
from typing import Any, Final, TypeAlias
from urllib.parse import unquote_to_bytes

from ag_ui.core import InputContent, TextPart
from msgspec import Struct, structs

from agui_reasoning._strict_json import load, well_formed
from agui_reasoning._wire_events import content_parts, media_type, source_of, text_of
from agui_reasoning.parts import Opaque, ToolCallPart, ToolResultPart
from agui_reasoning.providers.payload import JSONObject, compact_json
from agui_reasoning.request import History, PreparedResponse, ProviderRequest
from agui_reasoning.run import Run


class Told(Struct):
    """What the user said, or instructions, whose role is ``system`` or ``developer``.

    The content is text, or a list: blocks of the API, or AG-UI content parts for Gemini.
    """

    role: str
    content: Any


class FunctionCall(Struct):
    """A call of a tool of the agent or the front end."""

    id: str
    name: str
    args: JSONObject


class Answer(Struct):
    """A response of the model, with its calls in order.

    The content is blocks of the API, items of the Responses API, the only message of a chat, or parts for
    Gemini, whose body may have calls without IDs.
    """

    content: Sequence[Any]
    calls: Sequence[FunctionCall] = ()


class Result(Struct):
    """The result of a call of a tool: text, or blocks of the API. Not all APIs say that a tool failed."""

    call_id: str
    content: Any
    failed: bool = False
    name: str = ""


Exchange: TypeAlias = Told | Answer | Result


def exchanges(request: ProviderRequest) -> Iterator[Exchange]:
    """Read the conversation of a request for an API of `_READERS`, instructions first."""
    names: dict[str, str] = {}
    for one in _READERS[request.target.api or ""](request):
        if isinstance(one, Answer):
            names.update((call.id, call.name) for call in one.calls)
        elif isinstance(one, Result):
            one = structs.replace(one, name=names.get(one.call_id, ""))
        yield one


def request_for(
    run: Run,
    known: Iterable[str],
    framework: str,
    history: History | None = None,
    *,
    store: bool | None = None,
) -> ProviderRequest:
    """Return the request of a run whose conversation a framework is given.

    The blocks of ``known`` APIs have a place in the messages of the framework. For others, the request is one
    of Chat Completions, which has no reasoning. ``history`` and ``store`` are those of `Run.request`.

    Raises:
        ConfigurationError: The run has no API (``no_api``).

    Warns:
        AGUIReasoningWarning: Reasoning that the provider accepts is left out.
    """
    if run.api is None or run.api in known:
        return run.request(tools=(), store=store, history=history)
    lost = sum(entry.outcome != "dropped" for entry in run.request(tools=(), history=history).report)
    if lost:
        place = f"messages of {framework} have no known place for those of {run.api}"
        run.warn_once([f"{lost} reasoning unit(s) are left out: {place}."])
    return run.request(api="openai-chat", provider="openai", tools=(), history=history)


# -- messages of blocks: Anthropic and Bedrock


def _blocks(
    read: Callable[[JSONObject], FunctionCall | Result | None], request: ProviderRequest
) -> Iterator[Exchange]:
    """Read messages, of whose blocks some are calls and results."""
    if system := request.body.get("system"):
        yield Told("system", system)
    for message in request.body["messages"]:
        blocks = message["content"]
        if message["role"] == "assistant":
            yield Answer(blocks, [call for call in map(read, blocks) if isinstance(call, FunctionCall)])
        elif isinstance(blocks, str):
            yield Told("user", blocks)
        else:
            found = (read(block) or block for block in blocks)
            for is_told, group in groupby(found, lambda one: isinstance(one, dict)):
                if is_told:
                    yield Told("user", list(group))
                else:
                    yield from group  # type: ignore[misc] # results


def _anthropic(block: JSONObject) -> FunctionCall | Result | None:
    if block["type"] == "tool_use":
        return FunctionCall(block["id"], block["name"], block["input"])
    if block["type"] == "tool_result":
        return Result(block["tool_use_id"], block.get("content", ""), bool(block.get("is_error")))
    return None


def _bedrock(block: JSONObject) -> FunctionCall | Result | None:
    if call := block.get("toolUse"):
        return FunctionCall(call["toolUseId"], call["name"], call["input"])
    if result := block.get("toolResult"):
        return Result(result["toolUseId"], result["content"], result.get("status") == "error")
    return None


# -- Gemini


def _gemini(request: ProviderRequest) -> Iterator[Exchange]:
    if system := request.body.get("config", {}).get("systemInstruction"):
        yield Told("system", system)
    for item in request.conversation.items:
        if isinstance(item, PreparedResponse):
            calls = [part for part in item.parts if isinstance(part, ToolCallPart) and not part.server]
            if item.parts:
                yield Answer(item.parts, [FunctionCall(call.id, call.name, call.args) for call in calls])
            for result in item.results:
                yield Result(result.tool_call_id, text_of(result.content), result.error is not None)
        elif item.role == "user":
            yield Told("user", item.content)


_STANDARD: Final = str.maketrans("-_", "+/")


def standard_base64(value: Opaque) -> str:
    """Return the base64 of a value in the standard alphabet, for frameworks that decode no other one."""
    return value.value.translate(_STANDARD)


# -- Chat Completions


def _chat(request: ProviderRequest) -> Iterator[Exchange]:
    for message in request.body["messages"]:
        role, content = message["role"], message.get("content") or ""
        if role == "assistant":
            yield Answer([message], [_function(one) for one in message.get("tool_calls", ())])
        elif role == "tool":
            yield Result(message["tool_call_id"], content)
        else:
            yield Told(role, content)


def with_names(messages: Iterable[JSONObject]) -> Iterator[JSONObject]:
    """Add the names of the tools to their results."""
    names: dict[str, str] = {}
    for message in messages:
        for call in message.get("tool_calls", ()):
            names[call["id"]] = call.get("function", call.get("custom", {}))["name"]
        name = names.get(message.get("tool_call_id", ""))
        yield message if name is None else {**message, "name": name}


def _function(call: JSONObject) -> FunctionCall:
    if custom := call.get("custom"):
        return FunctionCall(call["id"], custom["name"], {"input": custom["input"]})
    function = call["function"]
    return FunctionCall(call["id"], function["name"], load(function["arguments"] or "{}"))


# -- the Responses API

_SPEAKERS: Final = frozenset({"user", "system", "developer"})
_OUTPUTS: Final = frozenset({"function_call_output", "custom_tool_call_output"})


def _responses(request: ProviderRequest) -> Iterator[Exchange]:
    for is_response, items in responses_in(request.body["input"]):
        if is_response:
            calls = [
                FunctionCall(item["call_id"], item["name"], load(item["arguments"] or "{}"))
                for item in items
                if item.get("type") == "function_call"
            ]
            yield Answer(items, calls)
            continue
        for item in items:
            if "output" in item:
                yield Result(item["call_id"], item["output"])
            else:
                yield Told(item["role"], item["content"])


def responses_in(items: Iterable[JSONObject]) -> Iterator[tuple[bool, list[JSONObject]]]:
    """Group input items of the Responses API by whether they are a response, or what the model was told.

    Whatever is not a message to the model or the result of its call is the model's: also the calls of the
    provider's own tools, and compacted conversations.
    """
    for told, group in groupby(
        items, lambda one: one.get("role") in _SPEAKERS or one.get("type") in _OUTPUTS
    ):
        yield not told, list(group)


_READERS: Final[Mapping[str, Callable[[ProviderRequest], Iterator[Exchange]]]] = {
    "anthropic-messages": partial(_blocks, _anthropic),
    "bedrock-converse": partial(_blocks, _bedrock),
    "gemini": _gemini,
    "openai-chat": _chat,
    "openai-responses": _responses,
}


# -- content of tool results and messages: from the blocks of frameworks, and from AG-UI's parts


@dataclass(frozen=True, slots=True)
class Media:
    """Media in a content block.

    Attributes:
        type: ``image``, ``audio``, ``video`` or ``document``.
        place: ``data`` (base64), ``url`` or ``file`` (an ID at the provider).
        value: The base64 text, the URL or the ID.
        media_type: The media type; guessed if the block does not say.
    """

    type: str
    place: str
    value: str
    media_type: str

    @property
    def part(self) -> JSONObject:
        """As an AG-UI content part."""
        source = {"type": self.place, "value": self.value, "mimeType": self.media_type}
        return {"type": self.type, "source": source}


_TYPES: Final = {
    **dict.fromkeys(("image", "image_url", "input_image", "image-url"), "image"),
    **dict.fromkeys(("audio", "audio_url", "input_audio", "audio-url"), "audio"),
    **dict.fromkeys(("video", "video_url", "video-url"), "video"),
    **dict.fromkeys(
        ("document", "file", "input_file", "resource", "document-url", "binary", "uploaded-file"), "document"
    ),
}
"""The types of blocks that can hold media: of providers, of frameworks and of MCP."""

_TEXTS: Final = frozenset({"text", "input_text", "output_text", "resource"})

_MEDIA_TYPES: Final = {
    "image": "image/png",
    "audio": "audio/wav",
    "video": "video/mp4",
    "document": "application/pdf",
}
"""The media type of each type of content part whose own is unknown."""

_INNER: Final = ("source", "image_url", "input_audio", "file", "resource", "inlineData", "fileData")
"""The members of blocks that hold the source as an object. Gemini's, the last two, have no type beside."""

_PLACES: Final = {
    "data": ("data", "base64", "blob", "file_data"),
    "url": ("url", "image_url", "file_url", "fileUri"),
    "file": ("file_id",),
}
"""The members that hold the value, by its place."""


def media_of(block: Any) -> Media | None:
    """Return the media of a content block; ``None`` if it is something else."""
    if not isinstance(block, Mapping):
        return None
    of_gemini = "inlineData" in block or "fileData" in block
    known = "document" if of_gemini else _TYPES.get(block.get("type", ""))
    if known is None:
        return None
    fields = {**block, **next((block[name] for name in _INNER if isinstance(block.get(name), Mapping)), {})}
    place, value, media_type = _source(fields)
    if not value:
        return None
    general = media_type.partition("/")[0]
    media = general if known == "document" and general in _MEDIA_TYPES else known
    return Media(media, place, value, media_type or guess_type(value)[0] or _MEDIA_TYPES[media])


def _source(fields: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the place, the value (empty if there is none) and the media type (empty if unknown)."""
    found = ((place, fields.get(name)) for place, names in _PLACES.items() for name in names)
    place, value = next(((place, value) for place, value in found if value), ("", ""))
    media_type = _media_type(fields)
    if isinstance(value, bytes):
        return place, b64encode(value).decode("ascii"), media_type
    if not isinstance(value, str):
        return place, "", media_type
    if value.startswith("data:"):
        head, _, data = value.removeprefix("data:").partition(",")
        if not head.endswith(";base64"):
            data = b64encode(unquote_to_bytes(well_formed(data))).decode("ascii")
        return "data", data, head.partition(";")[0]
    if place == "data" and fields.get("type") == "text":  # Anthropic's plain text
        return place, b64encode(well_formed(value).encode()).decode("ascii"), media_type
    return place, value, media_type


def _media_type(fields: Mapping[str, Any]) -> str:
    names = ("media_type", "mime_type", "mimeType")
    given = next((value for name in names if isinstance(value := fields.get(name), str)), "")
    return given or (f"audio/{fields['format']}" if isinstance(fields.get("format"), str) else "")


def result_part(call_id: str, content: Any, *, failed: bool = False) -> ToolResultPart:
    """Return the result of a tool: text, or AG-UI content parts if there is media.

    The content is text, a list of content blocks, or other JSON. Blocks that are neither text nor media
    become JSON, so that nothing is lost. The last text of a tool that failed says why.
    """
    told = _result(content)
    texts = [told] if isinstance(told, str) else [part.text for part in told if isinstance(part, TextPart)]
    return ToolResultPart(call_id, told, "".join(texts[-1:]) if failed else None)


def _result(content: Any) -> str | list[InputContent]:
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        return compact_json(content)
    texts, media = [_text(block) for block in content], [media_of(block) for block in content]
    if any(media):
        return content_parts([part for part in map(_part, content, media) if part.get("text") != ""])
    return compact_json(content) if None in texts else "".join(filter(None, texts))


def _part(block: Any, media: Media | None) -> JSONObject:
    if media is not None:
        return media.part
    text = _text(block)
    return {"type": "text", "text": compact_json(block) if text is None else text}


def _text(block: Any) -> str | None:
    """Return the text of a block; ``None`` if it is something else."""
    if isinstance(block, str):
        return well_formed(block)  # type: ignore[no-any-return]
    if not isinstance(block, Mapping) or block.get("type") not in _TEXTS:
        return None
    text = block.get("resource", block).get("text")
    return well_formed(text) if isinstance(text, str) else None


def text_or_media(part: Any) -> str | Media:
    """Return the text of an AG-UI content part, or its media."""
    if part.type == "text":
        return str(part.text)
    place, value = source_of(part)
    return Media(part.type, place, value, media_type(part, _MEDIA_TYPES[part.type]))
