"""``serve``: run the gateway. ``proxy``: upgrade the streams of a running agent that emits THINKING_*."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal
from urllib.parse import urlsplit

import typer

from agui_reasoning._escaping import escaped
from agui_reasoning._strict_json import load
from agui_reasoning.cli._app import (
    KeysEnv,
    KeysFile,
    PolicyFile,
    complete_api,
    complete_provider,
    key_ring_if_any,
)
from agui_reasoning.cli._files import read_file
from agui_reasoning.cli._output import put, warn
from agui_reasoning.cli._translate import KeepTitle, Repair
from agui_reasoning.crypto import DEFAULT_VARIABLE, KeyRing
from agui_reasoning.emitter.stages import Steps
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.parts import EFFORTS
from agui_reasoning.providers import provider_api, provider_apis
from agui_reasoning.providers.registry import API_IDS, vendor_of
from agui_reasoning.providers.vendors import canonical
from agui_reasoning.replay import script_names

# The gateway is imported on first use: the other commands work without the extra `server`.
if TYPE_CHECKING:
    from agui_reasoning.durable import Runs
    from agui_reasoning.gateway import Upstream

_REPLAY = "replay"
_of_provider = partial(
    typer.Option,
    rich_help_panel="Provider (--api, --base-url and --model are mandatory, except --base-url for xai-grpc)",
)
_of_replay = partial(typer.Option, rich_help_panel="Replay")
_of_callers = partial(typer.Option, rich_help_panel="Callers")
_of_reasoning = partial(typer.Option, rich_help_panel="Reasoning")
_SERVED = tuple(api.id for api in provider_apis() if api.http is not None or api.upstream is not None)

_GOOGLE: Final = "https://aiplatform.googleapis.com/v1/projects/P/locations/global"
_BEDROCK: Final = "https://bedrock-runtime.us-east-1.amazonaws.com"

# Those of openai-chat are what pydantic-ai 2.68 uses; the others are in the how-to of the gateway.
BASE_URLS: Final[Mapping[tuple[str, str], str]] = {
    ("anthropic-messages", "anthropic"): "https://api.anthropic.com",
    ("anthropic-messages", "bedrock"): _BEDROCK,
    ("anthropic-messages", "bedrock-mantle"): "https://bedrock-mantle.us-east-1.api.aws/anthropic",
    ("anthropic-messages", "google-vertex"): f"{_GOOGLE}/publishers/anthropic",
    ("bedrock-converse", "bedrock"): _BEDROCK,
    ("cohere-chat", "cohere"): "https://api.cohere.com",
    ("gemini", "google"): "https://generativelanguage.googleapis.com",
    ("gemini", "google-vertex"): f"{_GOOGLE}/publishers/google",
    ("gemini-interactions", "google"): "https://generativelanguage.googleapis.com",
    ("mistral-chat", "mistral"): "https://api.mistral.ai",
    ("ollama", "ollama"): "http://localhost:11434",
    ("openai-chat", "cerebras"): "https://api.cerebras.ai/v1",
    ("openai-chat", "deepseek"): "https://api.deepseek.com",
    ("openai-chat", "fireworks"): "https://api.fireworks.ai/inference/v1",
    ("openai-chat", "google-vertex"): f"{_GOOGLE}/endpoints/openapi",
    ("openai-chat", "groq"): "https://api.groq.com/openai/v1",
    ("openai-chat", "moonshot"): "https://api.moonshot.ai/v1",
    ("openai-chat", "ollama"): "http://localhost:11434/v1",
    ("openai-chat", "openai"): "https://api.openai.com/v1",
    ("openai-chat", "openrouter"): "https://openrouter.ai/api/v1",
    ("openai-chat", "together"): "https://api.together.xyz/v1",
    ("openai-chat", "vercel-gateway"): "https://ai-gateway.vercel.sh/v1",
    ("openai-chat", "zai"): "https://api.z.ai/api/paas/v4",
    ("openai-chat", "zai-coding-plan"): "https://api.z.ai/api/coding/paas/v4",
    ("openai-responses", "openai"): "https://api.openai.com/v1",
}
"""Base URLs to suggest for ``serve --base-url``, in the form that the vendor's SDK takes them."""


