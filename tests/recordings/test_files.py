"""Every recording is a file that the commands read by themselves: which API it is of stands in it."""

from __future__ import annotations

import json

import pytest

from agui_reasoning.cli import main
from agui_reasoning.gateway import ReplayUpstream
from agui_reasoning.providers import API_IDS
from agui_reasoning.wire import read_events
from tests.support.recordings import recordings
from tests.support.verifier import Client


@pytest.mark.parametrize("api", [api for api in API_IDS if api != "litellm"])
def test_a_recording_is_encoded_and_replayed_without_options(
    api: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    files = [param.values[0] for param in recordings(api) if param.values[0] is not None]
    if not files:
        pytest.skip("the recordings are absent; set AGUI_REASONING_SHARED")
    for file in files:
        status = main(["encode", str(file)])  # the recording itself may be cut, or an error
        client = Client()
        client.feed(read_events(capsysbinary.readouterr().out))
        client.done()
        assert status in (0, 1)
        assert ReplayUpstream(json.loads(file.read_text(encoding="utf-8"))).api == api
