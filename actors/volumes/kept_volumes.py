"""What is known of the volumes of pods. It outlives crashes of their keeper. Pure, but for being changed."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from actors.volumes.content.making import objects_shown, tokens_of
from actors.volumes.making.foreign import ForeignVolume
from actors.volumes.making.forms import (
    ContentForm,
    EmptyDirForm,
    Medium,
    RefusedForm,
    VolumeForm,
    form_of,
    is_path_part,
    shows_pod,
)
from actors.volumes.making.jobs import VolumeJob
from actors.volumes.making.maker import ShownDirectory
from messages.objects import ObjectId
from messages.pods import CONTAINER_LISTS, JsonObject, Pod, PodUid
from messages.port import Port
from messages.tokens import TokenNeeded, TokensAre
from messages.units import Seconds
from messages.volumes import (
    PodVolume,
    ReleaseAnswer,
    VolumesAre,
    VolumeTrouble,
    WantVolumes,
)


@dataclass(frozen=True, slots=True)
class Version:
    """One version of an object, as it was read."""

    number: int
    """Counts the versions that were read. The greater is the newer."""
    name: str
    """Its ``resourceVersion``; empty if there was no such object."""


NO_VERSIONS: Final[Mapping[ObjectId, Version]] = MappingProxyType({})


def _no_versions() -> Mapping[ObjectId, Version]:
    return NO_VERSIONS


@dataclass(slots=True, eq=False)
class KeptVolume:
    """One volume of a pod."""

    source: JsonObject = field(repr=False)
    """As the specification has it."""
    form: VolumeForm
    objects: tuple[ObjectId, ...] = ()
    """Whose keys are files of it, each once."""
    tokens: tuple[TokenNeeded, ...] = ()
    shown: ShownDirectory | None = None
    """What writes its files; None for one without, and before the first time."""
    volume: PodVolume | None = None
    """None until it is there."""
    trouble: VolumeTrouble | None = None
    is_stale: bool = True
    """It is to be made, or its files are to be written."""
    changed_at: Seconds | None = None
    """When it became known that what it shows has changed; None once that is visible."""
    job: VolumeJob | None = None
    """What is being done about it."""
    job_shows: Mapping[ObjectId, Version] = field(default_factory=_no_versions)
    """The versions that are being written."""
    versions: Mapping[ObjectId, Version] = field(default_factory=_no_versions)
    """Those that readers see."""
    tried_at: Seconds | None = None
    """When it was made or written last, or when that failed."""
    failures: int = 0
    leaving: tuple[str, ...] = ()
    left_at: Seconds | None = None
    said: str = ""
    """The trouble that people were told last."""
    has_line: bool = False
    """The log has a line of that by the manager of objects."""

    @property
    def is_pending(self) -> bool:
        """Whether it is neither there nor in trouble."""
        return self.volume is None and self.trouble is None


@dataclass(slots=True, eq=False)
class Releasing:
    """The volumes of a pod are being taken away."""

    reply_to: Port[ReleaseAnswer] | None
    """Who waits for that; None if nobody does."""
    attempts: int = 0
    """How often it was tried in vain, since the pod has no volume of somebody else."""
    began: Seconds | None = None
    job: VolumeJob | None = None
    trouble: str = ""
    """Why the last attempt was in vain, if it was made."""
    held: tuple[ForeignVolume, ...] = ()
    """The volumes of somebody else, for which nothing is done."""
    next: WantVolumes | None = None
    """Another pod of this UID wants volumes after that."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why something is left, each one line; empty while nobody knows of anything."""
        held = tuple(each.why_held for each in self.held)
        return (self.trouble, *held) if self.trouble else held


