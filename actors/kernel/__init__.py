"""How any actor runs. Knows Pykka, and is the only one to; knows nothing of Kubernetes.

The parts, from the bottom: ``ports`` and ``mailbox`` (addresses and what waits behind them), ``cell``
(one address), ``incarnation`` (one life and its turns), ``executors`` and ``runtimes`` (whose thread),
``specs``, ``restarts``, ``children``, ``supervisor``, ``dynamic`` and ``loops`` (the tree), ``control``
and ``timers`` (the thread it runs on), ``tree`` (the tree as data), ``system`` (the whole).
"""

from actors.kernel.actor import Actor, BaseActor, PooledActor
from actors.kernel.clock import Clock, SystemClock
from actors.kernel.dynamic import DynamicMessage, StartChild, StopChild
from actors.kernel.endings import Ended, EndReason, Hook
from actors.kernel.ports import (
    ActorCrashedError,
    ActorDeadError,
    Address,
    AskInsideActorError,
    AskTimeoutError,
    Key,
    Port,
)
from actors.kernel.runtimes import Runtime, Steps, Threads
from actors.kernel.specs import (
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
from actors.kernel.system import (
    EXIT_FAILED,
    EXIT_STOPPED,
    EXIT_UNCLEAN,
    ActorSystem,
)
from actors.kernel.telemetry import SECONDS_BUCKETS, RoleStatistics
from actors.kernel.timers import Timer
from actors.kernel.tree import ActorDescription, CrowdSummary, TreeSummary

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
