"""Somebody who commands pods that are real containers, and sees what is told of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernel import Port
from messages.pod_runtime import (
    ContainerObserved,
    ContainerState,
    ContainerWait,
    DescribeRuntime,
    ForgetPod,
    ListRuntimePods,
    Mark,
    PodObserved,
    PodsObserved,
    RunPod,
    RuntimeDescribed,
    StopPod,
)
from messages.pods import Pod, PodUid
from messages.units import Seconds
from messages.volumes import PodVolume
from runtimes.containers.actor import POD_RUNTIME
from runtimes.cri.configs.documents import volumes_by_name
from tests.support.builders import make_pod
from tests.support.containers.containerd import Containerd
from tests.support.containers.images import BUSYBOX
from tests.support.kernel.probe import Probe
from tests.support.patience import PATIENCE
from tests.support.runtimes.cri_stage import CriStage, wait_until


def real_pod(
    name: str,
    *command: str,
    policy: str = "Always",
    container: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Pod:
    """Return a pod with one container ``main`` of busybox that runs ``command`` on the host's network."""
    main = {"name": "main", "image": BUSYBOX, "command": [*command], **(container or {})}
    return make_pod(
        name,
        spec={"restartPolicy": policy, "hostNetwork": True, "containers": [main], **spec},
    )


class CriPods:
    """Gives commands, and waits for what comes of them."""

    def __init__(self, stage: CriStage) -> None:
        self.stage = stage
        self._inbox: Probe[PodObserved] = Probe()
        self._numbers = itertools.count(1)
        self._incarnation = 1
        self._told: dict[PodUid, list[PodObserved]] = {}

    @property
    def containerd(self) -> Containerd:
        return self.stage.containerd

    # --- commands --------------------------------------------------------------------------------------

    def run(self, *pods: Pod) -> None:
        """Have pods run. Their volumes are paths of the node. Waits for nothing."""
        for pod in pods:
            volumes = {
                name: PodVolume(path=volume["hostPath"]["path"])
                for name, volume in volumes_by_name(pod).items()
            }
            mark = self._mark()
            self._tell(RunPod(pod=pod, mark=mark, reply_to=self._inbox, volumes=volumes))

    def stop(self, pod: Pod, grace: float = 2.0) -> None:
        """Have a pod stopped. Waits for nothing."""
        command = StopPod(
            uid=pod.uid, mark=self._mark(), reply_to=self._inbox, grace=Seconds(grace)
        )
        self._tell(command)

    def forget(self, pod: Pod) -> None:
        """Have nothing left of a pod. Waits for nothing."""
        self._tell(ForgetPod(uid=pod.uid, mark=self._mark(), reply_to=self._inbox))

    def agent_is_killed(self) -> None:
        """Have the agent's process end at once, and start again without any command yet."""
        self.stage.die()
        self._told.clear()
        self._inbox = Probe()
        self._incarnation += 1
        self.stage.start()

    def _tell(self, command: RunPod | StopPod | ForgetPod) -> None:
        self.stage.play.system.address(POD_RUNTIME).tell(command)

    def _mark(self) -> Mark:
        return Mark(self._incarnation, next(self._numbers))

    # --- what is seen ----------------------------------------------------------------------------------

    def told(self, pod: Pod) -> list[PodObserved]:
        """Return all that was told of a pod, the oldest first."""
        for each in self._inbox.drain():
            self._told.setdefault(each.uid, []).append(each)
        return self._told.get(pod.uid, [])

    def until(
        self, pod: Pod, is_so: Callable[[PodObserved], bool], within: float = PATIENCE
    ) -> PodObserved:
        """Return the last that was told of a pod, as soon as that ``is_so``."""
        try:
            wait_until(lambda: bool(told := self.told(pod)) and is_so(told[-1]), within)
        except AssertionError as error:
            error.add_note(f"told last: {self.told(pod)[-1:]}")
            raise
        return self.told(pod)[-1]

    def running(self, pod: Pod, attempt: int = 0) -> ContainerObserved:
        """Return container ``main`` once it runs, for the ``attempt``-th time after the first."""

        def runs(told: PodObserved) -> bool:
            found = main_of(told)
            return found is not None and (found.state, found.attempt) == (
                ContainerState.RUNNING,
                attempt,
            )

        found = main_of(self.until(pod, runs))
        assert found is not None
        return found

    def exited(self, pod: Pod, attempt: int = 0, within: float = PATIENCE) -> ContainerObserved:
        """Return how an instance of container ``main`` has ended, once that is told."""

        def instances(told: PodObserved) -> Sequence[ContainerObserved | None]:
            history = told.containers.get("main")
            return () if history is None else (history.last, history.current)

        def of_attempt() -> list[ContainerObserved]:
            return [
                each
                for told in self.told(pod)
                for each in instances(told)
                if each is not None
                and (each.state, each.attempt) == (ContainerState.EXITED, attempt)
            ]

        wait_until(lambda: bool(of_attempt()), within)
        return of_attempt()[-1]

    def waiting(self, pod: Pod, reason: str) -> ContainerWait:
        """Return why container ``main`` waits, once that is for ``reason``."""

        def waits(told: PodObserved) -> ContainerWait | None:
            history = told.containers.get("main")
            return None if history is None else history.wait

        told = self.until(
            pod, lambda told: (wait := waits(told)) is not None and wait.reason == reason
        )
        found = waits(told)
        assert found is not None
        return found

    def is_away(self) -> None:
        """Wait until the runtime says that it cannot be asked."""
        wait_until(lambda: bool(self.described().trouble), PATIENCE)

    def is_there(self) -> None:
        """Wait until the runtime has no trouble."""
        wait_until(lambda: not self.described().trouble, PATIENCE)

    def described(self) -> RuntimeDescribed:
        def question(reply_to: Port[RuntimeDescribed]) -> Any:
            return DescribeRuntime(reply_to=reply_to)

        return self.stage.play.ask(POD_RUNTIME, question)

    def listed(self) -> list[tuple[str, bool]]:
        """Return the pods that the runtime has, and whether each runs."""

        def question(reply_to: Port[PodsObserved]) -> Any:
            return ListRuntimePods(reply_to=reply_to)

        pods = self.stage.play.ask(POD_RUNTIME, question).pods
        return sorted((each.name, each.is_running) for each in pods)

    # --- what is really there --------------------------------------------------------------------------

    def instances(self, pod: Pod) -> list[tuple[int, str]]:
        """Return each container of a pod that containerd has: its attempt, and its state."""
        with self.containerd.client() as client:
            return sorted(
                (each.metadata.attempt, client.state_of(each))
                for each in client.containers()
                if each.labels["io.kubernetes.pod.uid"] == pod.uid
            )

    def sandbox_id(self, pod: Pod) -> str:
        """Return the id of a pod's newest sandbox."""
        sandbox = self.told(pod)[-1].sandbox
        assert sandbox is not None
        return sandbox.id


def main_of(told: PodObserved) -> ContainerObserved | None:
    """Return the newest instance of container ``main``."""
    history = told.containers.get("main")
    return None if history is None else history.current


def bare(container: ContainerObserved) -> str:
    """Return the id of a container as containerd knows it."""
    return container.id.removeprefix("containerd://")
