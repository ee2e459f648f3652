"""Asks a provider once more, if it refuses a request because of reasoning in it.

`Asking` builds the requests of one model stream whose source takes a request. After a known refusal, before
the first payload, the second and last request leaves out what the provider refused; `RefusedRequests`
remembers that for later streams of the run, whose requests contain the same history.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ag_ui.core import UserMessage

from agui_reasoning._driver._failures import read_failure, refusal_of
from agui_reasoning._driver._sources import takes_request
from agui_reasoning._driver._streams import AgentItem, ModelStream, PayloadReader, reading, target_of
from agui_reasoning.audit import AuditRecord
from agui_reasoning.parts import Origin, ToolCallPart, Turn
from agui_reasoning.policy import EchoRule
from agui_reasoning.providers.echo import rule_for
from agui_reasoning.providers.refusals import Refusal, Remedy, thinking_off
from agui_reasoning.run import RequestFields, Run

if TYPE_CHECKING:  # imported with the first request
    from agui_reasoning.request import History, ProviderRequest

_REQUESTS: Final = 2
"""The maximum number of requests for one model stream."""

_LEFT_OUT: Final = {
    "strip_values": "without the values that only the provider reads",
    "strip_reasoning": "without reasoning",
    "send_reasoning": "with the reasoning of earlier answers",
    "thinking_off": "with thinking turned off",
    "send_all": "with the whole conversation",
    "send_unstored": "with the whole conversation, which it does not store",
}


@dataclass(frozen=True, slots=True)
class _LeftOut:
    """What the requests to a target leave out.

    Attributes:
        strip: What is removed from the beginning of the history, if anything.
        until: The number of items of the history that this concerns.
        thinks: Whether the model may think.
        sending: The rule by which missing reasoning is sent, if it is.
        whole: ``send_all`` or ``send_unstored``, if the request must not refer to a stored response.
    """

    strip: Remedy | None = None
    until: int = 0
    thinks: bool = True
    sending: EchoRule | None = None
    whole: Remedy | None = None

    @property
    def done(self) -> str:
        """What the request was changed by."""
        if self.strip is not None or self.whole is not None:
            return self.strip or str(self.whole)
        return "send_reasoning" if self.sending is not None and self.thinks else "thinking_off"

    def of(self, history: History) -> History:
        """Return the history to send."""
        if self.strip is None:
            return history
        old, new = replace(history, items=history.items[: self.until]), history.items[self.until :]
        stripped = old.strip_reasoning() if self.strip == "strip_reasoning" else old.strip_opaque()
        return stripped.with_items(new)

    def storing(self, fields: RequestFields) -> RequestFields:
        """Return the fields of the request, which may have to refer to no stored response."""
        if self.whole is None:
            return fields
        store = False if self.whole == "send_unstored" else fields.store
        if store is None and fields.previous_response_id is not None:
            store = True
        return replace(fields, store=store, previous_response_id=None, conversation=None)


class RefusedRequests:
    """What the requests of one run leave out, by target."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._forms: dict[Origin, _LeftOut] = {}

    def asking(self, stream: ModelStream) -> Asking | None:
        """Return what asks for a model stream; ``None`` if its source takes no request."""
        return Asking(self._run, stream, self._forms) if takes_request(stream.source) else None


