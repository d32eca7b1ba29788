"""What is counted of a runtime: looks at everything, streams of events, calls. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from files.cgroups.trees import CgroupWork
from messages.container_runtime_health import OperationDescribed, PlegDescribed
from messages.units import DURATION_BOUNDS, Seconds, TimesCounted, Timestamp

CALL_BOUNDS: Final = tuple(float(f"{0.005 * 2.5**power:.6g}") for power in range(14))
"""Seconds, as a kubelet counts calls: from 5 ms to 12 minutes."""
LONGEST_SILENCE: Final = Seconds(180.0)
"""A look at everything must have succeeded within this time."""
MOST_UNCOUNTED: Final = 100_000
"""Calls, or pieces of work, that are kept until somebody counts them, which is every few seconds."""

_OPERATIONS: Final = {
    "Version": "version",
    "Status": "status",
    "RuntimeConfig": "runtime_config",
    "RunPodSandbox": "run_podsandbox",
    "StopPodSandbox": "stop_podsandbox",
    "RemovePodSandbox": "remove_podsandbox",
    "PodSandboxStatus": "podsandbox_status",
    "ListPodSandbox": "list_podsandbox",
    "CreateContainer": "create_container",
    "StartContainer": "start_container",
    "StopContainer": "stop_container",
    "RemoveContainer": "remove_container",
    "ListContainers": "list_containers",
    "ContainerStatus": "container_status",
    "UpdateContainerResources": "update_container",
    "ReopenContainerLog": "reopen_container_log",
    "ExecSync": "exec_sync",
    "Exec": "exec",
    "Attach": "attach",
    "PortForward": "port_forward",
    "ListImages": "list_images",
    "ImageStatus": "image_status",
    "PullImage": "pull_image",
    "RemoveImage": "remove_image",
    "ImageFsInfo": "image_fs_info",
}
"""A kubelet's names of the interface's methods."""


class CallMade(NamedTuple):
    """A call that has ended."""

    method: str
    took: Seconds
    has_failed: bool


@dataclass(slots=True)
class Times:
    """Times by their upper bounds."""

    bounds: tuple[float, ...]
    buckets: list[int] = field(default_factory=list)
    seconds: float = 0.0

    def note(self, took: float) -> None:
        """Count one."""
        self.buckets = self.buckets or [0] * (len(self.bounds) + 1)
        self.buckets[bisect_left(self.bounds, took)] += 1
        self.seconds += took

    def described(self) -> TimesCounted:
        """Return what was counted."""
        buckets = tuple(self.buckets) or (0,) * (len(self.bounds) + 1)
        return TimesCounted(bounds=self.bounds, buckets=buckets, seconds=self.seconds)


def _of_looks() -> Times:
    return Times(DURATION_BOUNDS)


@dataclass(slots=True)
class PlegFigures:
    """What is counted of looks at everything and of streams of events."""

    since: Seconds | None = None
    """When counting began. By the monotonic clock, as the next one."""
    looked: Seconds | None = None
    """When the last look at everything began that succeeded."""
    last_seen: Timestamp | None = None
    """The same, for people."""
    relists: Times = field(default_factory=_of_looks)
    intervals: Times = field(default_factory=_of_looks)
    latencies: Times = field(default_factory=_of_looks)
    streams: int = 0
    stream: int | None = None
    """The number of the last stream that was counted."""
    stream_errors: int = 0

    def note_look(self, began: Seconds, now: Seconds, wall: Timestamp) -> None:
        """Count a look at everything that succeeded."""
        took = now - began
        self.relists.note(took)
        if self.looked is not None:
            self.intervals.note(began - self.looked)
        self.looked, self.last_seen = began, Timestamp(wall - took)

    def note_event(self, at: int, wall: Timestamp) -> None:
        """Count an event of something that happened at this time, in nanoseconds since 1970."""
        if at > 0:
            self.latencies.note(max(0.0, wall - at / 1e9))

    def note_stream(self, number: int) -> None:
        """Count a stream of events that stands, once."""
        if number != self.stream:
            self.stream = number
            self.streams += 1

    def silence(self, now: Seconds) -> Seconds:
        """Return how long nothing was seen; before the first look, how long that was tried."""
        since = self.looked if self.looked is not None else self.since
        return Seconds(0.0 if since is None else max(0.0, now - since))

    def described(self, now: Seconds) -> PlegDescribed:
        """Return what was counted."""
        return PlegDescribed(
            last_seen=self.last_seen,
            silence=self.silence(now),
            relists=self.relists.described(),
            intervals=self.intervals.described(),
            streams=self.streams,
            stream_errors=self.stream_errors,
            latencies=self.latencies.described(),
        )


@dataclass(slots=True)
class CallFigures:
    """What is counted of calls. Any thread notes them, and one actor counts them."""

    noted: deque[CallMade] = field(default_factory=lambda: deque(maxlen=MOST_UNCOUNTED))
    errors: dict[str, int] = field(default_factory=dict)
    times: dict[str, Times] = field(default_factory=dict)

    def count(self) -> None:
        """Count the calls that were noted."""
        while self.noted:
            call = self.noted.popleft()
            name = _OPERATIONS.get(call.method.rpartition("/")[2])
            if name is None:
                continue
            self.times.setdefault(name, Times(CALL_BOUNDS)).note(call.took)
            self.errors[name] = self.errors.get(name, 0) + call.has_failed

    def described(self) -> dict[str, OperationDescribed]:
        """Count the calls that were noted, and return what there is by a kubelet's names."""
        self.count()
        return {
            name: OperationDescribed(errors=self.errors[name], times=times.described())
            for name, times in self.times.items()
        }


@dataclass(slots=True)
class CgroupFigures:
    """What is counted of work on cgroups. Any thread notes it, and one actor counts it."""

    noted: deque[CgroupWork] = field(default_factory=lambda: deque(maxlen=MOST_UNCOUNTED))
    times: dict[str, Times] = field(default_factory=dict)

    def count(self) -> None:
        """Count the work that was noted."""
        while self.noted:
            work = self.noted.popleft()
            self.times.setdefault(work.operation.value, _of_looks()).note(work.took)

    def described(self) -> dict[str, TimesCounted]:
        """Count the work that was noted, and return what there is by a kubelet's names."""
        self.count()
        return {name: times.described() for name, times in self.times.items()}
