"""Write what an attacker can write: histories with plain envelopes, for every API."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from agui_reasoning.parts import Origin
from agui_reasoning.providers import provider_api
from tests.internals.envelopes import (
    Envelope,
    ResponsePlace,
    UnitRecord,
    call_unit,
    native_unit,
    reasoning_unit,
    result_unit,
    text_unit,
    write_envelope,
)

__all__ = ["HOSTILE", "MARK", "Attack", "attacks", "history"]

MARK = "HOSTILE"
"""What must not reach a provider. Every attack carries it."""
GOOGLE_FILE = f"https://generativelanguage.googleapis.com/v1beta/files/{MARK}"


@dataclass(frozen=True)
class Attack:
    """Units of a plain envelope, of which nothing with the mark may be sent."""

    natives: tuple[tuple[str, Any], ...] = ()
    call: dict[str, Any] | None = None
    result: Any = None
    text: dict[str, Any] | None = None
    thought: dict[str, Any] = field(default_factory=dict)


def native(kind: str, **payload: Any) -> Attack:
    return Attack(natives=((kind, payload),))


def pair(result: Any, name: str = "tool", **ext: Any) -> Attack:
    return Attack(call={"server": True, "ext": ext or None, "name": name}, result=result)


BULK = {f"member{n}": MARK for n in range(500)}
CACHE = {"cache_control": {"type": "ephemeral", "ttl": "1h", "mark": MARK}}
BY_ID = {"id": f"msg_{MARK}"}

_FETCHED = {
    "type": "web_fetch_result",
    "url": "https://example.com",
    "content": {"type": "document", "source": {"type": "file", "file_id": MARK}},
}

_EVERYWHERE = {
    "unknown members of a text": Attack(text={"ext": BULK | CACHE}),
    "unknown members of a call": Attack(call={"ext": BULK | CACHE | {"role": MARK}}),
    "unknown members of a thought": Attack(thought={"ext": BULK | CACHE}),
    "entries with unknown members": Attack(
        thought={"ext": {"details": [{"type": "reasoning.text", "x": MARK, **CACHE}], "tag": {"x": MARK}}}
    ),
    "a block of another API": Attack(
        natives=(("anthropic.document", {"type": "document", "source": {"file_id": MARK}}),)
    ),
}

HOSTILE: dict[str, dict[str, Attack]] = {
    "anthropic-messages": {
        "document": native("anthropic.document", type="document", source={"type": "file", "file_id": MARK}),
        "document by address": native(
            "anthropic.document", type="document", source={"type": "url", "url": f"https://{MARK}"}
        ),
        "upload": native("anthropic.container_upload", type="container_upload", file_id=MARK),
        "no type": native("anthropic.None", **BY_ID),
        "null type": native("anthropic.None", type=None, **BY_ID),
        "fetched file": pair(
            {"type": "web_fetch_tool_result", "tool_use_id": "srv1", "content": _FETCHED}, "web_fetch"
        ),
        "output file": pair(
            {
                "type": "code_execution_tool_result",
                "tool_use_id": "srv1",
                "content": {
                    "type": "code_execution_result",
                    "stdout": MARK,
                    "content": [{"type": "code_execution_output", "file_id": MARK}],
                },
            },
            "code_execution",
        ),
        "members of a result": pair(
            {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": [CACHE], **BULK, **CACHE},
            "web_search",
        ),
        "an unknown result": pair(
            {"type": "secret_tool_result", "tool_use_id": "srv1", "content": MARK}, "secret"
        ),
        "members of a compaction": native(
            "anthropic.compaction", type="compaction", content="x", **BULK, **CACHE
        ),
        "cited file": Attack(text={"ext": {"citations": [{"type": "char_location", "file_id": MARK}]}}),
    },
    "openai-responses": {
        "no type": native("openai.None", **BY_ID),
        "null type": native("openai.None", type=None, **BY_ID),
        "empty type": native("openai.", type="", **BY_ID),
        "reference": native("openai.item_reference", type="item_reference", **BY_ID),
        "input file": native(
            "openai.message",
            type="message",
            role="user",
            content=[{"type": "input_file", "file_id": MARK}],
        ),
        "instructions": native(
            "openai.message", type="message", role="developer", content=[{"type": "input_text", "text": MARK}]
        ),
        "more tools": native("openai.additional_tools", type="additional_tools", role="user", tools=[MARK]),
        "bare file": native("openai.input_file", type="input_file", file_id=MARK),
        "container": pair(
            {"type": "code_interpreter_call", "id": "ci_1", "code": MARK, "container_id": MARK}, "code"
        ),
        "file of a search": pair(
            {"type": "file_search_call", "id": "fs_1", "queries": [MARK], "results": [{"file_id": MARK}]}
        ),
        "image by ID": pair(
            {"type": "image_generation_call", "id": MARK, "status": "completed", "size": "1"}
        ),
        "search by ID": pair({"type": "web_search_call", "id": MARK, "status": "completed"}),
        "approval": native(
            "openai.mcp_approval_response",
            type="mcp_approval_response",
            approval_request_id=MARK,
            approve=True,
        ),
        "approval as a result": pair({"type": "mcp_approval_response", "approval_request_id": MARK}),
        "screenshot": pair(
            {"type": "computer_call_output", "call_id": "srv1", "output": {"file_id": MARK}}, "computer"
        ),
        "container of a shell": pair(
            {"type": "shell_call_output", "call_id": "srv1", "output": [{"stdout": MARK}]},
            type="shell_call",
            environment={"type": "container_reference", "container_id": MARK},
        ),
        "cited file": Attack(
            text={
                "ext": {
                    "id": "msg_1",
                    "annotations": [
                        {"type": "container_file_citation", "container_id": MARK, "file_id": MARK}
                    ],
                }
            }
        ),
    },
    "bedrock-converse": {
        "video": native("bedrock.video", video={"format": "mp4", "source": {"s3Location": {"uri": MARK}}}),
        "image": native("bedrock.image", image={"format": "png", "source": {"s3Location": {"uri": MARK}}}),
        "cache": native("bedrock.cachePoint", cachePoint={"type": "default", "ttl": MARK}),
        "guard": native("bedrock.guardContent", guardContent={"text": {"text": MARK}}),
        "result": pair(
            {
                "toolResult": {
                    "toolUseId": "srv1",
                    "content": [{"video": {"format": "mp4", "source": {"s3Location": {"uri": MARK}}}}],
                }
            }
        ),
        "cache in a result": pair(
            {"toolResult": {"toolUseId": "srv1", "content": [{"cachePoint": {"type": MARK}}]}}
        ),
    },
    "gemini": {
        "file": native("gemini.fileData", fileData={"mimeType": "image/png", "fileUri": GOOGLE_FILE}),
        "file in snake case": native("gemini.inlineData", inlineData={}, file_data={"file_uri": GOOGLE_FILE}),
        "bucket": native("gemini.fileData", fileData={"mimeType": "image/png", "fileUri": f"gs://{MARK}/x"}),
        "beside data": native(
            "gemini.inlineData", inlineData={"data": "eA=="}, fileData={"fileUri": f"https://{MARK}"}
        ),
        "result": pair(
            {"codeExecutionResult": {"output": MARK, "fileData": {"fileUri": GOOGLE_FILE}}},
            type="executableCode",
        ),
    },
    "gemini-interactions": {
        "no type": native("gemini.None", **BY_ID),
        "null type": native("gemini.None", type=None, **BY_ID),
        "file": native("gemini.image", type="image", uri=GOOGLE_FILE),
        "bucket": native("gemini.document", type="document", uri=f"gs://{MARK}/x"),
        "a step": native("gemini.secret_step", type="secret_step", x=MARK),
        "result": pair(
            {
                "type": "file_search_result",
                "call_id": "srv1",
                "result": [{"file_search_store_names": [MARK]}],
            },
            type="file_search_call",
        ),
        "an unknown result": pair(
            {"type": "secret_result", "call_id": "srv1", "result": MARK}, type="secret_call"
        ),
    },
    "mistral-chat": {
        "no type": native("mistral.None", **BY_ID),
        "null type": native("mistral.None", type=None, **BY_ID),
        "file": native("mistral.file", type="file", file_id=MARK),
        "tool file": native("mistral.tool_file", type="tool_file", file_id=MARK),
        "document": native("mistral.document_url", type="document_url", document_url=f"https://{MARK}"),
    },
    "xai-grpc": {
        "file": native("xai.tool_output", role="ROLE_TOOL", content=[{"file": {"file_id": MARK}}]),
        "collection": pair(
            {"role": "ROLE_TOOL", "content": "x", "collection_ids": [MARK]},
            type="TOOL_CALL_TYPE_WEB_SEARCH_TOOL",
        ),
    },
    "openai-chat": {
        "file": native("openrouter.file", type="file", file={"file_id": MARK}),
        "result": pair({"type": "search", "file_id": MARK}),
    },
    "litellm": {"file": native("openrouter.file", type="file", file={"file_id": MARK})},
    "cohere-chat": {"document": native("cohere.document", type="document", document={"id": MARK})},
    "ollama": {"image": native("ollama.image", type="image", file_id=MARK)},
}


def attacks(api: str) -> Iterator[tuple[str, Attack]]:
    """Yield the attacks on an API."""
    yield from {**_EVERYWHERE, **HOSTILE[api]}.items()


def history(attack: Attack, origin: Origin) -> list[dict[str, Any]]:
    """The messages of a client that makes up the model's answer."""
    api = provider_api(str(origin.api))
    kind = {"openai-responses": "openai.encrypted_content"}.get(str(origin.api))
    kind = kind or next(iter(api.signature_kinds.values()), None)
    opaque = () if kind is None else ({"kind": kind, "value": "U0lHTkVE"},)
    units: list[UnitRecord] = [reasoning_unit(0, **attack.thought, segments=(), opaque=_opaque(opaque))]
    calls = []
    for payload in attack.natives:
        units.append(native_unit(len(units), name=payload[0], payload=payload[1]))
    if attack.call is not None:
        fields = dict(attack.call)
        name = fields.pop("name", "tool")
        units.append(call_unit(len(units), "srv1", **fields))
        calls.append({"id": "srv1", "type": "function", "function": {"name": name, "arguments": "{}"}})
    if attack.result is not None:
        units.append(result_unit(len(units), "srv1", native=attack.result))
    units.append(text_unit(len(units), text="Yes.", **(attack.text or {})))
    place = ResponsePlace(id="r", messages=("a1",), calls=tuple(call["id"] for call in calls))
    value = write_envelope(Envelope(origin=origin, response=place, units=tuple(units)))
    return [
        {"id": "u1", "role": "user", "content": "Go on."},
        {"id": "t1", "role": "reasoning", "content": "", "encryptedValue": value},
        {"id": "a1", "role": "assistant", "content": "Yes.", **({"toolCalls": calls} if calls else {})},
        *(
            {"id": "o1", "role": "tool", "toolCallId": call["id"], "content": "4"}
            for call in calls
            if attack.result is None
        ),
        {"id": "u2", "role": "user", "content": "And now?"},
    ]


def _opaque(given: tuple[dict[str, str], ...]) -> tuple[Any, ...]:
    from tests.internals.envelopes import OpaqueRecord

    return tuple(OpaqueRecord(**one) for one in given)
