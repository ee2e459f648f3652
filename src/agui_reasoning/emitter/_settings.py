"""The settings of an emitter, and how functions that pass them on name them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, get_annotations, signature
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from msgspec import Struct

from agui_reasoning.audit import OnAudit
from agui_reasoning.emitter._values import Anchors
from agui_reasoning.emitter._visibility import Summarize, Visibility
from agui_reasoning.emitter.stages import Stage
from agui_reasoning.errors import did_you_mean
from agui_reasoning.parts import Origin, given_origin

if TYPE_CHECKING:  # imported with the first key ring or API
    from agui_reasoning.crypto import KeyRing
    from agui_reasoning.providers.api import ProviderAPI

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Settings = TypeVar("_Settings")


class EmissionOptions(TypedDict, total=False):
    """What is emitted, in every run of an application; see `agui_reasoning.Run`."""

    visibility: Visibility
    keys: KeyRing | None
    ttl_s: int | None
    pad_to: int
    summarize: Summarize | None
    anchors: Anchors
    stages: Sequence[Stage]
    new_id: Callable[[], str] | None
    on_audit: OnAudit | None


class EmitterOptions(EmissionOptions, total=False):
    """The options of an emitter without a run; see `agui_reasoning.Run`."""

    api: str | ProviderAPI | None
    provider: str | None
    model: str | None
    origin: Origin | None
    tenant: str
    now_ms: Callable[[], int] | None
    on_warning: Callable[[str], None] | None


class EmitterSettings(Struct, frozen=True, kw_only=True):
    """`EmitterOptions`, with their defaults."""

    api: str | ProviderAPI | None = None
    provider: str | None = None
    model: str | None = None
    origin: Origin | None = None
    visibility: Visibility = "full"
    keys: KeyRing | None = None
    tenant: str = ""
    ttl_s: int | None = None
    pad_to: int = 0
    summarize: Summarize | None = None
    anchors: Anchors = "auto"
    stages: Sequence[Stage] = ()
    new_id: Callable[[], str] | None = None
    now_ms: Callable[[], int] | None = None
    on_warning: Callable[[str], None] | None = None
    on_audit: OnAudit | None = None

    @property
    def named(self) -> Origin:
        """The origin that ``origin`` names, or ``api``, ``provider`` and ``model``.

        Raises:
            ConfigurationError: There are both, or one is something else (``wrong_option``).
        """
        api = self.api if self.api is None or isinstance(self.api, str) else self.api.id
        return given_origin(self.origin, api=api, provider=self.provider, model=self.model)


def settings_of(kind: type[_Settings], options: Mapping[str, Any]) -> _Settings:
    """Return the settings of a kind that a caller's options make.

    Raises:
        TypeError: An option is unknown.
    """
    try:
        return kind(**options)
    except TypeError:
        known = _parameters(kind)
    unknown = sorted(options.keys() - known.keys())[0]
    raise TypeError(f"Unknown option {unknown!r}. {did_you_mean(unknown, known)}".rstrip())


def shows_options(options: type, settings: type) -> Callable[[_Function], _Function]:
    """Let `help` and `inspect.signature` name the options that a function accepts as ``**options``.

    ``settings`` is the class that has each of them as a member, with its type and default.
    """
    names: frozenset[str] = options.__optional_keys__  # type: ignore[attr-defined]
    shown = [one for name, one in _parameters(settings).items() if name in names]

    def decorate(function: _Function) -> _Function:
        own = signature(function)
        named = [one for one in own.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
        taken = [one for one in shown if one.name not in own.parameters]
        setattr(function, "__signature__", own.replace(parameters=[*named, *taken]))  # noqa: B010
        return function

    return decorate


def _parameters(settings: type) -> Mapping[str, Parameter]:
    """Return the parameters of settings; Structs would evaluate their types, some of which load later."""
    if not issubclass(settings, Struct):
        return signature(settings).parameters
    types = {name: kind for one in reversed(settings.__mro__) for name, kind in get_annotations(one).items()}
    return {
        name: Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=types[name])
        for name, default in zip(settings.__struct_fields__, settings.__struct_defaults__, strict=True)
    }
