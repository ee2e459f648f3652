"""Test that known refusals are recognized, in the words in which providers say them."""

from __future__ import annotations

import json
import re

import pytest

from agui_reasoning.parts import Origin
from agui_reasoning.providers import API_IDS
from agui_reasoning.providers.refusals import Refusal, find_refusal, refusals, thinking_off
from tests.support.recordings import SHARED

CLAUDE = Origin("anthropic", "anthropic-messages", "claude-sonnet-4-6")
BEDROCK = Origin("bedrock", "bedrock-converse", "eu.anthropic.claude-sonnet-4-6")
GPT = Origin("openai", "openai-responses", "gpt-5.6")
VLLM = Origin("vllm", "openai-responses", "gpt-oss-120b")
LLAMA = Origin("llamacpp", "openai-responses", "gpt-oss-20b")
GEMINI = Origin("google", "gemini", "gemini-3-pro")
STEPS = Origin("google", "gemini-interactions", "gemini-3.6-flash")
DEEPSEEK = Origin("deepseek", "openai-chat", "deepseek-v4-flash")
DEEPSEEK_BLOCKS = Origin("deepseek", "anthropic-messages", "deepseek-v4-pro")
MIMO = Origin("xiaomi", "anthropic-messages", "mimo-v2.5-pro")
ZENMUX = Origin("zenmux", "anthropic-messages", "anthropic/claude-sonnet-4.6")
COPILOT = Origin("github-copilot", "anthropic-messages", "claude-sonnet-4.6")
SGLANG = Origin("sglang", "anthropic-messages", "qwen3.5")
KIMI = Origin("moonshot", "openai-chat", "kimi-k2.6")
GROQ = Origin("groq", "openai-chat", "llama-4")
CEREBRAS = Origin("cerebras", "openai-chat", "gpt-oss-120b")
AZURE = Origin("azure", "openai-chat", "mistral-large")
MISTRAL = Origin("mistral", "mistral-chat", "magistral-medium")
OPENROUTER = Origin("openrouter", "openai-chat", "anthropic/claude-sonnet-4.6")
OLLAMA = Origin("ollama", "ollama", "llama3")
COHERE = Origin("cohere", "cohere-chat", "command-a-reasoning")
UNKNOWN = Origin(None, "openai-chat", "some-model")

