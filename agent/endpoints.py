"""What people are answered by: the event recorder, the event feed, and the HTTP server with its console."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from typing_extensions import override

from actors.events.feed import EventFeed
from actors.events.feed_parts import EVENT_FEED, FeedMemory, FeedPorts
from actors.events.recorder import EVENT_RECORDER, EventRecorder, RecorderMemory
from actors.logs.answers import attempts, log_reading, logged_pods
from actors.logs.layout import LoggedPod
from actors.logs.reading import LogQuery, LogReading
from actors.logs.records import ALL_STREAMS, LogStream, log_text
from actors.pod_manager import POD_MANAGER
from actors.pods.status_keeper import STATUS_KEEPER
from actors.probes.watching import PROBE_KEEPER
from agent.composition import CONTAINERS, Composition
from agent.late import cluster, node_server
from agent.objects import object_managers
from agent.sources import shown_sources
from kernel import ActorSystem, Port
from manifests.times import rfc3339_milli
from messages.container_runtime import (
    AskContainer,
    ContainerAnswered,
    ContainerLog,
    ContainerQuestion,
    ExecEnded,
    ExecInContainer,
    LogLine,
    ReadContainerLog,
    RuntimeFailure,
)
from messages.units import Seconds, Timestamp
from server.actor import HttpServer
from server.backend import EndpointBackend
from server.control.console import (
    CommandEnded,
    ConsoleError,
    ContainerConsole,
    LogAsked,
    StillRuns,
    not_started,
)
from server.questions import Unanswered, ask
from settings.agent import effective_configuration
from settings.version import Releases


def event_recorder(agent: Composition, memory: RecorderMemory) -> EventRecorder:
    """Return the actor that remembers events for people, and passes them to their poster."""
    return EventRecorder(agent.port_if_any(cluster.EVENT_POSTER), memory)


def event_feed(agent: Composition, memory: FeedMemory) -> EventFeed:
    """Return the actor that tells readers of ``/events`` what happens."""
    ports = FeedPorts(
        pod_manager=agent.port(POD_MANAGER),
        managers=object_managers(agent),
        me=agent.port(EVENT_FEED),
        sources=shown_sources(agent),
        statuses=agent.port_if_any(STATUS_KEEPER),
        recorder=agent.port(EVENT_RECORDER),
        probes=agent.port_if_any(PROBE_KEEPER),
    )
    return EventFeed(ports, memory)


def node_server_memory(agent: Composition) -> node_server.NodeServerMemory:
    """Return what outlives the lives of the TLS port's server."""
    releases = Releases()
    return node_server.NodeServerMemory(lambda: (_backend(agent, releases), _console(agent)))


def _backend(agent: Composition, releases: Releases) -> EndpointBackend:
    settings = agent.settings
    return EndpointBackend(
        system=agent.system(),
        answering=agent.answering(),
        sources=shown_sources(agent),
        objects=object_managers(agent),
        node_name=settings.node_name,
        configuration=effective_configuration(settings),
        chaos=settings.enable_chaos,
        releases=releases,
        runtime_kind=agent.runtime.kind,
        limits=agent.listeners.limits,
        hosts=settings.hosts,
    )


def http_server(agent: Composition, releases: Releases) -> HttpServer:
    """Return the actor that answers on the ports and on the control socket."""
    shared = agent.edges.process
    loop = shared.server_loop if shared is not None else None
    return HttpServer(_backend(agent, releases), agent.listeners, _console(agent), loop)


def _console(agent: Composition) -> AgentConsole:
    told = agent.runtime.containers
    logs = told.pod_logs_dir if told is not None else None
    return AgentConsole(agent.system, agent.port_if_any(CONTAINERS), logs)


LOOK_AGAIN: Final = Seconds(0.25)
"""How often it is looked for new lines of a log that is followed."""
LOG_WITHIN: Final = Seconds(30.0)
"""How long the answer with a log may take."""
SPARE: Final = Seconds(5.0)
"""How much longer than its command an answer may take."""


