"""Turns deltas and parts into AG-UI events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agui_reasoning._lazy import lazy_attributes

if TYPE_CHECKING:
    from agui_reasoning.emitter._application import Opened as Opened
    from agui_reasoning.emitter._emitter import BaseEmitter
    from agui_reasoning.emitter._settings import EmissionOptions as EmissionOptions
    from agui_reasoning.emitter._settings import EmitterOptions as EmitterOptions
    from agui_reasoning.emitter._settings import EmitterSettings as EmitterSettings
    from agui_reasoning.emitter._settings import settings_of as settings_of
    from agui_reasoning.emitter._settings import shows_options as shows_options
    from agui_reasoning.emitter._visibility import PLACEHOLDER as PLACEHOLDER
    from agui_reasoning.emitter._visibility import Disclosure as Disclosure
    from agui_reasoning.emitter._visibility import Settling as Settling
    from agui_reasoning.emitter._visibility import Visibility as Visibility
    from agui_reasoning.emitter._visibility import check_visibility as check_visibility

# Names with an alias are for the other packages of the library, not for its users.
__all__ = ["BaseEmitter"]

_HOMES: Final = {
    "agui_reasoning.emitter._application": "Opened",
    "agui_reasoning.emitter._emitter": "BaseEmitter",
    "agui_reasoning.emitter._settings": "EmissionOptions EmitterOptions EmitterSettings "
    "settings_of shows_options",
    "agui_reasoning.emitter._visibility": "PLACEHOLDER Disclosure Settling Visibility check_visibility",
}

if not TYPE_CHECKING:  # a type checker would accept any attribute
    __getattr__, __dir__ = lazy_attributes(__name__, _HOMES)
