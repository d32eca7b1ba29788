"""The runtime that makes pods seem to run, as ``--runtime hollow`` asks for it. A part of ``pod_tree``."""

from __future__ import annotations

from collections.abc import Callable

from actors.probes.watching import ProbesToRun
from agent.runtime_record import HOLLOW_FILE
from files.record_keeper import RecordKeeper, RecordMemory
from kernel import Address, AnySpec, Port, isolated
from messages.container_runtime import AskContainer
from messages.events import PostEvent
from messages.pod_runtime import PodRuntimeMessage, RuntimeNode
from runtimes.containers.actor import POD_RUNTIME, ContainersOptions, ContainersRuntime
from runtimes.containers.record import RuntimeMemory
from runtimes.hollow.actor import HOLLOW_CONTAINERS, HollowContainers, HollowMemory
from runtimes.hollow.core import HollowCore
from runtimes.hollow.record_file import HOLLOW_RECORDS, HollowRecordFile
from runtimes.hollow.rules import HollowRules, rules_of
from settings.agent import Settings
from settings.runtime import HollowSettings
from settings.version import version


class HollowRuntime:
    """Its actors, and what outlives their crashes.

    ``events`` gives the address of the poster of events; None for an agent without a cluster.
    ``make_core`` makes what the containers are in.
    """

    def __init__(
        self,
        settings: Settings,
        told: HollowSettings,
        address: Address,
        events: Callable[[], Port[PostEvent] | None],
        make_core: Callable[[HollowRules], HollowCore] = HollowCore,
    ) -> None:
        rules = rules_of(told.times, settings.pod_networks, told.seed)
        self._address = address
        self._events = events
        self._containers = HollowMemory(core=make_core(rules))
        self._pods = RuntimeMemory()
        self._options = ContainersOptions(longest_backoff=settings.longest_restart_pause)
        file = HollowRecordFile(settings.root_dir / HOLLOW_FILE)
        self._records = RecordMemory(file) if told.keeps_records else None

    def specs(self) -> tuple[AnySpec, ...]:
        """Return the specs, those of the containers first. They are isolated: pods outlive their trouble."""
        records = self._records
        keeper = (isolated(HOLLOW_RECORDS, lambda: RecordKeeper(records)),) if records else ()
        return (
            *keeper,
            isolated(HOLLOW_CONTAINERS, self._make_containers),
            isolated(POD_RUNTIME, self._make_runtime),
        )

    def port(self) -> Port[PodRuntimeMessage]:
        """Return the address of the runtime of pods."""
        return self._address(POD_RUNTIME)

    @staticmethod
    def images() -> None:
        """Return nothing: nobody keeps images."""
        return

    @staticmethod
    def containers() -> None:
        """Return nobody: they are all in this process."""
        return

    @staticmethod
    def logs() -> None:
        """Return nobody: the logs of hollow containers are not on disk."""
        return

    def asked(self) -> Port[AskContainer]:
        """Return the address of the containers."""
        return self._address(HOLLOW_CONTAINERS)

    def probes(self) -> Port[ProbesToRun]:
        """Return the address of the containers: they answer their probes themselves."""
        return self._address(HOLLOW_CONTAINERS)

    def node(self) -> RuntimeNode | None:
        """Return nothing: flags say what a hollow Node is."""
        return None

    def uses_services(self) -> bool:
        """Return that they are told of none: hollow containers have no variables."""
        return False

    def _make_containers(self) -> HollowContainers:
        records = self._address(HOLLOW_RECORDS) if self._records is not None else None
        return HollowContainers(version(), self._containers, records)

    def _make_runtime(self) -> ContainersRuntime:
        containers = self._address(HOLLOW_CONTAINERS)
        hooks = containers  # nothing is really run or connected to
        me, events = self._address(POD_RUNTIME), self._events()
        return ContainersRuntime(containers, hooks, me, self._pods, self._options, events)
