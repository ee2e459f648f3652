"""Decode and encode event streams: Server-Sent Events, JSON lines and JSON arrays.

Sans-IO: feed the bytes you read, and send the bytes you get. Readers check only that each event is an object
with a string ``type``. The consumer validates events, so that the result does not depend on the transport.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agui_reasoning._lazy import lazy_attributes

if TYPE_CHECKING:
    from agui_reasoning.wire._decode import SSEDecoder
    from agui_reasoning.wire._drop_in import EventEncoder
    from agui_reasoning.wire._encode import KEEP_ALIVE, MEDIA_TYPE, SSEEncoder
    from agui_reasoning.wire._frames import MAX_FRAME_BYTES, SSEFrames
    from agui_reasoning.wire._read import iter_events, iter_payloads, read_events, read_payloads

__all__ = [
    "KEEP_ALIVE",
    "MAX_FRAME_BYTES",
    "MEDIA_TYPE",
    "EventEncoder",
    "SSEDecoder",
    "SSEEncoder",
    "SSEFrames",
    "iter_events",
    "iter_payloads",
    "read_events",
    "read_payloads",
]

_HOMES: Final = {
    "agui_reasoning.wire._decode": ("SSEDecoder",),
    "agui_reasoning.wire._drop_in": ("EventEncoder",),
    "agui_reasoning.wire._encode": (
        "KEEP_ALIVE",
        "MEDIA_TYPE",
        "SSEEncoder",
    ),
    "agui_reasoning.wire._frames": (
        "MAX_FRAME_BYTES",
        "SSEFrames",
    ),
    "agui_reasoning.wire._read": (
        "iter_events",
        "iter_payloads",
        "read_events",
        "read_payloads",
    ),
}

if not TYPE_CHECKING:  # a type checker would accept any attribute
    __getattr__, __dir__ = lazy_attributes(__name__, _HOMES)