@dataclass(slots=True, eq=False)
class VolumesOfPod:
    """The volumes of one pod."""

    pod: Pod | None
    """None if nobody wanted any, and there is only to be nothing of it."""
    reply_to: Port[VolumesAre] | None = None
    volumes: dict[str, KeptVolume] = field(default_factory=dict)
    """By name."""
    tokens: TokensAre | None = None
    """None until they were told once."""
    tokens_asked_at: Seconds | None = None
    """When they were asked for; None while none are."""
    told: VolumesAre | None = None
    """What the pod's worker was told last."""
    releasing: Releasing | None = None
    said: Mapping[str, VolumeTrouble] = field(default_factory=dict)
    """The troubles that people were told last."""

    @property
    def objects(self) -> tuple[ObjectId, ...]:
        """All objects that any of the volumes shows, each once."""
        shown = (wanted for each in self.volumes.values() for wanted in each.objects)
        return tuple(dict.fromkeys(shown))

    @property
    def wanted_tokens(self) -> frozenset[TokenNeeded]:
        """All tokens that any of the volumes shows."""
        return frozenset(token for each in self.volumes.values() for token in each.tokens)

    def note_lost_jobs(self, jobs: Container[VolumeJob]) -> None:
        """Have done again what no job of ``jobs`` is about any more: a crash lost what came of it."""
        for volume in self.volumes.values():
            if volume.job is not None and volume.job not in jobs:
                volume.job, volume.is_stale = None, True
        releasing = self.releasing
        if releasing is not None and releasing.job is not None and releasing.job not in jobs:
            releasing.job = None

    def lacks_tokens(self, volume: KeptVolume) -> bool:
        """Return whether a token of a volume is still on its way."""
        if not volume.tokens:
            return False
        told = self.tokens
        return told is None or any(
            each not in told.tokens and each not in told.troubles for each in volume.tokens
        )


def kept_volume(pod: Pod, source: JsonObject, before: KeptVolume | None) -> KeptVolume:
    """Return what is known of a volume of this version of the pod, which is not looked at yet."""
    if before is not None and before.source == source:
        before.is_stale |= _follows_pod(before)
        return before
    form = _checked(form_of(source), source)
    kept = KeptVolume(source=source, form=form)
    if isinstance(form, ContentForm):
        kept.objects, kept.tokens = objects_shown(pod, source), tokens_of(source)
    elif isinstance(form, RefusedForm):
        kept.trouble = VolumeTrouble(message=form.reason, is_for_good=True)
        kept.is_stale = False
    if before is not None:
        _take_over(kept, before)
    return kept


def sources_of(pod: Pod) -> Iterator[tuple[str, JsonObject]]:
    """Yield the volumes that containers mount, each with its name. Nobody waits for others."""
    spec = pod.document.get("spec") or {}
    mounted = _mounted(spec)
    for source in spec.get("volumes") or ():
        name = str(source.get("name") or "")
        if name in mounted:
            yield name, source


def answer_of(uid: PodUid, kept: VolumesOfPod) -> VolumesAre:
    """Return what the pod's worker is told."""
    volumes = kept.volumes
    shown: dict[ObjectId, Version] = {}
    unseen: set[ObjectId] = set()
    for each in volumes.values():
        for wanted in each.objects:
            version = each.versions.get(wanted)
            if version is None:
                unseen.add(wanted)
            elif wanted not in shown or version.number < shown[wanted].number:
                shown[wanted] = version
    return VolumesAre(
        uid=uid,
        volumes={name: each.volume for name, each in volumes.items() if each.volume is not None},
        troubles={name: each.trouble for name, each in volumes.items() if each.trouble is not None},
        pending=frozenset(name for name, each in volumes.items() if each.is_pending),
        shown={wanted: each.name for wanted, each in shown.items() if wanted not in unseen},
    )


def held_troubles(releasing: Releasing) -> dict[str, VolumeTrouble]:
    """Return why the volumes of somebody else stay, by the names of their directories."""
    return {each.name: VolumeTrouble(message=each.why_held) for each in releasing.held}


def _mounted(spec: JsonObject) -> frozenset[str]:
    return frozenset(
        str(mount.get("name") or "")
        for containers in CONTAINER_LISTS
        for container in spec.get(containers) or ()
        for mounts in ("volumeMounts", "volumeDevices")
        for mount in container.get(mounts) or ()
    )


def _checked(form: VolumeForm, source: JsonObject) -> VolumeForm:
    if is_path_part(str(source.get("name") or "")):
        return form
    return RefusedForm("its name cannot be that of a directory")


def _follows_pod(volume: KeptVolume) -> bool:
    """Return whether a new version of the pod may change the volume."""
    form = volume.form
    if isinstance(form, EmptyDirForm):
        return form.medium is Medium.MEMORY
    return isinstance(form, ContentForm) and shows_pod(volume.source)


def _take_over(kept: KeptVolume, before: KeptVolume) -> None:
    """Go on with the directory of a volume whose specification has changed."""
    kept.job = before.job
    if isinstance(kept.form, ContentForm) and kept.form == before.form:
        kept.shown, kept.volume = before.shown, before.volume
        kept.leaving, kept.left_at = before.leaving, before.left_at
