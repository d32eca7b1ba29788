"""Following what volumes show, objects and tokens, and having them written again. A part of their keeper."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Final

from actors.volumes.events import NO_TOKENS
from actors.volumes.keeper_parts import VolumeKeeperMemory, VolumeKeeperPorts
from actors.volumes.kept_volumes import KeptVolume, VolumesOfPod
from actors.volumes.looks import DueTimes
from actors.volumes.shown_objects import ShownObject, ShownObjects, Told
from kernel import Alarm, Clock, LevelIs, Unset
from messages.objects import (
    BEGUN_WITH,
    HeldObject,
    ObjectId,
    ObjectKind,
    Origin,
    RegisterPod,
    UnprovenTaken,
    UnregisterPod,
)
from messages.pods import Pod, PodUid
from messages.tokens import ReleaseTokens, TokensAre, WantTokens
from messages.units import Seconds

ANSWERED_WITHIN: Final = Seconds(3.0)
"""Tokens are told of at once, as pending. That nothing was told means that a crash lost the question."""
WAITS_FOR: Final = Seconds(1.0)
"""How long a new pod waits for a fresh value. Then it goes on with what is known."""
LOOK_AGAIN: Final = Seconds(10.0)
"""How often a fresh value is asked for of an object that is not there. Whoever holds objects tells of each
change at once; this is for strategies that hear of none."""
LOOK_AGAIN_LOCALLY: Final = Seconds(2.0)
"""The same of one that a file of this node may describe."""


class ObjectsOfVolumes:
    """Follows objects, once for all pods that show one, for one life of the keeper."""

    def __init__(
        self,
        ports: VolumeKeeperPorts,
        objects: ShownObjects,
        clock: Callable[[], Clock],
        look_at: Callable[[Iterable[PodUid]], None],
    ) -> None:
        """``look_at`` is told the pods that wait no longer."""
        self._ports = ports
        self._objects = objects
        self._clock = clock
        self._look_at = look_at

    def begin(self, alarm: Callable[[Callable[[], None]], Alarm]) -> None:
        """Follow what is shown and nothing else, whatever the life before followed. It is told again."""
        self._waits, self._looks = alarm(self._end_waits), alarm(self._look_again)
        for kind, level in self._ports.objects.items():
            level.follow_only([each for each in self._objects if each.kind is kind], self._ports.me)
        for wanted in self._objects.asked_before(self._now()):
            self._objects.give_back(wanted)
        for wanted in list(self._objects):
            self._ask(wanted)
        self._watch()

    def register(self, pod: Pod, objects: Iterable[ObjectId]) -> None:
        """Have what the volumes of a pod show held once more: what the life before told may be lost."""
        self._register(pod, objects)

    def take(self, pod: Pod, before: Collection[ObjectId], objects: Collection[ObjectId]) -> None:
        """Hold and follow what the volumes of ``pod`` show; let go of what they showed ``before``."""
        self._drop(pod.uid, [wanted for wanted in before if wanted not in objects])
        self._register(pod, (*before, *objects))
        self._objects.add(pod.uid, objects)
        for wanted in objects:
            self._ask(wanted)
        self._watch()

    def let_go(self, uid: PodUid, objects: Collection[ObjectId]) -> None:
        """Let go of what a pod showed: it has no volumes any more."""
        self._drop(uid, objects)
        for kind in _kinds(objects):
            self._ports.managers[kind].tell(UnregisterPod(pod=uid))

    def note(self, told: LevelIs[ObjectId, HeldObject]) -> Told | None:
        """Note what is told of an object; None if that is nothing."""
        if isinstance(told.value, Unset):
            return None
        noted = self._objects.note(told.key, told.value, is_fresh=told.is_fresh)
        self._ask(told.key)
        self._watch()
        return noted

    # --- time ------------------------------------------------------------------------------------------

    def _end_waits(self) -> None:
        """Have pods go on with what is known of objects that nobody has looked at in time."""
        pods: dict[PodUid, None] = {}
        for wanted in self._objects.asked_before(Seconds(self._now() - WAITS_FOR)):
            waited = self._objects.end_wait(wanted)
            self._tell_taken(wanted, self._objects.get(wanted), waited)
            pods |= dict.fromkeys(waited)
            self._ask(wanted)
        self._watch()
        self._look_at(pods)

    def _tell_taken(
        self, wanted: ObjectId, known: ShownObject | None, pods: Collection[PodUid]
    ) -> None:
        if known is None or known.verdict not in BEGUN_WITH:
            return
        version = known.value.resource_version if known.value is not None else ""
        for uid in pods:
            self._ports.managers[wanted.kind].tell(
                UnprovenTaken(
                    pod=uid, object=wanted, verdict=known.verdict, resource_version=version
                )
            )

    def _look_again(self) -> None:
        """Ask for what is not there, and for what nobody tells changes of."""
        now, every = self._now(), self._ports.reads_every
        for wanted in self._objects.missing():
            pause = LOOK_AGAIN_LOCALLY if wanted.origin is Origin.LOCAL else LOOK_AGAIN
            self._ask_if_older(wanted, Seconds(now - pause))
        if every is not None:
            for wanted in list(self._objects):
                self._ask_if_older(wanted, Seconds(now - every))
        self._watch()

    def _ask_if_older(self, wanted: ObjectId, limit: Seconds) -> None:
        known = self._objects.get(wanted)
        if known is not None and known.asked_at <= limit:
            self._ask(wanted, again=True)

    def _watch(self) -> None:
        """Have alarms while pods wait, and while anything is to be asked for again, and only then."""
        since = self._objects.asked_since()
        self._waits.at(None if since is None else Seconds(since + WAITS_FOR))
        if self._looks.due is None:
            if self._objects.is_any_missing:
                self._looks.at(Seconds(self._now() + LOOK_AGAIN_LOCALLY))
            elif self._ports.reads_every is not None and len(self._objects):
                self._looks.at(Seconds(self._now() + self._ports.reads_every))

    # --- whom it tells ---------------------------------------------------------------------------------

    def _drop(self, uid: PodUid, objects: Iterable[ObjectId]) -> None:
        for wanted in self._objects.drop(uid, objects):
            self._ports.objects[wanted.kind].leave(wanted, self._ports.me)

    def _register(self, pod: Pod, objects: Iterable[ObjectId]) -> None:
        for kind in _kinds(objects):
            self._ports.managers[kind].tell(RegisterPod(pod=pod))

    def _ask(self, wanted: ObjectId, *, again: bool = False) -> None:
        if self._objects.ask(wanted, self._now(), again=again):
            self._ports.objects[wanted.kind].follow(wanted, self._ports.me, fresh=True)

    def _now(self) -> Seconds:
        return self._clock().monotonic()


def _kinds(objects: Iterable[ObjectId]) -> Iterable[ObjectKind]:
    """Return each kind once, in the order of ``objects``."""
    return dict.fromkeys(wanted.kind for wanted in objects)


class NewsOfVolumes:
    """Has the volumes written again that show something else now, for one life of the keeper."""

    def __init__(self, memory: VolumeKeeperMemory, following: ObjectsOfVolumes) -> None:
        self._memory = memory
        self._following = following

    def note_held(self, told: LevelIs[ObjectId, HeldObject], now: Seconds) -> list[PodUid]:
        """Take what an object is. Return the pods that are to be looked at.

        Volumes that show something else now are late from now on.
        """
        known = self._memory.objects.get(told.key)
        is_first = known is None or known.version is None
        noted = self._following.note(told)
        if noted is None:
            return []
        for uid in noted.pods:
            for volume in self._volumes_of(uid):
                if told.key in volume.objects:
                    volume.is_stale = True
                    if volume.changed_at is None and volume.versions and not is_first:
                        volume.changed_at = now
        return list(dict.fromkeys((*noted.pods, *noted.ready)))

    def note_tokens(self, told: TokensAre) -> bool:
        """Take the tokens of a pod. Return whether any volume may show something else now."""
        kept = self._memory.pods.get(told.uid)
        if kept is None or kept.releasing is not None or kept.tokens == told:
            return False
        kept.tokens = told
        for volume in kept.volumes.values():
            volume.is_stale |= bool(volume.tokens)
        return True

    def _volumes_of(self, uid: PodUid) -> Iterable[KeptVolume]:
        kept = self._memory.pods.get(uid)
        return kept.volumes.values() if kept is not None else ()


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
