"""The stages of the consumer before reduction, in the order of the specification."""

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
    """Runs compatibility, enforcement, expansion and verification for one stream after another.

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
        """The phase of the current run."""
        return self._verifier.phase

    def receive(self, event: object) -> list[JSONObject]:
        """Process one event.

        Returns:
            The delivered events, in order, which share no objects with the argument.

        Raises:
            RemoteProtocolError: The event breaks the protocol. Nothing is delivered, and only RUN_STARTED may
                follow.
            LocalProtocolError: The argument is not an event (``not_an_event``); the state is unchanged.
        """
        try:
            return self.stages(self.upgrade(event))
        except RemoteProtocolError:
            self._verifier.fail()
            self._expander.close()
            raise

    def upgrade(self, event: object) -> Mapping[str, Any]:
        """Return an event in its current form.

        Raises:
            LocalProtocolError: The argument is not an event (``not_an_event``).
        """
        members = plain_json(event)
        if members is None:
            raise _not_an_event(event)
        return self._boundary.receive(members)

    def close(self) -> bool:
        """Signal the end of the stream.

        Returns:
            Whether the stream was complete: a run began, and none is open. Unknown events begin no run.
        """
        whole = self.phase in _ENDED
        self._boundary.close()
        self._expander.close()
        self._verifier.close()
        return whole

    def stages(self, members: Mapping[str, Any]) -> list[JSONObject]:
        """Process an event in its current form. Later events can be processed even after a violation.

        Raises:
            RemoteProtocolError: The event breaks the protocol.
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
