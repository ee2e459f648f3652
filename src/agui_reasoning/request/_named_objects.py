"""Checks that a request names no object stored at the provider but those that the provider named itself."""

from __future__ import annotations

from collections.abc import Iterable

from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.parts import Turn
from agui_reasoning.providers import provider_api
from agui_reasoning.providers._stored_objects import objects_of, stored_objects
from agui_reasoning.request._build import ProviderRequest
from agui_reasoning.request._history import History, HistoryItem

__all__ = ["check_named_objects"]


def check_named_objects(request: ProviderRequest, history: History, produced: Iterable[HistoryItem]) -> None:
    """Reject a request that names a stored object, unless an encrypted value or this run named it.

    Args:
        request: The request.
        history: The conversation that it was built from.
        produced: The responses of this run.

    Raises:
        RemoteProtocolError: It does (``file_not_allowed``).
    """
    api = provider_api(str(request.target.api))
    sent = {name: request.body[name] for name in api.conversation_fields & request.body.keys()}
    named = set(stored_objects(sent, api.json_fields))
    if named and named - history.vouched - objects_of(item for item in produced if isinstance(item, Turn)):
        raise RemoteProtocolError(
            "The request would name an object stored at the provider, such as a file.",
            code="file_not_allowed",
            hint="Send its data or URL, or allow it with `allow_file_ids=True`.",
        )
