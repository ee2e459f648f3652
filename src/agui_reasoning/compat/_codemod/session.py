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
        exporters: The names of the modules that import events, among the files rewritten together.
        keep_title: Whether to keep titles as metadata.
        edits: The edits to apply.
        findings: The findings to report.
        imports_uuid4: The local name to import ``uuid4`` under; empty if no ID is created.
    """

    facts: Facts
    exporters: frozenset[str] = frozenset()
    keep_title: bool = False
    edits: Edits = field(default_factory=Edits)
    findings: list[MigrationFinding] = field(default_factory=list)
    imports_uuid4: str = ""

    def find(self, node: cst.CSTNode, code: str, message: str) -> None:
        """Add a finding for a node."""
        severity, advice = ADVICE[code]
        line, column = self.facts.line(node)
        self.findings.append(MigrationFinding(self.facts.path, line, column, code, severity, message, advice))

    @property
    def blockers(self) -> list[MigrationFinding]:
        """The findings because of which the file must stay as it is."""
        return [finding for finding in self.findings if finding.severity == "decide"]

    def unused_name(self, name: str) -> str:
        """Return a name that the file does not use, with or without a leading underscore."""
        taken, number, found = self.facts.names, 2, name
        while found in taken or f"_{found}" in taken:
            found, number = f"{name}_{number}", number + 1
        return found

    def code(self, node: cst.CSTNode) -> str:
        """Return the source of a node."""
        return self.facts.module.code_for_node(node)
