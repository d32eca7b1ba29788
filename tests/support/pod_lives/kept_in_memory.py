"""Records of pods that outlive the agent without a disk."""

from __future__ import annotations

from typing_extensions import override

from actors.pods.record_pages import KeptPod
from actors.pods.records import DropPod, KeepPod, KeptPodsAre, PodKept, ReadKeptPods
from kernel import Port
from messages.pods import PodUid


class KeptInMemory(Port[KeepPod | DropPod | ReadKeptPods]):
    """Keeps what pods are told to be kept with, and answers unless it hangs."""

    def __init__(self) -> None:
        self.pods: dict[PodUid, KeptPod] = {}
        self.hangs = False

    @override
    def tell(self, message: KeepPod | DropPod | ReadKeptPods, /) -> None:
        match message:
            case KeepPod(kept=told, reply_to=reply_to):
                self.pods[told.uid] = told
                if reply_to is not None and not self.hangs:
                    reply_to.tell(PodKept(uid=told.uid))
            case DropPod(uid=uid):
                self.pods.pop(uid, None)
            case ReadKeptPods(reply_to=reply_to):
                if not self.hangs:
                    reply_to.tell(KeptPodsAre(pods=dict(self.pods)))
