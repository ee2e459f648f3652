"""LiteLLM counts the tokens of the messages that are written for it."""

from __future__ import annotations

import os
from typing import Any

import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it looks for prices on the network
vendor: Any = pytest.importorskip("litellm", reason="LiteLLM has its own environment: see test_litellm")

from agui_reasoning.interop import litellm  # noqa: E402
from tests.unit.interop.test_litellm import SEEN, called, run_of  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:Items? .*ReadOnly:UserWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

FORMS: list[dict[str, Any]] = [
    {},
    {"cache": True},
    {"vision": True},
    {"vision": False},
    {"function_calling": True},
    {"function_calling": False},
    {"cache": True, "vision": True, "function_calling": True},
]


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("model", ["anthropic/claude-sonnet-4-6", "openai/gpt-4o", "deepseek/deepseek-chat"])
def test_the_tokens_of_messages_are_counted(model: str, form: dict[str, Any]) -> None:
    provider = model.partition("/")[0]
    for run in (
        called(provider=provider, model=model),
        run_of(SEEN, told=[], provider=provider, model=model),
    ):
        made = litellm.messages(run, **form)
        assert vendor.token_counter(model=model, messages=made) > 0


def test_the_arguments_of_a_call_count() -> None:
    made = litellm.messages(called())
    count = vendor.token_counter(model="gpt-4o", messages=made)
    without = [{**message, "tool_calls": None} if message.get("tool_calls") else message for message in made]
    assert count > vendor.token_counter(model="gpt-4o", messages=without)
