"""Draw boxes and arrows as SVG that follows the reader's light or dark theme."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Literal

STYLE = """
    :root { --ink: #1f2430; --soft: #5b6270; --line: #8189a0; --plain: #f3f4f8; --main: #e3e7fb;
            --good: #dff3e6; --warm: #fdf0d8; }
    @media (prefers-color-scheme: dark) {
      :root { --ink: #e8eaf2; --soft: #aab1c3; --line: #7d869c; --plain: #2b2f3b; --main: #333c6b;
              --good: #234634; --warm: #4a3d20; }
    }
    text { font-family: system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif; font-size: 13px;
           fill: var(--ink); }
    .title { font-weight: 600; }
    .small { font-size: 11.5px; fill: var(--soft); }
    .code { font-family: ui-monospace, Menlo, "Liberation Mono", monospace; font-size: 11px; }
    .box { stroke: var(--line); }
    .edge { fill: none; stroke: var(--line); stroke-width: 1.5; marker-end: url(#head); }
    .frame { fill: none; stroke: var(--line); stroke-dasharray: 4 4; }
    .rule { stroke: var(--line); stroke-opacity: .45; }
    #head path { fill: var(--line); }
"""

Tone = Literal["plain", "main", "good", "warm"]
Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True)
class Box:
    """A rounded rectangle with a title, and smaller lines below it."""

    x: float
    y: float
    width: float
    height: float
    title: str
    lines: tuple[str, ...] = ()
    tone: Tone = "plain"

    def draw(self) -> str:
        """Return the elements."""
        middle = self.x + self.width / 2
        first = self.y + self.height / 2 + 4.5 - 8 * len(self.lines)
        below = (label(middle, first + 16 * n, line, "small") for n, line in enumerate(self.lines, 1))
        frame = (
            f'<rect class="box" x="{self.x}" y="{self.y}" width="{self.width}" height="{self.height}" '
            f'rx="8" fill="var(--{self.tone})"/>'
        )
        return "\n".join([frame, label(middle, first, self.title, "title"), *below])


def label(x: float, y: float, text: str, style: str = "small", anchor: Anchor = "middle") -> str:
    """Return a line of text."""
    return f'<text x="{x:g}" y="{y:g}" class="{style}" text-anchor="{anchor}">{escape(text)}</text>'


def arrow(path: str) -> str:
    """Return an arrow along a path."""
    return f'<path class="edge" d="{path}"/>'


def frame(x: float, y: float, width: float, height: float) -> str:
    """Return a dashed frame."""
    return f'<rect class="frame" x="{x}" y="{y}" width="{width}" height="{height}" rx="10"/>'


def rule(x: float, y: float, width: float) -> str:
    """Return a thin horizontal line."""
    return f'<path class="rule" d="M{x} {y}h{width}"/>'


def document(width: int, height: int, title: str, elements: Iterable[str]) -> str:
    """Return the text of an SVG file; ``title`` describes the picture to those who do not see it."""
    head = (
        '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0l8 4l-8 4z"/></marker>'
    )
    body = "\n".join(elements)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img">\n<title>{escape(title)}</title>\n'
        f"<style>{STYLE}</style>\n<defs>{head}</defs>\n{body}\n</svg>\n"
    )
