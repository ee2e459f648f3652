"""Rewrites Python source from THINKING_* to REASONING_* events (extra ``migrate``).

The steps for one file: resolve names (`_session`), find the events it creates (`_sites`), give them
IDs (`_carriers`), and rename the rest (`_renames`). Places that need a decision become findings.

Deep nesting is detected first, because it crashes the parser, which is native code. Only tokens are examined
for that, independently of the grammar, so any version of Python is supported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Final
from warnings import catch_warnings, simplefilter

from agui_reasoning.errors import MissingExtraError

try:
    import libcst as cst
except ImportError:
    raise MissingExtraError("The command migrate", "migrate") from None

from libcst import parse_module
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor, ImportItem

from agui_reasoning._migrate._carriers import give_ids
from agui_reasoning._migrate._renames import References, rewrite_imports, rewrite_strings
from agui_reasoning._migrate._session import ADVICE, KINDS, Facts, Migration, MigrationFinding, Session
from agui_reasoning._migrate._sites import find_sites

__all__ = ["ADVICE", "KINDS", "Migration", "MigrationFinding", "migrate_sources", "too_deep"]

# What a file mentions that may use the events; others are not parsed. Python source is always in an
# ASCII-compatible encoding (never UTF-16), so matching bytes is enough.
_ANYTHING: Final = re.compile(rb"THINKING_|Thinking(?:Start|End|TextMessage(?:Start|Content|End))Event")
_DEEP: Final = "The code is nested too deeply."


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
        parsed = _parse(path, source) if _ANYTHING.search(source) else None
        if isinstance(parsed, cst.Module):
            modules[path] = parsed
        else:
            done[path] = Migration(path, source, source, 0, () if parsed is None else (parsed,))
    files = (PurePath(path) for path in modules if b"from ag_ui.core" in sources[path])
    exporters = frozenset(file.parent.name if file.stem == "__init__" else file.stem for file in files)
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


_BRACKETS: Final = 60
_PATTERN_BRACKETS: Final = 12  # parsing time doubles with each level
_CHAIN: Final = 600
_BRANCHES: Final = 200

_TOKEN: Final = re.compile(
    rb"""
      (?P<string> [A-Za-z]{0,2} (?:
          \"\"\" (?: [^"\\]++ | \\. | "(?!"") )*+ (?: \"\"\" | \Z )
        | ''' (?: [^'\\]++ | \\. | '(?!'') )*+ (?: ''' | \Z )
        | " (?: [^"\\\n]++ | \\. )*+ "?+
        | ' (?: [^'\\\n]++ | \\. )*+ '?+ ) )
    | (?P<blank> \#[^\r\n]*+ | \\\r?\n | [ \t\f]++ )
    | (?P<line> [\r\n]++ [ \t\f]*+ )
    | (?P<open> [(\[{] ) | (?P<close> [)\]}] ) | (?P<next> [,;] )
    | (?P<word> [\w\x80-\xff]++ | . )
    """,
    re.VERBOSE | re.DOTALL,
)


def too_deep(source: bytes) -> int | None:
    """Return the first line that is nested too deeply for the parser, or ``None``.

    Counts nested brackets, tokens without a comma in between (each operator and call may add a level), and
    branches of an ``if``.
    """
    depth = _Depth()
    for token in _TOKEN.finditer(source):
        depth.take(str(token.lastgroup), token[0])
        if depth.is_over:
            return source.count(b"\n", 0, token.start()) + 1
    return None


class _Depth:
    """Tracks the nesting depth of a token stream."""

    def __init__(self) -> None:
        self._chains = [0]  # per open bracket, the number of tokens since the last comma
        self._total = 0
        self._max_brackets = _BRACKETS
        self._branches: dict[int, int] = {}  # by indentation
        self._indent: int | None = 0
        self.is_over = False

    def take(self, kind: str, text: bytes) -> None:
        if kind == "line" and len(self._chains) == 1:
            self._reset()
            self._indent = len(text.lstrip(b"\r\n"))
        elif kind == "next":
            self._reset()
        elif kind == "close":
            self._reset()
            del self._chains[max(len(self._chains) - 1, 1) :]
        elif kind not in ("line", "blank"):
            self._count(kind, text)

    def _count(self, kind: str, text: bytes) -> None:
        if self._indent is not None:
            self._begin(self._indent, text)
        self._total += 1
        self._chains[-1] += 1
        if kind == "open":
            self._chains.append(0)
        self.is_over |= len(self._chains) > self._max_brackets or self._total > _CHAIN
        if kind == "string" and b"f" in text[:2].lower() and b"{" in text:
            self.is_over |= too_deep(_replacement_fields(text)) is not None

    def _begin(self, indent: int, word: bytes) -> None:
        """Process the first word of a line, which may start a pattern or a branch."""
        self._indent = None
        self._max_brackets = _PATTERN_BRACKETS if word == b"case" else _BRACKETS
        branch = word in (b"elif", b"else")
        self._branches = {
            at: count for at, count in self._branches.items() if at < indent or (at == indent and branch)
        }
        if branch:
            self._branches[indent] = self._branches.get(indent, 0) + 1
        self.is_over |= sum(self._branches.values()) > _BRANCHES

    def _reset(self) -> None:
        self._total -= self._chains[-1]
        self._chains[-1] = 0


def _replacement_fields(text: bytes) -> bytes:
    """Return the replacement fields of an f-string, without its text."""
    depth, kept = 0, []
    for part in re.split(rb"(\{\{|\}\}|[{}])", text):
        inside = depth > 0
        if inside or len(part) == 1:  # outside a field, a doubled brace is literal
            depth = max(0, depth + part.count(b"{") - part.count(b"}"))
        kept.append(part if inside or depth else b",")
    return b"".join(kept)
