"""``serve``: run the gateway."""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agui_reasoning._scripted import names
from agui_reasoning._strict_json import load
from agui_reasoning.cli._base_urls import base_url_of
from agui_reasoning.cli._completion import complete_api, complete_provider
from agui_reasoning.cli._logs import log_to_stderr
from agui_reasoning.cli._output import put
from agui_reasoning.cli._policy import PolicyFile
from agui_reasoning.cli._report import warn
from agui_reasoning.cli._ring import KeysEnv, KeysFile, key_ring_if_any
from agui_reasoning.cli._source import read_file
from agui_reasoning.crypto import KeyRing
from agui_reasoning.crypto._keys import DEFAULT_VARIABLE
from agui_reasoning.emitter.stages import Steps
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.parts import EFFORTS
from agui_reasoning.providers import provider_api, provider_apis
from agui_reasoning.providers.registry import API_IDS, vendor_of

# The gateway is imported on first use: the other commands work without the extra `server`.
if TYPE_CHECKING:
    from agui_reasoning.gateway import Upstream

__all__ = ["serve"]

_REPLAY = "replay"
_PORT = 8000
_PROVIDER = "Provider (--api, --base-url and --model are mandatory, except --base-url for xai-grpc)"
_REPLAYS = "Replay"
_CALLERS = "Callers"
_REASONING = "Reasoning"


_SERVED = tuple(api.id for api in provider_apis() if api.http is not None or api.upstream is not None)


class VisibilityChoice(StrEnum):
    """The choices of ``--visibility``."""

    full = "full"
    summary = "summary"
    hidden = "hidden"


class InstructionsChoice(StrEnum):
    """The choices of ``--client-instructions``."""

    keep = "keep"
    drop = "drop"


