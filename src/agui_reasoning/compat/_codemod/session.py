"""State shared by the steps that rewrite one file."""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from agui_reasoning.compat._codemod.edits import Edits
from agui_reasoning.compat._codemod.facts import Facts
from agui_reasoning.compat._codemod.report import ADVICE, MigrationFinding

__all__ = ["Session"]


@dataclass(slots=True)
class Session:
    """The rewrite of one file.

    Attributes:
        facts: The facts about the module.
        keep_title: Whether to keep titles as metadata.
        edits: The edits to apply.
        findings: The findings to report.
        imports_uuid4: The local name to import ``uuid4`` under; empty if no ID is created.
    """

    facts: Facts
    keep_title: bool = False
    edits: Edits = field(default_factory=Edits)
    findings: list[MigrationFinding] = field(default_factory=list)
    imports_uuid4: str = ""

    def find(self, node: cst.CSTNode, code: str, message: str) -> None:
        """Add a finding for a node."""
        severity, advice = ADVICE[code]
        line, column = self.facts.line(node)
        self.findings.append(MigrationFinding(self.facts.path, line, column, code, severity, message, advice))

    def code(self, node: cst.CSTNode) -> str:
        """Return the source of a node."""
        return self.facts.module.code_for_node(node)
