"""The commands, what the help says of each without importing it, and how it is laid out."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rich.text import Text

INTERRUPTED: Final = 130
TERMINATED: Final = 143

EXIT_CODES: Final[Mapping[int, str]] = {
    0: "Success. Also if the reader of the output stops early, as `head` does.",
    1: "The input was read, and breaks a rule: see the command.",
    2: "Wrong usage, or a file that cannot be read or written. One line on standard error ends with a code, "
    "which `agui-reasoning explain CODE` explains.",
    INTERRUPTED: "Ctrl-C (SIGINT).",
    TERMINATED: "SIGTERM.",
}
"""The exit codes of every command; `CommandSpec.exits` says more about a command's own."""

_WIDEST_NAME: Final = 28
_INDENT: Final = "  "
_HEADING = "bold"
_NAME = "cyan"
_OPTIONS = "Options"
_DEFAULT: Final = re.compile(r"\[default: \((.+?)\)")


@dataclass(frozen=True, slots=True)
class Example:
    """What an example does, as a phrase without a period, and its command line for a POSIX shell."""

    does: str
    line: str


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A command.

    Attributes:
        group: Its group in the help.
        summary: The first sentence of its help.
        shown: Examples, the most common one first, a line each: what it does, a ``$`` and the command.
        exits: When it exits with a code, where that differs from `EXIT_CODES`. Without a 1, it never exits
            with 1.
        module: The module of this package that implements it, without the underscore, unless it has the name
            of the command.
    """

    group: str
    summary: str
    shown: str
    exits: Mapping[int, str] = field(default_factory=dict)
    module: str | None = None

    @property
    def examples(self) -> list[Example]:
        rows = (" ".join(row.split()).split(" $ ", 1) for row in self.shown.strip().splitlines())
        return [Example(does, line) for does, line in rows]


_TRY = "Try it"
_SERVE = "Serve"
_INSPECT = "Inspect streams and histories"
_MIGRATE = "Leave THINKING_* behind"
_KEYS = "Encrypt reasoning"

_STOPPED: Final[Mapping[int, str]] = {0: "Stopped by Ctrl-C or SIGTERM."}

COMMANDS: Final[Mapping[str, CommandSpec]] = {
    "demo": CommandSpec(
        _TRY,
        "Play two turns through the gateway, and show what the user sees and what the provider receives "
        "back.",
        """
        play two turns with four providers, offline $ agui-reasoning demo
        print the comparison and the last requests $ agui-reasoning demo --json
        show the events, and the requests in full $ agui-reasoning demo --verbose
        chat with the scripted providers in a browser $ agui-reasoning demo --web
        """,
        {
            0: "Success; with `--web`, stopped by Ctrl-C or SIGTERM.",
            1: "Provider data was changed or lost on the way back.",
        },
    ),
    "serve": CommandSpec(
        _SERVE,
        "Serve an AG-UI endpoint at POST /agent, and a page with a chat and an inspector at GET /.",
        """
        serve scripted responses: no key, no network $ agui-reasoning serve
        serve a model, with the key in a variable $ agui-reasoning serve --api anthropic-messages \
            --base-url https://api.anthropic.com --model claude-sonnet-4-6 --api-key-env ANTHROPIC_API_KEY
        name the provider of an API that several providers share $ agui-reasoning serve --api openai-chat \
            --provider deepseek --base-url https://api.deepseek.com --model deepseek-v4-flash \
            --api-key-env DEEPSEEK_API_KEY
        show summaries only, to a page of another origin \
            $ agui-reasoning serve --visibility summary --allow-origin http://localhost:3000
        """,
        _STOPPED,
    ),
    "proxy": CommandSpec(
        _SERVE,
        "Run a proxy that upgrades the event streams of a running agent.",
        """
        upgrade the streams of a running agent $ agui-reasoning proxy --upstream http://127.0.0.1:8000/agent
        tell the proxy what an old agent cannot read \
            $ agui-reasoning proxy --upstream http://127.0.0.1:8000/agent --agent-version 0.1.10
        """,
        _STOPPED,
        module="serve",
    ),
    "encode": CommandSpec(
        _INSPECT,
        "Convert a provider's stream to AG-UI events (SSE).",
        """
        convert a recorded stream to AG-UI events \
            $ agui-reasoning encode --api anthropic-messages weather.jsonl > run.sse
        check what a client would receive \
            $ agui-reasoning encode --api anthropic-messages weather.jsonl | agui-reasoning check -
        """,
        {
            1: "The provider reported an error, or its stream is invalid or truncated; "
            "the output ends with RUN_ERROR."
        },
        module="exchange",
    ),
    "check": CommandSpec(
        _INSPECT,
        "Verify AG-UI streams, and report valid constructs that real clients mishandle.",
        """
        check a stream $ agui-reasoning check run.sse
        check every stream in a folder, and fail on warnings $ agui-reasoning check --strict runs/
        write a report for a code scanning service $ agui-reasoning check --format sarif runs/ > check.sarif
        check standard input $ agui-reasoning check --ignore missing_version - < run.sse
        """,
        {
            0: "No errors; with `--strict`, no findings.",
            1: "A stream breaks the protocol or is truncated; with `--strict`, any finding.",
        },
    ),
    "explain": CommandSpec(
        _INSPECT,
        "Explain a finding of `check`, or the code of an error: what it means and what to do.",
        """
        explain a finding $ agui-reasoning explain left_open
        explain the code of an error $ agui-reasoning explain truncated_stream
        list all codes $ agui-reasoning explain
        """,
        module="check",
    ),
    "reduce": CommandSpec(
        _INSPECT,
        "Print the messages a client holds after an AG-UI stream.",
        """
        print the messages of a stream $ agui-reasoning reduce run.sse
        save them as JSON $ agui-reasoning reduce --json run.sse > messages.json
        """,
        {1: "The stream breaks the protocol or is truncated; what came before is printed."},
        module="messages",
    ),
    "request": CommandSpec(
        _INSPECT,
        "Build the provider's next request from a client's messages, and print its body.",
        """
        print the body of the next request \
            $ agui-reasoning request --api anthropic-messages --model claude-sonnet-4-6 messages.json
        report what happens to each unit of reasoning at another provider $ agui-reasoning request --api \
            openai-chat --provider deepseek --model deepseek-v4-flash --report messages.json
        """,
        {1: "The input is not a history, or a message in it is malformed."},
        module="exchange",
    ),
    "trace": CommandSpec(
        _INSPECT,
        "Show which reasoning led to which tool call.",
        """
        show the reasoning behind each tool call $ agui-reasoning trace run.sse
        do so for stored messages, as JSON $ agui-reasoning trace --json messages.json
        """,
        {1: "The stream breaks the protocol, or the input is neither a stream nor a history."},
        module="messages",
    ),
    "providers": CommandSpec(
        _INSPECT,
        "Show the echo policy: what each provider does with reasoning that is sent back.",
        """
        show the rules of one provider $ agui-reasoning providers deepseek
        show the rule that applies to a model \
            $ agui-reasoning providers moonshot --api openai-chat --model kimi-k2.6
        match several providers $ agui-reasoning providers 'z*' --json
        """,
    ),
    "upgrade": CommandSpec(
        _MIGRATE,
        "Convert the THINKING_* events of a stream to REASONING_*.",
        """
        convert a stored stream $ agui-reasoning upgrade old.jsonl > new.jsonl
        repair it, and replace the file $ agui-reasoning upgrade --repair --in-place old.jsonl
        """,
        module="translate",
    ),
    "downgrade": CommandSpec(
        _MIGRATE,
        "Convert a stream for an older peer: to THINKING_*, or to the REASONING_* of its version.",
        """
        convert a stream for any older client $ agui-reasoning downgrade run.sse > old.sse
        convert it for a certain version $ agui-reasoning downgrade --peer 0.1.13 run.sse > old.sse
        """,
        {1: "A chunk continues nothing; what came before it is written."},
        module="translate",
    ),
    "migrate": CommandSpec(
        _MIGRATE,
        "Rewrite Python source from THINKING_* events, which AG-UI 1.0 removed, to REASONING_*.",
        """
        print a diff $ agui-reasoning migrate legacy/ > migrate.diff
        change the files $ agui-reasoning migrate --write legacy/
        """,
        {1: "Changes are left to make by hand."},
        module="translate",
    ),
    "keygen": CommandSpec(
        _KEYS,
        "Generate a key and print it as kid:key.",
        """
        generate a key for this shell $ export AGUI_REASONING_KEYS="$(agui-reasoning keygen)"
        name the key $ agui-reasoning keygen --kid 2026-10 > keys.txt
        """,
        module="keys",
    ),
    "encrypt": CommandSpec(
        _KEYS,
        "Encrypt a file for a thread and print the token (a JWE).",
        """
        encrypt a file for a thread \
            $ agui-reasoning encrypt --keys-file keys.txt --thread thread-1 note.json > token.txt
        let the token expire after a day \
            $ agui-reasoning encrypt --keys-file keys.txt --thread thread-1 --ttl-s 86400 note.json
        """,
        module="keys",
    ),
    "decrypt": CommandSpec(
        _KEYS,
        "Decrypt a token and print its content byte for byte; escaped if it goes to a terminal.",
        """
        print the content of a token $ agui-reasoning decrypt --keys-file keys.txt --thread thread-1 token.txt
        read the token from standard input \
            $ agui-reasoning decrypt --keys-file keys.txt --thread thread-1 - < token.txt
        """,
        {1: "The token cannot be decrypted."},
        module="keys",
    ),
    "rekey": CommandSpec(
        _KEYS,
        "Re-encrypt the values of stored histories with the first key of the ring.",
        """
        see what would change $ agui-reasoning rekey --keys-file keys.txt --dry-run histories.jsonl
        change the key of every stored token $ agui-reasoning rekey --keys-file keys.txt histories.jsonl
        """,
        {1: "Some tokens cannot be decrypted."},
        module="keys",
    ),
    "bulk": CommandSpec(
        _KEYS,
        "Work on the stored threads of many files.",
        """
        change the key of a million threads on 16 cores \
            $ agui-reasoning bulk rekey "threads/*.jsonl" rekeyed --workers 16
        count which reasoning could still go back $ agui-reasoning bulk audit "threads/*.jsonl"
        """,
        {1: "Some threads could not be worked on; they are written as they were."},
        module="messages",
    ),
}
"""The commands by name, in the order of the help."""


def exit_codes(name: str) -> dict[int, str]:
    """Return the exit codes of a command and what they mean, except those of signals."""
    own = COMMANDS[name].exits
    return {code: own.get(code, text) for code, text in EXIT_CODES.items() if code in (0, 2) or code in own}


# -- the layout: sections of plain text that fit the terminal


class Page:
    """Text in sections, with styles if the terminal has colors."""

    def __init__(self) -> None:
        from rich.text import Text

        from agui_reasoning.cli._console import new_console

        self._console = new_console()
        self._text: Text = Text()

    def usage(self, line: str) -> None:
        self._text.append("Usage: ", _HEADING).append(f"{line}\n")

    def title(self, text: str) -> None:
        """Add a title, after a blank line unless it comes first."""
        if self._text:
            self.blank()
        self._text.append(f"{text}\n", _HEADING)

    def paragraphs(self, text: str) -> None:
        for paragraph in text.split("\n\n"):
            self._text.append(f"\n{self._filled(paragraph, '')}\n")

    def heading(self, title: str) -> None:
        """Begin a section, after a blank line unless it comes first."""
        self.title(f"{title}:")

    def blank(self) -> None:
        self._text.append("\n")

    def indented(self, text: str) -> None:
        """Add a paragraph below a heading."""
        self._text.append(f"{self._filled(text, _INDENT)}\n")

    def verbatim(self, text: str) -> None:
        """Add lines of code, which are not wrapped."""
        self._text.append(textwrap.indent(f"{text}\n", _INDENT * 2), "dim")

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


def group_help(context: Any) -> str:
    """Return the help of the application: its commands by task."""
    page = Page()
    page.usage(f"{context.command_path} COMMAND [OPTIONS]")
    page.paragraphs(context.command.help)
    width = max(map(len, COMMANDS))
    for group in dict.fromkeys(spec.group for spec in COMMANDS.values()):
        page.heading(group)
        page.rows(
            [(f"{name:<{width}}", spec.summary) for name, spec in COMMANDS.items() if spec.group == group]
        )
    _add_reference(page, context, EXIT_CODES)
    page.paragraphs("'agui-reasoning COMMAND --help' shows the options of a command, with examples.")
    return page.render()


def command_help(name: str, context: Any) -> str:
    """Return the help of a command."""
    page = Page()
    page.usage(usage(context))
    page.paragraphs(context.command.help)
    page.heading("Examples")
    page.examples((example.does, example.line) for example in COMMANDS[name].examples)
    _add_reference(page, context, exit_codes(name))
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


def _add_reference(page: Page, context: Any, codes: Mapping[int, str]) -> None:
    exits = [(str(code), text) for code, text in codes.items()]
    for title, rows in (*options(context).items(), ("Exit codes", exits)):
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
