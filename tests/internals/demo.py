"""The demo, which is a command: no public name plays or shows it."""

from agui_reasoning.cli._demo import Exhibit, exhibits, web_app
from agui_reasoning.cli._demo._playback import DemoFrontEnd, checks, play, scripted_upstream
from agui_reasoning.cli._demo._screen import Screen, conversation, event_rows, marked_lines, short

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
