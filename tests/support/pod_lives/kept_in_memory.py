"""Records of pods that outlive the agent without a disk."""

from __future__ import annotations

from typing_extensions import override

from actors.pods.records import KeptPod, PodRecordsMessage
from files.record_keeper import KeepRecords, ReadRecords, RecordsAre, RecordsKept
from kernel import Port
from messages.pods import PodUid


class KeptInMemory(Port[PodRecordsMessage]):
    """Keeps what pods are told to be kept with, and answers unless it hangs."""

    def __init__(self) -> None:
        self.pods: dict[PodUid, KeptPod] = {}
        self.hangs = False

    @override
    def tell(self, message: PodRecordsMessage, /) -> None:
        match message:
            case KeepRecords(records=records, reply_to=reply_to):
                for uid, kept in records.items():
                    self.pods.pop(uid, None)
                    if kept is not None:
                        self.pods[uid] = kept
                if reply_to is not None and not self.hangs:
                    reply_to.tell(RecordsKept())
            case ReadRecords(reply_to=reply_to):
                if not self.hangs:
                    reply_to.tell(RecordsAre(records=dict(self.pods)))
