"""The cgroups of pods: made before their sandboxes, kept as their specifications say, and removed after them.

``PodCgroups`` blocks, for about a millisecond as a rule, and for 2 s at most where something is killed that
does not end; with systemd for as long as that takes. So threads for such work call it:

- One thread makes and limits cgroups, and looks at all of them. What is known of classes is its alone.
- Other threads may remove cgroups of pods meanwhile, so that nobody waits for what does not end. A removal
  touches nothing but what is the pod's.
- Of one pod there is one call at a time, in the order in which they were asked for. Who hands the work out
  sees to that: see ``turn_of``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from files.cgroups.limits import UNLIMITED, CgroupLimits
from files.cgroups.names import (
    LEVELS,
    CgroupName,
    CgroupOptions,
    is_plain_uid,
    name_in_level,
    name_of_level,
    name_of_pod,
    name_of_pods,
    path_of,
    uid_in,
    written_uid,
    written_uids,
)
from files.cgroups.trees import CgroupTree
from manifests.qos import qos_class
from messages.cgroup_roots import is_root
from messages.pods import Pod
from runtimes.cri.cgroups.container_limits import CgroupFacts
from runtimes.cri.cgroups.pod_limits import (
    limits_of_all_pods,
    limits_of_levels,
    limits_of_pod,
    wider,
)

_UNKNOWN: Final = CgroupLimits(cpu_quota=UNLIMITED, memory=UNLIMITED, pids=UNLIMITED)
"""Limits that may be anything."""


class CgroupPlace(NamedTuple):
    """Where the sandbox of a pod goes."""

    parent: str
    """The parent that the runtime is told; empty for the runtime's own choice."""
    trouble: str = ""
    """What could not be done, for people; empty if everything was, or if it has been said before."""


class Orphans(NamedTuple):
    """What was found in a look at all cgroups of pods."""

    uids: frozenset[str]
    """Of cgroups that belong to none of the known pods. Under systemd dashes have become underscores."""
    look: int
    """Counts the looks."""


def turn_of(uid: str) -> str:
    """Return what is alike for all work on the cgroup of a pod, however its UID is written."""
    return f"cgroup of {uid.replace('-', '_')}"


