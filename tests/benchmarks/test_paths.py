"""Every benchmark runs; how fast is for `make bench` to say."""

from __future__ import annotations

import math

import pytest

from agui_reasoning.deltas import ReasoningDelta, TextDelta
from agui_reasoning.providers import decoder, provider_apis
from benchmarks.__main__ import main
from benchmarks.harness import TINY, Figure, Path, at_least, at_most, fresh
from benchmarks.paths import PATHS, load, measured
from benchmarks.report import headlines, markdown, row
from benchmarks.streams import STREAMS
from benchmarks.texts import MIXED, pieces


@pytest.mark.slow
@pytest.mark.parametrize("name", PATHS)
def test_a_path_yields_rows_with_samples_or_says_what_is_missing(name: str) -> None:
    figures = measured(name, TINY)
    assert figures
    assert len({figure.name for figure in figures}) == len(figures)
    for figure in figures:
        assert figure.note or all(map(math.isfinite, figure.samples))


@pytest.mark.slow
def test_the_command_measures_in_another_process(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.keys.PATH", None)  # missing in this process
    monkeypatch.setattr("benchmarks.__main__.load", lambda name: Path("Keys", load("runs").measure))
    monkeypatch.setattr("benchmarks.__main__.QUICK", TINY)
    assert main(["keys", "--quick"]) == 0
    assert "encrypt 4 KiB, in the time of raw AES-GCM" in capsys.readouterr().out


def test_every_api_has_a_stream() -> None:
    assert set(STREAMS) == {api.id for api in provider_apis()}


@pytest.mark.parametrize("api", STREAMS)
def test_a_stream_holds_its_texts_one_per_payload(api: str) -> None:
    texts = pieces(12, MIXED)
    stream = STREAMS[api]
    machine = decoder(api, provider=stream.provider, model=stream.model)
    deltas = [delta for payload in stream.payloads(texts) for delta in machine.receive(payload)]
    deltas += machine.close()
    said = [delta.text for delta in deltas if isinstance(delta, ReasoningDelta | TextDelta) and delta.text]
    assert said[-12:] == texts
    assert machine.warnings == []


def test_what_a_path_is_given_is_made_just_before_it_is_used() -> None:
    made: list[int] = []

    def make(source: int) -> int:
        made.append(source)
        return -source

    elements = fresh(range(1_000), make)
    assert [next(elements) for _ in range(10)] == [-number for number in range(10)]
    assert len(made) <= 50
    assert list(elements) == [-number for number in range(10, 1_000)]


def test_the_table_says_which_targets_are_met() -> None:
    figures = [
        Figure("a", "×", (3.0, 4.0, 5.0), at_least(4)),
        Figure("b", "×", (120.0,), at_most(1.5)),
        Figure("c", "", (), at_least(1), note="it is not installed"),
    ]
    assert [row(figure) for figure in figures] == [
        ("a", "4.00 ×", "3.00–5.00", "≥ 4", "yes"),
        ("b", "120 ×", "120–120", "≤ 1.5", "**no**"),
        ("c", "–", "it is not installed", "≥ 1", ""),
    ]
    table = markdown({"emit": (Path("A against B", load("emit").measure), figures)}, "make bench")
    assert "| b | 120 × | 120–120 | ≤ 1.5 | **no** |" in table


def test_the_figures_for_the_readme_come_from_the_rows() -> None:
    figures = [Figure("openai-chat", "×", (11.0, 12.0, 20.0)), Figure("gemini", "×", (9.0,))]
    assert headlines({"payloads": (load("payloads"), figures), "emit": (load("emit"), figures)}) == (
        "* Turning a model's payloads into AG-UI bytes is 9.0 to 12 times as fast as pydantic-ai's adapter.\n"
    )
    assert headlines({"payloads": (load("payloads"), [Figure("a", "", (), note="missing")])}) == ""


def test_an_unknown_path_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["emitt"])
    assert "unknown path emitt; use emit, frames" in capsys.readouterr().err
