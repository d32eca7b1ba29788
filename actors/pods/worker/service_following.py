"""Following the Services that the containers of one pod are told of. A part of its worker.

They come to the runtime with ``RunPod``, as Secrets and ConfigMaps do, and again when they change: so a
runtime knows no API server, one that was restarted hears everything again, and a pod can wait for them before
it starts. Workers follow them only where the runtime makes containers of them; hollow pods cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from actors.pods.orders import ServicesDue
from kernel import Followable, LevelIs, Port, Timer, Unset
from messages.pods import Pod
from messages.services import ClusterServices, ServicesIn
from messages.units import Seconds

KNOWN_WITHIN: Final = Seconds(3.0)
"""How long the first start of a pod waits for Services. It goes without them after that."""


class ServiceFollowing:
    """Follows the Services of a pod's namespace, for one life of its worker."""

    def __init__(
        self,
        level: Followable[ServicesIn, ClusterServices | None],
        me: Port[LevelIs[ServicesIn, ClusterServices | None]],
        after: Callable[[Seconds, ServicesDue], Timer],
    ) -> None:
        self._level = level
        self._me = me
        self._after = after
        self._followed: ServicesIn | None = None
        """What is followed; None for nothing yet."""
        self._timer: Timer | None = None
        self._is_waited_for = False
        self._is_told = False
        self.services: ClusterServices = ()
        """As they were told last."""

    @property
    def is_settled(self) -> bool:
        """Whether they are known, or were waited for long enough."""
        return self._is_told or not self._is_waited_for

    def begin(self, pod: Pod) -> None:
        """Follow what ``pod`` is told of. May repeat.

        A static pod does not wait: it runs even where there is no API server.
        """
        if self._followed is None:
            self._followed, self._is_waited_for = _followed_by(pod), not pod.is_static
            self._level.follow(self._followed, self._me)
            if self._is_waited_for:
                self._timer = self._after(KNOWN_WITHIN, ServicesDue())

    def end(self, pod: Pod) -> None:
        """Follow nothing any more. May repeat, also in a life that never began to."""
        self._level.leave(_followed_by(pod), self._me)
        self._followed = None
        self.wait_no_longer()

    def note(self, told: LevelIs[ServicesIn, ClusterServices | None]) -> None:
        """Note what is told."""
        if told.key == self._followed and not isinstance(told.value, Unset):
            self.services, self._is_told = told.value or (), True
            self.wait_no_longer()

    def wait_no_longer(self) -> None:
        """Have the pod start without them, if nothing was told."""
        self._is_waited_for = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _followed_by(pod: Pod) -> ServicesIn:
    """Return what ``pod`` is told of: only the API server's Service if it wants to know of none."""
    links = (pod.document.get("spec") or {}).get("enableServiceLinks")
    return ServicesIn("" if links is False else pod.namespace)
