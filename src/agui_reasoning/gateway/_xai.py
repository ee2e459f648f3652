"""The upstream that asks xAI's gRPC chat through xai-sdk (extra ``xai``)."""

from __future__ import annotations

import inspect
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, Final
from urllib.parse import urlsplit

import anyio.to_thread

from agui_reasoning import aio
from agui_reasoning._driver import AgentItem, GRPCFailure, ModelStream
from agui_reasoning._strict_json import JSONObject
from agui_reasoning.errors import (
    AGUIReasoningError,
    ConfigurationError,
    MissingExtraError,
    ProviderError,
    TransportError,
)
from agui_reasoning.gateway._upstream import ModelUpstream, checked_parameters
from agui_reasoning.providers import provider_api
from agui_reasoning.run import Run

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
        _check_names(self._parameters, inspect.signature(Client.create).parameters)
        self.reasons = self._reasons(())
        self._key = _Key(api_key)
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


class _Key:
    """An API key, hidden from tracebacks, which can show local variables."""

    __slots__ = ("value",)

    def __init__(self, given: str | None) -> None:
        self.value = given or os.environ.get("XAI_API_KEY", "").strip()
        if not self.value:
            raise ConfigurationError(
                "There is no API key for xAI.",
                code="missing_key",
                hint="Pass api_key=, or set the environment variable XAI_API_KEY.",
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


def _check_names(parameters: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    unknown = sorted(parameters.keys() - known)
    if unknown:
        raise ConfigurationError(
            f"xai-sdk has no argument {unknown[0]!r}.",
            code="bad_parameter",
            hint=f"Use one of: {', '.join(sorted(known.keys() - {'self', 'model', 'messages'}))}.",
        )
