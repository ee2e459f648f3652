"""The demo, which is a command: no public name plays or shows it."""

from agui_reasoning.cli._demo import DemoFrontEnd, Exhibit, checks, exhibits, play, scripted_upstream, web_app
from agui_reasoning.cli._screen import Screen, conversation, event_rows, marked_lines, short

__all__ = [
    "DemoFrontEnd",
    "Exhibit",
    "Screen",
    "checks",
    "conversation",
    "event_rows",
    "exhibits",
    "marked_lines",
    "play",
    "scripted_upstream",
    "short",
    "web_app",
]
