"""What users of a framework expect, and the test that plays it; the overview of the frameworks shows it.

Standard library only.
"""

from collections.abc import Iterator, Mapping

__all__ = ["COLUMNS", "SCENARIOS", "rows"]

COLUMNS = {
    "agno": "Agno",
    "claude_agent": "Claude Agent SDK",
    "langchain": "LangChain, LangGraph",
    "openai_agents": "OpenAI Agents SDK",
    "pydantic_ai": "Pydantic AI",
}
"""The title of each framework, by the name of its tests."""

_HISTORY = "test_everything_comes_back"
_TOOLS = "test_tools_of_the_front_end_stand_beside_those_of_the_agent"
_IMAGE = "test_an_image_that_a_tool_returns_comes_back"
_PLACES = "test_thoughts_between_parallel_calls_keep_their_places"
_DECIDES = "test_the_user_decides_on_each_call"
_FAILURE = "test_a_failure_of_the_provider_is_told_as_without_the_framework"

SCENARIOS: Mapping[str, Mapping[str, str]] = {
    "a tool call, then a second question, with every value": {
        **dict.fromkeys(COLUMNS, _HISTORY),
        "claude_agent": "test_the_session_sends_everything_back",
        "openai_agents": "test_responses_come_back_whole",
    },
    "thoughts between parallel calls, two rounds": {
        **dict.fromkeys(COLUMNS, _PLACES),
        "claude_agent": "no: its command line may change the order",
    },
    "whole answers, without a stream": {
        "agno": "test_a_run_without_a_stream_has_its_blocks_in_order",
        "claude_agent": "test_messages_without_a_stream_are_shown_whole",
        "langchain": "test_a_whole_message_has_its_blocks_in_order",
        "openai_agents": "test_a_run_without_a_stream_has_its_items_in_order",
        "pydantic_ai": "test_a_run_without_a_stream_has_its_parts_in_order",
    },
    "a front-end tool beside one of the agent's": dict.fromkeys(COLUMNS, _TOOLS),
    "a tool raises": {
        "agno": "test_a_failed_tool_is_in_the_history",
        "claude_agent": "test_a_failed_tool",
        "langchain": "test_a_call_whose_tool_raises_is_kept",
        "openai_agents": "test_a_failed_tool_is_in_the_history",
        "pydantic_ai": "test_a_call_whose_tool_raises_is_complete",
    },
    "a tool returns an image": {
        **dict.fromkeys(COLUMNS, _IMAGE),
        "agno": "test_an_image_that_a_tool_returns_is_in_the_history",
        "claude_agent": "test_an_image_that_a_tool_returns_is_shown",
    },
    "the user approves a call": dict.fromkeys(COLUMNS, _DECIDES),
    "the provider fails": {
        **dict.fromkeys(COLUMNS, _FAILURE),
        "claude_agent": "test_an_error_of_the_sdk_ends_the_run",
    },
    "AG-UI events and shared state in the stream": {
        "agno": "test_events_that_a_tool_yields_pass_and_the_state_follows_them",
        "claude_agent": "test_events_of_the_application_pass_between_those_of_the_sdk",
        "langchain": "test_events_that_a_tool_writes_pass_and_the_state_follows_them",
        "openai_agents": "test_events_of_the_application_pass_between_those_of_the_sdk",
        "pydantic_ai": "test_events_of_tools_pass_and_the_state_follows_them",
    },
    "several models in one run": {
        "agno": "test_the_members_of_a_team_are_subagents",
        "claude_agent": "test_a_subagent_has_a_lane_of_its_own",
        "langchain": "test_models_that_speak_at_the_same_time_are_not_mixed",
        "openai_agents": "test_what_came_before_and_after_a_handoff_goes_back",
        "pydantic_ai": "test_an_agent_that_a_tool_asks_is_a_subagent",
    },
    "edited and regenerated messages, beside the framework's memory": {
        "agno": "test_edited_messages_are_followed_beside_a_database",
        "claude_agent": "test_the_session_follows_what_the_user_edits",
        "langchain": "test_a_checkpointer_holds_what_the_client_has",
        "openai_agents": "test_a_session_holds_what_the_client_has",
        "pydantic_ai": "test_edited_messages_are_followed",
    },
    "the client leaves": {
        "agno": "test_a_reader_that_leaves_stops_the_run",
        "claude_agent": "test_a_reader_that_leaves_stops_the_process_of_the_sdk",
        "langchain": "test_a_reader_that_leaves_stops_the_graph",
        "openai_agents": "test_a_reader_that_leaves_stops_the_run_of_the_sdk",
        "pydantic_ai": "test_a_reader_that_leaves_stops_the_agent",
    },
}
"""The test of each scenario, by framework; or why there is none."""


def rows() -> Iterator[str]:
    """The rows of the table, as the page shows them."""
    yield f"| scenario | {' | '.join(COLUMNS.values())} |"
    yield "|---" * (len(COLUMNS) + 1) + "|"
    for scenario, tests in SCENARIOS.items():
        cells = ("yes" if tests[name].startswith("test_") else tests[name] for name in COLUMNS)
        yield f"| {scenario} | {' | '.join(cells)} |"
    played = {name: sum(one[name].startswith("test_") for one in SCENARIOS.values()) for name in COLUMNS}
    yield f"| together | {' | '.join(f'{count} of {len(SCENARIOS)}' for count in played.values())} |"
