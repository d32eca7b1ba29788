"""One agent, from its settings to the end of its process."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn

import structlog

from agent import garbage
from agent.edges import Edges, ProcessEdges
from agent.listeners import (
    control_socket,
    host_and_port,
    limits_of_connections,
    listen,
    raise_descriptor_limit,
)
from agent.locks import root_dir, runtime_lock, warn_of_kubelets
from agent.logs import configure_logs
from agent.process import LastCalls, Process, leave
from agent.runtime_record import RecordedRuntime, keep_record, places_of, take_directory
from agent.systemd import Systemd
from agent.tree import AgentTree
from kernel import (
    ActorSystem,
    Clock,
    Port,
    Runtime,
)
from messages.pod_manager import DescribePod, PodDescribed
from messages.sources import Rescan
from messages.units import Seconds
from runtimes.cri.runtime_socket import RuntimeSocket
from server.actor import Listeners
from settings.agent import Settings
from settings.errors import StartError
from settings.situation import RuntimeKind

_log = structlog.get_logger("actorlet")


class Agent:
    """One agent: a tree of actors and the system that it runs in. Nothing runs before ``system.start``."""

    def __init__(
        self,
        settings: Settings,
        listeners: Listeners,
        *,
        clock: Clock | None = None,
        runtime: Runtime | None = None,
        edges: Edges | None = None,
    ) -> None:
        self._tree = AgentTree(settings, listeners, lambda: self.system, edges)
        self.system = ActorSystem(self._tree.root(), clock=clock, runtime=runtime)
        self.system.observe_statuses(self._tree.note_actor_status)
        if settings.cluster is not None:
            self.system.observe_failed_loops(self._tree.note_failed_loops)

    @property
    def last_calls(self) -> LastCalls:
        """The calls that the end of the process waits for."""
        return self._tree.last_calls

    def rescan(self) -> None:
        """Tell every source to look again."""
        for source in self._tree.shown_sources().values():
            source.tell(Rescan())

    def is_responsive(self, within: Seconds) -> bool:
        """Return whether the thread of the supervisors and PodManager answer, each ``within`` that time."""
        try:
            self.system.ping(within)
            self.system.ask(self._tree.pod_manager, _sign_of_life, within)
        except Exception:  # noqa: BLE001  # who asks is told whatever a handler raises
            return False
        return True


def _sign_of_life(reply_to: Port[PodDescribed]) -> DescribePod:
    return DescribePod(reply_to=reply_to)


def run(settings: Settings) -> NoReturn:
    """Run the agent until it is told to stop, and end the process with the exit code.

    Raises StartError if the root directory, the container runtime or a port cannot be used.
    """
    log = configure_logs(settings.logging_format, settings.verbosity, sys.stderr)
    try:
        code = _run(settings)
    finally:
        log.close()
    leave(code)


def _run(settings: Settings) -> int:
    garbage.start()
    with ExitStack() as held:
        # Before the ports: a second agent is told of the first one, not of a port in use.
        held.enter_context(root_dir(settings.root_dir))
        _take_directory(settings)
        socket = _claimed_socket(settings, held)
        listeners = Listeners(
            read_only=listen(settings.address, settings.read_only_port, "the read-only port"),
            healthz=listen(
                settings.healthz_bind_address, settings.healthz_port, "the healthz port"
            ),
            node=listen(settings.server.address, settings.server.port, "the TLS port"),
            control=held.enter_context(control_socket(settings.root_dir)),
            limits=limits_of_connections(raise_descriptor_limit()),
        )
        for listener in (*listeners.read_only, *listeners.healthz, *listeners.node):
            held.enter_context(listener)
        _log_start(settings, socket)
        process = held.enter_context(ProcessEdges())
        edges = Edges(socket=socket, process=process)
        agent = Agent(settings, listeners, runtime=process.threads, edges=edges)
        return Process(agent, Systemd(), settings.shutdown_deadline).run()


def _take_directory(settings: Settings) -> None:
    """Keep agents with another kind of runtime out of the root directory."""
    runtime = settings.runtime
    take_directory(settings.root_dir, runtime.kind, may_change=runtime.may_change)


def _claimed_socket(settings: Settings, held: ExitStack) -> RuntimeSocket | None:
    """Return where the container runtime is, or will be; None where none is wanted.

    Other agents are kept off it while ``held`` is, from when it is found.
    """
    containers = settings.runtime.containers
    if containers is None:
        return None
    named, root = containers.container_runtime_endpoint, settings.root_dir
    if named is not None:
        held.enter_context(runtime_lock(named))
        keep_record(root, RecordedRuntime(runtime=RuntimeKind.CRI))
        return RuntimeSocket.named(named)

    def claim(found: Path) -> str:
        try:
            held.enter_context(runtime_lock(found))
        except StartError as error:
            return str(error)
        keep_record(root, RecordedRuntime(runtime=RuntimeKind.CRI, socket=str(found)))
        return ""

    socket = RuntimeSocket(places_of(root), claim)
    if socket.look() and socket.found is None:
        raise StartError(socket.trouble)
    return socket


def _log_start(settings: Settings, socket: RuntimeSocket | None) -> None:
    _log.info("starting", **_at_a_glance(settings, socket))
    if socket is not None:
        warn_of_kubelets()
    for warning in settings.warnings:
        _log.warning("configuration", warning=warning)


def _at_a_glance(settings: Settings, socket: RuntimeSocket | None) -> dict[str, object]:
    """Return what people want to know first."""
    runtime = settings.runtime
    of_socket = {"socket": str(socket.found or socket.trouble)} if socket is not None else {}
    page = f"http://{host_and_port(settings.address, settings.read_only_port)}/"
    return {
        "node": settings.node_name,
        "runtime": str(runtime.provider or runtime.kind),
        **of_socket,
        **({"page": page} if settings.read_only_port else {}),
        "static_pod_path": str(settings.static_pod_path or ""),
        "read_only_port": settings.read_only_port,
        "healthz_port": settings.healthz_port,
    }
