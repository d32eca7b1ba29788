"""How any actor runs. Only this package imports Pykka. It knows nothing of Kubernetes.

The modules, from the bottom:

- Addresses: ``ports`` (keys and ports), ``mailbox`` (what waits), ``cell`` (one address).
- Time: ``clock`` (with timers) and ``control``, the thread that timers and supervisors run on; ``rates`` (how
  often something may happen).
- One life of an actor: ``incarnation`` (its turns), ``current`` (whose turn a thread runs), ``endings``.
- Threads: ``executors`` and ``runtimes``; ``cancelling`` for tasks of asyncio.
- Beside the actors: ``levels`` (values that others follow), ``lanes`` and ``loop_thread``, for what would
  block one; ``commands`` and ``programs``, for what a process does that ends.
- In an actor: ``later`` (calls through its mailbox, alarms, portions), ``steps`` and ``operations`` (work
  in flight).
- What users write: ``actor`` (the two actor types) and ``specs`` (the tree as they want it).
- The tree: ``children``, ``supervisor`` and ``dynamic``, with ``restarts`` (decisions), ``reports`` and
  ``telemetry`` (logs, counts and what counts as failed), and ``services`` (what all of them use).
- The whole: ``tree`` (the tree as data), ``system`` (the way in), ``asking`` (the same for asyncio).
"""

from kernel.actor import Actor, BaseActor, PooledActor
from kernel.clock import Clock, SystemClock, Timer
from kernel.dynamic import DynamicMessage, StartChild, StopChild
from kernel.endings import (
    BugError,
    BusyError,
    Ended,
    EndReason,
    Failure,
    GivenUpError,
    Hook,
    LateError,
    StepError,
)
from kernel.lanes import InFlight, Lane, Lanes, LaneSize
from kernel.later import Alarm, Portions
from kernel.levels import UNSET, Followable, KeyFollowed, Level, LevelIs, Unset
from kernel.operations import Operations, OperationsMemory
from kernel.ports import (
    ActorCrashedError,
    ActorDeadError,
    Address,
    AskInsideActorError,
    AskTimeoutError,
    Key,
    Port,
)
from kernel.rates import TokenBucket
from kernel.reports import ActorStatus
from kernel.runtimes import Runtime, SharedThreads, Steps, Threads
from kernel.shared import Shared
from kernel.specs import (
    AnySpec,
    Backoff,
    ChildSpec,
    DynamicSpec,
    OnExhausted,
    Restart,
    SpecError,
    Strategy,
    SupervisorSpec,
    isolated,
)
from kernel.steps import (
    CallLane,
    Delay,
    JobStep,
    Operation,
    OperationStep,
    Through,
    call,
    carried_out,
    delay,
    gather,
    job,
    wait_for,
)
from kernel.system import (
    EXIT_FAILED,
    EXIT_STOPPED,
    EXIT_UNCLEAN,
    ActorSystem,
)
from kernel.telemetry import SECONDS_BUCKETS, RoleStatistics
from kernel.tree import ActorDescription, DynamicSummary, TreeSummary

__all__ = [
    "EXIT_FAILED",
    "EXIT_STOPPED",
    "EXIT_UNCLEAN",
    "SECONDS_BUCKETS",
    "UNSET",
    "Actor",
    "ActorCrashedError",
    "ActorDeadError",
    "ActorDescription",
    "ActorStatus",
    "ActorSystem",
    "Address",
    "Alarm",
    "AnySpec",
    "AskInsideActorError",
    "AskTimeoutError",
    "Backoff",
    "BaseActor",
    "BugError",
    "BusyError",
    "CallLane",
    "ChildSpec",
    "Clock",
    "Delay",
    "DynamicMessage",
    "DynamicSpec",
    "DynamicSummary",
    "EndReason",
    "Ended",
    "Failure",
    "Followable",
    "GivenUpError",
    "Hook",
    "InFlight",
    "JobStep",
    "Key",
    "KeyFollowed",
    "Lane",
    "LaneSize",
    "Lanes",
    "LateError",
    "Level",
    "LevelIs",
    "OnExhausted",
    "Operation",
    "OperationStep",
    "Operations",
    "OperationsMemory",
    "PooledActor",
    "Port",
    "Portions",
    "Restart",
    "RoleStatistics",
    "Runtime",
    "Shared",
    "SharedThreads",
    "SpecError",
    "StartChild",
    "StepError",
    "Steps",
    "StopChild",
    "Strategy",
    "SupervisorSpec",
    "SystemClock",
    "Threads",
    "Through",
    "Timer",
    "TokenBucket",
    "TreeSummary",
    "Unset",
    "call",
    "carried_out",
    "delay",
    "gather",
    "isolated",
    "job",
    "wait_for",
]