class AgentConsole(ContainerConsole):
    """The containers of one agent.

    ``containers`` is who runs them, or None; ``logs`` is the directory of their logs, or None if these are
    no files.
    """

    def __init__(
        self,
        system: Callable[[], ActorSystem],
        containers: Port[AskContainer] | None,
        logs: Path | None,
    ) -> None:
        self._system = system
        self._containers = containers
        self._logs = logs

    @override
    def log(self, asked: LogAsked, still_runs: StillRuns | None) -> AsyncGenerator[bytes, None]:
        if self._logs is not None:
            return _from_files(self._logs, asked, still_runs)
        return self._from_answers(asked, still_runs)

    @override
    async def run(
        self, container_id: str, command: tuple[str, ...], within: Seconds
    ) -> CommandEnded:
        try:
            answer = await self._ask(ExecInContainer(id=container_id, command=command), within)
        except ConsoleError as error:
            ended = not_started(str(error))
            if ended is None:
                raise
            return ended
        if not isinstance(answer, ExecEnded):
            raise ConsoleError("the runtime has no answer to that")
        return CommandEnded(exit_code=answer.exit_code, output=answer.output, note=answer.note)

    async def _from_answers(
        self, asked: LogAsked, still_runs: StillRuns | None
    ) -> AsyncGenerator[bytes, None]:
        """Yield the lines of a log that only whoever runs the container knows."""
        if asked.is_of_pod_before:
            raise _no_log(asked)
        since, told, tail = asked.since, 0, asked.tail
        goes_on = True
        while goes_on:
            # First: what is written before it ended is read after that is known.
            goes_on = still_runs is not None and await still_runs()
            question = ReadContainerLog(id=asked.container_id, since=since, tail=tail)
            answer = await self._ask(question, LOG_WITHIN)
            lines = answer.lines if isinstance(answer, ContainerLog) else ()
            # Also if there are none: whoever asked learns that it is being read.
            yield b"".join(_shown(each, with_times=asked.with_times) for each in lines[told:])
            if lines:
                since = lines[-1].at
                told, tail = sum(each.at == since for each in lines), None
            if goes_on:
                await asyncio.sleep(LOOK_AGAIN)

    async def _ask(self, question: ContainerQuestion, within: Seconds) -> object:
        if self._containers is None:
            raise ConsoleError("what runs the pods of this agent has no logs and runs no commands")

        def carried(reply_to: Port[ContainerAnswered]) -> AskContainer:
            return AskContainer(question=question, reply_to=reply_to, ref=None, deadline=within)

        patience = Seconds(within + SPARE)
        answered = await ask("runtime", self._system(), self._containers, carried, patience)
        if isinstance(answered, Unanswered):
            raise ConsoleError(f"{answered.name}: {answered.reason}")
        if isinstance(answered.answer, RuntimeFailure):
            raise ConsoleError(answered.answer.message)
        return answered.answer


def _shown(line: LogLine, *, with_times: bool) -> bytes:
    time = f"{rfc3339_milli(Timestamp(line.at))} " if with_times else ""
    return f"{time}{line.text}\n".encode(errors="replace")


async def _from_files(
    root: Path, asked: LogAsked, still_runs: StillRuns | None
) -> AsyncGenerator[bytes, None]:
    """Yield the lines of a log on disk."""
    with ExitStack() as held:

        def begin() -> LogReading:
            pod, attempt = _instance(root, asked)
            query = LogQuery(
                tail=asked.tail,
                since=asked.since,
                streams=frozenset({LogStream(asked.stream)}) if asked.stream else ALL_STREAMS,
                with_rotated=asked.with_rotated,
                is_following=still_runs is not None,
            )
            return held.enter_context(log_reading(root, pod, asked.container, attempt, query))

        try:
            reading = await asyncio.to_thread(begin)
            yield b""  # whoever asked learns that it is being read
            goes_on = True
            while goes_on:
                goes_on = still_runs is not None and await still_runs()
                while records := await asyncio.to_thread(reading.read):
                    yield log_text(records, with_times=asked.with_times)
                if goes_on:
                    await asyncio.sleep(LOOK_AGAIN)
            yield log_text(await asyncio.to_thread(reading.finish), with_times=asked.with_times)
        except FileNotFoundError:
            raise _no_log(asked) from None
        except OSError as error:
            reason = error.strerror or "it cannot be read"
            raise ConsoleError(f"the log of container {asked.container}: {reason}") from None


def _no_log(asked: LogAsked) -> ConsoleError:
    what = "instance before this one" if asked.is_of_pod_before else "log"
    return ConsoleError(f"container {asked.container} has no {what}")


def _instance(root: Path, asked: LogAsked) -> tuple[LoggedPod, int]:
    """Return whose log is asked for: its pod, and the number of the container's instance.

    Raises ``FileNotFoundError`` if it is one of the pod before, and that has none.
    """
    pod = LoggedPod(asked.pod.namespace, asked.pod.name, asked.pod.uid)
    if not asked.is_of_pod_before:
        return pod, asked.attempt
    for each in reversed(logged_pods(root, pod.namespace, pod.name)):
        found = attempts(root, each, asked.container) if each.uid != pod.uid else []
        if found:
            return each, found[-1]
    raise FileNotFoundError
