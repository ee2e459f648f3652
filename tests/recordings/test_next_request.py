"""Send every recording back: the next request holds what its response carried.

The second half compares with the clients that were recorded. They are evidence of what providers took, not
of what is right: each difference is explained in ``next_request_divergences.toml``.
"""

from __future__ import annotations

import re
import tomllib
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import Message, ToolMessage, UserMessage

from agui_reasoning.deltas import Delta, ResponseStart, fold
from agui_reasoning.parts import Origin, Part, ReasoningPart, ToolCallPart, Turn
from agui_reasoning.providers import provider_api
from agui_reasoning.providers.echo import rule_for
from agui_reasoning.request import REQUEST_API_IDS, History, ProviderRequest, build_request
from tests.laws import law
from tests.recordings.test_recordings import ALL as DECODED
from tests.recordings.test_recordings import decode
from tests.support.recordings import EXPECT, dense, load
from tests.support.sdk_types import check_types
from tests.support.validators import (
    check_anthropic,
    check_chat,
    check_deepseek,
    check_gemini,
    check_responses,
)
from tests.support.validators_interactions import check_interactions
from tests.support.validators_native import (
    check_bedrock,
    check_bedrock_unsigned,
    check_cohere,
    check_mistral,
    check_ollama,
)
from tests.support.validators_outputs import check_xai

ALL = [param for param in DECODED if param.values[0] in REQUEST_API_IDS]
DIVERGENCES = Path(__file__).with_name("next_request_divergences.toml")

EVERYTHING = (
    *("reasoning_content", "reasoning", "reasoning_text", "reasoning_details", "extra_content"),
    *("reasoning_opaque", "thinking_blocks", "content_blocks"),
)
NOT_SENT = {"policy", "incomplete", "orphan", "out_of_scope", "missing_signature", "missing_encrypted"}

UNTYPED = {
    "advisor": "blocks that the SDK's types do not name yet",
    "x_search": "items of xAI",
    "custom_tool_call": "xAI reports its own X search in this form",
}


def turns_of(recording: dict[str, Any]) -> list[Turn]:
    """The responses of a recording; a stream may hold several."""
    groups: list[list[Delta]] = []
    for delta in decode(recording):
        if isinstance(delta, ResponseStart) or not groups:
            groups.append([])
        groups[-1].append(delta)
    turns = []
    for group in groups:
        start = group[0] if isinstance(group[0], ResponseStart) else None
        turns.append(Turn(tuple(fold(group)), start.origin if start else None, start.id if start else None))
    return turns


def parts_of(turns: list[Turn]) -> list[Part]:
    return [part for turn in turns for part in turn.parts]


def conversation(turns: list[Turn], *, goes_on: bool = False) -> History:
    """A user's message, the responses with results for their calls, and the user again."""
    items: list[Turn | Message] = [UserMessage(id="u1", content="Go on.")]
    for turn in turns:
        calls = [part for part in turn.parts if isinstance(part, ToolCallPart) and not part.server]
        items += [
            turn,
            *(ToolMessage(id=f"t{n}", tool_call_id=c.id, content="4") for n, c in enumerate(calls)),
        ]
    if goes_on:
        items.append(UserMessage(id="u2", content="And now?"))
    return History(tuple(items))


def request(api: str, recording: dict[str, Any], history: History, **options: Any) -> ProviderRequest:
    quiet: list[str] = []
    return build_request(
        api,
        history,
        provider=recording["provider"],
        model=recording["model"],
        on_warning=quiet.append,
        **options,
    )


NATIVE = {"mistral-chat": check_mistral, "cohere-chat": check_cohere, "ollama": check_ollama}


