"""The upstream that asks a provider over HTTP: what goes into its request, for each API."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import anyio.to_thread

from agui_reasoning import aio
from agui_reasoning._shells.driver import Item, ModelStream
from agui_reasoning._strict_json import JSONObject, dump
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.gateway._framing import FRAMINGS
from agui_reasoning.gateway._upstream import Upstream
from agui_reasoning.parts import Origin
from agui_reasoning.providers import provider_api
from agui_reasoning.providers.api import HTTPEndpoint
from agui_reasoning.providers.echo import rule_for
from agui_reasoning.providers.registry import provider_apis, vendor_of
from agui_reasoning.request import ProviderRequest
from agui_reasoning.run import Run

# The module that imports the HTTP library is imported when an upstream is made: a replay needs none.
if TYPE_CHECKING:
    import httpx2

__all__ = ["TIMEOUT_S", "HTTPUpstream"]

TIMEOUT_S: Final = 600.0
"""Default of how long a provider may be silent, in seconds: the vendors' SDKs wait as long."""


# What an SDK takes as arguments of its own.
_OF_SDKS: Final = frozenset({"extra_body", "extra_headers", "extra_query"})

# What the gateway writes itself, and what would tie all users to one conversation on the server.
_OURS: Final = _OF_SDKS | {"model", "stream"}
_BETA: Final = "anthropic-beta"
_TOKEN: Final = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)
_SENDABLE: Final = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_SECRET_CHARS: Final = 8


class HTTPUpstream(Upstream):
    """Answers from a provider's HTTP API: no vendor SDK, one request per run.

    The request holds the conversation and the tools of the run input. A run that ends with calls of such
    tools ends; the front end answers them in its next run. Use an upstream in one event loop.
    """

    live = True

    def __init__(
        self,
        api: str,
        *,
        base_url: str,
        model: str,
        provider: str | None = None,
        api_key: str | None = None,
        system: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float | None = TIMEOUT_S,
        http: httpx2.AsyncClient | None = None,
    ) -> None:
        """Prepare; nothing is sent yet.

        Args:
            api: An API id that has an HTTP form, such as ``anthropic-messages`` or ``openai-chat``.
            base_url: As the vendor's SDK takes it: without ``/v1`` for Anthropic, with it for OpenAI.
            model: The model's name.
            provider: Provider id; default is the vendor of a single-vendor API. Without one, reasoning does
                not go back over ``openai-chat``.
            api_key: Goes into the header that the API has for it, and nowhere else.
            system: Instructions that stand before everything in the conversation.
            parameters: More fields of the request. They win over what the echo policy recommends; lists are
                joined to it, and ``None`` leaves a field out. ``tools`` adds the provider's own tools.
            headers: More headers, or other values for those this upstream sets.
            timeout_s: How long the provider may be silent, in seconds; ``None`` is for ever.
            http: A client of your own, which stays open; default is one for all requests, closed by
                `aclose`.

        Raises:
            ConfigurationError: The API cannot be asked over HTTP (``unknown_api``), the address is none
                (``bad_url``), a parameter is not yours to set (``bad_parameter``), a header cannot be sent
                (``bad_header``), or the timeout is not above zero (``bad_limit``).
            MissingExtraError: The extra ``client`` is not installed.
        """
        from agui_reasoning.gateway._transport import Transport, address

        self.name = f"{api}:{model}"
        self.api, self.provider, self.model = api, provider or vendor_of(api), model
        self._endpoint = _endpoint(api, self.provider)
        self._stores = provider_api(api).stores
        self._http_body = provider_api(api).load_http_body()
        self._system = system
        self._parameters = _parameters(parameters or {}, _OURS | provider_api(api).conversation_fields)
        self.reasons = _reasons(Origin(self.provider, api, model), self._parameters)
        self._headers = _Headers(self._endpoint, api_key, headers or {})
        framing = FRAMINGS[self._endpoint.framing]
        path = self._endpoint.path.replace("{model}", quote(model, safe=""))
        url = address(base_url, path, self._endpoint.query)
        self._transport = Transport(url, self._headers.secrets, _timeout(timeout_s), http, framing)

    def __repr__(self) -> str:
        return f"HTTPUpstream({self.api!r}, provider={self.provider!r}, model={self.model!r})"

    async def agent(self, run: Run) -> AsyncIterator[Item]:
        """Ask the provider once, with the whole conversation."""
        request = await self._request(run)
        content = await anyio.to_thread.run_sync(self._content, request)
        # The headers get no name of their own here: a traceback may show what its frames hold.
        answer = self._transport.ask(self._headers.of(request), content)
        yield ModelStream(answer, api=self.api, provider=self.provider, model=self.model)

    async def aclose(self) -> None:
        """Close the HTTP client, unless it is yours; a later request opens another."""
        await self._transport.aclose()

    async def _request(self, run: Run) -> ProviderRequest:
        tools = self._parameters.get("tools")
        return await aio.request(
            run,
            system=self._system,
            tools=None if tools is None else [*(run.input.tools or ()), *tools],
            store=self._parameters.get("store") if self._stores else None,
            apply_flags=True,
        )

    def _content(self, request: ProviderRequest) -> bytes:
        """The JSON of the request; what SDKs take as ``extra_body`` are plain fields of it."""
        built = {name: value for name, value in request.body.items() if name not in _OF_SDKS}
        body = {**self._endpoint.defaults, **self._http_body(built), **request.body.get("extra_body", {})}
        for name, value in self._parameters.items():
            if value is None:
                body.pop(name, None)
            elif name != "tools":  # they are in what was built
                body[name] = _joined(body.get(name), value)
        if not self._endpoint.model_in_path:
            body = {"model": self.model, **body, "stream": True}
        return dump(_without_bytes(body)).encode()


