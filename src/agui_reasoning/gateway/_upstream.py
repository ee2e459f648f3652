"""The source of a gateway's answers: its interface, capabilities and parameters, and xAI's, over gRPC."""

from __future__ import annotations

import inspect
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, Final, Generic, Protocol, TypeVar
from urllib.parse import urlsplit

import anyio.to_thread
from ag_ui.core import (
    AgentCapabilities,
    IdentityCapabilities,
    ReasoningCapabilities,
    ToolsCapabilities,
    TransportCapabilities,
)

from agui_reasoning import __version__, aio
from agui_reasoning._driver import AgentItem, GRPCFailure, ModelStream
from agui_reasoning._strict_json import JSONObject, dump
from agui_reasoning.emitter import Visibility
from agui_reasoning.errors import (
    AGUIReasoningError,
    ConfigurationError,
    MissingExtraError,
    ProviderError,
    TransportError,
)
from agui_reasoning.parts import Origin
from agui_reasoning.policy import EchoRule
from agui_reasoning.providers import provider_api
from agui_reasoning.providers.echo import recommended, rule_for
from agui_reasoning.providers.own_rules import OwnRules, own_rules
from agui_reasoning.providers.registry import vendor_of
from agui_reasoning.request import merge
from agui_reasoning.run import Run

_T = TypeVar("_T")

_ASKING: Final = (
    ("thinking",),
    ("additionalModelRequestFields", "thinking"),
    ("reasoning", "summary"),
    ("generationConfig", "thinkingConfig", "includeThoughts"),
    ("generation_config", "thinking_summaries"),
)
"""The fields by which the vendors' models are asked to show their thinking."""


class Upstream(Protocol):
    """An agent that answers the requests of a gateway, and its properties.

    One upstream answers all requests, several at the same time. Derive your own from this class; only
    ``name`` and ``agent`` are required.

    Attributes:
        name: Its name, for people.
        api: The API ID of its model, required by `Run.request`; ``None`` if each model stream names its API.
        provider: The provider ID.
        model: The model's name.
        account: The account at the provider, as `agui_reasoning.parts.Origin` describes it.
        reasons: Whether responses contain reasoning; ``None`` if unknown.
        live: Whether responses come from a model, which costs money and can call the tools of the front end.
    """

    name: str
    api: str | None = None
    provider: str | None = None
    model: str | None = None
    account: str | None = None
    reasons: bool | None = None
    live: bool = False

    def agent(self, run: Run) -> AsyncIterator[AgentItem]:
        """Answer one run, as `agui_reasoning.aio.run_agent` expects it."""
        ...

    def reasons_by(self, policy: Sequence[EchoRule]) -> bool | None:
        """Return ``reasons`` in an application with these rows of the echo policy in front."""
        return self.reasons

    async def aclose(self) -> None:
        """Release resources; called when the application ends."""
        return


class Hidden(Generic[_T]):
    """A secret, hidden from tracebacks, which can show local variables."""

    __slots__ = ("value",)

    def __init__(self, value: _T) -> None:
        self.value = value


class ModelUpstream(Upstream):
    """An upstream that asks a model, with parameters that the application sets."""

    live = True
    _parameters: JSONObject

    def reasons_by(self, policy: Sequence[EchoRule]) -> bool | None:
        """Return whether responses contain reasoning, by parameters and policy; ``None`` if unknown."""
        return self._reasons(policy) if policy else self.reasons

    def _reasons(self, policy: Sequence[EchoRule]) -> bool | None:
        origin = Origin(self.provider, self.api, self.model)
        rule = rule_for(origin, policy)
        settings = merge({}, recommended(origin, rule), self._parameters)
        if _declined(settings):
            return False
        return True if (_asks(settings) if vendor_of(origin.api) else rule.echoes) else None


