"""Rebuild the requests that providers refused to users, and check what is sent instead.

Each pain has a number, that of its entry in the catalogue of what breaks for users. For each, the history is
built as a client would hold it: produced by our run where the pain is about producing, or as it was found in
the wild where it is about restoring. The *naive* request, which converters make of it, is refused by the
provider's rules; the request of `build_request` is not, and still has what the provider must get.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from agui_reasoning import Run, build_request, reduce_events, restore
from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
)
from agui_reasoning.parts import Opaque, Origin
from agui_reasoning.providers import decoder
from agui_reasoning.testing import FRONT_ENDS
from tests.support.dialects import DIALECTS
from tests.support.loop import Client
from tests.support.recordings import FOLDER
from tests.support.sdk_types import check_types
from tests.support.validators import (
    THINKING,
    check_anthropic,
    check_chat,
    check_deepseek,
    check_gemini_chat,
    check_kimi,
    check_responses,
)

Json = dict[str, Any]
Messages = list[Json]
Check = Callable[[Json], list[str]]

QUESTION: Json = {"id": "u1", "role": "user", "content": "Weather in Oslo?"}
GO_ON: Json = {"id": "u2", "role": "user", "content": "Go on."}
FOUND: Json = {"id": "t1", "role": "tool", "toolCallId": "call_1", "content": "4C"}
ARGUMENTS = '{"city":"Oslo"}'

CLAUDE = Origin("anthropic", "anthropic-messages", "claude-sonnet-4-5")
LOOKALIKE = Origin("deepseek", "anthropic-messages", "deepseek-v4-pro")
GPT = Origin("openai", "openai-responses", "gpt-5.6")
AZURE = Origin("azure", "openai-responses", "gpt-5.6")
GEMINI = Origin("google", "openai-chat", "gemini-3-pro")
DEEPSEEK = Origin("deepseek", "openai-chat", "deepseek-v4-pro")
KIMI = Origin("moonshot", "openai-chat", "kimi-k2.6")
GROQ = Origin("groq", "openai-chat", "llama-4")
MISTRAL = Origin("mistral", "openai-chat", "mistral-large")


# -- what the client holds


def produced(*deltas: Delta, end: str = "finish", then: Messages | None = None) -> Messages:
    """The history after a run of ours."""
    run = Run({"threadId": "t", "runId": "r", "messages": [QUESTION]}, on_warning=lambda text: None)
    events = run.start()
    for delta in deltas:
        events += run.receive(delta)
    events += {"finish": run.finish, "cancel": run.cancel, "fail": lambda: run.fail("No.")}[end]()
    held = [m.model_dump(mode="json", by_alias=True, exclude_none=True) for m in reduce_events(events)]
    return [QUESTION, *held, *([FOUND] if then is None else then)]


def decoded(origin: Origin, *payloads: Json) -> list[Delta]:
    """What a decoder gives for a stream, cut where it is cut."""
    machine = decoder(origin.api or "", provider=origin.provider, model=origin.model)
    return [delta for payload in payloads for delta in machine.receive(payload)]


def thinking(origin: Origin, *signatures: str, kind: str = "anthropic.signature") -> list[Delta]:
    """Thoughts with a value each, and a call."""
    deltas: list[Delta] = [ResponseStart(origin, id="resp_1")]
    for number, signature in enumerate(signatures, 1):
        item_id = f"rs_{number}" if origin.api == "openai-responses" else None
        opaque = Opaque(kind, signature)
        deltas += [
            ReasoningDelta(f"Thought {number}.", key=str(number), channel=channel(origin), item_id=item_id),
            OpaqueDelta(opaque, key=str(number)),
            CloseDelta(key=str(number)),
        ]
    return [*deltas, *calling(origin)]


def channel(origin: Origin) -> Any:
    return "summary" if origin.api == "openai-responses" else "text"


def calling(origin: Origin) -> list[Delta]:
    ext = {"id": "fc_1"} if origin.api == "openai-responses" else None
    return [ToolCallDelta("call_1", "weather", ARGUMENTS, ext=ext), FinishDelta("tool_calls")]


def thinking_aloud(origin: Origin) -> list[Delta]:
    """A flat API that shows its reasoning in a field."""
    thought = ReasoningDelta("Thought 1.", key="r", ext={"field": "reasoning_content"})
    return [ResponseStart(origin), thought, CloseDelta(key="r"), *calling(origin)]


# -- what converters make of it

USER: Json = {"role": "user", "content": [{"type": "text", "text": "Weather in Oslo?"}]}
TOOL_USE: Json = {"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Oslo"}}
TOOL_RESULT: Json = {"type": "tool_result", "tool_use_id": "call_1", "content": "4C"}


def claude(*blocks: Json, last: Json = TOOL_RESULT) -> Json:
    """A tool loop of Anthropic's, with these blocks of the assistant."""
    return {
        "messages": [USER, {"role": "assistant", "content": [*blocks]}, {"role": "user", "content": [last]}]
    }


