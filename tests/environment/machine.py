"""The machine of a node: a runtime's machine in memory that tells a witness what really happens on it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from typing_extensions import override

from messages.pods import Pod
from messages.sources import SourceDescribed
from runtimes.cri.rpcs import UID_LABEL
from runtimes.cri.wire import cri_pb2 as cri
from tests.support.apiserver.history import Change
from tests.support.cri.fake_machine import FakeContainer, FakeMachine

PARTS: Final = "/volume-subpaths/"
"""Is in the path of each part of a volume that is mounted."""
NOBODYS: Final = "nobodys"
"""Begins the UID of what is no pod of ours."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One container of a pod."""

    id: str
    sandbox: str
    uid: str
    """Of its pod."""
    name: str
    image: str
    attempt: int
    started_at: float
    """Seconds by the wall clock; 0 before it is started."""
    finished_at: float
    exit_code: int
    given: tuple[bytes, ...] = ()
    """The values of its environment."""
    image_id: str = ""
    """What the image meant when it was created. Empty where nobody knows."""
    parts: tuple[str, ...] = ()
    """The paths on the machine of the parts of volumes that it mounts."""
    created_at: float = 0.0
    """Seconds by the wall clock; 0 where nobody knows."""
    asked_at: float = 0.0
    """When it was asked for that it starts now, or that it stops. Otherwise 0."""


class Witness:
    """Who is told what happens on a machine, and what the agent shows. Does nothing with it."""

    def starts(self, one: Instance) -> None:
        """Hear that a container runs."""

    def ends(self, one: Instance) -> None:
        """Hear that the process of a container is gone."""

    def is_asked_to_stop(self, one: Instance, grace: float) -> None:
        """Hear that the agent has a running container stopped or removed, within so many seconds."""

    def answers(self, one: Instance, what: str, *, is_yes: bool) -> None:
        """Hear that a container was asked by a probe, and whether it says yes."""

    def calls_hook(self, one: Instance, field: str) -> None:
        """Hear that the command of a container's hook is asked for: of ``postStart`` or of ``preStop``."""

    def hook_ends(self, one: Instance, field: str, *, is_success: bool) -> None:
        """Hear that the agent was told how that hook has ended."""

    def is_killed(self, one: Instance) -> None:
        """Hear that the agent itself has the processes of a running container killed."""

    def shows(self, statuses: Mapping[str, Mapping[str, object]]) -> None:
        """Hear what statuses the agent shows, by the UID of the pod."""

    def describes(self, sources: Mapping[str, SourceDescribed]) -> None:
        """Hear what the sources of pods say of themselves, by name."""

    def fails(self, errors: Mapping[str, tuple[int, str]]) -> None:
        """Hear how often each actor was started again, and what it failed with last, by name.

        The latter is empty if it never did.
        """

    def changes(self, change: Change, *, is_agents: bool) -> None:
        """Hear of a change at the API server, and whether the agent made it."""

    def objects_say(self, where: str, kind: str, name: str, text: str) -> None:
        """Hear what a Secret or a ConfigMap says from now on. Empty if it is gone."""

    def pulls(self, password: str) -> None:
        """Hear that an image is pulled with this password. Empty if without one."""

    def works_with(self, actors: Collection[str]) -> None:
        """Hear which actors the agent has, by name."""

    def deletes(self, pod: Pod) -> None:
        """Hear that the agent is about to delete a pod at the API server."""

    def moves(self) -> None:
        """Hear that something has happened."""

    def calls(self, method: str, uid: str, grace: float = 0.0) -> None:
        """Hear that the agent calls a class of somebody's own, about a pod or about all."""

    def returns(self, method: str, uid: str) -> None:
        """Hear that such a call has returned, or that the agent has given it up."""

    def forgets(self) -> None:
        """Hear that all containers are gone with the agent, and nobody knows of them any more."""

    def loses_power(self) -> None:
        """Hear that nothing runs any more, since the machine lost its power."""

    def loses(self, uid: str) -> None:
        """Hear that containers of a pod are gone, and that this was not the agent's doing."""