def serve(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen on; 0 picks a free one.")
    ] = 8000,
    host: Annotated[str, typer.Option(help="The host name or address to listen on.")] = "127.0.0.1",
    upstream: Annotated[
        str | None,
        _of_replay(
            metavar="UPSTREAM",
            help="What to replay: replay, replay:FILE or replay:SCRIPT, such as replay:gemini-weather.",
            show_default=_REPLAY,
        ),
    ] = None,
    api: Annotated[
        str | None,
        _of_provider(autocompletion=complete_api, help=f"The provider's API: one of {', '.join(_SERVED)}."),
    ] = None,
    provider: Annotated[
        str | None,
        _of_provider(
            autocompletion=complete_provider,
            help="The provider that serves the model; mandatory for openai-chat. 'agui-reasoning providers' "
            "lists the known ones, and another name is allowed.",
        ),
    ] = None,
    base_url: Annotated[str | None, _of_provider(help="The base URL, as the vendor's SDK takes it.")] = None,
    model: Annotated[str | None, _of_provider(help="The model's name.")] = None,
    account: Annotated[
        str | None,
        _of_provider(
            help="The account of the API key; what only another one reads is not sent. Kept as a hash."
        ),
    ] = None,
    api_key_env: Annotated[
        str | None, _of_provider(metavar="NAME", help="The environment variable that holds the API key.")
    ] = None,
    system: Annotated[str | None, _of_provider(help="The system instructions.")] = None,
    parameters: Annotated[
        str | None, _of_provider(metavar="JSON", help="Additional request fields, as an object.")
    ] = None,
    starts_in_reasoning: Annotated[
        bool,
        _of_provider(
            "--starts-in-reasoning",
            help="Answers start inside reasoning: the prompt template has the opening tag.",
        ),
    ] = False,
    retry_without_reasoning: Annotated[
        bool,
        _of_provider(
            "--retry-without-reasoning/--no-retry-without-reasoning",
            help="Ask once more, without it, if the provider refuses reasoning in a request.",
        ),
    ] = True,
    visibility: Annotated[
        Literal["full", "summary", "hidden"],
        _of_reasoning(metavar="full|summary|hidden", help="How much of the reasoning is shown."),
    ] = "full",
    keys_env: KeysEnv = DEFAULT_VARIABLE,
    policy: PolicyFile = None,
    steps: Annotated[bool, _of_reasoning("--steps", help="Emit STEP events around reasoning.")] = False,
    delay_ms: Annotated[
        int, _of_replay(min=0, help="The delay before each replayed payload, in milliseconds.")
    ] = 0,
    keys_file: KeysFile = None,
    allow_origin: Annotated[
        list[str] | None, _of_callers(metavar="ORIGIN", help="An origin whose pages may call the gateway.")
    ] = None,
    allow_host: Annotated[
        list[str] | None, _of_callers(metavar="NAME", help="An additional host name to accept.")
    ] = None,
    allow_file_ids: Annotated[
        bool, _of_callers("--allow-file-ids", help="Let callers refer to files stored at the provider.")
    ] = False,
    client_instructions: Annotated[
        Literal["keep", "drop"],
        _of_callers(
            metavar="keep|drop",
            help="What happens to messages of callers with the roles system and developer.",
        ),
    ] = "keep",
    allow_reasoning_request: Annotated[
        str | None,
        _of_callers(
            metavar="all|LOWEST..HIGHEST",
            help="Let callers choose effort and display, with efforts such as low..high.",
        ),
    ] = None,
    runs: Annotated[
        str | None,
        _of_callers(
            metavar="STORE",
            help="Keep runs, so that callers can join them again: sqlite:PATH, or the URL of a Redis.",
        ),
    ] = None,
    copilotkit: Annotated[
        bool, _of_callers("--copilotkit", help="Serve a CopilotKit runtime at /api/copilotkit; needs --runs.")
    ] = False,
    single_tenant: Annotated[
        bool, _of_callers("--single-tenant", help="Let all callers join and stop the runs of all others.")
    ] = False,
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
        "--account": account,
        "--api-key-env": api_key_env,
        "--system": system,
        "--parameters": parameters,
    }
    given = {name: value for name, value in options.items() if value is not None}
    spec = upstream or _REPLAY
    log_to_stderr()
    if given and upstream is not None:
        raise ConfigurationError(
            f"--upstream and {next(iter(given))} exclude each other.",
            code="wrong_option",
            hint="Use a replay, or a provider with --api.",
        )
    chosen = _provider(given, retry_without_reasoning) if given else _replay(spec, delay_ms / 1000)
    keys = _keys(keys_env, keys_file, shows_all=visibility == "full" and not allow_reasoning_request)
    app = create_app(
        chosen,
        stages=(Steps(),) if steps else (),
        allow_file_ids=allow_file_ids,
        client_instructions=client_instructions,
        allow_reasoning_request=_allowed(allow_reasoning_request),
        starts_in_reasoning=starts_in_reasoning,
        visibility=visibility,
        keys=keys,
        policy=policy or (),
        allowed_hosts=[host, *(allow_host or ())],
        allowed_origins=allow_origin or (),
        page=page,
        runs=None if runs is None else _runs(runs, keys),
        copilotkit="/api/copilotkit" if copilotkit else None,
        single_tenant=single_tenant,
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


def _runs(address: str, keys: KeyRing | None) -> Runs:
    from agui_reasoning.durable import RedisRuns, Runs, SQLiteRuns

    scheme, _, path = address.partition(":")
    if scheme == "sqlite" and path:
        return Runs(SQLiteRuns(path), keys=keys)
    if scheme in {"redis", "rediss", "unix"}:
        return Runs(RedisRuns(address), keys=keys)
    raise ConfigurationError(
        f"The value {address!r} of --runs is not known.",
        code="wrong_option",
        hint="Use sqlite:PATH, or redis://HOST:PORT/NUMBER.",
    )


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


def _needs_provider(api: str | None) -> bool:
    """Return whether several vendors serve an API; unknown APIs are rejected later."""
    return api in API_IDS and vendor_of(api) is None


def _sdk_upstream(api: str | None) -> str | None:
    """Return the name of the upstream of an API that is called through the vendor's SDK."""
    return provider_api(api).upstream if api in API_IDS else None


def _provider(given: Mapping[str, str], retry_without_reasoning: bool) -> Upstream:
    from agui_reasoning import gateway

    sdk = _sdk_upstream(given.get("--api"))
    if "--api" in given and sdk is None:
        gateway.endpoint_of(given["--api"], given.get("--provider"))
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
        "account": given.get("--account"),
        "api_key": _key(given.get("--api-key-env")),
        "system": given.get("--system"),
        "parameters": _parameters(given.get("--parameters")),
    }
    address: dict[str, Any] = {"base_url": given["--base-url"]} if "--base-url" in given else {}
    if sdk is None:
        options |= {"provider": given.get("--provider"), "retry_without_reasoning": retry_without_reasoning}
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
    if name in script_names():
        return ReplayUpstream(name, delay_s=delay_s)
    if not os.path.exists(name):
        raise ConfigurationError(
            f"No file or script is named {name!r}.",
            code="unknown_upstream",
            hint=f"Scripts: {', '.join(script_names())}.",
        )
    return ReplayUpstream(load(read_file(name).decode(errors="replace")), delay_s=delay_s)


