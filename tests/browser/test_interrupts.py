"""The user answers what an agent asks: with buttons, and with a form made of the schema."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import Interrupt
from playwright.sync_api import Locator, Page, expect

from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import CloseDelta, TextDelta, ToolCallDelta
from agui_reasoning.errors import ProviderError
from agui_reasoning.gateway import Upstream, local_server, provider_app
from agui_reasoning.parts import ToolResultPart
from agui_reasoning.run import Run
from tests.browser.axe import violations
from tests.browser.chat import Chat
from tests.browser.conftest import OpenChat
from tests.browser.test_keyboard import press_until_focused
from tests.browser.test_looks import colors, expect_fits
from tests.browser.upstreams import thought

Json = dict[str, Any]

EXAMPLE = Path(__file__).parents[2] / "examples" / "approve.py"
ARGUMENTS = {"type": "object", "properties": {"place": {"type": "string"}, "hours": {"type": "integer"}}}
APPROVAL = {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]}
EDITABLE = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "editedArgs": {"title": "Arguments", **ARGUMENTS},
        "reason": {"type": "string", "title": "Reason"},
    },
    "required": ["approved"],
}
QUARTER = {
    "type": "object",
    "properties": {
        "quarter": {"enum": ["Q1", "Q2"]},
        "year": {"type": "integer", "minimum": 2000},
        "final": {"type": "boolean"},
        "notes": {"type": "array"},
    },
    "required": ["quarter", "year", "final"],
}


class Asking(Upstream):
    """Thinks, calls a tool once per question about one, asks, and tells what it was answered.

    Attributes:
        inputs: The input of each run, as JSON.
        failures: Raised in the runs that are answered, in order.
    """

    name = "asking"

    def __init__(self, *interrupts: Interrupt, failures: tuple[Exception, ...] = ()) -> None:
        self.inputs: list[Json] = []
        self.failures = list(failures)
        self._interrupts = interrupts

    @property
    def resumes(self) -> list[Any]:
        """What each run was answered, by interrupt ID: the payload, or the status without one."""
        return [
            {entry["interruptId"]: entry.get("payload", entry["status"]) for entry in asked.get("resume", ())}
            for asked in self.inputs
        ]

    async def agent(self, run: Run) -> AsyncIterator[Any]:
        self.inputs.append(run.input.model_dump(mode="json", by_alias=True, exclude_none=True))
        if not run.resume:
            for item in thought("I need it."):
                yield item
            for call in dict.fromkeys(one.tool_call_id for one in self._interrupts if one.tool_call_id):
                yield ToolCallDelta(call, "get_forecast", '{"place": "Bergen", "hours": 6}')
                yield CloseDelta(key=call)
            for interrupt in self._interrupts:
                yield interrupt
            return
        if self.failures:
            raise self.failures.pop(0)
        for open_call in run.open_calls:
            assert open_call.interrupt in self._interrupts
            yield ToolResultPart(open_call.id, "Rain.")
        yield TextDelta("Thank you.")


def about(call: str, name: str = "i1", schema: Json | None = APPROVAL, **more: Any) -> Interrupt:
    """A question about a call."""
    asked = {"reason": "tool_call", "tool_call_id": call, "message": f"May I make the call {call}?"}
    return Interrupt(id=name, response_schema=schema, **asked | more)


def asks(schema: Json | None, name: str = "i1", **more: Any) -> Interrupt:
    """A question about no call."""
    return Interrupt(
        id=name, response_schema=schema, **{"reason": "input_required", "message": "What is it?"} | more
    )


def begin(open_chat: OpenChat, *interrupts: Interrupt, **options: Any) -> tuple[Chat, Asking]:
    """Ask the agent something, so that it asks."""
    upstream = Asking(*interrupts, failures=options.pop("failures", ()))
    chat = open_chat(upstream, **options)
    chat.ask("Umbrella?")
    chat.expect_rest()
    assert chat.thread()["status"] == "interrupted"
    return chat, upstream


def question(chat: Chat, text: str) -> Locator:
    return chat.page.get_by_role("group", name=text, exact=True)


# -- yes or no


@pytest.mark.parametrize(
    ("button", "payload"), [("Approve", {"approved": True}), ("Refuse", {"approved": False})]
)
def test_a_call_is_decided_with_a_button(open_chat: OpenChat, button: str, payload: Json) -> None:
    chat, upstream = begin(open_chat, about("c1"))
    expect(chat.calls).to_contain_text(["Waiting for your decision"])
    expect(chat.calls.get_by_label("Arguments")).to_be_visible()
    chat.button(button, question(chat, "May I make the call c1?")).click()
    expect(chat.answers).to_have_text(["Thank you."])
    chat.expect_rest()
    assert upstream.resumes == [{}, {"i1": payload}]
    expect(chat.calls).to_contain_text(["Done"])
    expect(chat.button("Approve")).to_have_count(0)
    chat.ask("And tomorrow?")
    chat.expect_rest()
    assert "resume" not in upstream.inputs[2]


@pytest.mark.parametrize(
    ("interrupt", "payload"),
    [
        (asks({"type": "boolean"}), True),
        (asks(None, reason="confirmation"), True),
        (asks({"type": "object", "properties": {"ok": {"type": "boolean"}}}), {"ok": True}),
        (about("c1", schema=None), {"approved": True}),
        (
            asks({"$ref": "#/$defs/A", "$defs": {"A": {"anyOf": [{"type": "null"}, {"type": "boolean"}]}}}),
            True,
        ),
    ],
    ids=["boolean", "confirmation", "one property", "no schema", "reference"],
)
def test_every_yes_or_no_has_buttons(open_chat: OpenChat, interrupt: Interrupt, payload: Any) -> None:
    chat, upstream = begin(open_chat, interrupt)
    expect(chat.button("Refuse")).to_be_visible()
    chat.button("Approve").click()
    expect(chat.answers).to_have_text(["Thank you."])
    assert upstream.resumes[1] == {"i1": payload}


def test_arguments_can_be_changed_and_a_refusal_explained(open_chat: OpenChat) -> None:
    chat, upstream = begin(
        open_chat, about("c1", schema=EDITABLE), about("c2", "i2", EDITABLE), about("c3", "i3", EDITABLE)
    )
    changed, same, refused = (question(chat, f"May I make the call c{n}?") for n in (1, 2, 3))
    expect(changed.get_by_label("place")).to_have_value("Bergen")
    changed.get_by_label("place").fill("Oslo")
    chat.button("Approve", changed).click()
    chat.button("Approve", same).click()
    refused.get_by_label("place").fill("Oslo")
    refused.get_by_label("Reason").fill("Look out.")
    chat.button("Refuse", refused).click()
    expect(chat.answers).to_have_text(["Thank you."])
    edited = {"approved": True, "editedArgs": {"place": "Oslo", "hours": 6}}
    assert upstream.resumes[1] == {
        "i1": edited,
        "i2": {"approved": True},
        "i3": {"approved": False, "reason": "Look out."},
    }


def test_arguments_without_a_schema_are_changed_as_json(open_chat: OpenChat) -> None:
    schema = {**APPROVAL, "properties": {"approved": {"type": "boolean"}, "editedArgs": {"type": "object"}}}
    chat, upstream = begin(open_chat, about("c1", schema=schema))
    field = chat.page.get_by_label("editedArgs, as JSON")
    field.fill('{"place": ')
    chat.button("Approve").click()
    expect(field).to_be_focused()  # by the browser, which says what is wrong
    assert len(upstream.inputs) == 1
    field.fill('{"place": "Oslo"}')
    chat.button("Approve").click()
    expect(chat.answers).to_have_text(["Thank you."])
    assert upstream.resumes[1] == {"i1": {"approved": True, "editedArgs": {"place": "Oslo"}}}


# -- forms


def test_a_form_is_filled_in(open_chat: OpenChat) -> None:
    chat, upstream = begin(open_chat, asks(QUARTER))
    send = chat.button("Send the answer")
    send.click()
    expect(chat.page.get_by_label("quarter")).to_be_focused()
    chat.page.get_by_label("quarter").select_option("Q2")
    chat.page.get_by_label("year").fill("1999")
    send.click()
    expect(chat.page.get_by_label("year")).to_be_focused()
    assert len(upstream.inputs) == 1
    chat.page.get_by_label("year").fill("2026")
    chat.page.get_by_label("notes, as JSON").fill('["late"]')
    send.click()
    expect(chat.answers).to_have_text(["Thank you."])
    assert upstream.resumes[1] == {"i1": {"quarter": "Q2", "year": 2026, "final": False, "notes": ["late"]}}


_FIELD = """async ([schema, value, typed]) => {
    const { fieldOf } = await import("/_page/schema-fields.js");
    const { element, read } = fieldOf(schema, schema, { isRequired: true, value });
    const form = document.createElement("form");
    form.append(element);
    const controls = [...form.querySelectorAll("input, select, textarea")];
    typed?.forEach((text, index) => {
        if (controls[index].type === "checkbox") controls[index].checked = text;
        else controls[index].value = text;
        controls[index].dispatchEvent(new Event("input"));
    });
    const kinds = controls.map((control) => control.getAttribute("type") ?? control.localName);
    return [kinds.join(" "), form.checkValidity() ? read() ?? null : "invalid"];
}"""
_NAMED = {"$defs": {"Size": {"enum": ["S", "L"]}}, "type": "object"}


@pytest.mark.parametrize(
    ("schema", "value", "typed", "expected"),
    [
        ({"type": "string"}, None, ["x"], ["text", "x"]),
        ({"type": "string"}, None, [""], ["text", "invalid"]),
        ({"type": "string", "default": "d"}, None, None, ["text", "d"]),
        ({"type": "string", "format": "email"}, None, ["x"], ["email", "invalid"]),
        ({"type": "string", "format": "date"}, None, ["2026-11-23"], ["date", "2026-11-23"]),
        ({"type": "string", "pattern": "^[A-Z]"}, None, ["x"], ["text", "invalid"]),
        ({"type": "string", "pattern": "["}, None, ["x"], ["text", "x"]),
        ({"type": "string", "maxLength": 1000}, None, ["x\ny"], ["textarea", "x\ny"]),
        ({"type": "number"}, None, ["1.5"], ["number", 1.5]),
        ({"type": "integer"}, None, ["1.5"], ["number", "invalid"]),
        ({"type": "integer", "maximum": 3}, 3, None, ["number", 3]),
        ({"type": ["null", "integer"]}, None, ["2"], ["number", 2]),
        ({"enum": [1, None, "x", {"a": 1}]}, None, ["3"], ["select", {"a": 1}]),
        ({"enum": ["x"]}, None, None, ["select", "invalid"]),
        ({"oneOf": [{"const": 1, "title": "one"}, {"const": 2}]}, None, ["1"], ["select", 2]),
        ({}, None, ['{"a": [1]}'], ["textarea", {"a": [1]}]),
        ({}, None, ["x"], ["textarea", "invalid"]),
        ({"type": "array"}, [1], None, ["textarea", [1]]),
        ({"type": "hologram"}, None, ["1"], ["textarea", 1]),
        ({"type": "object"}, None, ["{}"], ["textarea", {}]),
        ({**_NAMED, "properties": {"s": {"$ref": "#/$defs/Size"}}}, None, ["1"], ["select", {"s": "L"}]),
        (
            {**_NAMED, "properties": {"s": {"anyOf": [{"$ref": "#/$defs/Size"}, {"type": "null"}]}}},
            None,
            None,
            ["select", {}],
        ),
        ({"properties": {"a": {"type": "boolean"}}}, None, None, ["select", {}]),
        (
            {"properties": {"a": {"type": "boolean"}}, "required": ["a"]},
            None,
            None,
            ["checkbox", {"a": False}],
        ),
        ({"properties": {"a": {"type": "boolean"}}}, {"a": True}, None, ["checkbox", {"a": True}]),
        (
            {"properties": {"a": ARGUMENTS, "b": {"type": "string"}}},
            None,
            ["", "", "x"],
            ["text number text", {"b": "x"}],
        ),
        (
            {"properties": {"a": ARGUMENTS}},
            None,
            ["x", "2"],
            ["text number", {"a": {"place": "x", "hours": 2}}],
        ),
        ({"properties": {"a": {"$ref": "#"}}}, None, None, ["textarea", {}]),
        ({"$ref": "#/$defs/no", "description": "d"}, None, ["1"], ["textarea", 1]),
        ({"properties": {"a": None, "b": 1}}, None, ["1"], ["textarea textarea", {"a": 1}]),
    ],
    ids=str,
)
def test_a_schema_becomes_fields(
    modules: Page, schema: Json, value: Any, typed: list[Any] | None, expected: Any
) -> None:
    assert modules.evaluate(_FIELD, [schema, value, typed]) == expected


# -- several questions, and none answered


def test_the_answers_go_together_and_can_be_changed_before(open_chat: OpenChat) -> None:
    chat, upstream = begin(open_chat, about("c1"), asks({"type": "boolean"}, "i2"))
    first, second = question(chat, "May I make the call c1?"), question(chat, "What is it?")
    chat.button("Approve", first).click()
    expect(first).to_contain_text("You approved this.")
    expect(chat.button("Change", first)).to_be_focused()
    chat.page.reload()
    chat.button("Change", first).click()
    chat.button("Refuse", first).click()
    expect(first).to_contain_text("You refused this.")
    assert len(upstream.inputs) == 1
    chat.button("Do not answer", second).click()
    expect(chat.answers).to_have_text(["Thank you."])
    assert upstream.resumes[1] == {"i1": {"approved": False}, "i2": "cancelled"}


def test_a_message_leaves_what_is_open_without_an_answer(open_chat: OpenChat) -> None:
    chat, upstream = begin(open_chat, about("c1"), about("c2", "i2"))
    chat.button("Approve", question(chat, "May I make the call c2?")).click()
    chat.ask("Wait, what?")
    expect(chat.answers).to_have_text(["Thank you."])
    assert upstream.resumes[1] == {"i1": "cancelled", "i2": {"approved": True}}
    assert upstream.inputs[1]["messages"][-1]["content"] == "Wait, what?"


def test_an_answer_that_was_not_delivered_is_sent_again(open_chat: OpenChat) -> None:
    chat, upstream = begin(open_chat, about("c1"), failures=(ProviderError(), ProviderError()))
    chat.button("Approve").click()
    expect(chat.failure).to_be_visible()
    chat.button("Retry").click()
    expect(chat.failure).to_be_visible()
    chat.expect_rest()
    chat.page.reload()
    chat.button("Retry").click()
    expect(chat.answers).to_have_text(["Thank you."])
    assert upstream.resumes == [{}, *[{"i1": {"approved": True}}] * 3]
    assert [len(asked["messages"]) for asked in upstream.inputs] == [1, 3, 3, 3]
    expect(chat.calls).to_contain_text(["Done"])


def test_asking_again_forgets_the_question(open_chat: OpenChat) -> None:
    chat, upstream = begin(open_chat, asks({"type": "boolean"}))
    chat.button("Regenerate").click()
    chat.expect_rest()
    assert upstream.resumes == [{}, {}]
    expect(chat.button("Approve")).to_have_count(1)


def test_a_question_that_expired_is_only_left(open_chat: OpenChat) -> None:
    past = (datetime.now(UTC) - timedelta(minutes=1)).isoformat()
    chat, upstream = begin(open_chat, about("c1", expires_at=past))
    expect(chat.button("Approve")).to_have_count(0)
    expect(chat.page.get_by_text("This question has expired.")).to_be_visible()
    chat.button("Go on without an answer").click()
    expect(chat.answers).to_have_text(["Thank you."])
    assert upstream.resumes[1] == {"i1": "cancelled"}


def test_a_question_expires_while_it_is_shown(open_chat: OpenChat) -> None:
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    upstream = Asking(about("c1", expires_at=soon))
    chat = open_chat(upstream)
    chat.page.clock.install()
    chat.ask("Umbrella?")
    expect(chat.button("Approve")).to_be_visible()
    chat.page.clock.fast_forward("01:00:01")
    expect(chat.button("Approve")).to_have_count(0)
    expect(chat.button("Go on without an answer")).to_be_visible()


# -- for everybody


def test_a_decision_without_a_mouse(open_chat: OpenChat) -> None:
    chat, upstream = begin(open_chat, about("c1", schema=EDITABLE))
    status = chat.page.locator("#chat [role=status]").last
    expect(status).to_have_text("Thought for less than a second. The agent asks: May I make the call c1?")
    page, keys = chat.page, chat.page.keyboard
    press_until_focused(page, "Shift+Tab", page.get_by_role("textbox", name="Reason"))
    keys.type("Look out.")
    keys.press("Enter")  # it decides nothing
    assert len(upstream.inputs) == 1
    press_until_focused(page, "Tab", chat.button("Refuse"))
    keys.press("Enter")
    expect(chat.answers).to_have_text(["Thank you."])
    chat.expect_rest()
    expect(page.locator("body")).not_to_be_focused()
    assert upstream.resumes[1] == {"i1": {"approved": False, "reason": "Look out."}}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_questions_are_accessible(open_chat: OpenChat, scheme: str) -> None:
    chat, _ = begin(
        open_chat,
        about("c1", schema=EDITABLE),
        asks(QUARTER, "i2"),
        asks({"type": "boolean"}, "i3"),
        tab=colors(scheme),
    )
    assert violations(chat.page) == []
    chat.button("Approve").first.click()
    expect(chat.button("Change")).to_be_visible()
    assert violations(chat.page) == []


@pytest.mark.parametrize("width", [320, 390])
def test_questions_fit_a_narrow_screen(open_chat: OpenChat, width: int) -> None:
    word = "Donaudampfschifffahrtsgesellschaftskapitänsmütze" * 5
    deep = {"type": "object", "properties": {word: EDITABLE, "b": {"enum": [word]}}}
    chat, _ = begin(
        open_chat,
        about("c1", schema=EDITABLE, message=word),
        asks(deep, "i2", message=word),
        tab={"viewport": {"width": width, "height": 700}},
    )
    expect_fits(chat.page)
    chat.button("Approve").first.click()
    expect_fits(chat.page)
    assert violations(chat.page) == []


def test_what_an_agent_asks_is_text(open_chat: OpenChat) -> None:
    markup = "<img src=x onerror='pwned = 1'>"
    choice = {"title": markup, "description": markup, "enum": [markup]}
    hostile = {"type": "object", "title": markup, "properties": {markup: choice, "b": choice}}
    chat, _ = begin(open_chat, about("c1", schema=hostile, message=markup))
    expect(question(chat, markup)).to_be_visible()
    assert chat.page.locator("#chat img").count() == 0
    assert chat.page.evaluate("typeof pwned") == "undefined"


# -- with a provider


@pytest.mark.parametrize("visibility", ["full", "hidden"])
def test_the_example_goes_on_with_its_reasoning(open_chat: OpenChat, visibility: str) -> None:
    anthropic = pytest.importorskip("anthropic", reason="the example needs anthropic, which is not installed")
    names: Json = {"__name__": "approve"}
    exec(compile(EXAMPLE.read_text(encoding="utf-8"), EXAMPLE.name, "exec"), names)
    requests: list[Json] = []
    with local_server(provider_app("anthropic-weather", on_request=requests.append)) as url:
        upstream = names["Approving"](anthropic.AsyncAnthropic(base_url=url, api_key="none"))
        chat = open_chat(upstream, keys=KeyRing.generate(), visibility=visibility)
        chat.ask("Umbrella or raincoat?")
        chat.page.get_by_label("place").fill("Oslo")
        chat.button("Approve").click()
        expect(chat.answers.last).to_contain_text("raincoat")
        chat.expect_rest()
        chat.page.close()
    said, result = requests[1]["messages"][-2:]
    assert said["content"][0]["type"] == "thinking"  # the provider refuses a changed one
    assert result["content"][0]["content"].startswith("Oslo: ")
