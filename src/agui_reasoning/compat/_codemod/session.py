"""What the steps of one file's rewrite share: its facts, its edits, its findings."""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from agui_reasoning.compat._codemod.edits import Edits
from agui_reasoning.compat._codemod.facts import Facts
from agui_reasoning.compat._codemod.report import ADVICE, MigrationFinding

__all__ = ["Session"]


@dataclass(slots=True)
class Session:
    """One file.

    Attributes:
        facts: What its names mean.
        keep_title: Keep titles as metadata.
        edits: What will be changed.
        findings: What a person should see.
        imports_uuid4: The name under which ``uuid4`` is to be imported; empty where no id is made.
    """

    facts: Facts
    keep_title: bool = False
    edits: Edits = field(default_factory=Edits)
    findings: list[MigrationFinding] = field(default_factory=list)
    imports_uuid4: str = ""

    def find(self, node: cst.CSTNode, code: str, message: str) -> None:
        """Report something about a node."""
        severity, advice = ADVICE[code]
        line, column = self.facts.line(node)
        self.findings.append(MigrationFinding(self.facts.path, line, column, code, severity, message, advice))

    def code(self, node: cst.CSTNode) -> str:
        """A node's source."""
        return self.facts.module.code_for_node(node)
