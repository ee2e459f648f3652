import base64
import json

import pytest

from agui_reasoning import ConfigurationError, scripted
from agui_reasoning.deltas import fold
from agui_reasoning.providers import decoder

PAIRS = ("anthropic-weather", "chat-weather", "openai-weather")
FIELDS = ["id", "provider", "api", "model", "stream", "request", "events"]


def parts(name):
    script = scripted.load(name)
    decode = decoder(script["api"], provider=script["provider"], model=script["model"])
    deltas = [delta for event in script["events"] for delta in decode.receive(event["data"])]
    return fold([*deltas, *decode.close()])


def kinds(name):
    return [type(part).__name__.removesuffix("Part") for part in parts(name)]


def opaque(name):
    return [value for part in parts(name) for value in part.opaque]


def test_there_is_a_pair_for_each_api():
    assert scripted.names() == tuple(sorted(name for pair in PAIRS for name in (pair, f"{pair}-2")))
    assert {scripted.load(name)["api"] for name in PAIRS} == {
        "anthropic-messages",
        "openai-chat",
        "openai-responses",
    }


@pytest.mark.parametrize("name", ["nope", "", "../cli/app", "anthropic-weather.json"])
def test_an_unknown_name_lists_the_known_ones(name):
    with pytest.raises(ConfigurationError, match="Use one of: anthropic-weather, ") as caught:
        scripted.load(name)
    assert caught.value.code == "unknown_script"


@pytest.mark.parametrize("name", scripted.names())
def test_a_script_has_the_shape_of_a_recording(name):
    script = scripted.load(name)
    assert list(script) == FIELDS
    assert (script["id"], script["stream"], script["request"]["stream"]) == (name, True, True)
    assert all(set(event) <= {"event", "data"} and "data" in event for event in script["events"])


def test_scripts_decode_to_what_they_are_made_for():
    assert {name: kinds(name) for name in scripted.names()} == {
        "anthropic-weather": ["Reasoning", "Reasoning", "Text", "ToolCall"],
        "anthropic-weather-2": ["Reasoning", "Text"],
        "chat-weather": ["Reasoning", "ToolCall"],
        "chat-weather-2": ["Reasoning", "Text"],
        "openai-weather": ["Reasoning", "ToolCall"],
        "openai-weather-2": ["Reasoning", "Text"],
    }
    assert [len(part.segments) for part in parts("openai-weather")[:1]] == [2]
    withheld = parts("openai-weather-2")[0]
    assert (withheld.item_id, withheld.text, len(withheld.opaque)) == ("rs_demo_0002", "", 1)
    assert parts("openai-weather-2")[1].ext["phase"] == "final_answer"


@pytest.mark.parametrize("name", scripted.names())
def test_every_opaque_value_says_that_it_is_ours(name):
    for value in opaque(name):
        assert base64.b64decode(value.value, altchars=b"-_").startswith(b"agui-reasoning demo ")


def test_an_openai_item_has_another_value_each_time_it_is_told():
    events = [event["data"] for event in scripted.load("openai-weather")["events"]]
    items = [event["item"] for event in events if event.get("item", {}).get("type") == "reasoning"]
    completed = events[-1]["response"]["output"][0]
    assert len({item["encrypted_content"] for item in (*items, completed)}) == 3


@pytest.mark.parametrize("name", PAIRS)
def test_the_second_request_returns_what_the_first_exchange_gave(name):
    request = json.dumps(scripted.load(f"{name}-2")["request"], ensure_ascii=False)
    call = parts(name)[-1]
    assert all(value.value in request for value in opaque(name))
    assert call.id in request
    assert call.args == {"place": "Bergen", "hours": 6}
