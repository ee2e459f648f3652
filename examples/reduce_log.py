"""Read a stored log of a run, print what is wrong with it, and the messages that a client keeps.

python examples/reduce_log.py [FILE]    # Server-Sent Events, JSON lines or a JSON array
"""

import sys
from pathlib import Path

from agui_reasoning import Conversation, TruncatedRunError, check_events
from agui_reasoning.wire import read_events

file = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("weather.sse")
events = read_events(file.read_bytes())

for finding in check_events(events):
    print(f"event {finding.index}: {finding.severity}: {finding.message} {finding.remedy}")

conversation = Conversation()
try:
    for event in events:
        conversation.receive(event)
    conversation.end_of_stream()
except TruncatedRunError:
    print("The log ends before the run does. These messages came before:")

for message in conversation.messages:
    value = getattr(message, "encrypted_value", None)
    kept = f"  [{len(value)} characters to send back]" if value else ""
    print(f"{message.role:10} {message.content or ''}{kept}")
for call in conversation.pending_calls:
    print(f"waiting for {call.function.name}({call.function.arguments})")
