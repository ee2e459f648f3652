"""Finds violations of the protocol, and valid constructs that real clients mishandle."""

from agui_reasoning._lint._check import Finding, check_events

__all__ = ["Finding", "check_events"]
