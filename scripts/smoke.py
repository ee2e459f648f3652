"""Asks real providers a puzzle, and checks that their reasoning comes back to them; `make smoke` runs it.

    ANTHROPIC_API_KEY=… OPENAI_API_KEY=… make smoke
    ANTHROPIC_API_KEY=… .venv/bin/python scripts/smoke.py anthropic --model claude-opus-4-6

Tests each provider whose key is in the environment, or only those named. Each gets four requests: a puzzle,
the result of the tool call that it leads to, a second question, and the puzzle again without streaming. An
answer has at most 4,096 tokens, so a provider costs at most 16,384 output tokens: $0.25 at $15 a million.

The values that a provider sent are read from the bytes of its responses, and looked for in the bytes of the
next requests; the library's decoders and encoders take no part in the comparison.
"""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import httpx2

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from agui_reasoning import Conversation, check_events
from agui_reasoning.aio import run_agent
from agui_reasoning.errors import AGUIReasoningError
from agui_reasoning.gateway import FRAMINGS, HTTPUpstream, endpoint_of
from agui_reasoning.parts import ReasoningPart
from agui_reasoning.providers import decode_response, provider_api
from agui_reasoning.replay import TOOL, TOOL_RESULT, Check, compare, read_answer, read_request

Exchange: TypeAlias = dict[str, Any]

PUZZLE = (
    "Five friends, Ada, Ben, Cleo, Dev and Eva, live in Bergen, Lagos, Lima, Osaka and Quito, one in each. "
    "Ada lives in the southern hemisphere, and so does the friend in Quito. Ben speaks no Spanish and lives "
    "north of the equator. Cleo lives in Africa. Dev lives farther east than all others. "
    "In which city does Ben live? Think it through, then call get_forecast for that city, and for no other."
)
FOLLOW_UP = "And where does Eva live? Answer in one sentence."
MAX_TOKENS = 4096


@dataclass(frozen=True)
class Target:
    """A provider, and how it is asked to think. `<NAME>_BASE_URL` in the environment replaces the URL."""

    api: str
    provider: str
    model: str
    base_url: str
    parameters: dict[str, Any] = field(default_factory=dict)


TARGETS = {
    "ANTHROPIC": Target(
        *("anthropic-messages", "anthropic", "claude-sonnet-4-6", "https://api.anthropic.com"),
        {"max_tokens": MAX_TOKENS},
    ),
    "OPENAI": Target(
        *("openai-responses", "openai", "gpt-5.2", "https://api.openai.com/v1"),
        {
            "max_output_tokens": MAX_TOKENS,
            "reasoning": {"effort": "medium", "summary": "detailed"},
            "store": False,
        },
    ),
    "GEMINI": Target(
        *("gemini", "google", "gemini-3-flash-preview", "https://generativelanguage.googleapis.com"),
        {"generationConfig": {"maxOutputTokens": MAX_TOKENS, "thinkingConfig": {"includeThoughts": True}}},
    ),
    "DEEPSEEK": Target(
        *("openai-chat", "deepseek", "deepseek-v4-flash", "https://api.deepseek.com"),
        {"max_tokens": MAX_TOKENS, "thinking": {"type": "enabled"}},
    ),
    "MISTRAL": Target(
        *("mistral-chat", "mistral", "mistral-small-latest", "https://api.mistral.ai"),
        {"max_tokens": MAX_TOKENS, "reasoning_effort": "high"},
    ),
    "COHERE": Target(
        *("cohere-chat", "cohere", "command-a-reasoning-08-2025", "https://api.cohere.com"),
        {"max_tokens": MAX_TOKENS, "thinking": {"type": "enabled"}},
    ),
    "XAI": Target(
        *("openai-responses", "xai", "grok-4-fast-reasoning", "https://api.x.ai/v1"),
        {"max_output_tokens": MAX_TOKENS, "store": False},
    ),
    "OPENROUTER": Target(
        *("openai-chat", "openrouter", "anthropic/claude-sonnet-4.6", "https://openrouter.ai/api/v1"),
        {"max_tokens": MAX_TOKENS, "reasoning": {"max_tokens": 2048}},
    ),
}