class _Headers:
    """The headers of all requests, the key among them; its ``repr`` is Python's own and shows nothing.

    Attributes:
        secrets: What must not be seen anywhere, the longest first.
    """

    def __init__(self, endpoint: HTTPEndpoint, api_key: str | None, more: Mapping[str, str]) -> None:
        key = {} if api_key is None else {endpoint.key_header: f"{endpoint.key_prefix}{api_key}"}
        self._fixed = {
            "accept": f"{FRAMINGS[endpoint.framing].media_type}, application/json",
            "content-type": "application/json",
            **endpoint.headers,
            **key,
        }
        self._theirs = {name.lower(): value for name, value in more.items()}
        for name, value in (self._fixed | self._theirs).items():
            if not (_TOKEN.fullmatch(name) and _SENDABLE.fullmatch(value)):
                raise _bad_header("The API key" if name in key else f"The value of {name!r}")
        found = {value.split()[-1] for value in (key | self._theirs).values()}
        self.secrets = sorted((value for value in found if len(value) >= _SECRET_CHARS), key=len)[::-1]

    def of(self, request: ProviderRequest) -> dict[str, str]:
        """The headers of one request, with those that the policy recommends."""
        flags = {name.lower(): value for name, value in request.body.get("extra_headers", {}).items()}
        headers = {**self._fixed, **flags, **self._theirs}
        betas = [given[_BETA] for given in (flags, self._theirs) if _BETA in given]
        return headers | ({_BETA: ",".join(dict.fromkeys(betas))} if betas else {})


def _without_bytes(value: Any) -> Any:
    """A body as JSON: what an SDK takes as bytes is base64 on the wire."""
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    if isinstance(value, dict):
        return {name: _without_bytes(inner) for name, inner in value.items()}
    return [_without_bytes(inner) for inner in value] if isinstance(value, list) else value


def _endpoint(api: str, provider: str | None) -> HTTPEndpoint:
    endpoint = provider_api(api).endpoint(provider)
    if endpoint is None or endpoint.framing not in FRAMINGS:
        raise ConfigurationError(
            f"The API {api!r} has no HTTP form.",
            code="unknown_api",
            hint=f"Use one of: {', '.join(known.id for known in provider_apis() if known.http)}.",
        )
    return endpoint


def _parameters(given: Mapping[str, Any], ours: frozenset[str]) -> JSONObject:
    refused = sorted(ours & set(given))
    if refused:
        raise ConfigurationError(
            f"The parameter {refused[0]!r} cannot be set.",
            code="bad_parameter",
            hint="Model and instructions have options of their own; the conversation comes with every run.",
        )
    try:
        dump(given)
        good = isinstance(given.get("tools") or [], list)
    except (TypeError, ValueError):
        good = False
    if not good:
        raise ConfigurationError(
            "The parameters are not JSON, or their tools are not a list.",
            code="bad_parameter",
            hint="Use strings, finite numbers, booleans, None, lists and dicts.",
        )
    return dict(given)


def _timeout(timeout_s: float | None) -> float | None:
    if timeout_s is not None and timeout_s <= 0:
        raise ConfigurationError(
            f"A provider cannot answer within {timeout_s} seconds.",
            code="bad_limit",
            hint="Use a number of seconds above 0, or None to wait for ever.",
        )
    return timeout_s


def _bad_header(what: str) -> ConfigurationError:
    return ConfigurationError(
        f"{what} cannot be sent in an HTTP header.",
        code="bad_header",
        hint="It must be printable ASCII on one line: look for a line break or a blank at its end.",
    )


def _joined(recommended: Any, given: Any) -> Any:
    if isinstance(recommended, list) and isinstance(given, list):
        return recommended + [item for item in given if item not in recommended]
    return given


def _reasons(origin: Origin, parameters: JSONObject) -> bool | None:
    """Whether answers come with reasoning, as far as the parameters and the policy tell."""
    rule = rule_for(origin)
    asked = {flag.name: flag.value for flag in rule.flags} | parameters
    if _declined(asked):
        return False
    return True if (_asks(asked) if vendor_of(origin.api) else rule.echoes) else None


_ASKING: Final = (
    ("thinking",),
    ("additionalModelRequestFields", "thinking"),
    ("reasoning", "summary"),
    ("generationConfig", "thinkingConfig", "includeThoughts"),
    ("generation_config", "thinking_summaries"),
)
"""The fields by which the vendors' models are asked to show their thinking."""


def _asks(asked: Mapping[str, Any]) -> bool:
    """Whether a request asks for thinking that can be seen: the vendors' models show none by themselves."""
    return any(_field(asked, path) not in (None, False, "", "none") for path in _ASKING)


def _field(asked: Any, path: Sequence[str]) -> Any:
    for name in path:
        asked = asked.get(name) if isinstance(asked, Mapping) else None
    return asked


def _declined(asked: Mapping[str, Any]) -> bool:
    """Whether a request says that the model shall not think, in one of the ways there are to say it."""
    thinking, reasoning = asked.get("thinking"), asked.get("reasoning")
    return (
        (isinstance(thinking, Mapping) and thinking.get("type") == "disabled")
        or (isinstance(reasoning, Mapping) and reasoning.get("effort") == "none")
        or asked.get("reasoning_effort") == "none"
    )
