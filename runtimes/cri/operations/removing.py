"""What it takes to end and to remove containers of whose tasks containerd's CRI knows something wrong. Pure.

containerd gives a start up whose caller has gone. If its shim had made the process already, the container has
exited for the CRI, and its task stays: no call of the CRI ends it, and every removal fails over it. So it is
ended by containerd's own calls. Other runtimes say nothing of the kind.

While containerd starts, it loses the exit of what ends just then (1.6): for the CRI the container runs until
containerd is started anew. A StopContainer waits for ever for the end, and a removal is refused.
"""

from __future__ import annotations

import re
from typing import Any, Final

from kernel import Operation, delay
from messages.units import Seconds
from runtimes.cri import rpcs
from runtimes.cri.inventory import ContainerExit
from runtimes.cri.operations.flow import RpcError, call
from runtimes.cri.operations.outcomes import is_uncertain
from runtimes.cri.wire.transport import Rpc, RpcCode

_HELD: Final = re.compile(r"cannot delete running task ([0-9A-Za-z_.-]{1,128})")
"""What containerd says of a container that has a task still."""
_RUNS: Final = re.compile(r'container "([0-9A-Za-z_.-]{1,128})": container is still running')
"""What its CRI says of a container that runs for it. One that really ran, it would have killed."""
LOOK_AT_AN_EXIT: Final = Seconds(0.5)
LOOKS_AT_AN_EXIT: Final = 20
"""It takes containerd up to 2.4 s to say of an exit on a machine with much to do."""
LOST: Final = ContainerExit(exit_code=255, at=0)
"""How something has ended that has no task any more. containerd says the same when it is started anew."""
LOOK_AT_AN_END: Final = Seconds(0.1)
LOOKS_AT_AN_END: Final = 20
"""A task is deleted once the shim has seen that what was killed has ended."""


def removed(removal: Rpc[Any]) -> Operation[bool]:
    """Make a call that removes something, and end the tasks that keep it from that. Raises ``RpcError``.

    Return whether it is removed. What is not has ended, and containerd removes it once it is started anew.
    """
    ended: set[str] = set()
    looks = 0
    while True:
        try:
            yield from call(removal)
        except RpcError as error:
            held, runs = (each.search(error.failure.message) for each in (_HELD, _RUNS))
            if runs is not None and (yield from end_task(runs[1], is_killed=False)) is not None:
                if looks == LOOKS_AT_AN_EXIT:
                    return False
                looks += 1
                yield from delay(LOOK_AT_AN_EXIT)  # it may be about to hear of the exit
                continue
            if held is None or held[1] in ended:
                raise
            ended.add(held[1])
            yield from end_task(held[1], is_killed=True)
        else:
            return True


def end_task(container_id: str, *, is_killed: bool) -> Operation[ContainerExit | None]:
    """Have a task deleted, after it was killed if it ``is_killed``. Return how it has ended.

    Return None if it runs on, or if this is not containerd. Raises ``RpcError`` if nobody knows.
    """
    if is_killed:
        yield from _kill_task(container_id)
    for _ in range(LOOKS_AT_AN_END if is_killed else 1):
        try:
            deleted = yield from call(rpcs.delete_task(container_id))
        except RpcError as error:
            if is_uncertain(error.failure):
                raise
            if error.is_not_found:
                return LOST
            if error.failure.code is RpcCode.UNIMPLEMENTED:
                return None
            yield from delay(LOOK_AT_AN_END)
        else:
            return ContainerExit(deleted.exit_status, deleted.exited_at.ToNanoseconds())
    return None


def _kill_task(container_id: str) -> Operation[None]:
    try:
        yield from call(rpcs.kill_task(container_id))
    except RpcError as error:
        if is_uncertain(error.failure):
            raise  # any other failure: it has ended already
