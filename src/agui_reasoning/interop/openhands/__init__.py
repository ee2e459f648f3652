"""Converts OpenHands event dicts to AG-UI events and back.

Reads both generations of event dicts: those of the app, with ``action`` and ``observation``, and those of the
SDK, with ``kind``. Only `messages`, which builds objects of the SDK, imports OpenHands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Unpack

from ag_ui.core import Event, RunAgentInput
from pydantic import BaseModel

from agui_reasoning._driver import ModelStream
from agui_reasoning._wire_events import new_uuid
from agui_reasoning.consumer import Conversation
from agui_reasoning.interop._client import imported
from agui_reasoning.interop.openhands._messages import message_fields, read_stored
from agui_reasoning.interop.openhands._read import EventReader, in_responses
from agui_reasoning.interop.openhands._write import EventWriter
from agui_reasoning.parts import Origin
from agui_reasoning.request import History
from agui_reasoning.run import Run, RunOptions, RunSettings, shows_options

__all__ = ["messages", "read_events", "read_messages", "stream", "write_events"]


def stream(source: Any) -> ModelStream:
    """Read the events of an OpenHands conversation inside a run, as they arrive.

    An action is a tool call, an observation its result, a message is text. Everything else (state,
    condensation) becomes a CUSTOM event named ``openhands.<kind>`` with the event dict as its value.

    Args:
        source: An iterable of event dicts or of the SDK's event objects, synchronous or asynchronous, or
            anything else that `ModelStream` accepts.

    Returns:
        A model stream to yield from an agent. The API, provider and model are those of the run; without an
        API it is ``litellm``.
    """
    return ModelStream(source, reader=EventReader)


def messages(run: Run, *, system: str | None = None, history: History | None = None) -> list[Any]:
    """Write the conversation of a run as messages of the OpenHands SDK.

    The SDK decides which of their fields are sent to a model, and in which form.

    Args:
        run: The run. Its provider is the upstream of LiteLLM.
        system: System instructions.
        history: The conversation to write; default is `Run.history`.

    Returns:
        Objects of ``openhands.sdk.llm.Message``.

    Raises:
        ConfigurationError: The OpenHands SDK is not installed (``missing_framework``).

    Warns:
        ReasoningLostWarning: The upstream requires reasoning that cannot be sent.
    """
    framework = "The OpenHands SDK", "openhands-sdk, which needs Python 3.12"
    message = imported("openhands.sdk.llm", *framework).Message
    return [message.model_validate(fields) for fields in message_fields(run, system, history)]


def read_messages(
    stored: Iterable[Any],
    *,
    provider: str | None = None,
    model: str | None = None,
    new_id: Callable[[], str] | None = None,
) -> History:
    """Read stored messages, for a request or for `messages`.

    Reads the fields of the SDK's ``Message`` and the dicts that its ``to_chat_dict`` and
    ``to_responses_dict`` return, mixed as they come. A call without an ID (``function_call``) gets one.

    Args:
        stored: The messages: dicts, or the SDK's objects.
        provider: The upstream that produced the reasoning.
        model: The model that produced it.
        new_id: Creates the IDs of messages; by default, random UUIDs.

    Returns:
        The conversation: pass it to `Run.request` as ``history``.

    Raises:
        DecodeError: A message does not have one of these forms (``bad_payload``).

    Warns:
        AGUIReasoningWarning: Something of a message was left out, or no request includes it.

    Examples:
        >>> answer = {"role": "assistant", "content": "Noon.", "reasoning_content": "Look at the clock."}
        >>> [type(part).__name__ for part in read_messages([answer]).turns[0].parts]
        ['ReasoningPart', 'TextPart']
    """
    return read_stored(stored, Origin(provider, "litellm", model), new_id or new_uuid)


@shows_options(RunOptions, RunSettings)
def read_events(
    events: Iterable[Any],
    *,
    run_input: RunAgentInput | Mapping[str, Any] | None = None,
    **options: Unpack[RunOptions],
) -> list[Event]:
    """Turn a stored OpenHands event stream into the AG-UI events of one run.

    With full visibility and without keys, a RAW event before the events of each dict contains the data that
    AG-UI cannot represent, and `write_events` returns the same dicts.

    Args:
        events: Event dicts, or the SDK's event objects.
        run_input: The input of the run; default is a new thread.
        **options: The options of `agui_reasoning.Run`.

    Raises:
        DecodeError: An event does not have the format of OpenHands events (``bad_payload``).

    Examples:
        >>> args = {"command": "ls", "thought": "Look.", "reasoning_content": "Where am I?"}
        >>> action = {"action": "run", "args": args}
        >>> events = read_events([action])
        >>> write_events(events) == [action]
        True
    """
    make_id = options.get("new_id") or new_uuid
    empty: dict[str, Any] = {"state": {}, "messages": [], "tools": [], "context": [], "forwardedProps": {}}
    run = Run(run_input or {"threadId": make_id(), "runId": make_id(), **empty}, **options)
    records = options.get("visibility", "full") == "full" and options.get("keys") is None
    reader = EventReader(run, records=records, new_id=make_id)
    written = run.start()
    for placed in in_responses(events):
        for item in reader.read(placed):
            written += run.receive(item)
    return [*written, *run.finish()]


def write_events(events: Iterable[BaseModel | Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Write AG-UI events as OpenHands event dicts.

    Events from `read_events` give the original dicts. Those of other runs give dicts in the app's format:
    ``args.thought`` is the text before a call, ``args.reasoning_content`` the reasoning.

    Args:
        events: The events of whole runs, as models or JSON.

    Raises:
        RemoteProtocolError: The events violate the protocol.
        TruncatedRunError: The events end inside a run.
    """
    conversation, writer = Conversation(on_warning=lambda sentence: None), EventWriter()
    for event in events:
        for delivered in conversation.receive(event):
            writer.receive(delivered)
    conversation.end_of_stream()
    return writer.close()
