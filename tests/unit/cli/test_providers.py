"""Test ``providers``: the table, for people and for programs."""

import json

import pytest

from agui_reasoning.parts import Origin
from agui_reasoning.providers.echo import rule_for, rules
from agui_reasoning.providers.vendors import known_providers


def rows(result):
    assert (result.status, result.stderr) == (0, "")
    return json.loads(result.stdout)


def test_all_rows_are_shown_each_with_its_evidence_and_its_date(cli):
    shown = cli("providers").stdout
    for rule in rules():
        assert f"{rule.api} · {', '.join(rule.provider)}  {rule.status}\n" in shown
        assert f"  evidence    {rule.evidence} (checked {rule.checked})\n" in shown


@pytest.mark.parametrize(
    ("args", "lines"),
    [
        (["groq", "--model", "gpt-oss-120b"], ["forbidden   reasoning_content"]),
        (["moonshot", "--model", "kimi-k2.6"], ["if missing  the placeholder ' '"]),
        (["novita", "--model", "kimi-k2.6"], ["goes to     reasoning_details and received, all"]),
        (
            ["zai", "--api", "openai-chat"],
            [
                "goes to     reasoning_content, tool loop; all with flags",
                'flag        extra_body.thinking = {"type": "enabled", "clear_thinking": false}: '
                "otherwise the reasoning of earlier turns is cleared",
            ],
        ),
        (["chatgpt-codex"], ["flag        store = false: the backend rejects any other value"]),
        (
            ["anthropic", "--api", "anthropic-messages", "--model", "claude-opus-5-5"],
            [
                "needed in   tool loop",
                "needs       a signature",
                "bound to    the conversation before it, which must not change",
            ],
        ),
        (
            ["ollama", "--api", "anthropic-messages"],
            ["joins       the thinking blocks of a response, of which only one is read"],
        ),
        (
            ["openai", "--api", "openai-responses"],
            ["needs       encrypted content, if the server stores nothing"],
        ),
    ],
)
def test_people_see_what_a_request_needs_and_must_not_contain(args, lines, cli):
    shown = cli("providers", *args).stdout
    assert [line for line in lines if f"  {line}\n" not in shown] == []


def test_a_program_gets_every_column_in_the_order_of_precedence(cli):
    assert rows(cli("providers", "--json")) == [rule.model_dump(mode="json") for rule in rules()]


def test_a_provider_and_an_api_narrow_it_down(cli):
    found = rows(cli("providers", "DeepSeek", "--api", "openai-chat", "--json"))
    expected = [rule for rule in rules() if rule.api == "openai-chat" and "deepseek" in rule.provider]
    assert found == [rule.model_dump(mode="json") for rule in expected]
    assert len(found) > 1


def test_a_pattern_names_several_providers(cli):
    found = rows(cli("providers", "ZAI*", "--api", "openai-chat", "--json"))
    named = {name for row in found for name in row["provider"]}
    assert {"zai", "zai-coding-plan"} <= named
    one = rows(cli("providers", "za?", "--api", "openai-chat", "--json"))
    assert one == rows(cli("providers", "zai", "--api", "openai-chat", "--json"))


@pytest.mark.parametrize("api", sorted({rule.api for rule in rules()}))
def test_for_a_model_it_is_the_row_that_counts(api, cli):
    for provider in known_providers(api):
        rule = rule_for(Origin(provider, api, "vendor/some-model"))
        result = cli("providers", provider, "--api", api, "--model", "vendor/some-model", "--json")
        if rule in rules():
            assert rows(result) == [rule.model_dump(mode="json")]
        else:
            assert (result.status, "[unknown_model]" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (
            ["deepsek"],
            "error: The echo policy has no row for 'deepsek'. Did you mean 'deepseek'? ",
        ),
        (
            ["deepsek*"],
            "error: The echo policy has no row for 'deepsek*'. Did you mean 'deepseek'? ",
        ),
        (
            ["--api", "anthropic"],
            "error: Unknown API 'anthropic'. Did you mean 'anthropic-messages'? Use one of: ",
        ),
    ],
)
def test_a_name_that_is_not_in_it_is_one_line_with_the_nearest(args, line, cli):
    result = cli("providers", *args)
    assert (result.status, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.startswith(line)
