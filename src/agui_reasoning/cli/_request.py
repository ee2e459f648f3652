"""``request``: a client's messages as the provider's next request."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer

from agui_reasoning._strict_json import Malformed, load
from agui_reasoning.cli._report import warn
from agui_reasoning.cli._ring import KeysEnv, KeysFile, TenantOption, key_ring_if_any, named
from agui_reasoning.cli._source import read_file
from agui_reasoning.crypto._keys import DEFAULT_VARIABLE
from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.request import ProviderRequest, build_request

__all__ = ["request"]


def request(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A path, or - for standard input.")],
    api: Annotated[str, typer.Option(help="The API to write for.")],
    provider: Annotated[str | None, typer.Option(help="Who serves it, such as openrouter.")] = None,
    model: Annotated[str | None, typer.Option(help="The model that is asked.")] = None,
    system: Annotated[str | None, typer.Option(help="Instructions to put first.")] = None,
    thread: Annotated[
        str | None,
        typer.Option("--thread", metavar="ID", help="The thread of messages that name none.", callback=named),
    ] = None,
    tenant: TenantOption = "",
    keys_env: KeysEnv = DEFAULT_VARIABLE,
    keys_file: KeysFile = None,
    accept_plain: Annotated[
        bool, typer.Option("--accept-plain", help="Read values that are not encrypted in spite of the keys.")
    ] = False,
    report: Annotated[
        bool, typer.Option("--report", help="Say on stderr what became of each reasoning unit.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object with body, flags and report.")
    ] = False,
) -> None:
    """Write a client's messages as the provider's next request, and print its body.

    FILE holds a RunAgentInput, or an array of messages, as a client sends them. What must come back is taken
    from their encrypted values, with keys if there are any; what cannot be sent is left out, with a reason.
    """
    built = build_request(
        api,
        _read(file),
        provider=provider,
        model=model,
        system=system,
        keys=key_ring_if_any(keys_env, keys_file),
        thread_id=thread,
        tenant=tenant,
        accept_plain=accept_plain,
        on_warning=warn,
    )
    print(json.dumps(_whole(built) if as_json else built.body, indent=2))
    if report:
        _tell(built)


def _read(file: str) -> Any:
    given = load(read_file(file).decode(errors="replace"))
    if isinstance(given, Malformed) or not isinstance(given, dict | list):
        raise RemoteProtocolError(
            "The file is neither a JSON object nor a JSON array.",
            code="bad_input",
            hint="Give a RunAgentInput, or an array of its messages.",
        )
    return given


def _whole(built: ProviderRequest) -> dict[str, Any]:
    return {
        "body": built.body,
        "flags": [flag.model_dump(mode="json") for flag in built.flags],
        "report": [asdict(entry) for entry in built.report],
    }


def _tell(built: ProviderRequest) -> None:
    for entry in built.report:
        reason = f" ({entry.reason})" if entry.reason else ""
        print(f"{entry.outcome}{reason}: {entry.unit}", file=sys.stderr)
