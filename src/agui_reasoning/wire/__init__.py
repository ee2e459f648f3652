"""Bytes to events and back: Server-Sent Events, JSON lines, JSON arrays.

Nothing here opens a connection. Feed the bytes you read, send the bytes you get. A reader judges no more
than "an object with a string ``type``"; whether the event is a legal one is decided further up, so that
every transport gives the same verdict.
"""

from agui_reasoning.wire._decode import SSEDecoder
from agui_reasoning.wire._encode import KEEP_ALIVE, MEDIA_TYPE, SSEEncoder
from agui_reasoning.wire._frames import MAX_FRAME_BYTES, SSEFrames
from agui_reasoning.wire._read import iter_events, iter_payloads, read_events, read_payloads

__all__ = [
    "KEEP_ALIVE",
    "MAX_FRAME_BYTES",
    "MEDIA_TYPE",
    "SSEDecoder",
    "SSEEncoder",
    "SSEFrames",
    "iter_events",
    "iter_payloads",
    "read_events",
    "read_payloads",
]