class Machine(FakeMachine):
    """Tells ``witness`` of what becomes of containers."""

    def __init__(
        self, now: Callable[[], int], later: Callable[[float, Callable[[], None]], object]
    ) -> None:
        super().__init__(now, later)
        self.witness = Witness()
        self.unlisted: set[str] = set()
        """Sandboxes that no list shows, as those that somebody else made in their own way."""

    def instance(self, one: FakeContainer) -> Instance:
        """Return how a container is."""
        config, sandbox = one.config, self.sandboxes.get(one.sandbox_id)
        uid = sandbox.config.metadata.uid if sandbox else config.labels.get(UID_LABEL, NOBODYS)
        return Instance(
            id=one.id,
            sandbox=one.sandbox_id,
            uid=uid,
            name=config.metadata.name,
            image=config.image.user_specified_image or config.image.image,
            attempt=config.metadata.attempt,
            created_at=one.created_at / 1e9,
            started_at=one.started_at / 1e9,
            finished_at=one.finished_at / 1e9,
            exit_code=one.exit_code,
            given=tuple(each.value for each in config.envs),
            image_id=one.image_id,
            parts=tuple(each.host_path for each in config.mounts if PARTS in each.host_path),
        )

    def at(self, ip: str) -> Iterator[FakeContainer]:
        """Yield the running containers in the sandbox that has an address."""
        for one in self.running():
            sandbox = self.sandboxes.get(one.sandbox_id)
            if sandbox is not None and sandbox.state == cri.SANDBOX_READY and sandbox.ip == ip:
                yield one

    def running(self) -> Iterator[FakeContainer]:
        """Yield the containers whose processes are there."""
        for one in self.containers.values():
            if one.state == cri.CONTAINER_RUNNING and not one.has_ended:
                yield one

    @override
    def listed_sandboxes(self, labels: Mapping[str, str]) -> Iterator[cri.PodSandbox]:
        return (each for each in super().listed_sandboxes(labels) if each.id not in self.unlisted)

    @override
    def start_container(self, container_id: str) -> None:
        super().start_container(container_id)
        one = self.instance(self.containers[container_id])
        self.witness.starts(replace(one, asked_at=(self.called_at or self.now()) / 1e9))

    @override
    def stop_container(
        self, container_id: str, grace: float, when_ended: Callable[[], None]
    ) -> None:
        self._tell_of_stop(container_id, grace)
        super().stop_container(container_id, grace, when_ended)

    @override
    def stop_sandbox(self, sandbox_id: str) -> None:
        for one in self.containers_in(sandbox_id):
            self._tell_of_stop(one.id, 0.0)
        super().stop_sandbox(sandbox_id)

    @override
    def remove_container(self, container_id: str) -> None:
        self._tell_of_stop(container_id, 0.0)
        super().remove_container(container_id)

    @override
    def kill_task(self, container_id: str) -> None:
        one = self.containers.get(container_id)
        if one is not None and one in self.running():
            self.witness.is_killed(self.instance(one))
        super().kill_task(container_id)

    def vanish(self, container_id: str) -> None:
        """Have somebody else remove a container."""
        super().remove_container(container_id)

    def lose_sandbox(self, container_id: str) -> None:
        """Have a sandbox gone, and all in it but one container, which has ended and keeps its name.

        containerd 1.6 leaves such a one if its sandbox is removed while it is being created.
        """
        one = self.containers[container_id]
        super().stop_sandbox(one.sandbox_id)
        for other in self.containers_in(one.sandbox_id):
            if other is not one:
                super().remove_container(other.id)
        del self.sandboxes[one.sandbox_id]

    @override
    def lose_power(self) -> None:
        super().lose_power()
        self.witness.loses_power()

    @override
    def _exit(
        self, container: FakeContainer, exit_code: int, reason: str = "", *, oom: bool = False
    ) -> None:
        super()._exit(container, exit_code, reason, oom=oom)
        self.witness.ends(self.instance(container))

    def _tell_of_stop(self, container_id: str, grace: float) -> None:
        one = self.containers.get(container_id)
        if one is not None and one in self.running():
            asked = replace(self.instance(one), asked_at=(self.called_at or self.now()) / 1e9)
            self.witness.is_asked_to_stop(asked, grace)
