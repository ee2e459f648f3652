"""Turn two deltas into a complete AG-UI stream on standard output."""

import sys

from agui_reasoning import Run
from agui_reasoning.deltas import ReasoningDelta, TextDelta
from agui_reasoning.wire import SSEEncoder

run = Run({"threadId": "thread-1", "runId": "run-1", "messages": []})
sse = SSEEncoder()

events = run.start()
events += run.receive(ReasoningDelta("It will rain, so they need an umbrella."))
events += run.receive(TextDelta("Take an umbrella."))
events += run.finish()

for event in events:
    sys.stdout.write(sse.encode(event).decode())
