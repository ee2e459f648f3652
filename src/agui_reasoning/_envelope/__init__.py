"""Envelopes: opaque values and structure in the single string that AG-UI provides for them."""
