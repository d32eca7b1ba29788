"""What a subscriber of PodManager knows, if it does exactly what the facts say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from messages.changes import Op
from messages.pod_manager import PodFact, PodsAre, PodsChanged
from messages.pods import Pod, PodUid
from stores.pods.index import is_to_be_ended


class PodPicture:
    """Applies facts, refuses those that no subscriber could make sense of, and notes removals."""

    def __init__(self) -> None:
        self.pods: dict[PodUid, Pod] = {}
        self.removed: list[Pod] = []
        """Every pod that went, by a change or by its absence, in order."""

    def apply(self, fact: PodFact) -> None:
        """Bring the picture up to date."""
        match fact:
            case PodsAre(source=source, pods=pods):
                uids = {pod.uid for pod in pods}
                for known in tuple(self.pods.values()):
                    if known.source == source and known.uid not in uids:
                        self._remove(known.uid)
                self.pods |= {pod.uid: pod for pod in pods}
            case PodsChanged(changes=changes):
                assert changes
                assert [c.op for c in changes] == sorted(
                    (c.op for c in changes), key=list(Op).index
                )
                assert _all_differ([c.pod.uid for c in changes])
                for change in changes:
                    if change.op is Op.REMOVE:
                        self._remove(change.pod.uid)
                    else:
                        self.pods[change.pod.uid] = change.pod
        named = (pod for pod in self.pods.values() if not (pod.is_mirror or is_to_be_ended(pod)))
        assert _all_differ([pod.full_name for pod in named])

    def names(self) -> list[str]:
        """Return the names of the pods, in their order."""
        return sorted(pod.name for pod in self.pods.values())

    def _remove(self, uid: PodUid) -> None:
        known = self.pods.pop(uid, None)
        if known is not None:
            self.removed.append(known)


def _all_differ(things: Sequence[str]) -> bool:
    return max(Counter(things).values(), default=1) == 1