def block(signature: str, text: str = "Thought 1.") -> Json:
    return {"type": "thinking", "thinking": text, "signature": signature}


ASKED: Json = {"role": "user", "content": "Weather in Oslo?"}
FUNCTION_CALL: Json = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "weather",
    "arguments": ARGUMENTS,
}
OUTPUT: Json = {"type": "function_call_output", "call_id": "call_1", "output": "4C"}


def gpt(*items: Json, **fields: Any) -> Json:
    return {"input": [ASKED, *items], **fields}


def item(number: int, **more: Any) -> Json:
    summary = [{"type": "summary_text", "text": f"Thought {number}."}]
    return {"type": "reasoning", "id": f"rs_{number}", "summary": summary, **more}


def chat(**fields: Any) -> Json:
    function = {"name": "weather", "arguments": ARGUMENTS}
    call = {"id": "call_1", "type": "function", "function": function}
    assistant = {"role": "assistant", "content": None, "tool_calls": [call], **fields}
    return {"messages": [ASKED, assistant, {"role": "tool", "tool_call_id": "call_1", "content": "4C"}]}


# -- what providers refuse, beyond the validators


def check_manual_thinking(body: Json) -> list[str]:
    """Claude up to 4.5, thinking on: a tool loop begins with a thinking block."""
    faults = check_anthropic(body)
    last = next((m for m in reversed(body["messages"]) if m["role"] == "assistant"), None)
    kinds = [b["type"] for b in last["content"]] if last else []
    if "tool_use" in kinds and kinds[0] not in THINKING:
        faults.append(f"Expected `thinking` or `redacted_thinking`, but found `{kinds[0]}`")
    return faults


def made(*blocks: Json) -> Check:
    """Anthropic takes the thinking that it made, and no other."""
    return lambda body: check_anthropic(body, produced=blocks)


def check_verified(body: Json) -> list[str]:
    """OpenAI decrypts what was encrypted for this organization, and nothing else."""
    return check_responses(body) + [
        "The encrypted content for item could not be verified"
        for entry in body["input"]
        if entry.get("type") == "reasoning" and entry.get("encrypted_content") not in ("gAAAA-own", None)
    ]


def check_bound(body: Json) -> list[str]:
    """OpenAI's server knows which reasoning led to the call."""
    return check_responses(body, bound={"fc_1": "rs_1"})


# -- the table


@dataclass(frozen=True)
class Pain:
    """What was refused.

    Attributes:
        number: Its number in the catalogue.
        target: Who gets the request.
        history: What the client holds.
        naive: What converters send.
        words: What the provider says to that.
        check: What the provider refuses.
        carries: What our request must have all the same, in order.
        options: Of `build_request`.
    """

    number: int
    name: str
    target: Origin
    history: Callable[[], Messages]
    naive: Json
    words: str
    check: Check
    carries: tuple[str, ...] = ()
    options: Json = field(default_factory=dict)


def without_reasoning(messages: Messages) -> Messages:
    """A client that keeps no reasoning messages, as clients before 1.0."""
    return [message for message in messages if message["role"] != "reasoning"]


def answer_replaced(messages: Messages) -> Messages:
    return [m | {"content": "It is 42."} if m.get("content") == "Four degrees." else m for m in messages]


def in_pydantic_ai(messages: Messages) -> Messages:
    """The value that another producer wrote for its reasoning: the id alone, nothing encrypted."""
    value = json.dumps({"id": "rs_1", "signature": None, "provider_name": "openai"})
    return [m | {"encryptedValue": value} if m["role"] == "reasoning" else m for m in messages]