# Words of providers, as outbound.md and pains.md quote them.
KNOWN = [
    ("reasoning_unexpected_field", UNKNOWN, 400, "unknown field `reasoning_content`, expected `role`"),
    ("reasoning_unexpected_field", UNKNOWN, 422, "Unrecognized key(s) in object: 'reasoning_content'"),
    (
        "thinking_mandatory",
        OPENROUTER,
        400,
        "Reasoning is mandatory for this endpoint and cannot be disabled.",
    ),
    (
        "thinking_form",
        CLAUDE,
        400,
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
        '"output_config.effort" to control thinking behavior.',
    ),
    ("thinking_form", BEDROCK, 400, "adaptive thinking is not supported on this model"),
    ("instructions_inside", CLAUDE, 400, "role 'system' is not supported on this model"),
    (
        "instructions_inside",
        DEEPSEEK_BLOCKS,
        400,
        "messages[1].role must be either 'user' or 'assistant', but got 'system'",
    ),
    (
        "instructions_inside",
        DEEPSEEK_BLOCKS,
        422,
        "messages[1].role: unknown variant `system`, expected `user` or `assistant`",
    ),
    (
        "instructions_misplaced",
        CLAUDE,
        400,
        "messages.67: role 'system' must precede an 'assistant' message or end the array",
    ),
    (
        "effort_change_inside",
        GPT,
        400,
        "The 'configuration_update' item type is not supported with this model.",
    ),
    ("effort_change_inside", GPT, 400, "Two 'configuration_update' items cannot be adjacent."),
    ("prompt_mode_refused", MISTRAL, 400, "Reasoning prompt mode is not enabled for this model"),
    ("invalid_signature", CLAUDE, 400, "messages.1.content.0: Invalid `signature` in `thinking` block"),
    ("invalid_signature", BEDROCK, 400, "messages.1.content.0: Invalid `signature` in `thinking` block"),
    ("invalid_signature", OPENROUTER, 400, "Invalid signature in thinking block"),
    ("invalid_signature", CLAUDE, 400, "messages.1.content.0.thinking.signature: Field required"),
    (
        "other_conversation",
        CLAUDE,
        400,
        "Invalid `signature` in `thinking` block. The block is bound to a different conversation.",
    ),
    (
        "thinking_changed",
        CLAUDE,
        400,
        "messages.3.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant message "
        "cannot be modified",
    ),
    (
        "thinking_missing",
        CLAUDE,
        400,
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`",
    ),
    (
        "thinking_missing",
        CLAUDE,
        400,
        "Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is enabled, a final "
        "`assistant` message must start with a thinking block",
    ),
    (
        "thinking_at_the_end",
        CLAUDE,
        400,
        "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`",
    ),
    ("thinking_at_the_end", CLAUDE, 400, "The final block in an assistant message cannot be `thinking`"),
    (
        "encrypted_content_unreadable",
        GPT,
        400,
        "The encrypted content for item rs_1 could not be verified. Reason: organization_id did not match",
    ),
    ("encrypted_content_unreadable", GPT, 400, "The encrypted content gAAA...c90= could not be verified."),
    (
        "item_not_found",
        GPT,
        404,
        "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
    ),
    (
        "items_unpaired",
        GPT,
        400,
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    ),
    (
        "items_unpaired",
        GPT,
        400,
        "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
    ),
    (
        "encrypted_content_unreadable",
        Origin("xai", "openai-responses", "grok-4.5"),
        400,
        "Could not decrypt the provided encrypted_content. Make sure it is passed unmodified.",
    ),
    (
        "encrypted_content_unreadable",
        Origin("opencode-zen", "openai-responses", "muse-spark-1.3"),
        400,
        "Upstream request failed: [invalid_request_error] reasoning `encrypted_content` was not issued to "
        "this caller",
    ),
    ("item_not_found", GPT, 400, "Referenced reasoning item was not found or was deleted"),
    ("encrypted_content_unsupported", VLLM, 400, "Encrypted content is not supported."),
    ("item_type_unknown", LLAMA, 400, "Cannot determine type of 'item'"),
    ("reasoning_item_malformed", LLAMA, 400, "item['content'] is not an array"),
    ("reasoning_item_malformed", LLAMA, 400, "item['content'] is empty"),
    ("reasoning_item_malformed", GPT, 400, "Missing required parameter: 'input[3].summary'."),
    ("duplicate_item", OPENROUTER, 400, "Duplicate item found with id rs_1"),
    (
        "thought_signature_missing",
        GEMINI,
        400,
        "Function call is missing a thought_signature in functionCall parts.",
    ),
    ("thought_signature_invalid", OPENROUTER, 400, "Corrupted thought signature"),
    ("thought_signature_invalid", GEMINI, 400, "Invalid thought signature."),
    ("server_step_mismatch", STEPS, 400, "Tool type of tool_call part does not match"),
    (
        "reasoning_missing",
        DEEPSEEK,
        400,
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
    ),
    (
        "reasoning_missing",
        UNKNOWN,
        400,
        "The reasoning_content in the thinking mode must be passed back to the API.",
    ),
    (
        "reasoning_missing",
        DEEPSEEK_BLOCKS,
        400,
        "The content[].thinking in the thinking mode must be passed back to the API.",
    ),
    (
        "reasoning_missing",
        KIMI,
        400,
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
    ),
    (
        "reasoning_missing",
        MIMO,
        400,
        "{'error': {'message': 'Param Incorrect', 'param': 'The reasoning_content in the thinking mode must "
        "be passed back to the API.'}}",
    ),
    ("invalid_signature", ZENMUX, 400, "messages.1.content.0: Invalid `signature` in `thinking`"),
    (
        "thinking_without_text",
        COPILOT,
        400,
        "messages.1.content.0: each thinking block must contain thinking",
    ),
    (
        "thinking_not_first",
        COPILOT,
        400,
        "If an assistant message contains any thinking blocks, the first block must be `thinking`",
    ),
    ("redacted_thinking_unsupported", SGLANG, 400, "Anthropic redacted_thinking history is not supported"),
    (
        "block_unknown",
        SGLANG,
        422,
        "Failed to deserialize the JSON body: data did not match any variant of untagged enum InputContent",
    ),
    ("reasoning_unsupported", GROQ, 400, "property 'reasoning_content' is unsupported"),
    ("reasoning_unsupported", GROQ, 400, "reasoning is not supported with this model"),
    (
        "reasoning_unknown_field",
        MISTRAL,
        422,
        '{"detail":[{"type":"extra_forbidden","loc":["body","messages",1,"assistant","reasoning_content"]}]}',
    ),
    (
        "reasoning_unknown_field",
        AZURE,
        400,
        "messages.1.reasoning_content: Extra inputs are not permitted",
    ),
    ("forced_tool_while_thinking", DEEPSEEK, 400, "Thinking mode does not support this tool_choice"),
    (
        "block_needs_beta",
        CLAUDE,
        400,
        "messages.253.content.0: Input tag 'fallback' found using 'type' does not match any of the expected "
        "tags: 'text', 'tool_use'",
    ),
    (
        "block_needs_beta",
        CLAUDE,
        400,
        "messages.0.content.0: Input tag 'compaction' found using 'type' does not match any of the expected "
        "tags: 'text', 'tool_use'",
    ),
    ("compaction_unreadable", CLAUDE, 400, "{'details': {'error_code': 'compaction_signature_invalid'}}"),
    ("compaction_unreadable", CLAUDE, 400, "{'details': {'error_code': 'compaction_block_misplaced'}}"),
    ("compaction_impossible", CLAUDE, 400, "{'details': {'error_code': 'compaction_incomplete_turn'}}"),
    ("thread_gone", CLAUDE, 404, "{'error': {'details': {'error_code': 'thread_not_found'}}}"),
    ("thread_gone", CLAUDE, 400, "{'error': {'details': {'error_code': 'thread_fingerprint_mismatch'}}}"),
    ("thread_unsupported", CLAUDE, 400, "{'details': {'error_code': 'thread_unsupported_request'}}"),
    ("thread_unsupported", CLAUDE, 400, "thread: Extra inputs are not permitted"),
    ("conversation_not_found", GPT, 404, "Conversation with id 'conv_1' not found."),
    ("previous_response_not_found", GPT, 400, "Previous response with id 'resp_1' not found."),
    ("previous_response_unsupported", GPT, 400, '{"detail":"Unsupported parameter: previous_response_id"}'),
    ("previous_response_unsupported", GPT, 400, "This model does not support 'previous_response_id'"),
    ("model_does_not_think", OLLAMA, 400, '"llama3" does not support thinking'),
]

