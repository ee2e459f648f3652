"""Authorizes requests with the credentials of this machine, found by the vendor's own library.

botocore finds those of AWS (extra ``bedrock``), google-auth those of Google (extra ``vertex``). Signing may
wait for the network, because credentials are renewed: call it in a worker thread.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from agui_reasoning._forks import renew_lock_after_fork
from agui_reasoning.errors import ConfigurationError, TransportError
from agui_reasoning.providers.api import HTTPEndpoint, Signing

_KEPT: Final = 6
"""The number of secrets to remember: requests with earlier credentials can be in progress."""

_REGION: Final = re.compile(r"bedrock-(?:runtime(?:-fips)?|mantle)\.([a-z]{2}(?:-[a-z]+)+-\d+)\.")
_SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"

_log = logging.getLogger("agui_reasoning")


class Signer(ABC):
    """Authorizes requests. Its ``repr`` contains no secrets."""

    def __init__(self, credentials: Any) -> None:
        self._credentials = credentials
        self._secrets: deque[str] = deque(maxlen=_KEPT)

    @abstractmethod
    def sign(self, url: str, headers: Mapping[str, str], content: bytes) -> dict[str, str]:
        """Return the headers that authorize a request.

        Raises:
            TransportError: The credentials could not be renewed (``no_credentials``).
        """

    def secrets(self) -> Sequence[str]:
        """Return the secrets in recent requests."""
        return tuple(self._secrets)

    def _keep(self, *secrets: str | None) -> None:
        self._secrets.extend(value for value in secrets if value and value not in self._secrets)


def find_signer(endpoint: HTTPEndpoint, base_url: str) -> Signer | None:
    """Find the credentials of this machine, and warn if there are none.

    Raises:
        ConfigurationError: There are AWS credentials, but neither the base URL nor the configuration names
            a region (``missing_region``).
    """
    find = _FINDERS.get(endpoint.signing)
    return find(endpoint, base_url) if find else None


# -- AWS Signature Version 4


def _find_aws(endpoint: HTTPEndpoint, base_url: str) -> Signer | None:
    try:
        from botocore.session import get_session
    except ImportError:
        _warn_unsigned('install "agui-reasoning[bedrock]"')
        return None
    session = get_session()
    credentials = session.get_credentials()
    if credentials is None:
        _warn_unsigned("configure AWS credentials")
        return None
    return _AWSSigner(credentials, _region(session, base_url), endpoint.aws_service)


def _region(session: Any, base_url: str) -> str:
    named = _REGION.search(base_url)
    region = named[1] if named else session.get_config_variable("region") or os.environ.get("AWS_REGION")
    if not region:
        raise ConfigurationError(
            "Neither the base URL nor the AWS configuration names a region.",
            code="missing_region",
            hint="Set AWS_REGION, or use a base URL like https://bedrock-runtime.us-east-1.amazonaws.com.",
        )
    return str(region)


class _AWSSigner(Signer):
    def __init__(self, credentials: Any, region: str, service: str) -> None:
        super().__init__(credentials)
        self._region = region
        self._service = service

    def sign(self, url: str, headers: Mapping[str, str], content: bytes) -> dict[str, str]:
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        signed = {"content-type": headers["content-type"]}
        request = AWSRequest(method="POST", url=url, data=content, headers=signed)
        request.context["timestamp"] = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        # These are the steps of `add_auth`, which would log the session token.
        auth = SigV4Auth(self._current(), self._service, self._region)
        auth._modify_request_before_signing(request)
        text = auth.string_to_sign(request, auth.canonical_request(request))
        auth._inject_signature_to_request(request, auth.signature(text, request))
        return {name.lower(): value for name, value in request.headers.items()}

    def _current(self) -> Any:
        current = _renewed(self._credentials.get_frozen_credentials, "AWS")
        self._keep(current.access_key, current.token)
        return current


# -- Google access tokens


def _find_google(endpoint: HTTPEndpoint, base_url: str) -> Signer | None:
    try:
        import google.auth
        from google.auth.exceptions import DefaultCredentialsError
        from google.auth.transport.requests import Request
    except ImportError:
        _warn_unsigned('install "agui-reasoning[vertex]"')
        return None
    try:
        credentials, _ = google.auth.default(scopes=[_SCOPE])
    except DefaultCredentialsError:
        _warn_unsigned("run `gcloud auth application-default login`")
        return None
    return _GoogleSigner(credentials, Request)


class _GoogleSigner(Signer):
    def __init__(self, credentials: Any, transport: Callable[[], Any]) -> None:
        super().__init__(credentials)
        self._transport = transport
        self._lock = threading.Lock()
        renew_lock_after_fork(self)

    def sign(self, url: str, headers: Mapping[str, str], content: bytes) -> dict[str, str]:
        with self._lock:
            if not self._credentials.valid:
                _renewed(lambda: self._credentials.refresh(self._transport()), "Google")
            signed: dict[str, str] = {}
            self._credentials.apply(signed)
            self._keep(self._credentials.token)
        return {name.lower(): value for name, value in signed.items()}


_FINDERS: Final[Mapping[Signing, Callable[[HTTPEndpoint, str], Signer | None]]] = {
    "aws-sigv4": _find_aws,
    "google": _find_google,
}


def _warn_unsigned(advice: str) -> None:
    _log.warning("Requests are not authorized: pass an API key, or %s.", advice)


def _renewed(renew: Callable[[], Any], vendor: str) -> Any:
    """Return renewed credentials. Errors of the vendor's library can contain secrets, and are not chained."""
    try:
        return renew()
    except Exception as cause:
        name = type(cause).__name__
    raise TransportError(
        f"The credentials of {vendor} could not be renewed ({name}).",
        code="no_credentials",
        hint="Sign in again with the vendor's own tool, or pass an API key.",
    )
