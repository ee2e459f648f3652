"""The commands: their modules, groups, examples and exit codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

__all__ = [
    "COMMANDS",
    "EXIT_CODES",
    "INTERRUPTED",
    "TERMINATED",
    "CommandSpec",
    "Example",
    "exit_codes",
]

INTERRUPTED: Final = 130
TERMINATED: Final = 143

EXIT_CODES: Final[Mapping[int, str]] = {
    0: "Success. Also if the reader of the output stops early, as `head` does.",
    1: "The input was read, and breaks a rule: see the command.",
    2: "Wrong usage, or a file that cannot be read or written. One line on standard error ends with a code.",
    INTERRUPTED: "Ctrl-C (SIGINT).",
    TERMINATED: "SIGTERM.",
}
"""The exit codes of every command; `CommandSpec.exits` says more about a command's own."""

_TOKENS_LEFT = "Some tokens cannot be decrypted."
_BROKEN = "The stream breaks the protocol or is truncated; what came before is printed."
_STOPPED: Final[Mapping[int, str]] = {0: "Stopped by Ctrl-C or SIGTERM."}


@dataclass(frozen=True, slots=True)
class Example:
    """An example of a command.

    Attributes:
        does: What it does, as a phrase without a period.
        line: The command line, for a POSIX shell.
    """

    does: str
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSpec:
    """A command.

    Attributes:
        module: The module of this package that implements it, without the underscore.
        group: Its group in the help.
        examples: Examples, the most common one first.
        exits: When it exits with a code, where that differs from `EXIT_CODES`. Without a 1, it never exits
            with 1.
    """

    module: str
    group: str
    examples: tuple[Example, ...]
    exits: Mapping[int, str] = field(default_factory=dict)


_TRY = "Try it"
_SERVE = "Serve"
_INSPECT = "Inspect streams and histories"
_MIGRATE = "Leave THINKING_* behind"
_KEYS = "Encrypt reasoning"