INTERRUPTED = [
    {
        "type": "message_start",
        "message": {"id": "msg_1", "model": "claude-sonnet-4-5", "usage": {"input_tokens": 1}},
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "thinking_delta", "thinking": "Thought 1."},
    },
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "SIG-ha"}},
]

TWO_BLOCKS = [
    INTERRUPTED[0],
    *(
        event
        for index in (0, 1)
        for event in (
            {
                "type": "content_block_start",
                "index": index,
                "content_block": {"type": "thinking", "thinking": ""},
            },
            {
                "type": "content_block_delta",
                "index": index,
                "delta": {"type": "thinking_delta", "thinking": f"Thought {index + 1}."},
            },
            {
                "type": "content_block_delta",
                "index": index,
                "delta": {"type": "signature_delta", "signature": f"SIG-{index + 1}"},
            },
            {"type": "content_block_stop", "index": index},
        )
    ),
]

ANSWERED: list[Delta] = [
    ResponseStart(GPT, id="resp_1"),
    ReasoningDelta("Thought 1.", key="1", channel="summary", item_id="rs_1"),
    OpaqueDelta(Opaque("openai.encrypted_content", "gAAAA-own"), key="1"),
    CloseDelta(key="1"),
    TextDelta("Four degrees.", ext={"id": "msg_1"}),
    FinishDelta("stop"),
]

SIGNED_CALL: Json = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "weather", "arguments": ARGUMENTS},
    "extra_content": {"google": {"thought_signature": "c2ln"}},
}


