"""What the runtime remembers of one pod, and how commands and answers of calls change it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from messages.objects import ObjectId, ObjectValue
from messages.pod_runtime import (
    NO_MARK,
    ForgetPod,
    Mark,
    PodObserved,
    PodTrouble,
    RunPod,
    StopPod,
    UsedObject,
)
from messages.pods import JsonObject, Pod, PodPhase, PodUid
from messages.units import Seconds, Timestamp
from runtimes.environment.objects import used_objects
from runtimes.provider.following import FollowedPod, containers_of, ended_unseen

SHORTEST_GRACE: Final = Seconds(1.0)


UNFOLLOWED: Final = "NotSupported"
TOKEN_PLACE: Final = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105  # a path


class Method(StrEnum):
    """What a provider is called for."""

    RUN = "run"
    STOP = "stop"
    UPDATE = "update"
    FORGET = "forget"
    OBSERVE = "observe"
    NODE = "node"


@dataclass(slots=True)
class ProviderPod:
    """One pod, as its runtime remembers it over crashes. Times are those of the monotonic clock."""

    uid: PodUid
    command: RunPod | StopPod | ForgetPod
    pod: Pod | None = None
    """None while nobody has said whose it is."""
    objects: Mapping[ObjectId, ObjectValue] = field(default_factory=dict, repr=False)
    effective: Mark = NO_MARK
    """The mark of the last command that had its effect."""

    # Calls.
    calls: dict[int, Method] = field(default_factory=dict)
    """Under way, within their deadlines."""
    hung: dict[int, Method] = field(default_factory=dict)
    """Given up, and still not returned."""
    may_be_there: bool = False
    """``run`` was called. Whatever it answered, it may have begun."""
    was_run: bool = False
    """The last ``run`` returned without an error."""
    spec_run: JsonObject | None = None
    """The specification that was to be run last, or updated to. None of what ran before the agent did."""
    used: Mapping[str, tuple[UsedObject, ...]] = field(default_factory=dict)
    """What variables of the next instance of each container are made from: that of the last ``run``, and
    what there is once that is told. None of what ran before the agent did."""
    stop_by: float | None = None
    """When the grace of the command ends."""
    stopping_by: float | None = None
    """When the grace of the last call of ``stop`` ends."""
    was_stopped: bool = False
    """The last ``stop`` returned without an error."""
    was_forgotten: bool = False
    failures: int = 0
    retry_at: float | None = None
    trouble: PodTrouble | None = None
    """What went wrong in the last call."""

    # Observations.
    fresh_from: int = 1
    """The number of the first observation that shows the effect of all calls."""
    looked: int = 0
    """The number of the last observation that was taken."""
    is_told: bool = False
    """The last observation told of it."""
    missing_since: float | None = None
    is_new_run: bool = False
    """Its UID was forgotten before: what is told as ended, until ``run`` has returned, is the former pod."""
    state: FollowedPod | None = None
    restarts_before: int = 0
    """Restarts that the provider does not know of: it was lost, and run again."""
    unfollowed: tuple[str, ...] = ()
    """What its command wants and the provider cannot do."""
    said: frozenset[str] = frozenset()
    """What was wrong in its last report, and was said."""
    last_told: PodObserved | None = None

    @property
    def lives(self) -> bool:
        """Whether the last observation told of it as one that has not ended."""
        return self.is_told and self.state is not None and not self.state.has_ended

    @property
    def is_not_understood(self) -> bool:
        """Whether the last observation told of it, and no report of it could ever be understood."""
        return self.is_told and self.state is None

    @property
    def is_unclear(self) -> bool:
        """Whether it was there before the agent, and no report of it could be understood yet."""
        return self.is_not_understood and not self.may_be_there

    @property
    def display_name(self) -> str:
        """``<namespace>/<name>``, or the UID if that is all that is known."""
        return self.pod.display_name if self.pod is not None and self.pod.name else self.uid


# Commands.


def is_obsolete(it: ProviderPod, command: RunPod | StopPod | ForgetPod) -> bool:
    """Whether ``command`` says nothing new: a smaller mark, or a run of what is being stopped."""
    if command.mark < it.command.mark:
        return True
    return isinstance(command, RunPod) and not isinstance(it.command, RunPod)


def take_command(it: ProviderPod, command: RunPod | StopPod | ForgetPod, now: float) -> None:
    """Note ``command``, which is not obsolete. Its effect is told, whether or not it was told before."""
    is_news = command.mark != it.command.mark
    it.command, it.last_told = command, None
    if isinstance(command, RunPod):
        is_same = it.pod is command.pod and it.objects == command.objects
        it.pod, it.objects = command.pod, command.objects
        if it.is_told and not is_same:
            it.used = _used(it)
        if is_news:
            it.retry_at, it.failures = None, 0
        return
    if isinstance(command, StopPod) and command.pod is not None:
        it.pod = command.pod
    grace = command.grace if isinstance(command, StopPod) else SHORTEST_GRACE
    stop_by = now + max(grace, SHORTEST_GRACE)
    # It may be shortened, never extended (rule X8).
    it.stop_by = stop_by if it.stop_by is None else min(it.stop_by, stop_by)
    if is_news:
        it.retry_at = None


# What follows from observations.


def note_lost(it: ProviderPod, now: Timestamp) -> None:
    """Note that it was there and is not any more, and that nobody knows how it ended."""
    if it.state is None or it.state.has_ended:
        return
    is_restarted = restart_policy_of(it.command) != "Never" and isinstance(it.command, RunPod)
    attempts = (each.current.attempt for each in it.state.containers.values() if each.current)
    it.restarts_before = max(attempts, default=-1) + 1
    phase = it.state.phase if is_restarted else PodPhase.FAILED
    it.state = ended_unseen(it.state, now, phase)


def note_unfollowed(
    it: ProviderPod, *, has_update: bool, has_volumes: bool = False
) -> tuple[str, ...]:
    """Note which of the wishes of its command cannot be followed. Return those that were not told before."""
    if not isinstance(it.command, RunPod):
        return ()
    found = []
    spec = it.command.pod.document.get("spec")
    if not has_update and it.spec_run is not None and it.spec_run != spec:
        found.append("the class has no update(pod): the pod runs on as it was")
    if any(not verdict.is_alive for verdict in it.command.verdicts.values()):
        found.append("a liveness probe failed, and this runtime cannot restart containers")
    if not has_volumes and (names := volumes_of(it.command.pod)):
        found.append(f"volumes are not made, the pod runs without them: {', '.join(names)}")
    before, it.unfollowed = it.unfollowed, tuple(found)
    return tuple(each for each in found if each not in before)


def volumes_of(pod: Pod) -> list[str]:
    """Return the names of its volumes, without that of the token which API servers add to each pod."""
    spec = pod.document.get("spec") or {}
    every = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    mounts = [mount for each in every for mount in each.get("volumeMounts") or ()]
    added = {mount["name"] for mount in mounts if mount["mountPath"] == TOKEN_PLACE}
    return [each["name"] for each in spec.get("volumes") or () if each["name"] not in added]


# Calls.


def note_call(it: ProviderPod, method: Method, ends_by: float, now: Timestamp) -> None:
    """Note that the provider is called."""
    if method is Method.RUN:
        note_lost(it, now)
        it.may_be_there, it.was_run = True, False
        # Also a call that fails may have begun it.
        it.spec_run = it.pod.document.get("spec") if it.pod is not None else None
        it.used = _used(it)
    elif method is Method.STOP:
        it.stopping_by, it.was_stopped = ends_by, False


def _used(it: ProviderPod) -> Mapping[str, tuple[UsedObject, ...]]:
    """Return what variables of each container are made from if it starts now."""
    if it.pod is None:
        return {}
    return {
        name: used_objects(it.pod, container, it.objects)
        for name, (container, _) in containers_of(it.pod).items()
    }


def note_success(it: ProviderPod, method: Method, spec: JsonObject | None) -> None:
    """Note that a call returned. ``spec`` is what the pod was run with."""
    it.failures, it.retry_at, it.trouble = 0, None, None
    if method is Method.STOP:
        it.was_stopped = True
    elif method is Method.FORGET:
        it.was_forgotten = True
    else:
        it.was_run, it.is_new_run, it.spec_run = True, False, spec


def note_failure(it: ProviderPod, retry_at: float) -> None:
    """Note that a call failed, or was given up."""
    it.failures += 1
    it.retry_at = retry_at


def restart_policy_of(command: RunPod | StopPod | ForgetPod) -> str:
    """Return ``Always``, ``OnFailure`` or ``Never``."""
    spec = command.pod.document.get("spec") or {} if isinstance(command, RunPod) else {}
    return str(spec.get("restartPolicy") or "Always")