def capabilities(
    upstream: Upstream,
    *,
    visibility: Visibility = "full",
    encrypted: bool = False,
    policy: OwnRules = (),
    resumable: bool = False,
) -> AgentCapabilities:
    """Describe what a client can expect of a gateway. Unknown capabilities are omitted.

    Args:
        upstream: The upstream of the gateway.
        visibility: The visibility of reasoning.
        policy: Rows of the echo policy that are tried before those of this package.
        encrypted: Whether the gateway has keys, so that reasoning that is not shown is sent encrypted.
        resumable: Whether clients can join a run again.

    Examples:
        >>> from agui_reasoning.gateway import ReplayUpstream
        >>> capabilities(ReplayUpstream()).reasoning
        ReasoningCapabilities(supported=True, streaming=True, encrypted=False)
    """
    return AgentCapabilities(
        identity=IdentityCapabilities(name=upstream.name, type="agui-reasoning", version=__version__),
        transport=TransportCapabilities(streaming=True, resumable=resumable or None),
        tools=ToolsCapabilities(supported=True, client_provided=True) if upstream.live else None,
        reasoning=_reasoning(upstream.reasons_by(own_rules(policy)), visibility, encrypted),
    )


def _reasoning(reasons: bool | None, visibility: Visibility, encrypted: bool) -> ReasoningCapabilities:
    """Describe whether reasoning is visible, and whether encrypted values are sent *instead of* it."""
    if reasons is False:
        return ReasoningCapabilities(supported=False)
    return ReasoningCapabilities(
        supported=False if visibility == "hidden" else reasons,
        # A summary may be generated when the reasoning is complete.
        streaming=None if visibility == "summary" else visibility == "full",
        encrypted=encrypted and visibility != "full",
    )


