"""The stages in the order the specification demands, up to what is delivered to the application."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from agui_reasoning._strict_json import JSONObject
from agui_reasoning.consumer._enforce import enforce
from agui_reasoning.consumer._expand import Expander
from agui_reasoning.consumer._legacy import Boundary
from agui_reasoning.consumer._models import plain_json
from agui_reasoning.consumer._notices import NoticeSink
from agui_reasoning.consumer._verify import Phase, Verifier
from agui_reasoning.errors import LocalProtocolError, RemoteProtocolError

__all__ = ["Pipeline"]

_ENDED: Final = frozenset({Phase.FINISHED, Phase.FAILED})


class Pipeline:
    """Compatibility, enforcement, expansion, verification: from what came to what is delivered.

    Source:
        AG-UI 1.1, C1: this order on every path. C3: strictly event by event.
    """

    def __init__(
        self, warn: NoticeSink, *, thread_id: str | None = None, new_id: Callable[[], str] | None = None
    ) -> None:
        self._warn = warn
        self._boundary = Boundary(warn, new_id)
        self._expander = Expander()
        self._verifier = Verifier(warn, thread_id)

    @property
    def phase(self) -> Phase:
        """Where the stream stands."""
        return self._verifier.phase

    def receive(self, event: object) -> list[JSONObject]:
        """Take one event.

        Returns:
            What is delivered, in order. They share nothing with what came.

        Raises:
            RemoteProtocolError: It breaks the protocol. Nothing of it is delivered, and the run is over:
                only RUN_STARTED may follow.
            LocalProtocolError: It is no event at all (``not_an_event``); nothing has changed.
        """
        try:
            return self.stages(self.upgrade(event))
        except RemoteProtocolError:
            self._verifier.fail()
            self._expander.close()
            raise

    def upgrade(self, event: object) -> Mapping[str, Any]:
        """Give an event in today's form.

        Raises:
            LocalProtocolError: It is no event at all (``not_an_event``).
        """
        members = plain_json(event)
        if members is None:
            raise _not_an_event(event)
        return self._boundary.receive(members)

    def close(self) -> bool:
        """Say that the stream ended.

        Returns:
            It was whole: a run began, and none is open. What is unknown begins none.
        """
        whole = self.phase in _ENDED
        self._boundary.close()
        self._expander.close()
        self._verifier.close()
        return whole

    def stages(self, members: Mapping[str, Any]) -> list[JSONObject]:
        """Take an event in today's form; after a violation go on as if it had not come.

        Raises:
            RemoteProtocolError: It breaks the protocol.
        """
        known = enforce(members, self._warn, self._verifier.state)
        if known is None:
            return []
        events = self._expander.receive(known, self._verifier.state)
        for event in events:
            self._verifier.receive(event)
        return events


def _not_an_event(value: object) -> LocalProtocolError:
    return LocalProtocolError(
        f"{type(value).__name__} is not an event.",
        code="not_an_event",
        hint="Pass an `ag_ui.core` event, or a mapping with its JSON.",
    )
