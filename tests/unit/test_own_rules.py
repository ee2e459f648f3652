"""Test rows of the user's own: they come first, everywhere, and a wrong one is named."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import ToolMessage, UserMessage

from agui_reasoning import ConfigurationError, Emitter, Run, build_request
from agui_reasoning.parts import Opaque, Origin, ReasoningPart, Segment, TextPart, ToolCallPart, Turn
from agui_reasoning.policy import NO_RULE, RECEIVED, EchoRule
from agui_reasoning.providers import decode_response, provider_apis
from agui_reasoning.providers.echo import rule_for, rules
from agui_reasoning.providers.own_rules import own_rules
from agui_reasoning.request import History
from agui_reasoning.testing import assert_round_trip

ACME = Origin("acme", "openai-chat", "m1")
OWN = EchoRule(
    api="openai-chat",
    provider=("ACME*",),
    status="accepted",
    field=("reasoning_content",),
    scope="all",
)
TOML = """
[[rule]]
api = "openai-chat"
provider = ["acme*"]
status = "accepted"
field = ["reasoning_content"]
scope = "all"

[[rule]]
api = "openai-chat"
provider = ["zai"]
model = ["glm-*"]
status = "required"
field = ["reasoning"]
scope = "tool_loop"
placeholder = " "

[[rule.flags]]
name = "thinking"
value = { type = "enabled", list = [1] }
reason = "it pays"
extra_body = true
"""


def write(folder: Any, text: str) -> str:
    path = folder / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def history() -> History:
    said = Turn((thought(), TextPart("Hi.")), ACME)
    return History((UserMessage(id="u1", content="?"), said, UserMessage(id="u2", content="!")))


def thought() -> ReasoningPart:
    return ReasoningPart((Segment("text", 0, "Hm."),))


def run_input(*messages: Any) -> dict[str, Any]:
    rest = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
    return {"threadId": "t", "runId": "r", "messages": list(messages), **rest}


# -- precedence


def test_own_rows_come_first_and_the_rest_follows(tmp_path: Any) -> None:
    own = own_rules(write(tmp_path, TOML))
    assert rule_for(Origin("ACME-Cloud", "openai-chat"), own) is own[0]
    assert rule_for(Origin("zai", "openai-chat", "glm-5"), own) is own[1]
    assert rule_for(Origin("zai", "openai-chat", "other"), own).evidence
    assert rule_for(Origin("acme", "ollama"), own) is NO_RULE
    assert own[1].flags[0].value == {"type": "enabled", "list": [1]}


@pytest.mark.parametrize("form", ["rows", "file"])
def test_a_request_follows_them(form: str, tmp_path: Any) -> None:
    policy: Any = [OWN] if form == "rows" else write(tmp_path, TOML)
    given: dict[str, Any] = {"provider": "acme", "model": "m1"}
    with pytest.warns(match="no row for 'acme'"):
        before = build_request("openai-chat", history(), **given)
    after = build_request("openai-chat", history(), policy=policy, **given)
    assert (before.policy, before.body["messages"][1]) == ("unknown", {"role": "assistant", "content": "Hi."})
    assert (after.policy, after.body["messages"][1]) == (
        "accepted",
        {"role": "assistant", "content": "Hi.", "reasoning_content": "Hm."},
    )


def test_a_row_of_the_package_can_be_replaced() -> None:
    own = EchoRule(api="openai-chat", provider=("deepseek",), status="rejected")
    said = History((Turn((thought(), TextPart("Hi.")), Origin("deepseek", "openai-chat", "v4")),))
    built = build_request("openai-chat", said, provider="deepseek", model="v4", policy=[own])
    assert built.body["messages"] == [{"role": "assistant", "content": "Hi."}]
    assert (
        built.explain() == "answer 1 (v4): 1 unit left out: deepseek refuses requests that contain reasoning."
    )


def test_a_run_asks_them_for_its_request_and_for_its_subagents() -> None:
    run = Run(run_input(), api="openai-chat", provider="acme", model="m1", policy=[OWN])
    assert run.request().policy == "accepted"
    assert run.subagent("helper").request().policy == "accepted"


VALUE = Opaque("gemini.openai_compat_signature", "c2ln", attach="tool_call:c1")
CALL = ToolCallPart("c1", "get", "{}", opaque=(VALUE,))
REQUIRED = EchoRule(
    api="openai-chat", provider=("acme",), status="required", field=("tool_calls",), scope="all"
)


@pytest.mark.parametrize(("policy", "anchored"), [((), False), ((REQUIRED,), True)])
def test_anchors_follow_them(policy: tuple[EchoRule, ...], anchored: bool) -> None:
    origin: dict[str, Any] = {"api": "openai-chat", "provider": "acme", "model": "m1"}
    run = Run(run_input(), policy=policy, **origin)
    events = [*run.start(), *run.receive(CALL), *run.finish()]
    emitter = Emitter(policy=policy, **origin)
    alone = [*emitter.receive(CALL), *emitter.close()]
    for emitted in (events, alone):
        assert any(event.type == "REASONING_MESSAGE_START" for event in emitted) == anchored


def test_what_may_be_hidden_follows_them() -> None:
    run = Run(run_input(), api="openai-chat", provider="acme", visibility="hidden", policy=[REQUIRED])
    run.start()
    with pytest.raises(ConfigurationError) as raised:
        run.receive(thought())
    assert raised.value.code == "visibility_without_keys"


def test_the_gateway_reads_a_file_once_and_says_nothing_of_a_known_provider(
    tmp_path: Any, caplog: Any
) -> None:
    gateway = pytest.importorskip("agui_reasoning.gateway")
    path = write(tmp_path, TOML)
    upstream = gateway.HTTPUpstream(
        "openai-chat", base_url="http://localhost:1", model="m1", provider="acme", api_key="k" * 20
    )
    gateway.create_app(upstream, policy=path)
    assert caplog.messages == []
    gateway.create_app(upstream)
    assert "no row for 'acme'" in caplog.text


def test_the_assertion_of_round_trips_takes_them() -> None:
    run = Run(run_input(), api="openai-chat", provider="deepsek", model="m1")
    events = [*run.start(), *run.receive(thought()), *run.receive(TextPart("Hi.")), *run.finish()]
    own = OWN.model_copy(update={"provider": ("deepsek",)})
    target: dict[str, Any] = {"api": "openai-chat", "provider": "deepsek", "model": "m1"}
    assert_round_trip(run_input(), events, policy=[own], **target)
    with pytest.raises(AssertionError, match="Did you mean 'deepseek'"):
        assert_round_trip(run_input(), events, **target)


# -- what is wrong with a row


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("rule = 1", "`rule` is not a list of tables: write [[rule]]"),
        ("[[rules]]\napi = 'ollama'", "`rules` is not `rule`"),
        ("[[rule]", "is not TOML"),
        ("[[rule]]\nstatus = 'inert'", "row 1, `api`: Field required"),
        ("[[rule]]\napi = 'ollama'", "row 1, `status`: Field required"),
        (
            "[[rule]]\napi = 'ollama'\nstatus = 'inert'\n[[rule]]\napi = 'ollama'\nstatus = 'ignored'",
            "row 2, `status`: Input should be 'required', ",
        ),
        (
            "[[rule]]\napi = 'ollama'\nstatus = 'accepted'",
            "row 1: the status 'accepted' needs `field` and `scope`",
        ),
        (
            "[[rule]]\napi = 'ollama'\nstatus = 'inert'\nscope = 'all'",
            "row 1: nothing is sent with the status 'inert': omit `field` and `scope`",
        ),
        (
            "[[rule]]\napi = 'ollama'\nstatus = 'inert'\nprovider = 'me'",
            "row 1, `provider`: write a list",
        ),
        (
            "[[rule]]\napi = 'ollama'\nstatus = 'inert'\nplacholder = ''",
            "row 1, `placholder`: unknown column. Did you mean 'placeholder'?",
        ),
        (
            "[[rule]]\napi = 'ollama'\nstatus = 'accepted'\nscope = 'all'\nfield = ['blocks']",
            "row 1, `field`: 'blocks' does not exist in ollama; use thinking",
        ),
        (
            "[[rule]]\napi = 'ollama'\nstatus = 'rejected'\nforbidden = ['blocks']",
            "row 1, `forbidden`: 'blocks' does not exist in ollama; use thinking",
        ),
        (
            "[[rule]]\napi = 'ollama'\nstatus = 'accepted'\nscope = 'all'\n"
            "field = ['thinking']\nforbidden = ['thinking']",
            "row 1: 'thinking' is in both `field` and `forbidden`",
        ),
        (
            "[[rule]]\napi = 'ollama'\nstatus = 'inert'\n[[rule.flags]]\nname = 'think'\nvalue = true",
            "row 1, `flags.0.reason`: Field required",
        ),
    ],
)
def test_a_wrong_row_is_named_with_file_row_and_field(text: str, fault: str, tmp_path: Any) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigurationError) as raised:
        own_rules(path)
    assert raised.value.code == "bad_policy"
    assert str(raised.value).startswith(f"The policy file {path!r} is")
    assert fault in str(raised.value)


def test_an_unknown_api_is_named(tmp_path: Any) -> None:
    with pytest.raises(ConfigurationError) as raised:
        own_rules(write(tmp_path, "[[rule]]\napi = 'olama'\nstatus = 'inert'"))
    assert (raised.value.code, "'ollama'" in str(raised.value)) == ("unknown_api", True)


def test_a_file_that_cannot_be_read_and_values_that_are_no_rows(tmp_path: Any) -> None:
    given: list[Any] = [str(tmp_path / "none.toml"), tmp_path, [{"api": "ollama"}]]
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    for policy in (*given, tmp_path / "bytes.toml"):
        with pytest.raises(ConfigurationError) as raised:
            Run(run_input(), policy=policy)
        assert raised.value.code == "bad_policy"


@pytest.mark.parametrize("empty", ["provider", "model"])
def test_a_row_for_nobody_is_refused(empty: str, tmp_path: Any) -> None:
    path = write(tmp_path, f'[[rule]]\napi = "ollama"\nstatus = "ignored"\n{empty} = []\n')
    with pytest.raises(ConfigurationError, match=empty) as raised:
        own_rules(path)
    assert raised.value.code == "bad_policy"


def test_every_row_of_the_package_would_pass_as_ones_own() -> None:
    assert own_rules(rules()) == rules()


@pytest.mark.parametrize("api", provider_apis(), ids=lambda api: api.id)
def test_every_field_that_an_api_can_write_is_written(api: Any) -> None:
    """No field of the descriptor is unknown to the encoder."""
    origin = Origin("acme", api.id, "m1")
    said = Turn((thought(), TextPart("Hi.")), origin)
    sent = History((UserMessage(id="u1", content="?"), said, UserMessage(id="u2", content="!")))
    for field in api.echo_fields:
        own = EchoRule(api=api.id, provider=("acme",), status="accepted", field=(field,), scope="all")
        built = build_request(api.id, sent, provider="acme", model="m1", policy=[own], on_warning=print)
        assert len(built.report) == 1


# -- what was received


def looped(field: str, **options: Any) -> dict[str, Any]:
    """The model's message in a tool loop of a provider of which nothing is known."""
    function = {"name": "forecast", "arguments": "{}"}
    call = {"id": "call_1", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, field: "Hm.", "tool_calls": [call]}
    whole = {"id": "r", "model": "m1", "choices": [{"index": 0, "message": message}]}
    parts = decode_response("openai-chat", whole, provider="acme", model="m1")
    items = (
        UserMessage(id="u1", content="?"),
        Turn(tuple(parts), ACME),
        ToolMessage(id="t1", tool_call_id="call_1", content="4C"),
    )
    request = build_request("openai-chat", History(items), provider="acme", model="m1", **options)
    sent: dict[str, Any] = request.body["messages"][1]
    return sent


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
@pytest.mark.parametrize("policy", ["received", [RECEIVED]])
def test_an_unknown_provider_gets_the_field_that_it_sent(field: str, policy: Any) -> None:
    sent = looped(field, policy=policy)
    assert {name: sent[name] for name in sent if name.startswith("reasoning")} == {field: "Hm."}


def test_the_first_report_says_how_an_unknown_provider_gets_its_reasoning() -> None:
    with pytest.warns(match='If it takes reasoning back in tool loops, pass policy="received"'):
        assert "reasoning_content" not in looped("reasoning_content")


def test_what_was_received_applies_after_every_row_that_knows_better() -> None:
    """A strict provider keeps its own rule, and so does one that refuses the fields."""
    (received,) = own_rules("received")
    assert received is RECEIVED
    for provider, model in (("deepseek", "deepseek-v4"), ("groq", "llama-4"), ("mistral", "m")):
        origin = Origin(provider, "openai-chat", model)
        assert rule_for(origin, [RECEIVED]) is rule_for(origin)
    assert rule_for(Origin("acme", "openai-chat", "m1"), [RECEIVED, OWN]) is OWN
    assert rule_for(Origin("huggingface", "openai-chat", "m"), [RECEIVED]) is RECEIVED
    assert rule_for(Origin("acme", "litellm", "m"), [RECEIVED]) is NO_RULE


def test_what_was_received_stays_in_its_tool_loop() -> None:
    request = build_request("openai-chat", history(), provider="acme", model="m1", policy="received")
    assert [entry.outcome for entry in request.report] == ["dropped"]
