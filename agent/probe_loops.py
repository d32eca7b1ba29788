"""What carries out the probes of containers that really run. A part of the runtimes of pods."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Final

from typing_extensions import override

from actors.probes.command_turns import CommandTurns
from actors.probes.loop_messages import Loop, MakeLoop, ProbeLoopMemory
from actors.probes.news import ProbeFact
from actors.probes.watched import ProbeMemory
from kernel import Clock, Lanes

COMMANDS_PER_CORE: Final = 2
"""Commands of probes that run at once. More of them end no more of them a second (measured)."""
USER_AGENT: Final = "kube-probe/1.34"
"""As a kubelet has it: servers of pods look at it."""


def probe_loop_memory() -> ProbeLoopMemory:
    """Return what outlives a crash of who carries probes out."""
    return ProbeLoopMemory(turns=CommandTurns(COMMANDS_PER_CORE * (os.cpu_count() or 1)))


class ProbeLoops(MakeLoop):
    """Makes loops over real sockets: of each agent one, all on one thread."""

    def __init__(self, names: Lanes[str]) -> None:
        """Begin the thread. ``names`` are looked up in these lanes."""
        from actors.probes.loop import ProbeThread  # noqa: PLC0415  # with TLS, which few agents need

        self._names = names
        self._thread = ProbeThread()

    @override
    def __call__(
        self,
        memory: ProbeMemory,
        tell: Callable[[Sequence[ProbeFact]], None],
        ended: Callable[[BaseException], None],
        clock: Clock,
    ) -> Loop:
        from actors.probes.loop import ProbeLoop  # noqa: PLC0415  # with TLS, which few agents need
        from actors.probes.loop_commands import ProbeEdges  # noqa: PLC0415  # with TLS, which few agents need

        edges = ProbeEdges(clock=clock, tell=tell, user_agent=USER_AGENT, names=self._names)
        return ProbeLoop(memory, edges, ended, self._thread)

    def close(self) -> None:
        """End the thread."""
        self._thread.close()
