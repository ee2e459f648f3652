"""Compare the page of public names, the tree, each `__all__` and the contract."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import agui_reasoning
from tests.meta.test_public_api import ROOT, load, modules
from tests.support.recordings import SHARED

PAGE = (ROOT / "docs/reference/public-api.md").read_text(encoding="utf-8")
USERS, AUTHORS = (part.partition("\n## ")[0] for part in PAGE.split("\n## ")[1:3])
SECTION = re.compile(r"^### `([\w.]+)`\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"^(?:- |Also )((?:`\w+`,?\s+)*`\w+`)", re.MULTILINE)

# Names that the project promises. Each section is a module; the first is the top level.
CONTRACT = {
    "": """AGUIReasoningError ConfigurationError Conversation DecodeError DecryptionError Emitter Limits
        LocalProtocolError ProtocolError ProviderError RemoteProtocolError Run RunFailedError TransportError
        TruncatedRunError build_request check_events compact erase_reasoning reduce_events restore
        run_agent stream_run""",
    ".aio": "ModelStream request run_agent stream_run",
    ".asgi": "AGUIResponse",
    ".client": "AgentClient",
    ".attribution": "trace",
    ".compat": "ThinkingDowngrader ThinkingUpgrader",
    ".crypto": "Binding KeyRing rekey_messages",
    ".deltas": """CloseDelta FinishDelta NativeDelta OpaqueDelta ReasoningDelta ResponseStart TextDelta
        ToolCallDelta ToolResultDelta UsageDelta fold unfold""",
    ".emitter.stages": "Chunks Coalesce Steps",
    ".errors": """AGUIReasoningError ConfigurationError DecodeError DecryptionError LocalProtocolError
        ProtocolError ProviderError RemoteProtocolError RunFailedError TransportError TruncatedRunError""",
    ".interop": "agno claude_agent langchain litellm openai_agents openhands pydantic_ai",
    ".interop.agno": "messages resume stream tools",
    ".interop.claude_agent": "offer_tools prompt session_id session_options stream",
    ".interop.langchain": "messages resume stream tools",
    ".interop.litellm": "messages stream",
    ".interop.openai_agents": "input_items resume stream tools",
    ".interop.openhands": "messages read_events stream write_events",
    ".interop.pydantic_ai": "message_history resume stream subagent toolset",
    ".parts": """NativePart Opaque Origin ReasoningPart Segment TextPart ToolCallPart ToolResultPart Turn""",
    ".protocol": "PROTOCOL_VERSION",
    ".providers": "decode_response decoder",
    ".testing": "assert_round_trip assert_valid",
    ".wire": "EventEncoder SSEDecoder SSEEncoder read_events",
}


def listed(part: str) -> dict[str, list[str]]:
    return {
        module: [name for line in LINE.findall(body) for name in re.findall(r"\w+", line)]
        for module, body in SECTION.findall(part)
    }


def is_public(module: str) -> bool:
    return not any(part.startswith("_") for part in module.split("."))


def test_every_public_module_is_on_the_page() -> None:
    assert {**listed(USERS), **listed(AUTHORS)}.keys() == set(filter(is_public, modules()))


def test_users_need_nothing_that_is_for_authors() -> None:
    assert not listed(USERS).keys() & listed(AUTHORS).keys()


@pytest.mark.parametrize("module", [*listed(USERS), *listed(AUTHORS)])
def test_the_page_lists_the_names_of_a_module_once(module: str) -> None:
    names = listed(USERS).get(module) or listed(AUTHORS)[module]
    assert sorted(names) == sorted(load(module).__all__)


def test_what_the_page_lists_first_is_the_top_level() -> None:
    assert next(iter(listed(USERS))) == "agui_reasoning"
    top = {module.split(".")[1] for module in listed(USERS) if "." in module}
    assert set(agui_reasoning._SUBMODULES.split()) == top - {"cli"}


@pytest.mark.parametrize("module", CONTRACT)
def test_the_names_of_the_contract_are_public(module: str) -> None:
    assert set(CONTRACT[module].split()) <= set(listed(USERS)[f"agui_reasoning{module}"])


def test_the_contract_names_nothing_else() -> None:
    contract = SHARED / "contract.md"
    if not contract.is_file():
        pytest.skip(f"{contract} is not on this machine")
    dotted = set(re.findall(r"agui_reasoning((?:\.\w+)*)\.(\w+)", contract.read_text(encoding="utf-8")))
    known = {(module, name) for module, names in CONTRACT.items() for name in names.split()}
    methods = {module for module, _ in dotted if module.rpartition(".")[2] in {n for _, n in known}}
    rooms = {tuple(module.rsplit(".", 1)) for module in CONTRACT if module}
    unknown = {found for found in dotted - known - rooms if found[0] not in methods}
    assert unknown == set()


def test_what_the_table_of_changes_names_exists() -> None:
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = contributing.partition("\n## Know where a change goes\n")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 12
    paths = re.findall(r"`([\w./-]+/[\w./-]*)`", table)
    assert len(paths) >= len(rows)
    assert [path for path in paths if not (ROOT / path).exists()] == []
    anchors = re.findall(r"\(#([\w-]+)\)", table)
    titles = re.findall(r"^## (.+)$", contributing, re.MULTILINE)
    assert set(anchors) <= {title.lower().replace(" ", "-") for title in titles}


def test_the_table_of_packages_matches_the_tree() -> None:
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = contributing.partition("\n## Find your way around\n")[2].partition("\n## ")[0]
    rooms = [room for line in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for room in line.split(", ")]
    packages = {path for path in (ROOT / "src/agui_reasoning").iterdir() if not path.name.startswith("__")}
    tree = {f"`{path.name}`" if path.is_file() else f"`{path.name}/`" for path in packages}
    assert {room for room in rooms if "src" not in room} == tree - {"`py.typed`"}
    assert len(rooms) == len(set(rooms))


WRITING = re.compile(r"print|Console|typer\.echo|sys\.std(out|err)\..*write\w*")


def writers(path: Path) -> set[str]:
    """Return how a module writes to the terminal."""
    calls = [node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Call)]
    return {name for name in (ast.unparse(call.func) for call in calls) if WRITING.fullmatch(name)}


def test_what_the_command_shows_goes_through_the_modules_that_escape_it() -> None:
    source = ROOT / "src" / "agui_reasoning"
    files = (source / "cli").rglob("*.py")
    assert {path.name: found for path in files if (found := writers(path))} == {
        "_output.py": {"print", "sys.stdout.buffer.write"},
    }