class Asking:
    """The requests of one model stream."""

    def __init__(self, run: Run, stream: ModelStream, forms: dict[Origin, _LeftOut]) -> None:
        """Prepare the first request; raises what `target_of` raises."""
        self._run, self._stream, self._forms = run, stream, forms
        self._target = target_of(run, stream)
        self._form = forms.get(self._target, _LeftOut())
        self._asked = 0
        self._heard = False
        self._sent: ProviderRequest | None = None
        self._prepared: ProviderRequest | None = None

    def next_stream(self) -> ModelStream:
        """Build the next request, and return the stream that sends it. Takes time for long histories."""
        self._asked += 1
        self._sent = self._prepared or self._request(self._form)
        self._run.sends(self._sent)
        ask = partial(self._stream.source, self._sent)
        return ModelStream(ask, reader=self._reader, origin=self._target)

    def asks_again(self, error: Exception) -> bool:
        """Decide after an error whether to send another request, and tell the caller's callbacks."""
        failure = None if self._heard else read_failure(error)
        refusal = None if failure is None else refusal_of(failure, self._target)
        if refusal is None:
            return False
        form = self._next_form(refusal) if self._asked < _REQUESTS else None
        self._tell(refusal, form)
        if form is not None:
            # The response to the whole conversation is stored, so later requests can refer to it; but not to
            # a conversation that is gone.
            refers = form.whole == "send_all" and self._stream.conversation is None
            self._form = form
            self._forms[self._target] = replace(form, whole=None) if refers else form
        return form is not None

    def _request(self, form: _LeftOut) -> ProviderRequest:
        sending = () if form.sending is None else (form.sending,)
        fields = replace(
            self._stream, history=form.of(self._history()), policy=(*sending, *self._stream.policy)
        )
        request = self._run.request(origin=self._target, **form.storing(fields).options())
        flag = None if form.thinks else thinking_off(self._target)
        return request if flag is None else request.override(flag)

    def _history(self) -> History:
        return self._run.history if self._stream.history is None else self._stream.history

    def _next_form(self, refusal: Refusal) -> _LeftOut | None:
        """Return what a second request leaves out; ``None`` if nothing would be different."""
        if refusal.remedy == "none":
            return None
        if refusal.remedy in ("send_all", "send_unstored"):
            stream = self._stream
            refers = (stream.previous_response_id, stream.conversation) != (None, None) or stream.store
            return self._if_different(replace(self._form, whole=refusal.remedy)) if refers else None
        history, switch = self._history(), thinking_off(self._target)
        rule = rule_for(self._target, (*self._stream.policy, *self._run.policy))
        if refusal.remedy == "send_reasoning":
            sending = refusal.sending(rule, str(self._target.api))
            form = None if sending is None else self._if_different(replace(self._form, sending=sending))
            if form is not None:
                return form
        elif refusal.remedy != "thinking_off":
            # Text without the value that it needs is not sent either, and would only be reported as lost.
            strip: Remedy = refusal.remedy if rule.needs is None else "strip_reasoning"
            form = self._if_different(replace(self._form, strip=strip, until=len(history.items)))
            if form is not None and (request := self._prepared) is not None:
                if switch is None or not form.thinks or not _requires_thinking(rule, history):
                    return form
                self._prepared = request.override(switch)
                return replace(form, thinks=False)
        if switch is None or not self._form.thinks:
            return None
        return replace(self._form, thinks=False)

    def _if_different(self, form: _LeftOut) -> _LeftOut | None:
        """Prepare the request of a form, and return the form; ``None`` if it is the request sent before."""
        request = self._request(form)
        if self._sent is not None and request.body == self._sent.body:
            return None
        self._prepared = request
        return form

    def _tell(self, refusal: Refusal, form: _LeftOut | None) -> None:
        """Warn about a refusal, and record it; without the provider's words."""
        done = None if form is None else form.done
        end = f"it is asked once more, {_LEFT_OUT[done]}" if done else "the run ends"
        if form is not None and not form.thinks and done != "thinking_off":
            end += f" and {_LEFT_OUT['thinking_off']}"
        self._run.warn_once([f"The provider refused the request ({refusal.id}): {end}. {refusal.means}"])
        self._run.audit(
            AuditRecord(
                "refused",
                "asked_again" if done else "failed",
                unit="",
                reason=refusal.id,
                provider=self._target.provider,
                api=self._target.api,
                model=self._target.model,
                visibility=self._run.visibility,
            )
        )

    def _reader(self, run: Run) -> PayloadReader:
        return _Listening(self, reading(run, self._stream))

    def hear(self) -> None:
        """Note that a payload was read: from now on, nothing is asked again."""
        self._heard = True


class _Listening:
    """A reader that notes the first payload."""

    def __init__(self, asking: Asking, reader: PayloadReader) -> None:
        self._asking, self._reader = asking, reader
        self.of_provider = getattr(reader, "of_provider", False)
        self.of_framework = getattr(reader, "of_framework", False)
        self.growth = getattr(reader, "growth", None)

    def receive(self, payload: Any) -> Sequence[AgentItem]:
        items = self._reader.receive(payload)
        self._asking.hear()
        return items

    def whole(self, response: Any) -> Sequence[AgentItem]:
        items = self._reader.whole(response)
        self._asking.hear()
        return items

    def close(self) -> Sequence[AgentItem]:
        return self._reader.close()


def _requires_thinking(rule: EchoRule, history: History) -> bool:
    """Return whether a model that thinks requires the reasoning of answers in the history.

    That is the case if the model waits for results, and the policy has no placeholder for reasoning.
    """
    if rule.status != "required" or rule.placeholder is not None:
        return False
    for item in reversed(history.items):
        if isinstance(item, UserMessage):
            return False
        if isinstance(item, Turn) and any(isinstance(part, ToolCallPart) for part in item.parts):
            return True
    return False