class Recorder(httpx2.AsyncBaseTransport):
    """Sends requests, and keeps the bodies of requests and responses."""

    def __init__(self) -> None:
        self.requests: list[httpx2.Request] = []
        self.answers: list[bytearray] = []
        self._transport = httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Sends a request; what is tried again after an error is no other turn."""
        response = await self._transport.handle_async_request(request)
        if response.status_code < 400:
            self.requests.append(request)
            self.answers.append(bytearray())
            response.stream = _Copied(response.stream, self.answers[-1])
        return response

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._transport.aclose()


class _Copied(httpx2.AsyncByteStream):
    def __init__(self, stream: Any, copy: bytearray) -> None:
        self._stream, self._copy = stream, copy

    async def __aiter__(self) -> Any:
        async for chunk in self._stream:
            self._copy += chunk
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


@dataclass
class Result:
    """What a provider sent and received."""

    lines: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def say(self, what: str, said: str) -> None:
        """Adds a line to the report."""
        self.lines.append(f"  {what:9} {said}")

    def expect(self, holds: bool, failure: str) -> None:
        """Adds a failure unless the condition holds."""
        if not holds:
            self.failures.append(failure)


async def smoke(target: Target, key: str) -> Result:
    """Has a conversation with a provider, and compares what it sent with what it received."""
    result = Result()
    recorder = Recorder()
    async with httpx2.AsyncClient(transport=recorder, timeout=300) as http:
        upstream = HTTPUpstream(
            target.api,
            base_url=target.base_url,
            model=target.model,
            provider=target.provider,
            api_key=key,
            parameters=target.parameters,
            http=http,
        )
        try:
            await _converse(target, upstream, result)
            if recorder.requests:
                await _whole(target, http, recorder, result)
        except (AGUIReasoningError, httpx2.HTTPError) as error:
            result.failures.append(f"{type(error).__name__}: {error}")
    _returned(target, recorder, result)
    return result


async def _converse(target: Target, upstream: HTTPUpstream, result: Result) -> None:
    conversation = Conversation("smoke")
    await _run(target, upstream, conversation, PUZZLE, result)
    called = [call.id for call in conversation.pending_calls]
    result.expect(bool(called), "the model did not call the tool")
    for call_id in called:
        conversation.add_tool_result(call_id, TOOL_RESULT)
    if called:
        await _run(target, upstream, conversation, None, result)
    await _run(target, upstream, conversation, FOLLOW_UP, result)
    thoughts = [message for message in conversation.messages if message.role == "reasoning"]
    result.say("messages", f"{len(conversation.messages)}, {len(thoughts)} of them reasoning")
    result.expect(bool(thoughts), "no reasoning came")


async def _run(
    target: Target, upstream: HTTPUpstream, conversation: Conversation, words: str | None, result: Result
) -> None:
    run_input = conversation.run_input(words, tools=[TOOL])
    names = {"api": target.api, "provider": target.provider, "model": target.model}
    events = [event async for event in run_agent(run_input, upstream.agent, **names, on_error=str)]
    for event in events:
        conversation.receive(event)
    if conversation.status == "failed":
        result.failures.append(f"the run failed: {events[-1].message}")
    found = [finding.code for finding in check_events(events)]
    result.expect(not found, f"the events have findings: {', '.join(found)}")


def _returned(target: Target, recorder: Recorder, result: Result) -> None:
    """Compares each request with all responses before it."""
    framing = endpoint_of(target.api, target.provider).framing
    sent: list[Any] = []
    for number, (request, answer) in enumerate(zip(recorder.requests, recorder.answers, strict=True), 1):
        if _is_whole(request, target):
            break
        checks = list(compare(sent, read_request(target.api, json.loads(request.content))))
        if sent:
            result.say(f"request {number}", f"{_kept(checks)} values came back unchanged")
        lost = [check.kind for check in checks if not check.unchanged]
        result.expect(not lost, f"request {number}: changed or lost: {', '.join(lost)}")
        entries = read_answer({"api": target.api, "events": list(_events(framing, bytes(answer)))})
        kinds = Counter(entry.kind for entry in entries)
        result.say(f"answer {number}", ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())))
        sent += entries


def _kept(checks: list[Check]) -> str:
    return f"{sum(check.unchanged for check in checks)} of {len(checks)}"


def _events(framing: Any, body: bytes) -> Iterator[Exchange]:
    reader = FRAMINGS[framing].reader()
    for text in (*reader.feed(body), *reader.close()):
        if text != "[DONE]":
            yield {"data": json.loads(text)}


async def _whole(target: Target, http: httpx2.AsyncClient, recorder: Recorder, result: Result) -> None:
    """Asks the puzzle once more without streaming."""
    first = recorder.requests[0]
    body = json.loads(first.content)
    for name in ("stream", "stream_options"):
        body.pop(name, None)
    headers = {name: value for name, value in first.headers.items() if name not in _FRAMED}
    url = str(first.url).replace("streamGenerateContent", "generateContent").replace("alt=sse", "")
    response = await http.post(url, headers=headers | {"accept": "application/json"}, json=body)
    response.raise_for_status()
    parts = decode_response(target.api, response.json(), provider=target.provider, model=target.model)
    thoughts = [part for part in parts if isinstance(part, ReasoningPart)]
    values = sum(len(part.opaque) for part in parts)
    letters = sum(len(part.text) for part in thoughts)
    result.say("whole", f"{letters} characters of reasoning, {values} opaque values")
    result.expect(bool(thoughts) or values > 0, "the response without streaming has no reasoning")


_FRAMED = frozenset({"content-length", "host", "connection", "accept-encoding", "accept"})


def _is_whole(request: httpx2.Request, target: Target) -> bool:
    """Returns whether a request is the one without streaming."""
    if provider_api(target.api).http and endpoint_of(target.api, target.provider).model_in_path:
        return "stream" not in request.url.path
    return not json.loads(request.content).get("stream")


def main(arguments: list[str]) -> int:
    """Tests the providers, and returns the exit code: 1 if any failed, 2 if there was none to test."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("providers", nargs="*", type=str.upper, choices=[*TARGETS, []], metavar="PROVIDER")
    parser.add_argument("--model", help="another model, for all providers named")
    options = parser.parse_args(arguments)
    chosen = [name for name in options.providers or TARGETS if os.environ.get(f"{name}_API_KEY")]
    if not chosen:
        keys = ", ".join(f"{name}_API_KEY" for name in options.providers or TARGETS)
        sys.stderr.write(f"There is no key. Set one or more of {keys}.\n")
        return 2
    return max([_report(name, options.model) for name in chosen])


def _report(name: str, model: str | None) -> int:
    row = TARGETS[name]
    base_url = os.environ.get(f"{name}_BASE_URL") or row.base_url
    target = Target(row.api, row.provider, model or row.model, base_url, row.parameters)
    sys.stdout.write(f"{row.provider}, {target.api}, {target.model}\n")
    result = anyio.run(smoke, target, os.environ[f"{name}_API_KEY"])
    for line in (*result.lines, *(f"  FAILED    {failure}" for failure in result.failures)):
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
    return 1 if result.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
