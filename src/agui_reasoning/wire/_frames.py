"""Split Server-Sent Events into frames, and extract the text of each frame's ``data``.

Frame contents are not interpreted, so the same class reads AG-UI and provider streams.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from typing import Final

from agui_reasoning.errors import ConfigurationError, LocalProtocolError, RemoteProtocolError

MAX_FRAME_BYTES = 10 * 1024 * 1024
"""Default limit for one frame, in bytes; the same as in the reference client."""

# A frame with one line of data, which is not empty, at the end. The other lines are not read. The data gives
# nothing back (`++`): where a read cuts a frame, its end would be tried at each byte.
_FRAME_LF: Final = re.compile(rb"(?:(?!data).*\n)*?data: (.++)\n\n")
_FRAME_CRLF: Final = re.compile(rb"(?:(?!data)[^\r\n]*\r\n)*?data: ([^\r\n]++)\r\n\r\n")
_CR: Final = 13  # looked up in bytes four times as fast as b"\r"
_BLANK_LINE: Final = re.compile(rb"\n\r?\n")


class SSEFrames:
    r"""Incremental reader of the Server-Sent Events framing.

    Works on bytes, because Python's text methods also break lines at U+2028, U+2029 and U+0085, which are
    ordinary characters inside JSON strings. Lines end with LF, CR or CRLF. Comments and the fields
    ``event``, ``id`` and ``retry``, which have no meaning in AG-UI, are skipped.

    A bad frame does not lose the frames before it: `feed` returns them, and the next call raises the error.
    If there are none, `feed` raises the error itself. From then on, every call raises it.

    The total work is linear in the number of bytes, however they are split.

    Args:
        max_frame_bytes: Limit for one frame in bytes: its data so far and the line being read.

    Raises:
        ConfigurationError: The limit is below 1.

    Source:
        WHATWG HTML, "Interpreting an event stream".

    Examples:
        >>> frames = SSEFrames()
        >>> frames.feed(b"data: one\n\ndata: t"), frames.feed(b"wo\n\n")
        (['one'], ['two'])
    """

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        if max_frame_bytes < 1:
            raise ConfigurationError(
                "`max_frame_bytes` is below 1.", code="bad_limit", hint="Omit it to use 10 MiB."
            )
        self._limit: int = max_frame_bytes
        # bytearrays grow in place: joining `bytes` on each feed would be quadratic for small reads.
        self._line: bytearray = bytearray()
        self._data: bytearray = bytearray()
        self._number: int = 0
        self._at_start: bool = True
        self._after_cr: bool = False
        self._closed: bool = False
        # Whether the next byte begins a frame, and neither an error nor the end came before.
        self._between_frames: bool = False
        self._rest: bytes = b""
        # What came before the data of the last frame that was found by its form, and what is between its data
        # and that of another such frame: the next one is often alike.
        self._lead: bytes = b"data: "
        self._seam: str = "\n\ndata: "
        self._error: RemoteProtocolError | None = None

    def feed(self, data: bytes | bytearray | memoryview) -> list[str]:
        """Take the next bytes and return the data of every frame they complete.

        Raises:
            RemoteProtocolError: ``bad_utf8`` or ``frame_too_large``.
            LocalProtocolError: The reader is closed.
        """
        data = data if type(data) is bytes else bytes(data)
        if self._rest:
            data = self._rejoined(data)
        texts: list[str] = []
        at, lead = 0, self._lead
        if data[: len(lead)] == lead and self._between_frames and len(data) <= self._limit:
            end = len(data) - 2 if data[-2:] == b"\n\n" else data.rfind(b"\n\n")
            try:
                text = data[len(lead) : end].decode() if end > 0 else ""
            except UnicodeDecodeError:
                text = ""
            if text and "\r" not in text:
                texts = self._alike(text) if "\n" in text else [text]
                self._number += len(texts)
                at = end + 2
                if texts and at == len(data):
                    return texts
                if texts and _CR not in (rest := data[at:]):
                    self._rest = rest
                    return texts
        if not texts:
            at = 0 if self._between_frames else self._read_begun(data, texts)
            at = self._read_whole(data, at, texts)
        if at < len(data):
            self._leave(data[at:], texts)
        return texts if self._between_frames else self._give(texts)

    def close(self) -> list[str]:
        """Signal the end of the stream; return the last frame if its blank line is missing.

        WHATWG discards such a frame. AG-UI keeps it, as the reference client does, so that a terminal event
        followed by a close finishes the run.

        Raises:
            RemoteProtocolError: As in `feed`.
        """
        if self._error is None and self._closed:
            return []
        self._check_usable()
        self._closed = True
        self._between_frames = False
        self._read_lines(self._rest, [])
        if self._line:
            self._take(bytes(self._line))
            self._line.clear()
        text = self._dispatch() if self._error is None else None
        return self._give([] if text is None else [text])

    def _check_usable(self) -> None:
        if self._error is not None:
            raise self._error.with_traceback(None)
        if self._closed:
            raise LocalProtocolError(
                "The reader is closed.", code="closed", hint="Create a new one for each stream."
            )

    def _read_begun(self, data: bytes, texts: list[str]) -> int:
        """Read the rest of a frame that began in an earlier read; return where it ends."""
        self._check_usable()
        blank = _BLANK_LINE.search(data)
        end = len(data) if blank is None else blank.end()
        self._read_lines(data[:end], texts)
        self._between_frames = blank is not None and self._error is None
        return end if self._error is None else len(data)

    def _rejoined(self, data: bytes) -> bytes:
        """Return data with the beginning of its first frame, unless that would copy much for little."""
        rest, self._rest = self._rest, b""
        if len(rest) <= len(data):
            return rest + data
        self._between_frames = False
        self._read_lines(rest, [])
        return data

    def _leave(self, data: bytes, texts: list[str]) -> None:
        """Keep the beginning of a frame; read what has another form line by line."""
        if self._between_frames and _CR not in data and data.find(b"\n\n") < 0 and len(data) <= self._limit:
            self._rest = data
        else:
            self._between_frames = False
            self._read_lines(data, texts)

    def _alike(self, text: str) -> list[str]:
        """Return the data of frames that have the lines of the last one before it; none if any has others.

        ``text`` begins with the data of the first, and ends with that of the last. One split takes a third of
        the time of a search for each.
        """
        texts = text.split(self._seam)
        return [] if "" in texts or "\n" in "".join(texts) else texts

    def _read_whole(self, data: bytes, at: int, texts: list[str]) -> int:
        """Read frames with one line of data; return where they end.

        A frame of another form, or a bad one, is read line by line, and with it the rest.
        """
        if len(data) - at > self._limit:
            return at
        form = _FRAME_CRLF if _CR in data else _FRAME_LF
        before, lead = len(texts), self._lead
        try:
            while (frame := form.match(data, at)) is not None:
                texts.append(frame[1].decode())
                lead, at = data[at : frame.start(1)], frame.end()
        except UnicodeDecodeError:
            pass
        if lead.isascii() and _CR not in lead:
            self._lead, self._seam = lead, f"\n\n{lead.decode()}"
        self._number += len(texts) - before
        return at

    def _read_lines(self, data: bytes, texts: list[str]) -> None:
        """Read bytes line by line; add the data of the frames that they complete."""
        for line in self._split(data):
            if (text := self._take(line)) is not None:
                texts.append(text)
            if self._error is not None:
                return
        self._check_size(len(self._line))

    def _split(self, data: bytes) -> list[bytes]:
        """Return the lines that are now complete; keep the rest for the next feed."""
        if data and self._after_cr:  # the CR already ended the line; its LF may arrive in a later read
            self._after_cr = False
            data = data.removeprefix(b"\n")
        if not data:
            return []
        self._after_cr = data.endswith(b"\r")
        lines = data.splitlines()  # for bytes: CR, LF and CRLF only
        rest = b"" if data.endswith((b"\r", b"\n")) else lines.pop()
        if lines and self._line:
            lines[0] = bytes(self._line) + lines[0]
            self._line.clear()
        self._line += rest
        return lines

    def _take(self, line: bytes) -> str | None:
        """Interpret one complete line; return the frame's data if the line ended a frame."""
        if not self._check_size(len(line)):
            return None
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(BOM_UTF8)
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data += value.removeprefix(b" ")
            self._data += b"\n"
        return None

    def _dispatch(self) -> str | None:
        # Each data line ends in LF: no bytes mean no data line, and a single LF means an empty one.
        if len(self._data) < 2:
            self._data.clear()
            return None
        self._number += 1
        data, self._data = self._data, bytearray()
        del data[-1]
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            self._fail(bad_utf8(f"Frame {self._number}", error.start))
        return None

    def _check_size(self, line_bytes: int) -> bool:
        # Also checked on complete lines, so that the result does not depend on how the bytes were split.
        if self._error is None and len(self._data) + line_bytes > self._limit:
            self._fail(frame_too_large(f"Frame {self._number + 1}", self._limit))
        return self._error is None

    def _fail(self, error: RemoteProtocolError) -> None:
        self._error = error
        self._between_frames = False
        self._line = bytearray()
        self._data = bytearray()

    def _give(self, texts: list[str]) -> list[str]:
        if self._error is not None and not texts:
            raise self._error
        return texts


