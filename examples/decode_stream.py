"""Turn a recorded provider stream into AG-UI events, and list the tool calls that the client has to answer.

`weather.jsonl` contains sample payloads in the format of the Anthropic Messages API.
"""

from pathlib import Path

from agui_reasoning import DecodeError, ProviderError, Run
from agui_reasoning.providers import decoder
from agui_reasoning.wire import read_payloads

payloads = read_payloads(Path(__file__).with_name("weather.jsonl").read_bytes())
decode = decoder("anthropic-messages")
run = Run({"threadId": "thread-1", "runId": "run-1", "messages": []})

events = run.start()
try:
    for payload in payloads:
        for delta in decode.receive(payload):
            events += run.receive(delta)
    for delta in decode.close():
        events += run.receive(delta)
    events += run.finish()
except (DecodeError, ProviderError) as error:
    for delta in error.deltas:
        events += run.receive(delta)
    events += run.fail("The model could not be reached.", code=error.code)

for event in events:
    print(event.type.value)
for call in run.pending_calls:
    print(f"waiting for {call.name}({call.args})")
