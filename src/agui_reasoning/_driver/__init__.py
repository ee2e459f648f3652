"""Drives runs: opens, reads and closes model streams, recovers from refusals, says why a run failed."""

# Names with an alias are for the other packages of the library.
from agui_reasoning._driver._driver import FRAMES as FRAMES
from agui_reasoning._driver._driver import SHUT_DOWN as SHUT_DOWN
from agui_reasoning._driver._driver import Driver as Driver
from agui_reasoning._driver._driver import OnError as OnError
from agui_reasoning._driver._driver import bad_agent as bad_agent
from agui_reasoning._driver._driver import fetch_keys as fetch_keys
from agui_reasoning._driver._driver import hold_keys as hold_keys
from agui_reasoning._driver._driver import hold_primary_key as hold_primary_key
from agui_reasoning._driver._driver import now_in_ms as now_in_ms
from agui_reasoning._driver._driver import observe as observe
from agui_reasoning._driver._driver import run_of as run_of
from agui_reasoning._driver._driver import spawn as spawn
from agui_reasoning._driver._driver import watching_tool as watching_tool
from agui_reasoning._driver._failures import BriefFailureLog as BriefFailureLog
from agui_reasoning._driver._failures import FailureLog as FailureLog
from agui_reasoning._driver._failures import causes as causes
from agui_reasoning._driver._failures import explain as explain
from agui_reasoning._driver._failures import explain_elsewhere as explain_elsewhere
from agui_reasoning._driver._failures import read_failure as read_failure
from agui_reasoning._driver._recovery import Asking as Asking
from agui_reasoning._driver._recovery import RefusedRequests as RefusedRequests
from agui_reasoning._driver._sdk_errors import GRPCFailure as GRPCFailure
from agui_reasoning._driver._sdk_errors import google_reason as google_reason
from agui_reasoning._driver._sdk_errors import retry_after as retry_after
from agui_reasoning._driver._sources import InThreads as InThreads
from agui_reasoning._driver._sources import WholeResponse as WholeResponse
from agui_reasoning._driver._sources import discard as discard
from agui_reasoning._driver._sources import open_source as open_source
from agui_reasoning._driver._sources import open_source_sync as open_source_sync
from agui_reasoning._driver._streams import AgentItem as AgentItem
from agui_reasoning._driver._streams import Growth as Growth
from agui_reasoning._driver._streams import ModelStream as ModelStream
from agui_reasoning._driver._streams import PayloadReader as PayloadReader
from agui_reasoning._driver._streams import Reading as Reading
from agui_reasoning._driver._streams import reading as reading
