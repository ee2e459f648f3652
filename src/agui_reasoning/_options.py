"""The options of a run: their types for every shell, and the one place that checks them.

`agui_reasoning.Run` spells them out with their meaning and defaults. Shells take them as
``**options: Unpack[RunOptions]`` (PEP 692) and hand them on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Required, TypedDict

from agui_reasoning._envelope import EnvelopeReader, EnvelopeWriter, OnUndecryptable
from agui_reasoning._limits import Limits
from agui_reasoning.audit import OnAudit
from agui_reasoning.crypto import Binding, KeyRing
from agui_reasoning.emitter._disclosure import Disclosure, Visibility
from agui_reasoning.emitter._summaries import Summarize
from agui_reasoning.emitter._values import Anchors
from agui_reasoning.emitter.stages import Stage
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.providers import provider_api

__all__ = ["ApplicationOptions", "EmitterOptions", "RunOptions", "StreamRunOptions", "check_options"]


class _Emission(TypedDict, total=False):
    visibility: Visibility
    keys: KeyRing | None
    ttl_s: int | None
    pad_to: int
    summarize: Summarize | None
    anchors: Anchors
    stages: Sequence[Stage]
    new_id: Callable[[], str] | None
    on_audit: OnAudit | None


class _Caller(TypedDict, total=False):
    provider: str | None
    model: str | None
    tenant: str
    now_ms: Callable[[], int] | None
    on_warning: Callable[[str], None] | None


class ApplicationOptions(_Emission, total=False):
    """The options that an application chooses once, for all of its runs; see `agui_reasoning.Run`."""

    summarise: Summarize | None
    accept_plain: bool | None
    on_undecryptable: OnUndecryptable
    limits: Limits


class _PerRun(ApplicationOptions, _Caller, total=False):
    pass


class EmitterOptions(_Emission, _Caller, total=False):
    """The options of an emitter without a run; see `agui_reasoning.Run`."""

    api: str | None


class RunOptions(_PerRun, total=False):
    """The options of one run; see `agui_reasoning.Run`."""

    api: str | None


class StreamRunOptions(_PerRun, total=False):
    """The options of a run of a single model stream, which must name its API."""

    api: Required[str]


def check_options(
    *,
    api: str | None = None,
    visibility: Visibility = "full",
    keys: KeyRing | None = None,
    ttl_s: int | None = None,
    pad_to: int = 0,
    summarize: Summarize | None = None,
    summarise: Summarize | None = None,
    on_undecryptable: OnUndecryptable = "drop",
    limits: Limits | None = None,
    **others: Any,
) -> None:
    """Refuse options that cannot work.

    `agui_reasoning.Run` calls it, and so does an application that makes runs later, so that it fails when it
    is made and not in every run.

    Raises:
        ConfigurationError: The API is unknown (``unknown_api``), the visibility is (``unknown_visibility``),
            the keys or their options cannot be used (``bad_keys``, ``bad_ttl``, ``bad_padding``), or another
            option has a value that it cannot have (``wrong_option``).
        TypeError: There is no such option.
    """
    if unknown := sorted(set(others) - RunOptions.__optional_keys__):
        raise TypeError(f"Unknown option {unknown[0]!r}.")
    if api is not None:
        provider_api(api)
    Disclosure(visibility, keys is not None)
    EnvelopeReader(on_undecryptable=on_undecryptable)
    if keys is not None:
        EnvelopeWriter(keys, Binding(""), ttl_s, pad_to)
    if summarize is not None and summarise is not None:
        raise _wrong("Both summarize and summarise were given.", "Pass summarize alone.")
    if limits is not None and not isinstance(limits, Limits):
        raise _wrong(f"limits is {type(limits).__name__}, not Limits.", "Pass agui_reasoning.Limits(…).")


def _wrong(what: str, hint: str) -> ConfigurationError:
    return ConfigurationError(what, code="wrong_option", hint=hint)
