"""Decode and encode event streams: Server-Sent Events, JSON lines and JSON arrays.

Sans-IO: feed the bytes you read, and send the bytes you get. Readers check only that each event is an object
with a string ``type``. The consumer validates events, so that the result does not depend on the transport.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agui_reasoning._lazy import lazy_attributes

if TYPE_CHECKING:
    from agui_reasoning.wire._decode import SSEDecoder, iter_events, iter_payloads, read_events, read_payloads
    from agui_reasoning.wire._decode import check_event as check_event
    from agui_reasoning.wire._decode import iter_numbered_events as iter_numbered_events
    from agui_reasoning.wire._encode import KEEP_ALIVE, MEDIA_TYPE, EventEncoder, SSEEncoder
    from agui_reasoning.wire._encode import form_of as form_of
    from agui_reasoning.wire._encode import frames_of as frames_of
    from agui_reasoning.wire._encode import json_string as json_string
    from agui_reasoning.wire._encode import short_frame as short_frame
    from agui_reasoning.wire._encode import write_json as write_json
    from agui_reasoning.wire._frames import MAX_FRAME_BYTES, SSEFrames
    from agui_reasoning.wire._frames import bad_json as bad_json
    from agui_reasoning.wire._frames import bad_utf8 as bad_utf8
    from agui_reasoning.wire._frames import frame_too_large as frame_too_large

# Names with an alias are for the other packages of the library, not for its users.
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
    "agui_reasoning.wire._frames": "MAX_FRAME_BYTES SSEFrames bad_json bad_utf8 frame_too_large",
    "agui_reasoning.wire._decode": "SSEDecoder check_event iter_events iter_numbered_events "
    "iter_payloads read_events read_payloads",
    "agui_reasoning.wire._encode": "KEEP_ALIVE MEDIA_TYPE EventEncoder SSEEncoder form_of "
    "frames_of json_string short_frame write_json",
}

if not TYPE_CHECKING:  # a type checker would accept any attribute
    __getattr__, __dir__ = lazy_attributes(__name__, _HOMES)
