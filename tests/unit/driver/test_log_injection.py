"""Test that what providers and clients chose cannot forge lines of a log or reach a terminal as it is."""

from __future__ import annotations

import io
import json
import logging
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ag_ui.core import RunErrorEvent

from agui_reasoning import Conversation, build_request, stream_run
from agui_reasoning.errors import (
    AGUIReasoningError,
    AGUIReasoningWarning,
    ConfigurationError,
    DecodeError,
    LocalProtocolError,
    ProviderError,
    RunFailedError,
    TransportError,
)
from agui_reasoning.providers import API_IDS, decoder
from tests.unit.cli.test_hostile import ATTACK, HALF, unsafe

INPUT = {
    "threadId": ATTACK,
    "runId": ATTACK,
    "state": {},
    "messages": [{"id": "u", "role": "user", "content": "Hi"}],
    "tools": [],
    "context": [],
    "forwardedProps": {},
}
ERRORS: dict[str, Any] = {
    "anthropic-messages": {"type": "error", "error": {"type": ATTACK, "message": ATTACK}},
    "openai-responses": {"type": "error", "code": ATTACK, "message": ATTACK, "param": ATTACK},
    "openai-chat": {"error": {"message": ATTACK, "type": ATTACK, "code": ATTACK}},
    "gemini": {"error": {"code": 500, "message": ATTACK, "status": ATTACK}},
    "ollama": {"error": ATTACK},
}


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What a log with an ordinary formatter holds, down to DEBUG."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("@%(levelname)s %(message)s"))
    logger, level = logging.getLogger("agui_reasoning"), logging.getLogger("agui_reasoning").level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield stream
    logger.setLevel(level)
    logger.removeHandler(handler)


@pytest.mark.parametrize("visibility", ["full", "hidden"])
@pytest.mark.parametrize("api", ERRORS)
def test_an_error_inside_a_stream_forges_no_line(api: str, visibility: Any, log: io.StringIO) -> None:
    events = list(stream_run(INPUT, [ERRORS[api]], api=api, provider="p", visibility=visibility))
    assert events[-1].type.value == "RUN_ERROR"
    written = log.getvalue()
    assert "provider_error" in written
    assert list(unsafe(written.encode())) == []
    attacked = [line for line in written.splitlines() if "add-mask" in line]
    assert all(line.startswith(("@ERROR ", "@DEBUG ", "  ")) for line in attacked)


class SDKError(Exception):
    """An error of a vendor's SDK, with the words of the provider."""

    status_code = 429


@pytest.mark.parametrize("visibility", ["full", "hidden"])
def test_an_error_of_an_sdk_forges_no_line(visibility: Any, log: io.StringIO) -> None:
    def refused() -> Any:
        raise SDKError(ATTACK)

    list(stream_run(INPUT, refused, api="openai-chat", provider="p", visibility=visibility))
    written = log.getvalue()
    assert "rate_limited" in written
    assert ("Traceback" in written) == (visibility == "full")
    assert list(unsafe(written.encode())) == []
    assert all(line.startswith(("@ERROR ", "@DEBUG ", "  ")) for line in written.splitlines())


def raised() -> dict[str, Callable[[], AGUIReasoningError]]:
    """One error of each class that quotes what others chose."""
    quoted = {"code": "x", "hint": ATTACK}
    return {
        "configuration": lambda: ConfigurationError(ATTACK, **quoted),
        "decode": lambda: DecodeError(ATTACK, path=ATTACK, **quoted),
        "protocol": lambda: LocalProtocolError(ATTACK, event_type=ATTACK, **quoted),
        "transport": lambda: TransportError(ATTACK, error_code=ATTACK, **quoted),
        "provider": lambda: ProviderError(provider_code=ATTACK, provider_type=HALF, provider_message=ATTACK),
    }


@pytest.mark.parametrize("name", raised())
def test_an_error_is_one_safe_line(name: str) -> None:
    error = raised()[name]()
    for words in (str(error), repr(error), error.hint):
        assert list(unsafe(words.encode())) == []
        assert "\n" not in words


def test_a_provider_error_keeps_its_names_for_programs() -> None:
    error = raised()["provider"]()
    assert isinstance(error, ProviderError)
    assert (error.provider_code, error.provider_type, error.provider_message) == (ATTACK, HALF, ATTACK)


def test_a_failed_run_of_an_agent_is_one_safe_line() -> None:
    error = RunFailedError(RunErrorEvent(message=ATTACK, code=ATTACK))
    assert list(unsafe(str(error).encode())) == []
    assert "\n" not in str(error)


@pytest.mark.parametrize("api", API_IDS)
def test_errors_of_decoders_are_safe(api: str) -> None:
    """Names of members and types of a payload that cannot be read are quoted."""
    hostile = (ATTACK, [ATTACK], {ATTACK: ATTACK}, {"type": ATTACK}, {"type": ATTACK, "choices": {ATTACK: 1}})
    for words in filter(None, (refusal(api, payload) for payload in hostile)):
        assert list(unsafe(words.encode())) == []
        assert "\n" not in words


def refusal(api: str, payload: Any) -> str | None:
    try:
        decoder(api).receive(payload)
    except AGUIReasoningError as error:
        return str(error)
    return None


def test_warnings_are_safe_lines() -> None:
    told: list[str] = []
    for on_warning in (told.append, None):
        conversation = Conversation(on_warning=on_warning)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            conversation.receive({"type": ATTACK, ATTACK: 1})
        told += [str(warning.message) for warning in caught]
    assert len(told) == 2
    for words in (*told, str(AGUIReasoningWarning(ATTACK))):
        assert list(unsafe(words.encode())) == []
        assert "\n" not in words


def test_a_history_with_hostile_names_is_told_safely() -> None:
    told: list[str] = []
    value = json.dumps({"k": "agui-reasoning", "v": 99, "origin": {"provider": ATTACK, "api": ATTACK}})
    message = {"id": ATTACK, "role": "reasoning", "content": "x", "encryptedValue": value}
    build_request("gemini", [message], model=ATTACK, on_warning=told.append)
    assert all(list(unsafe(words.encode())) == [] for words in told)
