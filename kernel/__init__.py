"""How any actor runs. Knows Pykka, and is the only one to; knows nothing of Kubernetes.

The parts, from the bottom: ``ports`` and ``mailbox`` (addresses and what waits behind them), ``cell``
(one address), ``incarnation`` (one life and its turns), ``executors`` and ``runtimes`` (whose thread),
``specs``, ``restarts``, ``children``, ``supervisor``, ``dynamic`` and ``loops`` (the tree), ``control``
and ``timers`` (the thread it runs on), ``tree`` (the tree as data), ``system`` (the whole).
"""

from kernel.actor import Actor, BaseActor, PooledActor
from kernel.clock import Clock, SystemClock
from kernel.dynamic import DynamicMessage, StartChild, StopChild
from kernel.endings import Ended, EndReason, Hook
from kernel.ports import (
    ActorCrashedError,
    ActorDeadError,
    Address,
    AskInsideActorError,
    AskTimeoutError,
    Key,
    Port,
)
from kernel.runtimes import Runtime, Steps, Threads
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
from kernel.system import (
    EXIT_FAILED,
    EXIT_STOPPED,
    EXIT_UNCLEAN,
    ActorSystem,
)
from kernel.telemetry import SECONDS_BUCKETS, RoleStatistics
from kernel.timers import Timer
from kernel.tree import ActorDescription, CrowdSummary, TreeSummary

__all__ = [
    "EXIT_FAILED",
    "EXIT_STOPPED",
    "EXIT_UNCLEAN",
    "SECONDS_BUCKETS",
    "Actor",
    "ActorCrashedError",
    "ActorDeadError",
    "ActorDescription",
    "ActorSystem",
    "Address",
    "AnySpec",
    "AskInsideActorError",
    "AskTimeoutError",
    "Backoff",
    "BaseActor",
    "ChildSpec",
    "Clock",
    "CrowdSummary",
    "DynamicMessage",
    "DynamicSpec",
    "EndReason",
    "Ended",
    "Hook",
    "Key",
    "OnExhausted",
    "PooledActor",
    "Port",
    "Restart",
    "RoleStatistics",
    "Runtime",
    "SpecError",
    "StartChild",
    "Steps",
    "StopChild",
    "Strategy",
    "SupervisorSpec",
    "SystemClock",
    "Threads",
    "Timer",
    "TreeSummary",
    "isolated",
]
