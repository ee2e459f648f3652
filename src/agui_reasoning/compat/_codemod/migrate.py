"""Parses and rewrites the files that mention THINKING_* events."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from warnings import catch_warnings, simplefilter

import libcst as cst
from libcst import parse_module
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor, ImportItem

from agui_reasoning.compat._codemod.carriers import give_ids
from agui_reasoning.compat._codemod.facts import Facts
from agui_reasoning.compat._codemod.imports import rewrite_imports
from agui_reasoning.compat._codemod.names import mentions_anything
from agui_reasoning.compat._codemod.nesting import too_deep
from agui_reasoning.compat._codemod.references import References
from agui_reasoning.compat._codemod.report import ADVICE, Migration, MigrationFinding
from agui_reasoning.compat._codemod.session import Session
from agui_reasoning.compat._codemod.sites import find_sites
from agui_reasoning.compat._codemod.strings import rewrite_strings

__all__ = ["migrate_sources"]

_DEEP = "The code is nested too deeply."


def migrate_sources(sources: Mapping[str, bytes], *, keep_title: bool = False) -> list[Migration]:
    r"""Rewrite Python files that use THINKING_* so that they use REASONING_*.

    A file is rewritten as a whole or not at all: it is returned unchanged if anything in it needs a decision,
    for example if an ID would have to cross function boundaries. Encoding, line endings and formatting are
    preserved.

    Args:
        sources: The content of each file by path.
        keep_title: Keep the title of THINKING_START as ``metadata["agui-reasoning"]["title"]``. By default it
            is dropped, as by `ThinkingUpgrader`.

    Returns:
        One migration per file, in the same order.

    Examples:
        >>> source = b"from ag_ui.core import ThinkingEndEvent as End\nisinstance(x, End)\n"
        >>> [migration] = migrate_sources({"agent.py": source})
        >>> print(migration.after.decode().splitlines()[0])
        from ag_ui.core import ReasoningEndEvent as End
    """
    modules: dict[str, cst.Module] = {}
    done: dict[str, Migration] = {}
    for path, source in sources.items():
        parsed = _parse(path, source) if mentions_anything(source) else None
        if isinstance(parsed, cst.Module):
            modules[path] = parsed
        else:
            done[path] = Migration(path, source, source, 0, () if parsed is None else (parsed,))
    exporters = frozenset(_module_name(path) for path in modules if b"from ag_ui.core" in sources[path])
    for path, module in modules.items():
        done[path] = _migrate(path, sources[path], module, exporters, keep_title=keep_title)
    return [done[path] for path in sources]


def _parse(path: str, source: bytes) -> cst.Module | MigrationFinding:
    if line := too_deep(source):
        return _failure(path, "too_deep", line, _DEEP)
    if b"\0" in source:
        line = source.count(b"\n", 0, source.index(b"\0")) + 1
        return _failure(path, "does_not_parse", line, "The file contains a NUL byte.")
    try:
        module = parse_module(source)
    except cst.ParserSyntaxError as error:
        return _failure(path, "does_not_parse", error.raw_line, "The file cannot be parsed as Python.")
    except (ValueError, LookupError, SyntaxError):
        return _failure(path, "does_not_parse", 1, "The file does not match its encoding.")
    try:
        if module.bytes != source:
            return _failure(
                path, "not_lossless", 1, "The white space of the file cannot be preserved exactly."
            )
    except RecursionError:
        return _failure(path, "too_deep", 1, _DEEP)
    return module


def _failure(path: str, code: str, line: int, message: str) -> MigrationFinding:
    severity, advice = ADVICE[code]
    return MigrationFinding(path, line, 1, code, severity, message, advice)


def _module_name(path: str) -> str:
    """Return the last part of the name of a module."""
    file = PurePath(path)
    return file.parent.name if file.stem == "__init__" else file.stem


def _migrate(
    path: str, source: bytes, module: cst.Module, exporters: frozenset[str], *, keep_title: bool
) -> Migration:
    """Rewrite one file; errors become findings."""
    try:
        session = Session(Facts(module, path), exporters, keep_title)
        after = _rewritten(session, source)
    except RecursionError:
        return Migration(path, source, source, 0, (_failure(path, "too_deep", 1, _DEEP),))
    except Exception as error:
        problem = f"The rewriter failed ({type(error).__name__})."
        return Migration(path, source, source, 0, (_failure(path, "not_rewritten", 1, problem),))
    changes = 0 if after is source else session.edits.count
    return Migration(path, source, after, changes, tuple(sorted(set(session.blockers or session.findings))))


def _rewritten(session: Session, source: bytes) -> bytes:
    old = rewrite_imports(session)
    sites = find_sites(session)
    give_ids(session, sites)
    references = References(session, {site.node for site in sites})
    references.rename()
    rewrite_strings(session, references, old)
    references.report_titles()
    if session.blockers or not session.edits.count:
        return source
    module = session.facts.module.visit(session.edits)
    if name := session.imports_uuid4:
        added = ImportItem("uuid", "uuid4", alias=name if name != "uuid4" else None)
        module = AddImportsVisitor(CodemodContext(), [added]).transform_module(module)
    after = module.bytes
    if _compiles(source) and not _compiles(after):
        raise SyntaxError
    return after


def _compiles(source: bytes) -> bool:
    with catch_warnings():
        simplefilter("ignore")
        try:
            compile(source, "<source>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
    return True
