"""List the laws of the library and the rules of the emitter, and the tests that prove each.

A test says what it proves with ``@law("pairing")`` or ``@law("E4")``; `tests.meta.test_manifests` checks that
every entry has a test, and that every mark names an entry.
"""

from __future__ import annotations

from tests.support.manifest import mark as law

__all__ = ["EMITTER", "LAWS", "law"]

LAWS = {
    "pairing": "any deltas, cut anywhere, become events that our verifier and the official clients take",
    "stream is whole": "a stream and the whole response of the same answer decode to the same parts",
    "round trip": "what was emitted and read by a client is restored, also from what front ends make of it",
    "bytes": "a stream of bytes gives the same events however it is split",
    "secrecy": "hidden text is in nothing that leaves: no event, frame, request, error, log or repr",
    "authenticity": "a changed token, binding or key opens nothing; with keys, only what opens is restored",
    "pairing out": "any history becomes a request that the provider takes, whichever provider it is",
    "compat": "a stream that is downgraded and upgraded again keeps its text, order and structure",
    "linear": "twice the input is at most about twice the work, and twice the output",
}

EMITTER = {
    "E1": "ids are made up here, also for calls without an id of their own; the provider's are kept aside",
    "E2": "a span per stretch of reasoning, a message per unit, units never merged; adjacent texts share one",
    "E3": "nothing is sent for what is not there yet, and white space waits for text",
    "E4": "message end, value, span end; one empty message per response at most, and units that it carries",
    "E5": "each unit has an envelope, and late or attached values reach their entities",
    "E6": "what no entity shows is in the last value of its response, or in an anchor",
    "E7": "responses have messages of their own, and history keeps the order of reasoning, text and calls",
    "E8": "structure is in the envelope, and as a hint in the metadata",
    "E9": "a call belongs to the reasoning before it",
    "E10": "the provider's own tools are shown as calls with results",
    "E11": "however a stream ends, what is open is closed in order, and a call that was cut is answered",
    "E12": "official clients of both generations take every event",
    "E13": "with a clock, openers and closers have timestamps, and reasoning a duration",
    "E14": "stages change the form of the events, and nothing that they say",
    "E15": "a pair of surrogates that was cut is joined, and a lone one is replaced",
    "E16": "events are encoded by one function, whose fast path changes no byte",
}
