"""Check that every descriptor is complete, and that a folder and a row suffice to add a provider."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agui_reasoning.parts import Opaque, ReasoningPart
from agui_reasoning.providers import provider_apis
from agui_reasoning.providers.api import ProviderAPI
from agui_reasoning.providers.base import Decoder
from agui_reasoning.replay import CONVERSATIONS, TRANSCRIPTS
from agui_reasoning.testing import strategies
from scripts.new_provider import lay_out

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
    assert api.id in CONVERSATIONS.keys() & TRANSCRIPTS.keys() & set(strategies.API_IDS)


@pytest.mark.parametrize("api", provider_apis(), ids=lambda api: api.id)
def test_redacted_reasoning_is_told_by_the_name_of_its_kind(api: ProviderAPI) -> None:
    told = {kind for kind in api.redacted_kinds if ReasoningPart(opaque=(Opaque(kind, "x"),)).redacted}
    assert told == api.redacted_kinds
    assert not any(
        ReasoningPart(opaque=(Opaque(kind, "x"),)).redacted for kind in api.signature_kinds.values()
    )


def test_the_files_of_a_new_api_are_laid_out(tmp_path: Path) -> None:
    for folder in (
        "src/agui_reasoning/providers/_apis",
        "src/agui_reasoning/providers/rows",
        "tests/support/toy",
    ):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    written = lay_out("new-chat", "New Chat", "newcomer", tmp_path)
    sources = [path.read_text(encoding="utf-8") for path in written]
    assert [path.name for path in written] == ["new_chat.py", "__init__.py", "new-chat.toml"]
    assert not any("toy" in line.lower() for line in "".join(sources).splitlines() if "toy-1" not in line)
    made: dict[str, Any] = {"__name__": "agui_reasoning.providers._apis"}
    exec(sources[1], made)
    assert list(made["APIS"]) == [*(api.id for api in provider_apis()), "new-chat"]
    assert made["NEW_CHAT"].decoder == "agui_reasoning.providers._apis.new_chat:NewChatDecoder"
    with pytest.raises(SystemExit, match="exists already"):
        lay_out("new-chat", "New Chat", "newcomer", tmp_path)


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
                {"role": "user", "text": "Umbrella or raincoat?"},
                {
                    "role": "model",
                    "type": "think",
                    "text": "Wind decides. I need the forecast.",
                    "seal": "c2VhbC0x",
                },
                {
                    "role": "model",
                    "type": "call",
                    "id": "c1",
                    "name": "get_forecast",
                    "args": '{"place": "Bergen", "hours": 6}',
                },
                {"role": "tool", "answers": "c1", "text": "Rain."},
            ]
        },
        "emitter knows the rule": "required",
    }
    assert told["demo"] == {"ok": True, "checks": 5}
    assert told["docs"].startswith("| `toymaker` | any | required | `blocks` | all |")