def completed(model: str | None, delta: Json, reason: str | None = None) -> Json:
    return {"id": "gen_1", "model": model, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


PAINS = [
    Pain(
        1,
        "the signature is lost, and the block with it",
        CLAUDE,
        lambda: produced(*thinking(CLAUDE, "SIG-1")),
        claude(TOOL_USE),
        "Expected `thinking` or `redacted_thinking`, but found `tool_use`",
        check_manual_thinking,
        ("Thought 1.", "SIG-1"),
    ),
    Pain(
        1,
        "the signature is lost, and the text is kept",
        CLAUDE,
        lambda: produced(*thinking(CLAUDE, "SIG-1")),
        claude(block(""), TOOL_USE),
        "signature: Field required",
        check_anthropic,
        ("Thought 1.", "SIG-1"),
    ),
    Pain(
        2,
        "the signature sat on the call",
        GEMINI,
        lambda: produced(
            *decoded(
                GEMINI,
                completed(GEMINI.model, {"role": "assistant", "tool_calls": [{"index": 0, **SIGNED_CALL}]}),
                completed(GEMINI.model, {}, "tool_calls"),
            )
        ),
        chat(),
        "Function call is missing a thought_signature",
        check_gemini_chat,
        ("c2ln",),
    ),
    Pain(
        3,
        "DeepSeek wants its reasoning back",
        DEEPSEEK,
        lambda: produced(*thinking_aloud(DEEPSEEK)),
        chat(),
        "`reasoning_content` in the thinking mode must be passed back",
        check_deepseek,
        ("Thought 1.",),
    ),
    Pain(
        3,
        "Kimi wants its reasoning back, and takes no empty one",
        KIMI,
        lambda: produced(*thinking_aloud(KIMI)),
        chat(reasoning_content=""),
        "reasoning_content is missing in assistant tool call message",
        check_kimi,
        ("Thought 1.",),
    ),
    Pain(
        4,
        "Groq refuses the field",
        GROQ,
        lambda: produced(*thinking_aloud(GROQ)),
        chat(reasoning_content="Thought 1."),
        "property 'reasoning_content' is unsupported",
        lambda body: check_chat(body, fields=["reasoning"]),
        (),
    ),
    Pain(
        4,
        "Mistral refuses what DeepSeek required",
        MISTRAL,
        lambda: produced(*thinking_aloud(DEEPSEEK)),
        chat(reasoning_content="Thought 1."),
        "property 'reasoning_content' is unsupported",
        check_chat,
    ),
    Pain(
        5,
        "a stream that was cut leaves reasoning without its follower",
        GPT,
        lambda: produced(
            *thinking(GPT, "gAAAA-own", kind="openai.encrypted_content")[:4], end="cancel", then=[GO_ON]
        ),
        gpt(item(1, encrypted_content="gAAAA-own"), {"role": "user", "content": "Go on."}),
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
        check_responses,
    ),
    Pain(
        5,
        "an answer that was edited is not what the reasoning led to",
        GPT,
        lambda: answer_replaced(produced(*ANSWERED, then=[GO_ON])),
        gpt(
            item(1, encrypted_content="gAAAA-own"),
            {"role": "assistant", "content": "It is 42."},
            {"role": "user", "content": "Go on."},
        ),
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
        check_responses,
        ("It is 42.",),
    ),
    Pain(
        5,
        "a call outlives the reasoning that led to it",
        GPT,
        lambda: without_reasoning(produced(*thinking(GPT, "gAAAA-own", kind="openai.encrypted_content"))),
        gpt(FUNCTION_CALL, OUTPUT),
        "was provided without its required 'reasoning' item: 'rs_1'.",
        check_bound,
        ("call_1", "4C"),
    ),
    Pain(
        6,
        "the signatures of two blocks run together",
        CLAUDE,
        lambda: produced(*decoded(CLAUDE, *TWO_BLOCKS), *calling(CLAUDE)),
        claude(block("SIG-1"), block("SIG-1SIG-2", "Thought 2."), TOOL_USE),
        "Invalid `signature` in `thinking` block",
        made(block("SIG-1"), block("SIG-2", "Thought 2.")),
        ("Thought 1.", "SIG-1", "Thought 2.", "SIG-2"),
    ),
    Pain(
        6,
        "a client merged two blocks into one",
        CLAUDE,
        lambda: FRONT_ENDS["tanstack"](produced(*thinking(CLAUDE, "SIG-1", "SIG-2"))),
        claude(block("SIG-2", "Thought 1.Thought 2."), TOOL_USE),
        "Invalid `signature` in `thinking` block",
        made(block("SIG-1"), block("SIG-2", "Thought 2.")),
    ),
    Pain(
        7,
        "a thought that was interrupted has half a signature",
        CLAUDE,
        lambda: produced(*decoded(CLAUDE, *INTERRUPTED), end="cancel", then=[GO_ON]),
        claude(block("SIG-ha"), {"type": "text", "text": "Hm."}, last={"type": "text", "text": "Go on."}),
        "Invalid `signature` in `thinking` block",
        made(block("SIG-half")),
    ),
    Pain(
        7,
        "a thought that was interrupted has no signature",
        CLAUDE,
        lambda: produced(*decoded(CLAUDE, *INTERRUPTED[:3]), end="fail", then=[GO_ON]),
        claude(block(""), last={"type": "text", "text": "Go on."}),
        "signature: Field required",
        check_anthropic,
    ),
    Pain(
        8,
        "another provider of the same API signed it",
        CLAUDE,
        lambda: produced(*thinking(LOOKALIKE, "SIG-1")),
        claude(block("SIG-1"), TOOL_USE),
        "Invalid `signature` in `thinking` block",
        made(),
        ("call_1", "4C"),
    ),
    Pain(
        8,
        "another API thought it",
        CLAUDE,
        lambda: produced(*thinking(GPT, "gAAAA-own", kind="openai.encrypted_content")),
        claude(block("gAAAA-own"), TOOL_USE),
        "Invalid `signature` in `thinking` block",
        made(),
        ("call_1", "4C"),
    ),
    Pain(
        9,
        "it was encrypted for another organization",
        GPT,
        lambda: produced(*thinking(AZURE, "gAAAA-azure", kind="openai.encrypted_content")),
        gpt(item(1, encrypted_content="gAAAA-azure"), FUNCTION_CALL, OUTPUT),
        "could not be verified",
        check_verified,
        ("call_1", "4C"),
    ),
    Pain(
        11,
        "nothing is stored, and the id was kept",
        GPT,
        lambda: in_pydantic_ai(produced(*thinking(GPT, "gAAAA-own", kind="openai.encrypted_content"))),
        gpt(item(1), FUNCTION_CALL, OUTPUT, store=False),
        "Items are not persisted when `store` is set to false.",
        check_responses,
        ("call_1", "4C"),
        {"store": False},
    ),
    Pain(
        11,
        "nothing is stored, and it was encrypted",
        GPT,
        lambda: produced(*thinking(GPT, "gAAAA-own", kind="openai.encrypted_content")),
        gpt({"type": "item_reference", "id": "rs_1"}, FUNCTION_CALL, OUTPUT, store=False),
        "Item with id 'rs_1' not found.",
        check_responses,
        ("gAAAA-own", "call_1", "4C"),
        {"store": False},
    ),
]

pains = pytest.mark.parametrize("pain", PAINS, ids=[f"{pain.number}-{pain.name}" for pain in PAINS])


def request(pain: Pain, history: Messages) -> Json:
    target = pain.target
    return build_request(
        target.api or "",
        history,
        provider=target.provider,
        model=target.model,
        on_warning=lambda text: None,
        **pain.options,
    ).body


def strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in strings(each)]


