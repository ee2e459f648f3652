"""Every recording is a file that the commands read by themselves: which API it is of stands in it."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest

from agui_reasoning.cli._encode import encode_payloads
from agui_reasoning.cli._source import read_source
from agui_reasoning.errors import AGUIReasoningError
from agui_reasoning.gateway import ReplayUpstream
from agui_reasoning.providers import API_IDS, decoder
from agui_reasoning.run import Run
from tests.support.recordings import recordings
from tests.support.verifier import Client, plain
from tests.unit.gateway.http_client import INPUT


@pytest.mark.parametrize("api", [api for api in API_IDS if api != "litellm"])
def test_a_recording_is_encoded_and_replayed_without_options(api: str) -> None:
    files = [param.values[0] for param in recordings(api) if param.values[0] is not None]
    if not files:
        pytest.skip("the recordings are absent; set AGUI_REASONING_SHARED")
    for file in files:
        source = read_source(file.read_bytes())
        assert source.api == api
        reader = decoder(source.api, provider=source.provider, model=source.model)
        run = Run(INPUT, api=api, provider=reader.provider, model=source.model, on_warning=lambda text: None)
        client = Client()
        with suppress(AGUIReasoningError):  # the recording itself is cut, or an error
            for events in encode_payloads(source.payloads, reader, run, whole=source.whole):
                client.feed(plain(events))
        client.done()
        assert ReplayUpstream(json.loads(file.read_text(encoding="utf-8"))).api == api
