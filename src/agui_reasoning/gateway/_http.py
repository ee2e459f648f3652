"""The upstream that sends requests to a provider over HTTP.

Requests that a provider could not take for a moment are repeated, before the first byte of its answer.
"""

from __future__ import annotations

import logging
import random
import re
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar
from urllib.parse import quote

import anyio
import anyio.to_thread

from agui_reasoning import aio
from agui_reasoning._driver import AgentItem, ModelStream
from agui_reasoning._limits import check_seconds
from agui_reasoning._strict_json import JSONObject, dump, load
from agui_reasoning.errors import ConfigurationError, ProviderError, TransportError
from agui_reasoning.gateway._framing import FRAMINGS
from agui_reasoning.gateway._signing import find_signer
from agui_reasoning.gateway._upstream import Hidden, ModelUpstream, checked_parameters
from agui_reasoning.policy import EchoFlag
from agui_reasoning.providers import provider_api
from agui_reasoning.providers.api import HTTPEndpoint, ProviderAPI
from agui_reasoning.providers.registry import API_IDS, api_id, provider_apis, vendor_of
from agui_reasoning.providers.vendors import canonical
from agui_reasoning.request import ProviderRequest, joined, suitable, without_flags, write_flags
from agui_reasoning.run import Run

# The HTTP library is imported only when an upstream is created, because a replay does not need it.
if TYPE_CHECKING:
    import httpx2

    from agui_reasoning.gateway._transport import ProviderAnswer

TIMEOUT_S: Final = 600.0
"""The default limit for the time without data from a provider, in seconds; as in the vendors' SDKs."""

ATTEMPTS: Final = 3
"""The default limit for requests per answer."""

MAX_WAIT_S: Final = 30.0
"""The default limit for the time from the first request to the start of the last, in seconds."""

_TRANSIENT: Final = frozenset({408, 429, 500, 502, 503, 504, 529})
_LASTING: Final = frozenset({"insufficient_quota", "exceeded_current_quota_error", "billing_error"})
"""Names of errors with a transient status that waiting does not end."""

_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 8.0

_log = logging.getLogger("agui_reasoning")
_T = TypeVar("_T")
_Failure: TypeAlias = ProviderError | TransportError

# Arguments of SDKs that are not fields of the request.
_OF_SDKS: Final = frozenset({"extra_body", "extra_headers", "extra_query"})

# Fields that the gateway sets.
_OURS: Final = _OF_SDKS | {"model", "stream"}
_BETA: Final = "anthropic-beta"
_TOKEN: Final = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)
_SENDABLE: Final = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_SECRET_CHARS: Final = 8

