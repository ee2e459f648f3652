"""Test the pages of the API reference, and what `help` shows."""

from __future__ import annotations

import inspect
import pydoc
import re
from collections.abc import Callable
from typing import Any

import pytest

import agui_reasoning
from agui_reasoning import aio
from agui_reasoning.emitter import EmitterOptions
from agui_reasoning.gateway import create_app
from agui_reasoning.interop import openhands
from agui_reasoning.run import ApplicationOptions, RequestOptions, RunOptions
from scripts import api_pages, check_site
from tests.meta.test_signatures import PATH as SIGNATURES

OPTIONS = [
    (aio.run_agent, RunOptions),
    (aio.stream_run, RunOptions),
    (agui_reasoning.run_agent, RunOptions),
    (agui_reasoning.stream_run, RunOptions),
    (agui_reasoning.Emitter, EmitterOptions),
    (aio.request, RequestOptions),
    (create_app, ApplicationOptions),
    (openhands.read_events, RunOptions),
]


def test_the_overview_has_every_page() -> None:
    rows = [line for line in api_pages.overview().splitlines() if line.startswith("| [`")]
    assert [row.split("`")[1] for row in rows] == list(api_pages.public_names())


LEFT_OUT = {
    "agui_reasoning.ProviderRequest": "_conversation",
    "agui_reasoning.aio.EventStream": "_AsyncDriver",
}
"""A private parameter, and a type of a constructor that users do not call: the pages have neither."""


def test_no_signature_has_a_private_type() -> None:
    """`make docs` looks at the pages themselves; this is what they are made of."""
    named = {
        line.partition("(")[0]: found[0]
        for line in SIGNATURES.read_text(encoding="utf-8").splitlines()
        if "(" in line and (found := re.findall(r"(?<![\w.*'\"])_[A-Za-z]\w*", line.partition(" is a")[0]))
    }
    assert named == LEFT_OUT


@pytest.mark.parametrize(
    ("shown", "private"),
    [
        ("driver: <span>_AsyncDriver</span>", ["_AsyncDriver"]),
        ("model: agui_reasoning.<b>_driver</b>.Driver", ["._driver"]),
        ("the *_CHUNK shorthand, <code>REASONING_START</code> and __init__", []),
    ],
)
def test_private_names_are_found_on_a_page(shown: str, private: list[str]) -> None:
    assert check_site.private_names(f"<nav>_x</nav><article>{shown}</article>") == private


@pytest.mark.parametrize(("function", "options"), OPTIONS)
def test_help_names_the_options(function: Callable[..., Any], options: type) -> None:
    shown = inspect.signature(function).parameters
    names = options.__required_keys__ | options.__optional_keys__  # type: ignore[attr-defined]
    assert names <= shown.keys()
    assert not [name for name, one in shown.items() if one.kind is one.VAR_KEYWORD]
    text = pydoc.render_doc(function)
    assert [name for name in names if f"{name}: " not in text] == []


def test_defaults_are_those_of_a_run() -> None:
    run = inspect.signature(agui_reasoning.Run).parameters
    shown = inspect.signature(aio.stream_run).parameters
    assert shown["visibility"] == run["visibility"]
