"""From sources to migrations: parses, rewrites, and leaves alone what does not concern us."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from agui_reasoning.compat.codemod.facts import Facts
from agui_reasoning.compat.codemod.ids import give_ids
from agui_reasoning.compat.codemod.imports import kept_names, rewrite_imports
from agui_reasoning.compat.codemod.names import Family, Taint, mentions_anything
from agui_reasoning.compat.codemod.project import Project
from agui_reasoning.compat.codemod.references import rename_references
from agui_reasoning.compat.codemod.report import ADVICE, Finding, Migration
from agui_reasoning.compat.codemod.session import Session
from agui_reasoning.compat.codemod.sites import find_sites
from agui_reasoning.compat.codemod.state import tainted_by
from agui_reasoning.compat.codemod.strings import rewrite_strings

__all__ = ["migrate_sources"]

_DEEP = "Something in it is nested too deeply."


def migrate_sources(sources: Mapping[str, bytes], *, keep_title: bool = False) -> list[Migration]:
    r"""Rewrite Python files that use THINKING_* so that they use REASONING_*.

    The files are looked at together: one may pass the events on to another. Their encoding, line ends and
    formatting stay; a file that has none of the events comes back as it is.

    Args:
        sources: The bytes of each file by its path.
        keep_title: Keep the title of THINKING_START as ``metadata["agui-reasoning"]["title"]``; else it is
            dropped, as `ThinkingUpgrader` does.

    Returns:
        One entry per file, in the same order.

    Examples:
        >>> source = b"from ag_ui.core import ThinkingEndEvent as End\nisinstance(x, End)\n"
        >>> [migration] = migrate_sources({"agent.py": source})
        >>> print(migration.after.decode().splitlines()[0])
        from ag_ui.core import ReasoningEndEvent as End
    """
    modules: dict[str, cst.Module] = {}
    failures: dict[str, Finding] = {}
    for path, source in sources.items():
        if mentions_anything(source):
            parsed = _parse(path, source)
            if isinstance(parsed, Finding):
                failures[path] = parsed
            else:
                modules[path] = parsed
    done = _migrate_all(sources, modules, keep_title=keep_title)
    return [
        done.get(path) or Migration(path, source, source, 0, (failures[path],) if path in failures else ())
        for path, source in sources.items()
    ]


def _migrate_all(
    sources: Mapping[str, bytes], modules: Mapping[str, cst.Module], *, keep_title: bool
) -> dict[str, Migration]:
    """Rewrite until nothing new is found, in any file, that must share the fixed id of something else."""
    project = Project(modules)
    tainted: dict[Family, Taint] = {"span": Taint(), "message": Taint()}
    while True:
        done: dict[str, Migration] = {}
        before = dict(tainted)
        for path, module in modules.items():
            others = tuple(other for name, other in sources.items() if name != path)
            try:
                session = Session(Facts(module, path, project), others, before, keep_title)
                for family, taint in _rewrite(session).items():
                    tainted[family] |= taint
                done[path] = _finished(session, sources[path])
            except RecursionError:
                source, finding = sources[path], _failure(path, "too_deep", 1, _DEEP)
                done[path] = Migration(path, source, source, 0, (finding,))
        for module in modules.values():
            for family, taint in tainted.items():
                tainted[family] |= Taint(tainted_by(module, taint.callees))
        if tainted == before:
            return done


def _parse(path: str, source: bytes) -> cst.Module | Finding:
    try:
        module = cst.parse_module(source)
    except cst.ParserSyntaxError as error:
        return _failure(path, "does_not_parse", error.raw_line, "This is not Python that can be parsed.")
    except (UnicodeError, LookupError, SyntaxError):
        return _failure(path, "does_not_parse", 1, "The bytes do not fit the encoding.")
    try:
        if module.bytes != source:
            return _failure(path, "not_lossless", 1, "Its white space cannot be kept exactly.")
    except RecursionError:
        return _failure(path, "too_deep", 1, _DEEP)
    return module


def _failure(path: str, code: str, line: int, message: str) -> Finding:
    severity, advice = ADVICE[code]
    return Finding(path, line, 1, code, severity, message, advice)


def _finished(session: Session, source: bytes) -> Migration:
    edits = session.edits
    after = session.facts.module.visit(edits).bytes if edits.count else source
    return Migration(session.facts.path, source, after, edits.count, tuple(sorted(set(session.findings))))


def _rewrite(session: Session) -> dict[Family, Taint]:
    sites = find_sites(session.facts)
    made: set[cst.CSTNode] = {site.node for site in sites}
    kept = kept_names(session)
    old = rewrite_imports(session, kept)
    rename_references(session, kept, old, made)
    rewrite_strings(session, made)
    return give_ids(session, sites)
