"""Turns deltas and parts into AG-UI events."""

from agui_reasoning.emitter._emitter import BaseEmitter

__all__ = ["BaseEmitter"]
