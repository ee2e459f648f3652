"""Play a few events through a `Conversation`, and show everything visible of it."""

from __future__ import annotations

from itertools import count
from typing import Any

from agui_reasoning.consumer import Conversation
from agui_reasoning.errors import RemoteProtocolError
from tests.support.verifier import plain

Json = dict[str, Any]

RUN = {"threadId": "t", "runId": "r"}
STARTED: Json = {"type": "RUN_STARTED", **RUN, "protocolVersion": "1.0"}
FINISHED: Json = {"type": "RUN_FINISHED", **RUN}
FAILED: Json = {"type": "RUN_ERROR", "message": "It failed."}


def ev(kind: str, **members: Any) -> Json:
    """An event."""
    return {"type": kind, **members}


def text(name: str, /, *deltas: str, **more: Any) -> list[Json]:
    """A text message."""
    return _item("TEXT_MESSAGE", "CONTENT", "messageId", name, deltas, more)


def thought(name: str, /, *deltas: str, **more: Any) -> list[Json]:
    """A reasoning message."""
    return _item("REASONING_MESSAGE", "CONTENT", "messageId", name, deltas, {"role": "reasoning", **more})


def call(name: str, /, *deltas: str, **more: Any) -> list[Json]:
    """A tool call."""
    return _item("TOOL_CALL", "ARGS", "toolCallId", name, deltas, {"toolCallName": "get", **more})


def _item(
    prefix: str, content: str, field: str, name: str, deltas: tuple[str, ...], more: Json
) -> list[Json]:
    inside = [{"type": f"{prefix}_{content}", field: name, "delta": delta} for delta in deltas]
    start = {"type": f"{prefix}_START", field: name, **more}
    return [start, *inside, {"type": f"{prefix}_END", field: name}]


def value(name: str, sealed: str = "SEAL", subtype: str = "message", **more: Any) -> Json:
    """An encrypted value."""
    return ev("REASONING_ENCRYPTED_VALUE", subtype=subtype, entityId=name, encryptedValue=sealed, **more)


class Played:
    """A conversation after some events.

    Attributes:
        code: The code of the violation or truncation, if there was one.
        error: That error.
        events: What was delivered.
        warnings: What was warned about.
    """

    def __init__(self, *events: Json, stop: bool = True, **options: Any) -> None:
        numbers = count(1)
        self.warnings: list[str] = []
        self.events: list[Json] = []
        self.error: RemoteProtocolError | None = None
        options = {"new_id": lambda: f"id-{next(numbers)}", **options}
        self.conversation = Conversation(on_warning=self.warnings.append, **options)
        try:
            for event in events:
                self.events += plain(self.conversation.receive(event))
            if stop:
                self.conversation.end_of_stream()
        except RemoteProtocolError as error:
            self.error = error

    @property
    def code(self) -> str | None:
        return None if self.error is None else self.error.code

    @property
    def messages(self) -> list[Json]:
        return plain(self.conversation.messages)

    @property
    def held(self) -> list[tuple[str, str, Any]]:
        """Id, role and content of each message."""
        return [(message["id"], message["role"], message.get("content")) for message in self.messages]

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    def warned(self, *words: str) -> bool:
        """Whether some warning has all the words."""
        return any(all(word in warning for word in words) for warning in self.warnings)


def play(*events: Json, **options: Any) -> Played:
    """Play events inside a run."""
    return Played(STARTED, *events, FINISHED, **options)
