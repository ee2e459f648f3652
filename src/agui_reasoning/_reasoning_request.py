"""What the front end asks of the model's reasoning, in ``forwardedProps.reasoning``.

A server that allows it gets the effort and the display within its own bounds; every other server ignores it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, TypeAlias, get_args

from agui_reasoning.emitter._disclosure import Visibility
from agui_reasoning.errors import ConfigurationError, RemoteProtocolError
from agui_reasoning.parts import EFFORTS, Effort

__all__ = [
    "AllowReasoningRequest",
    "Display",
    "ReasoningRequest",
    "allowed_values",
    "check_allowed",
    "read_request",
    "shown",
]

Display: TypeAlias = Literal["full", "summary", "none"]
"""How much of the reasoning the front end wants to show, from most to least."""

AllowReasoningRequest: TypeAlias = bool | tuple[Effort, Effort] | None
"""Whether the front end may choose: ``True``, or the lowest and the highest effort that it can have."""

_DISPLAYS: Final[tuple[Display, ...]] = get_args(Display)
_VISIBILITIES: Final[dict[Display, Visibility]] = {"full": "full", "summary": "summary", "none": "hidden"}
_WIDEST: Final[dict[Visibility, Display]] = {seen: shown for shown, seen in _VISIBILITIES.items()}


@dataclass(frozen=True, slots=True)
class ReasoningRequest:
    """What the front end chose for a run, within what the server allows.

    Attributes:
        effort: How much the model should think; ``None`` if the front end leaves that to the server.
        display: How much of the reasoning it gets: never more than the server's visibility. ``None`` if the
            front end leaves that to the server.
    """

    effort: Effort | None = None
    display: Display | None = None


def check_allowed(allow: AllowReasoningRequest) -> None:
    """Reject bounds that are none.

    Raises:
        ConfigurationError: The value is neither a boolean nor two levels, the lower first (``wrong_option``).
    """
    if allow is None or isinstance(allow, bool) or _are_bounds(allow):
        return
    raise ConfigurationError(
        f"allow_reasoning_request is {allow!r}, not a boolean or two levels of effort.",
        code="wrong_option",
        hint=f'Pass True, or the lowest and the highest level, as ("low", "high"): {", ".join(EFFORTS)}.',
    )


def _are_bounds(allow: Any) -> bool:
    return (
        isinstance(allow, tuple)
        and len(allow) == 2
        and all(level in EFFORTS for level in allow)
        and EFFORTS.index(allow[0]) <= EFFORTS.index(allow[1])
    )


def read_request(
    forwarded_props: Any, allow: AllowReasoningRequest, visibility: Visibility
) -> ReasoningRequest | None:
    """Return what the front end asks for; ``None`` if it asks for nothing, or may not.

    Args:
        forwarded_props: ``forwardedProps`` of the input.
        allow: What the server allows. An effort beyond its bounds becomes the nearest one.
        visibility: The server's visibility, which bounds the display.

    Raises:
        RemoteProtocolError: The request is not an object, or has an unknown member or value (``bad_input``).

    Examples:
        >>> read_request({"reasoning": {"effort": "max", "display": "full"}}, ("low", "high"), "summary")
        ReasoningRequest(effort='high', display='summary')
    """
    asked = forwarded_props.get("reasoning") if isinstance(forwarded_props, Mapping) else None
    if not allow or asked is None:
        return None
    effort, display = _members(asked)
    if effort is not None and not isinstance(allow, bool):
        lowest, highest = map(EFFORTS.index, allow)
        effort = EFFORTS[min(max(EFFORTS.index(effort), lowest), highest)]
    if display is not None:
        display = max(display, _WIDEST[visibility], key=_DISPLAYS.index)
    return ReasoningRequest(effort, display)


def allowed_values(allow: AllowReasoningRequest, visibility: Visibility) -> dict[str, list[str]] | None:
    """Return the efforts and displays that a front end can choose from; ``None`` if it may not choose.

    Examples:
        >>> allowed_values(("low", "high"), "summary")
        {'effort': ['low', 'medium', 'high'], 'display': ['summary', 'none']}
    """
    if not allow:
        return None
    lowest, highest = (EFFORTS[0], EFFORTS[-1]) if isinstance(allow, bool) else allow
    efforts = EFFORTS[EFFORTS.index(lowest) : EFFORTS.index(highest) + 1]
    return {"effort": list(efforts), "display": list(_DISPLAYS[_DISPLAYS.index(_WIDEST[visibility]) :])}


def shown(visibility: Visibility, request: ReasoningRequest | None) -> Visibility:
    """Return the visibility of a run whose front end made a request."""
    if request is None or request.display is None:
        return visibility
    return _VISIBILITIES[request.display]


def _members(asked: Any) -> tuple[Effort | None, Display | None]:
    """Return the effort and the display of a request."""
    known = [field.name for field in fields(ReasoningRequest)]
    if not isinstance(asked, Mapping):
        raise _bad(f"is {type(asked).__name__}, not an object", f"Send {' and '.join(known)} in it.")
    if unknown := sorted(map(str, set(asked) - set(known))):
        raise _bad(f"has the unknown member {unknown[0][:40]!r}", f"Its members are {' and '.join(known)}.")
    for name, values in (("effort", EFFORTS), ("display", _DISPLAYS)):
        if (value := asked.get(name)) is not None and value not in values:
            said = value[:40] if isinstance(value, str) else value
            what = repr(said) if isinstance(said, str | int | float) else type(said).__name__
            raise _bad(f"has the unknown {name} {what}", f"Send one of: {', '.join(values)}.")
    return asked.get("effort"), asked.get("display")


def _bad(what: str, hint: str) -> RemoteProtocolError:
    return RemoteProtocolError(f"`forwardedProps.reasoning` {what}.", code="bad_input", hint=hint)