def checked_parameters(given: Mapping[str, Any], ours: frozenset[str]) -> JSONObject:
    """Return the parameters as JSON.

    Raises:
        ConfigurationError: One of them belongs to the upstream, or they are not JSON (``bad_parameter``).
    """
    if refused := sorted(ours & set(given)):
        raise ConfigurationError(
            f"The parameter {refused[0]!r} cannot be set.",
            code="bad_parameter",
            hint="Set model and instructions with their own options; the conversation comes from each run.",
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


def _asks(settings: Mapping[str, Any]) -> bool:
    """Return whether a request asks for visible thinking, which is off by default."""
    return any(_field(settings, path) not in (None, False, "", "none") for path in _ASKING)


def _field(settings: Any, path: Sequence[str]) -> Any:
    for name in path:
        settings = settings.get(name) if isinstance(settings, Mapping) else None
    return settings


def _declined(settings: Mapping[str, Any]) -> bool:
    """Return whether a request turns off thinking, in any of its forms."""
    thinking, reasoning = settings.get("thinking"), settings.get("reasoning")
    return (
        (isinstance(thinking, Mapping) and thinking.get("type") == "disabled")
        or (isinstance(reasoning, Mapping) and reasoning.get("effort") == "none")
        or settings.get("reasoning_effort") == "none"
    )


# -- xAI: gRPC chat through xai-sdk (extra `xai`)

_API: Final = "xai-grpc"
_BASE_URL: Final = "https://api.x.ai"
_HIDDEN: Final = "[hidden]"
_WORDS_CHARS: Final = 2_000


class XAIUpstream(ModelUpstream):
    """Answers each run with one request to xAI's gRPC chat, through the vendor's SDK.

    Works like `HTTPUpstream`. Every request has a connection of its own, which ends with the run. Requires
    asyncio.
    """

    def __init__(
        self,
        *,
        model: str,
        account: str | None = None,
        api_key: str | None = None,
        base_url: str = _BASE_URL,
        system: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        timeout_s: float | None = None,
    ) -> None:
        """Create an upstream. Opens no connection.

        Args:
            model: The model's name.
            account: See `HTTPUpstream`.
            api_key: The API key; default is the environment variable ``XAI_API_KEY``.
            base_url: The address of the API. One with ``http`` is called without encryption.
            system: System instructions, before the conversation.
            parameters: Additional arguments of ``client.chat.create``. They override recommendations of the
                echo policy, and ``None`` removes one. ``tools`` adds the provider's own tools.
            timeout_s: Limit for a whole answer, in seconds; default is that of the SDK, 27 minutes.

        Raises:
            ConfigurationError: There is no API key (``missing_key``), the URL is invalid (``bad_url``), or a
                parameter is not an argument of the SDK (``bad_parameter``).
            MissingExtraError: The extra ``xai`` is not installed.
        """
        try:
            import xai_sdk
            from xai_sdk.aio.chat import Client
        except ImportError:
            raise MissingExtraError("agui_reasoning.gateway.XAIUpstream", "xai") from None
        self.api, self.provider, self.model = _API, "xai", model
        self.account = account
        self.name = f"{_API}:{model}"
        self._host, self._insecure = _address(base_url)
        self._system = system
        self._parameters = checked_parameters(
            parameters or {}, provider_api(_API).conversation_fields | {"model"}
        )
        known = inspect.signature(Client.create).parameters
        if unknown := sorted(self._parameters.keys() - known):
            raise ConfigurationError(
                f"xai-sdk has no argument {unknown[0]!r}.",
                code="bad_parameter",
                hint=f"Use one of: {', '.join(sorted(known.keys() - {'self', 'model', 'messages'}))}.",
            )
        self.reasons = self._reasons(())
        self._key = Hidden(api_key or os.environ.get("XAI_API_KEY", "").strip())
        if not self._key.value:
            raise ConfigurationError(
                "There is no API key for xAI.",
                code="missing_key",
                hint="Pass api_key=, or set the environment variable XAI_API_KEY.",
            )
        self._timeout_s = timeout_s
        self._client_type = xai_sdk.AsyncClient

    def __repr__(self) -> str:
        return f"XAIUpstream(model={self.model!r})"

    async def agent(self, run: Run) -> AsyncIterator[AgentItem]:
        """Send one request with the complete conversation."""
        tools = self._parameters.get("tools")
        request = await aio.request(
            run,
            system=self._system,
            tools=None if tools is None else [*(run.input.tools or ()), *tools],
            apply_flags=True,
        )
        # The tools are in what was built.
        own = {name: value for name, value in self._parameters.items() if name != "tools"}
        arguments = request.merged(own)
        yield ModelStream(self._answer(arguments), api=_API, provider=self.provider, model=self.model)

    @asynccontextmanager
    async def _answer(self, arguments: JSONObject) -> AsyncIterator[AsyncIterator[Any]]:
        """Yield the payloads of an answer. Only closing the client ends a request of the SDK at once."""
        client = self._client_type(
            api_key=self._key.value,
            api_host=self._host,
            timeout=self._timeout_s,
            use_insecure_channel=self._insecure,
        )
        async with client:
            chat = await anyio.to_thread.run_sync(lambda: self._chat(client, arguments))
            async with aclosing(self._payloads(chat.stream())) as payloads:
                yield payloads

    def _chat(self, client: Any, arguments: JSONObject) -> Any:
        """Build the request, which takes a while for a long conversation."""
        try:
            return client.chat.create(model=self.model, **arguments)
        except (TypeError, ValueError):  # their text quotes the conversation
            fault = f"xai-sdk does not accept the arguments {', '.join(sorted(arguments))}."
        raise ConfigurationError(fault, code="bad_parameter", hint="Check `parameters` against xai-sdk.")

    async def _payloads(self, stream: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        from grpc.aio import AioRpcError

        async with aclosing(stream):
            try:
                async for payload in stream:
                    yield payload
                return
            except AioRpcError as cause:
                error = self._error(GRPCFailure(cause.code().name, cause.details() or ""))
        raise error  # outside the handler: the cause can quote the conversation

    def _error(self, failure: GRPCFailure) -> AGUIReasoningError:
        if failure.link == "timeout":
            return TransportError(
                "The provider's answer was not complete in time.",
                code="timeout",
                hint="Raise `timeout_s` if the model needs more time.",
            )
        if failure.link == "unreachable":
            return TransportError(
                "The connection to the provider failed (UNAVAILABLE).",
                code="unreachable",
                hint="Check the base URL, and that this machine can connect to it.",
            )
        words = " ".join(failure.details.replace(self._key.value, _HIDDEN).split())[:_WORDS_CHARS]
        return ProviderError(
            provider_type=failure.status, provider_message=words, status_code=failure.http_status
        )


def _address(base_url: str) -> tuple[str, bool]:
    """Return the host of a URL, and whether to connect without encryption."""
    try:
        url = urlsplit(base_url)
        plain = url.username is None and url.path in ("", "/") and not (url.query or url.fragment)
        good = url.scheme in ("http", "https") and url.hostname and plain and url.port != 0
    except ValueError:
        good = False
    if not good:
        raise ConfigurationError(
            "The base URL is not a plain http or https URL of a host.",
            code="bad_url",
            hint=f"Pass a URL such as {_BASE_URL}, without user, password, path and query.",
        )
    return url.netloc, url.scheme == "http"
