"""The consumer of AG-UI streams.

`Conversation` runs the stages of the specification in order: compatibility, enforcement, chunk expansion,
verification and reduction. Internally, events are plain JSON. The models of `ag_ui` are only returned, never
used to validate, because they coerce values.
"""

# The stages are `_pipeline`, `_expand`, `_verify` and `_reduce`; a delta that repeats the event before it
# takes a fast path around them, `_fast`.

from __future__ import annotations

from typing import TYPE_CHECKING

from agui_reasoning._lazy import lazy_attributes
from agui_reasoning.consumer import _faults as faults  # noqa: F401 -- for the other packages
from agui_reasoning.consumer._compact import compact
from agui_reasoning.consumer._conversation import Conversation, reduce_events
from agui_reasoning.consumer._expand import Expander as Expander
from agui_reasoning.consumer._fast import Repeats as Repeats
from agui_reasoning.consumer._faults import Notice as Notice
from agui_reasoning.consumer._faults import cut as cut
from agui_reasoning.consumer._faults import quoted as quoted
from agui_reasoning.consumer._history import HeldMessage as HeldMessage
from agui_reasoning.consumer._history import HeldMessages as HeldMessages
from agui_reasoning.consumer._history import kind_of as kind_of
from agui_reasoning.consumer._models import PendingCall
from agui_reasoning.consumer._models import plain_json as plain_json
from agui_reasoning.consumer._outgoing import UserContent as UserContent
from agui_reasoning.consumer._pipeline import MEDIA_KINDS as MEDIA_KINDS
from agui_reasoning.consumer._pipeline import Pipeline as Pipeline
from agui_reasoning.consumer._pipeline import unknown_member as unknown_member
from agui_reasoning.consumer._reduce import Reducer as Reducer
from agui_reasoning.consumer._schema import EVENTS as EVENTS
from agui_reasoning.consumer._schema_types import places_of as places_of
from agui_reasoning.consumer._schema_types import without_malformed_options as without_malformed_options
from agui_reasoning.consumer._verify import Phase as Phase

if TYPE_CHECKING:
    from agui_reasoning._lint import Finding, check_events

# Names with an alias are for the other packages of the library, not for its users.
__all__ = ["Conversation", "Finding", "PendingCall", "check_events", "compact", "reduce_events"]

if not TYPE_CHECKING:  # a type checker would accept any attribute
    __getattr__, __dir__ = lazy_attributes(__name__, {"agui_reasoning._lint": ("Finding", "check_events")})
