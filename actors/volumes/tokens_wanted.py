"""Asking for the tokens that volumes show. A part of the keeper of volumes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from actors.volumes.due_times import DueTimes
from actors.volumes.keeper_parts import VolumeKeeperPorts
from actors.volumes.kept_volumes import VolumesOfPod
from actors.volumes.sayings import NO_TOKENS
from kernel import Clock
from messages.pods import Pod, PodUid
from messages.tokens import ReleaseTokens, TokensAre, WantTokens
from messages.units import Seconds

ANSWERED_WITHIN: Final = Seconds(3.0)
"""Tokens are told of at once, as pending. That nothing was told means that a crash lost the question."""


class TokensOfVolumes:
    """Asks for them, for one life of the keeper. Where nobody issues any, they have a trouble."""

    def __init__(
        self, ports: VolumeKeeperPorts, clock: Callable[[], Clock], times: DueTimes
    ) -> None:
        self._ports = ports
        self._clock = clock
        self._times = times

    def want(self, pod: Pod, kept: VolumesOfPod) -> None:
        """Ask for what the volumes of this version of the pod show. May repeat."""
        wanted = kept.wanted_tokens
        if self._ports.tokens is not None and not pod.is_static:
            if wanted or kept.tokens is not None:
                want = WantTokens(pod=pod, wanted=wanted, reply_to=self._ports.me)
                self._ports.tokens.tell(want)
                kept.tokens_asked_at = self._clock().monotonic()
        elif wanted:
            kept.tokens = TokensAre(uid=pod.uid, troubles=dict.fromkeys(wanted, NO_TOKENS))

    def want_again(self, pod: Pod, kept: VolumesOfPod) -> None:
        """Ask once more if that was not answered in time: the question may have been lost in a crash."""
        asked, now = kept.tokens_asked_at, self._clock().monotonic()
        if kept.tokens is not None or asked is None:
            return
        if now >= asked + ANSWERED_WITHIN:
            self.want(pod, kept)
            asked = now
        self._times.add(Seconds(asked + ANSWERED_WITHIN), pod.uid)

    def release(self, uid: PodUid, kept: VolumesOfPod) -> None:
        """Want no tokens for a pod any more."""
        if self._ports.tokens is not None and kept.wanted_tokens:
            self._ports.tokens.tell(ReleaseTokens(uid=uid))
