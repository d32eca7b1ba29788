"""An hour of coming and going, compressed: what stays behind after 200,000 steps of it.

The real managers, watchers and watch streams on real threads, in a process of their own, against a real
kube-apiserver. Objects that nobody reads go idle after a second instead of minutes.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import NamedTuple

from benchmarks.agent import wait_until
from benchmarks.apart import apart, behave_like_the_agent
from benchmarks.clusters import (
    NAMESPACE,
    create_secrets,
    pod_document,
    running_cluster,
    updating,
)
from benchmarks.processes import descriptors, resident_bytes, threads
from benchmarks.row import Row, Target
from benchmarks.watchers import Watchers
from kube.credentials.loading import KubeconfigCredentials
from messages.objects import (
    ObjectState,
    ReadVerdict,
    RegisterPod,
    UnregisterPod,
)
from messages.pods import Pod, PodUid
from messages.units import Seconds
from tests.support.apiserver.client import ApiClient
from tests.support.apiserver.users import ADMIN
from tests.support.objects.reader import Answer

PODS = 400
SECRETS = 300
IDLE_AFTER = Seconds(1.0)
BURST = 200
"""Steps that are told before anything is waited for."""
WARM_UP = 20
"""Bursts after which whatever is made once has been made."""
HANDS = 4

_LONG_RUNNING = re.compile(
    r'^apiserver_longrunning_(?:gauge|requests){.*resource="secrets".*} (\S+)$', re.MULTILINE
)


class Soaked(NamedTuple):
    """How it went."""

    seconds: float
    done: Counter[str]
    """Steps by kind, answers by verdict."""
    resident: list[int]
    """Bytes, after each burst."""
    left: dict[str, int]
    """How many more there are in the end than after the warm-up, by what they are."""


def soak_rows(*, quick: bool) -> list[Row]:
    """Return by how much memory grew, what was left behind, and how long all that took."""
    steps = 10_000 if quick else 200_000
    with running_cluster() as cluster:
        if cluster is None:
            return []
        create_secrets(cluster, SECRETS)
        soaked = apart(soak, str(cluster.kubeconfig(ADMIN)), steps=steps)
    return _rows(steps, soaked)


def _rows(steps: int, soaked: Soaked) -> list[Row]:
    left = {what: number for what, number in soaked.left.items() if number}
    return [
        Row(
            what=f"soak of {steps:,} steps: memory in the last fifth, above that in the second",
            unit="%",
            figures={"of medians": growth(soaked.resident)},
            samples=len(soaked.resident),
            target=Target(5.0),
        ),
        Row(
            what=f"soak: {', '.join(soaked.left)} left behind",
            unit="",
            figures={"total": sum(map(abs, left.values())), **left},
            samples=1,
            target=Target(0.0),
        ),
        Row(what="soak: what the steps were", unit="", figures=dict(soaked.done), samples=steps),
        Row(
            what="soak: steps",
            unit="/s",
            figures={"mean": steps / soaked.seconds},
            samples=steps,
        ),
    ]


def growth(samples: list[int]) -> float:
    """Return by how many percent the median of the last fifth is above that of the second."""
    fifth = max(1, len(samples) // 5)
    return (median(samples[-fifth:]) / median(samples[fifth : 2 * fifth]) - 1.0) * 100.0


def soak(kubeconfig: str, *, steps: int) -> Soaked:
    """Go through so many steps, and return how it went. For a process of its own."""
    behave_like_the_agent()
    credentials = KubeconfigCredentials(Path(kubeconfig))
    with (
        ApiClient(credentials.access()) as api,
        ThreadPoolExecutor(HANDS) as hands,
        Watchers(credentials, IDLE_AFTER) as watchers,
    ):
        soaking = Soaking(watchers, api, hands)
        soaking.run(WARM_UP)
        before = soaking.empty()
        soaking.done.clear()
        began = perf_counter()
        resident = soaking.run(steps // BURST)
        seconds = perf_counter() - began
        after = soaking.empty()
    left = {what: after[what] - before[what] for what in after}
    return Soaked(seconds, soaking.done, resident, left)


class Soaking:
    """Who tells the manager of pods, reads through it, and updates Secrets behind its back."""

    def __init__(self, watchers: Watchers, api: ApiClient, hands: ThreadPoolExecutor) -> None:
        self._watchers = watchers
        self._api = api
        self._hands = hands
        self._chance = Random(1)  # the same in each run
        self._pods: dict[PodUid, list[int]] = {}
        """Those that are registered, and the Secrets that they reference."""
        self._answers: list[Answer] = []
        self._asked = 0
        self._updates: list[Future[object]] = []
        self._idle: set[str] = set()
        self._of_others = self._streams_at_the_server()
        self.done: Counter[str] = Counter()

    def run(self, bursts: int) -> list[int]:
        """Go through so many bursts; return the resident memory after each."""
        resident = []
        for _ in range(bursts):
            for _ in range(BURST):
                self._step()
            self._wait()
            resident.append(resident_bytes(os.getpid()))
        return resident

    def empty(self) -> dict[str, int]:
        """Have every pod go; return what is there when no more of it goes, by what it is."""
        for pod in tuple(self._pods):
            self._unregister(pod)
        self._wait()
        with suppress(TimeoutError):  # what does not go is told
            wait_until(lambda: not any(self._held().values()), poll_every=0.1)
        pid = os.getpid()
        return {**self._held(), "threads": threads(pid), "descriptors": descriptors(pid)}

    def _held(self) -> dict[str, int]:
        watches = self._watchers.watches()
        return {
            "watchers": self._watchers.living(),
            "watches": len(watches.watches),
            "streams": watches.streams,
            "streams at the server": self._streams_at_the_server() - self._of_others,
        }

    def _streams_at_the_server(self) -> int:
        """Return how many watches of Secrets the API server has open, its own included."""
        return int(sum(map(float, _LONG_RUNNING.findall(self._api.text("/metrics")))))

    def _step(self) -> None:
        chance = self._chance.random()
        pod = PodUid(f"pod-{self._chance.randrange(PODS)}")
        if chance < 0.05:
            self._update()
        elif chance < 0.25:
            self._register(pod)
        elif chance < 0.45 and pod in self._pods:
            self._unregister(pod)
        elif pod in self._pods:
            self._read(pod)
        else:
            self._register(pod)

    def _register(self, pod: PodUid) -> None:
        secrets = self._chance.sample(range(SECRETS), self._chance.randint(1, 2))
        document = pod_document("node1", str(pod), secrets)
        metadata = {**document["metadata"], "namespace": NAMESPACE, "uid": pod}
        self._pods[pod] = secrets
        self._watchers.manager.tell(RegisterPod(pod=Pod.of({**document, "metadata": metadata})))
        self.done["registered"] += 1

    def _unregister(self, pod: PodUid) -> None:
        del self._pods[pod]
        self._watchers.manager.tell(UnregisterPod(pod=pod))
        self.done["unregistered"] += 1

    def _read(self, pod: PodUid) -> None:
        self._asked += 1
        self._watchers.read(self._chance.choice(self._pods[pod]), Seconds(10.0))

    def _update(self) -> None:
        request = updating(self._chance.randrange(SECRETS))
        self._updates.append(self._hands.submit(self._api.handle, request))
        self.done["updated"] += 1

    def _wait(self) -> None:
        """Return once every read is answered and every update made; count what became of them."""
        try:
            wait_until(self._are_answered, poll_every=0.002)
        except TimeoutError:
            raise TimeoutError(f"{self._asked - len(self._answers)} reads got no answer") from None
        for update in self._updates:
            update.result()
        self.done.update(
            f"read: {answer.verdict}" if answer.verdict is not ReadVerdict.FOUND else "read"
            for answer in self._answers
        )
        self._answers, self._asked, self._updates = [], 0, []
        self._count_idle()

    def _are_answered(self) -> bool:
        self._answers += self._watchers.answers()
        return len(self._answers) == self._asked

    def _count_idle(self) -> None:
        objects = self._watchers.objects()
        idle = {each.object.name for each in objects if each.state is ObjectState.IDLE}
        self.done["went idle"] += len(idle - self._idle)
        self._idle = idle
