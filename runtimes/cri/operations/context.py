"""What operations need beside the request that they carry out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from actors.volumes.mounts.system_calls import KernelMounts, MountCalls
from files.cgroups.names import CgroupOptions
from messages.pods import Pod, PodUid
from runtimes.cri.cgroups.container_limits import CgroupFacts
from runtimes.cri.cgroups.pod_cgroups import PodCgroups
from runtimes.cri.configs.namespaces import UserIdRanges
from runtimes.cri.configs.node import CriNode
from runtimes.cri.configs.refusals import ConfigNotice
from runtimes.cri.inventory import CriInventory
from runtimes.cri.wire import cri_pb2 as cri


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationContext:
    """The inventory, the node, and the cgroups that no runtime makes."""

    inventory: CriInventory
    node: Callable[[], CriNode]
    """The node, with what the runtime has said last that it can do."""
    runtime: Callable[[], str]
    """The runtime's name, which ids begin with."""
    cgroups: PodCgroups
    """Its methods block: work for the threads of cgroups."""
    mounts: MountCalls = field(default_factory=KernelMounts)
    """The kernel. Its calls block: work for the threads of the disk."""
    cgroup_options: CgroupOptions = field(default_factory=CgroupOptions)
    cgroup_facts: CgroupFacts = field(default_factory=CgroupFacts)
    images: dict[str, cri.Image] = field(default_factory=dict)
    """What is known of images, by their ids."""
    allocatable: Mapping[str, str] = field(default_factory=dict)
    """What the node has for pods, as quantities."""
    user_ids: UserIdRanges = field(default_factory=UserIdRanges)
    notice: Callable[[Pod, ConfigNotice], None]
    """Tells people something about a pod."""
    said: dict[PodUid, set[ConfigNotice]] = field(default_factory=dict)
    """What they were told."""

    def say(self, pod: Pod, notice: ConfigNotice) -> None:
        """Tell people something about a pod, once."""
        said = self.said.setdefault(pod.uid, set())
        if notice not in said:
            said.add(notice)
            self.notice(pod, notice)

    def pods(self) -> frozenset[PodUid]:
        """Return the pods about which something is kept here."""
        return self.user_ids.pods() | self.said.keys()

    def forget(self, uid: PodUid) -> None:
        """Forget a pod that has ended. Its user ids are free again."""
        self.user_ids.release(uid)
        self.said.pop(uid, None)
