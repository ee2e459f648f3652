"""Mutate inputs by chance: whatever comes in, nothing but the library's own errors comes out.

A `Target` reads one kind of input: the payloads of an API, the bytes of a stream, the events of a run, the
messages of a client. A `Case` is one input. It is told by its target, a seed and a number alone, or kept in a
file of the corpus. What is accepted goes on through the loop, and wherever there is a fast path, it is
compared with the full one.
"""

from __future__ import annotations

from tests.support.fuzz.cases import TARGETS, Escape, cases_of, kept, run_case, tried
from tests.support.fuzz.target import Case, Target

__all__ = ["TARGETS", "Case", "Escape", "Target", "cases_of", "kept", "run_case", "tried"]
