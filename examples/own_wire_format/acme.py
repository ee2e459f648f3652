"""The wire format of a model server that streams JSON lines, in less than 80 lines of code."""

from collections.abc import Callable
from typing import Any, Final

from ag_ui.core import Tool, UserMessage

from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
    OpaqueDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
)
from agui_reasoning.errors import DecodeError
from agui_reasoning.parts import Opaque, ReasoningPart, TextPart, ToolCallPart
from agui_reasoning.policy import EchoRule
from agui_reasoning.providers import HTTPEndpoint, ProviderAPI
from agui_reasoning.providers.encoding import (
    EchoReport,
    EncodingOptions,
    PreparedConversation,
    ResponseStep,
    reasoning_units,
    text_of,
)

DELTAS: Final[dict[str, Callable[[Any], Delta]]] = {
    "think": ReasoningDelta,
    "seal": lambda value: OpaqueDelta(Opaque("acme.seal", value)),
    "say": TextDelta,
    "call": lambda value: ToolCallDelta(value["id"], value["name"], value["arguments"]),
    "end": FinishDelta,
}


class AcmeDecoder:
    def __init__(self, *, provider: str | None, model: str | None) -> None:
        self.ended = False

    def receive(self, payload: dict[str, Any]) -> list[Delta]:  # one payload of a stream
        self.ended = "end" in payload
        return [DELTAS[kind](value) for kind, value in payload.items() if kind in DELTAS]

    def whole(self, response: dict[str, Any]) -> list[Delta]:  # a whole response
        return [delta for payload in response["lines"] for delta in self.receive(payload)]

    def close(self) -> list[Delta]:  # the stream has ended
        if self.ended:
            return []
        cut = [CloseDelta(status="incomplete")]
        raise DecodeError("The stream was cut.", code="truncated_stream", hint="Ask again.", deltas=cut)


def encode(conversation: PreparedConversation, options: EncodingOptions) -> dict[str, Any]:
    dialog: list[dict[str, Any]] = [{"who": "system", "say": options.system}] if options.system else []
    for item in conversation:
        if isinstance(item, ResponseStep):
            dialog += answer(item, options.report)
        else:
            who = "user" if isinstance(item, UserMessage) else "system"
            dialog.append({"who": who, "say": text_of(item.content, options.report, f"{who} message")})
    tools = [tool.model_dump() if isinstance(tool, Tool) else tool for tool in options.tools]
    return {"dialog": dialog, "tools": tools}


def answer(step: ResponseStep, report: EchoReport) -> list[dict[str, Any]]:
    said = "".join(unit.part.text for unit in step.units if isinstance(unit.part, TextPart))
    message: dict[str, Any] = {"who": "model", "say": said, "thoughts": [], "calls": []}
    for unit in reasoning_units(step):
        assert isinstance(unit.part, ReasoningPart)
        seals = [seal.value for seal in unit.part.opaque]
        message["thoughts"].append({"think": unit.part.text, "seals": seals})
        report.echo(unit)
    results: list[dict[str, Any]] = []
    for one in step.answers:
        assert isinstance(one.unit.part, ToolCallPart)
        message["calls"].append([one.call_id, one.unit.part.name, one.unit.part.args])
        said = text_of(one.content, report, "tool result")
        results.append({"who": "tool", "id": one.call_id, "say": said})
    return [message, *results]


ACME = ProviderAPI(
    id="acme-dialog",
    decoder=AcmeDecoder,
    encoder=encode,
    conversation_fields=frozenset({"dialog"}),
    http=HTTPEndpoint(path="/dialog", framing="json-lines"),  # for the gateway
)
POLICY = [EchoRule(api="acme-dialog", status="required", field=("thinking",), scope="all")]
