"""Prepares the next turn: restores parts from a history, and builds provider requests from parts.

A history goes through five steps: messages and their envelopes are read, turns are rebuilt and put in order,
each unit is decided about, and an encoder writes the request.
"""

# A module each: `_index`, `_turns` and `_fallback`, `_restore`, `_prepare`, `_build`. `_conversation` returns
# what the request contains as parts.

from agui_reasoning.request._build import REQUEST_API_IDS, ProviderRequest, build_request, prepare
from agui_reasoning.request._build import check_named_objects as check_named_objects
from agui_reasoning.request._conversation import PreparedConversation, PreparedResponse
from agui_reasoning.request._fields import joined as joined
from agui_reasoning.request._fields import joined_flags as joined_flags
from agui_reasoning.request._fields import merge as merge
from agui_reasoning.request._fields import suitable as suitable
from agui_reasoning.request._fields import without_flags as without_flags
from agui_reasoning.request._fields import write_flags as write_flags
from agui_reasoning.request._history import ForeignReasoning as ForeignReasoning
from agui_reasoning.request._history import History, HistoryItem, ReportEntry
from agui_reasoning.request._history import RefusedTurns as RefusedTurns
from agui_reasoning.request._messages import checked_messages as checked_messages
from agui_reasoning.request._messages import erase_reasoning
from agui_reasoning.request._prepare import OpenCall
from agui_reasoning.request._prepare import open_calls as open_calls
from agui_reasoning.request._prepare import unrecognized as unrecognized
from agui_reasoning.request._report import explain as explain
from agui_reasoning.request._report import why as why
from agui_reasoning.request._restore import restore

# Names with an alias are for the other packages of the library, not for its users.
__all__ = [
    "REQUEST_API_IDS",
    "History",
    "HistoryItem",
    "OpenCall",
    "PreparedConversation",
    "PreparedResponse",
    "ProviderRequest",
    "ReportEntry",
    "build_request",
    "erase_reasoning",
    "prepare",
    "restore",
]