@pains
def test_what_converters_send_is_refused(pain: Pain) -> None:
    assert any(pain.words in fault for fault in pain.check(pain.naive)), pain.check(pain.naive)


@pains
def test_what_we_send_is_taken_and_has_what_it_needs(pain: Pain) -> None:
    body = request(pain, pain.history())
    assert pain.check(body) == []
    assert check_types(pain.target.api or "", body) == ""
    found = iter(strings(body))
    assert [text for text in pain.carries if text not in found] == []


@pains
@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_what_we_send_is_taken_whatever_showed_it(pain: Pain, front_end: str) -> None:
    body = request(pain, FRONT_ENDS[front_end](pain.history()))
    assert pain.check(body) == []
    found = iter(strings(body))
    if front_end != "tanstack":
        assert [text for text in pain.carries if text not in found] == []


def test_every_pain_has_its_place() -> None:
    elsewhere = {10}  # Below: it takes a server that remembers.
    assert {pain.number for pain in PAINS} | elsewhere == set(range(1, 12))


# -- 9, when the organization cannot be told from the origin: a history that is refused again and again


def test_9_a_poisoned_history_goes_on_without_its_values() -> None:
    history = produced(*thinking(GPT, "gAAAA-other-org", kind="openai.encrypted_content"))
    target = {"api": "openai-responses", "provider": "openai", "model": "gpt-5.6"}
    poisoned = build_request(history_or_messages=history, **target).body
    assert any("could not be verified" in fault for fault in check_verified(poisoned))
    clean = build_request(
        history_or_messages=restore(history).strip_opaque(), store=False, on_warning=lambda t: None, **target
    ).body
    assert check_verified(clean) == []
    assert [text for text in ("call_1", "4C") if text not in strings(clean)] == []


# -- 10, blocks that are bound to everything before them


class BindingServer:
    """Anthropic's newest models: a block is taken only behind what it was made behind."""

    def __init__(self) -> None:
        self.prefixes: dict[str, str] = {}

    def made(self, body: Json, *blocks: Json) -> None:
        """Remember what stood before each block of a response."""
        content: list[Json] = []
        for one in blocks:
            if one["type"] in THINKING:
                self.prefixes[self._value(one)] = self._prefix(body["messages"], content)
            content.append(one)

    def check(self, body: Json) -> list[str]:
        faults = []
        for number, message in enumerate(body["messages"]):
            for place, one in enumerate(message["content"]):
                if one["type"] in THINKING:
                    prefix = self._prefix(body["messages"][:number], message["content"][:place])
                    if self.prefixes.get(self._value(one)) != prefix:
                        faults.append("The block is bound to a different conversation.")
        return faults

    def _value(self, one: Json) -> str:
        return str(one.get("signature") or one["data"])

    def _prefix(self, messages: list[Json], content: list[Json]) -> str:
        return json.dumps([messages, content], sort_keys=True)