NOT_OURS = {
    "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9": "call IDs are always legal",
    "Unexpected role 'user' after role 'tool'": "the encoder writes what the order demands",
    "text content is not allowed when tool_calls are provided": "the encoder moves the text",
    "text content is empty": "the encoder leaves the text out",
    "unrecognized_request_argument: thinking": "a parameter of the caller, not of the conversation",
    "Unknown parameter: 'input[0].status'": "the encoder writes no status",
    "Unsupported message role: reasoning": "an error of a server's converter, not of a provider",
    "The model's context window was exceeded": "about the length",
    "Incorrect API key provided: sk-***": "about the credentials",
}


@pytest.mark.parametrize(("name", "target", "status", "words"), KNOWN)
def test_the_words_of_a_provider_are_recognized(name: str, target: Origin, status: int, words: str) -> None:
    found = find_refusal(target, status=status, names=["invalid_request_error"], message=words)
    assert found is not None
    assert found.id == name


def test_a_code_suffices() -> None:
    found = find_refusal(GPT, status=400, names=["invalid_encrypted_content"], message="")
    assert found is not None
    assert found.id == "encrypted_content_unreadable"
    assert find_refusal(CEREBRAS, status=400, names=["wrong_api_format"], message="") is not None
    assert find_refusal(GROQ, status=400, names=["wrong_api_format"], message="") is None


