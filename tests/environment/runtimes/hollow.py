"""Hollow pods. They run inside of the agent, so they end with it, unless it keeps records of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from typing_extensions import override

from agent.runtime_record import HOLLOW_FILE
from files.record_keeper import WRITE_AGAIN
from messages.container_runtime import RuntimeFailure
from messages.pod_runtime import ContainerObserved, ContainerState
from messages.probing import ProbeResult
from messages.units import Instant, Seconds
from runtimes.hollow.actor import HOLLOW_CONTAINERS
from runtimes.hollow.core import HollowCore
from runtimes.hollow.inventory import ContainerEnds, ContainerRecord, SandboxRecord
from runtimes.hollow.machine import HollowMachine
from runtimes.hollow.probing import HollowProbe, HollowProbes
from runtimes.hollow.record_file import HOLLOW_RECORDS
from runtimes.hollow.rules import Ending, HollowRules
from tests.environment.health import ASKED
from tests.environment.machine import Instance
from tests.environment.outside import Outside
from tests.environment.runtimes.runtime import InThisLife, Runtime
from tests.support.kernel.clock import EPOCH

MAY_BE_MISSING: Final = 0.1 + 1e-3
"""Seconds before a SIGKILL whose changes records need not have."""
WRITERS: Final = frozenset({HOLLOW_CONTAINERS.path, HOLLOW_RECORDS.path})
"""The actors that a change passes on its way to the records."""
STARTS_AGAIN_WITHIN: Final = 2.0
"""Seconds in which one of them runs again that crashed, and writes what it has not written."""
WRITTEN_AGAIN_WITHIN: Final = WRITE_AGAIN + MAY_BE_MISSING
"""Seconds in which it is written again what the disk refused."""


class Hollow(Runtime):
    """Makes pods seem to run. ``keeps_records`` says whether they outlive a SIGKILL."""

    knows_hooks = False
    lost_with_power = HOLLOW_FILE
    """It is synced only when it is replaced. Which of its states that is, the oracle cannot know."""

    def __init__(self, outside: Outside, *, keeps_records: bool) -> None:
        super().__init__(outside)
        self.keeps_records = keeps_records
        self.options = {"keeps_records": keeps_records}
        self.flags = ("--runtime=hollow", *(("--hollow-records",) if keeps_records else ()))
        self._machine: SeenMachine | None = None
        self._kept: dict[str, Instance] = {}
        """What ran, or had ended, when the last agent was killed, and had been told to its records."""
        self._crashed_at = -math.inf
        """When the first of the writers crashed that may not run again yet, since the world began."""
        self._refused_since = self._refused_at = -math.inf
        """When the disk first refused what may not be written yet, and when it did last."""

    @property
    def machine(self) -> SeenMachine:
        """What the pods of this agent are in."""
        assert self._machine is not None
        return self._machine

    @override
    def edges(self, in_this_life: InThisLife) -> Mapping[str, Any]:
        return {"hollow": self._make_core}

    @override
    def loses_agent(self) -> None:
        machine = self.machine
        if not self.keeps_records:
            self.witness.forgets()
        elif machine.is_restored:
            late = {uid for uid, at in machine.touched.at.items() if at >= self._on_record()}
            for uid in late:
                self.witness.loses(uid)
            ours = (each for each in map(instance, self._records()) if each.uid not in late)
            self._kept = {each.id: each for each in ours}
        self._refused_at = -math.inf

    @override
    def loses_power(self) -> None:
        """Note that the records are gone, too. Only mirrors have restart counts."""
        self.witness.loses_power()
        self.witness.forgets()
        for sandbox in self.machine.inventory.sandboxes():
            self.witness.loses(sandbox.pod.uid)
        self._kept = {}
        self.machine.is_restored = False

    @override
    def crashes(self, actor: str) -> None:
        now = self.outside.now
        if actor in WRITERS and self._crashed_at < now - STARTS_AGAIN_WITHIN:
            self._crashed_at = now

    @override
    def disk_fails(self) -> None:
        now = self.outside.now
        if self._refused_at < now - WRITTEN_AGAIN_WITHIN:
            self._refused_since = now
        self._refused_at = now

    @override
    def says(self, one: Instance, what: str) -> bool:
        """Return what annotations say: of those that histories have."""
        record = self.machine.inventory.container(one.id)
        if record is None:
            return True
        ran, begins = self.wall - one.started_at, record.behaviour
        hangs = begins.hangs_after is not None and ran >= begins.hangs_after.most
        after = {"started": begins.started_after, "ready": begins.ready_after}.get(what)
        return not hangs and (after is None or ran >= after.most)

    @override
    def live(self) -> Iterator[Instance]:
        return (instance(each) for each in self._records() if each.is_running)

    @override
    def work(self) -> Counter[str]:
        return Counter()  # what runs is in the agent: its messages say what it costs

    @override
    def newest_ids(self, uid: str) -> Mapping[str, str]:
        ours = [each for each in map(instance, self._records()) if each.uid == uid]
        ours = sorted((each for each in ours if each.started_at), key=lambda each: each.attempt)
        return {each.name: each.id for each in ours}

    @override
    def left_over(self, wanted: set[str]) -> Iterator[str]:
        ready: Counter[str] = Counter()
        for sandbox in self.machine.inventory.sandboxes():
            if sandbox.pod.uid not in wanted:
                yield f"a sandbox of {sandbox.pod.uid} is left"
            ready[sandbox.pod.uid] += sandbox.is_ready
        yield from (f"{uid} has {count} sandboxes" for uid, count in ready.items() if count > 1)
        dead = Counter(
            (each.uid, each.name) for each in map(instance, self._records()) if each.finished_at
        )
        yield from (f"{key} has {count} dead instances" for key, count in dead.items() if count > 2)

    @override
    def lost(self) -> Iterator[str]:
        if self._machine is None or not self._machine.is_restored:
            return
        kept, self._kept = self._kept, {}
        for one in kept.values():
            record = self._machine.inventory.container(one.id)
            started_at = one.started_at if record is None else instance(record).started_at
            if record is None and one.id not in self._machine.removed:
                yield f"{one.name} of {one.uid} is not on record"
            elif one.started_at and started_at != one.started_at:
                yield f"{one.name} of {one.uid} was started at another time by its record"
            else:
                yield ""

    def _make_core(self, rules: HollowRules) -> HollowCore:
        core = HollowCore(rules)
        core.machine = self._machine = SeenMachine(rules, self)
        core._probes = SeenProbes(self)
        return core

    def _on_record(self) -> float:
        """Return until when what has changed must be on record now, by the seconds of the wall clock."""
        now = self.outside.now
        waits = self._crashed_at >= now - STARTS_AGAIN_WITHIN
        is_refused = self._refused_at >= now - WRITTEN_AGAIN_WITHIN
        since = min(self._crashed_at if waits else now, self._refused_since if is_refused else now)
        return EPOCH + since - MAY_BE_MISSING

    def _records(self) -> Iterator[ContainerRecord]:
        for sandbox in self.machine.inventory.sandboxes():
            yield from sandbox.containers


class SeenProbes(HollowProbes):
    """Tells the witness of its runtime what containers answer. What stays as it was is told once."""

    def __init__(self, around: Hollow) -> None:
        super().__init__()
        self._around = around

    @override
    def _answer(
        self, probe: HollowProbe, machine: HollowMachine, record: ContainerRecord, at: Instant
    ) -> None:
        super()._answer(probe, machine, record, at)
        is_yes = probe.last is not None and probe.last.result is ProbeResult.SUCCESS
        what = ASKED[probe.watch.spec.kind.field_name]
        self._around.witness.answers(instance(record), what, is_yes=is_yes)


class Touched(dict[Any, None]):
    """The pods that changed, and when they did last."""

    def __init__(self, wall: Callable[[], float], when_cleared: Callable[[], None]) -> None:
        super().__init__()
        self.at: dict[str, float] = {}
        self._wall = wall
        self._when_cleared = when_cleared

    @override
    def __setitem__(self, uid: str, nothing: None) -> None:
        self.at[uid] = self._wall()
        super().__setitem__(uid, nothing)

    @override
    def clear(self) -> None:
        super().clear()
        self._when_cleared()


class SeenMachine(HollowMachine):
    """Tells the witness of its runtime what becomes of containers."""

    touched: Touched

    def __init__(self, rules: HollowRules, around: Hollow) -> None:
        super().__init__(rules)
        self._around = around
        self.touched = Touched(lambda: around.wall, self._is_cleared)
        self.removed: set[str] = set()
        self.is_restored = not around.keeps_records
        """Whether it has what the records of the agent before say."""
        self._starting = ""
        """The id of a container that is being started, and was not told of."""

    @override
    def start(self, record: ContainerRecord, at: Instant) -> ContainerObserved | RuntimeFailure:
        if record.observed.state is ContainerState.CREATED:
            self._starting = record.observed.id
        outcome = super().start(record, at)
        if isinstance(outcome, ContainerObserved):
            self._note_begin(record)
        self._starting = ""
        return outcome

    @override
    def end(self, record: ContainerRecord, ending: Ending, at: Instant) -> ContainerObserved:
        self._note_begin(record)
        ended = super().end(record, ending, at)
        self._around.witness.ends(instance(record))
        return ended

    @override
    def end_by(self, record: ContainerRecord, grace: Seconds, now: Instant) -> ContainerEnds:
        self._around.witness.is_asked_to_stop(instance(record), grace)
        return super().end_by(record, grace, now)

    @override
    def stop_sandbox(self, record: SandboxRecord, at: Instant) -> list[ContainerRecord]:
        has_died = record.death is not None and record.death.is_cancelled
        for each in record.containers:
            if each.is_running and not has_died:
                self._around.witness.is_asked_to_stop(instance(each), 0.0)
        return super().stop_sandbox(record, at)

    @override
    def remove_sandbox(self, record: SandboxRecord, at: Instant) -> list[ContainerRecord]:
        self.removed |= {each.observed.id for each in record.containers}
        return super().remove_sandbox(record, at)

    @override
    def remove(self, record: ContainerRecord, at: Instant) -> None:
        self.removed.add(record.observed.id)
        if record.is_running:
            self._around.witness.is_asked_to_stop(instance(record), 0.0)
        super().remove(record, at)

    def _note_begin(self, record: ContainerRecord) -> None:
        if record.observed.id == self._starting:
            self._starting = ""
            self._around.witness.starts(instance(record))

    def _is_cleared(self) -> None:
        self.is_restored = True


def instance(record: ContainerRecord) -> Instance:
    """Return how a container is."""
    observed = record.observed
    return Instance(
        id=observed.id,
        sandbox=record.sandbox.observed.id,
        uid=record.sandbox.pod.uid,
        name=observed.name,
        image=observed.image,
        attempt=observed.attempt,
        started_at=observed.started_at or 0.0,
        finished_at=observed.finished_at or 0.0,
        exit_code=observed.exit_code or 0,
    )
