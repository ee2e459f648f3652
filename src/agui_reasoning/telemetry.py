"""OpenTelemetry spans and metrics of runs, requests and tools. Needs the extra ``otel``.

Names follow the semantic conventions of generative AI, version 1.41.1; what they have no name for begins with
``agui_reasoning.``. No text, argument or result is recorded, and no message of an exception.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from time import perf_counter, time_ns
from typing import TYPE_CHECKING, Any, Final

from ag_ui.core import AssistantMessage, Event, RunErrorEvent

from agui_reasoning._driver import Driver, observe
from agui_reasoning.deltas import (
    Assembler,
    CloseDelta,
    FinishDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from agui_reasoning.errors import MissingExtraError
from agui_reasoning.parts import Origin, ToolCallPart, ToolResultPart
from agui_reasoning.providers.registry import vendor_of
from agui_reasoning.providers.vendors import canonical

if TYPE_CHECKING:
    from contextvars import Token

    from opentelemetry.context import Context
    from opentelemetry.metrics import Histogram, MeterProvider
    from opentelemetry.trace import Span, TracerProvider

try:
    from opentelemetry import context as contexts
    from opentelemetry.metrics import get_meter
    from opentelemetry.trace import SpanKind, StatusCode, get_tracer, set_span_in_context
except ImportError as error:
    raise MissingExtraError(__name__, "otel") from error

__all__ = ["instrument", "uninstrument"]

_SCHEMA: Final = "https://opentelemetry.io/schemas/1.41.1"
_MAX_CHARS: Final = 128
"""The length of what clients, models and providers choose: IDs, names and finish reasons."""

_MAX_MODELS: Final = 200
"""The models of responses that metrics tell apart: a provider can name another one in each response."""

_MAX_REASONS: Final = 16
"""The finish reasons of one request."""

_PROVIDERS: Final = {
    "bedrock": "aws.bedrock",
    "bedrock-mantle": "aws.bedrock",
    "google": "gcp.gemini",
    "google-vertex": "gcp.vertex_ai",
    "mistral": "mistral_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
"""The names of the conventions, where they differ from ours."""

_COUNTS: Final = {
    "gen_ai.usage.input_tokens": "input_tokens",
    "gen_ai.usage.output_tokens": "output_tokens",
    "gen_ai.usage.reasoning.output_tokens": "reasoning_tokens",
    "gen_ai.usage.cache_read.input_tokens": "cached_input_tokens",
    "gen_ai.usage.cache_creation.input_tokens": "cache_write_input_tokens",
}
_SECONDS: Final = [0.01 * 2**n for n in range(14)]
_TOKENS: Final = [4**n for n in range(14)]

_OPERATION: Final = "gen_ai.operation.name"
_MODEL: Final = "gen_ai.response.model"
_FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
_OTHER: Final = "_OTHER"
"""What has no name, in the words of the conventions."""

_RUN: Final = contexts.create_key("agui_reasoning.run")

_NOTED: Final = frozenset({ResponseStart, UsageDelta, FinishDelta})
_PHASES: Final = frozenset({ReasoningDelta, TextDelta, ToolCallDelta, CloseDelta})
"""What ends a stretch of reasoning, or continues it."""


def instrument(
    *, tracer_provider: TracerProvider | None = None, meter_provider: MeterProvider | None = None
) -> None:
    """Record the runs that are created from now on. A second call replaces the first.

    Args:
        tracer_provider: Makes the spans; default is the global one.
        meter_provider: Makes the metrics; default is the global one.
    """
    observe(_Telemetry(tracer_provider, meter_provider))


def uninstrument() -> None:
    """Record no more runs. Those that have been created are recorded to their end."""
    observe(None)


class _Telemetry:
    """Makes the spans and metrics of all runs."""

    def __init__(self, tracers: TracerProvider | None, meters: MeterProvider | None) -> None:
        self.tracer = get_tracer("agui_reasoning", tracer_provider=tracers, schema_url=_SCHEMA)
        meter = get_meter("agui_reasoning", meter_provider=meters, schema_url=_SCHEMA)

        def histogram(name: str, what: str, unit: str = "s", bounds: list[float] = _SECONDS) -> Histogram:
            return meter.create_histogram(name, unit, what, explicit_bucket_boundaries_advisory=bounds)

        client = "gen_ai.client"
        self.duration = histogram(f"{client}.operation.duration", "Duration of the operation.")
        self.first = histogram(f"{client}.operation.time_to_first_chunk", "Time to the first chunk.")
        self.tokens = histogram(f"{client}.token.usage", "Number of tokens used.", "{token}", _TOKENS)
        self.reasoning = histogram("agui_reasoning.reasoning.duration", "Time for which reasoning arrived.")
        self._models: set[str] = set()

    def label_of(self, model: str | None) -> dict[str, Any]:
        """Return the label of metrics for the model of a response."""
        if model is None:
            return {}
        name = _short(model)
        if len(self._models) < _MAX_MODELS:
            self._models.add(name)
        return {_MODEL: name if name in self._models else _OTHER}

    def run(self, driver: Driver) -> _RunWatch:
        return _RunWatch(self, driver)

    @contextmanager
    def tool(self, call: ToolCallPart) -> Generator[None, None, None]:
        run = contexts.get_value(_RUN)
        if not isinstance(run, _RunWatch):  # it was created before
            yield
            return
        run.watched_calls.add(call.id)
        span = self.tool_span(contexts.get_current(), call.id, call.name)
        token = contexts.attach(set_span_in_context(span))
        failed: str | None = None
        try:
            yield
        except BaseException as error:
            failed = run.type_of(error)
            raise
        finally:
            contexts.detach(token)
            _end(span, failed)

    def tool_span(self, parent: Context, call_id: str, name: str, start_ns: int | None = None) -> Span:
        named = {"gen_ai.tool.name": name, "gen_ai.tool.call.id": call_id, "gen_ai.tool.type": "function"}
        return self.span(parent, "execute_tool", name, named, start_ns=start_ns)

    def span(
        self,
        parent: Context,
        operation: str,
        subject: str | None,
        attributes: Mapping[str, Any],
        kind: SpanKind = SpanKind.INTERNAL,
        start_ns: int | None = None,
    ) -> Span:
        return self.tracer.start_span(
            _short(f"{operation} {subject}" if subject else operation),
            parent,
            kind,
            {_OPERATION: operation, **_known(attributes)},
            start_time=start_ns,
            record_exception=False,
            set_status_on_exception=False,
        )


class _Watch:
    """Watches the steps of a generator, which run in its context; see `agui_reasoning._driver`."""

    context: Context
    _token: Token[Context]

    def begin(self) -> None:
        pass

    def __enter__(self) -> None:
        self._token = contexts.attach(self.context)

    def __exit__(self, *raised: object) -> None:
        contexts.detach(self._token)

    def saw(self, step: Any) -> None:
        pass


class _RunWatch(_Watch):
    """One run, with its span."""

    def __init__(self, telemetry: _Telemetry, driver: Driver) -> None:
        self.telemetry, self.driver = telemetry, driver
        self.parent = self.context = contexts.get_current()
        self.counts: Counter[str] = Counter()
        self.watched_calls: set[str] = set()
        self.failed: str | None = None

    def agent(self) -> _AgentWatch:
        return _AgentWatch(self)

    def request(self, target: Origin | None) -> _RequestWatch:
        return _RequestWatch(self, target)

    def begin(self) -> None:
        run = self.driver.run
        self.labels = _labels(run.origin)
        self.since = perf_counter()
        attributes = {
            "gen_ai.conversation.id": run.input.thread_id,
            "agui_reasoning.run.id": run.input.run_id,
            "agui_reasoning.api": run.api,
            "agui_reasoning.visibility": run.visibility,
            "agui_reasoning.encrypted": run.keys is not None,
        }
        self.span = self.telemetry.span(self.parent, "invoke_agent", None, self.labels | attributes)
        self.context = contexts.set_value(_RUN, self, set_span_in_context(self.span, self.parent))
        self.agent_context = self.context

    def type_of(self, error: BaseException | None) -> str | None:
        """Return the type of an error, and remember it as a reason why the run may fail."""
        if error is None:
            return None
        if isinstance(error, Exception):
            self.failed = _short(self.driver.code_of(error) or type(error).__qualname__)
        else:
            self.failed = self.driver.stopped_by
        return self.failed

    def end(self, error: BaseException | None = None) -> None:
        terminal = self.driver.run.terminal
        failed = self.type_of(error) if terminal is None else _failure(terminal, self.failed)
        self.span.set_attributes({name: count for name, count in self.counts.items() if count})
        labels = {_OPERATION: "invoke_agent", **self.labels, **_known({"error.type": failed})}
        self.telemetry.duration.record(perf_counter() - self.since, labels, self.context)
        _end(self.span, failed)
        # Both refer back to this.
        self.context = self.agent_context = self.parent
        self.driver.watch = None


class _AgentWatch(_Watch):
    """The agent of a run. Its context is its own: it keeps what the agent enters, such as a span."""

    def __init__(self, run: _RunWatch) -> None:
        self._run = run
        self.context = run.context
        self._asked_ns = 0
        self._tools: dict[str, str] | None = None

    def __enter__(self) -> None:
        self._asked_ns = time_ns()
        super().__enter__()

    def __exit__(self, *raised: object) -> None:
        self.context = self._run.agent_context = contexts.get_current()
        super().__exit__()

    def saw(self, step: Any) -> None:
        """Note a result: its tool ran since the agent was asked for it, unless it was watched."""
        run = self._run
        if type(step) is ToolResultPart and step.tool_call_id not in run.watched_calls:
            name = self._tool_of(step.tool_call_id)
            span = run.telemetry.tool_span(self.context, step.tool_call_id, name, self._asked_ns)
            _end(span, None if step.error is None else _OTHER)

    def _tool_of(self, call_id: str) -> str:
        """Return the tool of a call, of this run or an earlier one. Takes no time for each of many calls."""
        run = self._run.driver.run
        if self._tools is None:
            earlier = (message for message in run.input.messages if isinstance(message, AssistantMessage))
            self._tools = {call.id: call.function.name for one in earlier for call in one.tool_calls or ()}
        if call_id not in self._tools:
            self._tools |= {call.id: call.name for call in run.pending_calls}
        return self._tools.get(call_id, _OTHER)

    def end(self, error: BaseException | None = None) -> None:
        self._run.type_of(error)


class _RequestWatch(_Watch):
    """One request to a model, with its span; the requests of an agent framework, with that of the run."""

    def __init__(self, run: _RunWatch, target: Origin | None) -> None:
        self._run, self._target = run, target
        self._counts = Assembler()
        self._started: ResponseStart | None = None
        self._reasons: list[str] = []
        self._steps = 0
        self._phase: type | None = None
        self._reasoned = self._phase_since = 0.0
        self._times: dict[str, float] = {}

    def begin(self) -> None:
        run, target = self._run, self._target
        self.context, self._span = run.agent_context, run.span
        self._labels = {_OPERATION: "invoke_agent", **run.labels}
        if target is not None:
            labels = _labels(target)
            attributes = labels | {"agui_reasoning.api": target.api}
            self._span = run.telemetry.span(self.context, "chat", target.model, attributes, SpanKind.CLIENT)
            self._labels = {_OPERATION: "chat", **labels}
            self.context = set_span_in_context(self._span, self.context)
        self._since = perf_counter()

    def saw(self, step: Iterable[Any]) -> None:
        self._steps += 1
        if self._steps == 1:
            self._time(_FIRST_CHUNK)
        if isinstance(step, bytes):  # the frame of text that goes on: nothing else is in it
            return
        for item in step:
            kind = type(item)
            if kind is not self._phase:
                if kind in _PHASES:
                    self._enter_phase(kind)
                if kind in _NOTED:
                    self._note(item)

    def _time(self, name: str) -> None:
        self._times.setdefault(name, perf_counter() - self._since)

    def _enter_phase(self, kind: type | None) -> None:
        now = perf_counter()
        if self._phase is ReasoningDelta:
            self._reasoned += now - self._phase_since
        if kind is TextDelta:
            self._time("agui_reasoning.time_to_first_text")
        self._phase, self._phase_since = kind, now

    def _note(self, delta: ResponseStart | UsageDelta | FinishDelta) -> None:
        self._counts.receive(delta)
        if isinstance(delta, ResponseStart):
            self._started = delta
        elif isinstance(delta, FinishDelta):
            self._enter_phase(None)
            if delta.reason and len(self._reasons) < _MAX_REASONS:
                self._reasons.append(_short(delta.reason))

    def end(self, error: BaseException | None = None) -> None:
        run = self._run
        failed = run.type_of(error)
        self._enter_phase(None)
        self._counts.abort()
        answered = self._answered()
        labels = self._labels | run.telemetry.label_of(answered.get(_MODEL))
        self._measure(labels)
        counts = _sums(usage for usage in self._counts.usages if not usage.apart)
        run.counts.update(counts)
        self._span.set_attributes(answered | self._times | counts)
        if self._target is not None:
            labels |= _known({"error.type": failed})
            run.telemetry.duration.record(perf_counter() - self._since, labels, self.context)
            _end(self._span, failed)

    def _answered(self) -> dict[str, Any]:
        start = self._started
        origin = None if start is None else start.origin
        found: dict[str, Any] = {
            "gen_ai.response.id": None if start is None else start.id,
            _MODEL: None if origin is None else origin.model,
            "gen_ai.response.finish_reasons": self._reasons or None,
        }
        if self._steps < 2:  # a whole response is one step, and a stream has an end after its payloads
            self._times.pop(_FIRST_CHUNK, None)
        elif self._target is not None:
            found["gen_ai.request.stream"] = True
        if self._reasoned:
            self._times["agui_reasoning.reasoning.duration"] = self._reasoned
        return _known(found)

    def _measure(self, labels: dict[str, Any]) -> None:
        telemetry = self._run.telemetry
        if (first := self._times.get(_FIRST_CHUNK)) is not None and self._target is not None:
            telemetry.first.record(first, labels, self.context)
        if self._reasoned:
            telemetry.reasoning.record(self._reasoned, labels, self.context)
        for usage in self._counts.usages:
            named = labels | telemetry.label_of(usage.model)
            for kind, count in (("input", usage.input_tokens), ("output", usage.output_tokens)):
                if count is not None:
                    telemetry.tokens.record(count, named | {"gen_ai.token.type": kind}, self.context)


def _end(span: Span, failed: str | None) -> None:
    if failed is not None:
        span.set_attribute("error.type", failed)
        span.set_status(StatusCode.ERROR)
    span.end()


def _failure(terminal: Event, failed: str | None) -> str | None:
    """Return why a run failed, from its terminal event and the last error in it."""
    if isinstance(terminal, RunErrorEvent):
        code = terminal.code or failed or _OTHER
        return "abort" if code == "cancelled" else code
    outcome = getattr(terminal, "outcome", None)
    return "abort" if outcome is not None and outcome.type == "cancelled" else None


def _labels(origin: Origin) -> dict[str, Any]:
    """Return the provider and the model of a request."""
    given = origin.provider or vendor_of(origin.api)
    name = canonical(given) if given else _OTHER
    if name == "azure":
        name = "azure.ai.openai" if (origin.api or "").startswith("openai") else "azure.ai.inference"
    named = {"gen_ai.provider.name": _PROVIDERS.get(name, name), "gen_ai.request.model": origin.model}
    return _known(named)


def _sums(usages: Iterable[UsageDelta]) -> Counter[str]:
    sums: Counter[str] = Counter()
    for usage in usages:
        for name, field in _COUNTS.items():
            sums[name] += max(getattr(usage, field) or 0, 0)
    return +sums


def _known(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes that have a value, shortened."""
    return {
        name: _short(value) if isinstance(value, str) else value
        for name, value in attributes.items()
        if value is not None
    }


def _short(text: str) -> str:
    return text[:_MAX_CHARS]