class PodCgroups:
    """Keeps the cgroups of a node's pods as the pods' specifications say.

    Everything may repeat. What is there already, made by an earlier life or by a kubelet, is used as it is,
    with the limits that it should have.
    """

    def __init__(
        self,
        options: CgroupOptions,
        tree: CgroupTree | None,
        trouble: str = "",
        page_sizes: tuple[int, ...] = (),
    ) -> None:
        """Keep cgroups in ``tree``, unless there is none or ``trouble`` says why that is useless."""
        self._options = options
        self._tree = tree
        self._trouble = trouble
        if not trouble and not is_root(options.root):
            self._trouble = f"cgroupRoot is no absolute path of plain names: {options.root!r}"
        self._page_sizes = page_sizes
        self._wanted = self._limits_of_levels(())
        self._set: dict[CgroupName, CgroupLimits] = {}
        self._of_pods: dict[str, CgroupLimits] = {}
        """By UIDs as they are written in names, as the next one."""
        self._ensured: dict[str, int] = {}
        """How many looks had been made when a pod came last."""
        self._looks = 0
        self._said: set[str] = set()

    @property
    def facts(self) -> CgroupFacts:
        """What the cgroups are capable of, as containers' resources depend on it. Reads some files."""
        if self._tree is None:
            return CgroupFacts()
        return CgroupFacts(
            is_unified=self._tree.is_unified,
            limits_swap=self._tree.can_limit_swap,
            page_sizes=self._page_sizes if self._tree.can_limit_pages else (),
        )

    def ensure(self, pod: Pod) -> CgroupPlace:
        """Make a pod's cgroup with its limits, and return where its sandbox goes.

        Where no cgroup can be made the runtime has the choice, and the trouble is said once. A cgroup whose
        limits are refused is still where the pod belongs, with a trouble that says so.
        """
        if not self._options.per_qos:
            return CgroupPlace("")
        if self._tree is None or self._trouble:
            return CgroupPlace(
                "", self._once(f"pods have no cgroups of their own: {self._trouble}")
            )
        if not is_plain_uid(pod.uid):
            why = f"its UID {pod.uid[:40]!r} cannot be part of a cgroup's name"
            return CgroupPlace("", f"the pod has no cgroup of its own: {why}")
        name = self._name(pod)
        self._ensured[self._written(pod.uid)] = self._looks
        try:
            trouble = self._make(self._tree, name)
        except OSError as error:
            why = f"pods have no cgroups of their own: {_text(error)}"
            return CgroupPlace("", self._once(why))
        limited = self._limit_pod(
            self._tree, pod, limits_of_pod(pod, self._options, self._page_sizes)
        )
        return CgroupPlace(path_of(name, self._options.driver), limited or trouble)

    def widen(self, pod: Pod) -> str:
        """Give a pod the larger of its old and its new limits, and return what kept it from that.

        To be called before its containers are resized, which may have no more than their pod, and
        ``update`` after that.
        """
        old = self._of_pods.get(self._written(pod.uid), _UNKNOWN)
        return self._change(pod, wider(old, limits_of_pod(pod, self._options, self._page_sizes)))

    def update(self, pod: Pod) -> str:
        """Set the limits of a pod's cgroup, if it has one, and return what kept it from that."""
        return self._change(pod, limits_of_pod(pod, self._options, self._page_sizes))

    def remove(self, uid: str) -> bool:
        """Kill what is left in a pod's cgroup, and remove it. Return whether it is gone.

        For a pod that has no sandbox any more. One that cannot be removed is to be tried again later.
        """
        self._of_pods.pop(self._written(uid), None)
        self._ensured.pop(self._written(uid), None)
        if self._tree is None or not self._options.per_qos or not is_plain_uid(uid):
            return True
        try:
            left = [each for each in self._level_names() if not self._remove(self._tree, each, uid)]
        except OSError:
            return False
        return not left

    def remove_orphan(self, uid: str, look: int) -> bool:
        """Remove what was found in a look at all cgroups, unless the pod has come since that look began."""
        if self._ensured.get(self._written(uid), 0) >= look:
            return False
        return self.remove(uid)

    def orphans(self, known: Collection[str]) -> Orphans:
        """Look at all cgroups, and return those that belong to none of the known pods.

        Known must be each pod that is to run, and each one that has a sandbox.
        """
        self._looks += 1
        if self._tree is None or not self._options.per_qos:
            return Orphans(frozenset(), self._looks)
        driver = self._options.driver
        folders: set[str] = set()
        for level in self._level_names():
            folders |= self._tree.within(level)
        found = frozenset(filter(None, (uid_in(each, driver) for each in folders)))
        return Orphans(found - written_uids(known, driver), self._looks)

    def sync_qos(self, pods: Iterable[Pod]) -> str:
        """Set the limits of all pods and of the classes, given the pods that run or are to run.

        To be called at the start, when a pod comes, goes or is resized. Returns what kept it from that, once.
        """
        self._wanted = self._limits_of_levels(pods)
        if self._tree is None or self._trouble or not self._options.per_qos:
            return ""
        try:
            return self._make_levels(self._tree)
        except OSError as error:
            return self._once(f"pods have no cgroups of their own: {_text(error)}")

    # --- how -------------------------------------------------------------------------------------------

    def _make(self, tree: CgroupTree, name: CgroupName) -> str:
        trouble = "" if self._set else self._make_levels(tree)
        try:
            tree.make(name)
        except FileNotFoundError:
            # Somebody has removed what it belongs into.
            self._set.clear()
            trouble = self._make_levels(tree)
            tree.make(name)
        if not trouble:
            self._said.clear()
        return trouble

    def _make_levels(self, tree: CgroupTree) -> str:
        """Make the cgroups of all pods and of the classes, and return which limit they cannot have."""
        root = name_of_pods(self._options)[:-1]
        if root and not tree.is_there(root):
            raise FileNotFoundError(f"cgroupRoot {self._options.root} is not there")
        trouble = ""
        for name, limits in self._wanted.items():
            if not tree.make(name) and self._set.get(name) == limits:
                continue
            try:
                tree.limit(name, limits)
            except OSError as error:
                text = (
                    f"cgroup {path_of(name, self._options.driver)} is not limited as it should be"
                )
                trouble = trouble or self._once(f"{text}: {_text(error)}")
            self._set[name] = limits
        return trouble

    def _change(self, pod: Pod, limits: CgroupLimits) -> str:
        if self._tree is None or not self._options.per_qos or not is_plain_uid(pod.uid):
            return ""
        if not self._tree.is_there(self._name(pod)):
            return ""
        return self._limit_pod(self._tree, pod, limits)

    def _limit_pod(self, tree: CgroupTree, pod: Pod, limits: CgroupLimits) -> str:
        name = self._name(pod)
        try:
            tree.limit(name, limits)
        except OSError as error:
            path = path_of(name, self._options.driver)
            return f"cgroup {path} is not limited as it should be: {_text(error)}"
        self._of_pods[self._written(pod.uid)] = limits
        return ""

    def _remove(self, tree: CgroupTree, level: CgroupName, uid: str) -> bool:
        name = name_in_level(level, uid)
        return not tree.is_there(name) or tree.remove(name)

    def _name(self, pod: Pod) -> CgroupName:
        return name_of_pod(self._options, qos_class(pod.document.get("spec") or {}), pod.uid)

    def _written(self, uid: str) -> str:
        return written_uid(uid, self._options.driver)

    def _level_names(self) -> list[CgroupName]:
        return list(self._wanted)

    def _limits_of_levels(self, pods: Iterable[Pod]) -> dict[CgroupName, CgroupLimits]:
        levels = limits_of_levels(pods)
        return {
            name_of_pods(self._options): limits_of_all_pods(self._options),
            **{name_of_level(self._options, qos): levels[qos] for qos in LEVELS},
        }

    def _once(self, text: str) -> str:
        """Return a text the first time, and nothing afterwards."""
        if text in self._said:
            return ""
        self._said.add(text)
        return text


def _text(error: OSError) -> str:
    """Return what an error says, with the file that it is about."""
    said = error.strerror or str(error)
    return f"{error.filename}: {said}" if error.filename else said
