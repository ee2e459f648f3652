import base64
import json

import pytest

from agui_reasoning import ConfigurationError, DecodeError
from agui_reasoning.deltas import fold
from agui_reasoning.providers import API_IDS, decoder, provider_apis
from agui_reasoning.replay import (
    CALL_ID,
    CONVERSATIONS,
    THINKING,
    VALUE_KINDS,
    choose,
    load_script,
    read_answer,
    read_request,
    script_names,
    sequence,
)
from tests.frontends.provider import renewed
from tests.support.recordings import load, recordings

THREES = tuple(sorted(CONVERSATIONS.values()))
NAMES_MODEL_IN_PATH = {api.id for api in provider_apis() if api.http and api.http.model_in_path}
FIELDS = ["id", "provider", "api", "model", "stream", "question", "request", "events"]


def parts(name):
    script = load_script(name)
    decode = decoder(script["api"], provider=script["provider"], model=script["model"])
    deltas = [delta for event in script["events"] for delta in decode.receive(event["data"])]
    return fold([*deltas, *decode.close()])


def kinds(name):
    return [type(part).__name__.removesuffix("Part") for part in parts(name)]


def opaque(name):
    return [value for part in parts(name) for value in part.opaque]


def test_there_are_three_for_each_api():
    assert script_names() == tuple(
        sorted(name for first in THREES for name in (first, f"{first}-2", f"{first}-3"))
    )
    apis = [load_script(name)["api"] for name in THREES]
    assert sorted(apis) == sorted(CONVERSATIONS)


@pytest.mark.parametrize("name", ["nope", "", "../cli/app", "anthropic-weather.json"])
def test_an_unknown_name_lists_the_known_ones(name):
    with pytest.raises(ConfigurationError, match="Use one of: anthropic-weather, ") as caught:
        load_script(name)
    assert caught.value.code == "unknown_script"


@pytest.mark.parametrize("name", script_names())
def test_a_script_has_the_shape_of_a_recording(name):
    script = load_script(name)
    assert list(script) == FIELDS
    assert (script["id"], script["stream"]) == (name, True)
    assert script["request"].get("stream") is (None if script["api"] in NAMES_MODEL_IN_PATH else True)
    assert all(set(event) <= {"event", "data"} and "data" in event for event in script["events"])


_CALLED = ["Reasoning", "ToolCall"]
_ANSWERED = ["Reasoning", "Text"]


def test_scripts_decode_to_what_they_are_made_for():
    assert {name: kinds(name) for name in script_names()} == {
        "anthropic-weather": ["Reasoning", "Reasoning", "Text", "ToolCall"],
        "anthropic-weather-2": ["Reasoning", "Text"],
        "anthropic-weather-3": ["Reasoning", "Reasoning", "Text"],
        **{
            f"{name}-weather{part}": kinds
            for name in ("chat", "cohere", "gemini", "interactions", "mistral", "ollama")
            for part, kinds in (("", _CALLED), ("-2", _ANSWERED), ("-3", _ANSWERED))
        },
        "bedrock-weather": ["Reasoning", "Reasoning", "Text", "ToolCall"],
        "bedrock-weather-2": ["Reasoning", "Text"],
        "bedrock-weather-3": ["Reasoning", "Text"],
        "openai-weather": ["Reasoning", "ToolCall"],
        "openai-weather-2": ["Reasoning", "Text"],
        "openai-weather-3": ["Reasoning", "Text"],
        **{f"{name}-weather": ["Reasoning", "ToolCall"] for name in ("litellm", "xai")},
        **{f"{name}-weather-{n}": ["Reasoning", "Text"] for name in ("litellm", "xai") for n in (2, 3)},
    }
    assert [len(part.segments) for part in parts("openai-weather")[:1]] == [2]
    withheld = parts("openai-weather-2")[0]
    assert (withheld.item_id, withheld.text, len(withheld.opaque)) == ("rs_demo_0002", "", 1)
    assert parts("openai-weather-2")[1].ext["phase"] == "final_answer"


@pytest.mark.parametrize("name", script_names())
def test_every_opaque_value_says_that_it_is_ours(name):
    for value in opaque(name):
        assert base64.b64decode(value.value, altchars=b"-_").startswith(b"agui-reasoning demo ")


def test_an_openai_item_has_another_value_each_time_it_is_told():
    events = [event["data"] for event in load_script("openai-weather")["events"]]
    items = [event["item"] for event in events if event.get("item", {}).get("type") == "reasoning"]
    completed = events[-1]["response"]["output"][0]
    assert len({item["encrypted_content"] for item in (*items, completed)}) == 3


def test_no_opaque_value_is_told_twice():
    values = [value.value for name in script_names() for value in opaque(name)]
    assert len(values) == len(set(values)) == 27


@pytest.mark.parametrize("name", THREES)
def test_the_second_request_returns_what_the_first_exchange_gave(name):
    request = json.dumps(load_script(f"{name}-2")["request"], ensure_ascii=False)
    call = parts(name)[-1]
    assert all(value.value in request for value in opaque(name))
    assert call.id in request
    assert call.args == {"place": "Bergen", "hours": 6}


@pytest.mark.parametrize("name", THREES)
def test_the_third_request_returns_what_both_exchanges_gave(name):
    first, second, third = sequence(name)
    returned = [entry for entry in read_request(third["api"], third["request"]) if entry.kind in VALUE_KINDS]
    given = [entry for one in (first, second) for entry in read_answer(one) if entry.kind in VALUE_KINDS]
    assert [(e.kind, e.value) for e in returned] == [(e.kind, e.value) for e in given]


# -- which exchange answers


