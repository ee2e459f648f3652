"""What a run exports to OpenTelemetry, kept in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agui_reasoning import telemetry

TIMES = frozenset(
    {
        "agui_reasoning.reasoning.duration",
        "agui_reasoning.time_to_first_text",
        "gen_ai.response.time_to_first_chunk",
    }
)
"""Attributes that are different each time."""


class Exported:
    """Everything that was exported."""

    def __init__(self) -> None:
        self._exporter, self._reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.meters = MeterProvider(metric_readers=[self._reader])

    @property
    def spans(self) -> list[ReadableSpan]:
        """The spans in the order of their beginnings."""
        return sorted(self._exporter.get_finished_spans(), key=lambda span: span.start_time or 0)

    def one(self, name: str) -> ReadableSpan:
        """The only span with this name."""
        (found,) = [span for span in self.spans if span.name == name]
        return found

    def tree(self, parent: ReadableSpan | None = None) -> list[Any]:
        """The spans below one, or all: the name of each, with the error type, and what is below it."""
        above = None if parent is None else parent.context.span_id
        below = [span for span in self.spans if (span.parent.span_id if span.parent else None) == above]
        return [(shown(span), self.tree(span)) for span in below]

    def metrics(self) -> dict[str, list[tuple[dict[str, Any], int, float]]]:
        """The attributes, number and sum of the points of each metric."""
        data = self._reader.get_metrics_data()
        found = [one for of in data.resource_metrics for scope in of.scope_metrics for one in scope.metrics]
        return {
            metric.name: [(dict(p.attributes), p.count, p.sum) for p in metric.data.data_points]
            for metric in found
        }

    def text(self) -> str:
        """All of it as an exporter may write it."""
        data = self._reader.get_metrics_data()
        return "\n".join([*(span.to_json() for span in self.spans), data.to_json() if data else ""])


def shown(span: ReadableSpan) -> str:
    """The name of a span, with the type of its error."""
    failed = attributes(span).get("error.type")
    assert span.status.is_ok is (failed is None)
    assert span.status.description is None
    assert span.events == ()
    return span.name if failed is None else f"{span.name}: {failed}"


def attributes(span: ReadableSpan) -> dict[str, Any]:
    """The attributes of a span without the times."""
    return {name: value for name, value in (span.attributes or {}).items() if name not in TIMES}


@contextmanager
def exporting() -> Iterator[Exported]:
    """Instrument what the block runs."""
    exported = Exported()
    telemetry.instrument(tracer_provider=exported.tracers, meter_provider=exported.meters)
    try:
        yield exported
    finally:
        telemetry.uninstrument()
