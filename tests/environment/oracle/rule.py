"""What each rule of the oracle knows of the world, and how it says that it is broken."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from messages.pods import Pod
from runtimes.hollow.behaviours import PREFIX
from tests.environment.health import ASKED
from tests.environment.machine import Instance, Witness
from tests.environment.runtimes.runtime import Runtime

WRITES_AGAIN_WITHIN: Final = 31.0
"""Seconds after a write that the disk refused, within which it is tried again."""
FIELDS: Final = {what: probe for probe, what in ASKED.items()}
"""Which field of a container has a probe, by what it asks."""
API, LOCAL = "at the API server", "in files"
"""Where Secrets and ConfigMaps are."""
SETTLES_WITHIN: Final = 1.0
"""Seconds within which what people want, and the agent knows, has had its effects at the API server."""


@dataclass(slots=True)
class Answers:
    """What an instance of a container has answered to one of its probes."""

    is_yes: bool = False
    """The last answer."""
    in_a_row: int = 0
    """So many were like it, since the last SIGKILL of the agent."""
    counts_since: float = math.inf
    """When it came to be as many as count."""
    has_succeeded: bool = False
    has_failed: bool = False
    """Failures have counted once."""


class Touched:
    """The pods whose containers or sandboxes somebody else has removed, or whose sandbox ended, and when."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._at: dict[str, float] = {}

    def add(self, uid: str) -> None:
        """Note that this happens to a pod now."""
        self._at[uid] = self._now()

    def since(self, uid: str, moment: float = -math.inf) -> bool:
        """Return whether it has happened to a pod since a moment, or in it; by default, ever."""
        return uid in self._at and self._at[uid] >= moment