@pytest.mark.parametrize("returns", ["as it is", "copilotkit", "assistant-ui"])
def test_10_what_was_sent_is_sent_again_byte_for_byte(returns: str) -> None:
    """Over several responses and runs, a regeneration and an edit."""
    dialect = DIALECTS["anthropic-messages"]
    think, say, call = dialect.think, dialect.say, dialect.call
    server, client = BindingServer(), Client(dialect, returns).ask("Weather?")

    def answers(*parts: Any) -> None:
        body = client.request()
        assert server.check(body) == []
        [written] = dialect.body([("model", parts)])["messages"]
        server.made(body, *written["content"])
        client.hears(*parts)

    answers(think(1), call("c1"), think(4), call("c2"))
    client.runs_tools(c2="rain", c1="4C")
    answers(think(2), call("c3"))
    client.ends().answer(c3="wind").ask()
    answers(think(3), say("A coat."))
    client.ends().ask("And tomorrow?")
    answers(think(5), say("A hat."))
    client.ends().forget(client.places("user")[-1] + 1).ask()
    answers(think(7), say("Nothing."))
    client.ends().forget(client.places("user")[-1]).ask("And in Rome?")
    body = client.request()
    assert server.check(body) == []
    assert [text for text in ("SIG-1", "SIG-4", "SIG-2", "DATA-3") if text not in strings(body)] == []

    naive = copy.deepcopy(body)
    naive["messages"][1]["content"].pop(0)
    assert "The block is bound to a different conversation." in server.check(naive)


def test_10_when_history_was_trimmed_the_request_says_what_to_do() -> None:
    """Nothing can make the blocks fit again: the flag has them dropped, and not the request."""
    made_request = build_request(
        "anthropic-messages",
        produced(*thinking(CLAUDE, "SIG-1")),
        provider="anthropic",
        model="claude-opus-5-5",
        apply_flags=True,
    )
    binding = made_request.body["thinking"]["block_binding"]
    assert binding == {"prefix_mismatch_behavior": "drop_block"}
    assert "extra_headers" in made_request.body


# -- what was recorded


def rejections() -> list[Any]:
    file = FOLDER / "rejections.json"
    if not file.exists():
        skip = pytest.mark.skip(reason=f"no recordings at {FOLDER}; set AGUI_REASONING_SHARED")
        return [pytest.param(None, id="absent", marks=skip)]
    return [pytest.param(row, id=row["source"]) for row in json.loads(file.read_text(encoding="utf-8"))]


def refused(row: Json, body: Json) -> list[str]:
    """What the provider has against a body."""
    if row["api"] == "openai-responses":
        return check_responses(body)
    forced = body.get("tool_choice") not in (None, "auto", "none")
    return check_deepseek(body) + (["Thinking mode does not support this tool_choice"] if forced else [])


def as_history(request_body: Json) -> Messages:
    """The conversation of a recorded request, as a client of ours would hold it."""
    said = request_body.get("messages") or request_body["input"]
    texts = [entry for entry in said if entry.get("type") != "reasoning"]
    messages = [{"id": f"m{n}", "role": e["role"], "content": str(e["content"])} for n, e in enumerate(texts)]
    [reasoning] = [entry for entry in said if entry.get("type") == "reasoning"] or [None]
    if reasoning is None:
        return messages
    deltas: list[Delta] = [
        ResponseStart(GPT, id="resp_1"),
        ReasoningDelta(reasoning["summary"][0]["text"], channel="summary", item_id=reasoning["id"], key="1"),
        OpaqueDelta(Opaque("openai.encrypted_content", reasoning["encrypted_content"]), key="1"),
        CloseDelta(key="1"),
        TextDelta("What the model had said.", ext={"id": "msg_1"}),
    ]
    held = produced(*deltas, then=[])[1:]
    # The user put other words into the model's mouth.
    held[-1] |= {"content": messages[1]["content"]}
    return [messages[0], *held, *messages[2:]]


@pytest.mark.parametrize("row", rejections())
def test_what_was_refused_in_a_recording_is_taken_from_us(row: Json) -> None:
    assert refused(row, row["request"]) == [row["response"]["error"]["message"]]
    body = build_request(
        row["api"],
        as_history(row["request"]),
        provider=row["provider"],
        model=row["request"]["model"],
        on_warning=lambda text: None,
    ).body
    assert refused(row, body) == []
    said = row["request"].get("messages") or row["request"]["input"]
    expected = [str(entry["content"]) for entry in said if entry.get("role")]
    assert [text for text in expected if text not in strings(body)] == []