def base_url_of(api: str, provider: str | None) -> str:
    """Return the base URL of a provider, or ``URL`` if it is not known here."""
    return BASE_URLS.get((api, canonical(provider or vendor_of(api) or "")), "URL")


def proxy(
    upstream: Annotated[str, typer.Option(metavar="URL", help="The agent's URL.")],
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen on; 0 picks a free one.")
    ] = 8001,
    host: Annotated[str, typer.Option(help="The host name or address to listen on.")] = "127.0.0.1",
    agent_version: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION", help="The agent's ag-ui-protocol version; requests omit what it rejects."
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="An additional host name to accept; * accepts any."),
    ] = None,
    repair: Repair = True,
    keep_title: KeepTitle = False,
) -> None:
    """Run a proxy that upgrades the event streams of a running agent.

    Requests and all other responses pass through unchanged. Point clients at the proxy instead of the agent.
    Stops on Ctrl-C.
    """
    from agui_reasoning.gateway import create_proxy, listen, url_of
    from agui_reasoning.gateway import serve as serve_app

    app = create_proxy(
        upstream,
        agent_version=agent_version,
        repair=repair,
        keep_title=keep_title,
        allowed_hosts=allow_host or (),
    )
    listening = listen(host, port)
    parts = urlsplit(upstream)
    shown = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()  # without credentials
    line = f"agui-reasoning proxy in front of {shown} at {url_of(listening)}"
    log_to_stderr()
    serve_app(app, listening, on_ready=lambda: put(line))


def log_to_stderr() -> None:
    """Log warnings and errors, escaped."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Escaped("%(asctime)s %(levelname)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


class _Escaped(logging.Formatter):
    """Indents all lines of a record but the first, so that none looks like another record."""

    def format(self, record: logging.LogRecord) -> str:
        return escaped(super().format(record)).replace("\n", "\n  ")