def serve(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen on; 0 picks a free one.")
    ] = _PORT,
    host: Annotated[str, typer.Option(help="The host name or address to listen on.")] = "127.0.0.1",
    upstream: Annotated[
        str | None,
        typer.Option(
            metavar="UPSTREAM",
            help="What to replay: replay, replay:FILE or replay:SCRIPT, such as replay:gemini-weather.",
            show_default=_REPLAY,
            rich_help_panel=_REPLAYS,
        ),
    ] = None,
    api: Annotated[
        str | None,
        typer.Option(
            autocompletion=complete_api,
            help=f"The provider's API: one of {', '.join(_SERVED)}.",
            rich_help_panel=_PROVIDER,
        ),
    ] = None,
    provider: Annotated[
        str | None,
        typer.Option(
            autocompletion=complete_provider,
            help="The provider that serves the model; mandatory for openai-chat. 'agui-reasoning providers' "
            "lists the known ones, and another name is allowed.",
            rich_help_panel=_PROVIDER,
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(help="The base URL, as the vendor's SDK takes it.", rich_help_panel=_PROVIDER),
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model's name.", rich_help_panel=_PROVIDER)] = None,
    api_key_env: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The environment variable that holds the API key.", rich_help_panel=_PROVIDER
        ),
    ] = None,
    system: Annotated[
        str | None, typer.Option(help="The system instructions.", rich_help_panel=_PROVIDER)
    ] = None,
    parameters: Annotated[
        str | None,
        typer.Option(
            metavar="JSON", help="Additional request fields, as an object.", rich_help_panel=_PROVIDER
        ),
    ] = None,
    starts_in_reasoning: Annotated[
        bool,
        typer.Option(
            "--starts-in-reasoning",
            help="Answers start inside reasoning: the prompt template has the opening tag.",
            rich_help_panel=_PROVIDER,
        ),
    ] = False,
    retry_poisoned: Annotated[
        bool,
        typer.Option(
            "--retry-poisoned/--no-retry-poisoned",
            help="Ask once more, without it, if the provider refuses reasoning in a request.",
            rich_help_panel=_PROVIDER,
        ),
    ] = True,
    visibility: Annotated[
        VisibilityChoice,
        typer.Option(
            metavar="full|summary|hidden",
            help="How much of the reasoning is shown.",
            rich_help_panel=_REASONING,
        ),
    ] = VisibilityChoice.full,
    keys_env: KeysEnv = DEFAULT_VARIABLE,
    policy: PolicyFile = None,
    steps: Annotated[
        bool, typer.Option("--steps", help="Emit STEP events around reasoning.", rich_help_panel=_REASONING)
    ] = False,
    delay_ms: Annotated[
        int,
        typer.Option(
            min=0,
            help="The delay before each replayed payload, in milliseconds.",
            rich_help_panel=_REPLAYS,
        ),
    ] = 0,
    keys_file: KeysFile = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN", help="An origin whose pages may call the gateway.", rich_help_panel=_CALLERS
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="An additional host name to accept.", rich_help_panel=_CALLERS),
    ] = None,
    allow_file_ids: Annotated[
        bool,
        typer.Option(
            "--allow-file-ids",
            help="Let callers refer to files stored at the provider.",
            rich_help_panel=_CALLERS,
        ),
    ] = False,
    client_instructions: Annotated[
        InstructionsChoice,
        typer.Option(
            metavar="keep|drop",
            help="What happens to messages of callers with the roles system and developer.",
            rich_help_panel=_CALLERS,
        ),
    ] = InstructionsChoice.keep,
    allow_reasoning_request: Annotated[
        str | None,
        typer.Option(
            metavar="all|LOWEST..HIGHEST",
            help="Let callers choose effort and display, with efforts such as low..high.",
            rich_help_panel=_CALLERS,
        ),
    ] = None,
    page: Annotated[bool, typer.Option("--page/--no-page", help="Serve the page at GET /.")] = True,
) -> None:
    """Serve an AG-UI endpoint at POST /agent, and a page with a chat and an inspector at GET /.

    The upstream "replay" plays scripted provider streams; "replay:FILE" plays one recording (an object with
    "api", and "events" or "response") for every request. Neither needs an API key or network access. Pass
    --api to call a provider instead. Stops on Ctrl-C.
    """
    from agui_reasoning.gateway import create_app, listen, url_of
    from agui_reasoning.gateway import serve as serve_app

    options = {
        "--api": api,
        "--provider": provider,
        "--base-url": base_url,
        "--model": model,
        "--api-key-env": api_key_env,
        "--system": system,
        "--parameters": parameters,
    }
    given = {name: value for name, value in options.items() if value is not None}
    spec = upstream or _REPLAY
    log_to_stderr()
    chosen = (
        _provider(given, retry_poisoned) if _is_provider(given, upstream) else _replay(spec, delay_ms / 1000)
    )
    app = create_app(
        chosen,
        stages=(Steps(),) if steps else (),
        allow_file_ids=allow_file_ids,
        client_instructions=client_instructions.value,
        allow_reasoning_request=_allowed(allow_reasoning_request),
        starts_in_reasoning=starts_in_reasoning,
        visibility=visibility.value,
        keys=_keys(
            keys_env, keys_file, shows_all=visibility is VisibilityChoice.full and not allow_reasoning_request
        ),
        policy=policy or (),
        allowed_hosts=[host, *(allow_host or ())],
        allowed_origins=allow_origin or (),
        page=page,
    )
    listening = listen(host, port)
    ready = f"agui-reasoning gateway ({chosen.name if given else spec}) at {url_of(listening)}"
    serve_app(app, listening, on_ready=lambda: put(ready))


def _keys(name: str, path: str | None, *, shows_all: bool) -> KeyRing | None:
    """Load the keys; without any, hidden reasoning is encrypted with a temporary key."""
    ring = key_ring_if_any(name, path)
    if ring is not None or shows_all:
        return ring
    warn(f"{name} is not set: hidden reasoning is lost when this gateway stops. Generate a key with keygen.")
    return KeyRing.generate()


def _allowed(text: str | None) -> Any:
    """Return the bounds of the effort that callers can choose, which `create_app` checks."""
    if text is None or text == "all":
        return text is not None
    lowest, separator, highest = text.partition("..")
    if not (separator and {lowest, highest} <= set(EFFORTS)):
        raise ConfigurationError(
            f"The value {text!r} of --allow-reasoning-request is not known.",
            code="wrong_option",
            hint=f"Use all, or two of {', '.join(EFFORTS)}, as in low..high.",
        )
    return lowest, highest


def _is_provider(given: Mapping[str, str], upstream: str | None) -> bool:
    """Return whether the options select a provider instead of a replay."""
    if given and upstream is not None:
        raise ConfigurationError(
            f"--upstream and {next(iter(given))} exclude each other.",
            code="wrong_option",
            hint="Use a replay, or a provider with --api.",
        )
    return bool(given)


