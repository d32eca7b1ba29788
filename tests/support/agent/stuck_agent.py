"""A process like the agent's, in which one actor never stops. Run as a script."""

from __future__ import annotations

import sys
import threading
from typing import NoReturn

from typing_extensions import override

from agent.logs import configure_logs
from agent.process import LastCalls, Process, leave
from agent.systemd import Systemd
from kernel import Actor, ActorSystem, ChildSpec, Key, SupervisorSpec
from messages.units import Seconds


class Stuck(Actor[None]):
    """Waits for ever while stopping."""

    @override
    def receive(self, message: None, /) -> None:
        """Hear nothing."""

    @override
    def stopping(self) -> None:
        threading.Event().wait()


class StuckAgent:
    """An agent of one actor."""

    def __init__(self) -> None:
        stuck = ChildSpec(key=Key[None]("stuck"), factory=Stuck, shutdown=Seconds(60.0))
        root = SupervisorSpec(name="root", children=(stuck,), shutdown=Seconds(60.0))
        self.system = ActorSystem(root)
        self.last_calls = LastCalls()

    def rescan(self) -> None:
        """Do nothing."""

    def is_responsive(self, within: Seconds) -> bool:  # noqa: ARG002  # it answers at once
        """Return that all is well."""
        return True


def main(deadline: Seconds) -> NoReturn:
    """Run for at most ``deadline`` seconds after the first signal to stop."""
    log = configure_logs("text", 0, sys.stderr)
    code = Process(StuckAgent(), Systemd(), deadline).run()
    log.close()
    leave(code)


if __name__ == "__main__":
    main(Seconds(float(sys.argv[1])))
