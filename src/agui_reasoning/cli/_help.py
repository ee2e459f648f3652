"""The help of the commands, as sections of plain text that fit the terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, Final

from rich.text import Text

from agui_reasoning._demo.screen import stdout_console
from agui_reasoning.cli._commands import COMMANDS, EXIT_CODES, exit_codes

__all__ = ["command_help", "group_help", "options", "summary", "usage"]

_WIDEST_NAME: Final = 28
_INDENT: Final = "  "
_HEADING = "bold"
_NAME = "cyan"
_OPTIONS = "Options"
_DEFAULT: Final = re.compile(r"\[default: \((.+?)\)")


class _Page:
    """Text in sections, with styles if the terminal has colors."""

    def __init__(self) -> None:
        self._console = stdout_console()
        self._text = Text()

    def usage(self, line: str) -> None:
        """Add the usage."""
        self._text.append("Usage: ", _HEADING).append(f"{line}\n")

    def paragraphs(self, text: str) -> None:
        """Add paragraphs."""
        for paragraph in text.split("\n\n"):
            self._text.append(f"\n{self._filled(paragraph, '')}\n")

    def heading(self, title: str) -> None:
        """Begin a section."""
        self._text.append(f"\n{title}:\n", _HEADING)

    def rows(self, rows: Sequence[tuple[str, str]]) -> None:
        """Add rows of a name and what it does; long names have a line of their own."""
        width = max((len(name) for name, _ in rows if len(name) <= _WIDEST_NAME), default=0)
        blank = _INDENT + " " * (width + 2)
        for name, does in rows:
            filled = self._filled(does, blank)
            self._text.append(f"{_INDENT}{name:<{width}}", _NAME)
            self._text.append(f"\n{filled}\n" if len(name) > width else f"  {filled[len(blank) :]}\n")

    def examples(self, rows: Iterable[tuple[str, str]]) -> None:
        """Add examples, each a comment and a command that is not wrapped."""
        for does, line in rows:
            self._text.append(f"{_INDENT}# {does}\n", "dim")
            self._text.append(f"{_INDENT}$ {line}\n")

    def render(self) -> str:
        """Return the page."""
        with self._console.capture() as captured:
            self._console.print(self._text, soft_wrap=True, end="")
        return captured.get()

    def _filled(self, text: str, indent: str) -> str:
        return textwrap.fill(
            " ".join(text.replace("`", "'").split()),
            self._console.width,
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )


def group_help(context: Any, listed: Iterable[tuple[str, str]]) -> str:
    """Return the help of the application: its commands by task.

    Args:
        context: The context of the application.
        listed: Each command with its summary.
    """
    page = _Page()
    page.usage(f"{context.command_path} COMMAND [OPTIONS]")
    page.paragraphs(context.command.help)
    summaries, width = dict(listed), max(map(len, COMMANDS))
    for group in dict.fromkeys(spec.group for spec in COMMANDS.values()):
        page.heading(group)
        names = [name for name, spec in COMMANDS.items() if spec.group == group]
        page.rows([(f"{name:<{width}}", summaries[name]) for name in names])
    _add_options(page, context)
    page.heading("Exit codes")
    page.rows([(str(code), text) for code, text in EXIT_CODES.items()])
    page.paragraphs("'agui-reasoning COMMAND --help' shows the options of a command, with examples.")
    return page.render()


def command_help(name: str, context: Any) -> str:
    """Return the help of a command."""
    page = _Page()
    page.usage(usage(context))
    page.paragraphs(context.command.help)
    page.heading("Examples")
    page.examples((example.does, example.line) for example in COMMANDS[name].examples)
    _add_options(page, context)
    page.heading("Exit codes")
    page.rows([(str(code), text) for code, text in exit_codes(name).items()])
    return page.render()


def usage(context: Any) -> str:
    """Return the usage of a command: mandatory options and arguments are spelled out."""
    params = context.command.get_params(context)
    needed = [param for param in params if _is_option(param) and param.required]
    words = [f"{param.opts[0]} {_value(param)}" for param in needed]
    names = [_argument(param) for param in params if not _is_option(param)]
    return " ".join([context.command_path, *words, "[OPTIONS]", *names])


def options(context: Any) -> dict[str, list[tuple[str, str]]]:
    """Return the rows of each section: arguments, then groups of options."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for param in context.command.get_params(context):
        if getattr(param, "hidden", False):
            continue
        if _is_option(param):
            title = getattr(param, "rich_help_panel", None) or _OPTIONS
            name = " / ".join([*param.opts, *param.secondary_opts])
            name = name if param.is_flag else f"{name} {_value(param)}"
        else:
            title, name = "Arguments", _argument(param)
        sections.setdefault(title, []).append((name, _help(param, context)))
    # Groups of their own come before what all commands have.
    return dict(sorted(sections.items(), key=lambda section: section[0] == _OPTIONS))


def summary(command: Any) -> str:
    """Return the first sentence of the help of a command."""
    return str(command.help).partition("\n\n")[0]


def _add_options(page: _Page, context: Any) -> None:
    for title, rows in options(context).items():
        page.heading(title)
        page.rows(rows)


def _is_option(param: Any) -> bool:
    return bool(param.param_type_name == "option")


def _argument(param: Any) -> str:
    name = param.metavar or param.name.upper()
    return name if param.required else f"[{name}]"


def _value(param: Any) -> str:
    """Return the placeholder of an option's value; ``--base-url`` takes a ``BASE_URL``."""
    return str(param.metavar or param.opts[0].lstrip("-").replace("-", "_").upper())


def _help(param: Any, context: Any) -> str:
    """Return the help of an option with its default."""
    record = param.get_help_record(context)
    return _DEFAULT.sub(r"[default: \1", " ".join(record[1].split())) if record else ""
