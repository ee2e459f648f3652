"""The tables of APIs and scripts, which a test extends with an API of its own."""

from agui_reasoning.providers._apis import APIS
from agui_reasoning.replay import _scripts

__all__ = ["APIS", "SCRIPT_FOLDERS"]

SCRIPT_FOLDERS = _scripts._FOLDERS
