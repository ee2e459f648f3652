"""How much is tried: ``--all`` for everything, ``--hypothesis-profile=thorough`` for a long look.

Without them every law is asked of a sample (see `tests.support.effort`), and tests marked ``slow`` are left
out. The tests that need Chromium run only when their folder, or something in it, is named.
"""

import gc
import signal
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from tests.support.effort import QUICK, is_quick
from tests.support.growth import measure_cpu_time
from tests.support.two_turns import PROPERTY, Led

gc.disable()  # a third of the time that it takes to collect the tests; see `pytest_collection_finish`

ALL = settings(deadline=None)
settings.register_profile("all", ALL, max_examples=100)
settings.register_profile(QUICK, ALL, max_examples=25)
settings.register_profile("thorough", deadline=None, max_examples=5000)
settings.load_profile(QUICK)

IN_CHROMIUM = {Path(__file__).parent / name: f"run `make test-{name}`" for name in ("browser", "frontends")}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="every recording, all examples, the slow tests too")
    parser.addoption("--cpu-time", action="store_true", help="ask laws of growth of the processor's time")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--hypothesis-seed") is None:
        _repeat_examples()
    if config.getoption("--all"):
        settings.load_profile("all")
    if config.getoption("--cpu-time"):
        measure_cpu_time()
    if any(_is_named(folder, config) for folder in IN_CHROMIUM):
        config.pluginmanager.import_plugin("tests.support.browser")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell without job control starts what runs in its background so, and each command that is
        # interrupted in a test would inherit it.
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _repeat_examples() -> None:
    """Try the same examples in every run: a test that fails is due to the change."""
    settings.register_profile("all", settings.get_profile("all"), derandomize=True)
    settings.register_profile(QUICK, settings.get_profile(QUICK), derandomize=True)
    settings.load_profile(settings.get_current_profile_name())
    # Hypothesis also draws constants of the modules that happen to be imported, which differ between workers.
    vars(providers)["_get_local_constants"] = Constants


def _is_named(folder: Path, config: pytest.Config) -> bool:
    """Whether an argument is a folder or something in it."""
    named = ((config.invocation_params.dir / arg.partition("::")[0]).resolve() for arg in config.args)
    return any(path.is_relative_to(folder) for path in named)


class _LeftOut(pytest.Collector):
    """A folder whose tests are skipped, for one reason.

    It is no directory to pytest, which would import its `conftest.py` and so what may not be installed.
    """

    def __init__(self, reason: str, **node: Any) -> None:
        super().__init__(**node)
        self._reason = reason

    def collect(self) -> Generator[pytest.Item]:
        pytest.skip(self._reason, allow_module_level=True)
        yield  # pragma: no cover


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Leave out what needs Chromium, unless it is named."""
    if path not in IN_CHROMIUM or _is_named(path, parent.config):
        return None
    return _LeftOut.from_parent(parent, name=path.name, reason=IN_CHROMIUM[path])


def pytest_collection_finish() -> None:
    """Collect garbage from now on, but not among the tests and modules, which all stay."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is slow, unless it is asked for by its name."""
    if not is_quick() or any("::" in arg for arg in config.args):
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if item not in set(slow)]


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, Any, Any]:
    """Escape lone surrogates in what a failed test says: xdist cannot send them, and would end the run."""
    return _encodable((yield))


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {key: _encodable(inner) for key, inner in value.items()}
    return type(value)(map(_encodable, value)) if isinstance(value, list | tuple) else value


@pytest.fixture
def led(record_property: Callable[[str, object], None]) -> Led:
    """Name the provider that the test leads through two turns with a tool."""
    return lambda target: record_property(PROPERTY, (target.api, target.provider, target.model))
