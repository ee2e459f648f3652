"""The reasoning of other providers as text of the user: only if asked for, never as the model's words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ag_ui.core import UserMessage

from agui_reasoning import Run, aio, build_request
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.parts import Opaque, Origin, ReasoningPart, Segment, TextPart, Turn
from agui_reasoning.providers import provider_apis
from agui_reasoning.request import History

GPT = Origin("elsewhere", "openai-responses", "gpt")
HEAD = "(For context, the reasoning of another model in an earlier answer:)"
CONTEXT = f"{HEAD}\n\nThe clock says noon.\n\nAnd now?"


def thought(text: str, **fields: Any) -> ReasoningPart:
    segments = (Segment("summary", 0, text),) if text else ()
    return ReasoningPart(segments, (Opaque("openai.encrypted_content", "gAAAA"),), **fields)


def asked(*parts: Any, content: Any = "And now?", origin: Origin | None = GPT) -> History:
    question = UserMessage.model_validate({"id": "u2", "content": content})
    return History(
        (UserMessage(id="u1", content="Time?"), Turn((*parts, TextPart("Noon.")), origin), question)
    )


def build(api: str, history: History, **options: Any) -> tuple[str, Any]:
    provider, model = next(spec.example for spec in provider_apis() if spec.id == api)
    made = build_request(
        api, history, provider=provider, model=model, on_warning=lambda text: None, **options
    )
    return json.dumps(made.body, ensure_ascii=False), made


@pytest.mark.parametrize("api", [spec.id for spec in provider_apis()])
def test_it_precedes_the_users_next_words_if_asked_for(api: str) -> None:
    history = asked(thought("The clock says noon."))
    without, _ = build(api, history)
    assert "clock" not in without
    body, made = build(api, history, foreign_reasoning="context")
    assert json.dumps(CONTEXT)[1:-1] in body
    assert body == without.replace("And now?", json.dumps(CONTEXT)[1:-1])
    assert {(entry.outcome, entry.reason) for entry in made.report} <= {
        ("dropped", "foreign_origin"),
        ("placeholder", "foreign_origin"),
    }


@pytest.mark.parametrize(
    ("part", "origin"),
    [
        (thought(""), GPT),
        (thought(" "), GPT),
        (thought("Hm.", status="incomplete"), GPT),
        (thought("Hm."), None),
        (thought("Hm."), Origin("anthropic", "anthropic-messages", "claude-sonnet-5")),
    ],
)
def test_what_is_empty_cut_unknown_or_its_own_is_no_context(
    part: ReasoningPart, origin: Origin | None
) -> None:
    body, _ = build("anthropic-messages", asked(part, origin=origin), foreign_reasoning="context")
    assert HEAD not in body


def test_what_the_model_cannot_read_is_sent_and_is_context_too() -> None:
    opus, haiku = (
        Origin("anthropic", "anthropic-messages", f"claude-{name}-5-5") for name in ("opus", "haiku")
    )
    part = ReasoningPart((Segment("text", 0, "Clock."),), (Opaque("anthropic.signature", "SIG"),))

    def texts(target: Origin) -> tuple[Any, str]:
        made = build_request(
            "anthropic-messages",
            asked(part, origin=opus),
            provider="anthropic",
            model=target.model,
            foreign_reasoning="context",
            on_warning=lambda text: None,
        )
        messages = made.body["messages"]
        assert messages[1]["content"][0]["signature"] == "SIG"
        return made.report[0].reason, messages[2]["content"][0]["text"]

    assert texts(haiku) == ("model_binding", f"{HEAD}\n\nClock.\n\nAnd now?")
    assert texts(opus) == ("", "And now?")


def test_content_parts_are_kept() -> None:
    content = [{"type": "text", "text": "And now?"}]
    _, made = build("anthropic-messages", asked(thought("Hm."), content=content), foreign_reasoning="context")
    assert [block["text"] for block in made.body["messages"][-1]["content"]] == [f"{HEAD}\n\nHm.", "And now?"]


def test_inside_a_loop_of_calls_there_is_no_place_for_it() -> None:
    history = History(asked(thought("Hm.")).items[:2])
    assert build("anthropic-messages", history) == build(
        "anthropic-messages", history, foreign_reasoning="context"
    )


@pytest.mark.anyio
async def test_a_run_takes_the_option() -> None:
    rest = {"state": {}, "messages": [], "tools": [], "context": [], "forwardedProps": {}}
    run = Run({"threadId": "t", "runId": "r", **rest}, api="anthropic-messages", model="claude")
    history = asked(thought("Hm."))
    options: dict[str, Any] = {"history": history, "foreign_reasoning": "context"}
    body = run.request(**options).body
    assert HEAD in json.dumps(body)
    assert (await aio.request(run, **options)).body == body


@pytest.mark.parametrize("chosen", ["contxt", "", None, True])
def test_an_unknown_choice_is_an_error(chosen: Any) -> None:
    with pytest.raises(ConfigurationError, match="Use one of: drop, context") as caught:
        build("anthropic-messages", asked(thought("Hm.")), foreign_reasoning=chosen)
    assert caught.value.code == "wrong_option"
