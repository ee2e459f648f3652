"""Benchmarks: one module per path, compared with the usual way to do the same work.

Run all with ``make bench``, or one with ``python -m benchmarks emit``. Both sides of every ratio take turns,
in one process where possible, so that other load on the machine affects both.
"""
