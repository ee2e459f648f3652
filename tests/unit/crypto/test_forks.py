"""Test forks while another thread uses a key ring: no child waits for a lock that nobody can release."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")

SCRIPT = """
import contextlib, os, signal, sys, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12, for this very case
from agui_reasoning.crypto import Binding, KeyRing
from agui_reasoning._forks import _OWNERS

ring, binding = KeyRing.generate(), Binding("t")
token = ring.encrypt(b"x", binding)

def use():
    signal.alarm(30)  # a child that waits dies of it
    assert ring.decrypt(token, binding) == b"x"
    assert ring.decrypt(ring.encrypt(b"y", binding), binding) == b"y"

def in_child():
    child = os.fork()
    if not child:
        try:
            use()
        finally:
            os._exit(0 if sys.exc_info()[0] is None else 1)
    return os.waitpid(child, 0)[1]
"""
HELD = """
locks = [owner._lock for owner in _OWNERS]
assert locks
held, done = threading.Event(), threading.Event()

def hold():
    with contextlib.ExitStack() as stack:
        for lock in locks:
            stack.enter_context(lock)
        held.set()
        done.wait()

thread = threading.Thread(target=hold)
thread.start()
held.wait()
statuses = [in_child(), in_child()]
assert all(lock.locked() for lock in locks)
done.set()
thread.join()
print(statuses)
use()
"""
BUSY = """
stop = threading.Event()

def work():
    while not stop.is_set():
        use()

sys.setswitchinterval(1e-6)
threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads]
statuses = [in_child() for _ in range({count})]
stop.set()
[thread.join() for thread in threads]
print({{*statuses}})
"""


def run(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stderr == ""
    return done.stdout


def test_a_child_can_use_a_ring_whose_lock_was_held() -> None:
    assert run(SCRIPT + HELD) == "[0, 0]\n"


@pytest.mark.slow
def test_children_of_a_busy_process_end() -> None:
    assert run(SCRIPT + BUSY.format(count=50).replace("signal.alarm(30)", "")) == "{0}\n"


def test_a_ring_that_is_no_longer_used_is_forgotten() -> None:
    script = "del ring\nimport gc\ngc.collect()\nprint(len(_OWNERS))"
    assert run(SCRIPT + script) == "0\n"
