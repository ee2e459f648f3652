"""Runs: RUN_STARTED, events, and exactly one of RUN_FINISHED and RUN_ERROR. Emitters send events alone."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Unpack

from ag_ui.core import Message

from agui_reasoning.emitter import BaseEmitter, EmitterOptions, EmitterSettings
from agui_reasoning.emitter import shows_options as shows_options
from agui_reasoning.run._options import ApplicationOptions as ApplicationOptions
from agui_reasoning.run._options import ReasoningRequest as ReasoningRequest
from agui_reasoning.run._options import RequestFields as RequestFields
from agui_reasoning.run._options import RequestOptions as RequestOptions
from agui_reasoning.run._options import RequestSettings as RequestSettings
from agui_reasoning.run._options import RunOptions as RunOptions
from agui_reasoning.run._options import RunSettings as RunSettings
from agui_reasoning.run._options import allowed_values as allowed_values
from agui_reasoning.run._options import api_id as api_id
from agui_reasoning.run._options import echo_rule, policy_rows
from agui_reasoning.run._options import run_settings as run_settings
from agui_reasoning.run._run import Run

if TYPE_CHECKING:
    from agui_reasoning.providers.own_rules import OwnRules

# Names with an alias are for the other packages of the library, not for its users.
__all__ = ["Run"]


class Emitter(BaseEmitter):
    """Turns what a model produces into correctly paired AG-UI events, without the run frame.

    The events are valid for the protocol and the official clients, whatever the order of the items.

    Examples:
        >>> from agui_reasoning.deltas import ReasoningDelta, TextDelta
        >>> emitter = Emitter()
        >>> events = emitter.receive(ReasoningDelta("Hm.")) + emitter.receive(TextDelta("Yes."))
        >>> [event.type.value for event in events + emitter.close()]  # doctest: +NORMALIZE_WHITESPACE
        ['REASONING_START', 'REASONING_MESSAGE_START', 'REASONING_MESSAGE_CONTENT',
         'REASONING_MESSAGE_END', 'REASONING_ENCRYPTED_VALUE', 'REASONING_END',
         'TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END']
    """

    @shows_options(EmitterOptions, EmitterSettings)
    def __init__(
        self,
        *,
        thread_id: str | None = None,
        used_call_ids: Iterable[str] = (),
        known_messages: Iterable[Message] = (),
        policy: OwnRules = (),
        **options: Unpack[EmitterOptions],
    ) -> None:
        """Start before the first response.

        Args:
            thread_id: The thread; encrypted values are bound to it.
            used_call_ids: The tool call IDs in the thread; a call that repeats one gets a new ID.
            known_messages: The messages that the client has already, which a snapshot may repeat.
            policy: Rows of the echo policy that are tried before those of this package; see `Run`.
            **options: The options of `Run` that concern what is emitted.

        Raises:
            ConfigurationError: There are keys but no thread (``keys_without_thread``), a row of the policy is
                invalid (``bad_policy``), the visibility is unknown (``unknown_visibility``), or there is an
                origin beside ``api``, ``provider`` or ``model`` (``wrong_option``).
        """
        options["api"] = api_id(options.get("api"))
        super().__init__(
            rule_of=partial(echo_rule, own=policy_rows(policy)),
            thread_id=thread_id,
            used_call_ids=used_call_ids,
            known_messages=known_messages,
            **options,
        )
