"""Hypothesis profiles: ``thorough`` for a long look, chosen with ``--hypothesis-profile``."""

import os

from hypothesis import settings

# In CI every run tries the same examples: what is new there is the change, not the dice.
settings.register_profile("default", deadline=None, derandomize="CI" in os.environ)
settings.register_profile("thorough", deadline=None, max_examples=5000)
settings.load_profile("default")
