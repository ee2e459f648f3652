"""Compare the pages of the API reference with the public names, and what `help` shows with the options.

``python scripts/api_pages.py`` writes the pages.
"""

from __future__ import annotations

import inspect
import pydoc
from collections.abc import Callable
from typing import Any

import pytest

import agui_reasoning
from agui_reasoning import aio
from agui_reasoning._options import ApplicationOptions, EmitterOptions, RequestOptions, RunOptions
from agui_reasoning.gateway import create_app
from agui_reasoning.interop import openhands
from scripts import api_pages

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


def test_every_public_module_has_a_page_with_its_names() -> None:
    written = {page.stem: page.read_text(encoding="utf-8") for page in api_pages.PAGES.glob("*.md")}
    expected = {module: api_pages.page_of(module) for module in api_pages.public_names()}
    assert written == expected, "run: python scripts/api_pages.py"


def test_the_navigation_has_the_pages() -> None:
    source = api_pages.NAVIGATION.read_text(encoding="utf-8")
    assert source == api_pages.navigation(source), "run: python scripts/api_pages.py"


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