def test_the_error_of_an_upstream_is_recognized_inside_that_of_its_gateway() -> None:
    raw = json.dumps({"error": {"message": "messages.1.content.0: Invalid `signature` in `thinking` block"}})
    body = json.dumps({"error": {"message": "Provider returned error", "metadata": {"raw": raw}}})
    found = find_refusal(OPENROUTER, status=400, names=["400"], message=body)
    assert found is not None
    assert found.id == "invalid_signature"


def test_an_error_inside_a_stream_has_no_status() -> None:
    assert find_refusal(CLAUDE, status=None, names=[], message=KNOWN[0][3]) is not None


@pytest.mark.parametrize("status", [401, 403, 413, 429, 500, 503, 529])
def test_the_same_words_with_another_status_are_another_error(status: int) -> None:
    assert find_refusal(CLAUDE, status=status, names=[], message=KNOWN[0][3]) is None


@pytest.mark.parametrize("words", NOT_OURS)
def test_errors_that_reasoning_does_not_cause_are_left_alone(words: str) -> None:
    for api in API_IDS:
        assert find_refusal(Origin(None, api, "m"), status=400, names=[], message=words) is None


def test_every_row_is_recognized_by_a_test() -> None:
    by_code = {"reasoning_wrong_format"}
    assert {row.id for row in refusals()} == {name for name, *_ in KNOWN} | by_code
    assert len({row.id for row in refusals()}) == len(refusals())


@pytest.mark.parametrize("row", refusals(), ids=lambda row: row.id)
def test_a_row_can_match_and_names_known_apis(row: Refusal) -> None:
    assert row.code or row.message
    re.compile(row.message or "")
    assert set(row.api) <= {"*", *API_IDS}
    assert row.means.endswith(".")


def test_every_recorded_rejection_is_recognized() -> None:
    recorded = SHARED / "recordings" / "rejections.json"
    if not recorded.is_file():
        pytest.skip(f"{recorded} is not on this machine")
    found = []
    for rejection in json.loads(recorded.read_text(encoding="utf-8")):
        error = rejection["response"]["error"]
        target = Origin(rejection["provider"], rejection["api"], rejection["request"]["model"])
        names = [name for name in (error["code"], error["type"]) if name]
        row = find_refusal(target, status=rejection["status"], names=names, message=error["message"])
        found.append(row and row.id)
    assert found == ["items_unpaired", "forced_tool_while_thinking", "forced_tool_while_thinking"]


@pytest.mark.parametrize(
    ("target", "turned_off"),
    [
        (Origin("openrouter", "openai-chat", "minimax/minimax-m2.5"), False),
        (Origin("openrouter", "openai-chat", "google/gemini-3.7-flash"), False),
        (Origin("openrouter", "openai-chat", "deepseek/deepseek-v4-pro"), True),
        (Origin("moonshot", "openai-chat", "kimi-k3"), False),
        (Origin("moonshotai", "litellm", "moonshot/kimi-k2-thinking"), False),
        (Origin("kimi", "openai-chat", "kimi-k2.6"), True),
    ],
)
def test_thinking_is_never_turned_off_where_it_is_mandatory(target: Origin, turned_off: bool) -> None:
    assert (thinking_off(target) is not None) == turned_off


def test_thinking_is_turned_off_only_by_documented_fields() -> None:
    flags = {target: thinking_off(target) for target in (CLAUDE, BEDROCK, DEEPSEEK, COHERE, OLLAMA)}
    assert {
        target.api: (flag.name, flag.value, flag.extra_body) for target, flag in flags.items() if flag
    } == {
        "anthropic-messages": ("thinking", {"type": "disabled"}, False),
        "bedrock-converse": ("additionalModelRequestFields.thinking", {"type": "disabled"}, False),
        "openai-chat": ("thinking", {"type": "disabled"}, True),
        "cohere-chat": ("thinking", {"type": "disabled"}, False),
        "ollama": ("think", False, False),
    }
    for target in (GPT, GEMINI, GROQ, UNKNOWN, Origin("bedrock", "bedrock-converse", "nova-2")):
        assert thinking_off(target) is None
