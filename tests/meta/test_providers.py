"""Check that every descriptor is complete, and that a folder and a row suffice to add a provider."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest

from agui_reasoning._scripted import names
from agui_reasoning.parts import Opaque, ReasoningPart
from agui_reasoning.providers import provider_apis
from agui_reasoning.providers.api import ProviderAPI
from agui_reasoning.providers.base import Decoder
from agui_reasoning.providers.transcript import Transcript

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("api", provider_apis(), ids=lambda api: api.id)
def test_every_field_of_a_descriptor_is_filled_or_none(api: ProviderAPI) -> None:
    values = {field.name: getattr(api, field.name) for field in dataclasses.fields(api)}
    assert [name for name, value in values.items() if value == ""] == []


@pytest.mark.parametrize("api", provider_apis(), ids=lambda api: api.id)
def test_every_member_of_a_descriptor_can_be_imported(api: ProviderAPI) -> None:
    decoder = api.load_decoder()
    assert issubclass(decoder, Decoder)
    assert (decoder.api, decoder.vendor) == (api.id, api.vendor)
    assert api.encoder is None or callable(api.load_encoder())
    assert api.transcript is None or isinstance(api.load_transcript(), Transcript)
    assert api.strategy is None or callable(api.load_strategy())
    assert set(api.scripts) <= set(names())


@pytest.mark.parametrize("api", provider_apis(), ids=lambda api: api.id)
def test_redacted_reasoning_is_told_by_the_name_of_its_kind(api: ProviderAPI) -> None:
    told = {kind for kind in api.redacted_kinds if ReasoningPart(opaque=(Opaque(kind, "x"),)).redacted}
    assert told == api.redacted_kinds
    assert not any(
        ReasoningPart(opaque=(Opaque(kind, "x"),)).redacted for kind in api.signature_kinds.values()
    )


def test_a_folder_and_a_row_are_a_provider() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.toy.check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert told["loop"] == {
        "restored": True,
        "body": {
            "turns": [
                {"by": "user", "text": "Umbrella or raincoat?"},
                {"by": "toy", "t": "think", "text": "Wind decides. I need the forecast.", "seal": "c2VhbC0x"},
                {
                    "by": "toy",
                    "t": "call",
                    "id": "c1",
                    "name": "get_forecast",
                    "args": '{"place": "Bergen", "hours": 6}',
                },
                {"by": "tool", "answers": "c1", "text": "Rain."},
            ]
        },
        "emitter knows the rule": "required",
    }
    assert told["demo"] == {"listed": True, "ok": True, "checks": 5}
    assert told["docs"].startswith("| `toymaker` | any | required | `blocks` | all |")
