"""Prepares the next turn: restores parts from a history, and builds provider requests from parts."""

from agui_reasoning.request._build import REQUEST_API_IDS, ProviderRequest, build_request
from agui_reasoning.request._erase import erase_reasoning
from agui_reasoning.request._history import History, HistoryItem, ReportEntry
from agui_reasoning.request._prepared import PreparedConversation, PreparedResponse
from agui_reasoning.request._restore import restore

__all__ = [
    "REQUEST_API_IDS",
    "History",
    "HistoryItem",
    "PreparedConversation",
    "PreparedResponse",
    "ProviderRequest",
    "ReportEntry",
    "build_request",
    "erase_reasoning",
    "restore",
]