COMMANDS: Final[Mapping[str, CommandSpec]] = {
    "demo": CommandSpec(
        module="demo",
        group=_TRY,
        exits={
            0: "Success; with `--web`, stopped by Ctrl-C or SIGTERM.",
            1: "Provider data was changed or lost on the way back.",
        },
        examples=(
            Example("play two turns with four providers, offline", "agui-reasoning demo"),
            Example("play one API", "agui-reasoning demo --api gemini"),
            Example("print the comparison and the last requests", "agui-reasoning demo --json"),
            Example("chat with the scripted providers in a browser", "agui-reasoning demo --web"),
        ),
    ),
    "serve": CommandSpec(
        module="serve",
        group=_SERVE,
        exits=_STOPPED,
        examples=(
            Example("serve scripted responses: no key, no network", "agui-reasoning serve"),
            Example(
                "serve a model, with the key in a variable",
                "agui-reasoning serve --api anthropic-messages --base-url https://api.anthropic.com "
                "--model claude-sonnet-4-6 --api-key-env ANTHROPIC_API_KEY",
            ),
            Example(
                "name the provider of an API that several providers share",
                "agui-reasoning serve --api openai-chat --provider deepseek "
                "--base-url https://api.deepseek.com --model deepseek-v4-flash "
                "--api-key-env DEEPSEEK_API_KEY",
            ),
            Example(
                "show summaries only, to a page of another origin",
                "agui-reasoning serve --visibility summary --allow-origin http://localhost:3000",
            ),
        ),
    ),
    "proxy": CommandSpec(
        module="proxy",
        group=_SERVE,
        exits=_STOPPED,
        examples=(
            Example(
                "upgrade the streams of a running agent",
                "agui-reasoning proxy --upstream http://127.0.0.1:8000/agent",
            ),
            Example(
                "tell the proxy what an old agent cannot read",
                "agui-reasoning proxy --upstream http://127.0.0.1:8000/agent --agent-version 0.1.10",
            ),
        ),
    ),
    "encode": CommandSpec(
        module="encode",
        group=_INSPECT,
        exits={
            1: "The provider reported an error, or its stream is invalid or truncated; "
            "the output ends with RUN_ERROR."
        },
        examples=(
            Example(
                "convert a recorded stream to AG-UI events",
                "agui-reasoning encode --api anthropic-messages weather.jsonl > run.sse",
            ),
            Example(
                "check what a client would receive",
                "agui-reasoning encode --api anthropic-messages weather.jsonl | agui-reasoning check -",
            ),
        ),
    ),
    "check": CommandSpec(
        module="check",
        group=_INSPECT,
        exits={
            0: "No errors; with `--strict`, no findings.",
            1: "A stream breaks the protocol or is truncated; with `--strict`, any finding.",
        },
        examples=(
            Example("check a stream", "agui-reasoning check run.sse"),
            Example(
                "check every stream in a folder, and fail on warnings", "agui-reasoning check --strict runs/"
            ),
            Example(
                "write a report for a code scanning service",
                "agui-reasoning check --format sarif runs/ > check.sarif",
            ),
            Example("check standard input", "agui-reasoning check --ignore missing_version - < run.sse"),
        ),
    ),
    "reduce": CommandSpec(
        module="reduce",
        group=_INSPECT,
        exits={1: _BROKEN},
        examples=(
            Example("print the messages of a stream", "agui-reasoning reduce run.sse"),
            Example("save them as JSON", "agui-reasoning reduce --json run.sse > messages.json"),
        ),
    ),
    "request": CommandSpec(
        module="request",
        group=_INSPECT,
        exits={1: "The input is not a history, or a message in it is malformed."},
        examples=(
            Example(
                "print the body of the next request",
                "agui-reasoning request --api anthropic-messages --model claude-sonnet-4-6 messages.json",
            ),
            Example(
                "report what happens to each unit of reasoning at another provider",
                "agui-reasoning request --api openai-chat --provider deepseek --model deepseek-v4-flash "
                "--report messages.json",
            ),
        ),
    ),
    "trace": CommandSpec(
        module="trace",
        group=_INSPECT,
        exits={1: "The stream breaks the protocol, or the input is neither a stream nor a history."},
        examples=(
            Example("show the reasoning behind each tool call", "agui-reasoning trace run.sse"),
            Example("do so for stored messages, as JSON", "agui-reasoning trace --json messages.json"),
        ),
    ),
    "providers": CommandSpec(
        module="providers",
        group=_INSPECT,
        examples=(
            Example("show the rules of one provider", "agui-reasoning providers deepseek"),
            Example(
                "show the rule that applies to a model",
                "agui-reasoning providers moonshot --api openai-chat --model kimi-k2.6",
            ),
            Example("match several providers", "agui-reasoning providers 'z*' --json"),
        ),
    ),
    "upgrade": CommandSpec(
        module="upgrade",
        group=_MIGRATE,
        examples=(
            Example("convert a stored stream", "agui-reasoning upgrade old.jsonl > new.jsonl"),
            Example(
                "repair it, and replace the file", "agui-reasoning upgrade --repair --in-place old.jsonl"
            ),
        ),
    ),
    "downgrade": CommandSpec(
        module="downgrade",
        group=_MIGRATE,
        exits={1: "A chunk continues nothing; what came before it is written."},
        examples=(
            Example("convert a stream for any older client", "agui-reasoning downgrade run.sse > old.sse"),
            Example(
                "convert it for a certain version", "agui-reasoning downgrade --peer 0.1.13 run.sse > old.sse"
            ),
        ),
    ),
    "migrate": CommandSpec(
        module="migrate",
        group=_MIGRATE,
        exits={1: "Changes are left to make by hand."},
        examples=(
            Example("print a diff", "agui-reasoning migrate legacy/ > migrate.diff"),
            Example("change the files", "agui-reasoning migrate --write legacy/"),
        ),
    ),
    "keygen": CommandSpec(
        module="keys",
        group=_KEYS,
        examples=(
            Example("generate a key for this shell", 'export AGUI_REASONING_KEYS="$(agui-reasoning keygen)"'),
            Example("name the key", "agui-reasoning keygen --kid 2026-10 > keys.txt"),
        ),
    ),
    "encrypt": CommandSpec(
        module="keys",
        group=_KEYS,
        examples=(
            Example(
                "encrypt a file for a thread",
                "agui-reasoning encrypt --keys-file keys.txt --thread thread-1 note.json > token.txt",
            ),
            Example(
                "let the token expire after a day",
                "agui-reasoning encrypt --keys-file keys.txt --thread thread-1 --ttl-s 86400 note.json",
            ),
        ),
    ),
    "decrypt": CommandSpec(
        module="keys",
        group=_KEYS,
        exits={1: "The token cannot be decrypted."},
        examples=(
            Example(
                "print the content of a token",
                "agui-reasoning decrypt --keys-file keys.txt --thread thread-1 token.txt",
            ),
            Example(
                "read the token from standard input",
                "agui-reasoning decrypt --keys-file keys.txt --thread thread-1 - < token.txt",
            ),
        ),
    ),
    "rekey": CommandSpec(
        module="rekey",
        group=_KEYS,
        exits={1: _TOKENS_LEFT},
        examples=(
            Example(
                "see what would change",
                "agui-reasoning rekey --keys-file keys.txt --dry-run histories.jsonl",
            ),
            Example(
                "change the key of every stored token",
                "agui-reasoning rekey --keys-file keys.txt histories.jsonl",
            ),
        ),
    ),
}
"""The commands by name, in the order of the help."""


def exit_codes(name: str) -> dict[int, str]:
    """Return the exit codes of a command and what they mean, except those of signals."""
    own = COMMANDS[name].exits
    return {code: own.get(code, text) for code, text in EXIT_CODES.items() if code in (0, 2) or code in own}