def check(api: str, provider: str, body: dict[str, Any]) -> list[str]:
    if api == "xai-grpc":
        return check_xai(body)
    if api in NATIVE:
        return NATIVE[api](body)
    if api == "bedrock-converse":
        # Claude's thinking is signed, the other models' is not.
        return check_bedrock(body) and check_bedrock_unsigned(body)
    if api == "anthropic-messages":
        return check_anthropic(body)
    if api == "gemini":
        return check_gemini(body, enforced=False)
    if api == "gemini-interactions":
        return check_interactions(body)
    if api == "openai-responses":
        strict = provider in ("openai", "azure")
        return check_responses(body, strict=strict, any_open_item=provider == "openrouter")
    return check_deepseek(body) if provider == "deepseek" else check_chat(body, fields=EVERYTHING)


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key in sorted(value):
            yield from strings(value[key])
    elif isinstance(value, bytes):
        yield b64encode(value).decode()
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


@law("pairing out")
@pytest.mark.parametrize(("api", "file"), ALL)
def test_what_a_response_carried_is_in_the_next_request(api: str, file: Path) -> None:
    recording = load(file)
    turns = turns_of(recording)
    made = request(api, recording, conversation(turns))
    rule = rule_for(Origin(recording["provider"], api, recording["model"]))

    assert check(api, recording["provider"], made.body) == []
    reasons = {entry.reason for entry in made.report if entry.outcome == "dropped"}
    assert reasons <= (NOT_SENT if rule.echoes else {"policy"})
    expected = EXPECT[api](recording)
    carried = [text for text in strings(made.body) if text in expected.opaque]
    assert list(dict.fromkeys(carried)) == [
        value for value in dict.fromkeys(expected.opaque) if value in carried
    ]
    if not reasons and not cut(turns):
        assert sorted(set(expected.opaque) - set(carried)) == []
        # Gemini's thoughts are for people.
        if not unsigned(turns) and api != "gemini":
            assert dense(expected.reasoning) in dense("".join(texts(api, made.body)))
    if not rule.echoes:
        assert artefacts(thoughts(turns)) & set(carried) == set()


def cut(turns: list[Turn]) -> bool:
    return any(getattr(part, "status", "complete") == "incomplete" for part in parts_of(turns))


def thoughts(turns: list[Turn]) -> list[Part]:
    return [part for part in parts_of(turns) if isinstance(part, ReasoningPart)]


def unsigned(turns: list[Turn]) -> bool:
    """A gateway's text that its upstream did not sign stays here, beside a value that goes."""
    reasoning = [part for part in parts_of(turns) if isinstance(part, ReasoningPart)]
    details = [entry for part in reasoning for entry in (part.ext or {}).get("details", ())]
    signs = any(str(entry.get("format")).startswith(("google-", "anthropic-")) for entry in details)
    signed = any(opaque.kind == "openrouter.signature" for part in reasoning for opaque in part.opaque)
    return signs and not signed


def texts(api: str, body: dict[str, Any]) -> Iterator[str]:
    """The reasoning text in a body, wherever it stands."""
    for entry in body.get("messages") or body.get("input") or ():
        for block in entry["content"] if isinstance(entry.get("content"), list) else ():
            yield _thought(block)
        yield from (part["text"] for part in entry.get("summary") or ())
        details = entry.get("reasoning_details") or ()
        yield from (detail.get("text") or detail.get("summary") or "" for detail in details)
        flat = ("reasoning_content", "reasoning", "thinking", "tool_plan")
        yield "" if details else next((entry[name] for name in flat if entry.get(name)), "")


def _thought(block: dict[str, Any]) -> str:
    """The reasoning text of a block, in the spelling of its API."""
    if "reasoningContent" in block:
        thought: str = block["reasoningContent"].get("reasoningText", {}).get("text", "")
        return thought
    thinking = block.get("thinking") or ""
    if isinstance(thinking, list):
        return "".join(part["text"] for part in thinking)
    tagged = re.search("<thinking>(.*?)</thinking>", block.get("text", ""), re.DOTALL)
    if tagged:
        return tagged[1]
    return thinking or (block["text"] if block.get("type") == "reasoning_text" else "")


@pytest.mark.parametrize(("api", "file"), ALL)
def test_the_request_is_what_the_official_sdk_takes(api: str, file: Path) -> None:
    recording = load(file)
    body = request(api, recording, conversation(turns_of(recording))).body
    fault = check_types(api, body)
    if fault:
        kinds = set(strings(body))
        assert [kind for kind in kinds if any(name in kind for name in UNTYPED)], fault


