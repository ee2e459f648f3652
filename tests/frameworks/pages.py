"""The example and the page of a framework: the page shows the example, which serves without a key."""

from __future__ import annotations

import ast
import os
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from textwrap import indent

from agui_reasoning import Conversation, check_events
from tests.docs.markdown import ROOT, blocks
from tests.frameworks.processes import SECONDS, serving
from tests.frameworks.threads import QUESTIONS
from tests.support.endpoint import post

__all__ = ["check_agent", "check_example", "check_page", "length"]

_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "DEEPSEEK_API_KEY", "GOOGLE_API_KEY", "MODEL")
_MAX_LINES = 20


def check_example(name: str, calls: int = 1, file: Path | None = None) -> None:
    """Ask the example both questions over HTTP; the replayed provider refuses what a real one would.

    Args:
        name: The framework.
        calls: How many tool calls the first answer has.
        file: The example, unless it is that of the framework.
    """
    example = file or _file(name)
    assert length(example) <= _MAX_LINES
    conversation = Conversation("thread-1")
    with _serving(example) as url:
        for question in QUESTIONS:
            asked = conversation.run_input(question)
            run_input = asked.model_dump(mode="json", by_alias=True, exclude_none=True)
            events = list(post(f"{url}/agent", run_input, timeout_s=SECONDS))
            for event in events:
                conversation.receive(event)
            conversation.end_of_stream()
            assert (conversation.status, check_events(events)) == ("finished", [])
    roles = [message.role for message in conversation.messages]
    assert roles.count("tool") == calls
    assert (roles[-2:], roles.count("user")) == (["reasoning", "assistant"], 2)


def check_page(name: str, page_name: str | None = None, *others: str) -> None:
    """Check that the page shows what runs: its Python is the example's, or that of tests.

    Args:
        name: The framework.
        page_name: The name of its page, unless it is that of the framework.
        *others: The frameworks whose examples and tests the page shows, too.
    """
    page = ROOT / "docs" / "how-to" / "frameworks" / f"{page_name or name.replace('_', '-')}.md"
    shown = [block.unmarked for block in blocks(page) if block.language == "python"]
    tests = [Path(__file__).parent / f"test_{other}.py" for other in others]
    examples = [_file(other) for other in (name, *others)]
    sources = "".join(file.read_text(encoding="utf-8") for file in (*examples, *tests))
    assert shown
    assert [body for body in shown if not _is_in(sources, body)] == []


def _is_in(sources: str, body: str) -> bool:
    """Whether it stands there, at the margin or inside a function, and so do the names it imports."""
    body = body.strip()
    code = "\n".join(line for line in body.splitlines() if not line.startswith("from ")).strip()
    return _imports(body) <= _imports(sources) and (code in sources or indent(code, "    ") in sources)


def _imports(source: str) -> set[tuple[str | None, str]]:
    nodes = ast.walk(ast.parse(source))
    found = (node for node in nodes if isinstance(node, ast.ImportFrom))
    return {(node.module, alias.name) for node in found for alias in node.names}


def check_agent(name: str, page_name: str) -> None:
    """Check that a page which shows more than the example shows its agent.

    Args:
        name: The framework.
        page_name: The name of the page, in the folder of the guides.
    """
    source = _file(name).read_text(encoding="utf-8")
    shown = "".join(block.unmarked for block in blocks(ROOT / "docs" / "how-to" / f"{page_name}.md"))
    (agent,) = [node for node in ast.parse(source).body if getattr(node, "name", "") == "agent"]
    assert (ast.get_source_segment(source, agent) or name) in shown


def _file(name: str) -> Path:
    return ROOT / "examples" / "frameworks" / f"fastapi_{name}.py"


def length(file: Path) -> int:
    """The lines of the agent and its endpoint, from the first function of the model's loop on."""
    source = file.read_text(encoding="utf-8")
    body = [node for node in ast.parse(source).body if isinstance(node, ast.AsyncFunctionDef)]
    first = [min([node.lineno, *(made.lineno for made in node.decorator_list)]) for node in body]
    return sum((node.end_lineno or 0) - line + 1 for node, line in zip(body, first, strict=True))


def _serving(file: Path) -> AbstractContextManager[str]:
    """Run the example without a key."""
    env = {key: value for key, value in os.environ.items() if key not in _KEYS} | {"PORT": "0"}
    return serving([sys.executable, file], env)