# Of a call that is only described.
_NO_HOST: Final = "http://localhost"
_NO_KEY: Final = "none"


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and how long to try.

    Pauses double from half a second, with jitter, and are never shorter than the provider asks for.

    Attributes:
        attempts: The maximum number of requests.
        max_wait_s: The maximum time from the first request to the start of the last, in seconds.
        sleep: Waits for a number of seconds.
        clock: Returns the time in seconds.
        jitter: Returns a number from 0 to 1.
    """

    attempts: int = ATTEMPTS
    max_wait_s: float = MAX_WAIT_S
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    clock: Callable[[], float] = anyio.current_time
    jitter: Callable[[], float] = random.random

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.max_wait_s < 0:
            raise ConfigurationError(
                f"attempts is {self.attempts} and max_wait_s is {self.max_wait_s}.",
                code="bad_limit",
                hint="Pass at least 1 attempt, and a number of seconds of at least 0.",
            )

    async def call(self, send: Callable[[], Awaitable[_T]]) -> _T:
        """Send a request until it is answered, fails for good, or the limits are reached.

        Raises:
            ProviderError: The provider returned an error.
            TransportError: The provider cannot be reached.
        """
        start, sent = self.clock(), 1
        while True:
            try:
                return await send()
            except (ProviderError, TransportError) as error:
                pause = self._pause(error, sent)
                if pause is None or self.clock() - start + pause > self.max_wait_s:
                    raise
                _log.info(
                    "%s Request %d of %d follows in %.1f s.", error.args[0], sent + 1, self.attempts, pause
                )
            await self.sleep(pause)
            sent += 1

    def _pause(self, error: _Failure, sent: int) -> float | None:
        """Return the seconds to wait after the failure of a request; ``None`` if it is the last."""
        if sent >= self.attempts or not _is_transient(error):
            return None
        longest: float = min(_FIRST_PAUSE_S * 2 ** (sent - 1), _LONGEST_PAUSE_S)
        backoff = longest * (1 + self.jitter()) / 2
        asked = error.retry_after if isinstance(error, ProviderError) else None
        return max(backoff, asked or 0.0)


def _is_transient(error: _Failure) -> bool:
    if isinstance(error, TransportError):
        return error.code == "unreachable"
    names = {error.provider_code, error.provider_type}
    return error.status_code in _TRANSIENT and not names & _LASTING


class HTTPUpstream(ModelUpstream):
    """Answers each run with a request to a provider's HTTP API, without a vendor SDK.

    The request contains the conversation and the tools of the run input. If the model calls such tools, the
    front end answers the calls in its next run. Use an upstream in only one event loop.
    """

    def __init__(
        self,
        api: str | ProviderAPI,
        *,
        base_url: str,
        model: str,
        provider: str | None = None,
        account: str | None = None,
        api_key: str | None = None,
        system: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float | None = TIMEOUT_S,
        attempts: int = ATTEMPTS,
        max_wait_s: float = MAX_WAIT_S,
        retry_without_reasoning: bool = True,
        http: httpx2.AsyncClient | None = None,
    ) -> None:
        """Create an upstream. Sends no request.

        Args:
            api: An API with an HTTP form: its ID, such as ``anthropic-messages``, or a `ProviderAPI`.
            base_url: The base URL as for the vendor's SDK: without ``/v1`` for Anthropic, with it for OpenAI.
            model: The model's name.
            provider: The provider ID; default is the vendor of a single-vendor API. Without one, reasoning is
                not sent back over ``openai-chat``.
            account: The account or organization of the key: what only another account reads, is not sent
                (`agui_reasoning.parts.Origin`). Change it together with the key.
            api_key: The API key, sent only in the API's header for it. Without one, requests to Bedrock are
                signed with the AWS credentials that botocore finds (extra ``bedrock``), and requests to
                Vertex AI carry the access token that google-auth finds (extra ``vertex``).
            system: System instructions, before the conversation.
            parameters: Additional fields of the request. They override recommendations of the echo policy;
                lists are appended to recommended lists, and ``None`` removes a field. ``tools`` adds the
                provider's own tools.
            headers: Additional headers; they override the headers of this upstream.
            timeout_s: Limit for the time without data from the provider, and for connecting, in seconds;
                ``None`` for no limit.
            attempts: How often a request is sent at most, if the provider is overloaded, limits requests,
                fails or cannot be reached. ``Retry-After`` is honored. Nothing is repeated once a response
                has begun.
            max_wait_s: Limit for the time from the first attempt to the start of the last, in seconds.
            retry_without_reasoning: Send a request once more, without what was refused, if the provider
                refuses it because of reasoning in it; see `ModelStream`.
            http: Your own HTTP client, which is not closed; by default, one is created for all requests and
                closed by `aclose`.

        Raises:
            ConfigurationError: The API has no HTTP form (``unknown_api``), the URL is invalid (``bad_url``),
                a parameter cannot be set (``bad_parameter``), a header is invalid (``bad_header``), a limit
                is out of range (``bad_limit``), or there are AWS credentials but no region
                (``missing_region``).
            MissingExtraError: The extra ``client`` is not installed.
        """
        from agui_reasoning.gateway._transport import Transport, address

        api = api_id(api)
        self.name = f"{api}:{model}"
        self.api, self.provider, self.model = api, provider or vendor_of(api), model
        self.account = account
        self._endpoint = endpoint_of(api, self.provider)
        self._stores = provider_api(api).stores
        self._http_body = provider_api(api).load_http_body()
        self._system = system
        self._parameters = checked_parameters(parameters or {}, _OURS | provider_api(api).conversation_fields)
        self.reasons = self._reasons(())
        self._headers = _Headers(self._endpoint, api_key, headers or {})
        framing = FRAMINGS[self._endpoint.framing]
        path = self._endpoint.path.replace("{model}", quote(model, safe=""))
        url = address(base_url, path, self._endpoint.query)
        authorized = api_key is not None or self._headers.gives(self._endpoint.key_header)
        self._signer = None if authorized else find_signer(self._endpoint, base_url)
        self._url = str(url)
        retries = Retries(attempts, max_wait_s)
        check_seconds(timeout_s=timeout_s)
        self._transport = Transport(url, self._secrets, timeout_s, http, framing, retries)
        self._retry_without_reasoning = retry_without_reasoning

    def __repr__(self) -> str:
        return f"HTTPUpstream({self.api!r}, provider={self.provider!r}, model={self.model!r})"

    async def agent(self, run: Run) -> AsyncIterator[AgentItem]:
        """Send a request with the complete conversation."""
        target: dict[str, Any] = {"api": self.api, "provider": self.provider, "model": self.model}
        if self._retry_without_reasoning:
            yield ModelStream(self._ask, **target, **self._fields(run))
        else:
            request = await aio.request(run, **self._fields(run))
            yield ModelStream(await self._ask(request), **target)

    async def _ask(self, request: ProviderRequest) -> AbstractAsyncContextManager[ProviderAnswer]:
        """Return the answer to a request, which is sent when the answer is opened."""
        signed, content = await anyio.to_thread.run_sync(self._signed, request)
        return self._transport.ask(signed.value, content)

    def _signed(self, request: ProviderRequest) -> tuple[Hidden[dict[str, str]], bytes]:
        """Return the headers of a request, signed if necessary, and its content. Can wait for the network."""
        content = self._content(request)
        signed = Hidden(self._headers.of(request))
        if self._signer is not None:
            signed.value |= self._signer.sign(self._url, signed.value, content)
        return signed, content

    def _secrets(self) -> list[str]:
        """Return the secrets in use, longest first."""
        found = [*self._headers.secrets, *(self._signer.secrets() if self._signer else ())]
        return sorted(found, key=len, reverse=True)

    async def aclose(self) -> None:
        """Close the HTTP client, unless it is your own. A later request opens a new one."""
        await self._transport.aclose()

    def _fields(self, run: Run) -> dict[str, Any]:
        """Return the arguments of `Run.request`."""
        tools = self._parameters.get("tools")
        return {
            "system": self._system,
            "tools": None if tools is None else [*(run.input.tools or ()), *tools],
            "store": self._parameters.get("store") if self._stores else None,
            "apply_flags": True,
        }

    def _content(self, request: ProviderRequest) -> bytes:
        """Return the JSON of the request, which includes the fields of ``extra_body``."""
        own = {**self._endpoint.defaults, **self._parameters}
        made = without_flags(request.body, [*request.overrides, *request.flags])
        write_flags(made, suitable(request.flags, own))
        built = {name: value for name, value in made.items() if name not in _OF_SDKS}
        body = {**self._endpoint.defaults, **self._http_body(built), **made.get("extra_body", {})}
        for name, value in self._parameters.items():
            if value is None:
                body.pop(name, None)
            elif name != "tools":  # they are in what was built
                body[name] = joined(body.get(name), value)
        forced = (flag for flag in suitable(request.overrides, own) if flag.name not in _OF_SDKS)
        write_flags(body, map(self._of_http, forced))
        betas = self._headers.of(request).get(_BETA)
        if betas and self._endpoint.betas:
            body.setdefault(self._endpoint.betas, betas.split(","))
        if not self._endpoint.model_in_path:
            body = {"model": self.model, **body, "stream": True}
        return dump(_without_bytes(body)).encode()

    def _of_http(self, flag: EchoFlag) -> EchoFlag:
        """Return a field of the SDK's arguments as a field of the body."""
        named = flag.model_copy(update={"extra_body": False})
        alone: dict[str, Any] = {}
        write_flags(alone, [named])
        path, place = [], self._http_body(alone)
        for _ in range(flag.name.count(".") + 1):
            ((name, place),) = place.items()
            path.append(name)
        return named.model_copy(update={"name": ".".join(path)})