@pytest.mark.parametrize("name", THREES)
def test_a_name_brings_those_that_follow_it(name):
    assert [exchange["id"] for exchange in sequence(name)] == [name, f"{name}-2", f"{name}-3"]
    assert [exchange["id"] for exchange in sequence(f"{name}-2")] == [f"{name}-2"]


def test_a_recording_stands_alone():
    recording = load_script("chat-weather")
    assert sequence(recording) == (recording,)
    with pytest.raises(DecodeError):
        sequence({})


@pytest.mark.parametrize(
    ("speakers", "place"),
    [
        ([], 0),
        (["user"], 0),
        (["model"], 0),
        (["model", "user"], 0),  # a greeting answers nothing
        (["user", "user"], 0),
        (["user", "model"], 0),
        (["user", "model", "tool"], 1),
        (["user", "model", "tool", "tool"], 1),
        (["tool"], 1),
        (["user", "model", "tool", "model", "user", "model", "tool"], 1),
        (["user", "model", "tool", "model", "user"], 2),
        (["user", "model", "user"], 2),
        (["user", "model", "tool", "user"], 2),
    ],
)
def test_what_is_asked_decides_which_exchange_answers(speakers, place):
    exchanges = sequence("chat-weather")
    assert choose(exchanges, speakers) is exchanges[place]
    assert choose(exchanges[:1], speakers) is exchanges[0]
    assert choose(exchanges[:2], speakers) is exchanges[place % 2]


# -- who said what


@pytest.mark.parametrize("name", THREES)
def test_a_request_is_read_as_the_turns_that_it_holds(name):
    speakers = [
        [entry.speaker for entry in read_request(exchange["api"], exchange["request"])]
        for exchange in sequence(name)
    ]
    turns = [
        [who for who, before in zip(said, [None, *said], strict=False) if who != before] for said in speakers
    ]
    assert turns == [
        ["user"],
        ["user", "model", "tool"],
        ["user", "model", "tool", "model", "user"],
    ]


@pytest.mark.parametrize("name", script_names())
def test_an_answer_is_read_as_the_decoder_reads_it(name):
    """Two independent readers agree about every opaque value and every call."""
    values = [entry.value for entry in read_answer(load_script(name)) if entry.kind in VALUE_KINDS]
    decoded = parts(name)
    assert [value.value for value in opaque(name)] == [value for value in values if value in _opaque(decoded)]
    assert [part.id for part in decoded if hasattr(part, "arguments")] == [
        entry.value for entry in read_answer(load_script(name)) if entry.kind == CALL_ID
    ]


def _opaque(decoded):
    return {value.value for part in decoded for value in part.opaque}


def test_instructions_are_nobodys_words():
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi."}]
    assert [entry.path for entry in read_request("openai-chat", {"messages": chat})] == ["/messages/1"]
    items = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Hi."}]
    assert [entry.path for entry in read_request("openai-responses", {"input": items})] == ["/input/1"]


def test_a_result_before_words_is_a_question():
    blocks = [{"type": "tool_result", "tool_use_id": "t"}, {"type": "text", "text": "And now?"}]
    body = {"messages": [{"role": "user", "content": blocks}]}
    assert [entry.speaker for entry in read_request("anthropic-messages", body)] == ["tool", "user"]


def test_input_may_be_a_string():
    assert [entry.speaker for entry in read_request("openai-responses", {"input": "Hi."})] == ["user"]


@pytest.mark.parametrize("api", API_IDS)
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": None, "input": None},
        {"messages": [None, 1], "input": [None, 1]},
        {"messages": [{"role": "system", "content": 1, "tool_calls": 1}], "input": [{"role": "system"}]},
    ],
)
def test_what_cannot_be_read_says_nothing(api, body):
    assert {entry.kind for entry in read_request(api, body)} <= {"words"}


def test_a_value_is_not_in_the_repr():
    entry = next(
        entry for entry in read_answer(load_script("anthropic-weather")) if entry.kind == "signature"
    )
    assert entry.value not in repr(entry)


@pytest.mark.parametrize("api", API_IDS)
def test_recorded_answers_are_read(api):
    files = [file.values[0] for file in recordings(api) if file.values[0] is not None]
    if not files:
        pytest.skip("the recordings are absent; set AGUI_REASONING_SHARED")
    kinds = {entry.kind for file in files for entry in read_answer(load(file))}
    if api == "mistral-chat":  # no recording of it has a call
        assert kinds & VALUE_KINDS == {THINKING}
        return
    assert CALL_ID in kinds
    assert len(kinds & VALUE_KINDS) > 1


@pytest.mark.parametrize(
    ("api", "detail", "read"),
    [("other", "xai-grpc", "xai-grpc"), ("ollama", "xai-grpc", "ollama"), ("ollama", None, "ollama")],
)
def test_a_recording_of_another_api_says_which_in_its_detail(api, detail, read):
    (exchange,) = sequence({"api": api, "api_detail": detail, "events": []})
    assert exchange["api"] == read


def test_a_recording_of_another_api_without_a_detail_is_none():
    with pytest.raises(DecodeError) as caught:
        sequence({"api": "other", "events": []})
    assert caught.value.code == "bad_recording"


@pytest.mark.parametrize("name", THREES)
def test_the_provider_of_the_front_ends_never_repeats_the_id_of_a_call(name):
    """assistant-ui does not run a tool again for a call whose ID it has seen."""
    script = load_script(name)
    given, again = (
        {entry.value for entry in read_answer(exchange) if entry.kind == CALL_ID}
        for exchange in (script, renewed(script, 2))
    )
    assert given.isdisjoint(again)
    assert sorted(map(len, given)) == sorted(map(len, again)) or script["api"] != "mistral-chat"