def _needs_provider(api: str | None) -> bool:
    """Return whether several vendors serve an API; unknown APIs are rejected later."""
    return api in API_IDS and vendor_of(api) is None


def _sdk_upstream(api: str | None) -> str | None:
    """Return the name of the upstream of an API that is called through the vendor's SDK."""
    return provider_api(api).upstream if api in API_IDS else None


def _provider(given: Mapping[str, str], retry_poisoned: bool) -> Upstream:
    from agui_reasoning import gateway
    from agui_reasoning.gateway._http import endpoint_of

    sdk = _sdk_upstream(given.get("--api"))
    if "--api" in given and sdk is None:
        endpoint_of(given["--api"], given.get("--provider"))
    required = ("--api", "--model") if sdk else ("--api", "--base-url", "--model")
    missing = [name for name in required if name not in given]
    if "--provider" not in given and _needs_provider(given.get("--api")):
        missing.append("--provider")  # these vendors expect reasoning back in different forms
    if missing:
        raise ConfigurationError(
            f"Missing options for a provider: {', '.join(missing)}.",
            code="missing_option",
            hint=f"For example: {_complete(given)}.",
        )
    options: dict[str, Any] = {
        "model": given["--model"],
        "api_key": _key(given.get("--api-key-env")),
        "system": given.get("--system"),
        "parameters": _parameters(given.get("--parameters")),
    }
    address: dict[str, Any] = {"base_url": given["--base-url"]} if "--base-url" in given else {}
    if sdk is None:
        options |= {"provider": given.get("--provider"), "retry_poisoned": retry_poisoned}
        return gateway.HTTPUpstream(given["--api"], **address, **options)
    if given.get("--provider", vendor_of(given["--api"])) != vendor_of(given["--api"]):
        raise ConfigurationError(
            f"--api {given['--api']} is only served by the provider {vendor_of(given['--api'])}.",
            code="wrong_option",
            hint="Leave --provider out.",
        )
    upstream: Upstream = getattr(gateway, sdk)(**address, **options)
    return upstream


def _complete(given: Mapping[str, str]) -> str:
    """Return the options for a provider, with examples for what is missing."""
    api = given.get("--api", "anthropic-messages")
    provider = given.get("--provider", "openai" if _needs_provider(api) else None)
    words = ["--api", api]
    if provider is not None:
        words += ["--provider", provider]
    if _sdk_upstream(api) is None:
        words += ["--base-url", given.get("--base-url", base_url_of(api, provider))]
    return " ".join([*words, "--model", given.get("--model", "NAME")])


def _key(name: str | None) -> str | None:
    """Read the API key from an environment variable; self-hosted servers may need none."""
    if name is None:
        return None
    key = os.environ.get(name, "").strip()
    if not key:
        # The message omits the name, because users may pass the key itself by mistake.
        raise ConfigurationError(
            "The environment variable that --api-key-env names is not set.",
            code="missing_key",
            hint="Export the key under a name of your choice, and pass that name: --api-key-env MY_API_KEY.",
        )
    return key


def _parameters(text: str | None) -> Mapping[str, Any] | None:
    if text is None:
        return None
    if isinstance(parameters := load(text), Mapping):
        return parameters
    raise ConfigurationError(
        "The value of --parameters is not a JSON object.",
        code="bad_parameter",
        hint="""Write it like --parameters '{"max_tokens": 8192}'.""",
    )


def _replay(spec: str, delay_s: float) -> Upstream:
    from agui_reasoning.gateway import ReplayUpstream

    kind, _, name = spec.partition(":")
    if kind != _REPLAY or spec == f"{_REPLAY}:":
        raise ConfigurationError(
            f"Unknown upstream {spec!r}.",
            code="unknown_upstream",
            hint="Use replay, replay:SCRIPT or replay:FILE.",
        )
    if not name:
        return ReplayUpstream(delay_s=delay_s)
    if name in names():
        return ReplayUpstream(name, delay_s=delay_s)
    if not os.path.exists(name):
        raise ConfigurationError(
            f"No file or script is named {name!r}.",
            code="unknown_upstream",
            hint=f"Scripts: {', '.join(names())}.",
        )
    return ReplayUpstream(load(read_file(name).decode(errors="replace")), delay_s=delay_s)
