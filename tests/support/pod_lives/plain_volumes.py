"""A keeper of volumes that makes what the test says, when it says so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from typing_extensions import override

from messages.objects import ObjectId
from messages.pods import Pod, PodUid
from messages.port import Port
from messages.volumes import (
    PodVolume,
    ReleaseOtherVolumes,
    ReleaseVolumes,
    VolumeMessage,
    VolumesAre,
    VolumesGone,
    VolumesStay,
    VolumeTrouble,
    WantVolumes,
)


@dataclass
class PlainVolumes(Port[VolumeMessage]):
    """Answers at once, unless it is silent."""

    pending: set[str] = field(default_factory=set)
    troubles: dict[str, VolumeTrouble] = field(default_factory=dict)
    """By name. A volume in trouble is not there."""
    stays: set[PodUid] = field(default_factory=set)
    """Pods whose volumes cannot be taken away yet."""
    why: tuple[str, ...] = ()
    """The reasons for that which are told."""
    is_silent: bool = False
    diary: list[str] = field(default_factory=list)
    """``want web``, ``release uid``."""
    shown: dict[ObjectId, str] = field(default_factory=dict)
    """What every file of every pod shows."""
    trouble: str = ""
    """Why no volume shows what it should, though all are there; empty if all do."""
    wanted: dict[PodUid, WantVolumes] = field(default_factory=dict)
    releasing: dict[PodUid, ReleaseVolumes] = field(default_factory=dict)
    known: list[frozenset[PodUid]] = field(default_factory=list)
    """The pods that were said to be all, each time."""

    @override
    def tell(self, message: VolumeMessage, /) -> None:
        match message:
            case WantVolumes(pod=pod):
                self.diary.append(f"want {pod.name}")
                self.wanted[pod.uid] = message
                self._answer(pod)
            case ReleaseVolumes(uid=uid):
                self.diary.append(f"release {uid}")
                self.wanted.pop(uid, None)
                self.releasing[uid] = message
                if uid not in self.stays:
                    self.goes(uid)
                elif self.why and not self.is_silent:
                    message.reply_to.tell(VolumesStay(uid=uid, reasons=self.why))
            case ReleaseOtherVolumes(known=known):
                self.known.append(known)

    def tells(self) -> None:
        """Tell all workers how the volumes are now."""
        for each in self.wanted.values():
            self._answer(each.pod)

    def shows(self, wanted: ObjectId, version: str) -> None:
        """Have every file show a version."""
        self.shown[wanted] = version
        self.tells()

    def _late(self, there: Iterable[str]) -> dict[str, VolumeTrouble]:
        return {name: VolumeTrouble(message=self.trouble) for name in there if self.trouble}

    def goes(self, uid: PodUid) -> None:
        """Have nothing left of a pod's volumes."""
        message = self.releasing.get(uid)
        if message is not None and not self.is_silent:
            del self.releasing[uid]
            message.reply_to.tell(VolumesGone(uid=uid))

    def _answer(self, pod: Pod) -> None:
        if self.is_silent:
            return
        names = {each["name"] for each in pod.document["spec"]["volumes"]}
        there = names - self.pending - self.troubles.keys()
        self.wanted[pod.uid].reply_to.tell(
            VolumesAre(
                uid=pod.uid,
                volumes={name: PodVolume(path=f"/volumes/{name}") for name in there},
                troubles=self.troubles | self._late(there),
                shown=dict(self.shown),
                pending=frozenset(self.pending),
            )
        )