def described_call(
    request: ProviderRequest, *, api: str, provider: str | None, model: str | None
) -> JSONObject:
    """Describe the HTTP request that a request becomes, with the key and the base URL left out.

    Returns:
        ``path`` with its query, to be appended to the base URL; ``headers``; ``key``, the name of the header
        that carries the key, and the text before it; and ``body``.

    Raises:
        ConfigurationError: The API has no HTTP form (``unknown_api``).
        MissingExtraError: The extra ``client`` is not installed.
    """
    upstream = HTTPUpstream(api, base_url=_NO_HOST, model=model or "", provider=provider, api_key=_NO_KEY)
    endpoint, headers = upstream._endpoint, upstream._headers.of(request)
    del headers[endpoint.key_header]
    return {
        "path": upstream._url.removeprefix(_NO_HOST),
        "headers": headers,
        "key": {"name": endpoint.key_header, "prefix": endpoint.key_prefix},
        "body": load(upstream._content(request).decode()),
    }


class _Headers:
    """The headers of all requests, including the key. The default ``repr`` does not show them.

    Attributes:
        secrets: The values that must not appear elsewhere, the longest first.
    """

    def __init__(self, endpoint: HTTPEndpoint, api_key: str | None, more: Mapping[str, str]) -> None:
        key = {} if api_key is None else {endpoint.key_header: f"{endpoint.key_prefix}{api_key}"}
        self._fixed = {
            "accept": f"{FRAMINGS[endpoint.framing].media_type}, application/json",
            "content-type": "application/json",
            **endpoint.headers,
            **key,
        }
        self._given = {name.lower(): value for name, value in more.items()}
        for name, value in (self._fixed | self._given).items():
            if not (_TOKEN.fullmatch(name) and _SENDABLE.fullmatch(value)):
                what = "The API key" if name in key else f"The value of {name!r}"
                raise ConfigurationError(
                    f"{what} cannot be sent in an HTTP header.",
                    code="bad_header",
                    hint="Use printable ASCII on one line; look for a line break or a space at its end.",
                )
        found = {value.split()[-1] for value in (key | self._given).values()}
        self.secrets = sorted((value for value in found if len(value) >= _SECRET_CHARS), key=len)[::-1]

    def gives(self, name: str) -> bool:
        """Return whether the caller passed a header."""
        return name in self._given

    def of(self, request: ProviderRequest) -> dict[str, str]:
        """Return the headers of one request, including those that the policy recommends."""
        flags = {name.lower(): value for name, value in request.body.get("extra_headers", {}).items()}
        headers = {**self._fixed, **flags, **self._given}
        betas = [given[_BETA] for given in (flags, self._given) if _BETA in given]
        return headers | ({_BETA: ",".join(dict.fromkeys(betas))} if betas else {})


def _without_bytes(value: Any) -> Any:
    """Return a body as JSON, with bytes as base64."""
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    if isinstance(value, dict):
        return {name: _without_bytes(inner) for name, inner in value.items()}
    return [_without_bytes(inner) for inner in value] if isinstance(value, list) else value


def endpoint_of(api: str, provider: str | None) -> HTTPEndpoint:
    """Return how an API is called over HTTP.

    Raises:
        ConfigurationError: It has no HTTP form (``unknown_api``).
    """
    spec = provider_api(api)
    endpoint = spec.endpoint(canonical(provider or ""))
    if endpoint is None or endpoint.framing not in FRAMINGS:
        raise ConfigurationError(
            f"The API {api!r} has no HTTP form.", code="unknown_api", hint=_how_to_call(spec)
        )
    return endpoint


def _how_to_call(api: ProviderAPI) -> str:
    if api.instead:
        return api.instead
    if api.id not in API_IDS:
        return "Give it one: ProviderAPI(…, http=HTTPEndpoint(path=…))."
    return f"Use one of: {', '.join(known.id for known in provider_apis() if known.http)}."