@dataclass(slots=True)
class Wishes:
    """What people want, and what others than the agent have done."""

    now: Callable[[], float]
    """Returns the seconds of the wall clock."""
    pods: dict[str, Pod] = field(default_factory=dict)
    """Each pod that was ever wanted, in its newest form, by its UID."""
    unwanted_at: dict[str, float] = field(default_factory=dict)
    """When pods came to be wanted no more."""
    edited_at: dict[str, float] = field(default_factory=dict)
    """When the specs of pods were changed last."""
    touched: Touched = field(init=False)
    """What others have done to pods. What began after that is none of it."""
    began_at: dict[str, float] = field(default_factory=dict)
    """When instances of containers began, by their ids."""
    troubled_at: float = 0.0
    """When a call, the runtime or an actor was in trouble last."""
    longest_pause: float = 300.0
    """Seconds between two starts of a container that ends again and again, as the node is configured."""
    killed_at: float = 0.0
    """When the agent got its last SIGKILL."""
    kills: int = 0
    """How often it got one. Two may be in one moment."""
    outages: dict[str, float] = field(default_factory=dict)
    """Since when sources cannot be read, by their names."""
    owner: str = ""
    """The UID of the Node at the API server."""
    told_by: float = 0.0
    """When the last outage of a source was over."""
    wanted_since: dict[str, float] = field(default_factory=dict)
    """When pods came to be wanted, by their UIDs."""
    said: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """What each Secret and ConfigMap says now, by its place, kind and name; empty if it is gone."""
    bound: set[str] = field(default_factory=set)
    """UIDs of pods that are bound to the node at the API server."""
    disk_failed_at: float = -math.inf
    """When the disk failed last."""
    answers: dict[tuple[str, str], Answers] = field(default_factory=dict)
    """What instances have answered to their probes, by their ids and by what was asked."""
    hooks: dict[tuple[str, str], bool] = field(default_factory=dict)
    """Whether the hooks of instances that have ended have succeeded, by their ids and fields."""
    lacks_records: bool = False
    """The agent that got the last SIGKILL may have had to write something that the disk had refused."""

    def __post_init__(self) -> None:
        self.touched = Touched(self.now)

    def note_disk_failure(self) -> None:
        """Note that the disk fails now."""
        self.disk_failed_at = self.now()

    def note_kill(self, at: float) -> None:
        """Note that the agent got a SIGKILL, and lives again from ``at`` on.

        What became of a pod that was being removed, and was told to nobody yet, is lost then (rule V12).
        """
        self.lacks_records = self.now() - self.disk_failed_at < WRITES_AGAIN_WITHIN
        self.killed_at, self.kills = at, self.kills + 1
        self.hooks = dict.fromkeys(self.hooks, True)  # what is found running counts as started
        for each in self.answers.values():
            each.in_a_row, each.counts_since = 0, math.inf

    def note_start(self, one: Instance) -> None:
        """Note that an instance of a container begins now."""
        self.began_at[one.id] = self.now()

    def note_answer(self, one: Instance, what: str, *, is_yes: bool) -> None:
        """Note what a container answers to one of its probes."""
        probe = self.probe(one, what)
        answers = self.answers.setdefault((one.id, what), Answers())
        if is_yes is not answers.is_yes:
            answers.is_yes, answers.in_a_row, answers.counts_since = is_yes, 0, math.inf
        answers.in_a_row += 1
        answers.has_succeeded |= is_yes
        if answers.in_a_row == probe["successThreshold" if is_yes else "failureThreshold"]:
            answers.counts_since = self.now()
            answers.has_failed |= not is_yes

    def note_hook(self, one: Instance, field: str, *, is_success: bool) -> None:
        """Note how the agent was told that a hook of a container has ended."""
        self.hooks[one.id, field] = is_success

    def hook(self, one: Instance, field: str) -> dict[str, Any]:
        """Return a hook of the container: ``postStart`` or ``preStop``. Empty if it has none."""
        found: dict[str, Any] = (
            self.container(one.uid, one.name).get("lifecycle", {}).get(field, {})
        )
        return found

    def probe(self, one: Instance, what: str) -> dict[str, Any]:
        """Return the probe of a container that asks this. Empty if it has none."""
        found: dict[str, Any] = self.container(one.uid, one.name).get(FIELDS[what], {})
        return found

    def has_failed(self, one: Instance) -> bool:
        """Return whether an instance is to be stopped, as its liveness or its startup has failed."""
        told = (self.answers.get((one.id, what)) for what in ("alive", "started"))
        return any(each.has_failed for each in told if each is not None)

    def wants(self, uid: str) -> bool:
        """Return whether somebody wants the pod."""
        return uid in self.pods and uid not in self.unwanted_at

    def was_touched(self, uid: str, shown: Iterable[Mapping[str, Any]]) -> bool:
        """Return whether others have touched a pod since the instances began that it was shown with.

        What it was shown with without an instance may be of any time.
        """
        ids = (each.get("containerID", "").removeprefix("containerd://") for each in shown)
        began_at = (self.began_at.get(each, -math.inf) for each in ids)
        return self.touched.since(uid, min(began_at, default=-math.inf))

    def is_forgotten(self, uid: str) -> bool:
        """Return whether a pod may be shown as one whose end is not known (V12).

        Its containers were removed because nobody wants it, and a SIGKILL of the agent made it forget them.
        """
        return self.killed_at >= self.unwanted_at.get(uid, math.inf)

    def is_unrecorded(self, uid: str, shown_at: float) -> bool:
        """Return whether what was shown of a static pod at a moment may be kept nowhere.

        "If the disk takes nothing, pods run all the same; the files are written when there is room"
        (docs/pods.md): who gets a SIGKILL before that has no record, and the next agent does without it.
        """
        return self.lacks_records and self.killed_at >= shown_at and uid not in self.bound

    def where(self, uid: str) -> str:
        """Return where the objects of a pod are: a static pod has those of files."""
        return API if uid in self.bound else LOCAL

    def statics(self) -> Iterator[Pod]:
        """Yield the static pods that are wanted."""
        return (pod for uid, pod in self.pods.items() if self.wants(uid) and uid not in self.bound)

    def known_since(self, moment: float) -> float:
        """Return from when on the agent knows what people wanted at ``moment``. Infinity in an outage."""
        return math.inf if self.outages else max(moment, self.told_by)

    def is_settled(self, full_name: str) -> bool:
        """Return whether the agent has known for a while what is wanted under a name."""
        changed = (
            max(self.edited_at.get(uid, 0.0), self.unwanted_at.get(uid, 0.0))
            for uid, pod in self.pods.items()
            if pod.full_name == full_name
        )
        return self.now() > self.known_since(max(changed, default=0.0)) + SETTLES_WITHIN

    def spec(self, uid: str) -> dict[str, Any]:
        """Return the spec of a pod, as it is wanted now or was wanted last. Empty for no pod of ours."""
        return dict(self.pods[uid].document["spec"]) if uid in self.pods else {}

    def container(self, uid: str, name: str) -> dict[str, Any]:
        """Return what the spec says of one container. Empty if it knows none of that name."""
        spec = self.spec(uid)
        each: dict[str, Any]
        for each in (*spec.get("initContainers", ()), *spec.get("containers", ())):
            if each["name"] == name:
                return each
        return {}

    def is_as_wanted(self, one: Instance) -> bool:
        """Return whether a container is what its pod says now."""
        return self.container(one.uid, one.name).get("image") == one.image

    def hollow(self, uid: str, name: str) -> dict[str, str]:
        """Return what annotations say of a hollow container; of a pod as a whole if the name is empty."""
        annotations = self.pods[uid].annotations if uid in self.pods else {}
        ours = {key[len(PREFIX) :]: said for key, said in annotations.items() if PREFIX in key}
        about = {key.partition("."): said for key, said in ours.items()}
        return {what: said for (what, _, of), said in about.items() if of == name}

    def inits(self, uid: str) -> list[dict[str, Any]]:
        """Return what the spec says of a pod's init containers and sidecars, in order."""
        return list(self.spec(uid).get("initContainers", ()))


def is_sidecar(container: dict[str, Any]) -> bool:
    """Return whether one of a pod's init containers is to stay."""
    return bool(container.get("restartPolicy") == "Always")


@dataclass(slots=True)
class Judgements:
    """How often a rule judged something, and how often an exemption kept it silent."""

    judged: int = 0
    exempt: int = 0

    def add(self, other: Judgements) -> None:
        """Count what another one has counted, too."""
        self.judged += other.judged
        self.exempt += other.exempt


class Rule(Witness):
    """A rule: a witness that says when it is broken.

    It asks ``judges`` before it judges anything, so that it is known how often it did: a rule that judges
    nothing proves nothing.
    """

    is_of_containers: bool = True
    """Whether it begins anew when all containers are gone with the agent."""

    def __init__(
        self,
        wishes: Wishes,
        runtime: Runtime,
        broken: Callable[[str], None],
        judgements: Judgements,
    ) -> None:
        self.wishes = wishes
        self.runtime = runtime
        self.broken = broken
        self._judgements = judgements

    def judges(self, *, unless: bool = False) -> bool:
        """Count something that the rule is about. Return whether it is judged: not if it is exempt."""
        self._judgements.judged += not unless
        self._judgements.exempt += unless
        return not unless
