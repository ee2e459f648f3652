"""Generate conversations that went through any provider, and what clients do to them.

Every text of reasoning and every value gets a mark of its own, which tells the part that it came from: so it
can be found again in a request, whatever field it stands in.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

from ag_ui.core import (
    AudioInputContent,
    DocumentInputContent,
    ImageInputContent,
    Message,
    SystemMessage,
    ToolMessage,
    UserMessage,
    VideoInputContent,
)
from hypothesis import strategies as st
from msgspec.structs import replace

from agui_reasoning.parts import (
    EFFORTS,
    EffortChange,
    NativePart,
    Part,
    ReasoningPart,
    ToolCallPart,
    ToolResultPart,
    Turn,
)
from agui_reasoning.request import History, HistoryItem
from agui_reasoning.testing.strategies import API_IDS
from agui_reasoning.testing.strategies import turns as turns_of
from tests.support.strategies import turns as any_parts

Items = list[HistoryItem]
Place = tuple[int, int]
"""The number of a turn, and of a part in it."""

decoded = st.one_of([turns_of(api) for api in API_IDS]).map(lambda turn: list(turn.parts))
"""Responses as the decoder of an API gives them."""

DAMAGED = st.sampled_from([None] * 8 + ["", "SIG", "gAAAA==", "\ud83d", "c2l nLQ=="])
"""What a value became on its way; ``None``: nothing happened to it."""


# -- marks


def _text_mark(place: Place) -> str:
    return f"[{place[0]}.{place[1]}]"


def _value_mark(place: Place, number: int) -> str:
    """A value, in base64 as it stands and after any decoding and encoding."""
    return f"MARK{place[0]:03d}x{place[1]:02d}y{number:01d}"


_MARKS = re.compile(r"\[(\d+)\.(\d+)\]|MARK(\d{3})x(\d\d)y\d")


def marks(value: Any) -> Iterator[Place]:
    """Whose marks stand anywhere in a body."""
    for text in _strings(value):
        for turn, part, *of_value in _MARKS.findall(text):
            first, second = (turn, part) if turn else of_value
            yield int(first), int(second)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield from (value.decode("latin-1"), b64encode(value).decode("ascii"))
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _strings(inner)


def marked(part: Part, place: Place, damage: str | None = None) -> Part:
    """The part with its mark in each text of reasoning and each value.

    Args:
        part: The part.
        place: Where it stands in the conversation.
        damage: What stands where its first value was.
    """
    if isinstance(part, ReasoningPart):
        segments = tuple(replace(one, text=one.text + _text_mark(place)) for one in part.segments)
        part = replace(part, segments=segments)
    if isinstance(part, NativePart) or not getattr(part, "opaque", ()):
        return part
    values = tuple(replace(one, value=_value_mark(place, n)) for n, one in enumerate(part.opaque))  # type: ignore[union-attr]
    if damage is not None:
        values = (replace(values[0], value=damage), *values[1:])
    return replace(part, opaque=values)  # type: ignore[arg-type]


# -- conversations


@st.composite
def changing(draw: st.DrawFn, items: Items) -> Items:
    """The conversation, with some changes of the effort anywhere in it."""
    changed: list[HistoryItem] = [*items]
    for effort in draw(st.lists(st.sampled_from(EFFORTS), max_size=3)):
        changed.insert(draw(st.integers(0, len(changed))), EffortChange(effort))
    return changed


@st.composite
def conversations(draw: st.DrawFn, *, max_turns: int = 4) -> Items:
    """Turns of any origin, cut anywhere, with some calls answered, some late, some twice, some never."""
    items: Items = []
    late: list[Message] = []
    for number, parts in enumerate(draw(st.lists(any_parts() | decoded, max_size=max_turns))):
        if draw(st.booleans()):
            items.append(UserMessage(id=f"u{number}", content=draw(USER_CONTENT)))
        typed = [marked(_typed(part), (number, n), draw(DAMAGED)) for n, part in enumerate(parts)]
        cut = [_cut(draw, _argued(draw, part)) for part in typed]
        known = {part.tool_call_id for part in parts if isinstance(part, ToolResultPart)}
        server = [p for p in cut if isinstance(p, ToolCallPart) and p.server and p.id not in known]
        found = [_found(call) for call in server if draw(st.booleans())]
        items.append(Turn((*cut, *found), parts[0].origin if parts else None, f"resp_{number}"))
        items += late
        late = []
        for part in cut:
            if isinstance(part, ToolCallPart) and not part.server:
                result = draw(_results(f"r{number}", part.id))
                where = draw(st.sampled_from(["now", "late", "twice", "never"]))
                items += {"now": [result], "twice": [result, result]}.get(where, [])
                late += [result] if where == "late" else []
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), SystemMessage(id="s", content="Be brief."))
    return [*items, *late]


def _source(kind: str, value: str, mime: str | None) -> dict[str, Any]:
    return {"type": kind, "value": value, **({"mimeType": mime} if mime else {})}


_MEDIA: list[tuple[Any, str, list[str]]] = [
    (ImageInputContent, "image", ["image/png", "image/svg+xml"]),
    (AudioInputContent, "audio", ["audio/wav", "audio/mpeg", "audio/ogg"]),
    (VideoInputContent, "video", ["video/mp4"]),
    (DocumentInputContent, "document", ["application/pdf", "text/plain", "application/msword", "a/b"]),
]
MEDIA = [
    cls.model_validate({"type": kind, "source": _source(place, value, mime), "metadata": metadata})
    for cls, kind, mimes in _MEDIA
    for mime in mimes
    for place, value in (("data", "eA=="), ("url", "https://example.org/x"))
    for metadata in ({}, {"filename": "My  plan_(v2).tar.pdf"})
]
"""What a user may send beside text, in types that some providers do not know."""

_PARTS = st.lists(
    st.sampled_from(MEDIA) | st.sampled_from([{"type": "text", "text": text} for text in ("Look.", " ")]),
    min_size=1,
    max_size=3,
)
USER_CONTENT: st.SearchStrategy[Any] = st.sampled_from(["Hi.", "Hi.", "Hi.", "", " "]) | _PARTS


@st.composite
def _results(draw: st.DrawFn, result_id: str, call_id: str) -> ToolMessage:
    content = draw(st.sampled_from(["found", "found", "", " ", MEDIA[:1]]))
    error = draw(st.sampled_from([None, None, "It failed."]))
    return ToolMessage(id=result_id, tool_call_id=call_id, content=content, error=error)


def _typed(part: Part) -> Part:
    """The strategy's payloads are any JSON; what a client sends must not reach a provider unless it fits.

    One part has one value, fields of OpenAI come from OpenAI, and what was redacted has no text.
    """
    part = _plausible(part)
    if isinstance(part, NativePart) and part.kind == "openai.compaction":
        return replace(part, payload={"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAA"})
    if isinstance(part, ToolCallPart) and part.server and "type" not in (part.ext or {}):
        interacts = part.origin is not None and part.origin.api == "gemini-interactions"
        return replace(part, name="web_search", ext={"type": "google_search_call"} if interacts else part.ext)
    return part


def _plausible(part: Part) -> Part:
    if isinstance(part, NativePart | ToolResultPart):
        return part
    api = part.origin.api if part.origin else None
    ext = part.ext if api not in ("anthropic-messages", "gemini", "gemini-interactions") else None
    if part.ext and "id" not in part.ext:
        ext = part.ext
    part = replace(part, opaque=part.opaque[:1], ext=ext)
    redacted = any("redacted" in opaque.kind for opaque in part.opaque)
    return replace(part, segments=()) if isinstance(part, ReasoningPart) and redacted else part


def _argued(draw: st.DrawFn, part: Part) -> Part:
    if not isinstance(part, ToolCallPart) or part.server:
        return part
    return replace(part, arguments=draw(st.sampled_from([part.arguments, '{"city":"Oslo"}', "", "[1]"])))


def _cut(draw: st.DrawFn, part: Part) -> Part:
    whole = draw(st.sampled_from([True, True, True, False]))
    if whole or isinstance(part, ToolResultPart | NativePart):
        return part
    return replace(part, status="incomplete")


def _found(call: ToolCallPart) -> ToolResultPart:
    api = call.origin.api if call.origin else None
    native: Any = {
        "anthropic-messages": {"type": "web_search_tool_result", "tool_use_id": call.id, "content": []},
        "openai-responses": {
            "type": "web_search_call",
            "id": f"ws_{call.id}",
            "status": "completed",
            "action": {"type": "search", "query": "x"},
        },
        "gemini-interactions": {"type": "google_search_result", "call_id": call.id, "result": []},
        "gemini": {"codeExecutionResult": {"id": call.id, "output": "found"}},
    }.get(api or "", {"type": "search"})
    return ToolResultPart(call.id, "found", native=native, origin=call.origin)


@st.composite
def trimmed(draw: st.DrawFn) -> Items:
    """A conversation of which only the last turns were kept."""
    items = draw(conversations())
    keep = draw(st.none() | st.integers(0, 3))
    return items if keep is None else list(History(tuple(items)).trim(keep_turns=keep).items)
