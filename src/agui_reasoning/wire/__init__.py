"""Decode and encode event streams: Server-Sent Events, JSON lines and JSON arrays.

Sans-IO: feed the bytes you read, and send the bytes you get. Readers check only that each event is an object
with a string ``type``. The consumer validates events, so that the result does not depend on the transport.
"""

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
