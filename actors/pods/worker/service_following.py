"""Following the Services that the containers of one pod are told of. A part of its worker.

They come to the runtime with ``RunPod``, as Secrets and ConfigMaps do, and again when they change: so a
runtime knows no API server, one that was restarted hears everything again, and a pod can wait for them before
it starts. Workers follow them only where the runtime makes containers of them; hollow pods cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from actors.pods.orders import ServicesDue
from kernel import Port, Timer
from messages.pods import Pod
from messages.services import ClusterServices, FollowServices, ServicesAre, UnfollowServices
from messages.units import Seconds

KNOWN_WITHIN: Final = Seconds(3.0)
"""How long the first start of a pod waits for Services. It goes without them after that."""
ASKED_AGAIN_AFTER: Final = Seconds(30.0)
"""How long after a question that nobody answered it is repeated: it may have been lost in a crash."""


class ServiceFollowing:
    """Follows the Services of a pod's namespace, for one life of its worker."""

    def __init__(
        self,
        keeper: Port[FollowServices | UnfollowServices],
        me: Port[ServicesAre],
        after: Callable[[Seconds, ServicesDue], Timer],
    ) -> None:
        self._keeper = keeper
        self._me = me
        self._after = after
        self._namespace: str | None = None
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
        if self._namespace is None:
            self._namespace, self._is_waited_for = _followed_by(pod), not pod.is_static
            self._ask(self._namespace)

    def end(self, pod: Pod) -> None:
        """Follow nothing any more. May repeat, also in a life that never began to."""
        self._keeper.tell(UnfollowServices(subscriber=self._me, namespace=_followed_by(pod)))
        self._namespace = None
        self._cancel()

    def note(self, told: ServicesAre) -> None:
        """Note what is told."""
        if told.namespace == self._namespace:
            self.services, self._is_told = told.services, True
            self._cancel()

    def ask_again(self) -> None:
        """Wait no longer, but ask once more."""
        self._timer, self._is_waited_for = None, False
        if self._namespace is not None and not self._is_told:
            self._ask(self._namespace)

    def _ask(self, namespace: str) -> None:
        self._keeper.tell(FollowServices(subscriber=self._me, namespace=namespace))
        if self._timer is None:
            delay = KNOWN_WITHIN if self._is_waited_for else ASKED_AGAIN_AFTER
            self._timer = self._after(delay, ServicesDue())

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _followed_by(pod: Pod) -> str:
    """Return the namespace that ``pod`` is told of; empty if it wants to know of none."""
    links = (pod.document.get("spec") or {}).get("enableServiceLinks")
    return "" if links is False else pod.namespace
