"""The objects of SARIF 2.1.0 that a log of ``check`` may have, by the sections of the OASIS standard.

The members are those of the standard's schema; those that no tool of this size writes are left out, so that a
new one is looked up before it is written. The schema itself is other people's text.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AnyUrl, BaseModel, ConfigDict, Field, TypeAdapter
from pydantic.alias_generators import to_camel

Level = Literal["none", "note", "warning", "error"]
"""Section 3.27.10."""

_uri = TypeAdapter(AnyUrl)


def _absolute(text: str) -> str:
    _uri.validate_python(text)
    return text


AbsoluteURI = Annotated[str, AfterValidator(_absolute)]


class _Object(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel)


class Message(_Object):
    """Section 3.11: without an ID, the text is required."""

    text: str = Field(min_length=1)


class MultiformatMessageString(_Object):
    """Section 3.12: Markdown only beside plain text."""

    text: str = Field(min_length=1)
    markdown: str | None = None


class ArtifactLocation(_Object):
    """Section 3.4: a URI reference. A relative one has no colon, which would end a scheme."""

    uri: str = Field(pattern=r"^(file:)?[A-Za-z0-9\-._~/?#\[\]@!$&'()*+,;=%]+$")


class Region(_Object):
    """Section 3.30: lines are counted from 1."""

    start_line: int = Field(ge=1)


class PhysicalLocation(_Object):
    """Section 3.29."""

    artifact_location: ArtifactLocation
    region: Region | None = None


class Location(_Object):
    """Section 3.28."""

    physical_location: PhysicalLocation


class ReportingConfiguration(_Object):
    """Section 3.50."""

    level: Level


class ReportingDescriptor(_Object):
    """Section 3.49: ``id`` is required."""

    id: str
    short_description: MultiformatMessageString
    help: MultiformatMessageString
    default_configuration: ReportingConfiguration
    help_uri: AbsoluteURI | None = None


class ToolComponent(_Object):
    """Section 3.19: ``name`` is required; the rules are unique."""

    name: str
    semantic_version: str = Field(pattern=r"^\d+\.\d+\.\d+")
    information_uri: AbsoluteURI | None = None
    rules: list[ReportingDescriptor]


class Tool(_Object):
    """Section 3.18."""

    driver: ToolComponent


class Result(_Object):
    """Section 3.27: ``message`` is required; ``ruleIndex`` is that of ``ruleId``."""

    rule_id: str
    rule_index: int = Field(ge=0)
    level: Level
    message: Message
    locations: list[Location]
    properties: dict[str, Any] = {}


class Notification(_Object):
    """Section 3.58: ``message`` is required."""

    level: Level
    message: Message
    locations: list[Location]


class Invocation(_Object):
    """Section 3.20: ``executionSuccessful`` is required."""

    execution_successful: bool
    tool_execution_notifications: list[Notification]


class Run(_Object):
    """Section 3.14: ``tool`` is required."""

    tool: Tool
    invocations: list[Invocation]
    column_kind: Literal["utf16CodeUnits", "unicodeCodePoints"]
    results: list[Result]


class Log(_Object):
    """Section 3.13: ``version`` and ``runs`` are required."""

    schema_: AbsoluteURI = Field(alias="$schema")
    version: Literal["2.1.0"]
    runs: list[Run]
