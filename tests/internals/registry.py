"""The tables of APIs and scripts, which a test extends with an API of its own."""

from agui_reasoning import replay
from agui_reasoning.providers._apis import APIS

__all__ = ["APIS", "SCRIPT_FOLDERS"]

SCRIPT_FOLDERS = replay._FOLDERS
