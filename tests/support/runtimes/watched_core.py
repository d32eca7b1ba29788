"""A hollow runtime under watch: what its containers do, how often, and whether any of it may never be.

The invariants are those of pods that run, numbered as everywhere: one live instance of each name (1), the
order of init containers and sidecars (3), restart counts never fall (4). Whoever
runs the pods, crashes or is killed meanwhile: the watch outlives it.
"""

from __future__ import annotations

from collections.abc import Iterator

from typing_extensions import override

from messages.container_runtime import CreateContainer, RuntimeFailure
from messages.pod_runtime import ContainerObserved, ContainerState
from messages.pods import JsonObject, PodUid
from messages.units import Instant, Seconds
from runtimes.hollow.core import HollowCore
from runtimes.hollow.inventory import ContainerEnds, ContainerRecord, SandboxRecord
from runtimes.hollow.machine import HollowMachine
from runtimes.hollow.rules import HollowRules


class ContainerWatch:
    """What hollow containers did, over all processes of the agent."""

    def __init__(self) -> None:
        self.killed_pods: set[PodUid] = set()
        """Pods of which somebody stopped a running container."""
        self.violations: list[str] = []
        self.core: HollowCore | None = None
        """That of the present process."""
        self._specs: dict[PodUid, JsonObject] = {}
        self._attempts: dict[tuple[PodUid, str], int] = {}

    def make_core(self, rules: HollowRules) -> HollowCore:
        """Return the core of a process: containers of the one before are in it if there are records."""
        self.core = core = HollowCore(rules)
        core.machine = _WatchedMachine(rules, self)
        return core

    # --- what there is ---------------------------------------------------------------------------------

    def has(self, uid: PodUid) -> bool:
        """Return whether there is a sandbox or a container of a pod."""
        return self.core is not None and bool(self.core.machine.inventory.of_pod(uid))

    def sandboxes(self) -> Iterator[SandboxRecord]:
        """Go over all sandboxes."""
        return self.core.machine.inventory.sandboxes() if self.core is not None else iter(())

    def running(self) -> dict[PodUid, set[str]]:
        """Return the names of the containers that run, by pod."""
        running: dict[PodUid, set[str]] = {}
        for sandbox in self.sandboxes():
            names = {each.observed.name for each in sandbox.containers if each.is_running}
            if names:
                running.setdefault(sandbox.pod.uid, set()).update(names)
        return running

    # --- what happens ----------------------------------------------------------------------------------

    def forget(self, uid: PodUid) -> None:
        """Note that nothing is left of a pod: the next one of its UID begins anew."""
        self._attempts = {key: of for key, of in self._attempts.items() if key[0] != uid}

    def created(self, request: CreateContainer) -> None:
        """Note the specification that a container is created from."""
        self._specs[request.pod.uid] = request.pod.document["spec"]

    def started(self, record: ContainerRecord) -> None:
        """Note that a container was started, and look whether it should have been."""
        uid, name, attempt = record.sandbox.pod.uid, record.observed.name, record.observed.attempt
        label = _label(record)
        if attempt < self._attempts.get((uid, name), 0):
            self.violations.append(f"4: the restarts of {label} fall")
        self._attempts[uid, name] = attempt
        for other in self._others(record):
            self.violations.append(f"1: {label} starts though {_label(other)} of {uid} runs")
        for before in self._should_be_before(uid, name):
            if not self._is_done(uid, before):
                self.violations.append(f"3: {label} starts before {before['name']}")

    def killed(self, record: ContainerRecord) -> None:
        """Note that somebody ends a running container."""
        self.killed_pods.add(record.sandbox.pod.uid)

    def _others(self, record: ContainerRecord) -> Iterator[ContainerRecord]:
        """Go over the containers that may not run beside this one."""
        mine = record.sandbox.pod
        is_static = mine.source != "api"
        for sandbox in self.sandboxes():
            pod = sandbox.pod
            is_same = pod.uid == mine.uid
            has_its_name = is_static and pod.source != "api" and pod.name == mine.name
            for each in sandbox.containers if is_same or has_its_name else ():
                is_its_own = each.observed.name == record.observed.name
                if each is not record and each.is_running and (is_its_own or not is_same):
                    yield each

    def _should_be_before(self, uid: PodUid, name: str) -> list[JsonObject]:
        """Return the init containers that must have ended, or run, before ``name`` starts."""
        inits = list(self._specs[uid].get("initContainers") or ())
        names = [init["name"] for init in inits]
        return inits[: names.index(name)] if name in names else inits

    def _is_done(self, uid: PodUid, init: JsonObject) -> bool:
        instances = [
            each
            for sandbox in self.sandboxes()
            for each in sandbox.containers
            if sandbox.pod.uid == uid and each.observed.name == init["name"]
        ]
        if init.get("restartPolicy") == "Always":
            return any(each.observed.started_at is not None for each in instances)
        return any(each.observed.exit_code == 0 for each in instances)


class _WatchedMachine(HollowMachine):
    """Tells a watch what it does."""

    def __init__(self, rules: HollowRules, watch: ContainerWatch) -> None:
        super().__init__(rules)
        self._watch = watch

    @override
    def create(self, request: CreateContainer, at: Instant) -> ContainerObserved | RuntimeFailure:
        self._watch.created(request)
        return super().create(request, at)

    @override
    def start(self, record: ContainerRecord, at: Instant) -> ContainerObserved | RuntimeFailure:
        is_new = record.observed.state is ContainerState.CREATED
        outcome = super().start(record, at)
        if is_new and isinstance(outcome, ContainerObserved):
            self._watch.started(record)
        return outcome

    @override
    def end_by(self, record: ContainerRecord, grace: Seconds, now: Instant) -> ContainerEnds:
        self._watch.killed(record)
        return super().end_by(record, grace, now)

    @override
    def stop_sandbox(self, record: SandboxRecord, at: Instant) -> list[ContainerRecord]:
        killed = super().stop_sandbox(record, at)
        for each in killed:
            self._watch.killed(each)
        return killed

    @override
    def remove_sandbox(self, record: SandboxRecord, at: Instant) -> list[ContainerRecord]:
        killed = super().remove_sandbox(record, at)
        if not self.inventory.of_pod(record.pod.uid):
            self._watch.forget(record.pod.uid)
        return killed


def _label(record: ContainerRecord) -> str:
    pod, observed = record.sandbox.pod, record.observed
    return f"{pod.namespace}/{pod.name}/{observed.name} {observed.attempt}"
