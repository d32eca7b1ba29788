"""What a hook is to do, read from the handler of a specification. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from manifests.handlers import (
    ExecAction,
    HttpGetAction,
    TcpSocketAction,
    UnusableHandler,
    common_action,
)
from messages.pods import JsonObject
from messages.units import Seconds

LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class SleepAction:
    """Wait for so long."""

    seconds: Seconds


HookAction: TypeAlias = ExecAction | HttpGetAction | TcpSocketAction | SleepAction | UnusableHandler
"""A page succeeds if there is an answer, whatever its status is, as for a kubelet."""


def action_of(handler: JsonObject, container: JsonObject, ip: str) -> HookAction:
    """Return what ``handler`` of ``container`` says, with its named port resolved.

    ``ip`` is the pod's, for targets without a host; empty for the network of the node.
    """
    action = common_action(handler, container)
    if isinstance(action, HttpGetAction | TcpSocketAction):
        return replace(action, host=action.host or ip or LOOPBACK)
    if action is not None:
        return action
    if sleep := handler.get("sleep"):
        return SleepAction(seconds=Seconds(float(max(0, sleep.get("seconds") or 0))))
    return UnusableHandler(why="the hook says nothing that can be done")