def bad_event(place: str) -> RemoteProtocolError:
    """Return the error for JSON that is not an AG-UI event."""
    return RemoteProtocolError(
        f"{place} is not an object with a non-empty string `type`.",
        code="bad_frame",
        hint="Every AG-UI event is one JSON object with a `type`; decode a provider's own stream with a "
        "provider decoder first.",
    )


def bad_json(place: str, position: int | None, *, cut: bool = False) -> RemoteProtocolError:
    """Return the error for text that is not JSON.

    Args:
        place: The frame or item, as the subject of a sentence.
        position: The character at which parsing stopped, if known.
        cut: Whether the stream ended inside the text.
    """
    where = "" if position is None else f" (stopped at character {position})"
    return RemoteProtocolError(
        f"{place} is not valid JSON{where}.",
        code="bad_json",
        hint="The stream ended inside this frame: the connection was probably lost."
        if cut
        else "Send one JSON value per frame, without NaN or Infinity.",
    )


def bad_utf8(place: str, position: int) -> RemoteProtocolError:
    """Return the error for bytes that are not UTF-8; ``position`` counts bytes from 0."""
    return RemoteProtocolError(
        f"{place} is not valid UTF-8 at byte {position}.",
        code="bad_utf8",
        hint="Event streams and JSON are always UTF-8, regardless of the response header.",
    )


def frame_too_large(place: str, limit: int) -> RemoteProtocolError:
    """Return the error for a frame above the limit."""
    return RemoteProtocolError(
        f"{place} is larger than {limit} bytes.",
        code="frame_too_large",
        hint="Raise `max_frame_bytes` if the peer is trusted and its events are this large.",
    )
