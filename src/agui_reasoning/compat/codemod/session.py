"""What the steps of one file's rewrite share: its facts, its edits, its findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import libcst as cst

from agui_reasoning.compat.codemod.edits import Edits
from agui_reasoning.compat.codemod.facts import Facts
from agui_reasoning.compat.codemod.names import Family, Taint
from agui_reasoning.compat.codemod.report import ADVICE, Finding

__all__ = ["Session"]


@dataclass(slots=True)
class Session:
    """One file.

    Attributes:
        facts: What its names mean.
        others: The sources of the other files, for names that are used there.
        tainted: For each family, what must use the fixed id.
        keep_title: Keep titles as metadata.
        edits: What will be changed.
        findings: What a person should see.
    """

    facts: Facts
    others: tuple[bytes, ...]
    tainted: Mapping[Family, Taint]
    keep_title: bool = False
    edits: Edits = field(default_factory=Edits)
    findings: list[Finding] = field(default_factory=list)

    def find(self, node: cst.CSTNode, code: str, message: str) -> None:
        """Report something about a node."""
        self.find_at(self.facts.line(node), code, message)

    def find_at(self, line: tuple[int, int], code: str, message: str) -> None:
        """Report something about a place."""
        severity, advice = ADVICE[code]
        self.findings.append(Finding(self.facts.path, *line, code, severity, message, advice))

    def code(self, node: cst.CSTNode) -> str:
        """A node's source."""
        return self.facts.module.code_for_node(node)
