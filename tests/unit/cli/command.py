import json
import os
import re
from dataclasses import dataclass

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_COLOUR = frozenset({"FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "COLUMNS", "PYTHONWARNINGS"})


@dataclass
class Result:
    """What a command did; ids it made up are numbered in order of appearance."""

    status: int
    stdout: str
    stderr: str

    @property
    def text(self):
        seen: dict[str, str] = {}
        return _UUID.sub(lambda match: seen.setdefault(match[0], f"<{len(seen) + 1}>"), self.stdout)

    @property
    def events(self):
        frames = self.text.split("\n\n")
        assert frames.pop() == ""
        return [json.loads(frame.removeprefix("data: ")) for frame in frames]

    @property
    def types(self):
        return [event["type"] for event in self.events]


def touched(path):
    """What changes when a file is written or replaced, but not when it is read."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def environment(**more: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _COLOUR} | more
