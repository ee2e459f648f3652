"""``explain``: print what the documentation says of a finding or of the code of an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from agui_reasoning._catalog import FINDINGS, explained
from agui_reasoning.cli._check_formats import page_of
from agui_reasoning.cli._help import Page
from agui_reasoning.cli._options import complete_explained
from agui_reasoning.cli._output import put_json, put_safe
from agui_reasoning.errors import ConfigurationError, did_you_mean

_ERRORS_PAGE = "docs/reference/errors.md"


def explain(
    code: Annotated[
        str | None,
        typer.Argument(
            metavar="CODE", help="The code; without one, all are listed.", autocompletion=complete_explained
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object: the code, its page and its text.")
    ] = False,
) -> None:
    """Explain a finding of `check`, or the code of an error: what it means and what to do.

    Codes are what `check` reports, what an error of the library has as `code`, what RUN_ERROR carries, and
    what this command prints in brackets.
    """
    if code is None:
        codes = explained()
        return put_json(list(codes)) if as_json else put_safe(_listed(codes))
    text = _text(code)
    if as_json:
        page = page_of(code) if code in FINDINGS else _ERRORS_PAGE
        return put_json({"code": code, "page": page, "text": text})
    return put_safe(text)


def _text(code: str) -> str:
    known = explained()
    if code not in known:
        raise ConfigurationError(
            f"No finding or error has the code {code!r}.",
            code="unknown_code",
            hint=f"{did_you_mean(code, known)}'agui-reasoning explain' lists all codes.",
        )
    page = Page()
    add = {"title": page.title, "heading": page.heading, "text": page.indented, "code": page.verbatim}
    before = ""
    for kind, text in known[code]:
        if kind == before == "text":
            page.blank()
        add[kind](text)
        before = kind
    return page.render()


def _listed(codes: Mapping[str, Sequence[tuple[str, str]]]) -> str:
    page = Page()
    for severity in ("error", "warning"):
        page.heading(f"Findings of 'check': {severity}s")
        page.rows([(code, kind.means) for code, kind in FINDINGS.items() if kind.severity == severity])
    page.heading("Codes of errors")
    page.paragraphs(", ".join(code for code in codes if code not in FINDINGS) + ".")
    return page.render()
