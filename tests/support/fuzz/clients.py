"""What clients and agents send: events, messages, values, tokens, patches and inputs."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import cache, partial
from typing import Any

from agui_reasoning import (
    AGUIReasoningError,
    Conversation,
    Emitter,
    Run,
    build_request,
    check_events,
    compact,
    erase_reasoning,
    reduce_events,
    restore,
)
from agui_reasoning.compat import ThinkingDowngrader, ThinkingUpgrader
from agui_reasoning.crypto import Binding, looks_like_token, rekey_messages
from agui_reasoning.wire import SSEEncoder
from tests.internals import fast_path
from tests.support.consumed import assert_same_without_fast_path
from tests.support.fuzz.inputs import KEYS, OWN, REST, exchanges, ignore, new_run, streamed, threads
from tests.support.fuzz.mutator import OTHERS, Json, Mutator
from tests.support.fuzz.target import Case, DifferenceError, Target, chosen

__all__ = ["TARGETS", "requested"]

PROVIDERS = (
    ("anthropic-messages", "anthropic"),
    ("openai-responses", "openai"),
    ("openai-chat", "openrouter"),
    ("openai-chat", "deepseek"),
    ("openai-chat", "zai"),
    ("openai-chat", "google"),
    ("gemini", "google"),
    ("gemini-interactions", "google"),
    ("bedrock-converse", "bedrock"),
    ("mistral-chat", "mistral"),
    ("cohere-chat", "cohere"),
    ("ollama", "ollama"),
    ("xai-grpc", "xai"),
    ("litellm", "anthropic"),
    ("litellm", "openai"),
)


def requested(number: int, messages: Any, **options: Any) -> None:
    """Restore, and build two requests; a body must be JSON in UTF-8."""
    history = restore(messages, **options)
    for api, provider in (PROVIDERS[number % len(PROVIDERS)], PROVIDERS[number // 3 % len(PROVIDERS)]):
        request = build_request(api, history, provider=provider, model="some-model", on_warning=ignore)
        json.dumps(request.body, ensure_ascii=False, allow_nan=False).encode()
    history.trim(keep_turns=1).strip_opaque()


# -- events


def _some_events(chance: random.Random, mutator: Mutator) -> list[Any]:
    """The beginning and the end of a run, and some of its middle; some changed, in place or repeated."""
    events = chance.choice(threads()).events
    place = chance.randrange(len(events))
    stretch = [*events[: min(place, 4)], *events[max(4, place) : place + 12], *events[-3:]]
    for _ in range(chance.choice((1, 1, 2))):
        at = chance.randrange(len(stretch))
        stretch[at : at + chance.randrange(2)] = [mutator.some(stretch[at])]
    return stretch


def _draw_events(chance: random.Random, mutator: Mutator) -> Case:
    return Case(_some_events(chance, mutator), chance.randrange(1 << 10))


def _conversation(case: Case) -> None:
    """Receive everything, with and without the fast path, whatever is refused on the way."""
    chosen(
        case,
        lambda: _consumed(case.given),
        lambda: assert_same_without_fast_path(case.given),
    )


def _consumed(events: Sequence[Any]) -> None:
    """Go on with what is held, and store it."""
    conversation = Conversation(on_warning=ignore)
    for step in (*(partial(conversation.receive, event) for event in events), conversation.end_of_stream):
        with suppress(AGUIReasoningError):
            step()
    _ = conversation.messages, conversation.state, conversation.pending_calls, conversation.interrupts
    with suppress(AGUIReasoningError):
        stored = Conversation.from_json(conversation.to_json(), on_warning=ignore)
        if repr(stored.messages) != repr(conversation.messages):
            raise DifferenceError("a stored conversation is another one")
    conversation.run_input("Next.").model_dump_json(by_alias=True)


def _events(case: Case) -> None:
    """Check, merge, reduce, upgrade and downgrade."""
    events = case.given
    chosen(
        case,
        lambda: check_events(events),
        lambda: compact(events, on_warning=ignore),
        lambda: requested(case.options, reduce_events(events)),
        lambda: _translated(ThinkingUpgrader(ignore), events),
        lambda: _translated(ThinkingDowngrader(on_warning=ignore), events),
        lambda: _translated(ThinkingDowngrader("0.0.38", on_warning=ignore), events),
    )


def _translated(translator: Any, events: Sequence[Any]) -> None:
    for event in events:
        with suppress(AGUIReasoningError):
            translator.receive(event)
    translator.close()


def _draw_patches(chance: random.Random, _: Mutator) -> Case:
    mutator = Mutator(chance, OTHERS)
    verbs = "add", "remove", "replace", "move", "copy", "test"
    patches: list[Any] = []
    for _ in range(8):
        path, origin = (chance.choice(POINTERS) + chance.choice(POINTERS) for _ in range(2))
        operation = {"path": path, "from": origin, "value": chance.choice(OTHERS)}
        patches.append([{"op": chance.choice(verbs), **operation}])
        patches[-1] = mutator.some(patches[-1]) if chance.random() < 0.6 else patches[-1]
    return Case(patches)


POINTERS = ("", "", "/a", "/a/0", "/a/1/b", "/a/-", "/", "//~0", "/~2", "/a/01", "/a/99", "/new", "/a/1", "b")


def _patches(case: Case) -> None:
    """Patch the state, whatever the operations are; a patch that fails changes nothing."""
    conversation = Conversation(on_warning=ignore)
    started: Json = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
    conversation.receive(started)
    conversation.receive({"type": "STATE_SNAPSHOT", "snapshot": {"a": [1, {"b": "c"}], "": {"~": 0}}})
    for patch in case.given:
        before = deepcopy(conversation.state)
        with suppress(AGUIReasoningError):
            conversation.receive({"type": "STATE_DELTA", "delta": patch})
            before = deepcopy(conversation.state)
        if conversation.state != before:
            raise DifferenceError("a patch that failed has changed the state")
        if conversation.status == "failed":
            conversation.receive(started)


# -- messages and their values


def _draw_messages(chance: random.Random, mutator: Mutator) -> Case:
    messages: Any = mutator.some(list(chance.choice(threads()).messages))
    if chance.random() < 0.3 and isinstance(messages, list):
        messages = [_reopened(mutator, message) for message in messages]
    return Case(messages, chance.randrange(1 << 12))


def _draw_envelopes(chance: random.Random, mutator: Mutator) -> Case:
    messages = list(chance.choice(_plain_threads()).messages)
    return Case([_reopened(mutator, message) for message in messages], chance.randrange(1 << 12))


@cache
def _plain_threads() -> Sequence[Any]:
    return [thread for thread in threads() if thread.is_plain]


@cache
def _sealed_threads() -> Sequence[Any]:
    return [thread for thread in threads() if not thread.is_plain]


def _reopened(mutator: Mutator, message: Any) -> Any:
    """Mutate the content of a plain value."""
    value = message.get("encryptedValue") if isinstance(message, dict) else None
    if not isinstance(value, str) or not value.startswith("{"):
        return message
    try:
        return {
            **message,
            "encryptedValue": json.dumps(mutator.once(json.loads(value)), separators=(",", ":")),
        }
    except (TypeError, ValueError, RecursionError):
        return message  # no envelope can be that


def _restore(case: Case) -> None:
    """Messages come back from a client."""
    messages = case.given
    listed = messages if isinstance(messages, list) else []
    number = case.options // 5
    exchange = exchanges()[number % len(exchanges())]
    sealed: Json = {"keys": KEYS, "thread_id": "t", "accept_plain": True, "assume_provider": "openai"}
    chosen(
        case,
        lambda: requested(number, messages),
        lambda: requested(number, messages, **sealed),
        lambda: erase_reasoning(listed),
        lambda: new_run(exchange, listed).request(),
        lambda: Conversation("t", messages=listed, on_warning=ignore).run_input("So?"),
    )


def _draw_tokens(chance: random.Random, mutator: Mutator) -> Case:
    thread = chance.choice(_sealed_threads())
    tokens = [message["encryptedValue"] for message in thread.messages if "encryptedValue" in message]
    token = chance.choice(tokens or ["a.b.c.d.e"])
    changed = mutator.bytes(token.encode()).decode("utf-8", "surrogateescape")
    return Case(changed, chance.randrange(1 << 8), token)


def _token(case: Case) -> None:
    """Return an encrypted value that was changed: it must not open."""
    text = case.given
    if text != case.of:
        with suppress(AGUIReasoningError):
            KEYS.decrypt(text, Binding("t"))
            raise DifferenceError("a changed token opens")
    thought = {"id": "r", "role": "reasoning", "content": "Hm.", "encryptedValue": text}
    chosen(
        case,
        lambda: looks_like_token(text),
        lambda: KEYS.needs_rekey(text),
        lambda: KEYS.rekey(text, Binding("t")),
        lambda: rekey_messages([thought], KEYS, thread_id="t"),
        lambda: requested(case.options, [thought], keys=KEYS, thread_id="t"),
    )


# -- inputs of runs, and items of agents


def _draw_inputs(chance: random.Random, mutator: Mutator) -> Case:
    mutator.is_json = True
    thread = chance.choice(threads())
    given = {
        **{"threadId": "t", "runId": "r", "parentRunId": "q", "protocolVersion": "1.0", **REST},
        "messages": list(thread.messages),
        "tools": [{"name": "look", "description": "Look.", "parameters": {"type": "object"}}],
        "context": [{"description": "Where", "value": "Here."}],
        "state": {"a": [1]},
        "resume": [{"interruptId": "i", "status": "resolved", "payload": {"approved": True}}],
    }
    return Case(mutator.some(given), chance.randrange(1 << 8))


def _input(case: Case) -> None:
    """Start a run with an input, and ask a provider for its answer."""
    api, provider = PROVIDERS[case.options % len(PROVIDERS)]
    run = Run(case.given, api=api, provider=provider, model="m", keys=KEYS, on_warning=ignore)
    run.start()
    json.dumps(run.request().body, ensure_ascii=False, allow_nan=False).encode()
    run.finish()


def _draw_items(chance: random.Random, mutator: Mutator) -> Case:
    """Events of an agent, some of them mutated; where they come between deltas, the options say."""
    own = [mutator.some(event) if chance.random() < 0.5 else event for event in chance.sample(OWN, 4)]
    taken = chance.choice(threads()).events[1:-1]
    own += [mutator.some(event) for event in chance.sample(taken, min(2, len(taken)))]
    return Case(own, chance.randrange(1 << 12))


@cache
def _deltas() -> Sequence[Sequence[Any]]:
    ours = (exchange for exchange in exchanges() if exchange.payloads)
    return [streamed(exchange, exchange.payloads[:30], stop=True) for exchange in ours]


def _items(case: Case) -> None:
    """Emit events between deltas, as events and as frames, with the fast path and without."""
    deltas = _deltas()[case.options // 4 % len(_deltas())]
    half = len(deltas) // 2
    items = [*deltas[:half], *case.given, *deltas[half:]]
    if case.options % 4:
        full = fast_path.emit(items, fast=False)
        fast = fast_path.emit(items, fast=True, frames=case.options % 4 == 1)
        if (fast.steps, fast.produced) != (full.steps, full.produced):
            raise DifferenceError("the fast path of the emitter is not its full path")
        return
    emitter = Emitter(thread_id="t", keys=KEYS, on_warning=ignore)
    for item in items:
        with suppress(AGUIReasoningError):
            emitter.receive(item)
    for event in emitter.close():
        SSEEncoder().encode(event)


def _targets() -> Iterator[Target]:
    rows: list[tuple[str, Callable[..., Case], Callable[[Case], object], int]] = [
        ("conversation", _draw_events, _conversation, 6),
        ("events", _draw_events, _events, 4),
        ("patches", _draw_patches, _patches, 4),
        ("restore", _draw_messages, _restore, 6),
        ("envelopes", _draw_envelopes, _restore, 6),
        ("tokens", _draw_tokens, _token, 1),
        ("inputs", _draw_inputs, _input, 6),
        ("items", _draw_items, _items, 6),
    ]
    for name, draw, run, pace in rows:
        yield Target(name, draw, run, pace)


TARGETS = tuple(_targets())
