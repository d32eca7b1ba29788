"""What it takes to remove containers, and sandboxes with theirs, in which a cut start left a task. Pure.

containerd gives a start up whose caller has gone. If its shim had made the process already, the container has
exited for the CRI, and its task stays: no call of the CRI ends it, and every removal fails over it. So it is
ended by containerd's own calls. Other runtimes say nothing of the kind.
"""

from __future__ import annotations

import re
from typing import Final, TypeVar

from google.protobuf.message import Message

from kernel import Operation, delay
from messages.units import Seconds
from runtimes.cri import rpcs
from runtimes.cri.operations.flow import RpcError, call
from runtimes.cri.operations.outcomes import is_uncertain
from runtimes.cri.wire.transport import Rpc

ReplyT = TypeVar("ReplyT", bound=Message)

_HELD: Final = re.compile(r"cannot delete running task ([0-9A-Za-z_.-]{1,128})")
"""What containerd says of a container that has a task still."""
LOOK_AT_AN_END: Final = Seconds(0.1)
LOOKS_AT_AN_END: Final = 20
"""A task is deleted once the shim has seen that what was killed has ended."""


def removed(removal: Rpc[ReplyT]) -> Operation[ReplyT]:
    """Make a call that removes something, and end the tasks that keep it from that. Raises ``RpcError``."""
    ended: set[str] = set()
    while True:
        try:
            return (yield from call(removal))
        except RpcError as error:
            held = _HELD.search(error.failure.message)
            if held is None or held[1] in ended:
                raise
            ended.add(held[1])
            yield from _end_task(held[1])


def _end_task(container_id: str) -> Operation[None]:
    """Kill a task and have it deleted. Where that fails, the next removal tells why."""
    try:
        yield from call(rpcs.kill_task(container_id))
    except RpcError as error:
        if is_uncertain(error.failure):
            raise  # any other failure: it has ended already
    for _ in range(LOOKS_AT_AN_END):
        try:
            yield from call(rpcs.delete_task(container_id))
        except RpcError as error:
            if is_uncertain(error.failure):
                raise
            if error.is_not_found:
                return
            yield from delay(LOOK_AT_AN_END)
        else:
            return
