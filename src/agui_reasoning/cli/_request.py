"""``request``: build the provider's next request from a client's messages."""

from __future__ import annotations

import sys
from base64 import b64encode
from dataclasses import asdict
from typing import Annotated, Any

import typer

from agui_reasoning._strict_json import Malformed, load
from agui_reasoning.cli._completion import complete_api, complete_provider
from agui_reasoning.cli._output import put, put_json
from agui_reasoning.cli._policy import PolicyFile
from agui_reasoning.cli._report import warn
from agui_reasoning.cli._ring import KeysEnv, KeysFile, TenantOption, key_ring_if_any, not_empty
from agui_reasoning.cli._source import read_file
from agui_reasoning.crypto._keys import DEFAULT_VARIABLE
from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.request import ProviderRequest, build_request

__all__ = ["request"]


def request(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A path, or - for standard input.")],
    api: Annotated[str, typer.Option(autocompletion=complete_api, help="The API of the request.")],
    provider: Annotated[
        str | None,
        typer.Option(
            autocompletion=complete_provider, help="The provider that serves the model, such as openrouter."
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model of the request.")] = None,
    system: Annotated[str | None, typer.Option(help="The system instructions.")] = None,
    thread: Annotated[
        str | None,
        typer.Option(
            "--thread", metavar="ID", help="The thread of messages that do not name one.", callback=not_empty
        ),
    ] = None,
    tenant: TenantOption = "",
    policy: PolicyFile = None,
    keys_env: KeysEnv = DEFAULT_VARIABLE,
    keys_file: KeysFile = None,
    accept_plain: Annotated[
        bool, typer.Option("--accept-plain", help="Accept unencrypted values even though keys are given.")
    ] = False,
    report: Annotated[
        bool, typer.Option("--report", help="Report the outcome of each reasoning unit on stderr.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object with body, flags and report.")
    ] = False,
) -> None:
    """Build the provider's next request from a client's messages, and print its body.

    FILE holds a RunAgentInput, or an array of messages, as a client sends them. Reasoning is restored from
    their encrypted values, using keys if messages. Units that cannot be sent are omitted; --report shows why.
    """
    built = build_request(
        api,
        _read(file),
        provider=provider,
        model=model,
        system=system,
        policy=policy or (),
        keys=key_ring_if_any(keys_env, keys_file),
        thread_id=thread,
        tenant=tenant,
        accept_plain=accept_plain,
        on_warning=warn,
    )
    put_json(_as_json(built) if as_json else built.body, default=_base64)
    if report:
        _print_report(built)


def _read(file: str) -> Any:
    messages = load(read_file(file).decode(errors="replace"))
    if isinstance(messages, Malformed) or not isinstance(messages, dict | list):
        raise RemoteProtocolError(
            "The file is neither a JSON object nor a JSON array.",
            code="bad_input",
            hint="Pass a RunAgentInput, or an array of its messages.",
        )
    return messages


def _base64(value: bytes) -> str:
    """Write bytes as the API itself writes them in JSON; SDKs take them as they are."""
    return b64encode(value).decode()


def _as_json(built: ProviderRequest) -> dict[str, Any]:
    return {
        "body": built.body,
        "flags": [flag.model_dump(mode="json") for flag in built.flags],
        "report": [asdict(entry) for entry in built.report],
    }


def _print_report(built: ProviderRequest) -> None:
    for entry in built.report:
        reason = f" ({entry.reason})" if entry.reason else ""
        put(f"{entry.outcome}{reason}: {entry.unit}", file=sys.stderr)
