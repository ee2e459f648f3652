"""Random IDs."""

from __future__ import annotations

import uuid

__all__ = ["new_uuid"]


def new_uuid() -> str:
    """Return a random ID."""
    return str(uuid.uuid4())
