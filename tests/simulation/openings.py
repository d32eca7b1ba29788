"""Openings: short stories of things that happen, in which actors crash again and again.

A history draws what happens from everything that may; an opening says what, in this order. The seed draws
the details, and at which messages of which actors the crashes are.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from settings.cluster import ChangeDetection
from tests.environment.node import Sources
from tests.simulation.events.event import Event
from tests.simulation.families import FAMILIES

JOINED: Final = Sources(url=False, directory=True, cluster=True)
ADDED: Final = ("a pod is added", "a pod is added", "a pod is added")
OPENINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "pods come, change and go": (
        *ADDED,
        "a pod is edited",
        "a pod is removed in a hurry",
        "a pod is removed",
        "a pod is added",
    ),
    "containers age": ("an aging pod is added", "a container ends", "a pod is added"),
    "static pods are edited and put back": (
        *ADDED,
        "a static pod is edited",
        "a static pod is edited",
        "a pod is removed",
        "a pod is added",
    ),
    "containers end": (*ADDED, "containers end together", "a sandbox ends", "a container vanishes"),
    "objects come late, change and go": (
        *ADDED,
        "an object changes",
        "an object changes",
        "a pod is removed",
        "an object is deleted",
        "a pod is removed",
        "a pod is added",
        "an object changes",
        "a pod is removed",
    ),
    "objects are fetched again when they are old": (
        *ADDED,
        "an object changes",
        "time passes",
        "an object changes",
        "a pod is removed",
        "an object is deleted",
        "a pod is added",
        "time passes",
    ),
    "mirrors are deleted and labelled": (
        *ADDED,
        "a mirror is deleted",
        "a mirror is labelled",
        "a static pod is edited",
        "a mirror is deleted",
    ),
    "names of mirrors are taken": (
        *ADDED,
        "a mirror's name is taken",
        "a static pod is edited",
        "taken names are free again",
    ),
    "mirrors are refused": (
        "new mirrors are refused",
        *ADDED,
        "a static pod is edited",
        "new mirrors are allowed",
    ),
    "pods are created again under their names": (
        *ADDED,
        "a pod is created again",
        "the API server goes",
        "a pod is created again",
        "the API server comes back",
    ),
    "the Node is marked and deleted": (
        *ADDED,
        "the Node is marked",
        "the Lease is deleted",
        "the Node is deleted",
        "a static pod is edited",
        "the Node is deleted",
    ),
    "the API server is away": (
        "a pod is added",
        "the API server goes",
        *ADDED,
        "a pod is removed",
        "the API server comes back",
        "watches end",
    ),
    "watches lag": (
        *ADDED,
        "watches lag",
        "a pod is added",
        "a mirror is deleted",
        "a pod is removed",
        "watches catch up",
    ),
    "the agent begins without the API server": (
        "the API server goes",
        "the agent is killed",
        *ADDED,
        "the API server comes back",
        "a mirror is deleted",
        "a pod is removed",
    ),
    "files are broken and renamed": (
        *ADDED,
        "a file is broken",
        "a file is renamed",
        "the directory goes",
        "the directory comes back",
        "a file is broken",
    ),
    "files and a URL tell": (
        *ADDED,
        "the URL fails",
        "a file is broken",
        "a pod is removed",
        "the URL answers again",
        "a static pod is edited",
        "a file is renamed",
        "a pod is added",
    ),
    "objects of files change, break and go": (
        *ADDED,
        "an object of a file changes",
        "an object of a file is broken",
        "a pod is added",
        "an object of a file is deleted",
        "an object of a file changes",
    ),
    "the agent is killed": (
        *ADDED,
        "a static pod is edited",
        "the agent is killed",
        "a pod is removed",
        "the agent is killed",
        "a pod is edited",
    ),
    "the power goes": (
        *ADDED,
        "the power goes",
        "a pod is edited",
        "the agent is dead for a while",
    ),
    "probes fail and pass": (
        *(*ADDED, "time passes", "a container answers no", "time passes", "a container answers no"),
        *("time passes", "a container answers again", "time passes", "a container ends"),
        *("a container answers no", "a container answers no", "time passes"),
    ),
    "parts of volumes are mounted": (
        *(*ADDED, "an object changes", "a container ends", "a container plants a link"),
        *("a container ends", "time passes", "an object changes", "a container ends"),
        *(
            "the agent is killed",
            "a container ends",
            "time passes",
            "a pod is removed",
            "a pod is added",
        ),
        *("a container plants a link", "the power goes", "time passes", "a container ends"),
    ),
    "the disk fails": (
        *(*ADDED, "the disk will fail", "a pod is edited", "time passes", "the disk will fail"),
        *("a pod is removed", "the agent is killed", "a pod is added", "the disk will fail"),
        *("time passes", "a pod is added", "the agent is killed", "a pod is removed"),
    ),
    "hooks and commands fail": (
        *("hooks will fail", *ADDED, "time passes", "a container ends", "a command will fail"),
        *("time passes", "a pod is edited", "hooks will fail", "a pod is removed", "time passes"),
        *("a container answers no", "a command will fail", "time passes", "a pod is added"),
        *("a pod is removed in a hurry", "the agent is killed", "time passes"),
    ),
}
"""By what they are about: kinds of events."""
SOURCES: Final[Mapping[str, Sources]] = {
    "objects are fetched again when they are old": replace(JOINED, detection=ChangeDetection.CACHE),
    "files and a URL tell": Sources(url=True, directory=True),
    "objects of files change, break and go": Sources(url=False, directory=True, objects=True),
}
"""Where the pods of an opening come from. In others it is a directory and a cluster."""
READING: Final = ("keyed", "looped", "instructed", "projecting", "optional")
OF: Final[Mapping[str, tuple[str, ...]]] = {
    "containers age": ("aging", "plain", "crashing"),
    "probes fail and pass": ("alive", "served", "slow", "stuck", "guarded"),
    "hooks and commands fail": ("commanded", "greeted", "alive"),
    "parts of volumes are mounted": ("parted", "keyed"),
    "objects come late, change and go": (*READING, "trusted", "private"),
    "objects are fetched again when they are old": (*READING, "private"),
    "objects of files change, break and go": READING,
}
"""The kinds of pods that there are in an opening. In others the seed draws them."""
_PODS: Final = ("pod-manager", "pod-keeper", "pods", "pod-records", "status-keeper", "runtime")
_OBJECTS: Final = ("secret-manager", "configmap-manager", "objects", "volume-keeper")
_MIRRORS: Final = ("mirror-keeper", "pod-manager", "source/api", "node/registrar")
_FILES: Final = ("source/file", "pod-manager", "pod-keeper")
_CLUSTER: Final = ("api-calls", "watches", "source/api", "status-keeper", "mirror-keeper")
ABOUT: Final[Mapping[str, tuple[str, ...]]] = {
    "pods come, change and go": _PODS,
    "containers age": ("runtime", "pods", "runtime/containers"),
    "static pods are edited and put back": _PODS,
    "containers end": ("runtime", "runtime/containers", "pods", "status-keeper"),
    "objects come late, change and go": _OBJECTS,
    "objects are fetched again when they are old": _OBJECTS,
    "objects of files change, break and go": (*_OBJECTS, "source/local-objects"),
    "mirrors are deleted and labelled": _MIRRORS,
    "names of mirrors are taken": _MIRRORS,
    "mirrors are refused": _MIRRORS,
    "pods are created again under their names": (*_PODS, "source/api"),
    "the Node is marked and deleted": ("node/registrar", "node/lease", "source/api", "pod-keeper"),
    "the API server is away": _CLUSTER,
    "watches lag": _CLUSTER,
    "the agent begins without the API server": _CLUSTER,
    "files are broken and renamed": _FILES,
    "files and a URL tell": (*_FILES, "source/http"),
    "the agent is killed": _PODS,
    "the power goes": _PODS,
    "probes fail and pass": ("probe-keeper", "probers", "probe-loop", "pods"),
    "hooks and commands fail": ("runtime/hooks", "runtime/containers", "probers", "pods"),
    "parts of volumes are mounted": ("runtime/containers", "volume-keeper", "pods"),
    "the disk fails": ("pod-records", "runtime/containers", "volume-keeper", "pods"),
}
"""The actors that crash more often than others."""
CRASHES: Final = (
    "some actors crash amid their work",
    "one actor crashes amid its work",
    "one actor crashes amid its work",
    "one actor crashes amid its work",
    "an actor crashes",
    "an actor crashes amid",
)
IN_THE_END: Final = 12.0
"""Seconds in which actors still crash."""


def tellable() -> Iterator[tuple[str, str]]:
    """Yield the openings, each with what can run its pods: hollow pods, too, unless it needs a machine."""
    for opening, kinds in OPENINGS.items():
        yield "cri", opening
        if set(kinds) <= FAMILIES["hollow"].happens.keys():
            yield "hollow", opening


def opened(random_: random.Random, kinds: tuple[str, ...]) -> Iterator[Event]:
    """Yield the events of an opening, with crashes among them."""
    for kind in kinds:
        for _ in range(random_.randrange(1, 4)):
            yield Event(random_.choice(CRASHES), random_.randrange(1 << 30), 0.0)
        luck, pause = random_.randrange(1 << 30), random_.choice([0.0, 0.06, 0.3, 4.0])
        yield Event(kind, luck, random_.choice([12.0, 61.0]) if kind == "time passes" else pause)
    yield Event("time passes", 0, IN_THE_END)
