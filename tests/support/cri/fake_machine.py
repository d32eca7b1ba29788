"""Sandboxes and containers of a runtime in memory, as containerd keeps them.

Names are reserved by attempt, what exits is said to run for a while longer, and nothing comes back.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import RpcCode, RpcFailure
from tests.support.cri.fake_images import FakeImages

SECOND: Final = 1_000_000_000
KILLED: Final = 137
LOST: Final = 255
"""The exit code of what ended while no runtime saw it."""
STARTS_AT: Final = 4
"""Addresses below that are the network's own."""


class CriError(Exception):
    """A request is refused."""

    def __init__(self, code: RpcCode, message: str) -> None:
        super().__init__(message)
        self.failure = RpcFailure(code=code, message=message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """What a container does once it is started."""

    run_for: float | None = None
    """Seconds until it ends by itself."""
    exit_code: int = 0
    """With which it ends by itself."""
    exit_code_at_term: int = 0
    ignores_term: bool = False
    is_oom_killed: bool = False
    """Its end by itself is that."""
    start_error: str = ""
    """It cannot be started, for this reason."""
    says_running_for: float = 0.06
    """Seconds after its end for which its status is still RUNNING."""


RUNS: Final = Behaviour()


@dataclass(slots=True, eq=False)
class FakeSandbox:
    """One sandbox."""

    id: str
    config: cri.PodSandboxConfig
    handler: str
    ip: str
    created_at: int
    state: cri.PodSandboxState = cri.SANDBOX_READY
    row: cri.PodSandbox | None = None
    """What a list showed of it last: of many looks few find another state."""


@dataclass(slots=True, eq=False)
class FakeContainer:
    """One container."""

    id: str
    name: str
    """That it takes."""
    sandbox_id: str
    config: cri.ContainerConfig
    behaviour: Behaviour
    created_at: int
    image_id: str = ""
    """What its image meant when it was created."""
    state: cri.ContainerState = cri.CONTAINER_CREATED
    started_at: int = 0
    finished_at: int = 0
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    pid: int = 0
    """The process id that is told of it; 0 if none is."""
    has_ended: bool = False
    """Its process is gone. Its ``state`` says so a moment later."""
    is_lost: bool = False
    """The runtime has not heard of its end, and goes on to say RUNNING until it is started anew."""
    has_task: bool = True
    """Its task was not deleted."""
    when_ended: list[Callable[[], None]] = field(default_factory=list)
    row: cri.Container | None = None
    """What a list showed of it last."""


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happened to a container or a sandbox."""

    kind: cri.ContainerEventType
    id: str
    sandbox_id: str
    exit_code: int = 0
    at: int = 0
    is_oom: bool = False


class FakeMachine:
    """What runs. It asks ``now`` for the time in nanoseconds, and has ``later`` do things."""

    def __init__(
        self, now: Callable[[], int], later: Callable[[float, Callable[[], None]], object]
    ) -> None:
        self.now = now
        self._later = later
        self.sandboxes: dict[str, FakeSandbox] = {}
        self.containers: dict[str, FakeContainer] = {}
        self.images = FakeImages(now)
        self.behaviours: dict[str, Behaviour] = {}
        """By name of the container; ``RUNS`` for all others."""
        self.reserved: dict[str, str] = {}
        """Names that are taken by what nobody can see."""
        self.tell: Callable[[Happening], None] = lambda _: None
        self._ids = itertools.count(1)
        self.ids_begin_with = "c0ffee"
        self.called_at = 0
        """When that was asked for which is done now, in nanoseconds; 0 if just now."""
        self.boots = 0
        """How often the power has gone."""
        self.is_ready = True
        """The runtime and its network are."""
        self._addresses = itertools.count(STARTS_AT)

    # --- sandboxes -------------------------------------------------------------------------------------

    def run_sandbox(self, config: cri.PodSandboxConfig, handler: str = "") -> str:
        """Make a sandbox and return its id."""
        self._refuse_taken("sandbox", sandbox_name(config))
        made = FakeSandbox(
            id=self._new_id(),
            config=config,
            handler=handler,
            ip=f"10.88.{(number := next(self._addresses)) // 256}.{number % 256}",
            created_at=self.now(),
        )
        self.sandboxes[made.id] = made
        self._happens(cri.CONTAINER_CREATED_EVENT, made.id, made.id)
        self._happens(cri.CONTAINER_STARTED_EVENT, made.id, made.id)
        return made.id

    def stop_sandbox(self, sandbox_id: str) -> None:
        """Stop a sandbox and kill what runs in it. An unknown one is NOT_FOUND."""
        sandbox = self._sandbox(sandbox_id)
        for container in self.containers_in(sandbox_id):
            self.end(container.id, KILLED, reason="Error")
            self._settle(container)
        self.kill_pause(sandbox.id)

    def kill_pause(self, sandbox_id: str, says_ready_for: float = 0.0) -> None:
        """Have a sandbox end while its containers go on. Its status goes on, too, for so many seconds."""
        sandbox = self._sandbox(sandbox_id)
        if sandbox.state != cri.SANDBOX_READY:
            return

        def settle() -> None:
            sandbox.state = cri.SANDBOX_NOTREADY

        if says_ready_for:
            self._later(says_ready_for, settle)
        else:
            settle()
        self._happens(cri.CONTAINER_STOPPED_EVENT, sandbox_id, sandbox_id)

    def stop_sandbox_in_turn(self, sandbox_id: str, takes: float) -> None:
        """Have somebody stop a sandbox as containerd 1.6 does it, which says that it is ready meanwhile.

        It kills a container when the status of the one before says its end and ``takes`` seconds are over,
        and the pause last.
        """
        running = [
            each for each in self.containers_in(sandbox_id) if each.state == cri.CONTAINER_RUNNING
        ]
        if not running:
            self.kill_pause(sandbox_id)
            return
        self.end(running[0].id, KILLED)
        pause = running[0].behaviour.says_running_for + takes
        self._later(pause, lambda: self.stop_sandbox_in_turn(sandbox_id, takes))

    def remove_sandbox(self, sandbox_id: str) -> None:
        """Remove a sandbox with its containers. An unknown one is removed."""
        if sandbox_id not in self.sandboxes:
            return
        self.stop_sandbox(sandbox_id)
        for container in self.containers_in(sandbox_id):
            self.remove_container(container.id)
        del self.sandboxes[sandbox_id]
        self._happens(cri.CONTAINER_DELETED_EVENT, sandbox_id, sandbox_id)

    def sandbox_status(self, sandbox_id: str) -> cri.PodSandboxStatus:
        """Return how a sandbox is."""
        sandbox = self._sandbox(sandbox_id)
        config = sandbox.config
        status = cri.PodSandboxStatus(
            id=sandbox.id,
            metadata=config.metadata,
            state=sandbox.state,
            created_at=sandbox.created_at,
            labels=config.labels,
            annotations=config.annotations,
            runtime_handler=sandbox.handler,
        )
        options = config.linux.security_context.namespace_options
        status.linux.namespaces.options.CopyFrom(options)
        if sandbox.state == cri.SANDBOX_READY and options.network != cri.NODE:
            status.network.ip = sandbox.ip
        return status

    def listed_sandboxes(self, labels: Mapping[str, str]) -> Iterator[cri.PodSandbox]:
        """Yield what a list shows."""
        for sandbox in self.sandboxes.values():
            if not has_labels(sandbox.config.labels, labels):
                continue
            if sandbox.row is None or sandbox.row.state != sandbox.state:
                sandbox.row = cri.PodSandbox(
                    id=sandbox.id,
                    metadata=sandbox.config.metadata,
                    state=sandbox.state,
                    created_at=sandbox.created_at,
                    labels=sandbox.config.labels,
                    annotations=sandbox.config.annotations,
                )
            yield sandbox.row

    # --- containers ------------------------------------------------------------------------------------

    def create_container(self, sandbox_id: str, config: cri.ContainerConfig) -> str:
        """Create a container and return its id."""
        sandbox = self._sandbox(sandbox_id)
        if sandbox.state != cri.SANDBOX_READY:
            raise CriError(RpcCode.NOT_FOUND, f"sandbox container {sandbox_id!r} is not running")
        image_id = self.images.id_of(config.image.image)
        if image_id is None:
            raise CriError(RpcCode.NOT_FOUND, f"failed to resolve image {config.image.image!r}")
        name = container_name(config, sandbox.config)
        self._refuse_taken("container", name)
        behaviour = self.behaviours.get(config.metadata.name, RUNS)
        made = FakeContainer(
            self._new_id(), name, sandbox_id, config, behaviour, self.now(), image_id
        )
        self.containers[made.id] = made
        self._happens(cri.CONTAINER_CREATED_EVENT, made.id, sandbox_id)
        return made.id

    def start_container(self, container_id: str) -> None:
        """Start a container."""
        container = self._container(container_id)
        if container.state != cri.CONTAINER_CREATED:
            state = cri.ContainerState.Name(container.state)
            raise CriError(RpcCode.OTHER, f"container is in {state} state")
        if self._sandbox(container.sandbox_id).state != cri.SANDBOX_READY:
            raise CriError(RpcCode.OTHER, "sandbox container is not running")
        if container.behaviour.start_error:
            container.message = container.behaviour.start_error
            self._exit(container, 128, "StartError")
            self._settle(container)
            raise CriError(RpcCode.OTHER, f"OCI start failed: {container.message}")
        container.state, container.started_at = cri.CONTAINER_RUNNING, self.now()
        self._happens(cri.CONTAINER_STARTED_EVENT, container_id, container.sandbox_id)
        if container.behaviour.run_for is not None:
            self._later(container.behaviour.run_for, lambda: self._ends_by_itself(container_id))

    def stop_container(
        self, container_id: str, grace: float, when_ended: Callable[[], None]
    ) -> None:
        """Stop a container, and call ``when_ended`` once it has."""
        container = self._container(container_id)
        if container.is_lost and container.has_task:
            return  # it waits for the end of what has ended
        if container.state != cri.CONTAINER_RUNNING or container.has_ended:
            self._settle(container)
            when_ended()
            return
        container.when_ended.append(when_ended)
        if grace > 0 and not container.behaviour.ignores_term:
            code = container.behaviour.exit_code_at_term
            self._later(0.02, lambda: self.end(container_id, code))
        self._later(grace, lambda: self.end(container_id, KILLED))

    def remove_container(self, container_id: str) -> None:
        """Remove a container; a running one is killed, an unknown one is removed."""
        container = self.containers.get(container_id)
        if container is not None:
            if container.is_lost:
                text = f'failed for container "{container_id}": container is still running, to stop'
                raise CriError(RpcCode.OTHER, text)
            self.end(container_id, KILLED)
            del self.containers[container_id]
            self._happens(cri.CONTAINER_DELETED_EVENT, container_id, container.sandbox_id)

    def end(
        self, container_id: str, exit_code: int, reason: str = "", *, oom: bool = False
    ) -> None:
        """Have a container end, if it runs. Its status says so a little later."""
        container = self.containers.get(container_id)
        if container is None or container.state != cri.CONTAINER_RUNNING or container.has_ended:
            return
        self._exit(container, exit_code, reason, oom=oom)
        if container.behaviour.says_running_for:
            self._later(container.behaviour.says_running_for, lambda: self._settle(container))
        else:
            self._settle(container)
        waiting, container.when_ended = container.when_ended, []
        if waiting:
            self._settle(container)
        for when_ended in waiting:
            when_ended()

    def lose_exit(self, container_id: str, exit_code: int) -> None:
        """Have a running container end, and the runtime not hear of it.

        containerd 1.6 loses the exit of what ends while it starts.
        """
        container = self.containers[container_id]
        container.is_lost = True
        self._exit(container, exit_code)

    def find_exits(self) -> None:
        """Have the runtime know what it has lost: it was started anew. What has no task is unknown to it."""
        for container in self.containers.values():
            if container.is_lost:
                container.is_lost = False
                if not container.has_task:
                    container.exit_code, container.reason = LOST, "Unknown"
                self._settle(container)

    def kill_task(self, container_id: str) -> None:
        """Kill what runs in a container, as containerd's own call does."""
        container = self.containers.get(container_id)
        if container is None or container.state != cri.CONTAINER_RUNNING or not container.has_task:
            raise CriError(
                RpcCode.NOT_FOUND, f"no running task found: task {container_id} not found"
            )
        self.end(container_id, KILLED)

    def delete_task(self, container_id: str) -> FakeContainer:
        """Delete the task of a container that has ended, and return the container."""
        container = self.containers.get(container_id)
        if container is None or container.state != cri.CONTAINER_RUNNING or not container.has_task:
            raise CriError(
                RpcCode.NOT_FOUND, f"no running task found: task {container_id} not found"
            )
        if not container.has_ended:
            raise CriError(RpcCode.OTHER, "task must be stopped before deletion")
        container.has_task = False
        return container

    def container_status(self, container_id: str) -> cri.ContainerStatus:
        """Return how a container is said to be."""
        container = self._container(container_id)
        config, has_exited = container.config, container.state == cri.CONTAINER_EXITED
        return cri.ContainerStatus(
            id=container.id,
            metadata=config.metadata,
            state=container.state,
            created_at=container.created_at,
            started_at=container.started_at,
            finished_at=container.finished_at if has_exited else 0,
            exit_code=container.exit_code if has_exited else 0,
            image=config.image,
            image_ref=container.image_id,
            reason=container.reason if has_exited else "",
            message=container.message,
            labels=config.labels,
            annotations=config.annotations,
            mounts=config.mounts,
            log_path=config.log_path,
        )

    def listed_containers(self, labels: Mapping[str, str]) -> Iterator[cri.Container]:
        """Yield what a list shows."""
        for container in self.containers.values():
            if not has_labels(container.config.labels, labels):
                continue
            if container.row is None or container.row.state != container.state:
                container.row = cri.Container(
                    id=container.id,
                    pod_sandbox_id=container.sandbox_id,
                    metadata=container.config.metadata,
                    image=container.config.image,
                    state=container.state,
                    created_at=container.created_at,
                    labels=container.config.labels,
                    annotations=container.config.annotations,
                )
            yield container.row

    def containers_in(self, sandbox_id: str) -> list[FakeContainer]:
        """Return the containers of a sandbox."""
        return [each for each in self.containers.values() if each.sandbox_id == sandbox_id]

    # --- power -----------------------------------------------------------------------------------------

    def lose_power(self) -> None:
        """Have every process end. What is known of containers and sandboxes stays, but for calls under way.

        As containerd 1.6 shows what it finds gone when it starts: containers have exited with 255,
        ``Unknown``, sandboxes are not ready, and what was only created stays so.
        """
        self.find_exits()
        self.boots += 1
        self.reserved.clear()
        for container in self.containers.values():
            container.when_ended.clear()
            if container.state == cri.CONTAINER_RUNNING and not container.has_ended:
                self._exit(container, LOST, "Unknown")
            self._settle(container)
        for sandbox in self.sandboxes.values():
            sandbox.state = cri.SANDBOX_NOTREADY

    # --- names -----------------------------------------------------------------------------------------

    def names(self) -> dict[str, str]:
        """Return which names are taken, and by what."""
        sandboxes = {sandbox_name(each.config): each.id for each in self.sandboxes.values()}
        containers = {each.name: each.id for each in self.containers.values()}
        return {**self.reserved, **sandboxes, **containers}

    def name_for(self, method: str, request: Any) -> str:
        """Return the name that a request takes. Empty if it takes none."""
        if method == "RunPodSandbox":
            return sandbox_name(request.config)
        if method == "CreateContainer" and request.pod_sandbox_id in self.sandboxes:
            return container_name(request.config, self.sandboxes[request.pod_sandbox_id].config)
        return ""

    # --- inside ----------------------------------------------------------------------------------------

    def _ends_by_itself(self, container_id: str) -> None:
        container = self.containers.get(container_id)
        if container is None:
            return
        is_oom = container.behaviour.is_oom_killed
        code = KILLED if is_oom else container.behaviour.exit_code
        self.end(container_id, code, "OOMKilled" if is_oom else "", oom=is_oom)

    def _exit(
        self, container: FakeContainer, exit_code: int, reason: str = "", *, oom: bool = False
    ) -> None:
        container.has_ended = True
        container.exit_code, container.finished_at = exit_code, self.now()
        container.reason = reason or ("Completed" if exit_code == 0 else "Error")
        if container.is_lost:
            return
        self.tell(
            Happening(
                cri.CONTAINER_STOPPED_EVENT,
                container.id,
                container.sandbox_id,
                exit_code,
                container.finished_at,
                oom,
            )
        )

    @staticmethod
    def _settle(container: FakeContainer) -> None:
        if container.has_ended and not container.is_lost:
            container.state = cri.CONTAINER_EXITED

    def _happens(self, kind: cri.ContainerEventType, some_id: str, sandbox_id: str) -> None:
        self.tell(Happening(kind, some_id, sandbox_id, at=self.now()))

    def _sandbox(self, sandbox_id: str) -> FakeSandbox:
        if sandbox_id not in self.sandboxes:
            raise CriError(RpcCode.NOT_FOUND, f"an error occurred when try to find {sandbox_id!r}")
        return self.sandboxes[sandbox_id]

    def _container(self, container_id: str) -> FakeContainer:
        if container_id not in self.containers:
            raise CriError(RpcCode.NOT_FOUND, f"container {container_id!r} not found")
        return self.containers[container_id]

    def _new_id(self) -> str:
        return f"{self.ids_begin_with}{next(self._ids):0>58x}"

    def _refuse_taken(self, what: str, name: str) -> None:
        if name in (taken := self.names()):
            text = f'failed to reserve {what} name "{name}": name "{name}" is reserved for'
            raise CriError(RpcCode.OTHER, f'{text} "{taken[name]}"')


def has_labels(labels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    """Return whether all of these are among ``labels``."""
    return all(key in labels and labels[key] == value for key, value in wanted.items())


def sandbox_name(config: cri.PodSandboxConfig) -> str:
    """Return the name that a sandbox takes."""
    of = config.metadata
    return f"{of.name}_{of.namespace}_{of.uid}_{of.attempt}"


def container_name(config: cri.ContainerConfig, sandbox: cri.PodSandboxConfig) -> str:
    """Return the name that a container takes."""
    of = sandbox.metadata
    attempt = config.metadata.attempt
    return f"{config.metadata.name}_{of.name}_{of.namespace}_{of.uid}_{attempt}"
