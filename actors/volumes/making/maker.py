"""Makes volumes, writes their files, and takes them away. Everything here may block.

Whatever is made may be made again: a volume that an earlier life made is kept, and a call that was cut short
is finished by the next one.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from actors.volumes.atomic_directory import CURRENT, AtomicDirectory, ContentNotWrittenError
from actors.volumes.content.files import Payload, group_of
from actors.volumes.content.making import VolumeSituation, volume_content
from actors.volumes.making.forms import (
    ContentForm,
    EmptyDirForm,
    HostPathForm,
    Medium,
    VolumePlugin,
    memory_size,
    page_size,
    ready_marker,
    volume_place,
)
from actors.volumes.making.jobs import VolumeMade, VolumesLookedAt, VolumeTidied
from actors.volumes.mounts.empty_dirs import make_of_huge_pages, make_on_disk
from actors.volumes.mounts.host_paths import prepare_host_path
from actors.volumes.mounts.memory import (
    MadeVolume,
    MemoryRoom,
    MountPowers,
    look_at_powers,
    make_in_memory,
    room_for_files,
)
from actors.volumes.mounts.places import VolumePlace, opened_parent
from actors.volumes.mounts.system_calls import MountCalls
from manifests.requests import MEMORY, pod_limits, pod_requests
from messages.pods import JsonObject, Pod, PodUid
from messages.units import Timestamp

_SCRATCH: Final = ".mounting"
"""The directory below the root in which it is tried whether anything can be mounted."""


@dataclass(slots=True, eq=False)
class ShownDirectory:
    """The directory of one volume with files. One job at a time uses it, whatever life began that."""

    place: VolumePlace
    directory: AtomicDirectory
    room: MemoryRoom | None = None
    """What it was mounted with; None while that is not known."""


class VolumeMaker:
    """Makes the volumes of one node. It belongs to the process."""

    def __init__(
        self,
        root_dir: str,
        calls: MountCalls,
        node_memory: int,
        wall: Callable[[], Timestamp],
    ) -> None:
        self._root = root_dir
        self._calls = calls
        self._node_memory = node_memory
        self._wall = wall
        self._powers: MountPowers | None = None

    def path_of(self, uid: PodUid, plugin: VolumePlugin, name: str) -> str:
        """Return where a volume is that the agent makes. Nothing is looked at."""
        return volume_place(self._root, uid, plugin, name).path

    def shown_directory(self, uid: PodUid, name: str, form: ContentForm) -> ShownDirectory:
        """Return what writes the files of a volume. Nothing is looked at yet."""
        place = volume_place(self._root, uid, form.plugin, name)
        return ShownDirectory(place=place, directory=AtomicDirectory(Path(place.path)))

    def write(
        self,
        shown: ShownDirectory,
        form: ContentForm,
        volume: JsonObject,
        situation: VolumeSituation,
    ) -> VolumeMade:
        """Have the files of a volume shown. What cannot be shown leaves the files as they are."""
        content = volume_content(volume, situation)
        if content.payload is None:
            return VolumeMade(
                is_there=_shows_anything(shown.place),
                trouble=content.trouble,
                is_missing=not content.refusal,
                is_for_good=bool(content.refusal),
            )
        try:
            notes = self._make_room(shown, form, content.payload)
            written = shown.directory.write(content.payload, self._wall())
        except (OSError, ContentNotWrittenError) as error:
            return VolumeMade(is_there=_shows_anything(shown.place), trouble=_sentence(error))
        return VolumeMade(
            is_there=True,
            is_written=written.is_changed,
            written_bytes=_size(content.payload) if written.is_changed else 0,
            leaving=written.leaving,
            notes=(*notes, *written.notes),
        )

    @staticmethod
    def tidy(shown: ShownDirectory, leaving: tuple[str, ...]) -> VolumeTidied:
        """Remove old generations of a volume's files."""
        return VolumeTidied(shown.directory.remove(*leaving))

    @staticmethod
    def look_at(shown: Iterable[ShownDirectory]) -> VolumesLookedAt:
        """Return which of these volumes show nothing. Whoever writes one meanwhile is not in the way."""
        places = (each.place for each in shown)
        return VolumesLookedAt(frozenset(each.path for each in places if not _is_shown(each)))

    def make_empty_dir(self, pod: Pod, name: str, form: EmptyDirForm) -> VolumeMade:
        """Have the directory of an ``emptyDir``. What containers have in it stays."""
        place = volume_place(self._root, pod.uid, VolumePlugin.EMPTY_DIR, name)
        group = group_of(pod)
        try:
            made = self._made(pod, place, form, group)
        except (OSError, ValueError) as error:
            is_for_good = isinstance(error, ValueError)
            trouble = _sentence(error)
            return VolumeMade(is_there=False, trouble=trouble, is_for_good=is_for_good)
        return VolumeMade(is_there=True, notes=(made.notice,) if made.notice else ())

    @staticmethod
    def check_host_path(form: HostPathForm) -> VolumeMade:
        """Have a path of the node be what the volume says that it is."""
        trouble = prepare_host_path(form.path, form.type)
        return VolumeMade(is_there=not trouble, trouble=trouble)

    # --- inside ----------------------------------------------------------------------------------------

    def _made(
        self, pod: Pod, place: VolumePlace, form: EmptyDirForm, group: int | None
    ) -> MadeVolume:
        match form.medium:
            case Medium.MEMORY:
                size = self.size_of(pod, form)
                return self._mounted(place, MemoryRoom(size=size), group)
            case Medium.HUGE_PAGES:
                pages = page_size(form.words, pod_requests(pod.document.get("spec") or {}))
                return make_of_huge_pages(self._calls, place, pages, group)
            case Medium.DISK:
                with opened_parent(place):
                    pass  # each directory above it gets the mode of a kubelet's
                marker = ready_marker(self._root, pod.uid, VolumePlugin.EMPTY_DIR, place.names[-1])
                make_on_disk(Path(place.path), Path(marker), group)
                return MadeVolume(path=place.path, is_in_memory=False)

    def size_of(self, pod: Pod, form: EmptyDirForm) -> int:
        """Return how large an ``emptyDir`` of memory may be. Pure."""
        pod_limit = pod_limits(pod.document.get("spec") or {}).get(MEMORY)
        return memory_size(form.size_limit, pod_limit, self._node_memory)

    def _make_room(
        self, shown: ShownDirectory, form: ContentForm, payload: Payload
    ) -> tuple[str, ...]:
        if not form.is_in_memory:
            with opened_parent(shown.place):
                return ()
        needed = room_for_files(
            (len(file.data) for file in payload.files.values()), _directories(payload)
        )
        before = shown.room
        room = needed if before is None else _both(before, needed)
        if room == before and _is_shown(shown.place):
            return ()  # what it was mounted with is there
        made = self._mounted(shown.place, room, payload.group)
        shown.room = room
        return (made.notice,) if made.notice else ()

    def _mounted(self, place: VolumePlace, room: MemoryRoom, group: int | None) -> MadeVolume:
        if self._powers is None:
            scratch = VolumePlace(root=self._root, names=(_SCRATCH,))
            self._powers = look_at_powers(self._calls, scratch)
        try:
            return make_in_memory(self._calls, place, room, self._powers, group)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
        # What is mounted there holds more than it would have room for. It stays as large as it is.
        with opened_parent(place) as parent:
            there = os.statvfs(f"/proc/self/fd/{parent}/{place.names[-1]}")
        size = max(room.size, there.f_blocks * there.f_frsize)
        files = None if room.files is None else max(room.files, there.f_files)
        return make_in_memory(
            self._calls, place, MemoryRoom(size=size, files=files), self._powers, group
        )


def _both(one: MemoryRoom, other: MemoryRoom) -> MemoryRoom:
    files = [each.files for each in (one, other) if each.files is not None]
    size = max(one.size, other.size)
    return replace(one, size=size, files=max(files) if files else None)


def _directories(payload: Payload) -> int:
    above = {path.rpartition("/")[0] for path in payload.files}
    return sum(len(each.split("/")) for each in above if each)


def _size(payload: Payload) -> int:
    return sum(len(file.data) for file in payload.files.values())


def _shows_anything(place: VolumePlace) -> bool:
    """Return whether an earlier life, or an earlier write, left files there that containers can have."""
    with suppress(OSError), opened_parent(place, is_made=False) as parent:
        name = place.names[-1]
        os.stat(f"{name}/{CURRENT}/.", dir_fd=parent)
        return True
    return False


def _is_shown(place: VolumePlace) -> bool:
    """Return whether there are files to be seen. A volume that somebody unmounted has none."""
    with suppress(OSError):
        return Path(place.path, CURRENT).is_dir()
    return False


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__
