"""Run the gateways whose servers have a wire format, or marks of reasoning, that nobody else knows."""

from __future__ import annotations

import ast

import pytest

from agui_reasoning import Conversation
from tests.docs.markdown import ROOT
from tests.examples.test_endpoints import FOLDER, ask, serving

PAGE = ROOT / "docs" / "how-to" / "own-wire-format.md"
DEFINED = {"DELTAS", "AcmeDecoder", "encode", "answer", "ACME", "POLICY"}


@pytest.mark.parametrize(
    ("name", "thought", "answer"),
    [
        ("own_wire_format/serve.py", "Gusts decide it.", "Take the raincoat."),
        ("reasoning_tags.py", "Two and two are four.", "Four."),
    ],
)
def test_two_turns(name: str, thought: str, answer: str) -> None:
    """The server of the own format refuses a thought that comes back without its seal."""
    conversation = Conversation("thread")
    with serving(name) as url:
        for question in ("Which one?", "Are you sure?"):
            ask(url, conversation, question)
            assert conversation.status == "finished"
    told = [(message.role, message.content) for message in conversation.messages]
    turn = [("reasoning", thought), ("assistant", answer)]
    assert [one for one in told if one[0] != "user"] == turn * 2


def blocks() -> list[str]:
    """The Python of the page up to the format itself."""
    found = [block.partition("```")[0] for block in PAGE.read_text(encoding="utf-8").split("```python\n")[1:]]
    return found[:3]


def definitions(source: str) -> dict[str, str]:
    """What a source defines, by name, without its layout."""
    found = {}
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
        names = {getattr(target, "id", None) or getattr(target, "name", None) for target in targets}
        found |= {name: ast.dump(node) for name in names & DEFINED}
    return found


def test_the_page_has_the_format_of_the_example_in_less_than_80_lines() -> None:
    example = definitions((FOLDER / "own_wire_format" / "acme.py").read_text(encoding="utf-8"))
    assert definitions("".join(blocks())) == example
    assert set(example) == DEFINED
    lines = [line for line in "".join(blocks()).splitlines() if line.strip() and not line.startswith("#")]
    assert len(lines) < 80
