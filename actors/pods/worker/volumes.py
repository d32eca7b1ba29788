"""The volumes of one pod, as its worker sees them: wanted, there or not, and gone. A part of the worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, assert_never

from actors.pods.orders import PodWish, VolumesOverdue
from actors.pods.worker.parts import WorkerMemory
from kernel import Port, Timer
from messages.pod_runtime import PodTrouble
from messages.pods import Pod, PodUid
from messages.units import Seconds
from messages.volumes import (
    PodVolume,
    ReleaseAnswer,
    ReleaseVolumes,
    VolumeMessage,
    VolumesAre,
    VolumesGone,
    VolumesStay,
    VolumeTrouble,
    WantVolumes,
)

ANSWERED_WITHIN: Final = Seconds(3.0)
"""How long an answer is waited for that comes at once, unless the question was lost in a crash."""
FAILED_MOUNT: Final = "FailedMount"
FAILED_UNMOUNT: Final = "FailedUnmount"
"""The trouble of a pod that has ended, and whose volumes cannot be taken away."""
UNSUPPORTED_VOLUME: Final = "UnsupportedVolume"
"""The trouble of a pod with a volume that there can never be here."""


def has_volumes(pod: Pod) -> bool:
    """Return whether the pod wants any volumes. Most pods of a mass start do not."""
    return bool((pod.document.get("spec") or {}).get("volumes"))


class WorkerVolumes:
    """Asks for a pod's volumes, and has them taken away, for one life of its worker."""

    def __init__(
        self,
        keeper: Port[VolumeMessage] | None,
        memory: WorkerMemory,
        me: Port[VolumesAre | ReleaseAnswer],
        after: Callable[[Seconds, VolumesOverdue], Timer],
    ) -> None:
        self._keeper = keeper
        self._memory = memory
        self._me = me
        self._after = after
        self._pod: Pod | None = None
        """The version whose volumes are wanted."""
        self.told: VolumesAre | None = None
        """What was told last; None before the first time, and once they are to be taken away."""
        self._stay: tuple[str, ...] = ()
        """Why something stays of those that are to be taken away."""
        self._timer: Timer | None = None

    @property
    def is_settled(self) -> bool:
        """Whether each volume is there or in trouble, or nobody makes any."""
        if self._keeper is None or self._pod is None or not has_volumes(self._pod):
            return True
        return self.told is not None and not self.told.pending

    @property
    def volumes(self) -> Mapping[str, PodVolume]:
        """Those that are there, by name."""
        return {} if self.told is None else self.told.volumes

    def note_wish(self, wish: PodWish) -> None:
        """Note that there may be volumes: this agent, or an earlier one, may have made them."""
        may_have = wish.has_no_document or has_volumes(wish.pod)
        if self._keeper is not None and may_have and not self._memory.life.is_stopped:
            self._memory.has_volumes = True

    def begin(self, pod: Pod) -> None:
        """Want the volumes of this version of the pod."""
        self._pod = pod
        if self._keeper is not None and (has_volumes(pod) or self.told is not None):
            self._ask()

    def end(self, uid: PodUid) -> None:
        """Have all that there is of the pod's volumes taken away. May repeat."""
        self._pod, self.told = None, None
        if self._keeper is not None and self._memory.has_volumes:
            self._keeper.tell(ReleaseVolumes(uid=uid, reply_to=self._me))
            self._wait()

    def take(self, fact: VolumesAre | ReleaseAnswer | VolumesOverdue) -> None:
        """Take how the volumes are, that nothing of them is left, or why something stays."""
        match fact:
            case VolumesAre():
                if self._pod is not None:
                    self.told = fact
                    self._cancel()
            case VolumesGone():
                self._memory.has_volumes, self._stay = False, ()
                self._cancel()
            case VolumesStay(reasons=reasons):
                self._stay = reasons
            case VolumesOverdue():  # the question may have been lost in a crash
                self._timer = None
                if self._pod is not None:
                    self._ask()
                else:
                    self.end(self._memory.wish.pod.uid)
            case _:
                assert_never(fact)

    def missing(self) -> list[str]:
        """Return, in words, which volumes are not there."""
        if self.told is None:
            return []
        return [
            _sentence(name, trouble)
            for name, trouble in self.told.troubles.items()
            if name not in self.told.volumes
        ]

    def troubles(self) -> tuple[PodTrouble, ...]:
        """Return the troubles of volumes, as those of the pod."""
        if self.told is None:
            return tuple(PodTrouble(reason=FAILED_UNMOUNT, message=each) for each in self._stay)
        return tuple(
            PodTrouble(
                reason=UNSUPPORTED_VOLUME if trouble.is_for_good else FAILED_MOUNT,
                message=_sentence(name, trouble),
            )
            for name, trouble in self.told.troubles.items()
        )

    def _ask(self) -> None:
        if self._keeper is not None and self._pod is not None:
            self._keeper.tell(WantVolumes(pod=self._pod, reply_to=self._me))
            self._wait()

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self._after(ANSWERED_WITHIN, VolumesOverdue())

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _sentence(name: str, trouble: VolumeTrouble) -> str:
    """Return why a volume is not as it should be, as a kubelet says it."""
    return f'MountVolume.SetUp failed for volume "{name}" : {trouble.message}'
