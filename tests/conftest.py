"""Hypothesis profiles: ``thorough`` for a long look, chosen with ``--hypothesis-profile``."""

from hypothesis import settings

settings.register_profile("default", deadline=None)
settings.register_profile("thorough", deadline=None, max_examples=5000)
settings.load_profile("default")
