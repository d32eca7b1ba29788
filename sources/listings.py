"""How a source tells PodManager its pods."""

from __future__ import annotations

from kernel import Port
from messages.pods import Pod, SourceName
from messages.sources import Epoch, SourceListed


class Listings:
    """The listings of one life of a source. Each is complete and has a higher epoch than the one before."""

    def __init__(
        self, source: SourceName, pod_manager: Port[SourceListed], incarnation: int
    ) -> None:
        self._source = source
        self._pod_manager = pod_manager
        self._told: tuple[Pod, ...] | None = None
        self._told_provisionally = False
        self.epoch = Epoch(incarnation, 0)
        """That of the last listing; its sequence is 0 before the first."""

    def tell(self, pods: tuple[Pod, ...] | None, *, is_provisional: bool = False) -> None:
        """Tell ``pods``. Tells nothing for None: they are not known yet."""
        if pods is None:
            return
        self.epoch = self.epoch._replace(sequence=self.epoch.sequence + 1)
        self._told, self._told_provisionally = pods, is_provisional
        self._pod_manager.tell(
            SourceListed(
                source=self._source, epoch=self.epoch, pods=pods, is_provisional=is_provisional
            )
        )

    def tell_if_new(self, pods: tuple[Pod, ...] | None, *, is_provisional: bool = False) -> None:
        """Tell ``pods`` unless the identical tuple was told last, with the same ``is_provisional``."""
        if pods is not self._told or is_provisional != self._told_provisionally:
            self.tell(pods, is_provisional=is_provisional)
