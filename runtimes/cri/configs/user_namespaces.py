"""Which users of the node the users of a pod are, where the pod has a namespace of its own for them. Pure.

Each such pod has a range of user and group ids that no other pod has: as many as ids of 16 bits, above those
that the node's own users have. The range is written into an annotation of the sandbox, so that it is known
again after a restart of the agent. A kubelet may be told of other ids by ``/etc/subuid``; this agent is not:
the ids above the node's own must be free.
"""

from __future__ import annotations

import re
from itertools import count
from typing import Final, NamedTuple

from messages.pods import Pod, PodUid
from runtimes.cri.configs import names
from runtimes.cri.configs.documents import spec_of
from runtimes.cri.configs.namespaces import is_on_host_network
from runtimes.cri.configs.node import CriNode
from runtimes.cri.configs.refusals import not_now
from runtimes.cri.wire import cri_pb2 as cri

IDS_OF_POD: Final = 65536
MOST_OF_POD: Final = 2**20
MOST_IDS: Final = 2**32 - 1
_WRITTEN: Final = re.compile(r"([0-9]{1,10}):([0-9]{1,10})")


class UserIds(NamedTuple):
    """A range of user and group ids of the node."""

    first: int
    length: int

    @property
    def text(self) -> str:
        """As it is written down."""
        return f"{self.first}:{self.length}"

    def overlaps(self, other: UserIds) -> bool:
        """Return whether any id is in both."""
        return self.first < other.first + other.length and other.first < self.first + self.length


def has_own_users(pod: Pod) -> bool:
    """Return whether a pod has a namespace of its own for its users."""
    return spec_of(pod).get("hostUsers") is False


def demand_user_namespaces(pod: Pod, node: CriNode, handler: str) -> None:
    """Refuse a pod, which has users of its own, where the runtime does not say that it can do that."""
    if not node.runtime.of_handler(handler).user_namespaces:
        raise not_now(f'RuntimeClass handler "{handler}" does not support user namespaces')
    if is_on_host_network(spec_of(pod)) and not node.runtime.user_namespaces_host_network:
        raise not_now("the container runtime has no user namespaces on the network of the node")


def user_namespace(ids: UserIds) -> cri.UserNamespace:
    """Return what a runtime is told: the pod's root is the first of ``ids``, and so on."""
    mapping = cri.IDMapping(host_id=ids.first, container_id=0, length=ids.length)
    return cri.UserNamespace(mode=cri.POD, uids=[mapping], gids=[mapping])


def ids_of_sandbox(status: cri.PodSandboxStatus) -> UserIds | None:
    """Return the ids that a sandbox has, as its runtime tells or else its annotation; None if it has none."""
    told = status.linux.namespaces.options.userns_options.uids
    if told:
        return UserIds(told[0].host_id, told[0].length)
    found = _WRITTEN.fullmatch(status.annotations.get(names.USER_NAMESPACE, ""))
    ids = UserIds(int(found[1]), int(found[2])) if found is not None else UserIds(0, 0)
    return ids if 0 < ids.length <= MOST_OF_POD else None


class UserIdRanges:
    """Which pod has which ids. To be told of each sandbox that there is before new ids are given out."""

    def __init__(self, size: int = IDS_OF_POD) -> None:
        self._size = size
        self._of_pods: dict[PodUid, UserIds] = {}

    def note(self, uid: PodUid, status: cri.PodSandboxStatus) -> None:
        """Learn what a sandbox of a pod has."""
        if (ids := ids_of_sandbox(status)) is not None:
            self._of_pods[uid] = ids

    def of(self, uid: PodUid) -> UserIds:
        """Return the ids of a pod. A pod that has none gets the lowest that are free."""
        if uid not in self._of_pods:
            self._of_pods[uid] = self._free()
        return self._of_pods[uid]

    def pods(self) -> frozenset[PodUid]:
        """Return the pods that have ids."""
        return frozenset(self._of_pods)

    def release(self, uid: PodUid) -> None:
        """Give back the ids of a pod of which nothing is left."""
        self._of_pods.pop(uid, None)

    def _free(self) -> UserIds:
        for number in count(1):
            ids = UserIds(number * self._size, self._size)
            if ids.first + ids.length > MOST_IDS:
                break
            if not any(ids.overlaps(taken) for taken in self._of_pods.values()):
                return ids
        raise not_now("no user ids are left for another pod with users of its own")