# -- what the recorded client sent


def follow_ups() -> list[Any]:
    found = []
    for param in ALL:
        api, file = param.values
        if file is None or not comparable(api, load(file)):
            continue
        found.append(param)
    return found


def comparable(api: str, recording: dict[str, Any]) -> bool:
    """The client went on with the same API."""
    following = recording.get("next_request") or {}
    fields = {"openai-responses": "input", "gemini-interactions": "input", "gemini": "contents"}
    field = fields.get(api, "messages")
    other = "inferenceConfig" in following and api != "bedrock-converse"
    return isinstance(following.get(field), list) and not other


def goes_on(following: dict[str, Any]) -> bool:
    """The user spoke last."""
    last = (following.get("messages") or following.get("contents") or following["input"])[-1]
    content = last.get("content")
    if "parts" in last:
        return last.get("role") == "user" and all("functionResponse" not in part for part in last["parts"])
    results = isinstance(content, list) and any(block.get("type") == "tool_result" for block in content)
    return last.get("role") in ("user", "ROLE_USER") and not results


def artefacts(parts: list[Part]) -> set[str]:
    """Values, and the texts of reasoning."""
    found = {opaque.value for part in parts for opaque in getattr(part, "opaque", ())}
    for part in parts:
        if isinstance(part, ReasoningPart):
            found |= {part.text, *(segment.text for segment in part.segments)}
    return {text for text in found if text.strip()}


def carried(value: Any, known: set[str]) -> list[frozenset[str]]:
    """The artefacts in a body: in the order of its lists, the fields of one object together."""
    if isinstance(value, list):
        return [found for inner in value for found in carried(inner, known)]
    if not isinstance(value, dict):
        return []
    texts = [text for inner in value.values() if isinstance(text := _text_of(inner), str)]
    here = frozenset(a for text in texts for a in known if _holds(text, a))
    nested = [found for key in sorted(value) for found in carried(value[key], known)]
    return [here, *nested] if here else nested


def _text_of(value: Any) -> Any:
    """A blob as it is recorded: base64."""
    return b64encode(value).decode("ascii") if isinstance(value, bytes) else value


def _holds(text: str, artefact: str) -> bool:
    return text == artefact or ("<think" in text and artefact.strip() in text)


def first_of_each(found: list[frozenset[str]]) -> list[frozenset[str]]:
    seen: set[str] = set()
    kept = []
    for group in found:
        if fresh := group - seen:
            kept.append(fresh)
            seen |= fresh
    return kept


def explained() -> dict[str, str]:
    rows = tomllib.loads(DIVERGENCES.read_text(encoding="utf-8"))["divergence"]
    return {name: row["reason"] for row in rows for name in row["recordings"]}


def differs(api: str, recording: dict[str, Any]) -> bool:
    following = recording["next_request"]
    turns = turns_of(recording)
    # The client asked for preserved thinking, which is what the flags are for.
    options: dict[str, Any] = {"apply_flags": api == "openai-chat" and "thinking" in following}
    spec = provider_api(api)
    if spec.stores:
        options["store"] = following.get("store")
        if following.get(spec.previous_id) in [turn.id for turn in turns]:
            options["previous_response_id"] = following[spec.previous_id]
    ours = request(api, recording, conversation(turns, goes_on=goes_on(following)), **options)
    known = artefacts(parts_of(turns))
    theirs = first_of_each(carried(following, known))
    return first_of_each(carried(ours.body, known)) != theirs


@pytest.mark.parametrize(("api", "file"), follow_ups())
def test_our_request_carries_what_the_recorded_client_sent(api: str, file: Path) -> None:
    assert differs(api, load(file)) == (file.stem in explained())


@pytest.mark.slow  # it looks at every recording
def test_every_explanation_is_of_a_recording_and_says_why() -> None:
    names = {param.values[1].stem for param in follow_ups()}
    if names:
        assert [name for name in explained() if name not in names] == []
    assert all(explained().values())
