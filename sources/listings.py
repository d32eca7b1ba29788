"""How a source tells PodManager what there is."""

from __future__ import annotations

from actors.kernel import Port
from actors.messages.pods import Pod, SourceName
from actors.messages.sources import Epoch, SourceListed


class Listings:
    """The listings of one life of a source: each complete, with a higher epoch than the one before."""

    def __init__(
        self, source: SourceName, pod_manager: Port[SourceListed], incarnation: int
    ) -> None:
        self._source = source
        self._pod_manager = pod_manager
        self._told: tuple[Pod, ...] | None = None
        self.epoch = Epoch(incarnation, 0)
        """Of the last one."""

    def tell(self, pods: tuple[Pod, ...] | None) -> None:
        """Tell ``pods``; nothing is told while they are not known."""
        if pods is None:
            return
        self.epoch = self.epoch._replace(sequence=self.epoch.sequence + 1)
        self._told = pods
        self._pod_manager.tell(SourceListed(source=self._source, epoch=self.epoch, pods=pods))

    def tell_if_new(self, pods: tuple[Pod, ...] | None) -> None:
        """Tell ``pods`` unless they are the identical tuple that was told last."""
        if pods is not self._told:
            self.tell(pods)
